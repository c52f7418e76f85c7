/*
 * subprocess.c - see subprocess.h.
 *
 * Between fork() and exec() the child of a program with threads may only make
 * system calls: everything else (the path to the program, arrays) is prepared
 * before. A pipe that exec() closes reports the outcome to the parent:
 * bytes are a failed step and its errno, the end without bytes is success.
 */
#include "base/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/landlock.h"
#include "base/supervise.h"

static const char DEFAULT_PATH[] = "/usr/local/bin:/usr/bin:/bin";

/* What the child writes into the pipe. */
struct report {
	enum fw_subprocess_step step;
	int errnum;
};

/* ---- the program's path ----------------------------------------------------- */

static const char *path_of(const char *const *environment)
{
	for (; environment && *environment; environment++)
		if (strncmp(*environment, "PATH=", 5) == 0)
			return *environment + 5;
	return DEFAULT_PATH;
}

/* Looks `name` up as a shell does. False: not found, or (errno EACCES) found and
 * not executable. */
static bool find_program(const char *name, const char *path, char ret_file[PATH_MAX])
{
	int errnum = ENOENT;

	if (strchr(name, '/')) {
		errno = ENAMETOOLONG;
		return snprintf(ret_file, PATH_MAX, "%s", name) < PATH_MAX;
	}
	while (*path) {
		size_t len = strcspn(path, ":");
		int size = snprintf(ret_file, PATH_MAX, "%.*s%s%s", (int)len, path,
				    len ? "/" : "./", name);

		if (size < PATH_MAX && access(ret_file, X_OK) == 0)
			return true;
		if (errno == EACCES)
			errnum = EACCES;
		path += len + (path[len] == ':');
	}
	errno = errnum;
	return false;
}

/* ---- in the child ----------------------------------------------------------- */

static void give_up(int report_fd, enum fw_subprocess_step step)
{
	struct report report = { step, errno };

	(void)!write(report_fd, &report, sizeof report);
	_exit(127);
}

/* Every signal as it is by default, none blocked. By system calls: signal() of glibc
 * refuses the two signals that glibc uses itself, and our parent may have set those to be
 * ignored. */
static void reset_signals(void)
{
	/* The kernel's struct sigaction: handler, flags, restorer, mask. */
	static const struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} by_default = { SIG_DFL, 0, NULL, 0 };
	static const uint64_t none = 0;

	for (int signum = 1; signum < NSIG; signum++)
		(void)syscall(SYS_rt_sigaction, signum, &by_default, NULL, sizeof none);
	(void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none);
}

/* Descriptors 0, 1 and 2 as wanted. They are moved out of the way first, since one of
 * them may have a number that another one will get. */
static bool set_standard(const struct fw_subprocess_options *options)
{
	const int wanted[3] = { options->in, options->out, options->err };
	int moved[3];

	for (int i = 0; i < 3; i++) {
		int mode = i == 0 ? O_RDONLY : O_WRONLY;
		int fd = wanted[i] >= 0 ? wanted[i] : open("/dev/null", mode | O_CLOEXEC);

		moved[i] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		if (moved[i] < 0)
			return false;
	}
	for (int i = 0; i < 3; i++)
		if (dup2(moved[i], i) < 0)
			return false;
	return true;
}

/* No other descriptor survives exec(), no matter how it was opened. */
static void close_others(void)
{
	(void)syscall(SYS_close_range, 3U, ~0U, 1U << 2 /* CLOSE_RANGE_CLOEXEC */);
}

static bool enter_directory(const struct fw_subprocess_options *options)
{
	if (options->directory_fd > 0)
		return fchdir(options->directory_fd) == 0;
	return !options->directory || chdir(options->directory) == 0;
}

static bool enter_ruleset(const struct fw_subprocess_options *options)
{
	return options->ruleset <= 0 ||
	       (prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0 &&
		syscall(SYS_landlock_restrict_self, options->ruleset, 0U) == 0);
}

static void run_child(const struct fw_subprocess_options *options, const char *file,
		      pid_t parent, int report_fd)
{
	static const char *const NO_ENVIRONMENT[] = { NULL };
	const char *const *environment =
		options->environment ? options->environment : NO_ENVIRONMENT;

	if (!options->in_parent_group)
		(void)setpgid(0, 0);
	if (options->dies_with_parent) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* The parent may have ended before that call. */
		if (getppid() != parent)
			_exit(127);
	}
	reset_signals();
	if (!enter_directory(options))
		give_up(report_fd, FW_SUBPROCESS_DIRECTORY);
	if (!set_standard(options))
		give_up(report_fd, FW_SUBPROCESS_FORK);
	if (!enter_ruleset(options))
		give_up(report_fd, FW_SUBPROCESS_EXEC);
	close_others();
	/* exec() changes neither the strings nor the arrays. */
	(void)execve(file, (char *const *)options->argv, (char *const *)environment);
	give_up(report_fd, FW_SUBPROCESS_EXEC);
}

