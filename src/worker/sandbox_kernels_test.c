/*
 * sandbox_kernels_test.c - older kernels, and containers that refuse system calls. The
 * test refuses the calls with a filter of its own, and simulates an older version of
 * Landlock by using only its features.
 */
#include "worker/sandbox_test.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <faultwire/codes.h>

#include "worker/sandbox_impl.h"

/* In the child: the call fails from now on. */
static void take_away(long call, int errnum)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)errnum),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof code / sizeof *code, code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(NOT_ENTERED);
}

static int status_of(pid_t child)
{
	int status = 0;

	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int read_secret(void)
{
	return open_and_close(secret, O_RDONLY);
}

static int write_inside(void)
{
	return open_and_close(out_file, O_WRONLY | O_CREAT | O_TRUNC);
}

static int signal_parent(void)
{
	return errno_of(kill(getppid(), 0));
}

static int open_a_socket(void)
{
	return errno_of(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int truncate_readable(void)
{
	return open_and_close(in_file, O_RDONLY | O_TRUNC);
}

/* Makes `attempt` in a best-effort sandbox on a kernel without `call`. */
static int without(long call, int errnum, attempt_fn *attempt)
{
	const pid_t child = fork();

	if (child == 0) {
		fw_workers_options options = ordinary();

		options.sandbox = FW_SANDBOX_BEST_EFFORT;
		(void)setpgid(0, 0);
		take_away(call, errnum);
		if (fw_sandbox_enter(&options))
			_exit(NOT_ENTERED);
		_exit(attempt());
	}
	return status_of(child);
}

/* Without `call`: is that reported, and does FW_SANDBOX_REQUIRED fail? */
static int told_without(long call, int errnum, const char *what)
{
	const pid_t child = fork();

	if (child == 0) {
		const fw_workers_options options = ordinary();
		struct fw_sandbox_plan *plan = NULL;
		struct fw_sandbox_report report;

		take_away(call, errnum);
		fw_sandbox_probe(&report);
		if (report.is_complete || !strstr(report.missing, what))
			_exit(1);
		fw_error *err = fw_sandbox_prepare(&options, &plan);

		if (!err || fw_error_code(err) != FW_SERVER_SANDBOX_UNAVAILABLE ||
		    !strstr(fw_error_message(err), what))
			_exit(2);
		_exit(0);
	}
	return status_of(child);
}

static void test_sandbox__without_landlock_the_filter_still_holds(void **state)
{
	const long call = SYS_landlock_create_ruleset;

	(void)state;
	/* Not built in; turned off; refused by a container. */
	assert_int_equal(told_without(call, ENOSYS, "no rules for files"), 0);
	assert_int_equal(told_without(call, EOPNOTSUPP, "no rules for files"), 0);
	assert_int_equal(told_without(call, EPERM, "no rules for files"), 0);
	assert_int_equal(without(call, ENOSYS, read_secret), 0);
	assert_int_equal(without(call, ENOSYS, signal_parent), EPERM);
	assert_int_equal(without(call, ENOSYS, open_a_socket), EPERM);
	assert_int_equal(without(call, ENOSYS, truncate_readable), EPERM);
}

static void test_sandbox__without_seccomp_landlock_still_holds(void **state)
{
	(void)state;
	assert_int_equal(told_without(SYS_seccomp, ENOSYS, "no filter of system calls"), 0);
	assert_int_equal(without(SYS_seccomp, ENOSYS, read_secret), EACCES);
	assert_int_equal(without(SYS_seccomp, ENOSYS, write_inside), 0);
	assert_int_equal(without(SYS_seccomp, ENOSYS, truncate_readable), EACCES);
	assert_int_equal(without(SYS_seccomp, ENOSYS, signal_parent), EPERM);
	assert_int_equal(without(SYS_seccomp, ENOSYS, open_a_socket), 0);
}

/* A feature that the kernel offers and then refuses is an error, in any mode. */
static void test_sandbox__a_broken_promise_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(without(SYS_landlock_restrict_self, EPERM, read_secret), NOT_ENTERED);
	assert_int_equal(without(SYS_landlock_add_rule, EPERM, read_secret), NOT_ENTERED);
	assert_int_equal(without(SYS_capset, EPERM, read_secret), NOT_ENTERED);
	assert_int_equal(without(SYS_prlimit64, EPERM, read_secret), NOT_ENTERED);
}

/* The same with the rules of an older Landlock, with or without a filter. */
static int with_version(int abi, bool has_filter, attempt_fn *attempt)
{
	const pid_t child = fork();

	if (child == 0) {
		const fw_workers_options options = ordinary();
		struct fw_sandbox_plan plan = { .ruleset = -1 };

		(void)setpgid(0, 0);
		plan.report.landlock_abi = abi;
		plan.memory_bytes = UINT64_C(1) << 40;
		plan.file_bytes = 1 << 20;
		plan.files = 64;
		if (has_filter)
			fw_sandbox_seccomp_prepare(&plan);
		if (fw_sandbox_landlock_prepare(&plan, &options) || fw_sandbox_apply(&plan))
			_exit(NOT_ENTERED);
		_exit(attempt());
	}
	return status_of(child);
}

static void test_sandbox__works_with_every_version_of_landlock(void **state)
{
	(void)state;
	for (int abi = 1; abi <= 7; abi++) {
		assert_int_equal(with_version(abi, true, read_secret), EACCES);
		assert_int_equal(with_version(abi, true, write_inside), 0);
		assert_int_equal(with_version(abi, true, signal_parent), EPERM);
		assert_int_equal(with_version(abi, true, open_a_socket), EPERM);
		assert_int_equal(with_version(abi, true, truncate_readable), EPERM);
		assert_int_equal(with_version(abi, false, read_secret), EACCES);
		assert_int_equal(with_version(abi, false, signal_parent), abi < 6 ? 0 : EPERM);
	}
	/* A future version is used like the newest known one. */
	assert_int_equal(with_version(99, true, read_secret), EACCES);
}

static void assess(int abi, bool has_seccomp, bool may_execute, const char *expected)
{
	struct fw_sandbox_report report = { .landlock_abi = abi, .has_seccomp = has_seccomp };

	fw_sandbox_assess(&report, false, may_execute);
	assert_string_equal(report.missing, expected);
	assert_int_equal(report.is_complete, expected[0] == '\0');
}

#define EMPTYING "no rules for emptying files that may be read (Landlock 3, Linux 6.2)"
#define DEVICES "no rules for devices (Landlock 5, Linux 6.10)"
#define SIGNALS "no rules for signals (Landlock 6, Linux 6.12)"
#define TCP "no rules for TCP (Landlock 4, Linux 6.7)"

static void test_sandbox__what_is_missing_is_named(void **state)
{
	(void)state;
	assess(7, true, false, "");
	assess(7, true, true, "");
	assess(6, true, true, "");
	assess(5, true, false, "");
	assess(5, true, true, SIGNALS);
	assess(4, true, false, DEVICES);
	assess(2, true, false, EMPTYING ", " DEVICES);
	assess(0, true, false, "no rules for files (Landlock, Linux 5.13)");
	assess(7, false, false, "no filter of system calls (seccomp)");
	assess(2, false, false,
	       "no filter of system calls (seccomp), " EMPTYING ", " TCP ", " DEVICES
	       ", " SIGNALS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sandbox__without_landlock_the_filter_still_holds),
		cmocka_unit_test(test_sandbox__without_seccomp_landlock_still_holds),
		cmocka_unit_test(test_sandbox__a_broken_promise_is_an_error),
		cmocka_unit_test(test_sandbox__works_with_every_version_of_landlock),
		cmocka_unit_test(test_sandbox__what_is_missing_is_named),
	};

	return can_be_tested() ? cmocka_run_group_tests(tests, set_up, tear_down) : 0;
}
