/*
 * http_reply.c - the answer to a request, as one document or as a stream.
 *
 * The core answers from wherever it is: from within the request's callback,
 * from a timer, from another request. So nothing here calls the daemon but for
 * making a response and waking the connection; the daemon's callback comes
 * again and takes what is there (fw_http__advance).
 *
 * What a stream has to say is copied into one buffer, which the daemon empties
 * as fast as the client reads; several events that meet there leave in one
 * chunk. A client that does not read at all is cut off at a limit.
 */
#include "net/http.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/mem.h"

/* What the daemon asks for at once, and so the largest chunk; ids are ours. */
enum { BLOCK_BYTES = 16 * 1024, EVENT_ID_BYTES = 4096 };

static struct fw_http_peer *peer_of(struct fw_exchange *exchange)
{
	return (struct fw_http_peer *)exchange;
}

/* ---- text ------------------------------------------------------------------- */

bool fw_http__text_reserve(struct fw_http_text *text, size_t more, size_t limit)
{
	size_t cap = text->cap ? text->cap : 1024;
	char *data;

	if (more > limit || text->len > limit - more)
		return false;
	if (more <= text->cap - text->len)
		return true;
	while (cap - text->len < more)
		cap *= 2;
	data = fw__reallocate(text->data, cap);
	if (!data)
		return false;
	text->data = data;
	text->cap = cap;
	return true;
}

void fw_http__text_reset(struct fw_http_text *text)
{
	text->len = 0;
	if (text->cap <= FW_LIMIT_HTTP_KEPT_BYTES)
		return;
	fw__release(text->data);
	text->data = NULL;
	text->cap = 0;
}

static void put(struct fw_http_text *text, const char *bytes, size_t len)
{
	memcpy(text->data + text->len, bytes, len);
	text->len += len;
}

static void put_str(struct fw_http_text *text, const char *str)
{
	put(text, str, strlen(str));
}

/*
 * Answers that nobody takes add up: beyond the limit the client that has let
 * its answer lie for longest loses it. Only large ones are worth the count.
 */
static void bound_held(struct fw_http_peer *peer)
{
	struct fw_http *http = peer->http;

	while (peer->out.cap > FW_LIMIT_HTTP_KEPT_BYTES) {
		struct fw_http_peer *slowest = NULL;
		uint64_t held = 0;

		for (struct fw_http_peer *at = http->peers; at; at = at->next) {
			if (at->is_doomed)
				continue;
			held += at->out.cap;
			if (at != peer && at->owed_ms &&
			    at->out.cap > FW_LIMIT_HTTP_KEPT_BYTES &&
			    (!slowest || at->owed_ms < slowest->owed_ms))
				slowest = at;
		}
		if (held <= http->limits->http_held_bytes || !slowest)
			break;
		fw_http__cut(slowest);
	}
}

/* ---- responses -------------------------------------------------------------- */

static void add_header(struct fw_http_peer *peer, const char *name, const char *value)
{
	/* Fails for want of memory, or for a value that cannot be one. The
	 * answer is worth more than the header. */
	(void)MHD_add_response_header(peer->response, name, value);
}

/* The response has `len` bytes that stay where they are. */
static bool make_response(struct fw_http_peer *peer, unsigned status, const char *data,
			  size_t len)
{
	assert(!peer->response);
	/* The daemon asks for a pointer that may be written, and does not write. */
	peer->response = MHD_create_response_from_buffer(len, len ? (void *)data : NULL,
							 MHD_RESPMEM_PERSISTENT);
	if (!peer->response) {
		peer->is_lost = true;
		return false;
	}
	peer->status = status;
	if (peer->must_close || peer->http->is_quiet)
		add_header(peer, MHD_HTTP_HEADER_CONNECTION, "close");
	return true;
}

