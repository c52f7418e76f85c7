/*
 * ear.c - what a tool writes to its standard output and error. Where the server
 * keeps a log, it goes through a pipe into that: a tool that wrote to the log
 * itself could make up lines of the server's, and say there what is hidden
 * elsewhere. Without a log, workers have the server's standard error.
 *
 * A tool is heard only so fast; one that writes faster waits, until its deadline.
 */
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
#include "worker/impl.h"

enum { READ_BYTES = 16 * 1024, WINDOW_MS = 1000, PIPE_BYTES = 64 * 1024 };

/* Lives until libuv has let go of it, which may be after its worker. */
struct fw_ear {
	uv_poll_t poll;
	int fd;
	struct fw_worker *worker;
	uint64_t since_ms;              /* the window began */
	size_t bytes;                   /* heard in it */
	bool is_full;                   /* nothing is read before its end */
	struct fw_redact_stream stream; /* of what was read and is not redacted yet */
};

static uint64_t now_of(const struct fw_worker *worker)
{
	return uv_now(&worker->pool->base.server->loop);
}

/* ---- telling ---------------------------------------------------------------------- */

/* Made UTF-8, and redacted once more: repaired text may read otherwise. Returns
 * its length; `cap` is more than enough for most, the rest is cut. */
static size_t clean(char *to, size_t cap, const char *text, size_t len)
{
	char room[3 * FW_LIMIT_TOOL_TEXT_BYTES];
	size_t size = fw_utf8_repair(room, sizeof room, text, len);

	return fw_redact_cut(to, cap, room, size < sizeof room ? size : sizeof room);
}

static void tell(const struct fw_worker *worker, const char *heard, size_t len)
{
	char text[2 * FW_LIMIT_TOOL_TEXT_BYTES];
	fw_field fields[2];

	(void)clean(text, sizeof text, heard, len);
	fields[0] = fw_log_text("tool", worker->offer ? worker->offer->name : NULL);
	fields[1] = fw_log_text("text", text);
	fw_log_event(FW_LOG_INFO, "faultwire", "tool_stderr", fields, 2);
}

/* Whole lines, as many as fit into one event. */
static void tell_lines(struct fw_worker *worker, bool is_all)
{
	struct fw_buf *heard = &worker->heard;
	const char *at = heard->text;
	size_t left = heard->len;

	while (left > 0) {
		size_t most = left < FW_LIMIT_TOOL_TEXT_BYTES ? left : FW_LIMIT_TOOL_TEXT_BYTES;
		const char *end = memrchr(at, '\n', most);
		size_t len = end ? (size_t)(end - at) : most;

		if (!end && most < FW_LIMIT_TOOL_TEXT_BYTES && !is_all)
			break;
		if (len)
			tell(worker, at, len);
		len += end != NULL;
		at += len;
		left -= len;
	}
	memmove(heard->text, at, left);
	heard->len = left;
}

/* The end of it, for the trail of a crash. */
static void keep_end(struct fw_worker *worker, const char *text, size_t len)
{
	struct fw_buf *end = &worker->end;

	fw_buf_put(end, text, len);
	if (end->state != FW_BUF_OK || end->len <= FW_LIMIT_TOOL_TEXT_BYTES)
		return;
	len = end->len - FW_LIMIT_TOOL_TEXT_BYTES;
	memmove(end->text, end->text + len, end->len - len);
	end->len -= len;
	worker->is_end_cut = true;
}

/* Redacted text, on its way into the log. */
static void take(void *ctx, const char *text, size_t len)
{
	struct fw_worker *worker = ctx;

	keep_end(worker, text, len);
	fw_buf_put(&worker->heard, text, len);
	if (worker->heard.state == FW_BUF_OK)
		tell_lines(worker, false);
	else
		fw_buf_reset(&worker->heard, 0);
}

/* All that was read goes into the log, also half a line. */
static void tell_rest(struct fw_worker *worker)
{
	if (worker->ear)
		fw_redact_stream_end(&worker->ear->stream, take, worker);
	if (worker->heard.len)
		tell_lines(worker, true);
}

