/*
 * forkserver_process.c - the fork server itself: forks workers, reaps them, and reports how
 * they died. What a dead worker leaves behind is killed. See forkserver.h.
 */
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
#include <sys/wait.h>
#include <unistd.h>

#include "base/id.h"
#include "base/mem.h"
#include "mcp/server.h"
#include "worker/process.h"
#include "worker/schedule.h"

/* A worker process, as its parent knows it. */
struct child {
	pid_t pid; /* 0: none */
	uint64_t generation;
	bool is_killed; /* on an order of the server */
};

struct forkserver {
	int control;
	int signals;     /* signalfd */
	sigset_t before; /* signal mask of workers */
	const struct fw_worker_forkserver_setup *setup;
	struct child *children; /* one for each slot */
};

static void report(const struct forkserver *forkserver, const struct fw_worker_report *report)
{
	(void)send(forkserver->control, report, sizeof *report, MSG_NOSIGNAL);
}

/* Output of tools goes to the server's log, if there is one. */
static void replace_output(int output)
{
	if (output < 0)
		return;
	(void)dup2(output, STDOUT_FILENO);
	(void)dup2(output, STDERR_FILENO);
	if (output > STDERR_FILENO)
		(void)close(output);
}

static void be_worker(const struct forkserver *forkserver, uint32_t slot, int socket,
		      int output)
{
	pid_t parent = getppid();

	fw_worker_schedule_behind(true);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The parent may have died before that call. */
	if (getppid() != parent || parent == 1)
		_exit(EXIT_FAILURE);
	(void)setsid();
	(void)prctl(PR_SET_NAME, "fw-worker");
	(void)prctl(PR_SET_CHILD_SUBREAPER, 0);
	(void)close(forkserver->control);
	(void)close(forkserver->signals);
	replace_output(output);
	(void)sigprocmask(SIG_SETMASK, &forkserver->before, NULL);
	fw_worker_process_run(forkserver->setup, slot, socket);
}

static void fork_worker(struct forkserver *forkserver, const struct fw_worker_order *order,
			int socket, int output)
{
	struct fw_worker_report failure = { .kind = FW_WORKER_REPORT_NOT_FORKED,
					    .slot = order->slot,
					    .generation = order->generation };
	pid_t pid = -1;

	if (socket >= 0)
		/* Not fork(): pthread_atfork handlers belong to the server process and
		 * must not run here. */
		pid = _Fork();
	if (pid == 0)
		be_worker(forkserver, order->slot, socket, output);
	if (pid < 0) {
		failure.status = socket < 0 ? EMFILE : errno;
		report(forkserver, &failure);
	} else {
		forkserver->children[order->slot] =
			(struct child){ .pid = pid, .generation = order->generation };
	}
	if (socket >= 0)
		(void)close(socket);
	if (output >= 0)
		(void)close(output);
}

static bool is_worker(const struct forkserver *forkserver, pid_t pid)
{
	for (uint32_t i = 0; i < forkserver->setup->pages->count; i++)
		if (forkserver->children[i].pid == pid)
			return true;
	return false;
}

/* "" if the file cannot be read. */
static void read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? 0 : read(fd, text, size - 1);

	if (fd >= 0)
		(void)close(fd);
	text[len > 0 ? len : 0] = '\0';
}

/* On a busy machine some time passes between the moment when a dying process closes
 * its files and its death. The kernel shows which processes are exiting. */
static bool is_dying(pid_t pid)
{
	enum { EXITING = 4 }; /* PF_EXITING */
	char path[64], text[512];
	unsigned long flags = 0;
	char *at;
	char state;

	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	read_text(path, text, sizeof text);
	/* The name may contain anything, but nothing after it contains a parenthesis. */
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

/* Child processes of dead workers are our children now (PR_SET_CHILD_SUBREAPER), also
 * those in a session of their own. */
static void kill_orphans(const struct forkserver *forkserver)
{
	char path[64], text[4096];

	(void)snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	read_text(path, text, sizeof text);
	for (char *at = text; *at;) {
		pid_t pid = (pid_t)strtol(at, &at, 10);

		/* A number that was cut off has no space after it. */
		if (*at != ' ')
			break;
		at++;
		if (pid > 1 && !is_worker(forkserver, pid))
			(void)kill(pid, SIGKILL);
	}
}

static void reap(struct forkserver *forkserver)
{
	bool has_reaped = false;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		has_reaped = true;
		for (uint32_t i = 0; i < forkserver->setup->pages->count; i++) {
			struct fw_worker_report died = { .kind = FW_WORKER_REPORT_DIED,
							 .slot = i,
							 .pid = pid,
							 .status = status };

			if (forkserver->children[i].pid != pid)
				continue;
			died.generation = forkserver->children[i].generation;
			if (forkserver->children[i].is_killed)
				died.kind = FW_WORKER_REPORT_KILLED;
			forkserver->children[i].pid = 0;
			/* It leads its process group. */
			(void)kill(-pid, SIGKILL);
			report(forkserver, &died);
		}
	}
	if (has_reaped)
		kill_orphans(forkserver);
}