/* The process between the program and the parent. */
static void supervise(const struct fw_subprocess_options *options, const char *file,
		      int report_fd)
{
	const pid_t self = getpid();
	/* Not another copy of the memory: our parent waits, and copying takes most of the time.
	 * The child only makes system calls, as after any fork of a process with threads. */
	const pid_t pid = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */

	if (pid == 0)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Vfork) */
		run_child(options, file, self, report_fd);
	if (pid < 0)
		give_up(report_fd, FW_SUBPROCESS_FORK);
	(void)setpgid(pid, pid);
	/* This also ends the parent's wait for the report, once the program runs. */
	(void)syscall(SYS_close_range, 0U, ~0U, 0U);
	fw_supervise_run(pid);
}

/* The program, or its supervisor. */
static void begin_child(const struct fw_subprocess_options *options, const char *file,
			pid_t parent, int report_fd)
{
	if (!options->is_supervised)
		run_child(options, file, parent, report_fd);
	reset_signals();
	if (!fw_supervise_begin(parent))
		_exit(127);
	supervise(options, file, report_fd);
}

/* ---- in the parent ---------------------------------------------------------- */

static enum fw_subprocess_step failed(enum fw_subprocess_step step, int errnum, int *ret_errno)
{
	*ret_errno = errnum;
	return step;
}

/* Waits until the pipe says how it went. */
static struct report read_report(int fd)
{
	struct report report = { FW_SUBPROCESS_STARTED, 0 };
	ssize_t got;

	do
		got = read(fd, &report, sizeof report);
	while (got < 0 && errno == EINTR);
	return report;
}

static void reap_failed(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

enum fw_subprocess_step fw_subprocess_start(const struct fw_subprocess_options *options,
					    struct fw_subprocess *ret_child, int *ret_errno)
{
	pid_t parent = getpid();
	char file[PATH_MAX];
	struct report report;
	struct fw_subprocess child = { .pidfd = -1,
				       .has_group = !options->in_parent_group,
				       .is_supervised = options->is_supervised };
	int pipe_fds[2];
	pid_t pid;

	if (!find_program(options->argv[0], path_of(options->environment), file))
		return failed(FW_SUBPROCESS_EXEC, errno, ret_errno);
	if (pipe2(pipe_fds, O_CLOEXEC) != 0)
		return failed(FW_SUBPROCESS_FORK, errno, ret_errno);
	/* Not fork(): pthread_atfork handlers belong to the parent's libraries. */
	pid = (pid_t)syscall(SYS_clone, (unsigned long)SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid == 0)
		begin_child(options, file, parent, pipe_fds[1]);
	*ret_errno = errno;
	(void)close(pipe_fds[1]);
	if (pid < 0) {
		(void)close(pipe_fds[0]);
		return FW_SUBPROCESS_FORK;
	}
	if (!options->in_parent_group)
		(void)setpgid(pid, pid); /* by both: whichever comes first */
	report = read_report(pipe_fds[0]);
	(void)close(pipe_fds[0]);
	if (report.step != FW_SUBPROCESS_STARTED) {
		reap_failed(pid);
		return failed(report.step, report.errnum, ret_errno);
	}
	child.pid = pid;
	if (!options->in_parent_group)
		child.pidfd = (int)syscall(SYS_pidfd_open, pid, 0U);
	if (child.pidfd < 0 && !options->in_parent_group) {
		*ret_errno = errno;
		(void)kill(-pid, SIGKILL);
		reap_failed(pid);
		return FW_SUBPROCESS_FORK;
	}
	*ret_child = child;
	return FW_SUBPROCESS_STARTED;
}

void fw_subprocess_signal(const struct fw_subprocess *child, int signum)
{
	if (child->pid > 0 && child->is_supervised)
		(void)kill(child->pid, signum == SIGKILL ? fw_supervise_end_signal() : signum);
	else if (child->pid > 0)
		(void)kill(child->has_group ? -child->pid : child->pid, signum);
}

bool fw_subprocess_reap(struct fw_subprocess *child, int *ret_status, int *ret_signal)
{
	int how;
	pid_t pid;

	do
		pid = waitpid(child->pid, &how, WNOHANG);
	while (pid < 0 && errno == EINTR);
	if (pid == 0)
		return false;
	/* A pid that cannot be waited for was reaped elsewhere. */
	*ret_status = pid > 0 && WIFEXITED(how) ? WEXITSTATUS(how) : -1;
	*ret_signal = pid > 0 && WIFSIGNALED(how) ? WTERMSIG(how) : 0;
	if (child->pidfd >= 0)
		(void)close(child->pidfd);
	*child = (struct fw_subprocess){ .pidfd = -1 };
	return true;
}
