/*
 * sandbox_test.h - shared by the unit tests of the sandbox.
 *
 * Each test forks a child that enters the sandbox and makes an attempt. Its exit status
 * is the errno of the attempt, or 0 if it succeeded.
 */
#ifndef FW_WORKER_SANDBOX_TEST_H
#define FW_WORKER_SANDBOX_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker/sandbox.h"

/* Not an errno: the sandbox could not be entered, or did not do what it reported. */
enum { NOT_ENTERED = 200, NOT_SO = 201 };

/* root/in is readable, root/out is writable, root/secret is not accessible. */
static char root[64];
static char in_dir[96];
static char out_dir[96];
static char in_file[128];
static char out_file[128];
static char secret[128];
static const char *readable[] = { in_dir, NULL };
static const char *writable[] = { out_dir, NULL };

static inline fw_workers_options ordinary(void)
{
	fw_workers_options options = FW_WORKERS_INIT;

	options.sandbox = FW_SANDBOX_REQUIRED;
	options.readable = readable;
	options.writable = writable;
	return options;
}

typedef int attempt_fn(void);

/* Runs it in a sandboxed child: an errno, 0, or 128 plus a signal. */
static inline int in_sandbox(const fw_workers_options *options, attempt_fn *attempt)
{
	const pid_t child = fork();
	int status = 0;

	assert_true(child >= 0);
	if (child == 0) {
		(void)setpgid(0, 0);
		fw_error *err = fw_sandbox_enter(options);

		if (err) {
			(void)fprintf(stderr, "# %s\n", fw_error_message(err));
			_exit(NOT_ENTERED);
		}
		_exit(attempt());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static inline int try_ordinary(attempt_fn *attempt)
{
	const fw_workers_options options = ordinary();

	return in_sandbox(&options, attempt);
}

static inline int try_executing(attempt_fn *attempt)
{
	fw_workers_options options = ordinary();

	options.may_execute = true;
	return in_sandbox(&options, attempt);
}

static inline int try_watching(attempt_fn *attempt)
{
	fw_workers_options options = ordinary();

	options.may_watch = true;
	return in_sandbox(&options, attempt);
}

static inline int try_connecting(attempt_fn *attempt)
{
	fw_workers_options options = ordinary();

	options.may_connect = true;
	return in_sandbox(&options, attempt);
}

static inline int errno_of(long result)
{
	return result < 0 ? errno : 0;
}

static inline int open_and_close(const char *path, int flags)
{
	const int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno;
	(void)close(fd);
	return 0;
}

static inline void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}
static inline int set_up(void **state)
{
	(void)state;
	(void)snprintf(root, sizeof root, "/tmp/sandbox_test-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	(void)snprintf(in_dir, sizeof in_dir, "%s/in", root);
	(void)snprintf(out_dir, sizeof out_dir, "%s/out", root);
	(void)snprintf(in_file, sizeof in_file, "%s/file", in_dir);
	(void)snprintf(out_file, sizeof out_file, "%s/file", out_dir);
	(void)snprintf(secret, sizeof secret, "%s/secret", root);
	if (mkdir(in_dir, 0700) || mkdir(out_dir, 0700))
		return -1;
	put(in_file, "to read");
	put(secret, "not to read");
	return 0;
}

static inline int tear_down(void **state)
{
	char path[160];

	(void)state;
	(void)snprintf(path, sizeof path, "%s/way-out", out_dir);
	(void)unlink(path);
	(void)unlink(in_file);
	(void)unlink(out_file);
	(void)unlink(secret);
	(void)rmdir(in_dir);
	(void)rmdir(out_dir);
	return rmdir(root);
}

/* Skips the tests if the kernel lacks a feature. */
static inline bool can_be_tested(void)
{
	const char *preload = getenv("LD_PRELOAD");
	const char *why = NULL;
	struct fw_sandbox_report report;

	if (preload && strstr(preload, "vgpreload")) {
		why = "valgrind does not know the calls that close a sandbox";
	} else {
		fw_sandbox_probe(&report);
		if (report.missing[0])
			why = report.missing;
		else if (report.landlock_abi < 6)
			why = "no rules for signals";
	}
	if (why)
		(void)printf("1..1\nok 1 - sandbox # SKIP %s\n", why);
	return !why;
}

#endif
