/*
 * escape_reach.c - attempts to reach other processes, the network and the kernel.
 */
#include "escape.h"

#include <arpa/inet.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>

/* ---- other processes ----------------------------------------------------------------- */

static int open_memory(fw_call *call)
{
	return try_proc(call, "mem", O_RDWR);
}

static int open_environ(fw_call *call)
{
	return try_proc(call, "environ", O_RDONLY);
}

static int open_maps(fw_call *call)
{
	return try_proc(call, "maps", O_RDONLY);
}

/* Over stdio that is a pipe, which file rules do not cover. */
static int open_output(fw_call *call)
{
	return try_proc(call, "fd/1", O_WRONLY);
}

static int open_input(fw_call *call)
{
	return try_proc(call, "fd/0", O_RDONLY | O_NONBLOCK);
}

static int trace(fw_call *call)
{
	const pid_t pid = pid_of(call);

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL))
		return errno;
	/* The process is released when we exit. */
	return 0;
}

static int read_memory(fw_call *call)
{
	static char here[1];
	const struct iovec to = { here, 1 };
	/* A copy of this program has it at the same address. */
	const struct iovec from = { (void *)(uintptr_t)&read_memory, 1 };
	const ssize_t got = process_vm_readv(pid_of(call), &to, 1, &from, 1, 0);

	/* Another program: not mapped there, but reading was allowed. */
	return got < 0 && errno != EFAULT ? errno : 0;
}

static int take_descriptor(fw_call *call)
{
	const int process = (int)syscall(SYS_pidfd_open, pid_of(call), 0);

	if (process < 0)
		return errno;
	const int errnum = errno_of(syscall(SYS_pidfd_getfd, process, 0, 0));

	(void)close(process);
	return errnum;
}

static int kill_it(fw_call *call)
{
	return errno_of(kill(pid_of(call), SIGTERM));
}

static int kill_its_thread(fw_call *call)
{
	return errno_of(syscall(SYS_tgkill, pid_of(call), pid_of(call), SIGTERM));
}

static int queue_signal(fw_call *call)
{
	return errno_of(sigqueue(pid_of(call), SIGTERM, (union sigval){ 0 }));
}

static int kill_by_pidfd(fw_call *call)
{
	const int process = (int)syscall(SYS_pidfd_open, pid_of(call), 0);

	return process < 0 ? errno
			   : errno_of(syscall(SYS_pidfd_send_signal, process, 0, NULL, 0));
}

static int kill_all(fw_call *call)
{
	(void)call;
	return errno_of(kill(-1, SIGTERM));
}

/* The owner of a descriptor gets a signal when there is something to read. */
static int kill_by_owner(fw_call *call)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return EBADMSG;
	int errnum = errno_of(fcntl(ends[0], F_SETOWN, pid_of(call)));

	if (!errnum)
		errnum = errno_of(fcntl(ends[0], F_SETFL, O_ASYNC));
	if (!errnum && write(ends[1], "x", 1) != 1)
		errnum = errno;
	(void)close(ends[0]);
	(void)close(ends[1]);
	return errnum;
}

static int limit_it(fw_call *call)
{
	struct rlimit limits;

	/* Reading is enough: limits that can be read can be set. */
	return errno_of(prlimit(pid_of(call), RLIMIT_NOFILE, NULL, &limits));
}

static int slow_it(fw_call *call)
{
	return errno_of(setpriority(PRIO_PROCESS, (id_t)pid_of(call), 10));
}

static int leave_group(fw_call *call)
{
	(void)call;
	/* A session leader cannot do this even without a sandbox. */
	return errno_of(setpgid(0, pid_of(call)));
}

static int outlive(fw_call *call)
{
	(void)call;
	return errno_of(prctl(PR_SET_PDEATHSIG, SIGCONT));
}

/* ---- programs -------------------------------------------------------------------------- */

static int do_fork(fw_call *call)
{
	const pid_t child = fork();

	(void)call;
	if (child == 0)
		_exit(0);
	if (child < 0)
		return errno;
	(void)waitpid(child, NULL, 0);
	return 0;
}

