/*
 * child.c - see child.h.
 *
 * Three pipes and a pidfd, each with a handle on the loop. `exited` is called when
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

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/subprocess.h"
#include "core/redact.h"

enum { READ_BYTES = 64 * 1024 };

struct fw_child {
	struct fw_loop *loop;
	struct fw_subprocess process;
	struct fw_child_callbacks on;
	void *ctx;
	uv_pipe_t in;
	uv_pipe_t out;
	uv_pipe_t err;
	uv_poll_t end;    /* of the process: its pidfd */
	uv_timer_t grace; /* limits the time between the end of the output and the exit */
	unsigned open_handles;
	size_t line_max;
	size_t unsent_max;
	struct fw_buf line;   /* an incomplete line */
	struct fw_buf errors; /* the newest text of standard error */
	bool is_tail;         /* older text of standard error is gone */
	bool is_dropping;     /* dropping the rest of a line that is too long */
	bool is_input_over;
	bool is_output_over;
	bool has_ended;    /* the process has exited */
	bool is_freed;     /* no callback is called any more */
	bool has_reported; /* `exited` was called */
	int status;
	int signum;
	char bytes[READ_BYTES];
};

/* A line that the pipe has not taken yet. */
struct sending {
	uv_write_t request; /* first: libuv hands it back */
	struct fw_child *child;
	char text[];
};

/* ---- the end ---------------------------------------------------------------- */

static void handle_closed(uv_handle_t *handle)
{
	struct fw_child *child = handle->data;

	if (--child->open_handles)
		return;
	fw_buf_clear(&child->line);
	fw_buf_clear(&child->errors);
	fw__release(child);
}

static void close_handle(uv_handle_t *handle)
{
	if (!uv_is_closing(handle))
		uv_close(handle, handle_closed);
}

void fw_child_free(struct fw_child *child)
{
	if (!child || child->is_freed)
		return;
	child->is_freed = true;
	fw_subprocess_signal(&child->process, SIGKILL);
	close_handle((uv_handle_t *)&child->in);
	close_handle((uv_handle_t *)&child->out);
	close_handle((uv_handle_t *)&child->err);
	close_handle((uv_handle_t *)&child->grace);
	/* The process is reaped when its pidfd is readable. Until then the handle
	 * keeps the loop running. */
	if (child->has_ended)
		close_handle((uv_handle_t *)&child->end);
}

static void report_exit(struct fw_child *child)
{
	if (child->is_freed || child->has_reported || !child->has_ended ||
	    !child->is_output_over)
		return;
	child->has_reported = true;
	(void)uv_timer_stop(&child->grace);
	child->on.exited(child->ctx, child->status, child->signum);
}

static void on_grace_over(uv_timer_t *timer);

static void output_over(struct fw_child *child)
{
	if (child->is_output_over)
		return;
	child->is_output_over = true;
	(void)uv_read_stop((uv_stream_t *)&child->out);
	if (!child->is_freed && (child->line.len || child->is_dropping))
		child->on.broken(child->ctx, child->line.len ? child->line.text : "",
				 child->line.len, child->is_dropping);
	if (child->is_freed)
		return;
	/* An exiting process closes its output a moment before it can be reaped. */
	if (!child->has_ended)
		(void)uv_timer_start(&child->grace, on_grace_over, FW_LIMIT_DEATH_MS, 0);
	report_exit(child);
}

static void on_grace_over(uv_timer_t *timer)
{
	struct fw_child *child = timer->data;

	/* The process has exited, and one of its children holds its output open. */
	if (child->has_ended)
		output_over(child);
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
	close_handle((uv_handle_t *)&child->end);
	if (child->is_freed)
		return;
	if (!child->is_output_over)
		(void)uv_timer_start(&child->grace, on_grace_over, FW_LIMIT_CHILD_DRAIN_MS, 0);
	report_exit(child);
}

/* ---- standard output ---------------------------------------------------------- */

static void give_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buf)
{
	struct fw_child *child = handle->data;

	(void)suggested;
	*ret_buf = uv_buf_init(child->bytes, sizeof child->bytes);
}

/* A line is too long: reports its beginning and skips the rest up to the newline. */
static void drop_line(struct fw_child *child, bool is_ended)
{
	child->on.broken(child->ctx, child->line.len ? child->line.text : "", child->line.len,
			 true);
	fw_buf_reset(&child->line, 0);
	child->is_dropping = !is_ended;
}

static void take_piece(struct fw_child *child, const char *text, size_t len, bool is_ended)
{
	if (child->is_dropping) {
		child->is_dropping = !is_ended;
		return;
	}
	if (is_ended && !child->line.len && len <= child->line_max) {
		child->on.line(child->ctx, text, len);
		return;
	}
	fw_buf_put(&child->line, text, len);
	if (child->line.state != FW_BUF_OK) {
		drop_line(child, is_ended);
	} else if (is_ended) {
		child->on.line(child->ctx, child->line.text, child->line.len);
		fw_buf_reset(&child->line, FW_LIMIT_CHILD_KEPT_BYTES);
	}
}

