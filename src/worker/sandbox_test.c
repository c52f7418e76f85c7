/*
 * Each test forks, enters, tries, and tells by its exit status what came of it:
 * an errno, or 0 where nothing kept it from succeeding.
 *
 * Not for valgrind, which knows neither Landlock's calls nor a limited address
 * space: there everything is skipped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include <faultwire/codes.h>

#include "base/limits.h"
#include "worker/sandbox.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

/* Beyond every errno: the sandbox could not be entered, or lied. */
enum { NOT_ENTERED = 200, NOT_SO = 201 };

/* root/in may be read, root/out may be written, root/secret neither. */
static char root[64];
static char in_dir[96];
static char out_dir[96];
static char in_file[128];
static char out_file[128];
static char secret[128];
static const char *readable[] = { in_dir, NULL };
static const char *writable[] = { out_dir, NULL };

static fw_workers_options ordinary(void)
{
	fw_workers_options options = FW_WORKERS_INIT;

	options.sandbox = FW_SANDBOX_REQUIRED;
	options.readable = readable;
	options.writable = writable;
	return options;
}

typedef int attempt_fn(void);

/* A child that does it in the sandbox: an errno, 0, or 128 and a signal. */
static int in_sandbox(const fw_workers_options *options, attempt_fn *attempt)
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

static int try_ordinary(attempt_fn *attempt)
{
	const fw_workers_options options = ordinary();

	return in_sandbox(&options, attempt);
}

static int try_executing(attempt_fn *attempt)
{
	fw_workers_options options = ordinary();

	options.may_execute = true;
	return in_sandbox(&options, attempt);
}

static int try_connecting(attempt_fn *attempt)
{
	fw_workers_options options = ordinary();

	options.may_connect = true;
	return in_sandbox(&options, attempt);
}

static int told(long result)
{
	return result < 0 ? errno : 0;
}

static int open_and_close(const char *path, int flags)
{
	const int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno;
	(void)close(fd);
	return 0;
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

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

	return told(syscall(SYS_openat2, AT_FDCWD, in_file, &how, sizeof how));
}

static int empty_by_truncate(void)
{
	return told(truncate(in_file, 0));
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
	return told(link(secret, path));
}

static int rename_secret_inside(void)
{
	char path[160];

	(void)snprintf(path, sizeof path, "%s/renamed", out_dir);
	return told(rename(secret, path));
}

static int rename_inside_out(void)
{
	char path[160];

	if (write_inside())
		return NOT_SO;
	(void)snprintf(path, sizeof path, "%s/moved", root);
	return told(rename(out_file, path));
}

static int remove_secret(void)
{
	return told(unlink(secret));
}

static int chmod_secret(void)
{
	return told(chmod(secret, 0666));
}

static int fchmodat2_secret(void)
{
	return told(syscall(452, AT_FDCWD, secret, 0666, 0));
}

static int chown_secret(void)
{
	return told(chown(secret, getuid(), getgid()));
}

static int touch_secret(void)
{
	return told(utimensat(AT_FDCWD, secret, NULL, 0));
}

