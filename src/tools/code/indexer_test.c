/*
 * indexer_test.c - which files are published as changed when a walk has ended: those that have
 * changed since it began may be ignored by now, or newer than the walk.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/code/indexer_impl.h"

#define SCRATCH_FORM "%s/file"
#include "test/scratch.h"

static void write_file(const char *name, const char *text)
{
	char command[256];

	(void)snprintf(command, sizeof command, "cd %s && mkdir -p sub out && printf '%s' >%s",
		       directory, text, name);
	assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
}

static void put(struct fw_indexer *indexer, const char *name, struct fw_change change)
{
	assert_true(fw_changes_put(&indexer->changes, name, &change));
}

static void test_indexer__files_that_change_during_a_walk_are_looked_at_again(void **state)
{
	static const char expected[] = "-deleted\0-ignored\0+made\0-out/x\0+sub/made\0"
				       "-sub/made-too\0+walked\0+written\0";
	struct fw_trigram_source walked[] = { { .path = "kept" },
					      { .path = "walked" },
					      { .path = "written" } };
	const struct fw_indexer_list list = { .files = walked, .count = 3 };
	struct fw_indexer indexer = { .event = 20 };
	char text[200];

	(void)state;
	write_file(".gitignore", "ignored\\nout/\\n");
	write_file("ignored", "x");
	write_file("made", "x");
	write_file("out/x", "x");
	write_file("sub/made", "x");
	write_file("walked", "x");
	write_file("written", "x");
	indexer.place.root.fd = open(directory, O_PATH | O_DIRECTORY);
	put(&indexer, "kept", (struct fw_change){ .event = 4, .is_checked = true });
	put(&indexer, "deleted", (struct fw_change){ .event = 5, .is_checked = true });
	put(&indexer, "ignored", (struct fw_change){ .event = 6, .is_checked = true });
	put(&indexer, "made", (struct fw_change){ .event = 7, .is_checked = true });
	put(&indexer, "out/x", (struct fw_change){ .event = 8, .is_checked = true });
	put(&indexer, "sub/made", (struct fw_change){ .event = 9, .is_checked = true });
	put(&indexer, "sub/made-too", (struct fw_change){ .event = 9, .is_checked = true });
	/* Ignored when the walk began, written, and not ignored any more. */
	put(&indexer, "written",
	    (struct fw_change){ .event = 4, .is_gone = true, .is_checked = true });
	put(&indexer, "written", (struct fw_change){ .event = 10 });
	put(&indexer, "walked", (struct fw_change){ .event = 11 });
	put(&indexer, "unknown", (struct fw_change){ .event = 12 });
	fw_indexer__settle(&indexer, &list, 4);
	assert_int_equal(fw_changes_write(&indexer.changes, text, sizeof text),
			 sizeof expected - 1);
	assert_memory_equal(text, expected, sizeof expected - 1);
	assert_false(indexer.wants_walk);
	fw_changes_clear(&indexer.changes);
	(void)close(indexer.place.root.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_indexer__files_that_change_during_a_walk_are_looked_at_again,
			set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
