/*
 * sandbox_test.c - files, limits, privileges and environment of a sandboxed worker, and
 * the plan of its sandbox.
 */
#include "worker/sandbox_test.h"

#include <linux/capability.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <faultwire/codes.h>

#include "base/limits.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SHADOW_MEMORY
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SHADOW_MEMORY
#endif
#endif

/* ---- files ------------------------------------------------------------------------ */

static int read_inside(void)
{
	return open_and_close(in_file, O_RDONLY);
}

static int write_inside(void)
{
	return open_and_close(out_file, O_WRONLY | O_CREAT | O_TRUNC);
}

static int change_what_may_be_read(void)
{
	return open_and_close(in_file, O_WRONLY);
}

static int empty_what_may_be_read(void)
{
	return open_and_close(in_file, O_RDONLY | O_TRUNC);
}

static int empty_by_openat2(void)
{
	const struct {
		uint64_t flags, mode, resolve;
	} how = { O_RDONLY | O_TRUNC | O_CLOEXEC, 0, 0 };

	return errno_of(syscall(SYS_openat2, AT_FDCWD, in_file, &how, sizeof how));
}

static int empty_by_truncate(void)
{
	return errno_of(truncate(in_file, 0));
}

static int read_secret(void)
{
	return open_and_close(secret, O_RDONLY);
}

static int list_outside(void)
{
	return open_and_close(root, O_RDONLY | O_DIRECTORY);
}

static int read_passwd(void)
{
	return open_and_close("/etc/passwd", O_RDONLY);
}

static int create_outside(void)
{
	char path[160];

	(void)snprintf(path, sizeof path, "%s/new", root);
	return open_and_close(path, O_WRONLY | O_CREAT);
}

static int follow_a_symlink_out(void)
{
	char path[160];

	(void)snprintf(path, sizeof path, "%s/way-out", out_dir);
	if (symlink(secret, path))
		return NOT_SO;
	return open_and_close(path, O_RDONLY);
}

static int follow_proc_root(void)
{
	char path[192];

	(void)snprintf(path, sizeof path, "/proc/self/root%s", secret);
	return open_and_close(path, O_RDONLY);
}

static int link_secret_inside(void)
{
	char path[160];

	(void)snprintf(path, sizeof path, "%s/linked", out_dir);
	return errno_of(link(secret, path));
}

static int rename_secret_inside(void)
{
	char path[160];

	(void)snprintf(path, sizeof path, "%s/renamed", out_dir);
	return errno_of(rename(secret, path));
}

static int rename_inside_out(void)
{
	char path[160];

	if (write_inside())
		return NOT_SO;
	(void)snprintf(path, sizeof path, "%s/moved", root);
	return errno_of(rename(out_file, path));
}

static int remove_secret(void)
{
	return errno_of(unlink(secret));
}

static int chmod_secret(void)
{
	return errno_of(chmod(secret, 0666));
}

static int fchmodat2_secret(void)
{
	return errno_of(syscall(452, AT_FDCWD, secret, 0666, 0));
}

static int chown_secret(void)
{
	return errno_of(chown(secret, getuid(), getgid()));
}

static int touch_secret(void)
{
	return errno_of(utimensat(AT_FDCWD, secret, NULL, 0));
}

