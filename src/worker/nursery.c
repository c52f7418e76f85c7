/*
 * nursery.c - the process that workers are copied from. It is made before the
 * server takes its first call, has one thread and no secrets of later days, and
 * so can be copied at any moment, cheaply and safely, which the server cannot.
 *
 * It is also who buries: workers are its children, and so is whatever a dead
 * worker leaves behind. It ends when the server's end of its socket does.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <faultwire/raw.h>

#include "base/mem.h"
#include "worker/impl.h"
#include "worker/sandbox.h"

enum { FIFOS_MAX = 64, END_MS = 1000 };

struct fw_seat *fw_seat_at(const struct fw_seats *slots, uint32_t index)
{
	return (struct fw_seat *)(void *)(slots->pages + index * slots->stride);
}

/* ---- descriptors ------------------------------------------------------------------ */

/*
 * All that the server has open is closed in its copies, but for one thing:
 * libuv, which is told of every fork(), keeps a pipe of its own in each process,
 * and closes it at the next fork() by its number, whatever it is by then. That
 * pipe is the one that is there after fork() and was not before.
 */
struct fifos {
	int count;
	struct {
		int fd;
		ino_t inode;
	} found[FIFOS_MAX];
};

static void look_at(struct fifos *fifos, int fd)
{
	struct stat status;

	if (fifos->count == FIFOS_MAX || fstat(fd, &status) != 0 || !S_ISFIFO(status.st_mode))
		return;
	fifos->found[fifos->count].fd = fd;
	fifos->found[fifos->count++].inode = status.st_ino;
}

static void find_fifos(struct fifos *fifos)
{
	int last = (int)sysconf(_SC_OPEN_MAX);
	DIR *dir = opendir("/proc/self/fd");

	fifos->count = 0;
	/* cppcheck-suppress readdirCalled ; the stream is ours alone */
	for (const struct dirent *entry = NULL; dir && (entry = readdir(dir));) {
		int fd = (int)strtol(entry->d_name, NULL, 10);

		/* "." and ".." are no numbers: 0. */
		if (fd > STDERR_FILENO)
			look_at(fifos, fd);
	}
	if (dir) {
		(void)closedir(dir);
		return;
	}
	/* Numbers are given out from below: after a long gap there are no more. */
	for (int fd = 3, gap = 0; fd < last && gap < 1024; fd++) {
		gap = fcntl(fd, F_GETFD) < 0 ? gap + 1 : 0;
		look_at(fifos, fd);
	}
}

static bool is_among(const struct fifos *fifos, int fd, ino_t inode)
{
	for (int i = 0; i < fifos->count; i++)
		if (fifos->found[i].fd == fd && fifos->found[i].inode == inode)
			return true;
	return false;
}

