/*
 * escape.c - a server whose tools try to get out of the sandbox, one trick each.
 *
 *     escape (--stdio | --http ADDR:PORT) --read DIR --write DIR
 *            [--sandbox required|best-effort|off]
 *
 * A tool says "refused: EACCES", with the error that it met, or "done". There
 * is no check of any path in here: what is refused, the kernel refuses.
 * Arguments: secret (a file outside), read, write (the declared folders), pid
 * (whom to attack), port, socket (a path), abstract (a name).
 */
#include <faultwire/faultwire.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

/* ---- what tricks are made of --------------------------------------------------- */

/* 0: it worked; else the errno. */
typedef int trick_fn(fw_call *call);

static int told(long result)
{
	return result < 0 ? errno : 0;
}

static const char *text_of(const fw_call *call, const char *name)
{
	const char *text = fw_call_string(call, name, NULL);

	return text ? text : "";
}

static pid_t pid_of(const fw_call *call)
{
	return (pid_t)fw_call_i64(call, "pid", getppid());
}

/* "DIR/name" of a folder that is an argument. */
static const char *in(const fw_call *call, const char *folder, const char *name)
{
	static char path[4096];

	(void)snprintf(path, sizeof path, "%s/%s", text_of(call, folder), name);
	return path;
}

static int try_open(const char *path, int flags)
{
	const int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno;
	(void)close(fd);
	return 0;
}

/* Reading counts only if a byte comes. */
static int try_read(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	char byte;

	if (fd < 0)
		return errno;
	const ssize_t got = read(fd, &byte, 1);
	const int errnum = got < 0 ? errno : got == 0 ? ENODATA : 0;

	(void)close(fd);
	return errnum;
}

static int try_proc(const fw_call *call, const char *name, int flags)
{
	char path[64];

	(void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid_of(call), name);
	return try_open(path, flags);
}

/* ---- reading --------------------------------------------------------------------- */

static int read_secret(fw_call *call)
{
	return try_read(text_of(call, "secret"));
}

static int read_passwd(fw_call *call)
{
	(void)call;
	return try_read("/etc/passwd");
}

static int read_shadow(fw_call *call)
{
	(void)call;
	return try_read("/etc/shadow");
}

static int list_root(fw_call *call)
{
	DIR *folder = opendir("/");

	(void)call;
	if (!folder)
		return errno;
	(void)closedir(folder);
	return 0;
}

static int read_by_dots(fw_call *call)
{
	return try_read(in(call, "write", "../secret"));
}

static int read_by_symlink(fw_call *call)
{
	const char *path = in(call, "write", "way-out");

	(void)unlink(path);
	if (symlink(text_of(call, "secret"), path))
		return EBADMSG; /* that much is allowed */
	return try_read(path);
}

static int read_by_symlinked_folder(fw_call *call)
{
	const char *path = in(call, "write", "folder-out");

	(void)unlink(path);
	if (symlink("..", path))
		return EBADMSG;
	return try_read(in(call, "write", "folder-out/secret"));
}

static int read_by_working_folder(fw_call *call)
{
	/* Going there is allowed; it does not help. */
	if (chdir(in(call, "write", "..")))
		return errno;
	return try_read("secret");
}

static int read_by_proc_root(fw_call *call)
{
	char path[4200];

	(void)snprintf(path, sizeof path, "/proc/self/root%s", text_of(call, "secret"));
	return try_read(path);
}

static int read_by_proc_of_server(fw_call *call)
{
	char path[4200];

	(void)snprintf(path, sizeof path, "/proc/%d/root%s", (int)pid_of(call),
		       text_of(call, "secret"));
	return try_read(path);
}

/* A handle without rights can be had for any file. To open it again needs them. */
static int read_by_handle(fw_call *call)
{
	const int fd = open(text_of(call, "secret"), O_PATH | O_CLOEXEC);
	char path[64];

	if (fd < 0)
		return errno;
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	const int errnum = try_read(path);

	(void)close(fd);
	return errnum;
}

