/*
 * child.c - see child.h.
 *
 * Three pipes (child_pipe.c has two of them) and a pidfd, each with a handle on the loop. `exited` is called when
 * the exit status is known and the output has ended. The output may end later than
 * the process: a grandchild can hold the pipe open, so this wait is limited.
 */
#include "io/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <faultwire/raise.h>
#include <faultwire/raw.h>

#include "base/limits.h"
#include "base/mem.h"
#include "core/redact.h"
#include "io/child_impl.h"

/* ---- the end ---------------------------------------------------------------- */

static void handle_closed(uv_handle_t *handle)
{
	struct fw_child *child = handle->data;

	if (--child->open_handles)
		return;
	fw_buf_clear(&child->in.unsent);
	fw_buf_clear(&child->out.lines);
	fw_buf_clear(&child->errors);
	fw__release(child);
}

void fw_child__close_handle(uv_handle_t *handle)
{
	if (!uv_is_closing(handle))
		uv_close(handle, handle_closed);
}

static void close_pipes(struct fw_child *child)
{
	fw_child__close_input(child);
	fw_child__stop_output(child);
	fw_child__close_handle((uv_handle_t *)&child->err);
	fw_child__close_handle((uv_handle_t *)&child->grace);
}

void fw_child_free(struct fw_child *child)
{
	if (!child || child->is_freed)
		return;
	child->is_freed = true;
	fw_subprocess_signal(&child->process, SIGKILL);
	close_pipes(child);
	/* The process is reaped when its pidfd is readable. Until then the handle
	 * keeps the loop running. */
	if (child->has_ended)
		fw_child__close_handle((uv_handle_t *)&child->end);
}

static void on_goodbye_over(uv_timer_t *timer)
{
	struct fw_child *child = timer->data;

	fw_subprocess_signal(&child->process, child->is_warned ? SIGKILL : SIGTERM);
	child->is_warned = true;
	(void)uv_timer_start(timer, on_goodbye_over, FW_LIMIT_CHILD_EXIT_MS, 0);
}

void fw_child_retire(struct fw_child *child)
{
	if (!child || child->is_freed)
		return;
	if (child->has_ended) {
		fw_child_free(child);
		return;
	}
	fw_child_end_input(child);
	child->is_freed = true;
	/* The pipe stays open, so that its last words do not kill it. */
	if (child->out.fd >= 0)
		(void)uv_poll_stop(&child->out.poll);
	(void)uv_timer_start(&child->grace, on_goodbye_over, FW_LIMIT_CHILD_GOODBYE_MS, 0);
}

static void report_exit(struct fw_child *child)
{
	if (child->is_freed || child->has_reported || !child->has_ended || !child->out.is_over)
		return;
	child->has_reported = true;
	(void)uv_timer_stop(&child->grace);
	child->in.is_over = true;
	fw_child__give_up_input(child);
	if (child->is_freed)
		return;
	child->on.exited(child->ctx, child->status, child->signum);
}

static void on_grace_over(uv_timer_t *timer);

void fw_child__output_over(struct fw_child *child)
{
	if (child->out.is_over)
		return;
	child->out.is_over = true;
	fw_child__stop_output(child);
	/* The beginning of a line that was too long is reported already. */
	if (!child->is_freed && child->out.lines.len)
		child->on.broken(child->ctx, child->out.lines.text, child->out.lines.len,
				 false);
	if (child->is_freed)
		return;
	/* An exiting process closes its output a moment before it can be reaped. */
	if (!child->has_ended)
		(void)uv_timer_start(&child->grace, on_grace_over, FW_LIMIT_CHILD_EXIT_MS, 0);
	report_exit(child);
}

static void on_grace_over(uv_timer_t *timer)
{
	struct fw_child *child = timer->data;

	/* The process has exited, and one of its children holds its output open. */
	if (child->has_ended)
		fw_child__output_over(child);
	else if (child->on.closed)
		child->on.closed(child->ctx);
}