static void close_from_to(int first, int last)
{
	if (first > last || close_range((unsigned)first, (unsigned)last, 0) == 0)
		return;
	if (last > (int)sysconf(_SC_OPEN_MAX))
		last = (int)sysconf(_SC_OPEN_MAX);
	for (int fd = first; fd <= last; fd++)
		(void)close(fd);
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* `file` may be -1. */
static void close_others(const struct fifos *before, int control, int file)
{
	int kept[FIFOS_MAX + 2] = { control, file };
	size_t count = 2;
	struct fifos now;
	int first = 3;

	find_fifos(&now);
	for (int i = 0; i < now.count; i++)
		if (!is_among(before, now.found[i].fd, now.found[i].inode))
			kept[count++] = now.found[i].fd;
	qsort(kept, count, sizeof *kept, by_number);
	for (size_t i = 0; i < count; i++) {
		if (kept[i] < first)
			continue;
		close_from_to(first, kept[i] - 1);
		first = kept[i] + 1;
	}
	close_from_to(first, INT32_MAX);
}

/* The server's input and output are the protocol's: nobody else touches them. */
static void replace_standard(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		_exit(EXIT_FAILURE);
	(void)dup2(null, STDIN_FILENO);
	if (fcntl(STDERR_FILENO, F_GETFD) < 0)
		(void)dup2(null, STDERR_FILENO);
	/* A terminal can be read from, too, as what is typed there. */
	if (isatty(STDERR_FILENO)) {
		int terminal = open("/proc/self/fd/2", O_WRONLY | O_NOCTTY | O_CLOEXEC);

		(void)dup2(terminal < 0 ? null : terminal, STDERR_FILENO);
		if (terminal > STDERR_FILENO)
			(void)close(terminal);
	}
	(void)dup2(STDERR_FILENO, STDOUT_FILENO);
	if (null > STDERR_FILENO)
		(void)close(null);
}

/* ---- the process -------------------------------------------------------------------- */

struct baby {
	pid_t pid; /* 0: none */
	uint64_t generation;
	bool is_killed; /* by order */
};

struct mother {
	int control;
	int signals;
	sigset_t before; /* what workers begin with */
	const struct fw_seats *slots;
	const fw_workers_options *options;
	struct fw_sandbox_plan *plan;
	fw_server *server;
	struct baby *babies;
};

static void report(const struct mother *mother, const struct fw_report *report)
{
	(void)send(mother->control, report, sizeof *report, MSG_NOSIGNAL);
}

/* What a tool writes goes to the log, by way of the server, if there is one. */
static void replace_output(int mouth)
{
	if (mouth < 0)
		return;
	(void)dup2(mouth, STDOUT_FILENO);
	(void)dup2(mouth, STDERR_FILENO);
	if (mouth > STDERR_FILENO)
		(void)close(mouth);
}

static void be_worker(const struct mother *mother, uint32_t slot, int socket, int mouth)
{
	const struct fw_child child = { .socket = socket,
					.slots = mother->slots,
					.slot = slot,
					.options = mother->options,
					.plan = mother->plan,
					.server = mother->server };
	pid_t parent = getppid();

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* It may have gone before that. */
	if (getppid() != parent || parent == 1)
		_exit(EXIT_FAILURE);
	(void)setsid();
	(void)prctl(PR_SET_NAME, "fw-worker");
	(void)prctl(PR_SET_CHILD_SUBREAPER, 0);
	(void)close(mother->control);
	(void)close(mother->signals);
	replace_output(mouth);
	(void)sigprocmask(SIG_SETMASK, &mother->before, NULL);
	fw_child_run(&child);
}

static void make(struct mother *mother, const struct fw_order *order, int socket, int mouth)
{
	struct fw_report failure = { .kind = FW_REPORT_UNABLE,
				     .slot = order->slot,
				     .generation = order->generation };
	pid_t pid = -1;

	if (socket >= 0)
		/* Not fork(): whatever wants to know of forks was of the server. */
		pid = _Fork();
	if (pid == 0)
		be_worker(mother, order->slot, socket, mouth);
	if (pid < 0) {
		failure.status = socket < 0 ? EMFILE : errno;
		report(mother, &failure);
	} else {
		mother->babies[order->slot] =
			(struct baby){ .pid = pid, .generation = order->generation };
	}
	if (socket >= 0)
		(void)close(socket);
	if (mouth >= 0)
		(void)close(mouth);
}

static bool is_baby(const struct mother *mother, pid_t pid)
{
	for (uint32_t i = 0; i < mother->slots->count; i++)
		if (mother->babies[i].pid == pid)
			return true;
	return false;
}

/* "" where it cannot be read. */
static void read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? 0 : read(fd, text, size - 1);

	if (fd >= 0)
		(void)close(fd);
	text[len > 0 ? len : 0] = '\0';
}

/* On a busy machine it takes a while from the closing of a dying process's
 * files to its death; the kernel says which processes are on that way. */
static bool is_dying(pid_t pid)
{
	enum { EXITING = 4 }; /* PF_EXITING */
	char path[64], text[512];
	unsigned long flags = 0;
	char *at;
	char state;

	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	read_text(path, text, sizeof text);
	/* A name may hold anything, but nothing behind it holds a parenthesis. */
	at = strrchr(text, ')');
	if (!at || strlen(at) < 4)
		return true;
	state = at[2];
	at += 3;
	/* Parent, group, session, terminal and its group; then the flags. */
	for (int i = 0; i < 6; i++)
		flags = strtoul(at, &at, 10);
	return state == 'Z' || state == 'X' || (flags & EXITING);
}

