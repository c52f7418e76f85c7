/*
 * http_reply.c - the answer to a request, as one document or as a stream.
 *
 * A document is written with its head in one call, straight from the core's
 * buffer. The events of a stream are collected first, because several often
 * come together, and are written as one chunk when the core returns.
 *
 * While the rest of a refused body is still being read, the answer is kept. It
 * is sent when the whole request is read.
 */
#include "net/http_reply.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "net/http_auth.h"
#include "net/http_conn.h"
#include "rpc/sse.h"

/* The server creates the event ids. */
enum { EVENT_ID_BYTES = 4096, COPIED_BYTES = 8 * 1024 };

#define CLOSE "Connection: close\r\n"

static struct fw_http_conn *conn_of(struct fw_exchange *exchange)
{
	return (struct fw_http_conn *)exchange;
}

/* The peer is gone. The core is notified later, outside its own calls. */
static void give_up(struct fw_http_conn *conn)
{
	conn->answer.is_lost = true;
	fw_http__queue(conn);
}

/*
 * Limits the unsent bytes of all connections: above http_held_bytes, the client that
 * has not read for the longest time loses its answer. Small buffers do not count.
 */
static void bound_held(struct fw_http_conn *conn)
{
	struct fw_http *http = conn->http;

	while (conn->out.buf.cap > FW_LIMIT_HTTP_KEPT_BYTES) {
		struct fw_http_conn *slowest = NULL;
		uint64_t held = 0;

		for (struct fw_http_conn *at = http->peers; at; at = at->next) {
			if (at->answer.is_lost)
				continue;
			held += at->out.buf.cap + at->out.events.cap;
			if (at != conn && at->times.stalled_ms &&
			    at->out.buf.cap > FW_LIMIT_HTTP_KEPT_BYTES &&
			    (!slowest || at->times.stalled_ms < slowest->times.stalled_ms))
				slowest = at;
		}
		if (held <= http->limits->http_held_bytes || !slowest)
			break;
		give_up(slowest);
	}
}

/* ---- the head ---------------------------------------------------------------------- */

