/*
 * stdio.c - MCP over two descriptors, one message per line.
 *
 * Plain read() and write() on non-blocking descriptors that uv_poll reports as ready:
 * a libuv stream would allocate memory for each read and write each reply on its
 * own. The replies to the lines of one read leave together, but EARLY_LINES of them do not
 * wait for the others: the client reads them on its CPU while we go on. A regular file
 * cannot be polled, so it is read in pieces while the loop is idle.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/linger.h"
#include "base/mem.h"
#include "base/plain_io.h"
#include "mcp/transport.h"

#include <faultwire/listen.h>
#include <faultwire/raise.h>
#include <faultwire/raw.h>

enum {
	READ_BYTES = 64 * 1024,
	KEEP_BYTES = 256 * 1024,
	COMPACT_BYTES = 64 * 1024,
	EARLY_LINES = 16,
	WIDE_BYTES = 1024 * 1024 /* of a pipe that large replies are written to */
};

struct stdio {
	struct fw_transport base;
	struct fw_exchange exchange;
	const struct fw_limits *limits;
	int in, out;
	int in_flags, out_flags; /* the original flags; -1: not changed */
	uv_poll_t in_poll;
	uv_poll_t out_poll;
	uv_idle_t idle;          /* reads input that cannot be polled */
	struct fw_writer writer; /* of messages that were put between two reads */
	struct fw_reader reader;
	uv_timer_t flush;
	int open_handles;
	bool can_poll_in;
	bool can_poll_out;
	bool is_shared;   /* input and output are one descriptor: in_poll polls both */
	bool is_waiting;  /* until the output can be written to */
	bool is_wide;     /* the pipe of the output was made larger, if it is one */
	bool is_paused;   /* too much is unsent: no input is read */
	bool is_greeting; /* a gateway's initialize is in progress: nothing is read */
	bool is_ended;    /* there is no more input */
	bool is_broken;   /* the reader of the output is gone */
	bool is_gone;     /* and the core has been informed */
	bool is_closing;
	bool is_skipping; /* skipping the rest of a line that is too long */
	struct fw_buf lines;
	struct fw_buf unsent;
	unsigned unsent_lines; /* since the last write */
	size_t sent;           /* bytes of `unsent` that were written */
};

static void watch(struct stdio *stdio);

/* ---- out ----------------------------------------------------------------------- */

/* One attempt, within a call of the core: write_out() meets an error again, and reports it. */
static void write_early(struct stdio *stdio)
{
	struct fw_buf *unsent = &stdio->unsent;
	ssize_t n;

	stdio->unsent_lines = 0;
	if (stdio->is_waiting)
		return;
	n = fw_plain_write(stdio->out, unsent->text + stdio->sent, unsent->len - stdio->sent);
	if (n > 0)
		stdio->sent += (size_t)n;
}

static void put_line(struct stdio *stdio, const char *json, size_t len)
{
	struct fw_buf *unsent = &stdio->unsent;

	if (stdio->is_broken || !json)
		return;
	/* Remove the bytes that were written, also if the reader never catches up. */
	if (stdio->sent > COMPACT_BYTES && stdio->sent > unsent->len / 2) {
		memmove(unsent->text, unsent->text + stdio->sent, unsent->len - stdio->sent);
		unsent->len -= stdio->sent;
		stdio->sent = 0;
	}
	/* A client that leaves this much unread is cut off, but not inside a call of the
	 * core: see on_write(). */
	if (unsent->len - stdio->sent > stdio->limits->stdio_unsent_bytes ||
	    !fw_buf_reserve(unsent, len + 1)) {
		stdio->is_broken = true;
		return;
	}
	fw_buf_put(unsent, json, len);
	FW_BUF(unsent, "\n");
	if (++stdio->unsent_lines == EARLY_LINES)
		write_early(stdio);
}

static void on_send(struct fw_exchange *exchange, const struct fw_event *event)
{
	struct stdio *stdio =
		(struct stdio *)((char *)exchange - offsetof(struct stdio, exchange));

	if (event->len)
		put_line(stdio, event->json, event->len);
}