static void on_end(uv_poll_t *poll, int status, int events)
{
	struct fw_child *child = poll->data;

	(void)status;
	(void)events;
	/* Reaping closes the descriptor: stop polling it first. */
	(void)uv_poll_stop(poll);
	if (!fw_subprocess_reap(&child->process, &child->status, &child->signum)) {
		(void)uv_poll_start(poll, UV_READABLE, on_end);
		return;
	}
	child->has_ended = true;
	fw_child__close_handle((uv_handle_t *)&child->end);
	if (child->is_freed) {
		close_pipes(child);
		return;
	}
	if (!child->out.is_over)
		(void)uv_timer_start(&child->grace, on_grace_over, FW_LIMIT_CHILD_DRAIN_MS, 0);
	report_exit(child);
}

/* ---- standard error ----------------------------------------------------------- */

static void give_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buf)
{
	struct fw_child *child = handle->data;

	(void)suggested;
	*ret_buf = uv_buf_init(child->bytes, sizeof child->bytes);
}

/* Keeps the newest bytes: drops the older half of a full buffer. */
static void keep_errors(struct fw_child *child, const char *text, size_t len)
{
	struct fw_buf *errors = &child->errors;

	if (len > errors->max / 2) {
		text += len - errors->max / 2;
		len = errors->max / 2;
		child->is_tail = true;
	}
	if (len > errors->max - errors->len) {
		size_t half = errors->max / 2;

		memmove(errors->text, errors->text + errors->len - half, half);
		errors->len = half;
		child->is_tail = true;
	}
	fw_buf_put(errors, text, len);
	/* Without memory this text is lost; later text may be kept again. */
	errors->state = FW_BUF_OK;
}

static void on_error_text(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf)
{
	struct fw_child *child = stream->data;

	if (got < 0)
		(void)uv_read_stop(stream);
	else if (got > 0)
		keep_errors(child, buf->base, (size_t)got);
}

size_t fw_child_stderr(const struct fw_child *child, char *ret_text, size_t size)
{
	const char *text = child->errors.text;
	size_t len = child->errors.len;

	if (!size)
		return 0;
	ret_text[0] = '\0';
	if (!len)
		return 0;
	if (child->is_tail) {
		const char *newline = memchr(text, '\n', len);

		if (newline) {
			len -= (size_t)(newline + 1 - text);
			text = newline + 1;
		}
	}
	len = fw_redact_copy(ret_text, size, text, len);
	return len < size ? len : strlen(ret_text);
}

void fw_child_signal(struct fw_child *child, int signum)
{
	fw_subprocess_signal(&child->process, signum);
}

/* ---- the beginning ------------------------------------------------------------ */

struct pipes {
	int child[3]; /* the ends of the child, for descriptors 0, 1 and 2 */
	int ours[3];
};