/* False: there is no more now. */
static bool hear(struct fw_worker *worker)
{
	char text[READ_BYTES];
	ssize_t got = read(worker->ear->fd, text, sizeof text);

	if (got < 0 && errno == EINTR)
		return true;
	if (got <= 0)
		return false;
	worker->ear->bytes += (size_t)got;
	fw_redact_stream_add(&worker->ear->stream, text, (size_t)got, take, worker);
	return true;
}

/* ---- how fast ------------------------------------------------------------------------ */

static void on_pipe(uv_poll_t *poll, int status, int events)
{
	struct fw_ear *ear = poll->data;
	struct fw_worker *worker = ear->worker;

	(void)events;
	if (!worker)
		return;
	if (now_of(worker) >= ear->since_ms + WINDOW_MS) {
		ear->since_ms = now_of(worker);
		ear->bytes = 0;
	}
	if (ear->bytes >= FW_LIMIT_TOOL_TEXT_PER_S) {
		ear->is_full = true;
		(void)uv_poll_stop(poll);
		fw_pool_watch(worker->pool, ear->since_ms + WINDOW_MS);
	} else if (status < 0 || !hear(worker)) {
		/* The worker has closed it, or has died; that is told elsewhere. */
		(void)uv_poll_stop(poll);
	}
}

uint64_t fw_ear_tick(struct fw_worker *worker, uint64_t now_ms)
{
	struct fw_ear *ear = worker->ear;

	if (!ear || !ear->is_full)
		return 0;
	if (now_ms < ear->since_ms + WINDOW_MS)
		return ear->since_ms + WINDOW_MS;
	ear->is_full = false;
	(void)uv_poll_start(&ear->poll, UV_READABLE, on_pipe);
	return 0;
}

/* ---- its life -------------------------------------------------------------------------- */

bool fw_ear_new(struct fw_worker *worker, int *ret_mouth)
{
	struct fw_ear *ear;
	int ends[2];

	*ret_mouth = -1;
	if (!worker->pool->has_ears)
		return true;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	ear = fw__allocate(sizeof *ear);
	if (ear) {
		/* Not the window of the stream: most workers say nothing. */
		memset(ear, 0, offsetof(struct fw_ear, stream));
		fw_redact_stream_reset(&ear->stream);
		ear->fd = ends[0];
		ear->worker = worker;
	}
	/* It makes the end that is read one that does not wait. */
	if (!ear || uv_poll_init(&worker->pool->base.server->loop, &ear->poll, ends[0]) != 0) {
		fw__release(ear);
		(void)close(ends[0]);
		(void)close(ends[1]);
		return false;
	}
	ear->poll.data = ear;
	(void)uv_poll_start(&ear->poll, UV_READABLE, on_pipe);
	worker->ear = ear;
	*ret_mouth = ends[1];
	return true;
}

void fw_ear_turn(struct fw_worker *worker, const struct fw_offer *offer)
{
	tell_rest(worker);
	worker->offer = offer;
	worker->end.len = 0;
	worker->is_end_cut = false;
}

void fw_ear_finish(struct fw_worker *worker)
{
	if (!worker->ear)
		return;
	for (size_t before = worker->ear->bytes;
	     worker->ear->bytes - before <= PIPE_BYTES && hear(worker);)
		;
	tell_rest(worker);
}

static void on_closed(uv_handle_t *handle)
{
	fw__release(handle->data);
}

void fw_ear_close(struct fw_worker *worker)
{
	struct fw_ear *ear = worker->ear;

	fw_buf_clear(&worker->heard);
	fw_buf_clear(&worker->end);
	if (!ear)
		return;
	worker->ear = NULL;
	ear->worker = NULL;
	(void)uv_poll_stop(&ear->poll);
	uv_close((uv_handle_t *)&ear->poll, on_closed);
	(void)close(ear->fd);
}

size_t fw_ear_last_words(const struct fw_worker *worker, char *text, size_t size)
{
	const char *at = worker->end.text;
	size_t len = worker->end.state == FW_BUF_OK ? worker->end.len : 0;
	const char *line = len && worker->is_end_cut ? memchr(at, '\n', len) : NULL;

	text[0] = '\0';
	/* Half a line may be half a secret. */
	if (line) {
		len -= (size_t)(line + 1 - at);
		at = line + 1;
	}
	return len ? clean(text, size, at, len) : 0;
}
