/*
 * http_reply.c - the answer to a request, as one document or as a stream.
 *
 * A document is written with its head in one call, straight from the core's
 * buffer. The events of a stream are collected first, because several often
 * come together: they leave as one chunk when the core is done.
 *
 * While the rest of a refused body is still being read, the answer is kept; it
 * is sent when the request has come to its end.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "net/http.h"

/* Event ids are ours. */
enum { EVENT_ID_BYTES = 4096, COPIED_BYTES = 8 * 1024 };

static struct fw_http_conn *conn_of(struct fw_exchange *exchange)
{
	return (struct fw_http_conn *)exchange;
}

/* Nobody will read it. The core is told later, outside of what it is doing. */
static void give_up(struct fw_http_conn *conn)
{
	conn->is_lost = true;
	fw_http__queue(conn);
}

/*
 * Unsent bytes add up: above the limit the client that has not read for the
 * longest time loses its answer. Only large ones count.
 */
static void bound_held(struct fw_http_conn *conn)
{
	struct fw_http *http = conn->http;

	while (conn->out.cap > FW_LIMIT_HTTP_KEPT_BYTES) {
		struct fw_http_conn *slowest = NULL;
		uint64_t held = 0;

		for (struct fw_http_conn *at = http->peers; at; at = at->next) {
			if (at->is_lost)
				continue;
			held += at->out.cap + at->events.cap;
			if (at != conn && at->owed_ms &&
			    at->out.cap > FW_LIMIT_HTTP_KEPT_BYTES &&
			    (!slowest || at->owed_ms < slowest->owed_ms))
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
		{ 202, "Accepted" },
		{ 204, "No Content" },
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

/* The head is built in one buffer of the transport. Without memory it ends early,
 * and the answer is given up. */
static bool put_bytes(struct fw_http *http, const char *text, size_t len)
{
	if (!fw_http__text_reserve(&http->head, len, SIZE_MAX))
		return false;
	fw_http__text_put(&http->head, text, len);
	return true;
}

#define PUT(http, literal) put_bytes(http, literal, sizeof(literal) - 1)

static bool put(struct fw_http *http, const char *text)
{
	return put_bytes(http, text, strlen(text));
}

static bool put_header(struct fw_http *http, const char *name, const char *value)
{
	return put(http, name) && PUT(http, ": ") && put(http, value) && PUT(http, "\r\n");
}

/* Each answer has one or two: this is quicker than snprintf(). */
static bool put_number(struct fw_http *http, uint64_t number)
{
	char text[24], *at = text + sizeof(text);

	do
		*--at = (char)('0' + number % 10);
	while (number /= 10);
	return put_bytes(http, at, (size_t)(text + sizeof(text) - at));
}

/* Once a second at most. */
static const char *date(struct fw_http *http)
{
	time_t now = time(NULL);
	struct tm tm;

	if (now != http->date_s && gmtime_r(&now, &tm)) {
		static const char DAYS[] = "SunMonTueWedThuFriSat";
		static const char MONTHS[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

		/* strftime() would use the names of the locale. */
		(void)snprintf(http->date, sizeof(http->date),
			       "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT",
			       DAYS + 3 * (tm.tm_wday % 7), tm.tm_mday % 100,
			       MONTHS + 3 * (tm.tm_mon % 12), (tm.tm_year + 1900) % 10000,
			       tm.tm_hour % 100, tm.tm_min % 100, tm.tm_sec % 100);
		http->date_s = now;
	}
	return http->date;
}

static bool begin_head(struct fw_http_conn *conn, int status)
{
	struct fw_http *http = conn->http;

	http->head.len = 0;
	conn->must_close = conn->must_close || http->is_quiet;
	return PUT(http, "HTTP/1.1 ") && put_number(http, (uint64_t)status) && PUT(http, " ") &&
	       put(http, phrase(status)) && put_header(http, "\r\nDate", date(http)) &&
	       (!conn->must_close || PUT(http, "Connection: close\r\n"));
}

/* What is shown is of this moment, and not to be framed or guessed at. */
static bool put_page_headers(struct fw_http *http)
{
	return PUT(http, "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
			 "Content-Security-Policy: default-src 'self'; "
			 "style-src 'self' 'unsafe-inline'; frame-ancestors 'none'\r\n"
			 "Vary: Accept\r\n");
}

static bool put_reply_headers(struct fw_http_conn *conn, const struct fw_reply *reply)
{
	struct fw_http *http = conn->http;
	const char *allow = reply->allow;

	if (!allow && reply->status == 405)
		allow = "GET, POST, DELETE";
	return (!conn->exchange.is_page || put_page_headers(http)) &&
	       (!reply->retry_after_s ||
		(PUT(http, "Retry-After: ") && put_number(http, reply->retry_after_s) &&
		 PUT(http, "\r\n"))) &&
	       (!reply->session_id || put_header(http, "Mcp-Session-Id", reply->session_id)) &&
	       (!allow || put_header(http, "Allow", allow)) &&
	       ((!reply->challenge && reply->status != 401) ||
		put_header(http, "WWW-Authenticate", http->challenge));
}

/* ---- documents ----------------------------------------------------------------------- */

static void answer_document(struct fw_http_conn *conn, const struct fw_reply *reply)
{
	struct fw_http *http = conn->http;
	size_t len = reply->json ? reply->len : 0;
	struct iovec parts[2];

	if (!begin_head(conn, reply->status) ||
	    (len && !put_header(http, "Content-Type",
				reply->type ? reply->type : "application/json")) ||
	    !put_reply_headers(conn, reply) || !PUT(http, "Content-Length: ") ||
	    !put_number(http, len) || !PUT(http, "\r\n\r\n")) {
		give_up(conn);
		return;
	}
	if (conn->is_head)
		len = 0;
	/* A copy of a small body is cheaper than a second part. */
	if (len && len <= COPIED_BYTES && fw_http__text_reserve(&http->head, len, SIZE_MAX)) {
		fw_http__text_put(&http->head, reply->json, len);
		len = 0;
	}
	parts[0] = (struct iovec){ http->head.data, http->head.len };
	parts[1] = (struct iovec){ (void *)reply->json, len };
	if (conn->state == FW_HTTP_BODY)
		fw_http__keep(conn, parts, len ? 2 : 1);
	else
		fw_http__write(conn, parts, len ? 2 : 1);
	bound_held(conn);
}

/* ---- streams ---------------------------------------------------------------- */

static bool reserve_events(struct fw_http_conn *conn, size_t more)
{
	size_t unsent = conn->out.len - conn->out_at + conn->events.len;

	if (unsent <= conn->http->limits->http_queue_bytes &&
	    fw_http__text_reserve(&conn->events, more, SIZE_MAX)) {
		bound_held(conn);
		return true;
	}
	give_up(conn);
	return false;
}

static void put_str(struct fw_http_text *text, const char *str)
{
	fw_http__text_put(text, str, strlen(str));
}

static void put_event(struct fw_http_conn *conn, const struct fw_event *event)
{
	static const char FRAME[] = "event: message\nid: \nretry: 4294967295\ndata: \n\n";
	size_t id_len = event->id ? strlen(event->id) : 0;
	struct fw_http_text *out = &conn->events;
	char retry[32];

	/* Only to open the stream: the head is all. */
	if (!event->len && !event->id && !event->retry_ms)
		return;
	if (id_len > EVENT_ID_BYTES ||
	    !reserve_events(conn, sizeof(FRAME) + id_len + event->len))
		return;
	if (event->len)
		put_str(out, "event: message\n");
	if (event->id) {
		put_str(out, "id: ");
		fw_http__text_put(out, event->id, id_len);
		put_str(out, "\n");
	}
	if (event->retry_ms) {
		snprintf(retry, sizeof(retry), "retry: %" PRIu32 "\n", event->retry_ms);
		put_str(out, retry);
	}
	put_str(out, "data: ");
	fw_http__text_put(out, event->json, event->len);
	put_str(out, "\n\n");
}

/* To be called after each change of a stream. */
static void stream_moved(struct fw_http_conn *conn)
{
	conn->is_stream = true;
	conn->spoke_ms = fw_http__now_ms(conn->http);
	fw_http__queue(conn);
}

void fw_http__keep_alive(struct fw_http_conn *conn)
{
	static const char COMMENT[] = ": keepalive\n\n";

	if (!reserve_events(conn, sizeof(COMMENT)))
		return;
	put_str(&conn->events, COMMENT);
	stream_moved(conn);
}

static bool put_stream_head(struct fw_http_conn *conn)
{
	struct fw_http *http = conn->http;
	const char *session_id;

	/* HTTP/1.0 knows no chunks: the end of the connection ends the stream. */
	conn->must_close = conn->must_close || conn->is_old;
	session_id = fw_http__exchange_ops.header(&conn->exchange, "Mcp-Session-Id", NULL);
	if (!conn->exchange.session && !conn->exchange.streaming)
		session_id = NULL;
	return begin_head(conn, 200) &&
	       put(http,
		   "Content-Type: text/event-stream\r\n"
		   "Cache-Control: no-cache, no-transform\r\nX-Accel-Buffering: no\r\n") &&
	       (!session_id || put_header(http, "Mcp-Session-Id", session_id)) &&
	       put(http, conn->is_old ? "\r\n" : "Transfer-Encoding: chunked\r\n\r\n");
}

static int add_part(struct iovec *parts, int count, const char *data, size_t len)
{
	if (len)
		parts[count++] = (struct iovec){ (void *)data, len };
	return count;
}

void fw_http__flush_stream(struct fw_http_conn *conn)
{
	struct fw_http_text *events = &conn->events;
	struct iovec parts[4];
	bool is_last = conn->is_complete && !conn->has_end;
	bool is_chunk = events->len && !conn->is_old;
	char size[24];
	int count = 0;

	if (!conn->is_stream || conn->is_lost || (conn->has_head && !events->len && !is_last))
		return;
	if (!conn->has_head) {
		if (!put_stream_head(conn)) {
			give_up(conn);
			return;
		}
		count = add_part(parts, count, conn->http->head.data, conn->http->head.len);
	}
	if (is_chunk)
		count = add_part(parts, count, size,
				 (size_t)snprintf(size, sizeof(size), "%zx\r\n", events->len));
	count = add_part(parts, count, events->data, events->len);
	if (!conn->is_old) {
		static const char END[] = "\r\n0\r\n\r\n";

		/* The end of this chunk, the last chunk, or both. */
		count = add_part(parts, count, END + (is_chunk ? 0 : 2),
				 (is_chunk ? 2u : 0u) + (is_last ? 5u : 0u));
	}
	conn->has_head = true;
	conn->has_end = conn->has_end || is_last;
	fw_http__write(conn, parts, count);
	events->len = 0;
	fw_http__text_reset(events);
	bound_held(conn);
}

/* ---- what the core calls ---------------------------------------------------- */

static void http_send(struct fw_exchange *exchange, const struct fw_event *event)
{
	struct fw_http_conn *conn = conn_of(exchange);

	assert(!conn->is_answered);
	if (conn->is_lost)
		return;
	put_event(conn, event);
	stream_moved(conn);
}

static void http_reply(struct fw_exchange *exchange, const struct fw_reply *reply)
{
	struct fw_http_conn *conn = conn_of(exchange);
	struct fw_event event = { reply->json ? reply->json : "", reply->json ? reply->len : 0,
				  reply->event_id, 0 };

	assert(!conn->is_answered);
	conn->is_answered = true;
	if (!conn->is_lost && !conn->is_stream) {
		answer_document(conn, reply);
	} else if (!conn->is_lost) {
		if (event.len)
			put_event(conn, &event);
		conn->is_complete = true;
		stream_moved(conn);
	}
	fw_http__queue(conn);
}

static void http_close(struct fw_exchange *exchange)
{
	static const struct fw_reply ACCEPTED = { .status = 202 };
	struct fw_http_conn *conn = conn_of(exchange);

	assert(!conn->is_answered);
	conn->is_answered = true;
	conn->is_complete = true;
	if (!conn->is_lost && !conn->is_stream)
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

	for (unsigned i = 0; i < conn->field_count; i++) {
		const struct fw_http_field *field = &conn->fields[i];

		if (field->name.len != len ||
		    strncasecmp(fw_http__at(conn, field->name), name, len) != 0)
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

	for (unsigned i = 0; i < conn->parameter_count; i++) {
		const struct fw_http_field *field = &conn->fields[conn->field_count + i];

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
