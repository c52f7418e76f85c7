/*
 * test_support.h - what the unit tests of toolsets share: a directory of
 * their own, and an allocator that fails on demand.
 */
#ifndef FW_TOOLS_COMMON_TEST_SUPPORT_H
#define FW_TOOLS_COMMON_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <faultwire/faultwire.h>

#include "tools/common/place.h"

/* ---- a directory ---- */

static char scratch[64];

static int scratch_make(void **state)
{
	(void)state;
	(void)snprintf(scratch, sizeof scratch, "/tmp/faultwire-ws-XXXXXX");
	return mkdtemp(scratch) ? 0 : 1;
}

static int scratch_drop(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof command, "rm -rf %s", scratch);
	return system(command);
}

static void shell(const char *what)
{
	char command[2048];

	(void)snprintf(command, sizeof command, "cd %s && %s", scratch, what);
	assert_int_equal(system(command), 0);
}

/* scratch/w, with a file and a folder in it, beside scratch/outside. */
static struct fw_root make_root(void)
{
	struct fw_root made = FW_ROOT_INIT;
	char path[80];

	shell("rm -rf w outside && mkdir -p w/src outside && echo inside >w/src/a.txt && "
	      "echo secret >outside/s.txt");
	(void)snprintf(path, sizeof path, "%s/w", scratch);
	assert_null(fw_root_open(path, strlen(path), &made));
	return made;
}

static void assert_code(fw_error *err, int code)
{
	if (fw_error_code(err) != code)
		fail_msg("expected code %d, got %d: %s", code, fw_error_code(err),
			 err ? fw_error_message(err) : "success");
	fw_error_free(err);
}

static void assert_content(const char *name, const char *content)
{
	char path[256];
	char text[8192];
	FILE *file;
	size_t len;

	(void)snprintf(path, sizeof path, "%s/%s", scratch, name);
	file = fopen(path, "re");
	assert_non_null(file);
	len = fread(text, 1, sizeof text - 1, file);
	(void)fclose(file);
	text[len] = '\0';
	assert_string_equal(text, content);
}

/* ---- memory that fails ---- */

static size_t memory_calls;
static size_t memory_fail_at;
static bool memory_fail_on;
static bool memory_failed;
static long memory_blocks;

static bool memory_refuses(void)
{
	memory_calls++;
	if (!memory_fail_at || memory_calls < memory_fail_at ||
	    (memory_calls > memory_fail_at && !memory_fail_on))
		return false;
	memory_failed = true;
	return true;
}

static void *memory_allocate(void *ctx, size_t size)
{
	(void)ctx;
	if (memory_refuses())
		return NULL;
	memory_blocks++;
	return malloc(size);
}

static void *memory_reallocate(void *ctx, void *ptr, size_t size)
{
	(void)ctx;
	if (memory_refuses())
		return NULL;
	memory_blocks += ptr == NULL;
	return realloc(ptr, size);
}

static void memory_release(void *ctx, void *ptr)
{
	(void)ctx;
	memory_blocks -= ptr != NULL;
	free(ptr);
}

/* Runs it once for each allocation, with that one refused, then with all later
 * ones, too; nothing may stay behind. */
static void each_allocation_fails(void (*run)(void))
{
	const fw_allocator failing = { memory_allocate, memory_reallocate, memory_release,
				       NULL };

	fw_allocator_set(&failing);
	for (int on = 0; on < 2; on++)
		for (size_t at = 1;; at++) {
			long live = fw_error_live();

			memory_calls = 0;
			memory_blocks = 0;
			memory_failed = false;
			memory_fail_on = on;
			memory_fail_at = at;
			run();
			memory_fail_at = 0;
			if (memory_blocks || fw_error_live() != live)
				fail_msg("allocation %zu refused: %ld blocks, %ld errors left",
					 at, memory_blocks, fw_error_live() - live);
			if (!memory_failed)
				break;
			assert_true(at < 10000);
		}
	fw_allocator_set(NULL);
}

static inline void test_support_uses_all(void)
{
	(void)scratch_make;
	(void)scratch_drop;
	(void)make_root;
	(void)assert_code;
	(void)assert_content;
	(void)each_allocation_fails;
	(void)shell;
}

#endif