static int do_exec(fw_call *call)
{
	char *arguments[] = { (char *)"sh", (char *)"-c", (char *)"exit 0", NULL };
	char *environment[] = { NULL };

	(void)call;
	return errno_of(execve("/bin/sh", arguments, environment));
}

static int do_system(fw_call *call)
{
	const int status = system("exit 0");

	(void)call;
	return status == -1 ? errno : status == 0 ? 0 : EPERM;
}

static int exec_from_memory(fw_call *call)
{
	static const char script[] = "#!/bin/sh\nexit 0\n";
	char *arguments[] = { (char *)"x", NULL };
	char *environment[] = { NULL };
	const int fd = memfd_create("x", 0);

	(void)call;
	if (fd < 0 || write(fd, script, sizeof script - 1) < 0)
		return EBADMSG;
	const int errnum = errno_of(fexecve(fd, arguments, environment));

	(void)close(fd);
	return errnum;
}

/* ---- the network ----------------------------------------------------------------------- */

static struct sockaddr_in loopback(const fw_call *call)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons((uint16_t)fw_call_i64(call, "port", 9)),
				     .sin_addr = { htonl(INADDR_LOOPBACK) } };
}

static int connect_tcp(fw_call *call)
{
	const struct sockaddr_in address = loopback(call);
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errno;
	const int errnum = errno_of(connect(fd, (const void *)&address, sizeof address));

	(void)close(fd);
	return errnum;
}

static int send_udp(fw_call *call)
{
	const struct sockaddr_in address = loopback(call);
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errno;
	const int errnum =
		errno_of(sendto(fd, "x", 1, 0, (const void *)&address, sizeof address));

	(void)close(fd);
	return errnum;
}

static int bind_port(fw_call *call)
{
	struct sockaddr_in address = loopback(call);
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errno;
	address.sin_port = 0;
	int errnum = errno_of(bind(fd, (const void *)&address, sizeof address));

	if (!errnum)
		errnum = errno_of(listen(fd, 1));
	(void)close(fd);
	return errnum;
}

static struct sockaddr_un local(const fw_call *call, bool is_abstract, socklen_t *ret_len)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *name = text_of(call, is_abstract ? "abstract" : "socket");

	(void)snprintf(address.sun_path + is_abstract, sizeof address.sun_path - is_abstract,
		       "%s", name);
	*ret_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name) + 1);
	return address;
}

static int connect_local(const fw_call *call, bool is_abstract)
{
	socklen_t len;
	const struct sockaddr_un address = local(call, is_abstract, &len);
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errno;
	const int errnum = errno_of(connect(fd, (const void *)&address, len));

	(void)close(fd);
	return errnum;
}

static int connect_unix(fw_call *call)
{
	return connect_local(call, false);
}

static int connect_abstract(fw_call *call)
{
	return connect_local(call, true);
}

/* One end of a pair needs no socket() and can send to any address. */
static int send_from_pair(fw_call *call)
{
	int pair[2];

	(void)call;
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair))
		return errno;
	(void)close(pair[0]);
	(void)close(pair[1]);
	return 0;
}

static int share_memory(fw_call *call)
{
	const int id = (int)syscall(SYS_shmget, 0, 4096, 0600);

	(void)call;
	if (id < 0)
		return errno;
	(void)syscall(SYS_shmctl, id, 0 /* IPC_RMID */, NULL);
	return 0;
}

/* ---- the kernel -------------------------------------------------------------------------- */

static int new_namespace(fw_call *call)
{
	(void)call;
	return errno_of(unshare(CLONE_NEWUSER));
}

static int new_namespace_by_clone3(fw_call *call)
{
	uint64_t arguments[8] = { CLONE_NEWUSER, 0, 0, 0, SIGCHLD };
	const long child = syscall(SYS_clone3, arguments, sizeof arguments);

	(void)call;
	if (child == 0)
		_exit(0);
	if (child < 0)
		return errno;
	(void)waitpid((pid_t)child, NULL, 0);
	return 0;
}

static int join_namespace(fw_call *call)
{
	char path[64];

	(void)snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)pid_of(call));
	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return errno;
	return errno_of(setns(fd, 0));
}

static int do_mount(fw_call *call)
{
	return errno_of(mount("none", text_of(call, "write"), "tmpfs", 0, NULL));
}

