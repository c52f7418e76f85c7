/*
 * command.c - see command.h.
 */
#include "tools/common/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/subprocess.h"
#include "base/utf8.h"
#include "core/redact_stream.h"
#include "tools/common/descendants.h"

#include <faultwire/raw.h>

/* The end of the output. It is redacted before it is cut, because half a secret is
 * not recognized. */
struct tail {
	struct fw_redact_stream stream;
	char text[2 * FW_COMMAND_TAIL_BYTES];
	size_t len;
};

static void keep(void *ctx, const char *text, size_t len)
{
	struct tail *tail = ctx;

	if (len > FW_COMMAND_TAIL_BYTES) {
		text += len - FW_COMMAND_TAIL_BYTES;
		len = FW_COMMAND_TAIL_BYTES;
	}
	if (tail->len + len > sizeof tail->text) {
		size_t drop = tail->len + len - sizeof tail->text;

		memmove(tail->text, tail->text + drop, tail->len - drop);
		tail->len -= drop;
	}
	memcpy(tail->text + tail->len, text, len);
	tail->len += len;
}

static void finish_tail(struct tail *tail, struct fw_command_result *result)
{
	size_t size = sizeof result->tail - 1;
	size_t from, len;

	fw_redact_stream_end(&tail->stream, keep, tail);
	from = tail->len > FW_COMMAND_TAIL_BYTES ? tail->len - FW_COMMAND_TAIL_BYTES : 0;
	len = fw_utf8_repair(result->tail, size, tail->text + from, tail->len - from);
	result->tail[len < size ? len : size] = '\0';
}

/* When to end a command, and why it was ended. */
struct watch {
	const struct fw_command *command;
	int64_t until;
	int64_t next_check;
	int status; /* 0: it may continue */
};

static bool may_continue(struct watch *watch)
{
	const struct fw_command *command = watch->command;
	int64_t now = fw_steady_ms();

	if (now >= watch->until) {
		watch->status = FW_COMMAND_TIMED_OUT;
	} else if (command->may_continue && now >= watch->next_check) {
		if (!command->may_continue(command->ctx))
			watch->status = FW_COMMAND_STOPPED;
		watch->next_check = fw_steady_ms() + FW_LIMIT_PREFLIGHT_CHECK_MS;
	}
	return !watch->status;
}

/* The ends of the pipes that this process reads; -1: closed by the other side. */
struct ends {
	int err; /* with the output, unless that is taken */
	int out;
};

static void read_end(int *end, bool is_output, struct watch *watch, struct tail *tail)
{
	const struct fw_command *command = watch->command;
	char text[16 * 1024];
	ssize_t got = read(*end, text, sizeof text);

	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (got <= 0) {
		(void)close(*end);
		*end = -1;
	} else if (!is_output) {
		fw_redact_stream_add(&tail->stream, text, (size_t)got, keep, tail);
	} else if (!command->take(command->ctx, text, (size_t)got)) {
		watch->status = FW_COMMAND_STOPPED;
	}
}

/* Reads until every process that holds the other ends has closed them. */
static void read_output(struct ends *ends, struct watch *watch, struct tail *tail)
{
	while ((ends->err >= 0 || ends->out >= 0) && may_continue(watch)) {
		struct pollfd polled[] = { { .fd = ends->err, .events = POLLIN },
					   { .fd = ends->out, .events = POLLIN } };
		int64_t left = watch->until - fw_steady_ms();

		if (left > FW_LIMIT_PREFLIGHT_CHECK_MS)
			left = FW_LIMIT_PREFLIGHT_CHECK_MS;
		if (left < 0 || poll(polled, 2, (int)left) <= 0)
			continue;
		if (polled[0].revents)
			read_end(&ends->err, false, watch, tail);
		if (polled[1].revents && !watch->status)
			read_end(&ends->out, true, watch, tail);
	}
}

/* A command may close its output and continue. */
static int wait_for(struct fw_subprocess *child, struct watch *watch)
{
	const struct timespec pause = { .tv_nsec = 2 * 1000 * 1000 };
	int status, signal;

	while (!fw_subprocess_reap(child, &status, &signal)) {
		if (!may_continue(watch))
			return watch->status;
		(void)nanosleep(&pause, NULL);
	}
	if (!signal && status < 0)
		return FW_COMMAND_TIMED_OUT;
	return signal ? 128 + signal : status;
}

static int finish(struct fw_subprocess *child, struct ends *ends,
		  const struct fw_command *command, struct tail *tail)
{
	struct watch watch = { .command = command,
			       .until = fw_steady_ms() + command->limit_ms };
	int status;

	read_output(ends, &watch, tail);
	status = watch.status ? watch.status : wait_for(child, &watch);
	fw_descendants_end();
	/* A command that ended before it was looked at. */
	if (!status && command->may_continue && !command->may_continue(command->ctx))
		status = FW_COMMAND_STOPPED;
	return status;
}

static void close_end(int fd)
{
	if (fd >= 0)
		(void)close(fd);
}

/* Consumes the ends of both pipes; that of the output is -1 unless it is taken. */
static fw_error *run(const struct fw_command *command, const int err_pipe[2],
		     const int out_pipe[2], struct fw_command_result *result)
{
	const struct fw_subprocess_options options = {
		.argv = command->argv,
		.environment = command->environment,
		.directory_fd = command->directory_fd,
		.in = -1,
		.out = out_pipe[1] >= 0 ? out_pipe[1] : err_pipe[1],
		.err = err_pipe[1],
		.dies_with_parent = true,
		.ruleset = command->fence > 0 ? command->fence : 0,
		.in_parent_group = true,
	};
	struct fw_subprocess child = { .pidfd = -1 };
	struct ends ends = { err_pipe[0], out_pipe[0] };
	struct tail tail = { .len = 0 };
	int error = 0;
	enum fw_subprocess_step step = fw_subprocess_start(&options, &child, &error);

	close_end(err_pipe[1]);
	close_end(out_pipe[1]);
	if (step == FW_SUBPROCESS_STARTED)
		result->status = finish(&child, &ends, command, &tail);
	else
		result->status = FW_COMMAND_NOT_STARTED;
	close_end(ends.err);
	close_end(ends.out);
	finish_tail(&tail, result);
	return step == FW_SUBPROCESS_FORK ? fw_error_from_errno(FW_HERE, error, "the command")
					  : NULL;
}

fw_error *fw_command_run(const struct fw_command *command, struct fw_command_result *ret_result)
{
	fw_error *err;
	int was_dumpable;
	int err_pipe[2];
	int out_pipe[2] = { -1, -1 };

	if (pipe2(err_pipe, O_CLOEXEC) != 0)
		return fw_error_from_errno(FW_HERE, errno, "a pipe for the command");
	if (command->take && pipe2(out_pipe, O_CLOEXEC) != 0) {
		int error = errno;

		close_end(err_pipe[0]);
		close_end(err_pipe[1]);
		return fw_error_from_errno(FW_HERE, error, "a pipe for the command");
	}
	was_dumpable = prctl(PR_GET_DUMPABLE);
	(void)prctl(PR_SET_DUMPABLE, 0);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	err = run(command, err_pipe, out_pipe, ret_result);
	(void)prctl(PR_SET_DUMPABLE, was_dumpable == 1);
	return err;
}
