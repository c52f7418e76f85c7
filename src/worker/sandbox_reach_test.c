/*
 * What is not the worker's: other processes, the network, the kernel.
 */
#include "worker/sandbox_test.h"

#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>

/* ---- processes -------------------------------------------------------------------- */

static int do_fork(void)
{
	const pid_t child = fork();

	if (child == 0)
		_exit(0);
	return errno_of(child);
}

static int do_exec(void)
{
	char *arguments[] = { (char *)"true", NULL };

	return errno_of(execv("/bin/true", arguments));
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
	/* Not system(), which needs /bin/sh. */
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
	return errno_of(kill(getppid(), 0));
}

static int signal_parent_thread(void)
{
	return errno_of(syscall(SYS_tgkill, getppid(), getppid(), 0));
}

static int queue_to_parent(void)
{
	return errno_of(sigqueue(getppid(), SIGUSR1, (union sigval){ 0 }));
}

static int signal_everybody(void)
{
	return errno_of(kill(-1, 0));
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
	return errno_of(fcntl(ends[0], F_SETOWN, getppid()));
}

static int trace_parent(void)
{
	return errno_of(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
}

static int read_parent(void)
{
	char byte;
	const struct iovec here = { &byte, 1 };
	const struct iovec there = { root, 1 };

	return errno_of(process_vm_readv(getppid(), &here, 1, &there, 1, 0));
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

/* It is a pipe then, which file rules do not cover. */
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

	return errno_of(prlimit(getppid(), RLIMIT_NOFILE, &none, NULL));
}

static int slow_parent(void)
{
	return errno_of(setpriority(PRIO_PROCESS, (id_t)getppid(), 19));
}

static int slow_all_of_the_user(void)
{
	/* IOPRIO_WHO_USER, oneself, idle */
	return errno_of(syscall(SYS_ioprio_set, 3, 0, 3 << 13));
}

static int make_a_sibling(void)
{
	const long child = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);

	if (child == 0)
		_exit(0);
	return errno_of(child);
}

static int pin_parent(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	return errno_of(sched_setaffinity(getppid(), sizeof set, &set));
}

static int outlive_parent(void)
{
	return errno_of(prctl(PR_SET_PDEATHSIG, 0));
}

static int leave_the_group(void)
{
	return errno_of(setpgid(0, getppid()));
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

static void test_sandbox__signals_reach_no_other_process(void **state)
{
	(void)state;
	assert_int_equal(try_ordinary(signal_parent), EPERM);
	assert_int_equal(try_ordinary(signal_parent_thread), EPERM);
	assert_int_equal(try_ordinary(queue_to_parent), EPERM);
	assert_int_equal(try_ordinary(signal_everybody), EPERM);
	assert_int_equal(try_ordinary(own_a_pipe_to_parent), EPERM);
	assert_int_equal(try_ordinary(signal_oneself), 0);
	assert_int_equal(try_ordinary(die_of_abort), 128 + SIGABRT);
	/* Refused by Landlock only. */
	assert_int_equal(try_executing(signal_parent), EPERM);
	assert_int_equal(try_executing(queue_to_parent), EPERM);
	assert_int_equal(try_executing(own_a_pipe_to_parent), EPERM);
}

static void test_sandbox__the_parent_is_out_of_reach(void **state)
{
	static attempt_fn *const attempts[] = { trace_parent,         read_parent,
						limit_parent,         slow_parent,
						slow_all_of_the_user, make_a_sibling,
						pin_parent,           outlive_parent,
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
	/* /proc may be read then, but not this file. */
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

	return fd < 0 ? errno : errno_of(connect(fd, (const void *)&address, sizeof address));
}

static int send_udp(void)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons(9),
					     .sin_addr = { htonl(INADDR_LOOPBACK) } };
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? errno
		      : errno_of(sendto(fd, "x", 1, 0, (const void *)&address, sizeof address));
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

	return fd < 0 ? errno : errno_of(connect(fd, (const void *)&address, len));
}

/* One end of a datagram pair can send to any address. */
static int send_from_a_pair(void)
{
	int pair[2];

	return errno_of(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair));
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
	return errno_of(sendmsg(pair[0], &message, MSG_NOSIGNAL));
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
	return errno_of(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
}

static int share_memory(void)
{
	return errno_of(syscall(SYS_shmget, 0, 4096, 0600));
}

static int read_a_queue(void)
{
	return errno_of(syscall(SYS_msgctl, 0, 2 /* IPC_STAT */, NULL));
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
	assert_int_equal(try_ordinary(read_a_queue), EPERM);
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
	return errno_of(mount("none", out_dir, "tmpfs", 0, NULL));
}

static int do_chroot(void)
{
	return errno_of(chroot(out_dir));
}

static int new_namespace(void)
{
	return errno_of(unshare(CLONE_NEWUSER));
}

static int clone_namespace(void)
{
	return errno_of(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
}

static int clone3_namespace(void)
{
	uint64_t arguments[8] = { CLONE_NEWUSER };

	return errno_of(syscall(SYS_clone3, arguments, sizeof arguments));
}

static int join_namespace(void)
{
	return errno_of(setns(0, 0));
}

static int new_ring(void)
{
	char parameters[120] = { 0 };

	return errno_of(syscall(SYS_io_uring_setup, 1, parameters));
}

static int load_bpf(void)
{
	return errno_of(syscall(SYS_bpf, 0, NULL, 0));
}

static int count_events(void)
{
	return errno_of(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
}

static int use_keys(void)
{
	return errno_of(syscall(SYS_keyctl, 0, -3, 1));
}

static int handle_faults(void)
{
	return errno_of(syscall(SYS_userfaultfd, 1));
}

static int open_by_handle(void)
{
	return errno_of(syscall(SYS_open_by_handle_at, AT_FDCWD, NULL, 0));
}

static int set_the_clock(void)
{
	const struct timespec now = { 0, 0 };

	return errno_of(clock_settime(CLOCK_REALTIME, &now));
}

static int change_personality(void)
{
	return errno_of(personality(ADDR_NO_RANDOMIZE));
}

static int ask_personality(void)
{
	return errno_of(personality(0xffffffffUL));
}

static int type_into_the_terminal(void)
{
	return errno_of(ioctl(0, TIOCSTI, "x"));
}

/* With high bits set, which the kernel ignores. */
static int type_with_high_bits(void)
{
	return errno_of(syscall(SYS_ioctl, 0, UINT64_C(0x100000000) | TIOCSTI, "x"));
}

static int call_from_the_future(void)
{
	return errno_of(syscall(470, 0, 0, 0, 0, 0, 0));
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

/* ---- running ---------------------------------------------------------------------- */

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sandbox__no_programs_and_processes_unless_allowed),
		cmocka_unit_test(test_sandbox__signals_reach_no_other_process),
		cmocka_unit_test(test_sandbox__the_parent_is_out_of_reach),
		cmocka_unit_test(test_sandbox__no_connections_unless_allowed),
		cmocka_unit_test(test_sandbox__parts_of_the_kernel_are_closed),
	};

	return can_be_tested() ? cmocka_run_group_tests(tests, set_up, tear_down) : 0;
}