static int read_by_openat2(fw_call *call)
{
	const struct {
		uint64_t flags, mode, resolve;
	} how = { O_RDONLY | O_CLOEXEC, 0, 0 };

	return told(syscall(SYS_openat2, AT_FDCWD, text_of(call, "secret"), &how, sizeof how));
}

static int read_by_file_handle(fw_call *call)
{
	struct {
		unsigned bytes;
		int type;
		unsigned char handle[128];
	} handle = { 128, 0, { 0 } };
	int mount;

	if (syscall(SYS_name_to_handle_at, AT_FDCWD, text_of(call, "secret"), &handle, &mount,
		    0))
		return errno;
	return told(syscall(SYS_open_by_handle_at, AT_FDCWD, &handle, O_RDONLY));
}

static int read_attributes(fw_call *call)
{
	char value[8];
	const ssize_t got = getxattr(text_of(call, "secret"), "user.x", value, sizeof value);

	/* No such attribute: it could have been read. */
	return got < 0 && errno != ENODATA ? errno : 0;
}

static int watch_secret(fw_call *call)
{
	const int fd = inotify_init1(IN_CLOEXEC);

	if (fd < 0)
		return errno;
	const int errnum = told(inotify_add_watch(fd, text_of(call, "secret"), IN_OPEN));

	(void)close(fd);
	return errnum;
}

static int read_environment(fw_call *call)
{
	(void)call;
	return getenv("FW_TEST_SECRET") ? 0 : ENODATA;
}

static int read_own_environ(fw_call *call)
{
	static char text[65536];
	const int fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);

	(void)call;
	if (fd < 0)
		return errno;
	const ssize_t got = read(fd, text, sizeof text);

	(void)close(fd);
	return got > 0 && memmem(text, (size_t)got, "FW_TEST_SECRET", 14) ? 0 : ENODATA;
}

static int read_dev_mem(fw_call *call)
{
	(void)call;
	return try_open("/dev/mem", O_RDONLY);
}

static int read_dev_kmsg(fw_call *call)
{
	(void)call;
	return try_open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
}

/* ---- changing ---------------------------------------------------------------------- */

static int write_secret(fw_call *call)
{
	return try_open(text_of(call, "secret"), O_WRONLY | O_APPEND);
}

static int write_readable(fw_call *call)
{
	return try_open(in(call, "read", "file"), O_WRONLY);
}

static int truncate_readable(fw_call *call)
{
	return told(truncate(in(call, "read", "file"), 4));
}

static int truncate_by_opening(fw_call *call)
{
	return try_open(in(call, "read", "empty"), O_RDONLY | O_TRUNC);
}

static int create_outside(fw_call *call)
{
	return try_open(in(call, "write", "../created"), O_WRONLY | O_CREAT);
}

static int make_folder_outside(fw_call *call)
{
	return told(mkdir(in(call, "write", "../made"), 0700));
}

static int remove_outside(fw_call *call)
{
	return told(unlink(in(call, "write", "../removable")));
}

static int link_in(fw_call *call)
{
	const char *path = in(call, "write", "linked");

	return told(link(text_of(call, "secret"), path));
}

static int rename_in(fw_call *call)
{
	static char from[4096];

	(void)snprintf(from, sizeof from, "%s", in(call, "write", "../renamable"));
	return told(rename(from, in(call, "write", "renamed")));
}

static int rename_out(fw_call *call)
{
	static char from[4096];

	(void)snprintf(from, sizeof from, "%s", in(call, "write", "mine"));
	if (try_open(from, O_WRONLY | O_CREAT))
		return EBADMSG;
	return told(rename(from, in(call, "write", "../mine")));
}

static int exchange(fw_call *call)
{
	static char from[4096];

	(void)snprintf(from, sizeof from, "%s", in(call, "write", "mine-too"));
	if (try_open(from, O_WRONLY | O_CREAT))
		return EBADMSG;
	return told(renameat2(AT_FDCWD, from, AT_FDCWD, in(call, "write", "../exchanged"),
			      RENAME_EXCHANGE));
}

static int chmod_secret(fw_call *call)
{
	return told(chmod(text_of(call, "secret"), 0640));
}