static int touch_own(void)
{
	const int fd = open(out_file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? NOT_SO : errno_of(futimens(fd, NULL));
}

static int chmod_own(void)
{
	const int fd = open(out_file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? NOT_SO : errno_of(fchmod(fd, 0640));
}

static int make_own_setuid(void)
{
	const int fd = open(out_file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? NOT_SO : errno_of(fchmod(fd, 04755));
}

static int attribute_of_secret(void)
{
	return errno_of(setxattr(secret, "user.a", "b", 1, 0));
}

static int flag_what_may_be_read(void)
{
	const int fd = open(in_file, O_RDONLY | O_CLOEXEC);
	int flags = FS_NODUMP_FL;

	return fd < 0 ? NOT_SO : errno_of(ioctl(fd, FS_IOC_SETFLAGS, &flags));
}

static int watch_secret(void)
{
	const int fd = inotify_init1(IN_CLOEXEC);

	return fd < 0 ? NOT_SO : errno_of(inotify_add_watch(fd, secret, IN_ALL_EVENTS));
}

static int make_a_device(void)
{
	char path[160];

	(void)snprintf(path, sizeof path, "%s/memory", out_dir);
	return errno_of(mknod(path, S_IFCHR | 0600, makedev(1, 1)));
}

static int use_dev_null(void)
{
	if (open_and_close("/dev/null", O_RDWR))
		return errno;
	return open_and_close("/dev/urandom", O_RDONLY);
}

static int open_dev_mem(void)
{
	return open_and_close("/dev/mem", O_RDONLY);
}

static int know_the_time_zone(void)
{
	return open_and_close("/usr/share/zoneinfo/UTC", O_RDONLY);
}

static void test_sandbox__declared_paths_work_and_no_others_do(void **state)
{
	(void)state;
	assert_int_equal(try_ordinary(read_inside), 0);
	assert_int_equal(try_ordinary(write_inside), 0);
	assert_int_equal(try_ordinary(change_what_may_be_read), EACCES);
	assert_int_equal(try_ordinary(read_secret), EACCES);
	assert_int_equal(try_ordinary(list_outside), EACCES);
	assert_int_equal(try_ordinary(read_passwd), EACCES);
	assert_int_equal(try_ordinary(create_outside), EACCES);
	assert_int_equal(try_ordinary(remove_secret), EACCES);
	assert_int_equal(try_ordinary(open_dev_mem),
			 access("/dev/mem", F_OK) ? ENOENT : EACCES);
	assert_int_equal(try_ordinary(use_dev_null), 0);
	if (access("/usr/share/zoneinfo/UTC", R_OK) == 0)
		assert_int_equal(try_ordinary(know_the_time_zone), 0);
}

static void test_sandbox__what_may_be_read_cannot_be_emptied(void **state)
{
	(void)state;
	assert_int_equal(try_ordinary(empty_what_may_be_read), EPERM);
	assert_int_equal(try_ordinary(empty_by_openat2), EACCES);
	assert_int_equal(try_ordinary(empty_by_truncate), EACCES);
}

static void test_sandbox__links_and_renames_do_not_lead_out(void **state)
{
	(void)state;
	assert_int_equal(try_ordinary(follow_a_symlink_out), EACCES);
	assert_int_equal(try_ordinary(follow_proc_root), EACCES);
	assert_int_equal(try_ordinary(link_secret_inside), EXDEV);
	assert_int_equal(try_ordinary(rename_secret_inside), EACCES);
	assert_int_equal(try_ordinary(rename_inside_out), EACCES);
}

static void test_sandbox__owners_modes_times_and_attributes_stay(void **state)
{
	(void)state;
	assert_int_equal(try_ordinary(chmod_secret), EPERM);
	assert_int_equal(try_ordinary(fchmodat2_secret), ENOSYS);
	assert_int_equal(try_ordinary(chown_secret), EPERM);
	assert_int_equal(try_ordinary(touch_secret), EPERM);
	assert_int_equal(try_ordinary(attribute_of_secret), EOPNOTSUPP);
	assert_int_equal(try_ordinary(watch_secret), EPERM);
	assert_int_equal(try_watching(watch_secret), 0);
	assert_int_equal(try_watching(chmod_secret), EPERM);
	assert_int_equal(try_ordinary(flag_what_may_be_read), EPERM);
	assert_int_equal(try_ordinary(make_own_setuid), EPERM);
	assert_int_equal(try_executing(make_own_setuid), EPERM);
	assert_int_equal(try_ordinary(make_a_device), EACCES);
	/* By descriptor, if the file may be opened. */
	assert_int_equal(try_ordinary(touch_own), 0);
	assert_int_equal(try_ordinary(chmod_own), 0);
}
/* ---- itself ----------------------------------------------------------------------- */

static int have_privileges(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { 1, 1, 1 }, { 1, 1, 1 } };

	if (syscall(SYS_capget, &header, data))
		return errno;
	for (int i = 0; i < 2; i++) {
		if (data[i].effective || data[i].permitted || data[i].inheritable)
			return NOT_SO;
	}
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 || prctl(PR_GET_DUMPABLE) != 0)
		return NOT_SO;
	return getuid() == 0 && prctl(PR_CAPBSET_READ, 0) != 0 ? NOT_SO : 0;
}

static int have_privileges_again(void)
{
	return errno_of(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
}

static int become_another(void)
{
	return errno_of(setuid(getuid() + 1));
}

static int take_more_files(void)
{
	const struct rlimit more = { 65, 65 };

	return errno_of(setrlimit(RLIMIT_NOFILE, &more));
}

static int take_all_files(void)
{
	for (int i = 0; i < 100; i++) {
		if (dup(0) < 0)
			return errno;
	}
	return 0;
}

static int take_all_memory(void)
{
	char *volatile all = malloc(FW_LIMIT_WORKER_MEMORY_BYTES);
	const int errnum = all ? 0 : ENOMEM;

	free(all);
	return errnum;
}

static int write_much(void)
{
	const int fd = open(out_file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? NOT_SO : errno_of(ftruncate(fd, (off_t)FW_LIMIT_WORKER_FILE_BYTES + 1));
}

static void test_sandbox__privileges_are_gone_for_good(void **state)
{
	(void)state;
	assert_int_equal(try_ordinary(have_privileges), 0);
	assert_int_equal(try_ordinary(have_privileges_again), EINVAL);
	assert_int_equal(try_ordinary(become_another), EPERM);
}

static void test_sandbox__resources_are_limited(void **state)
{
	(void)state;
	assert_int_equal(try_ordinary(take_more_files), EPERM);
	assert_int_equal(try_ordinary(take_all_files), EMFILE);
	assert_int_equal(try_ordinary(write_much), EFBIG);
#ifdef HAS_SHADOW_MEMORY
	print_message("# memory: not limited in a build with sanitizers\n");
	(void)take_all_memory;
#else
	assert_int_equal(try_ordinary(take_all_memory), ENOMEM);
	assert_int_equal(try_executing(take_all_memory), ENOMEM);
#endif
}

static int know_the_environment(void)
{
	if (getenv("FW_TEST_SECRET") || !getenv("FW_TEST_KEPT") || !getenv("PATH"))
		return NOT_SO;
	return setenv("NEW", "1", 1) || !getenv("NEW") ? NOT_SO : 0;
}

/* The environment where the kernel placed it when this program was started. */
static char *started_with;

static int find_the_wiped(void)
{
	return strncmp(started_with, "CMOCKA_MESSAGE_OUTPUT", 5) == 0 ? NOT_SO : 0;
}

static void test_sandbox__only_named_variables_are_kept(void **state)
{
	static const char *names[] = { "FW_TEST_KEPT", NULL };
	fw_workers_options options = ordinary();

	(void)state;
	options.environment = names;
	(void)setenv("FW_TEST_SECRET", "s3cret", 1);
	(void)setenv("FW_TEST_KEPT", "yes", 1);
	assert_int_equal(in_sandbox(&options, know_the_environment), 0);
	if (started_with)
		assert_int_equal(in_sandbox(&options, find_the_wiped), 0);
}

static int no_files_left(void)
{
	return fcntl(100, F_GETFD) >= 0 || fcntl(50, F_GETFD) >= 0 ? NOT_SO : 0;
}

static void test_sandbox__inherited_files_are_closed_but_one(void **state)
{
	const fw_workers_options options = ordinary();
	struct fw_sandbox_plan *plan = NULL;
	int status = 0;

	(void)state;
	assert_null(fw_sandbox_prepare(&options, &plan));
	assert_int_equal(dup2(0, 50), 50);
	assert_int_equal(dup2(0, 60), 60);
	assert_int_equal(dup2(0, 100), 100);
	const pid_t child = fork();

	if (child == 0) {
		(void)setpgid(0, 0);
		fw_sandbox_close_files(plan, 60);
		if (fw_sandbox_apply(plan))
			_exit(NOT_ENTERED);
		/* The descriptor of the Landlock rules is closed, too. */
		for (int fd = 3; fd < 60; fd++) {
			if (fcntl(fd, F_GETFD) >= 0)
				_exit(fd);
		}
		_exit(fcntl(60, F_GETFD) < 0 ? NOT_SO : no_files_left());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(WEXITSTATUS(status), 0);
	(void)close(50);
	(void)close(60);
	(void)close(100);
	fw_sandbox_plan_free(plan);
}

/* ---- plans ------------------------------------------------------------------------ */

static void test_sandbox__a_missing_path_is_reported_at_start(void **state)
{
	const char *missing[] = { "/nowhere/at/all", NULL };
	fw_workers_options options = ordinary();
	struct fw_sandbox_plan *plan = NULL;

	(void)state;
	options.readable = missing;
	fw_error *err = fw_sandbox_prepare(&options, &plan);

	assert_non_null(err);
	assert_int_equal(fw_error_code(err), FW_FILE_NOT_FOUND);
	assert_null(plan);
	fw_error_free(err);
}

static size_t fail_at;

static void *allocate_or_fail(void *ctx, size_t size)
{
	(void)ctx;
	return fail_at && --fail_at == 0 ? NULL : malloc(size);
}

static void *reallocate_or_fail(void *ctx, void *block, size_t size)
{
	(void)ctx;
	return fail_at && --fail_at == 0 ? NULL : realloc(block, size);
}

static void release(void *ctx, void *block)
{
	(void)ctx;
	free(block);
}

static void test_sandbox__a_plan_without_memory_is_an_error(void **state)
{
	const fw_allocator allocator = { allocate_or_fail, reallocate_or_fail, release, NULL };
	const fw_workers_options options = ordinary();
	const int before = dup(0);
	struct fw_sandbox_plan *plan = NULL;
	size_t at = 0;

	(void)state;
	(void)close(before);
	fw_allocator_set(&allocator);
	while (!plan) {
		fail_at = ++at;
		fw_error *err = fw_sandbox_prepare(&options, &plan);

		assert_true(!err == !!plan);
		fail_at = 0;
		if (err) {
			fw_sandbox_plan_free(plan);
			plan = NULL;
		}
		assert_true(!err || fw_error_code(err) == FW_INTERNAL_OUT_OF_MEMORY);
		fw_error_free(err);
	}
	fw_sandbox_plan_free(plan);
	fw_allocator_set(NULL);
	assert_true(at > 2);
	/* No descriptor was leaked, either. */
	const int after = dup(0);

	assert_int_equal(after, before);
	(void)close(after);
}

/* A worker that replaces a declared path by a link does not help the next worker. */
static void test_sandbox__paths_are_those_of_the_start(void **state)
{
	char path[128];
	char away[160];
	const char *paths[] = { path, NULL };
	fw_workers_options options = ordinary();
	struct fw_sandbox_plan *plan = NULL;
	int status = 0;

	(void)state;
	(void)snprintf(path, sizeof path, "%s/swapped", root);
	(void)snprintf(away, sizeof away, "%s/away", root);
	assert_int_equal(mkdir(path, 0700), 0);
	options.readable = paths;
	assert_null(fw_sandbox_prepare(&options, &plan));
	assert_int_equal(rename(path, away), 0);
	assert_int_equal(symlink(root, path), 0);
	const pid_t child = fork();

	if (child == 0) {
		(void)setpgid(0, 0);
		if (fw_sandbox_apply(plan))
			_exit(NOT_ENTERED);
		_exit(read_secret());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(WEXITSTATUS(status), EACCES);
	fw_sandbox_plan_free(plan);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(away), 0);
}

static int start_another(void)
{
	const pid_t child = fork();

	if (child == 0)
		_exit(0);
	return errno_of(child);
}

static void test_sandbox__off_leaves_the_limits_alone_in_force(void **state)
{
	fw_workers_options options = ordinary();

	(void)state;
	options.sandbox = FW_SANDBOX_OFF;
	assert_int_equal(in_sandbox(&options, read_secret), 0);
	assert_int_equal(in_sandbox(&options, start_another), 0);
	assert_int_equal(in_sandbox(&options, take_all_files), EMFILE);
}

static void test_sandbox__a_process_that_shares_a_group_is_refused(void **state)
{
	const fw_workers_options options = ordinary();
	const pid_t child = fork();
	int status = 0;

	(void)state;
	if (child == 0) {
		fw_error *err = fw_sandbox_enter(&options);

		_exit(err && fw_error_code(err) == FW_INTERNAL_API_MISUSE ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void *wait_without_end(void *ctx)
{
	for (;;)
		(void)pause();
	return ctx;
}

static void test_sandbox__a_process_with_threads_is_refused(void **state)
{
	const fw_workers_options options = ordinary();
	const pid_t child = fork();
	int status = 0;

	(void)state;
	if (child == 0) {
		pthread_t thread;

		(void)setpgid(0, 0);
		(void)pthread_create(&thread, NULL, wait_without_end, NULL);
		fw_error *err = fw_sandbox_enter(&options);

		_exit(err && fw_error_code(err) == FW_INTERNAL_API_MISUSE ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- running ---------------------------------------------------------------------- */

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sandbox__declared_paths_work_and_no_others_do),
		cmocka_unit_test(test_sandbox__what_may_be_read_cannot_be_emptied),
		cmocka_unit_test(test_sandbox__links_and_renames_do_not_lead_out),
		cmocka_unit_test(test_sandbox__owners_modes_times_and_attributes_stay),
		cmocka_unit_test(test_sandbox__privileges_are_gone_for_good),
		cmocka_unit_test(test_sandbox__resources_are_limited),
		cmocka_unit_test(test_sandbox__only_named_variables_are_kept),
		cmocka_unit_test(test_sandbox__inherited_files_are_closed_but_one),
		cmocka_unit_test(test_sandbox__a_missing_path_is_reported_at_start),
		cmocka_unit_test(test_sandbox__a_plan_without_memory_is_an_error),
		cmocka_unit_test(test_sandbox__paths_are_those_of_the_start),
		cmocka_unit_test(test_sandbox__off_leaves_the_limits_alone_in_force),
		cmocka_unit_test(test_sandbox__a_process_that_shares_a_group_is_refused),
		cmocka_unit_test(test_sandbox__a_process_with_threads_is_refused),
	};

	if (!can_be_tested())
		return 0;
	started_with = getenv("CMOCKA_MESSAGE_OUTPUT");
	if (started_with)
		started_with -= sizeof "CMOCKA_MESSAGE_OUTPUT";
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