static void on_output(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf)
{
	struct fw_child *child = stream->data;
	const char *at = buf->base;
	const char *end;

	if (got < 0) {
		output_over(child);
		return;
	}
	end = at + got;
	while (at < end && !child->is_freed) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;

		take_piece(child, at, (size_t)(stop - at), newline != NULL);
		at = newline ? newline + 1 : end;
	}
}

/* ---- standard error ----------------------------------------------------------- */

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

/* ---- standard input ----------------------------------------------------------- */

static void on_written(uv_write_t *request, int status)
{
	struct sending *sending = (struct sending *)request;

	if (status < 0)
		sending->child->is_input_over = true;
	fw__release(sending);
}

size_t fw_child_unsent(const struct fw_child *child)
{
	return uv_stream_get_write_queue_size((const uv_stream_t *)&child->in);
}

/* How many bytes of the line the pipe took at once; negative: it is broken. */
static ssize_t try_write(struct fw_child *child, const char *text, size_t len)
{
	uv_buf_t bufs[] = { uv_buf_init((char *)text, (unsigned)len),
			    uv_buf_init((char *)"\n", 1) };
	int status;

	if (fw_child_unsent(child))
		return 0;
	status = uv_try_write((uv_stream_t *)&child->in, bufs, 2);
	return status == UV_EAGAIN ? 0 : status;
}

enum fw_child_sent fw_child_send(struct fw_child *child, const char *text, size_t len)
{
	struct sending *sending;
	uv_buf_t buf;
	ssize_t taken;

	if (child->is_input_over || child->is_freed)
		return FW_CHILD_BROKEN;
	if (len >= child->unsent_max || fw_child_unsent(child) > child->unsent_max - len - 1)
		return FW_CHILD_FULL;
	/* Allocate before writing: half a line in the pipe cannot be taken back. */
	sending = fw__allocate(sizeof *sending + len + 1);
	if (!sending)
		return FW_CHILD_NO_MEMORY;
	taken = try_write(child, text, len);
	if (taken < 0 || (size_t)taken == len + 1) {
		fw__release(sending);
		child->is_input_over = taken < 0;
		return taken < 0 ? FW_CHILD_BROKEN : FW_CHILD_SENT;
	}
	sending->child = child;
	memcpy(sending->text, text, len);
	sending->text[len] = '\n';
	buf = uv_buf_init(sending->text + taken, (unsigned)(len + 1 - (size_t)taken));
	if (uv_write(&sending->request, (uv_stream_t *)&child->in, &buf, 1, on_written) != 0) {
		fw__release(sending);
		child->is_input_over = true;
		return FW_CHILD_BROKEN;
	}
	return FW_CHILD_SENT;
}

static void on_shutdown(uv_shutdown_t *request, int status)
{
	struct fw_child *child = request->data;

	(void)status;
	fw__release(request);
	close_handle((uv_handle_t *)&child->in);
}

void fw_child_end_input(struct fw_child *child)
{
	uv_shutdown_t *request;

	if (child->is_input_over || child->is_freed)
		return;
	child->is_input_over = true;
	request = fw__allocate(sizeof *request);
	if (request)
		request->data = child;
	/* Without memory, unsent lines are lost; the child still sees the end. */
	if (!request || uv_shutdown(request, (uv_stream_t *)&child->in, on_shutdown) != 0) {
		fw__release(request);
		close_handle((uv_handle_t *)&child->in);
	}
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
	fw_error *err = fw_error_from_errno(FW_HERE, errnum,
					    step == FW_SUBPROCESS_DIRECTORY ? options->directory
									    : options->argv[0]);

	return fw_error_wrap(err, FW_HERE, "could not start \"%s\"", options->argv[0]);
}

static void open_handles(struct fw_child *child, const struct pipes *pipes)
{
	uv_loop_t *uv = &child->loop->uv;
	uv_handle_t *const handles[] = { (uv_handle_t *)&child->in, (uv_handle_t *)&child->out,
					 (uv_handle_t *)&child->err, (uv_handle_t *)&child->end,
					 (uv_handle_t *)&child->grace };

	/* None of these calls fails for open descriptors. */
	(void)uv_pipe_init(uv, &child->in, 0);
	(void)uv_pipe_init(uv, &child->out, 0);
	(void)uv_pipe_init(uv, &child->err, 0);
	(void)uv_poll_init(uv, &child->end, child->process.pidfd);
	(void)uv_timer_init(uv, &child->grace);
	child->open_handles = sizeof handles / sizeof *handles;
	for (size_t i = 0; i < child->open_handles; i++)
		handles[i]->data = child;
	(void)uv_pipe_open(&child->in, pipes->ours[0]);
	(void)uv_pipe_open(&child->out, pipes->ours[1]);
	(void)uv_pipe_open(&child->err, pipes->ours[2]);
	(void)uv_read_start((uv_stream_t *)&child->out, give_buffer, on_output);
	(void)uv_read_start((uv_stream_t *)&child->err, give_buffer, on_error_text);
	(void)uv_poll_start(&child->end, UV_READABLE, on_end);
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
	child->line_max = options->line_max ? options->line_max : FW_LIMIT_CHILD_LINE_BYTES;
	child->unsent_max =
		options->unsent_max ? options->unsent_max : FW_LIMIT_CHILD_UNSENT_BYTES;
	fw_buf_init(&child->line, child->line_max);
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
						 .dies_with_parent = true },
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