static int chmod_by_handle(fw_call *call)
{
	const int fd = open(text_of(call, "secret"), O_PATH | O_CLOEXEC);
	char path[64];

	if (fd < 0)
		return errno;
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	const int errnum = told(chmod(path, 0640));

	(void)close(fd);
	return errnum;
}

static int chown_secret(fw_call *call)
{
	return told(chown(text_of(call, "secret"), getuid(), getgid()));
}

static int touch_secret(fw_call *call)
{
	return told(utimensat(AT_FDCWD, text_of(call, "secret"), NULL, 0));
}

static int make_setuid(fw_call *call)
{
	const int fd = open(in(call, "write", "setuid"), O_WRONLY | O_CREAT | O_CLOEXEC, 0700);

	if (fd < 0)
		return EBADMSG;
	const int errnum = told(fchmod(fd, 04755));

	(void)close(fd);
	return errnum;
}

static int make_device(fw_call *call)
{
	return told(mknod(in(call, "write", "memory"), S_IFCHR | 0600, makedev(1, 1)));
}

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

/* Over stdio that is a pipe, on which no rule for files has a say. */
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
	/* It is let go by waiting for a stop that never comes: by our end. */
	return 0;
}

static int read_memory(fw_call *call)
{
	static char here[1];
	const struct iovec to = { here, 1 };
	/* Where this program has it, another copy of it has it, too. */
	const struct iovec from = { (void *)(uintptr_t)&read_memory, 1 };
	const ssize_t got = process_vm_readv(pid_of(call), &to, 1, &from, 1, 0);

	/* Another program: not mapped there, but one could have read it. */
	return got < 0 && errno != EFAULT ? errno : 0;
}

static int take_descriptor(fw_call *call)
{
	const int process = (int)syscall(SYS_pidfd_open, pid_of(call), 0);

	if (process < 0)
		return errno;
	const int errnum = told(syscall(SYS_pidfd_getfd, process, 0, 0));

	(void)close(process);
	return errnum;
}

static int kill_it(fw_call *call)
{
	return told(kill(pid_of(call), SIGTERM));
}

static int kill_its_thread(fw_call *call)
{
	return told(syscall(SYS_tgkill, pid_of(call), pid_of(call), SIGTERM));
}

static int queue_signal(fw_call *call)
{
	return told(sigqueue(pid_of(call), SIGTERM, (union sigval){ 0 }));
}

static int kill_by_pidfd(fw_call *call)
{
	const int process = (int)syscall(SYS_pidfd_open, pid_of(call), 0);

	return process < 0 ? errno : told(syscall(SYS_pidfd_send_signal, process, 0, NULL, 0));
}

static int kill_all(fw_call *call)
{
	(void)call;
	return told(kill(-1, SIGTERM));
}

/* The owner of a descriptor is signalled when there is something to read. */
static int kill_by_owner(fw_call *call)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return EBADMSG;
	int errnum = told(fcntl(ends[0], F_SETOWN, pid_of(call)));

	if (!errnum)
		errnum = told(fcntl(ends[0], F_SETFL, O_ASYNC));
	if (!errnum && write(ends[1], "x", 1) != 1)
		errnum = errno;
	(void)close(ends[0]);
	(void)close(ends[1]);
	return errnum;
}

static int limit_it(fw_call *call)
{
	struct rlimit limits;

	/* Reading them is enough: what can be read can be set. */
	return told(prlimit(pid_of(call), RLIMIT_NOFILE, NULL, &limits));
}

static int slow_it(fw_call *call)
{
	return told(setpriority(PRIO_PROCESS, (id_t)pid_of(call), 10));
}

static int leave_group(fw_call *call)
{
	(void)call;
	/* Of a leader of a session not even without a sandbox. */
	return told(setpgid(0, pid_of(call)));
}

static int outlive(fw_call *call)
{
	(void)call;
	return told(prctl(PR_SET_PDEATHSIG, SIGCONT));
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
	return told(execve("/bin/sh", arguments, environment));
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
	const int errnum = told(fexecve(fd, arguments, environment));

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
	const int errnum = told(connect(fd, (const void *)&address, sizeof address));

	(void)close(fd);
	return errnum;
}