static void close_fds(int fds[3])
{
	for (int i = 0; i < 3; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
}

static bool open_pipes(struct pipes *pipes)
{
	*pipes = (struct pipes){ { -1, -1, -1 }, { -1, -1, -1 } };
	for (int i = 0; i < 3; i++) {
		int fds[2];

		if (pipe2(fds, O_CLOEXEC) != 0) {
			int errnum = errno;

			close_fds(pipes->child);
			close_fds(pipes->ours);
			errno = errnum;
			return false;
		}
		pipes->child[i] = fds[i == 0 ? 0 : 1];
		pipes->ours[i] = fds[i == 0 ? 1 : 0];
	}
	return true;
}

static fw_error *raise_start(const struct fw_child_options *options,
			     enum fw_subprocess_step step, int errnum)
{
	const char *program = options->argv[0];
	bool is_exec = step == FW_SUBPROCESS_EXEC;
	fw_error *err = fw_error_from_errno(FW_HERE, errnum,
					    step == FW_SUBPROCESS_DIRECTORY ? options->directory
									    : program);

	if (is_exec && errnum == ENOENT && !strchr(program, '/'))
		fw_error_set_hint(
			err, "Have the operator correct the command or URL of the server: no "
			     "directory of PATH has this program. A desktop program often has "
			     "a shorter PATH than a shell; use an absolute path, or set PATH "
			     "in the env of the server.");
	else if (is_exec && errnum == ENOENT && access(program, F_OK) == 0)
		fw_error_set_hint(err,
				  "The file exists, but the interpreter that its first line "
				  "names does not.");
	return fw_error_wrap(err, FW_HERE, "could not start \"%s\"", options->argv[0]);
}

static void open_handles(struct fw_child *child, const struct pipes *pipes)
{
	uv_loop_t *uv = &child->loop->uv;
	uv_handle_t *const handles[] = { (uv_handle_t *)&child->err, (uv_handle_t *)&child->end,
					 (uv_handle_t *)&child->grace };

	/* None of these calls fails for open descriptors. */
	(void)uv_pipe_init(uv, &child->err, 0);
	(void)uv_poll_init(uv, &child->end, child->process.pidfd);
	(void)uv_timer_init(uv, &child->grace);
	child->open_handles = sizeof handles / sizeof *handles;
	for (size_t i = 0; i < child->open_handles; i++)
		handles[i]->data = child;
	(void)uv_pipe_open(&child->err, pipes->ours[2]);
	(void)uv_read_start((uv_stream_t *)&child->err, give_buffer, on_error_text);
	(void)uv_poll_start(&child->end, UV_READABLE, on_end);
	fw_child__open_pipes(child, pipes->ours[0], pipes->ours[1]);
}

static struct fw_child *child_new(struct fw_loop *loop, const struct fw_child_options *options)
{
	struct fw_child *child = fw__allocate(sizeof *child);

	if (!child)
		return NULL;
	memset(child, 0, offsetof(struct fw_child, bytes));
	child->loop = loop;
	child->on = options->on;
	child->ctx = options->ctx;
	child->in.fd = -1;
	child->out.fd = -1;
	child->out.line_max = options->line_max ? options->line_max : FW_LIMIT_CHILD_LINE_BYTES;
	child->in.unsent_max =
		options->unsent_max ? options->unsent_max : FW_LIMIT_CHILD_UNSENT_BYTES;
	/* What is read may be longer than a line. Bytes that were sent are removed late. */
	fw_buf_init(&child->out.lines, child->out.line_max + FW_CHILD_READ_MOST);
	fw_buf_init(&child->in.unsent, 2 * child->in.unsent_max + FW_CHILD_READ_MOST);
	fw_buf_init(&child->errors, FW_LIMIT_CHILD_STDERR_BYTES);
	return child;
}

fw_error *fw_child_start(struct fw_loop *loop, const struct fw_child_options *options,
			 struct fw_child **ret_child)
{
	struct fw_child *child = child_new(loop, options);
	struct pipes pipes;
	enum fw_subprocess_step step;
	int errnum = 0;

	if (!child)
		return fw_raise_internal_out_of_memory();
	if (!open_pipes(&pipes)) {
		errnum = errno;
		fw__release(child);
		return raise_start(options, FW_SUBPROCESS_FORK, errnum);
	}
	step = fw_subprocess_start(
		&(struct fw_subprocess_options){ .argv = options->argv,
						 .environment = options->environment,
						 .directory = options->directory,
						 .in = pipes.child[0],
						 .out = pipes.child[1],
						 .err = pipes.child[2],
						 .ruleset = options->ruleset,
						 .dies_with_parent = true,
						 .is_supervised = true },
		&child->process, &errnum);
	close_fds(pipes.child);
	if (step != FW_SUBPROCESS_STARTED) {
		close_fds(pipes.ours);
		fw__release(child);
		return raise_start(options, step, errnum);
	}
	open_handles(child, &pipes);
	*ret_child = child;
	return NULL;
}