static void on_reply(struct fw_exchange *exchange, const struct fw_reply *reply)
{
	struct stdio *stdio =
		(struct stdio *)((char *)exchange - offsetof(struct stdio, exchange));
	struct fw_buf *unsent = &stdio->unsent;

	if (reply->own && stdio->sent == unsent->len && !stdio->is_broken &&
	    reply->len < unsent->max) {
		stdio->sent = 0;
		fw_buf_reset(unsent, KEEP_BYTES);
		fw_buf_swap(unsent, reply->own);
		FW_BUF(unsent, "\n");
		stdio->is_broken = unsent->state != FW_BUF_OK;
		return;
	}
	put_line(stdio, reply->json, reply->len);
}

static void on_close(struct fw_exchange *exchange)
{
	(void)exchange;
}

static const struct fw_exchange_ops exchange_ops = { .send = on_send,
						     .reply = on_reply,
						     .close = on_close };

static void close_all(struct stdio *stdio);

/* The reader of our output is gone: stop polling both descriptors, because a closed one
 * is always ready, and let the core end the calls of this connection. */
static void end_output(struct stdio *stdio)
{
	stdio->is_broken = true;
	stdio->is_gone = true;
	stdio->is_ended = true;
	stdio->is_waiting = false;
	stdio->unsent.len = 0;
	stdio->sent = 0;
	watch(stdio);
	if (stdio->is_closing)
		return;
	fw_exchange_gone(&stdio->exchange);
	fw_transport_hangup(&stdio->base);
}

/* Messages were lost on this side: report why to the parent process, because exit status 0
 * would mean that everything was answered. A peer that has gone is not a failure. */
static void report_failure(struct stdio *stdio, int error, const char *doing, const char *what)
{
	fw_error *err;

	if (error == EPIPE || error == ECONNRESET)
		return;
	err = fw_error_from_errno(FW_HERE, error, what);
	if (error == EBADF) {
		fw_error_set_hint(err, "Start the server with open standard input and output.");
		err = fw_error_wrap(err, FW_HERE, "could not %s %s", doing, what);
	}
	fw_transport_failed(&stdio->base, err);
}

/* The output is full, and much is to be written: a larger pipe lets the reader read while we
 * write. False: it has the largest size already, or is not a pipe. */
static bool widen(struct stdio *stdio)
{
	if (stdio->is_wide || stdio->unsent.len - stdio->sent < READ_BYTES)
		return false;
	stdio->is_wide = true;
	return fcntl(stdio->out, F_SETPIPE_SZ, WIDE_BYTES) == WIDE_BYTES;
}

static void write_out(struct stdio *stdio)
{
	struct fw_buf *unsent = &stdio->unsent;
	bool has_output = unsent->len > 0;

	while (stdio->sent < unsent->len && !stdio->is_waiting) {
		ssize_t n = fw_plain_write(stdio->out, unsent->text + stdio->sent,
					   unsent->len - stdio->sent);
		int error = errno;

		if (n >= 0) {
			stdio->sent += (size_t)n;
		} else if (error == EAGAIN && widen(stdio)) {
			continue;
		} else if (error == EAGAIN && (stdio->can_poll_out || stdio->is_shared)) {
			stdio->is_waiting = true;
			watch(stdio);
		} else if (error != EINTR) {
			report_failure(stdio, error, "write", "standard output");
			end_output(stdio);
			break;
		}
	}
	stdio->unsent_lines = 0;
	if (stdio->sent == unsent->len) {
		stdio->sent = 0;
		fw_buf_reset(unsent, KEEP_BYTES);
		if (stdio->is_closing)
			close_all(stdio);
		else if (has_output && stdio->can_poll_in)
			fw_linger_expect(fw_server__linger(stdio->base.server), &stdio->reader);
	}
	if (stdio->is_paused &&
	    unsent->len - stdio->sent < stdio->limits->stdio_queue_bytes / 2) {
		stdio->is_paused = false;
		watch(stdio);
	}
}

