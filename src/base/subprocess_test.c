/*
 * subprocess_test.c - real programs, started and ended.
 */
#include "base/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void wait_for(struct fw_subprocess *child, int *ret_status, int *ret_signal)
{
	struct pollfd poll_fd = { .fd = child->pidfd, .events = POLLIN };

	assert_int_equal(poll(&poll_fd, 1, 20000), 1);
	assert_true(fw_subprocess_reap(child, ret_status, ret_signal));
	assert_int_equal(child->pid, 0);
	assert_int_equal(child->pidfd, -1);
}

static int start_shell(const char *script, const char *const *environment, int out,
		       struct fw_subprocess *ret_child)
{
	const char *const argv[] = { "sh", "-c", script, NULL };
	int errnum = 0;

	assert_int_equal(
		fw_subprocess_start(&(struct fw_subprocess_options){ .argv = argv,
								     .environment = environment,
								     .in = -1,
								     .out = out,
								     .err = -1 },
				    ret_child, &errnum),
		FW_SUBPROCESS_STARTED);
	return errnum;
}

/* What a script prints, without the newline at its end. */
static void output_of(const char *script, const char *const *environment, char *ret_text,
		      size_t size)
{
	struct fw_subprocess child;
	size_t len = 0;
	ssize_t got;
	int fds[2], status, signum;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	start_shell(script, environment, fds[1], &child);
	close(fds[1]);
	while ((got = read(fds[0], ret_text + len, size - 1 - len)) > 0)
		len += (size_t)got;
	close(fds[0]);
	ret_text[len] = '\0';
	ret_text[strcspn(ret_text, "\n")] = '\0';
	wait_for(&child, &status, &signum);
}

static void test_subprocess__reports_its_exit_status(void **state)
{
	struct fw_subprocess child;
	int status, signum;

	(void)state;
	start_shell("exit 42", NULL, -1, &child);
	wait_for(&child, &status, &signum);
	assert_int_equal(status, 42);
	assert_int_equal(signum, 0);
}

static void test_subprocess__reports_the_signal_that_killed_it(void **state)
{
	struct fw_subprocess child;
	int status, signum;

	(void)state;
	start_shell("kill -SEGV $$", NULL, -1, &child);
	wait_for(&child, &status, &signum);
	assert_int_equal(signum, SIGSEGV);
}

static void test_subprocess__is_not_reaped_while_it_runs(void **state)
{
	struct fw_subprocess child;
	int status, signum;

	(void)state;
	start_shell("sleep 60", NULL, -1, &child);
	assert_false(fw_subprocess_reap(&child, &status, &signum));
	fw_subprocess_signal(&child, SIGKILL);
	wait_for(&child, &status, &signum);
	assert_int_equal(signum, SIGKILL);
}

static void test_subprocess__a_signal_reaches_what_it_started(void **state)
{
	struct fw_subprocess child;
	int fds[2], status, signum;
	char byte;

	(void)state;
	/* The pipe ends when the shell and its sleep are both gone. */
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	start_shell("sleep 60 & echo started; wait", NULL, fds[1], &child);
	close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	fw_subprocess_signal(&child, SIGKILL);
	wait_for(&child, &status, &signum);
	while (read(fds[0], &byte, 1) > 0)
		;
	close(fds[0]);
}

static void test_subprocess__gets_only_the_environment_it_is_given(void **state)
{
	static const char *const ENVIRONMENT[] = { "PATH=/usr/bin:/bin", "GREETING=hello",
						   NULL };
	char text[64];

	(void)state;
	setenv("FW_SECRET", "x", 1);
	output_of("echo \"$GREETING,$FW_SECRET,$HOME\"", ENVIRONMENT, text, sizeof text);
	assert_string_equal(text, "hello,,");
	unsetenv("FW_SECRET");
}

static void test_subprocess__inherits_no_other_descriptor(void **state)
{
	char text[64];
	int fd = open("/dev/null", O_RDONLY); /* without O_CLOEXEC */

	(void)state;
	assert_true(fd > 2);
	/* 3 is what ls itself opens. */
	output_of("ls /proc/self/fd | tr '\\n' ' '", NULL, text, sizeof text);
	assert_string_equal(text, "0 1 2 3 ");
	close(fd);
}

static void test_subprocess__begins_with_default_signals(void **state)
{
	char text[64];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	output_of("grep SigIgn /proc/self/status | tr -d '0\\t'", NULL, text, sizeof text);
	assert_string_equal(text, "SigIgn:");
	signal(SIGPIPE, SIG_DFL);
}

static void expect_failure(const char *program, const char *directory, int in,
			   enum fw_subprocess_step step, int errnum)
{
	const char *const argv[] = { program, NULL };
	struct fw_subprocess child = { .pid = 7 };
	int got = 0;

	assert_int_equal(
		fw_subprocess_start(&(struct fw_subprocess_options){ .argv = argv,
								     .directory = directory,
								     .in = in,
								     .out = -1,
								     .err = -1 },
				    &child, &got),
		step);
	assert_int_equal(got, errnum);
	assert_int_equal(child.pid, 7); /* untouched */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void test_subprocess__tells_why_it_could_not_start(void **state)
{
	(void)state;
	expect_failure("no-such-program-anywhere", NULL, -1, FW_SUBPROCESS_EXEC, ENOENT);
	expect_failure("/no/such/program", NULL, -1, FW_SUBPROCESS_EXEC, ENOENT);
	expect_failure("/etc/passwd", NULL, -1, FW_SUBPROCESS_EXEC, EACCES);
	expect_failure("sh", "/no/such/directory", -1, FW_SUBPROCESS_DIRECTORY, ENOENT);
	expect_failure("sh", NULL, 12345, FW_SUBPROCESS_FORK, EBADF);
}

/* Starts a long sleep in a process that is then killed: the sleep ends too. */
static void test_subprocess__dies_with_its_parent(void **state)
{
	const char *const argv[] = { "sleep", "60", NULL };
	int fds[2];
	char byte;
	pid_t parent;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	parent = fork();
	if (parent == 0) {
		struct fw_subprocess child;
		int errnum;

		/* The pipe is open in the sleep alone. */
		(void)fw_subprocess_start(
			&(struct fw_subprocess_options){ .argv = argv,
							 .in = -1,
							 .out = fds[1],
							 .err = -1,
							 .dies_with_parent = true },
			&child, &errnum);
		close(fds[1]);
		raise(SIGKILL);
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 0);
	close(fds[0]);
	assert_int_equal(waitpid(parent, NULL, 0), parent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_subprocess__reports_its_exit_status),
		cmocka_unit_test(test_subprocess__reports_the_signal_that_killed_it),
		cmocka_unit_test(test_subprocess__is_not_reaped_while_it_runs),
		cmocka_unit_test(test_subprocess__a_signal_reaches_what_it_started),
		cmocka_unit_test(test_subprocess__gets_only_the_environment_it_is_given),
		cmocka_unit_test(test_subprocess__inherits_no_other_descriptor),
		cmocka_unit_test(test_subprocess__begins_with_default_signals),
		cmocka_unit_test(test_subprocess__tells_why_it_could_not_start),
		cmocka_unit_test(test_subprocess__dies_with_its_parent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