static int touch_own(void)
{
	const int fd = open(out_file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? NOT_SO : told(futimens(fd, NULL));
}

static int chmod_own(void)
{
	const int fd = open(out_file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? NOT_SO : told(fchmod(fd, 0640));
}

static int make_own_setuid(void)
{
	const int fd = open(out_file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? NOT_SO : told(fchmod(fd, 04755));
}

static int attribute_of_secret(void)
{
	return told(setxattr(secret, "user.a", "b", 1, 0));
}

static int watch_secret(void)
{
	const int fd = inotify_init1(IN_CLOEXEC);

	return fd < 0 ? NOT_SO : told(inotify_add_watch(fd, secret, IN_ALL_EVENTS));
}

static int make_a_device(void)
{
	char path[160];

	(void)snprintf(path, sizeof path, "%s/memory", out_dir);
	return told(mknod(path, S_IFCHR | 0600, makedev(1, 1)));
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
	assert_int_equal(try_ordinary(make_own_setuid), EPERM);
	assert_int_equal(try_executing(make_own_setuid), EPERM);
	assert_int_equal(try_ordinary(make_a_device), EACCES);
	/* By descriptor, of what it may open. */
	assert_int_equal(try_ordinary(touch_own), 0);
	assert_int_equal(try_ordinary(chmod_own), 0);
}

/* ---- processes -------------------------------------------------------------------- */

static int do_fork(void)
{
	const pid_t child = fork();

	if (child == 0)
		_exit(0);
	return told(child);
}

static int do_exec(void)
{
	char *arguments[] = { (char *)"true", NULL };

	return told(execv("/bin/true", arguments));
}

static void *nothing(void *ctx)
{
	return ctx;
}

static int start_a_thread(void)
{
	pthread_t thread;
	const int failed = pthread_create(&thread, NULL, nothing, NULL);

	return failed ? failed : pthread_join(thread, NULL);
}

static int run_a_shell(void)
{
	/* Not system(): it would need /bin/sh alone. */
	const int status = system("x=$(cat /dev/null; /bin/echo hello) && test \"$x\" = hello");

	return status == -1 ? errno : WEXITSTATUS(status);
}

static int signal_own_child(void)
{
	const pid_t child = fork();
	int status;

	if (child == 0) {
		for (;;)
			(void)pause();
	}
	if (child < 0 || kill(child, SIGTERM))
		return errno;
	return waitpid(child, &status, 0) == child && WIFSIGNALED(status) ? 0 : NOT_SO;
}

static int signal_parent(void)
{
	return told(kill(getppid(), 0));
}

static int signal_parent_thread(void)
{
	return told(syscall(SYS_tgkill, getppid(), getppid(), 0));
}

static int queue_to_parent(void)
{
	return told(sigqueue(getppid(), SIGUSR1, (union sigval){ 0 }));
}

static int signal_everybody(void)
{
	return told(kill(-1, 0));
}

static int signal_oneself(void)
{
	if (signal(SIGUSR1, SIG_IGN) == SIG_ERR || kill(getpid(), SIGUSR1))
		return errno;
	return raise(SIGUSR1) ? errno : 0;
}

static int die_of_abort(void)
{
	abort();
}

static int own_a_pipe_to_parent(void)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return NOT_SO;
	return told(fcntl(ends[0], F_SETOWN, getppid()));
}

static int trace_parent(void)
{
	return told(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
}

static int read_parent(void)
{
	char byte;
	const struct iovec here = { &byte, 1 };
	const struct iovec there = { root, 1 };

	return told(process_vm_readv(getppid(), &here, 1, &there, 1, 0));
}

static int proc_of_parent(const char *name)
{
	char path[64];

	(void)snprintf(path, sizeof path, "/proc/%d/%s", (int)getppid(), name);
	return open_and_close(path, O_RDONLY);
}

static int memory_of_parent(void)
{
	return proc_of_parent("mem");
}

static int environment_of_parent(void)
{
	return proc_of_parent("environ");
}

/* It is a pipe then, which no rule for files holds back. */
static int output_of_parent(void)
{
	return proc_of_parent("fd/0");
}

static int command_of_parent(void)
{
	return proc_of_parent("cmdline");
}

static int limit_parent(void)
{
	const struct rlimit none = { 0, 0 };

	return told(prlimit(getppid(), RLIMIT_NOFILE, &none, NULL));
}

static int slow_parent(void)
{
	return told(setpriority(PRIO_PROCESS, (id_t)getppid(), 19));
}

static int pin_parent(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	return told(sched_setaffinity(getppid(), sizeof set, &set));
}

static int outlive_parent(void)
{
	return told(prctl(PR_SET_PDEATHSIG, 0));
}

static int leave_the_group(void)
{
	return told(setpgid(0, getppid()));
}

static void test_sandbox__no_programs_and_processes_unless_allowed(void **state)
{
	(void)state;
	assert_int_equal(try_ordinary(do_fork), EPERM);
	assert_int_equal(try_ordinary(do_exec), EPERM);
	assert_int_equal(try_ordinary(start_a_thread), 0);
	assert_int_equal(try_executing(do_fork), 0);
	assert_int_equal(try_executing(do_exec), 0);
	assert_int_equal(try_executing(start_a_thread), 0);
	assert_int_equal(try_executing(run_a_shell), 0);
	assert_int_equal(try_executing(signal_own_child), 0);
}

static void test_sandbox__signals_reach_nobody_else(void **state)
{
	(void)state;
	assert_int_equal(try_ordinary(signal_parent), EPERM);
	assert_int_equal(try_ordinary(signal_parent_thread), EPERM);
	assert_int_equal(try_ordinary(queue_to_parent), EPERM);
	assert_int_equal(try_ordinary(signal_everybody), EPERM);
	assert_int_equal(try_ordinary(own_a_pipe_to_parent), EPERM);
	assert_int_equal(try_ordinary(signal_oneself), 0);
	assert_int_equal(try_ordinary(die_of_abort), 128 + SIGABRT);
	/* There by Landlock alone. */
	assert_int_equal(try_executing(signal_parent), EPERM);
	assert_int_equal(try_executing(queue_to_parent), EPERM);
	assert_int_equal(try_executing(own_a_pipe_to_parent), EPERM);
}

static void test_sandbox__the_parent_is_out_of_reach(void **state)
{
	static attempt_fn *const attempts[] = { trace_parent,   read_parent, limit_parent,
						slow_parent,    pin_parent,  outlive_parent,
						leave_the_group };
	int ends[2];
	const int input = dup(0);

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_true(dup2(ends[0], 0) == 0);
	for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
		assert_int_equal(try_ordinary(attempts[i]), EPERM);
		assert_int_equal(try_executing(attempts[i]), EPERM);
	}
	assert_int_equal(try_ordinary(memory_of_parent), EACCES);
	assert_int_equal(try_ordinary(environment_of_parent), EACCES);
	assert_int_equal(try_ordinary(output_of_parent), EACCES);
	assert_int_equal(try_ordinary(command_of_parent), EACCES);
	/* /proc may be read then, but not this. */
	assert_int_equal(try_executing(memory_of_parent), EACCES);
	assert_int_equal(try_executing(environment_of_parent), EACCES);
	assert_int_equal(try_executing(output_of_parent), EACCES);
	assert_int_equal(try_executing(command_of_parent), 0);
	(void)dup2(input, 0);
	(void)close(input);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

/* ---- sockets ---------------------------------------------------------------------- */

static uint16_t port;
static char abstract_name[32];

static int connect_tcp(void)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons(port),
					     .sin_addr = { htonl(INADDR_LOOPBACK) } };
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? errno : told(connect(fd, (const void *)&address, sizeof address));
}

static int send_udp(void)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons(9),
					     .sin_addr = { htonl(INADDR_LOOPBACK) } };
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? errno
		      : told(sendto(fd, "x", 1, 0, (const void *)&address, sizeof address));
}

