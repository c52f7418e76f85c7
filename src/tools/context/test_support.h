/*
 * test_support.h - shared by the tests of the context toolset: a temporary directory,
 * an allocator that fails on demand, and small caches.
 */
#ifndef FW_TOOLS_CONTEXT_TEST_SUPPORT_H
#define FW_TOOLS_CONTEXT_TEST_SUPPORT_H

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

#include "base/mem.h"
#include "tools/context/files.h"
#include "tools/context/rule.h"

/* ---- memory ---- */

static struct {
	long live;
	long calls;
	long fail_at; /* this allocation fails and, with `all`, all later ones; 0:
		       * none */
	bool all;
	bool failed;
} memory;

static inline bool refuses(void)
{
	long call = __atomic_add_fetch(&memory.calls, 1, __ATOMIC_RELAXED);

	if (!memory.fail_at || call < memory.fail_at || (call > memory.fail_at && !memory.all))
		return false;
	memory.failed = true;
	return true;
}

static inline void *test_allocate(void *ctx, size_t size)
{
	void *block = refuses() ? NULL : malloc(size ? size : 1);

	(void)ctx;
	if (block)
		(void)__atomic_add_fetch(&memory.live, 1, __ATOMIC_RELAXED);
	return block;
}

static inline void *test_reallocate(void *ctx, void *ptr, size_t size)
{
	void *block;

	if (!ptr)
		return test_allocate(ctx, size);
	block = refuses() ? NULL : realloc(ptr, size);
	return block;
}

static inline void test_release(void *ctx, void *ptr)
{
	(void)ctx;
	if (ptr)
		(void)__atomic_sub_fetch(&memory.live, 1, __ATOMIC_RELAXED);
	free(ptr);
}

static inline void use_test_memory(void)
{
	const fw_allocator allocator = { test_allocate, test_reallocate, test_release, NULL };

	fw_allocator_set(&allocator);
}

/* Runs `run` once for each of its allocations, which then fails. `run` returns
 * whether it succeeded. */
static inline void each_allocation_fails(bool (*run)(void))
{
	for (int all = 0; all < 2; all++) {
		for (long at = 1;; at++) {
			long live = memory.live, errors = fw_error_live();
			bool is_done;

			memory.calls = 0;
			memory.failed = false;
			memory.all = all;
			memory.fail_at = at;
			is_done = run();
			memory.fail_at = 0;
			assert_int_equal(memory.live, live);
			assert_int_equal(fw_error_live(), errors);
			if (!memory.failed) {
				assert_true(is_done);
				assert_true(at > 1);
				break;
			}
		}
	}
}

/* ---- a directory ---- */

static char test_dir[64];

/* Runs a shell command. */
static inline void shell(const char *command)
{
	assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
}

static inline int enter_directory(void **state)
{
	(void)state;
	/* In memory if possible, because thousands of small files are written. */
	(void)snprintf(test_dir, sizeof test_dir, "%s/fw-context-XXXXXX",
		       access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	return mkdtemp(test_dir) && chdir(test_dir) == 0 ? 0 : -1;
}

static inline int leave_directory(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof command, "rm -rf %s", test_dir);
	if (chdir("/") != 0)
		return -1;
	shell(command);
	return 0;
}

static inline void put_file(const char *path, const char *text, size_t len)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

static inline void put_text(const char *path, const char *text)
{
	put_file(path, text, strlen(text));
}

/* NUL-terminated; release with free(). */
static inline char *get_file(const char *path, size_t *ret_len)
{
	FILE *file = fopen(path, "re");
	char *text = malloc(1 << 20);
	size_t len;

	assert_non_null(file);
	assert_non_null(text);
	len = fread(text, 1, (1 << 20) - 1, file);
	assert_int_equal(fclose(file), 0);
	text[len] = '\0';
	if (ret_len)
		*ret_len = len;
	return text;
}

static inline bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

/* Number of names in a directory. */
static inline int count_names(const char *path)
{
	DIR *dir = opendir(path);
	int count = 0, error;

	assert_non_null(dir);
	while (fw_context_next_name(dir, &error))
		count++;
	(void)closedir(dir);
	return count;
}

/* ---- caches ---- */

static inline fw_error *build(const char *sources, const char *cache, bool force,
			      unsigned threads)
{
	const struct fw_context_build options = { .sources = sources,
						  .cache = cache,
						  .force = force,
						  .created_ms = INT64_C(1768836730123),
						  .run.threads = threads };
	struct fw_context_built built;

	return fw_context_build(&options, &built);
}

static inline void must(fw_error *err)
{
	if (err)
		fail_msg("%s: %s", fw_error_name(err),
			 fw_error_detail(err) ? fw_error_detail(err) : fw_error_message(err));
}

/* The code of the error in the contract; frees the error. */
static inline const char *code_of(fw_error *err)
{
	const char *code = err ? fw_error_row(err)->context_v0 : "none";

	fw_error_free(err);
	return code;
}

static inline const char *rule_of(fw_error *err)
{
	struct fw_context_violation violation;
	const char *rule = "none";

	if (err && fw_context_violation_of(err, &violation))
		rule = violation.rule;
	else if (err)
		rule = fw_error_name(err);
	fw_error_free(err);
	return rule;
}

#endif