/* What is shown is of this moment, and for nobody to frame or guess at. */
static void put_page_headers(struct fw_http_peer *peer)
{
	add_header(peer, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	add_header(peer, "X-Content-Type-Options", "nosniff");
	add_header(peer, "Content-Security-Policy",
		   "default-src 'self'; style-src 'self' 'unsafe-inline'; "
		   "frame-ancestors 'none'");
	add_header(peer, "Vary", "Accept");
}

/* Small enough for any socket's buffer; what does not fit is lost. The rest of
 * the connection is for the sweep. */
static void shout(struct fw_http_peer *peer, const struct fw_reply *reply)
{
	size_t len = reply->json ? reply->len : 0;
	char head[256];
	int head_len;

	head_len = snprintf(head, sizeof(head),
			    "HTTP/1.1 %d %s\r\nConnection: close\r\n"
			    "Content-Type: %s\r\nContent-Length: %zu\r\n\r\n",
			    reply->status,
			    reply->status == MHD_HTTP_REQUEST_TIMEOUT ? "Request Timeout"
								      : "Error",
			    reply->type ? reply->type : "application/json", len);
	if (send(peer->fd, head, (size_t)head_len, MSG_NOSIGNAL | MSG_DONTWAIT | MSG_MORE) ==
	    head_len)
		(void)!send(peer->fd, reply->json, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)shutdown(peer->fd, SHUT_WR);
	peer->since_ms = uv_now(fw_server__loop(peer->http->base.server));
	fw_http__wake(peer);
}

static void answer_document(struct fw_http_peer *peer, const struct fw_reply *reply)
{
	size_t len = reply->json ? reply->len : 0;

	/* The core bounds what it says. */
	if (len && !fw_http__text_reserve(&peer->out, len, SIZE_MAX)) {
		peer->is_lost = true;
		return;
	}
	if (len)
		put(&peer->out, reply->json, len);
	bound_held(peer);
	if (!make_response(peer, (unsigned)reply->status, peer->out.data, len))
		return;
	if (len)
		add_header(peer, MHD_HTTP_HEADER_CONTENT_TYPE,
			   reply->type ? reply->type : "application/json");
	if (peer->exchange.is_page)
		put_page_headers(peer);
	if (reply->retry_after_s) {
		char seconds[16];

		(void)snprintf(seconds, sizeof(seconds), "%" PRIu32, reply->retry_after_s);
		add_header(peer, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
	}
	if (reply->session_id)
		add_header(peer, "Mcp-Session-Id", reply->session_id);
	if (reply->allow)
		add_header(peer, MHD_HTTP_HEADER_ALLOW, reply->allow);
	else if (reply->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		add_header(peer, MHD_HTTP_HEADER_ALLOW, "GET, POST, DELETE");
	if (reply->challenge || reply->status == MHD_HTTP_UNAUTHORIZED)
		add_header(peer, MHD_HTTP_HEADER_WWW_AUTHENTICATE, peer->http->challenge);
}

/* ---- streams ---------------------------------------------------------------- */

/* What has gone out makes room for what is to go. */
static bool stream_reserve(struct fw_http_peer *peer, size_t more)
{
	struct fw_http_text *out = &peer->out;

	if (peer->out_at == out->len) {
		out->len = 0;
		peer->out_at = 0;
	} else if (peer->out_at > out->len / 2) {
		memmove(out->data, out->data + peer->out_at, out->len - peer->out_at);
		out->len -= peer->out_at;
		peer->out_at = 0;
	}
	if (out->len - peer->out_at <= peer->http->limits->http_queue_bytes &&
	    fw_http__text_reserve(out, more, SIZE_MAX)) {
		bound_held(peer);
		return true;
	}
	/* From here on it is as if the client had gone; the core is told once the
	 * daemon has noticed, and not in the middle of what it is doing. */
	peer->is_lost = true;
	fw_http__cut(peer);
	return false;
}

static void put_event(struct fw_http_peer *peer, const struct fw_event *event)
{
	static const char FRAME[] = "event: message\nid: \nretry: 4294967295\ndata: \n\n";
	size_t id_len = event->id ? strlen(event->id) : 0;
	struct fw_http_text *out = &peer->out;
	char retry[32];

	/* Only to open the stream: the headers are all. */
	if (!event->len && !event->id && !event->retry_ms)
		return;
	if (id_len > EVENT_ID_BYTES ||
	    !stream_reserve(peer, sizeof(FRAME) + id_len + event->len))
		return;
	if (event->len)
		put_str(out, "event: message\n");
	if (event->id) {
		put_str(out, "id: ");
		put(out, event->id, id_len);
		put_str(out, "\n");
	}
	if (event->retry_ms) {
		snprintf(retry, sizeof(retry), "retry: %" PRIu32 "\n", event->retry_ms);
		put_str(out, retry);
	}
	put_str(out, "data: ");
	if (event->len)
		put(out, event->json, event->len);
	put_str(out, "\n\n");
}

/* To be called after each change of a stream. */
static void stream_moved(struct fw_http_peer *peer)
{
	peer->is_stream = true;
	peer->spoke_ms = uv_now(fw_server__loop(peer->http->base.server));
	if (!peer->owed_ms)
		peer->owed_ms = peer->spoke_ms;
	fw_http__wake(peer);
}

void fw_http__keep_alive(struct fw_http_peer *peer)
{
	static const char COMMENT[] = ": keepalive\n\n";

	if (!stream_reserve(peer, sizeof(COMMENT)))
		return;
	put_str(&peer->out, COMMENT);
	stream_moved(peer);
}

/* The daemon wants more of the stream. */
static ssize_t read_stream(void *cls, uint64_t position, char *buf, size_t max)
{
	struct fw_http_peer *peer = cls;
	size_t len = peer->out.len - peer->out_at;

	(void)position;
	/*
	 * Not "end with error": after that the daemon may forget to clean up until
	 * its timeout. The end of the stream is sent to nobody, and that it
	 * understands.
	 */
	if (peer->is_lost) {
		fw_http__cut(peer);
		return MHD_CONTENT_READER_END_OF_STREAM;
	}
	if (len) {
		if (len > max)
			len = max;
		memcpy(buf, peer->out.data + peer->out_at, len);
		peer->out_at += len;
		return (ssize_t)len;
	}
	peer->out_at = 0;
	peer->owed_ms = 0;
	fw_http__text_reset(&peer->out);
	if (peer->is_complete)
		return MHD_CONTENT_READER_END_OF_STREAM;
	fw_http__suspend(peer);
	return 0;
}

static void make_stream(struct fw_http_peer *peer)
{
	const char *session_id;

	peer->response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES,
							   read_stream, peer, NULL);
	if (!peer->response)
		return;
	peer->status = MHD_HTTP_OK;
	add_header(peer, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream");
	add_header(peer, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache, no-transform");
	add_header(peer, "X-Accel-Buffering", "no");
	if (peer->http->is_quiet)
		add_header(peer, MHD_HTTP_HEADER_CONNECTION, "close");
	session_id = fw_http__exchange_ops.header(&peer->exchange, "Mcp-Session-Id", NULL);
	if (session_id && (peer->exchange.session || peer->exchange.streaming))
		add_header(peer, "Mcp-Session-Id", session_id);
}

enum MHD_Result fw_http__advance(struct fw_http_peer *peer)
{
	enum MHD_Result result;

	if (peer->is_queued)
		return MHD_YES;
	if (peer->is_lost)
		return MHD_NO;
	if (!peer->response && peer->is_stream)
		make_stream(peer);
	if (!peer->response) {
		if (peer->is_answered || peer->is_stream)
			return MHD_NO;
		fw_http__suspend(peer);
		return MHD_YES;
	}
	result = MHD_queue_response(peer->connection, peer->status, peer->response);
	MHD_destroy_response(peer->response);
	peer->response = NULL;
	peer->is_queued = true;
	peer->owed_ms = uv_now(fw_server__loop(peer->http->base.server));
	return result;
}

/* ---- what the core calls ---------------------------------------------------- */

static void http_send(struct fw_exchange *exchange, const struct fw_event *event)
{
	struct fw_http_peer *peer = peer_of(exchange);

	assert(!peer->is_answered);
	if (peer->is_lost)
		return;
	put_event(peer, event);
	stream_moved(peer);
}

static void http_reply(struct fw_exchange *exchange, const struct fw_reply *reply)
{
	struct fw_http_peer *peer = peer_of(exchange);
	struct fw_event event = { reply->json ? reply->json : "", reply->json ? reply->len : 0,
				  reply->event_id, 0 };

	assert(!peer->is_answered);
	peer->is_answered = true;
	if (peer->is_lost)
		return;
	if (peer->is_shouted) {
		shout(peer, reply);
		return;
	}
	if (!peer->is_stream) {
		answer_document(peer, reply);
		fw_http__wake(peer);
		return;
	}
	if (event.len)
		put_event(peer, &event);
	peer->is_complete = true;
	stream_moved(peer);
}

static void http_close(struct fw_exchange *exchange)
{
	struct fw_http_peer *peer = peer_of(exchange);

	assert(!peer->is_answered);
	peer->is_answered = true;
	if (peer->is_lost)
		return;
	peer->is_complete = true;
	if (!peer->is_stream)
		(void)make_response(peer, MHD_HTTP_ACCEPTED, NULL, 0);
	fw_http__wake(peer);
}

static const char *http_header(struct fw_exchange *exchange, const char *name,
			       unsigned *ret_count)
{
	const struct fw_http_peer *peer = peer_of(exchange);
	size_t len = strlen(name);
	const char *found = NULL;
	unsigned count = 0;

	for (unsigned i = 0; i < peer->field_count; i++) {
		const struct fw_http_field *field = &peer->fields[i];

		if (field->name_len != len || strncasecmp(field->name, name, len) != 0)
			continue;
		if (!count++)
			found = field->value;
	}
	if (ret_count)
		*ret_count = count;
	return found;
}

static const char *http_query(struct fw_exchange *exchange, const char *name)
{
	return MHD_lookup_connection_value(peer_of(exchange)->connection, MHD_GET_ARGUMENT_KIND,
					   name);
}

const struct fw_exchange_ops fw_http__exchange_ops = {
	.send = http_send,
	.reply = http_reply,
	.close = http_close,
	.header = http_header,
	.query = http_query,
};