static struct sockaddr_un abstract_address(socklen_t *ret_len)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	(void)snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%s", abstract_name);
	*ret_len =
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(abstract_name));
	return address;
}

static int connect_unix(void)
{
	socklen_t len;
	const struct sockaddr_un address = abstract_address(&len);
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? errno : told(connect(fd, (const void *)&address, len));
}

/* One half of a pair can be sent from, to any address. */
static int send_from_a_pair(void)
{
	int pair[2];

	return told(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair));
}

static int address_from_a_pair(void)
{
	socklen_t len;
	struct sockaddr_un address = abstract_address(&len);
	char byte = 'x';
	struct iovec text = { &byte, 1 };
	const struct msghdr message = {
		.msg_name = &address, .msg_namelen = len, .msg_iov = &text, .msg_iovlen = 1
	};
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return NOT_SO;
	return told(sendmsg(pair[0], &message, MSG_NOSIGNAL));
}

static int talk_within_a_pair(void)
{
	int pair[2];
	char byte;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) ||
	    send(pair[0], "x", 1, MSG_NOSIGNAL) != 1)
		return errno;
	return recv(pair[1], &byte, 1, 0) == 1 ? 0 : errno;
}

static int raw_packets(void)
{
	return told(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
}

static int share_memory(void)
{
	return told(syscall(SYS_shmget, 0, 4096, 0600));
}

static void test_sandbox__no_connections_unless_allowed(void **state)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof address;
	const int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const int local = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)state;
	assert_int_equal(bind(tcp, (const void *)&address, len), 0);
	assert_int_equal(listen(tcp, 8), 0);
	assert_int_equal(getsockname(tcp, (void *)&address, &len), 0);
	port = ntohs(address.sin_port);
	(void)snprintf(abstract_name, sizeof abstract_name, "sandbox_test-%d", (int)getpid());
	const struct sockaddr_un unix_address = abstract_address(&len);

	assert_int_equal(bind(local, (const void *)&unix_address, len), 0);

	assert_int_equal(try_ordinary(connect_tcp), EPERM);
	assert_int_equal(try_ordinary(send_udp), EPERM);
	assert_int_equal(try_ordinary(connect_unix), EPERM);
	assert_int_equal(try_ordinary(send_from_a_pair), EPERM);
	assert_int_equal(try_ordinary(address_from_a_pair), EISCONN);
	assert_int_equal(try_ordinary(share_memory), EPERM);
	assert_int_equal(try_ordinary(talk_within_a_pair), 0);
	assert_int_equal(try_executing(connect_tcp), EPERM);
	assert_int_equal(try_connecting(connect_tcp), 0);
	assert_int_equal(try_connecting(send_udp), 0);
	assert_int_equal(try_connecting(connect_unix), 0);
	assert_int_equal(try_connecting(raw_packets), EAFNOSUPPORT);
	(void)close(tcp);
	(void)close(local);
}