static int do_chroot(fw_call *call)
{
	return errno_of(chroot(text_of(call, "write")));
}

static int use_ring(fw_call *call)
{
	char parameters[120] = { 0 };
	const int ring = (int)syscall(SYS_io_uring_setup, 1, parameters);

	(void)call;
	if (ring < 0)
		return errno;
	(void)close(ring);
	return 0;
}

static int use_bpf(fw_call *call)
{
	char attributes[128] = { 0 };

	(void)call;
	/* BPF_MAP_CREATE of an empty array: EINVAL means that bpf() was allowed. */
	const long map = syscall(SYS_bpf, 0, attributes, sizeof attributes);

	return map < 0 && errno != EINVAL ? errno : 0;
}

static int use_keys(fw_call *call)
{
	(void)call;
	/* The session keyring, created if necessary. */
	return errno_of(syscall(SYS_keyctl, 0, -3, 1));
}

static int handle_faults(fw_call *call)
{
	const int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | 1);

	(void)call;
	if (fd < 0)
		return errno;
	(void)close(fd);
	return 0;
}

static int raise_limit(fw_call *call)
{
	struct rlimit limits;

	(void)call;
	if (getrlimit(RLIMIT_NOFILE, &limits))
		return EBADMSG;
	limits.rlim_max++;
	return errno_of(setrlimit(RLIMIT_NOFILE, &limits));
}

static int become_another(fw_call *call)
{
	(void)call;
	return errno_of(setresuid(getuid() + 1, getuid() + 1, getuid() + 1));
}

static int use_privilege(fw_call *call)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	(void)call;
	if (syscall(SYS_capget, &header, data))
		return errno;
	/* Sets the current value again, which changes nothing. */
	data[0].permitted = data[0].effective = data[0].permitted | (1U << CAP_DAC_OVERRIDE);
	return errno_of(syscall(SYS_capset, &header, data));
}

static int want_privileges_again(fw_call *call)
{
	(void)call;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0)
		return 0;
	return errno_of(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
}

static int type_into_terminal(fw_call *call)
{
	(void)call;
	/* ENOTTY means that the call was allowed. */
	const int result = ioctl(STDIN_FILENO, TIOCSTI, "x");

	return result < 0 && errno != ENOTTY ? errno : 0;
}

const struct trick reach_tricks[] = {
	{ "open_memory", open_memory },
	{ "open_environ", open_environ },
	{ "open_maps", open_maps },
	{ "open_output", open_output },
	{ "open_input", open_input },
	{ "trace", trace },
	{ "read_memory", read_memory },
	{ "take_descriptor", take_descriptor },
	{ "kill", kill_it },
	{ "kill_thread", kill_its_thread },
	{ "queue_signal", queue_signal },
	{ "kill_by_pidfd", kill_by_pidfd },
	{ "kill_all", kill_all },
	{ "kill_by_owner", kill_by_owner },
	{ "limit", limit_it },
	{ "slow", slow_it },
	{ "leave_group", leave_group },
	{ "outlive", outlive },
	{ "fork", do_fork },
	{ "exec", do_exec },
	{ "system", do_system },
	{ "exec_from_memory", exec_from_memory },
	{ "connect_tcp", connect_tcp },
	{ "send_udp", send_udp },
	{ "bind_port", bind_port },
	{ "connect_unix", connect_unix },
	{ "connect_abstract", connect_abstract },
	{ "send_from_pair", send_from_pair },
	{ "share_memory", share_memory },
	{ "new_namespace", new_namespace },
	{ "new_namespace_by_clone3", new_namespace_by_clone3 },
	{ "join_namespace", join_namespace },
	{ "mount", do_mount },
	{ "chroot", do_chroot },
	{ "use_ring", use_ring },
	{ "use_bpf", use_bpf },
	{ "use_keys", use_keys },
	{ "handle_faults", handle_faults },
	{ "raise_limit", raise_limit },
	{ "become_another", become_another },
	{ "use_privilege", use_privilege },
	{ "want_privileges_again", want_privileges_again },
	{ "type_into_terminal", type_into_terminal },
	{ NULL, NULL },
};