/* ---- in ------------------------------------------------------------------------- */

static bool is_blank(const char *line, size_t len)
{
	while (len && (*line == ' ' || *line == '\t')) {
		line++;
		len--;
	}
	return len == 0;
}

/* The line has no terminating NUL: the last one may end with the buffer. */
static void take_line(struct stdio *stdio, const char *line, size_t len)
{
	if (len && line[len - 1] == '\r')
		len--;
	if (is_blank(line, len))
		return;
	fw_exchange_receive(&stdio->exchange, line, len);
}

/* Refuses the line that is being read, and skips what is left of it. */
static void refuse_line(struct stdio *stdio, fw_error *err)
{
	stdio->is_skipping = true;
	stdio->lines.len = 0;
	fw_exchange_refuse(&stdio->exchange, err);
}

static void take_lines(struct stdio *stdio, size_t scanned)
{
	struct fw_buf *lines = &stdio->lines;
	char *at = lines->text;
	char *end = lines->text + lines->len;
	char *from = at + scanned;
	char *newline;

	newline = memchr(from, '\n', (size_t)(end - from));
	while (newline && !stdio->is_broken && !stdio->is_greeting) {
		char *next = memchr(newline + 1, '\n', (size_t)(end - (newline + 1)));

		fw_server__set_more(stdio->base.server, next != NULL);
		if (stdio->is_skipping)
			stdio->is_skipping = false;
		else
			take_line(stdio, at, (size_t)(newline - at));
		at = newline + 1;
		newline = next;
		if (stdio->exchange.calls && fw_exchange_is_greeting(&stdio->exchange)) {
			stdio->is_greeting = true;
			watch(stdio);
		}
	}
	fw_server__set_more(stdio->base.server, false);
	lines->len = (size_t)(end - at);
	if (lines->len && at != lines->text)
		memmove(lines->text, at, lines->len);
	if (stdio->is_skipping) {
		lines->len = 0;
	} else if (!stdio->is_greeting && lines->len > stdio->limits->message_bytes + 1) {
		/* One byte more may be the CR of a line that ends with CR LF. */
		refuse_line(stdio,
			    fw_raise_input_too_large("message", stdio->limits->message_bytes));
	}
	if (!lines->len)
		fw_buf_reset(lines, KEEP_BYTES);
}

/* Takes the lines that came after initialize. */
static void end_greeting(struct stdio *stdio)
{
	stdio->is_greeting = false;
	take_lines(stdio, 0);
	watch(stdio);
}

static void on_write(struct fw_writer *writer)
{
	struct stdio *stdio = (struct stdio *)((char *)writer - offsetof(struct stdio, writer));

	if (stdio->is_broken && !stdio->is_gone)
		end_output(stdio);
	if (stdio->is_greeting && !fw_exchange_is_greeting(&stdio->exchange))
		end_greeting(stdio);
	if (stdio->unsent.len && !stdio->is_waiting)
		write_out(stdio);
}

static void end_input(struct stdio *stdio)
{
	struct fw_buf *lines = &stdio->lines;

	stdio->is_ended = true;
	watch(stdio);
	if (lines->len && !stdio->is_skipping)
		take_line(stdio, lines->text, lines->len);
	lines->len = 0;
	fw_transport_hangup(&stdio->base);
}

/* One read, and all lines that it completes; false: there is no input now. */
static bool read_in(struct stdio *stdio)
{
	struct fw_buf *lines = &stdio->lines;
	size_t scanned = lines->len;
	ssize_t n;
	int error;

	if (!fw_buf_reserve(lines, READ_BYTES)) {
		/* A line is refused before it reaches the limit of the buffer. */
		fw_buf_clear(lines);
		refuse_line(stdio, fw_raise_internal_out_of_memory());
		return true;
	}
	n = fw_plain_read(stdio->in, lines->text + lines->len, READ_BYTES);
	error = errno;
	if (n > 0) {
		lines->len += (size_t)n;
		take_lines(stdio, scanned);
		write_out(stdio);
		if (stdio->unsent.len - stdio->sent > stdio->limits->stdio_queue_bytes) {
			stdio->is_paused = true;
			watch(stdio);
		}
	} else if (n == 0) {
		end_input(stdio);
	} else if (error != EAGAIN && error != EINTR) {
		report_failure(stdio, error, "read", "standard input");
		end_input(stdio);
	} else {
		return false;
	}
	return true;
}