/* ---- the kernel ------------------------------------------------------------------- */

static int do_mount(void)
{
	return told(mount("none", out_dir, "tmpfs", 0, NULL));
}

static int do_chroot(void)
{
	return told(chroot(out_dir));
}

static int new_namespace(void)
{
	return told(unshare(CLONE_NEWUSER));
}

static int clone_namespace(void)
{
	return told(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
}

static int clone3_namespace(void)
{
	uint64_t arguments[8] = { CLONE_NEWUSER };

	return told(syscall(SYS_clone3, arguments, sizeof arguments));
}

static int join_namespace(void)
{
	return told(setns(0, 0));
}

static int new_ring(void)
{
	char parameters[120] = { 0 };

	return told(syscall(SYS_io_uring_setup, 1, parameters));
}

static int load_bpf(void)
{
	return told(syscall(SYS_bpf, 0, NULL, 0));
}

static int count_events(void)
{
	return told(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
}

static int use_keys(void)
{
	return told(syscall(SYS_keyctl, 0, -3, 1));
}

static int handle_faults(void)
{
	return told(syscall(SYS_userfaultfd, 1));
}

static int open_by_handle(void)
{
	return told(syscall(SYS_open_by_handle_at, AT_FDCWD, NULL, 0));
}

static int set_the_clock(void)
{
	const struct timespec now = { 0, 0 };

	return told(clock_settime(CLOCK_REALTIME, &now));
}

static int change_personality(void)
{
	return told(personality(ADDR_NO_RANDOMIZE));
}

static int ask_personality(void)
{
	return told(personality(0xffffffffUL));
}

static int type_into_the_terminal(void)
{
	return told(ioctl(0, TIOCSTI, "x"));
}

/* High bits, which the kernel does not look at. */
static int type_with_high_bits(void)
{
	return told(syscall(SYS_ioctl, 0, UINT64_C(0x100000000) | TIOCSTI, "x"));
}

static int call_from_the_future(void)
{
	return told(syscall(470, 0, 0, 0, 0, 0, 0));
}

static void test_sandbox__parts_of_the_kernel_are_closed(void **state)
{
	static attempt_fn *const attempts[] = { do_mount,           do_chroot,
						new_namespace,      clone_namespace,
						join_namespace,     new_ring,
						load_bpf,           count_events,
						use_keys,           handle_faults,
						open_by_handle,     set_the_clock,
						change_personality, type_into_the_terminal,
						type_with_high_bits };

	(void)state;
	for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
		assert_int_equal(try_ordinary(attempts[i]), EPERM);
		assert_int_equal(try_executing(attempts[i]), EPERM);
	}
	assert_int_equal(try_ordinary(clone3_namespace), ENOSYS);
	assert_int_equal(try_ordinary(ask_personality), 0);
	assert_int_equal(try_ordinary(call_from_the_future), ENOSYS);
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
	return told(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
}

static int become_another(void)
{
	return told(setuid(getuid() + 1));
}

static int take_more_files(void)
{
	const struct rlimit more = { 65, 65 };

	return told(setrlimit(RLIMIT_NOFILE, &more));
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
	void *volatile all = malloc(FW_LIMIT_WORKER_MEMORY_BYTES);

	return all ? 0 : ENOMEM;
}

static int write_much(void)
{
	const int fd = open(out_file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? NOT_SO : told(ftruncate(fd, (off_t)FW_LIMIT_WORKER_FILE_BYTES + 1));
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
#if defined(__SANITIZE_ADDRESS__)
	print_message("# memory: not limited in a build with sanitizers\n");
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
	print_message("# memory: not limited in a build with sanitizers\n");
#else
	assert_int_equal(try_ordinary(take_all_memory), ENOMEM);
#endif
#else
	assert_int_equal(try_ordinary(take_all_memory), ENOMEM);
	assert_int_equal(try_executing(take_all_memory), ENOMEM);
#endif
	(void)take_all_memory;
}

static int know_the_environment(void)
{
	if (getenv("FW_TEST_SECRET") || !getenv("FW_TEST_KEPT") || !getenv("PATH"))
		return NOT_SO;
	return setenv("NEW", "1", 1) || !getenv("NEW") ? NOT_SO : 0;
}

/* Where the kernel put it, when this program was started. */
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
		/* The rules' handle, too, is gone. */
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

static void test_sandbox__a_path_that_is_not_there_is_told_at_start(void **state)
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

/* A worker that swaps a declared path for a link gives the next one nothing. */
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

static void test_sandbox__off_leaves_the_limits_alone_in_force(void **state)
{
	fw_workers_options options = ordinary();

	(void)state;
	options.sandbox = FW_SANDBOX_OFF;
	assert_int_equal(in_sandbox(&options, read_secret), 0);
	assert_int_equal(in_sandbox(&options, do_fork), 0);
	assert_int_equal(in_sandbox(&options, take_all_files), EMFILE);
}

static void test_sandbox__who_shares_a_group_is_refused(void **state)
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

static void *wait_for_ever(void *ctx)
{
	for (;;)
		(void)pause();
	return ctx;
}

static void test_sandbox__who_has_threads_is_refused(void **state)
{
	const fw_workers_options options = ordinary();
	const pid_t child = fork();
	int status = 0;

	(void)state;
	if (child == 0) {
		pthread_t thread;

		(void)setpgid(0, 0);
		(void)pthread_create(&thread, NULL, wait_for_ever, NULL);
		fw_error *err = fw_sandbox_enter(&options);

		_exit(err && fw_error_code(err) == FW_INTERNAL_API_MISUSE ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- running ---------------------------------------------------------------------- */

static int set_up(void **state)
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

static int tear_down(void **state)
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

static int skip_all(const char *why)
{
	(void)printf("1..0 # SKIP %s\n", why);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sandbox__declared_paths_work_and_no_others_do),
		cmocka_unit_test(test_sandbox__what_may_be_read_cannot_be_emptied),
		cmocka_unit_test(test_sandbox__links_and_renames_do_not_lead_out),
		cmocka_unit_test(test_sandbox__owners_modes_times_and_attributes_stay),
		cmocka_unit_test(test_sandbox__no_programs_and_processes_unless_allowed),
		cmocka_unit_test(test_sandbox__signals_reach_nobody_else),
		cmocka_unit_test(test_sandbox__the_parent_is_out_of_reach),
		cmocka_unit_test(test_sandbox__no_connections_unless_allowed),
		cmocka_unit_test(test_sandbox__parts_of_the_kernel_are_closed),
		cmocka_unit_test(test_sandbox__privileges_are_gone_for_good),
		cmocka_unit_test(test_sandbox__resources_are_limited),
		cmocka_unit_test(test_sandbox__only_named_variables_are_kept),
		cmocka_unit_test(test_sandbox__inherited_files_are_closed_but_one),
		cmocka_unit_test(test_sandbox__a_path_that_is_not_there_is_told_at_start),
		cmocka_unit_test(test_sandbox__paths_are_those_of_the_start),
		cmocka_unit_test(test_sandbox__off_leaves_the_limits_alone_in_force),
		cmocka_unit_test(test_sandbox__who_shares_a_group_is_refused),
		cmocka_unit_test(test_sandbox__who_has_threads_is_refused),
	};
	const char *preload = getenv("LD_PRELOAD");
	struct fw_sandbox_report report;

	if (preload && strstr(preload, "vgpreload"))
		return skip_all("valgrind does not know the calls that close a sandbox");
	fw_sandbox_probe(&report);
	if (report.landlock_abi < 6 || !report.has_seccomp)
		return skip_all(report.missing[0] ? report.missing : "no rules for signals");
	started_with = getenv("CMOCKA_MESSAGE_OUTPUT");
	if (started_with)
		started_with -= sizeof "CMOCKA_MESSAGE_OUTPUT";
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
