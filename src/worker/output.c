/*
 * output.c - reads the stderr pipe of a worker into the log; see output.h.
 *
 * The rate is limited: a tool that writes faster than FW_LIMIT_TOOL_TEXT_PER_S blocks in
 * write(), at the longest until its deadline.
 */
#include "worker/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "core/redact.h"
#include "core/redact_stream.h"
#include "observe/log/log.h"
#include "worker/pool.h"

enum {
	READ_BYTES = 16 * 1024,
	WINDOW_MS = 1000,
	PIPE_BYTES = 64 * 1024,
	KEPT_BYTES = 64 * 1024,
};

/* Freed when libuv has closed the handle, which may be after its worker is gone. */
struct fw_worker_pipe {
	uv_poll_t poll;
	int fd;
	struct fw_worker *worker;
	uint64_t window_ms;             /* start of the window of the rate limit */
	size_t bytes;                   /* read in this window */
	bool is_paused;                 /* until the window ends */
	struct fw_redact_stream stream; /* text that is not redacted yet */
};

void fw_worker_output_init(struct fw_worker_output *output)
{
	fw_buf_init(&output->unlogged, KEPT_BYTES);
	fw_buf_init(&output->tail, KEPT_BYTES);
}

/* ---- logging ---------------------------------------------------------------------- */

/* Repairs UTF-8 and redacts again, because repaired text may contain a secret that was
 * not recognized before. Text beyond `cap` is cut off. Returns the length. */
static size_t clean(char *to, size_t cap, const char *text, size_t len)
{
	char room[3 * FW_LIMIT_TOOL_TEXT_BYTES];
	size_t size = fw_utf8_repair(room, sizeof room, text, len);

	return fw_redact_cut(to, cap, room, size < sizeof room ? size : sizeof room);
}

static void log_text(const struct fw_worker *worker, const char *bytes, size_t len)
{
	char text[2 * FW_LIMIT_TOOL_TEXT_BYTES];
	fw_field fields[2];

	(void)clean(text, sizeof text, bytes, len);
	fields[0] =
		fw_log_text("tool", worker->output.offer ? worker->output.offer->name : NULL);
	fields[1] = fw_log_text("text", text);
	fw_log_event(FW_LOG_INFO, "faultwire", "tool_stderr", fields, 2);
}

/* Logs complete lines, as many per event as fit; `is_all`: also the incomplete one. */
static void log_lines(struct fw_worker *worker, bool is_all)
{
	struct fw_buf *unlogged = &worker->output.unlogged;
	const char *at = unlogged->text;
	size_t left = unlogged->len;

	while (left > 0) {
		size_t most = left < FW_LIMIT_TOOL_TEXT_BYTES ? left : FW_LIMIT_TOOL_TEXT_BYTES;
		const char *end = memrchr(at, '\n', most);
		size_t len = end ? (size_t)(end - at) : most;

		if (!end && most < FW_LIMIT_TOOL_TEXT_BYTES && !is_all)
			break;
		if (len)
			log_text(worker, at, len);
		len += end != NULL;
		at += len;
		left -= len;
	}
	memmove(unlogged->text, at, left);
	unlogged->len = left;
}

/* Keeps the last bytes for the detail of a crash. */
static void keep_tail(struct fw_worker *worker, const char *text, size_t len)
{
	struct fw_buf *tail = &worker->output.tail;

	fw_buf_put(tail, text, len);
	if (tail->state != FW_BUF_OK || tail->len <= FW_LIMIT_TOOL_TEXT_BYTES)
		return;
	len = tail->len - FW_LIMIT_TOOL_TEXT_BYTES;
	memmove(tail->text, tail->text + len, tail->len - len);
	tail->len -= len;
	worker->output.is_tail_cut = true;
}

/* Takes redacted text. */
static void take(void *ctx, const char *text, size_t len)
{
	struct fw_worker *worker = ctx;

	keep_tail(worker, text, len);
	fw_buf_put(&worker->output.unlogged, text, len);
	if (worker->output.unlogged.state == FW_BUF_OK)
		log_lines(worker, false);
	else
		fw_buf_reset(&worker->output.unlogged, 0);
}

/* Logs all that was read, also an incomplete line. */
static void log_rest(struct fw_worker *worker)
{
	if (worker->output.pipe)
		fw_redact_stream_end(&worker->output.pipe->stream, take, worker);
	if (worker->output.unlogged.len)
		log_lines(worker, true);
}