static void kill_one(struct forkserver *forkserver, const struct fw_worker_order *order)
{
	struct child *child = &forkserver->children[order->slot];

	/* A worker that died by itself is reported as such, even if we see it late. */
	reap(forkserver);
	if (!child->pid || child->generation != order->generation)
		return;
	child->is_killed = !is_dying(child->pid);
	(void)kill(child->pid, SIGKILL);
	(void)kill(-child->pid, SIGKILL);
}

static _Noreturn void end(struct forkserver *forkserver)
{
	for (uint32_t i = 0; i < forkserver->setup->pages->count; i++) {
		if (!forkserver->children[i].pid)
			continue;
		(void)kill(forkserver->children[i].pid, SIGKILL);
		(void)kill(-forkserver->children[i].pid, SIGKILL);
		forkserver->children[i].pid = 0;
	}
	/* A process that is killed may leave children behind. The loop is bounded. */
	for (int i = 0; i < 200; i++) {
		int status;

		kill_orphans(forkserver);
		while (waitpid(-1, &status, WNOHANG) > 0)
			;
		if (waitpid(-1, &status, WNOHANG) < 0 && errno == ECHILD)
			break;
		(void)poll(NULL, 0, 1);
	}
	_exit(EXIT_SUCCESS);
}

static bool take_order(struct forkserver *forkserver)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} ancillary;
	struct fw_worker_order order = { 0 };
	struct iovec part = { .iov_base = &order, .iov_len = sizeof order };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = ancillary.bytes,
				  .msg_controllen = sizeof ancillary.bytes };
	ssize_t got = recvmsg(forkserver->control, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int files[2] = { -1, -1 };
	const struct cmsghdr *head;

	if (got < 0)
		return errno == EAGAIN || errno == EINTR;
	if (got != sizeof order || order.slot >= forkserver->setup->pages->count)
		return false;
	head = CMSG_FIRSTHDR(&message);
	if (head && head->cmsg_type == SCM_RIGHTS)
		memcpy(files, CMSG_DATA(head),
		       head->cmsg_len < CMSG_LEN(sizeof files) ? sizeof *files : sizeof files);
	if (order.kind == FW_WORKER_ORDER_FORK)
		fork_worker(forkserver, &order, files[0], files[1]);
	else
		kill_one(forkserver, &order);
	return true;
}

static bool take_signal(struct forkserver *forkserver)
{
	struct signalfd_siginfo info;

	while (read(forkserver->signals, &info, sizeof info) == sizeof info)
		if (info.ssi_signo != SIGCHLD)
			return false;
	reap(forkserver);
	return true;
}

static void reset_signals(struct forkserver *forkserver)
{
	struct sigaction standard = { .sa_handler = SIG_DFL };
	struct sigaction ignored = { .sa_handler = SIG_IGN };
	sigset_t taken;

	for (int signum = 1; signum < NSIG; signum++)
		(void)sigaction(signum, &standard, NULL);
	(void)sigaction(SIGPIPE, &ignored, NULL);
	(void)sigemptyset(&forkserver->before);
	(void)sigemptyset(&taken);
	(void)sigaddset(&taken, SIGCHLD);
	(void)sigaddset(&taken, SIGTERM);
	(void)sigprocmask(SIG_SETMASK, &taken, NULL);
	forkserver->signals = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
}

static _Noreturn void be_forkserver(struct forkserver *forkserver, pid_t parent)
{
	struct pollfd watched[2];

	(void)setsid();
	(void)prctl(PR_SET_NAME, "fw-forkserver");
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	reset_signals(forkserver);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent || forkserver->signals < 0)
		_exit(EXIT_FAILURE);
	/* Workers must not know the signing key of the server, nor guess its ids. */
	memset(forkserver->setup->server->key, 0, sizeof forkserver->setup->server->key);
	fw_random_forget();
	forkserver->children =
		fw__allocate(forkserver->setup->pages->count * sizeof *forkserver->children);
	if (!forkserver->children)
		_exit(EXIT_FAILURE);
	memset(forkserver->children, 0,
	       forkserver->setup->pages->count * sizeof *forkserver->children);
	fw_worker_crash_prepare();
	watched[0] = (struct pollfd){ .fd = forkserver->control, .events = POLLIN };
	watched[1] = (struct pollfd){ .fd = forkserver->signals, .events = POLLIN };
	for (;;) {
		(void)poll(watched, 2, -1);
		if (watched[1].revents && !take_signal(forkserver))
			end(forkserver);
		if (watched[0].revents && !take_order(forkserver))
			end(forkserver);
	}
}

_Noreturn void fw_worker_forkserver_run(const struct fw_worker_forkserver_setup *setup,
					int control, pid_t parent)
{
	struct forkserver forkserver = { .control = control, .setup = setup };

	be_forkserver(&forkserver, parent);
}