static int send_udp(fw_call *call)
{
	const struct sockaddr_in address = loopback(call);
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errno;
	const int errnum = told(sendto(fd, "x", 1, 0, (const void *)&address, sizeof address));

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
	int errnum = told(bind(fd, (const void *)&address, sizeof address));

	if (!errnum)
		errnum = told(listen(fd, 1));
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
	const int errnum = told(connect(fd, (const void *)&address, len));

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

/* Half of a pair needs no socket(), and can be sent from to any address. */
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
	return told(unshare(CLONE_NEWUSER));
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
	return told(setns(fd, 0));
}

static int do_mount(fw_call *call)
{
	return told(mount("none", text_of(call, "write"), "tmpfs", 0, NULL));
}

static int do_chroot(fw_call *call)
{
	return told(chroot(text_of(call, "write")));
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
	/* BPF_MAP_CREATE, of an array of nothing: EINVAL is past the door. */
	const long map = syscall(SYS_bpf, 0, attributes, sizeof attributes);

	return map < 0 && errno != EINVAL ? errno : 0;
}

static int use_keys(fw_call *call)
{
	(void)call;
	/* The session's keyring; made if need be. */
	return told(syscall(SYS_keyctl, 0, -3, 1));
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
	return told(setrlimit(RLIMIT_NOFILE, &limits));
}

static int become_another(fw_call *call)
{
	(void)call;
	return told(setresuid(getuid() + 1, getuid() + 1, getuid() + 1));
}

static int use_privilege(fw_call *call)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	(void)call;
	if (syscall(SYS_capget, &header, data))
		return errno;
	/* One's own again: nothing, if there is nothing. */
	data[0].permitted = data[0].effective = data[0].permitted | (1U << CAP_DAC_OVERRIDE);
	return told(syscall(SYS_capset, &header, data));
}

static int want_privileges_again(fw_call *call)
{
	(void)call;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0)
		return 0;
	return told(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
}

static int type_into_terminal(fw_call *call)
{
	(void)call;
	/* Not a terminal is past the door. */
	const int result = ioctl(STDIN_FILENO, TIOCSTI, "x");

	return result < 0 && errno != ENOTTY ? errno : 0;
}

/* ---- the table ------------------------------------------------------------------------- */

static const struct {
	const char *name;
	trick_fn *run;
} tricks[] = {
	{ "read_secret", read_secret },
	{ "read_passwd", read_passwd },
	{ "read_shadow", read_shadow },
	{ "list_root", list_root },
	{ "read_by_dots", read_by_dots },
	{ "read_by_symlink", read_by_symlink },
	{ "read_by_symlinked_folder", read_by_symlinked_folder },
	{ "read_by_working_folder", read_by_working_folder },
	{ "read_by_proc_root", read_by_proc_root },
	{ "read_by_proc_of_server", read_by_proc_of_server },
	{ "read_by_handle", read_by_handle },
	{ "read_by_openat2", read_by_openat2 },
	{ "read_by_file_handle", read_by_file_handle },
	{ "read_attributes", read_attributes },
	{ "watch_secret", watch_secret },
	{ "read_environment", read_environment },
	{ "read_own_environ", read_own_environ },
	{ "read_dev_mem", read_dev_mem },
	{ "read_dev_kmsg", read_dev_kmsg },
	{ "write_secret", write_secret },
	{ "write_readable", write_readable },
	{ "truncate_readable", truncate_readable },
	{ "truncate_by_opening", truncate_by_opening },
	{ "create_outside", create_outside },
	{ "make_folder_outside", make_folder_outside },
	{ "remove_outside", remove_outside },
	{ "link_in", link_in },
	{ "rename_in", rename_in },
	{ "rename_out", rename_out },
	{ "exchange", exchange },
	{ "chmod_secret", chmod_secret },
	{ "chmod_by_handle", chmod_by_handle },
	{ "chown_secret", chown_secret },
	{ "touch_secret", touch_secret },
	{ "make_setuid", make_setuid },
	{ "make_device", make_device },
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
};