static bool wants_input(const struct stdio *stdio)
{
	return !stdio->is_ended && !stdio->is_paused && !stdio->is_closing &&
	       !stdio->is_greeting;
}

/* After an error (status), read() or write() finds the reason. */
static void on_ready(uv_poll_t *poll, int status, int events)
{
	struct stdio *stdio = poll->data;
	bool is_in = poll == &stdio->in_poll;

	if (stdio->is_waiting && (!is_in || status < 0 || events & UV_WRITABLE)) {
		stdio->is_waiting = false;
		write_out(stdio);
		watch(stdio);
	}
	if (is_in && wants_input(stdio) &&
	    (status < 0 || events & (UV_READABLE | UV_DISCONNECT)))
		(void)read_in(stdio);
}

/* If the buffer has no room, the loop reads when there is a line: without memory it is
 * refused. */
static bool on_expected(struct fw_reader *reader)
{
	struct stdio *stdio = (struct stdio *)((char *)reader - offsetof(struct stdio, reader));

	return wants_input(stdio) && stdio->lines.cap - stdio->lines.len > READ_BYTES &&
	       read_in(stdio);
}

static void on_idle(uv_idle_t *idle)
{
	struct stdio *stdio = idle->data;

	if (wants_input(stdio))
		(void)read_in(stdio);
}

static void set_events(uv_poll_t *poll, int events)
{
	if (uv_is_closing((uv_handle_t *)poll))
		return;
	if (events)
		(void)uv_poll_start(poll, events, on_ready);
	else
		(void)uv_poll_stop(poll);
}

/* Polls each descriptor for the events that the state waits for, and no others. */
static void watch(struct stdio *stdio)
{
	int in = wants_input(stdio) ? UV_READABLE | UV_DISCONNECT : 0;
	int out = stdio->is_waiting ? UV_WRITABLE : 0;

	if (stdio->can_poll_in)
		set_events(&stdio->in_poll, in | (stdio->is_shared ? out : 0));
	else if (in)
		(void)uv_idle_start(&stdio->idle, on_idle);
	else
		(void)uv_idle_stop(&stdio->idle);
	if (stdio->can_poll_out)
		set_events(&stdio->out_poll, out);
}

/* ---- the transport ------------------------------------------------------------------ */

static fw_error *on_start(struct fw_transport *transport)
{
	struct stdio *stdio = (struct stdio *)transport;
	uv_loop_t *loop = fw_server__loop(transport->server);

	stdio->in_flags = fcntl(stdio->in, F_GETFL);
	stdio->out_flags = fcntl(stdio->out, F_GETFL);
	if (stdio->in_flags < 0 || stdio->out_flags < 0)
		return fw_error_from_errno(FW_HERE, EBADF, "standard input or output");
	(void)uv_idle_init(loop, &stdio->idle);
	(void)uv_timer_init(loop, &stdio->flush);
	stdio->idle.data = stdio;
	stdio->flush.data = stdio;
	stdio->open_handles = 2;
	stdio->can_poll_in = uv_poll_init(loop, &stdio->in_poll, stdio->in) == 0;
	if (stdio->can_poll_in) {
		stdio->in_poll.data = stdio;
		stdio->open_handles++;
	}
	/* A loop can poll a descriptor only once. */
	stdio->is_shared = stdio->out == stdio->in && stdio->can_poll_in;
	if (stdio->out != stdio->in) {
		stdio->can_poll_out = uv_poll_init(loop, &stdio->out_poll, stdio->out) == 0;
		if (stdio->can_poll_out) {
			stdio->out_poll.data = stdio;
			stdio->open_handles++;
		}
	}
	stdio->writer.write = on_write;
	stdio->reader.read = on_expected;
	fw_linger_add(fw_server__linger(transport->server), &stdio->writer);
	fw_exchange_init(&stdio->exchange, transport->server, &exchange_ops, false);
	watch(stdio);
	return NULL;
}

