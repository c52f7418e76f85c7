/*
 * anchor_test.c - anchors in a file: several logs, damaged lines, and memory that is missing.
 * Those in PostgreSQL are tested by test/wire/audit_anchors.mjs.
 */
#include "store/anchor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <faultwire/raise.h>

#define SCRATCH_FORM "file:%s/anchors.jsonl"
#include "base/limits_store.h"
#include "test/memory.h"
#include "test/scratch.h"

static const struct fw_anchor one = { .log = "host:/log \"x\"",
				      .replica = "host",
				      .seq = 12,
				      .hash = "abc",
				      .time_ms = 1000,
				      .reason = "interval" };

struct found {
	size_t count;
	uint64_t last_seq;
};

static void keep(void *ctx, const struct fw_anchor *anchor)
{
	struct found *found = ctx;

	assert_string_equal(anchor->log, one.log);
	assert_string_equal(anchor->replica, "host");
	assert_string_equal(anchor->hash, "abc");
	assert_string_equal(anchor->reason, "interval");
	assert_int_equal(anchor->time_ms, 1000);
	found->count++;
	found->last_seq = anchor->seq;
}

static struct found list(struct fw_anchors *anchors)
{
	struct found found = { 0 };

	assert_null(fw_anchors_list(anchors, one.log, keep, &found));
	return found;
}

static struct fw_anchors *begin(void)
{
	struct fw_anchors *anchors = NULL;

	assert_null(fw_anchors_open(path, &anchors));
	return anchors;
}

static void test_anchor__those_of_one_log_are_listed_in_their_order(void **state)
{
	struct fw_anchors *anchors = begin();
	struct fw_anchor other = one, next = one;

	(void)state;
	other.log = "host:/another";
	next.seq = 13;
	assert_null(fw_anchors_add(anchors, &one));
	assert_null(fw_anchors_add(anchors, &other));
	assert_null(fw_anchors_add(anchors, &next));
	assert_int_equal(list(anchors).count, 2);
	assert_int_equal(list(anchors).last_seq, 13);
	fw_anchors_free(anchors);
}

static void test_anchor__other_lines_are_skipped(void **state)
{
	static const char *const lines[] = { "not JSON\n",
					     "{}\n",
					     "[1]\n",
					     "\n",
					     "{\"log\":\"host:/log \\\"x\\\"\",\"seq\":-1}\n",
					     "{\"log\":1,\"seq\":\"x\",\"hash\":null}\n" };
	struct fw_anchors *anchors = begin();
	FILE *file = fopen(path + strlen("file:"), "we");

	(void)state;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		(void)fputs(lines[i], file);
	for (int i = 0; i < 3 * FW_LIMIT_ANCHOR_LINE_BYTES; i++)
		(void)fputc('x', file);
	(void)fputc('\n', file);
	(void)fclose(file);
	assert_null(fw_anchors_add(anchors, &one));
	/* The last line was cut off. */
	file = fopen(path + strlen("file:"), "ae");
	(void)fputs("{\"log\":\"host:/log", file);
	(void)fclose(file);
	assert_int_equal(list(anchors).count, 1);
	fw_anchors_free(anchors);
}

static void test_anchor__what_cannot_be_used_is_refused(void **state)
{
	static const char *const urls[] = { "", "file:", "http://host/x", "/a/path", "off" };
	struct fw_anchors *anchors = NULL;
	char name[2 * FW_LIMIT_ANCHOR_LINE_BYTES];
	struct fw_anchor large = one;
	fw_error *err;

	(void)state;
	for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
		err = fw_anchors_open(urls[i], &anchors);
		assert_int_equal(fw_error_code(err), FW_INPUT_INVALID_VALUE);
		fw_error_free(err);
	}
	anchors = begin();
	memset(name, 'x', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	large.log = name;
	err = fw_anchors_add(anchors, &large);
	assert_int_equal(fw_error_code(err), FW_INPUT_TOO_LARGE);
	fw_error_free(err);
	err = fw_anchors_list(anchors, one.log, keep, NULL);
	assert_int_equal(fw_error_code(err), FW_FILE_NOT_FOUND);
	fw_error_free(err);
	fw_anchors_free(anchors);
}

static void use_all(void)
{
	struct fw_anchors *anchors = NULL;
	struct found found = { 0 };
	fw_error *err = fw_anchors_open(path, &anchors);

	(void)unlink(path + strlen("file:"));
	if (!err)
		err = fw_anchors_add(anchors, &one);
	if (!err)
		err = fw_anchors_list(anchors, one.log, keep, &found);
	if (err)
		assert_int_equal(fw_error_code(err), FW_INTERNAL_OUT_OF_MEMORY);
	else
		assert_int_equal(found.count, 1);
	fw_error_free(err);
	fw_anchors_free(anchors);
}

static void test_anchor__each_allocation_fails(void **state)
{
	(void)state;
	each_allocation_fails(use_all);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_anchor__##name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(those_of_one_log_are_listed_in_their_order),
		TEST(other_lines_are_skipped),
		TEST(what_cannot_be_used_is_refused),
		TEST(each_allocation_fails),
	};

	return cmocka_run_group_tests_name("anchor", tests, NULL, NULL);
}