static fw_error *attempt(fw_call *call, void *ctx)
{
	const size_t index = (size_t)(uintptr_t)ctx;
	const int errnum = tricks[index].run(call);

	if (errnum)
		fw_call_textf(call, "refused: %s", fw_errno_name(errnum));
	else
		fw_call_text(call, "done");
	return NULL;
}

/* What has to work, so that refusing everything is not enough. */
static fw_error *work(fw_call *call, void *ctx)
{
	const char *path = in(call, "write", "work");
	FILE *file = fopen(path, "we");

	(void)ctx;
	if (!file)
		return fw_error_from_errno(FW_HERE, errno, path);
	(void)fputs("some work", file);
	(void)fclose(file);
	if (try_read(path) || try_read(in(call, "read", "file")) || unlink(path))
		return fw_error_from_errno(FW_HERE, errno, path);
	fw_call_textf(call, "worked as %d", (int)getpid());
	return NULL;
}

/* Says something where the server speaks. */
static fw_error *shout(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_textf(call, "%zd", write(STDOUT_FILENO, "garbage\n", 8));
	return NULL;
}

/* ---- the program ------------------------------------------------------------------------- */

static const char *option(int argc, char **argv, const char *name)
{
	for (int i = 1; i + 1 < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return argv[i + 1];
	return NULL;
}

static fw_error *add_tools(fw_server *server, int argc, char **argv)
{
	const char *const readable[] = { option(argc, argv, "--read"), NULL };
	const char *const writable[] = { option(argc, argv, "--write"), NULL };
	const char *sandbox = option(argc, argv, "--sandbox");
	fw_workers_options options = FW_WORKERS_INIT;
	fw_workers *workers = NULL;
	fw_tool tool = FW_TOOL_INIT;

	options.count = 1;
	options.most = 1;
	options.readable = readable;
	options.writable = writable;
	options.sandbox = FW_SANDBOX_REQUIRED;
	if (sandbox && strcmp(sandbox, "off") == 0)
		options.sandbox = FW_SANDBOX_OFF;
	else if (sandbox && strcmp(sandbox, "best-effort") == 0)
		options.sandbox = FW_SANDBOX_BEST_EFFORT;
	FW_TRY(fw_server_add_workers(server, &options, &workers));

	tool.run = FW_RUN_PROCESS;
	tool.workers = workers;
	tool.handler = attempt;
	for (size_t i = 0; i < sizeof tricks / sizeof *tricks; i++) {
		tool.name = tricks[i].name;
		tool.ctx = (void *)(uintptr_t)i;
		FW_TRY(fw_server_add_tool(server, &tool));
	}
	tool.name = "work";
	tool.handler = work;
	FW_TRY(fw_server_add_tool(server, &tool));
	tool.name = "shout";
	tool.handler = shout;
	return fw_server_add_tool(server, &tool);
}

static fw_error *listen_on(fw_server *server, const char *http)
{
	fw_http_options options = FW_HTTP_OPTIONS_INIT;

	if (!http)
		return fw_server_listen_stdio(server);
	FW_TRY(fw_server_listen_http(server, &options));
	(void)fprintf(stderr, "%s\n", fw_server_url(server));
	return NULL;
}

static fw_error *serve(int argc, char **argv, fw_server **ret_server)
{
	fw_server_options options = FW_SERVER_OPTIONS_INIT;

	options.name = "escape";
	options.version = fw_version();
	options.page_size = 1000;
	FW_TRY(fw_server_new(&options, ret_server));
	FW_TRY(add_tools(*ret_server, argc, argv));
	FW_TRY(listen_on(*ret_server, option(argc, argv, "--http")));
	return fw_server_run(*ret_server);
}

int main(int argc, char **argv)
{
	fw_server *server = NULL;
	fw_error *err = serve(argc, argv, &server);
	const int status = err ? 1 : 0;

	if (err)
		(void)fprintf(stderr, "escape: %s\n", fw_error_message(err));
	fw_error_free(err);
	fw_server_free(server);
	return status;
}