static const char *phrase(int status)
{
	static const struct {
		int status;
		const char *phrase;
	} PHRASES[] = {
		{ 200, "OK" },
		{ 201, "Created" },
		{ 202, "Accepted" },
		{ 204, "No Content" },
		{ 304, "Not Modified" },
		{ 400, "Bad Request" },
		{ 401, "Unauthorized" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 406, "Not Acceptable" },
		{ 408, "Request Timeout" },
		{ 409, "Conflict" },
		{ 410, "Gone" },
		{ 412, "Precondition Failed" },
		{ 413, "Content Too Large" },
		{ 414, "URI Too Long" },
		{ 415, "Unsupported Media Type" },
		{ 422, "Unprocessable Content" },
		{ 423, "Locked" },
		{ 426, "Upgrade Required" },
		{ 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" },
		{ 500, "Internal Server Error" },
		{ 501, "Not Implemented" },
		{ 502, "Bad Gateway" },
		{ 503, "Service Unavailable" },
		{ 504, "Gateway Timeout" },
		{ 505, "HTTP Version Not Supported" },
		{ 507, "Insufficient Storage" },
	};

	for (size_t i = 0; i < sizeof(PHRASES) / sizeof(*PHRASES); i++)
		if (PHRASES[i].status == status)
			return PHRASES[i].phrase;
	return status < 400 ? "OK" : "Error";
}

/* Each answer has one or two numbers: this is quicker than snprintf(). */
static void put_number(struct fw_buf *head, uint64_t number)
{
	char text[24], *at = text + sizeof(text);

	do
		*--at = (char)('0' + number % 10);
	while (number /= 10);
	fw_buf_put(head, at, (size_t)(text + sizeof(text) - at));
}

static void put_header(struct fw_buf *head, const char *name, const char *value)
{
	fw_buf_str(head, name);
	FW_BUF(head, ": ");
	fw_buf_str(head, value);
	FW_BUF(head, "\r\n");
}

/* Formats the date at most once per second. */
static void put_date(struct fw_http *http, struct fw_buf *head)
{
	time_t now = time(NULL);
	struct tm tm;

	if (now != http->date.time && gmtime_r(&now, &tm)) {
		static const char DAYS[] = "SunMonTueWedThuFriSat";
		static const char MONTHS[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

		/* strftime() would use the names of the locale. */
		http->date.len = (size_t)snprintf(
			http->date.line, sizeof(http->date.line),
			"\r\nDate: %.3s, %02d %.3s %04d %02d:%02d:%02d GMT\r\n",
			DAYS + 3 * (tm.tm_wday % 7), tm.tm_mday % 100,
			MONTHS + 3 * (tm.tm_mon % 12), (tm.tm_year + 1900) % 10000,
			tm.tm_hour % 100, tm.tm_min % 100, tm.tm_sec % 100);
		http->date.time = now;
	}
	fw_buf_put(head, http->date.line, http->date.len);
}

/* Begins the head in the buffer of the transport. The caller checks its state. */
static struct fw_buf *begin_head(struct fw_http_conn *conn, int status)
{
	struct fw_http *http = conn->http;
	struct fw_buf *head = &http->head;

	fw_buf_reset(head, FW_LIMIT_HTTP_KEPT_BYTES);
	conn->answer.must_close = conn->answer.must_close || http->is_quiesced;
	if (status == 200) {
		FW_BUF(head, "HTTP/1.1 200 OK");
	} else {
		FW_BUF(head, "HTTP/1.1 ");
		put_number(head, (uint64_t)status);
		FW_BUF(head, " ");
		fw_buf_str(head, phrase(status));
	}
	put_date(http, head);
	if (conn->answer.must_close)
		FW_BUF(head, CLOSE);
	else
		conn->answer.close_at = head->len;
	return head;
}

/* Pages must not be framed or sniffed, and run nothing that is not a file of this
 * server. Most show the current state, so caches do not store them. */
static void put_page_headers(struct fw_buf *head, const char *headers, bool has_cache_control)
{
	if (!has_cache_control)
		FW_BUF(head, "Cache-Control: no-store\r\n");
	FW_BUF(head, "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
		     "Content-Security-Policy: default-src 'none'; script-src 'self'; "
		     "style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
		     "base-uri 'none'; form-action 'self'; frame-ancestors 'none'\r\n"
		     "Vary: Accept\r\n");
	if (headers)
		fw_buf_str(head, headers);
}

static void put_reply_headers(struct fw_http_conn *conn, const struct fw_reply *reply)
{
	struct fw_buf *head = &conn->http->head;
	const char *allow = reply->allow;

	if (!allow && reply->status == 405)
		allow = "GET, POST, DELETE";
	if (conn->exchange.is_page)
		put_page_headers(head, reply->headers, reply->has_cache_control);
	if (reply->retry_after_s) {
		FW_BUF(head, "Retry-After: ");
		put_number(head, reply->retry_after_s);
		FW_BUF(head, "\r\n");
	}
	if (reply->session_id)
		put_header(head, "Mcp-Session-Id", reply->session_id);
	if (allow)
		put_header(head, "Allow", allow);
	fw_http__put_challenge(conn, reply, head);
}

/* ---- documents ----------------------------------------------------------------------- */

static struct fw_buf *put_document_head(struct fw_http_conn *conn, const struct fw_reply *reply,
					size_t len)
{
	struct fw_buf *head = begin_head(conn, reply->status);

	if (len && reply->type)
		put_header(head, "Content-Type", reply->type);
	else if (len)
		FW_BUF(head, "Content-Type: application/json\r\n");
	put_reply_headers(conn, reply);
	/* These two never have a body (RFC 9110, section 8.6). */
	if (reply->status != 204 && reply->status != 304) {
		FW_BUF(head, "Content-Length: ");
		put_number(head, len);
		FW_BUF(head, "\r\n");
	}
	FW_BUF(head, "\r\n");
	return head;
}

/* Keeps the answer until the rest of the body is read. */
static void keep_document(struct fw_http_conn *conn, const struct iovec *parts, int count)
{
	size_t len = 0;

	for (int i = 0; i < count; i++)
		len += parts[i].iov_len;
	fw_http__keep(conn, parts, count);
	if (conn->answer.close_at && !conn->answer.is_lost)
		conn->answer.close_at += conn->out.buf.len - len;
}

static void answer_document(struct fw_http_conn *conn, const struct fw_reply *reply)
{
	bool is_bare = reply->status == 204 || reply->status == 304;
	size_t len = reply->json && !is_bare ? reply->len : 0;
	struct fw_buf *head = put_document_head(conn, reply, len);
	struct iovec parts[2];

	if (conn->answer.has_no_body)
		len = 0;
	/* A copy of a small body is cheaper than a second part. */
	if (len && len <= COPIED_BYTES) {
		fw_buf_put(head, reply->json, len);
		len = 0;
	}
	if (head->state != FW_BUF_OK) {
		give_up(conn);
		return;
	}
	parts[0] = (struct iovec){ head->text, head->len };
	parts[1] = (struct iovec){ (void *)reply->json, len };
	if (conn->state == FW_HTTP_BODY)
		keep_document(conn, parts, len ? 2 : 1);
	else
		fw_http__write(conn, parts, len ? 2 : 1);
	bound_held(conn);
}

void fw_http__must_close(struct fw_http_conn *conn)
{
	struct fw_buf *out = &conn->out.buf;
	size_t at = conn->answer.close_at;
	size_t len = sizeof(CLOSE) - 1;

	if (conn->state == FW_HTTP_BODY && at && !conn->answer.must_close &&
	    !conn->answer.is_lost) {
		/* Without memory the answer does not say it, and the connection closes
		 * all the same. */
		if (fw_buf_reserve(out, len)) {
			memmove(out->text + at + len, out->text + at, out->len - at);
			memcpy(out->text + at, CLOSE, len);
			out->len += len;
		}
		out->state = FW_BUF_OK;
	}
	conn->answer.must_close = true;
}

/* ---- streams ---------------------------------------------------------------- */

static bool reserve_events(struct fw_http_conn *conn, size_t more)
{
	size_t unsent = conn->out.buf.len - conn->out.sent + conn->out.events.len;

	if (unsent <= conn->http->limits->http_queue_bytes &&
	    fw_buf_reserve(&conn->out.events, more)) {
		bound_held(conn);
		return true;
	}
	give_up(conn);
	return false;
}

static void put_event(struct fw_http_conn *conn, const struct fw_event *event)
{
	static const char FRAME[] = "event: message\nid: \nretry: 4294967295\ndata: \n\n";
	size_t id_len = event->id ? strlen(event->id) : 0;
	size_t name_len = event->name ? strlen(event->name) : 0;

	/* An empty event only opens the stream: the head is enough. */
	if (!event->len && !event->id && !event->retry_ms && !event->name)
		return;
	if (id_len > EVENT_ID_BYTES || name_len > EVENT_ID_BYTES ||
	    !reserve_events(conn, sizeof(FRAME) + id_len + name_len + event->len))
		return;
	fw_sse_put(&conn->out.events, &(struct fw_sse_event){ .data = event->json,
							      .len = event->len,
							      .id = event->id,
							      .retry_ms = event->retry_ms,
							      .name = event->name });
}

/* To be called after each change of a stream. */
static void stream_moved(struct fw_http_conn *conn)
{
	conn->answer.is_stream = true;
	conn->times.event_ms = fw_http__now_ms(conn->http);
	fw_http__queue(conn);
}

void fw_http__keep_alive(struct fw_http_conn *conn)
{
	static const char COMMENT[] = ": keepalive\n\n";

	if (!reserve_events(conn, sizeof(COMMENT)))
		return;
	fw_buf_put(&conn->out.events, COMMENT, sizeof(COMMENT) - 1);
	stream_moved(conn);
}

static bool put_stream_head(struct fw_http_conn *conn)
{
	struct fw_buf *head;
	const char *session_id;

	/* HTTP/1.0 has no chunks: the stream ends when the connection closes. */
	conn->answer.must_close = conn->answer.must_close || conn->head.is_http10;
	session_id = fw_http__exchange_ops.header(&conn->exchange, "Mcp-Session-Id", NULL);
	if (!conn->exchange.session && !conn->exchange.streaming)
		session_id = NULL;
	head = begin_head(conn, 200);
	FW_BUF(head, "Content-Type: text/event-stream\r\n"
		     "Cache-Control: no-cache, no-transform\r\nX-Accel-Buffering: no\r\n");
	if (conn->exchange.is_page)
		put_page_headers(head, fw_exchange_page_headers(&conn->exchange), true);
	if (session_id)
		put_header(head, "Mcp-Session-Id", session_id);
	if (!conn->head.is_http10)
		FW_BUF(head, "Transfer-Encoding: chunked\r\n");
	FW_BUF(head, "\r\n");
	return head->state == FW_BUF_OK;
}

static int add_part(struct iovec *parts, int count, const char *data, size_t len)
{
	if (len)
		parts[count++] = (struct iovec){ (void *)data, len };
	return count;
}

void fw_http__flush_stream(struct fw_http_conn *conn)
{
	struct fw_buf *events = &conn->out.events;
	struct iovec parts[4];
	bool is_last = conn->answer.is_complete && !conn->answer.has_end;
	bool is_chunk = events->len && !conn->head.is_http10;
	char size[24];
	int count = 0;

	if (!conn->answer.is_stream || conn->answer.is_lost ||
	    (conn->answer.has_head && !events->len && !is_last))
		return;
	if (!conn->answer.has_head) {
		if (!put_stream_head(conn)) {
			give_up(conn);
			return;
		}
		count = add_part(parts, count, conn->http->head.text, conn->http->head.len);
	}
	if (is_chunk)
		count = add_part(parts, count, size,
				 (size_t)snprintf(size, sizeof(size), "%zx\r\n", events->len));
	count = add_part(parts, count, events->text, events->len);
	if (!conn->head.is_http10) {
		static const char END[] = "\r\n0\r\n\r\n";

		/* The end of this chunk, the last chunk, or both. */
		count = add_part(parts, count, END + (is_chunk ? 0 : 2),
				 (is_chunk ? 2u : 0u) + (is_last ? 5u : 0u));
	}
	conn->answer.has_head = true;
	conn->answer.has_end = conn->answer.has_end || is_last;
	fw_http__write(conn, parts, count);
	fw_buf_reset(events, FW_LIMIT_HTTP_KEPT_BYTES);
	bound_held(conn);
}

/* ---- calls of the core ---------------------------------------------------- */

static void http_send(struct fw_exchange *exchange, const struct fw_event *event)
{
	struct fw_http_conn *conn = conn_of(exchange);

	assert(conn->answer.exchange != FW_HTTP_ANSWERED);
	if (conn->answer.is_lost)
		return;
	put_event(conn, event);
	stream_moved(conn);
}

static void http_reply(struct fw_exchange *exchange, const struct fw_reply *reply)
{
	struct fw_http_conn *conn = conn_of(exchange);
	struct fw_event event = { .json = reply->json ? reply->json : "",
				  .len = reply->json ? reply->len : 0,
				  .id = reply->event_id,
				  .name = reply->event_name };

	assert(conn->answer.exchange != FW_HTTP_ANSWERED);
	conn->answer.exchange = FW_HTTP_ANSWERED;
	if (!conn->answer.is_lost && !conn->answer.is_stream) {
		answer_document(conn, reply);
	} else if (!conn->answer.is_lost) {
		if (event.len)
			put_event(conn, &event);
		conn->answer.is_complete = true;
		stream_moved(conn);
	}
	fw_http__queue(conn);
}

static void http_close(struct fw_exchange *exchange)
{
	static const struct fw_reply ACCEPTED = { .status = 202 };
	struct fw_http_conn *conn = conn_of(exchange);

	assert(conn->answer.exchange != FW_HTTP_ANSWERED);
	conn->answer.exchange = FW_HTTP_ANSWERED;
	conn->answer.is_complete = true;
	if (!conn->answer.is_lost && !conn->answer.is_stream)
		answer_document(conn, &ACCEPTED);
	fw_http__queue(conn);
}

static const char *http_header(struct fw_exchange *exchange, const char *name,
			       unsigned *ret_count)
{
	const struct fw_http_conn *conn = conn_of(exchange);
	size_t len = strlen(name);
	const char *found = NULL;
	unsigned count = 0;

	for (unsigned i = 0; i < conn->head.field_count; i++) {
		const struct fw_http_field *field = &conn->head.fields[i];

		const char *given = fw_http__at(conn, field->name);

		if (field->name.len != len || (*given | 0x20) != (*name | 0x20) ||
		    strncasecmp(given, name, len) != 0)
			continue;
		if (!count++)
			found = fw_http__at(conn, field->value);
	}
	if (ret_count)
		*ret_count = count;
	return found;
}

static const char *http_query(struct fw_exchange *exchange, const char *name)
{
	const struct fw_http_conn *conn = conn_of(exchange);

	for (unsigned i = 0; i < conn->head.parameter_count; i++) {
		const struct fw_http_field *field =
			&conn->head.fields[conn->head.field_count + i];

		if (strcmp(fw_http__at(conn, field->name), name) == 0)
			return fw_http__at(conn, field->value);
	}
	return NULL;
}

const struct fw_exchange_ops fw_http__exchange_ops = {
	.send = http_send,
	.reply = http_reply,
	.close = http_close,
	.header = http_header,
	.query = http_query,
};