/* What dead workers left behind has become ours, whatever session it made. */
static void kill_orphans(const struct mother *mother)
{
	char path[64], text[4096];

	(void)snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	read_text(path, text, sizeof text);
	for (char *at = text; *at;) {
		pid_t pid = (pid_t)strtol(at, &at, 10);

		/* A number that was cut at the end has no space behind it. */
		if (*at != ' ')
			break;
		at++;
		if (pid > 1 && !is_baby(mother, pid))
			(void)kill(pid, SIGKILL);
	}
}

static void bury(struct mother *mother)
{
	bool has_buried = false;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		has_buried = true;
		for (uint32_t i = 0; i < mother->slots->count; i++) {
			struct fw_report died = {
				.kind = FW_REPORT_DIED, .slot = i, .pid = pid, .status = status
			};

			if (mother->babies[i].pid != pid)
				continue;
			died.generation = mother->babies[i].generation;
			if (mother->babies[i].is_killed)
				died.kind = FW_REPORT_KILLED;
			mother->babies[i].pid = 0;
			/* Its process group is its session's first. */
			(void)kill(-pid, SIGKILL);
			report(mother, &died);
		}
	}
	if (has_buried)
		kill_orphans(mother);
}

static void kill_one(struct mother *mother, const struct fw_order *order)
{
	struct baby *baby = &mother->babies[order->slot];

	/* What has died by itself is told as such, however late it is seen. */
	bury(mother);
	if (!baby->pid || baby->generation != order->generation)
		return;
	baby->is_killed = !is_dying(baby->pid);
	(void)kill(baby->pid, SIGKILL);
	(void)kill(-baby->pid, SIGKILL);
}

static _Noreturn void end(struct mother *mother)
{
	for (uint32_t i = 0; i < mother->slots->count; i++) {
		if (!mother->babies[i].pid)
			continue;
		(void)kill(mother->babies[i].pid, SIGKILL);
		(void)kill(-mother->babies[i].pid, SIGKILL);
		mother->babies[i].pid = 0;
	}
	/* Whatever is killed may leave more behind; but not for ever. */
	for (int i = 0; i < 200; i++) {
		int status;

		kill_orphans(mother);
		while (waitpid(-1, &status, WNOHANG) > 0)
			;
		if (waitpid(-1, &status, WNOHANG) < 0 && errno == ECHILD)
			break;
		(void)poll(NULL, 0, 1);
	}
	_exit(EXIT_SUCCESS);
}

static bool take_order(struct mother *mother)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} aside;
	struct fw_order order = { 0 };
	struct iovec part = { .iov_base = &order, .iov_len = sizeof order };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = aside.bytes,
				  .msg_controllen = sizeof aside.bytes };
	ssize_t got = recvmsg(mother->control, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int files[2] = { -1, -1 };
	const struct cmsghdr *head;

	if (got < 0)
		return errno == EAGAIN || errno == EINTR;
	if (got != sizeof order || order.slot >= mother->slots->count)
		return false;
	head = CMSG_FIRSTHDR(&message);
	if (head && head->cmsg_type == SCM_RIGHTS)
		memcpy(files, CMSG_DATA(head),
		       head->cmsg_len < CMSG_LEN(sizeof files) ? sizeof *files : sizeof files);
	if (order.kind == FW_ORDER_MAKE)
		make(mother, &order, files[0], files[1]);
	else
		kill_one(mother, &order);
	return true;
}

static bool take_signal(struct mother *mother)
{
	struct signalfd_siginfo info;

	while (read(mother->signals, &info, sizeof info) == sizeof info)
		if (info.ssi_signo != SIGCHLD)
			return false;
	bury(mother);
	return true;
}

static void reset_signals(struct mother *mother)
{
	struct sigaction standard = { .sa_handler = SIG_DFL };
	struct sigaction ignored = { .sa_handler = SIG_IGN };
	sigset_t taken;

	for (int signum = 1; signum < NSIG; signum++)
		(void)sigaction(signum, &standard, NULL);
	(void)sigaction(SIGPIPE, &ignored, NULL);
	(void)sigemptyset(&mother->before);
	(void)sigemptyset(&taken);
	(void)sigaddset(&taken, SIGCHLD);
	(void)sigaddset(&taken, SIGTERM);
	(void)sigprocmask(SIG_SETMASK, &taken, NULL);
	mother->signals = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
}