/* False: there is nothing to read now. */
static bool read_some(struct fw_worker *worker)
{
	char text[READ_BYTES];
	ssize_t got = read(worker->output.pipe->fd, text, sizeof text);

	if (got < 0 && errno == EINTR)
		return true;
	if (got <= 0)
		return false;
	worker->output.pipe->bytes += (size_t)got;
	fw_redact_stream_add(&worker->output.pipe->stream, text, (size_t)got, take, worker);
	return true;
}

/* ---- rate limit ------------------------------------------------------------------------ */

static void on_pipe(uv_poll_t *poll, int status, int events)
{
	struct fw_worker_pipe *pipe = poll->data;
	struct fw_worker *worker = pipe->worker;

	(void)events;
	if (!worker)
		return;
	if (fw_worker_pool_now(worker->pool) >= pipe->window_ms + WINDOW_MS) {
		pipe->window_ms = fw_worker_pool_now(worker->pool);
		pipe->bytes = 0;
	}
	if (pipe->bytes >= FW_LIMIT_TOOL_TEXT_PER_S) {
		pipe->is_paused = true;
		(void)uv_poll_stop(poll);
		fw_worker_pool_wake_at(worker->pool, pipe->window_ms + WINDOW_MS);
	} else if (status < 0 || !read_some(worker)) {
		/* The worker has closed the pipe or has died; the fork server reports that. */
		(void)uv_poll_stop(poll);
	}
}

uint64_t fw_worker_output_resume(struct fw_worker *worker, uint64_t now_ms)
{
	struct fw_worker_pipe *pipe = worker->output.pipe;

	if (!pipe || !pipe->is_paused)
		return 0;
	if (now_ms < pipe->window_ms + WINDOW_MS)
		return pipe->window_ms + WINDOW_MS;
	pipe->is_paused = false;
	(void)uv_poll_start(&pipe->poll, UV_READABLE, on_pipe);
	return 0;
}

/* ---- open and close -------------------------------------------------------------------------- */

bool fw_worker_output_open(struct fw_worker *worker, int *ret_write_end)
{
	struct fw_worker_pipe *pipe;
	int ends[2];

	*ret_write_end = -1;
	if (!worker->pool->has_log)
		return true;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	pipe = fw__allocate(sizeof *pipe);
	if (pipe) {
		/* Without the large buffer of the stream: most workers write nothing. */
		memset(pipe, 0, offsetof(struct fw_worker_pipe, stream));
		fw_redact_stream_reset(&pipe->stream);
		pipe->fd = ends[0];
		pipe->worker = worker;
	}
	/* uv_poll_init() makes the read end non-blocking. */
	if (!pipe ||
	    uv_poll_init(fw_worker_pool_loop(worker->pool), &pipe->poll, ends[0]) != 0) {
		fw__release(pipe);
		(void)close(ends[0]);
		(void)close(ends[1]);
		return false;
	}
	pipe->poll.data = pipe;
	(void)uv_poll_start(&pipe->poll, UV_READABLE, on_pipe);
	worker->output.pipe = pipe;
	*ret_write_end = ends[1];
	return true;
}

void fw_worker_output_begin(struct fw_worker *worker, const struct fw_offer *offer)
{
	log_rest(worker);
	worker->output.offer = offer;
	worker->output.tail.len = 0;
	worker->output.is_tail_cut = false;
}

void fw_worker_output_drain(struct fw_worker *worker)
{
	if (!worker->output.pipe)
		return;
	for (size_t before = worker->output.pipe->bytes;
	     worker->output.pipe->bytes - before <= PIPE_BYTES && read_some(worker);)
		;
	log_rest(worker);
}

static void on_closed(uv_handle_t *handle)
{
	fw__release(handle->data);
}

void fw_worker_output_close(struct fw_worker *worker)
{
	struct fw_worker_pipe *pipe = worker->output.pipe;

	fw_buf_clear(&worker->output.unlogged);
	fw_buf_clear(&worker->output.tail);
	if (!pipe)
		return;
	worker->output.pipe = NULL;
	pipe->worker = NULL;
	(void)uv_poll_stop(&pipe->poll);
	uv_close((uv_handle_t *)&pipe->poll, on_closed);
	(void)close(pipe->fd);
}

size_t fw_worker_output_tail(const struct fw_worker *worker, char *text, size_t size)
{
	const char *at = worker->output.tail.text;
	size_t len = worker->output.tail.state == FW_BUF_OK ? worker->output.tail.len : 0;
	const char *line = len && worker->output.is_tail_cut ? memchr(at, '\n', len) : NULL;

	text[0] = '\0';
	/* An incomplete line may contain a part of a secret that is not recognizable. */
	if (line) {
		len -= (size_t)(line + 1 - at);
		at = line + 1;
	}
	return len ? clean(text, size, at, len) : 0;
}