static void on_quiesce(struct fw_transport *transport)
{
	struct stdio *stdio = (struct stdio *)transport;

	/* Answers to requests of the server may still come. */
	if (stdio->is_ended)
		watch(stdio);
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct stdio *stdio = handle->data;

	if (--stdio->open_handles == 0)
		fw_transport_closed(&stdio->base);
}

static void close_all(struct stdio *stdio)
{
	if (uv_is_closing((uv_handle_t *)&stdio->idle))
		return;
	fw_exchange_gone(&stdio->exchange);
	uv_close((uv_handle_t *)&stdio->idle, on_handle_closed);
	fw_linger_remove(fw_server__linger(stdio->base.server), &stdio->writer);
	fw_linger_forget(fw_server__linger(stdio->base.server), &stdio->reader);
	uv_close((uv_handle_t *)&stdio->flush, on_handle_closed);
	if (stdio->can_poll_in)
		uv_close((uv_handle_t *)&stdio->in_poll, on_handle_closed);
	if (stdio->can_poll_out)
		uv_close((uv_handle_t *)&stdio->out_poll, on_handle_closed);
}

static void on_flush_timeout(uv_timer_t *timer)
{
	close_all(timer->data);
}

static void on_close_transport(struct fw_transport *transport)
{
	struct stdio *stdio = (struct stdio *)transport;

	stdio->is_closing = true;
	if (stdio->open_handles == 0) {
		fw_transport_closed(transport);
		return;
	}
	watch(stdio);
	if (stdio->is_broken || stdio->sent == stdio->unsent.len) {
		close_all(stdio);
		return;
	}
	(void)uv_timer_start(&stdio->flush, on_flush_timeout, stdio->limits->flush_ms, 0);
	write_out(stdio);
}

static void on_free(struct fw_transport *transport)
{
	struct stdio *stdio = (struct stdio *)transport;

	/* The descriptors may be shared with the parent process. */
	if (stdio->in_flags >= 0)
		(void)fcntl(stdio->in, F_SETFL, stdio->in_flags);
	if (stdio->out_flags >= 0)
		(void)fcntl(stdio->out, F_SETFL, stdio->out_flags);
	fw_buf_clear(&stdio->lines);
	fw_buf_clear(&stdio->unsent);
	fw__release(stdio);
}

static const struct fw_transport_ops transport_ops = { on_start, on_quiesce, on_close_transport,
						       on_free,  NULL,       NULL };

fw_error *fw_server_listen_fds(fw_server *server, int in, int out)
{
	struct stdio *stdio;

	if (!server || in < 0 || out < 0)
		return fw_raise_internal_api_misuse("fw_server_listen_fds", "no descriptors");
	stdio = fw__allocate(sizeof *stdio);
	if (!stdio)
		return fw_raise_internal_out_of_memory();
	memset(stdio, 0, sizeof *stdio);
	stdio->base.ops = &transport_ops;
	stdio->in = in;
	stdio->out = out;
	stdio->in_flags = -1;
	stdio->out_flags = -1;
	stdio->limits = fw_server__limits(server);
	fw_buf_init(&stdio->lines, stdio->limits->message_bytes + 2 * (size_t)READ_BYTES);
	/* The limit, and one more message. */
	fw_buf_init(&stdio->unsent, stdio->limits->stdio_unsent_bytes +
					    2 * stdio->limits->result_bytes +
					    FW_LIMIT_ENVELOPE_BYTES);
	fw_transport_attach(&stdio->base, server);
	return NULL;
}

fw_error *fw_server_listen_stdio(fw_server *server)
{
	return fw_server_listen_fds(server, STDIN_FILENO, STDOUT_FILENO);
}
