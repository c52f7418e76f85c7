/*
 * preflight.c - see preflight.h.
 *
 * The command may be code that an agent has just written, so it gets nothing of
 * ours: no descriptor, no variable, no look into this process, which knows the
 * key that plans are signed with.
 */
#include "tools/workspace/preflight.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "core/redact_stream.h"

#include <faultwire/raise.h>
#include <faultwire/raw.h>

enum { TAIL_BYTES = 2048, TIMED_OUT = 124, NOT_STARTED = 127 };

/* The end of what was said: redacted first, then cut. */
struct tail {
	struct fw_redact_stream stream;
	char text[2 * TAIL_BYTES];
	size_t len;
};

static void keep(void *ctx, const char *text, size_t len)
{
	struct tail *tail = ctx;

	if (len > TAIL_BYTES) {
		text += len - TAIL_BYTES;
		len = TAIL_BYTES;
	}
	if (tail->len + len > sizeof tail->text) {
		size_t drop = tail->len + len - sizeof tail->text;

		memmove(tail->text, tail->text + drop, tail->len - drop);
		tail->len -= drop;
	}
	memcpy(tail->text + tail->len, text, len);
	tail->len += len;
}

struct start {
	const struct fw_ws_root *root;
	const char *command;
	char *const *environment;
	int out;
};

/* In the child: nothing but system calls. */
static void become(const struct start *start)
{
	const char *argv[] = { "/bin/sh", "-c", start->command, NULL };
	sigset_t none;
	int null;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	for (int i = 1; i < 32; i++)
		(void)signal(i, SIG_DFL);
	null = open("/dev/null", O_RDONLY);
	if (null >= 0)
		(void)dup2(null, 0);
	else
		(void)close(0);
	if (dup2(start->out, 1) < 0 || dup2(start->out, 2) < 0 || fchdir(start->root->fd) != 0)
		_exit(NOT_STARTED);
	(void)syscall(SYS_close_range, 3U, ~0U, 0U);
	(void)execve("/bin/sh", (char *const *)(const void *)argv, start->environment);
	_exit(NOT_STARTED);
}

/* Until all that hold the other end are gone, or the time is over. False: it is. */
static bool listen_to(int in, int64_t until, struct tail *tail)
{
	char text[4096];

	for (;;) {
		struct pollfd poll_in = { .fd = in, .events = POLLIN };
		int64_t left = until - fw_steady_ms();
		ssize_t got;

		if (left <= 0)
			return false;
		if (poll(&poll_in, 1, left > 1000 ? 1000 : (int)left) <= 0)
			continue;
		got = read(in, text, sizeof text);
		if (got == 0)
			return true;
		if (got > 0)
			fw_redact_stream_add(&tail->stream, text, (size_t)got, keep, tail);
		else if (errno != EINTR && errno != EAGAIN)
			return true;
	}
}

/* It may go on in silence after closing its output. */
static bool wait_for(pid_t child, int64_t until, int *ret_status)
{
	const struct timespec pause = { .tv_nsec = 2 * 1000 * 1000 };

	for (;;) {
		pid_t got = waitpid(child, ret_status, WNOHANG);

		if (got == child)
			return true;
		if (got < 0 && errno != EINTR)
			return false;
		if (fw_steady_ms() >= until)
			return false;
		(void)nanosleep(&pause, NULL);
	}
}

/* 0, or what the shell would say of it. */
static int status_of(pid_t child, int in, uint32_t limit_ms, struct tail *tail)
{
	int64_t until = fw_steady_ms() + limit_ms;
	int status = 0;
	bool in_time = listen_to(in, until, tail) && wait_for(child, until, &status);

	fw_ws_end_descendants(); /* what it has left behind */
	if (!in_time)
		return TIMED_OUT;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static fw_error *failed(const char *command, int status, uint32_t limit_ms, struct tail *tail)
{
	fw_error *err = fw_raise_policy_preflight_failed(command, status);
	char said[3 * TAIL_BYTES + 1];
	size_t from, len;

	fw_redact_stream_end(&tail->stream, keep, tail);
	from = tail->len > TAIL_BYTES ? tail->len - TAIL_BYTES : 0;
	len = fw_utf8_repair(said, sizeof said - 1, tail->text + from, tail->len - from);
	said[len < sizeof said ? len : sizeof said - 1] = '\0';
	if (status == TIMED_OUT) {
		fw_error_add_bool(err, "timed_out", true);
		fw_error_add_u64(err, "timeout_ms", limit_ms);
	}
	fw_error_add_cause(err, said[0] ? said : "the command said nothing",
			   status == TIMED_OUT ? "timed out" : "exit status", "preflight");
	return err;
}

fw_error *fw_ws_preflight(const struct fw_ws_root *root, const char *command, uint32_t limit_ms,
			  const char *path)
{
	char variable[FW_WS_PATH_SIZE + 16];
	char home[FW_WS_PATH_SIZE + 8];
	char *environment[] = { (char[]){ "PATH=/usr/local/bin:/usr/bin:/bin" },
				(char[]){ "LANG=C.UTF-8" }, home, variable, NULL };
	struct start start = { .root = root, .command = command, .environment = environment };
	struct tail tail = { .len = 0 };
	int ends[2];
	int status;
	int was_dumpable;
	pid_t child;

	(void)snprintf(variable, sizeof variable, "FAULTWIRE_PATH=%s", path);
	(void)snprintf(home, sizeof home, "HOME=%s", root->path);
	if (pipe2(ends, O_CLOEXEC) != 0)
		return fw_error_from_errno(FW_HERE, errno, "a pipe for the preflight command");
	start.out = ends[1];
	was_dumpable = prctl(PR_GET_DUMPABLE);
	(void)prctl(PR_SET_DUMPABLE, 0);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	child = fork();
	if (child == 0)
		become(&start);
	(void)close(ends[1]);
	if (child < 0) {
		int error = errno;

		(void)close(ends[0]);
		(void)prctl(PR_SET_DUMPABLE, was_dumpable);
		return fw_error_from_errno(FW_HERE, error, "the preflight command");
	}
	status = status_of(child, ends[0], limit_ms, &tail);
	(void)close(ends[0]);
	(void)prctl(PR_SET_DUMPABLE, was_dumpable == 1);
	return status ? failed(command, status, limit_ms, &tail) : NULL;
}
