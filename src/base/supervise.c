/*
 * supervise.c - see supervise.h.
 *
 * Signals are blocked and taken one at a time, so no handler runs in the copied memory.
 * The death of the parent is a signal as well (PR_SET_PDEATHSIG).
 */
#include "base/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILDREN_BYTES = 4096, PAUSE_MS = 20 };

int fw_supervise_end_signal(void)
{
	return SIGRTMAX;
}

bool fw_supervise_begin(pid_t parent)
{
	sigset_t all;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, fw_supervise_end_signal());
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
	(void)prctl(PR_SET_NAME, "fw-supervisor");
	/* The parent may have ended before the first of these calls. */
	return getppid() == parent;
}

/* ---- ending ------------------------------------------------------------------------- */

/* Kills the processes that are now our children. */
static void kill_children(void)
{
	static char text[CHILDREN_BYTES];
	int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, text, sizeof text) : -1;
	pid_t pid = 0;

	if (fd >= 0)
		(void)close(fd);
	/* A number that is cut is found by the next reading. */
	for (ssize_t i = 0; i < got; i++) {
		if (text[i] >= '0' && text[i] <= '9') {
			pid = 10 * pid + (text[i] - '0');
			continue;
		}
		if (pid > 1)
			(void)kill(pid, SIGKILL);
		pid = 0;
	}
}

/* True: there is none left. */
static bool reap_some(void)
{
	pid_t pid;

	do
		pid = waitpid(-1, NULL, WNOHANG);
	while (pid > 0 || (pid < 0 && errno == EINTR));
	return pid < 0;
}

/* The children of a process that is killed become ours, so this ends. */
static void end_all(pid_t program)
{
	const struct timespec pause = { 0, PAUSE_MS * 1000000L };
	sigset_t child;

	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	(void)kill(-program, SIGKILL);
	for (;;) {
		kill_children();
		if (reap_some())
			return;
		(void)sigtimedwait(&child, NULL, &pause);
	}
}

static _Noreturn void end_like(int how)
{
	const struct rlimit none = { 0, 0 };
	sigset_t set;

	if (!WIFSIGNALED(how))
		_exit(WIFEXITED(how) ? WEXITSTATUS(how) : 127);
	/* The program has written its core file. */
	(void)setrlimit(RLIMIT_CORE, &none);
	(void)sigemptyset(&set);
	(void)sigprocmask(SIG_SETMASK, &set, NULL);
	(void)kill(getpid(), WTERMSIG(how));
	(void)kill(getpid(), SIGKILL);
	_exit(127);
}

/* ---- waiting ------------------------------------------------------------------------ */

/* Reaps what has ended. True: the program is among it. */
static bool has_ended(pid_t program, int *ret_how)
{
	bool is_found = false;
	int how;
	pid_t pid;

	for (;;) {
		pid = waitpid(-1, &how, WNOHANG);
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid <= 0)
			return is_found;
		if (pid == program) {
			*ret_how = how;
			is_found = true;
		}
	}
}

void fw_supervise_run(pid_t program)
{
	sigset_t all;
	int how = SIGKILL;

	(void)!chdir("/");
	(void)sigfillset(&all);
	for (;;) {
		int signum = sigwaitinfo(&all, NULL);

		if (signum == fw_supervise_end_signal())
			break;
		if (signum == SIGCHLD) {
			if (has_ended(program, &how))
				break;
		} else if (signum > 0) {
			(void)kill(-program, signum);
		}
	}
	end_all(program);
	end_like(how);
}