static _Noreturn void be_nursery(struct mother *mother, pid_t parent)
{
	struct pollfd watched[2];

	(void)setsid();
	(void)prctl(PR_SET_NAME, "fw-nursery");
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	reset_signals(mother);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent || mother->signals < 0)
		_exit(EXIT_FAILURE);
	/* Workers need not know what the server signs with, nor guess its ids. */
	memset(mother->server->key, 0, sizeof mother->server->key);
	fw_random_forget();
	mother->babies = fw__allocate(mother->slots->count * sizeof *mother->babies);
	if (!mother->babies)
		_exit(EXIT_FAILURE);
	memset(mother->babies, 0, mother->slots->count * sizeof *mother->babies);
	fw_crash_prepare();
	/* Here, and not in the server: it would keep its first callers waiting. */
	if (fw_sandbox_complete(mother->plan) != NULL)
		_exit(EXIT_FAILURE);
	watched[0] = (struct pollfd){ .fd = mother->control, .events = POLLIN };
	watched[1] = (struct pollfd){ .fd = mother->signals, .events = POLLIN };
	for (;;) {
		(void)poll(watched, 2, -1);
		if (watched[1].revents && !take_signal(mother))
			end(mother);
		if (watched[0].revents && !take_order(mother))
			end(mother);
	}
}

_Noreturn void fw_nursery_run(const struct fw_nursery_setup *setup, int control, pid_t parent)
{
	struct mother mother = { .control = control,
				 .slots = setup->slots,
				 .options = setup->options,
				 .plan = setup->plan,
				 .server = setup->server };

	be_nursery(&mother, parent);
}

/* ---- in the server --------------------------------------------------------------------- */

pid_t fw_nursery_fork(const struct fw_nursery_setup *setup, int control)
{
	struct fifos before;
	pid_t pid;

	find_fifos(&before);
	pid = fork();
	if (pid == 0) {
		replace_standard();
		close_others(&before, control, fw_sandbox_plan_file(setup->plan));
	}
	return pid;
}

fw_error *fw_nursery_start(struct fw_nursery *nursery, const struct fw_nursery_setup *setup)
{
	pid_t self = getpid();
	int ends[2];
	int error;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
		error = errno;
		return fw_error_from_errno(FW_HERE, error, "a socket for workers");
	}
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
	pid = fw_nursery_fork(setup, ends[1]);
	if (pid == 0)
		fw_nursery_run(setup, ends[1], self);
	error = errno;
	(void)close(ends[1]);
	if (pid < 0) {
		(void)close(ends[0]);
		return fw_error_from_errno(FW_HERE, error, "a process for workers");
	}
	nursery->pid = pid;
	nursery->control = ends[0];
	return NULL;
}

bool fw_nursery_order(const struct fw_nursery *nursery, const struct fw_order *order,
		      int socket, int mouth)
{
	const int files[2] = { socket, mouth };
	const size_t size = mouth < 0 ? sizeof *files : sizeof files;
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} aside = { 0 };
	struct iovec part = { .iov_base = (void *)order, .iov_len = sizeof *order };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (!nursery->pid)
		return false;
	if (socket >= 0) {
		message.msg_control = aside.bytes;
		message.msg_controllen = CMSG_SPACE(size);
		aside.head.cmsg_level = SOL_SOCKET;
		aside.head.cmsg_type = SCM_RIGHTS;
		aside.head.cmsg_len = CMSG_LEN(size);
		memcpy(CMSG_DATA(&aside.head), files, size);
	}
	return sendmsg(nursery->control, &message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
	       sizeof *order;
}

void fw_nursery_await_end(pid_t pid)
{
	int status;

	for (int i = 0; i < END_MS && waitpid(pid, &status, WNOHANG) == 0; i++) {
		/* A confined server may not signal it, and must not wait then. */
		if (i == END_MS - 1 && kill(pid, SIGKILL) == 0)
			(void)waitpid(pid, &status, 0);
		(void)poll(NULL, 0, 1);
	}
}

void fw_nursery_end(struct fw_nursery *nursery)
{
	if (!nursery->pid)
		return;
	(void)close(nursery->control);
	/* One that a keeper made is the keeper's child, and ends with its socket. */
	if (!nursery->is_kept)
		fw_nursery_await_end(nursery->pid);
	*nursery = (struct fw_nursery){ .control = -1 };
}
