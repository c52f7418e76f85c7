/*
 * http_body.c - see http_body.h.
 *
 * A body that comes in one piece is used in place. Any other body is copied into a buffer
 * that grows as bytes arrive, regardless of the announced length; this memory counts
 * against http_unread_bytes.
 */
#include "net/http_body.h"

#include <faultwire/raise.h>

#include "net/http_conn.h"

void fw_http__end_body(struct fw_http_conn *conn)
{
	fw_http__must_close(conn);
	conn->in.request_end = conn->in.len;
	fw_http__enter(conn, FW_HTTP_ANSWERING);
}

static bool drop_body(struct fw_http_conn *conn, size_t len)
{
	conn->body.dropped += len;
	if (conn->body.dropped <= conn->http->limits->http_drain_bytes)
		return true;
	if (conn->answer.is_decided)
		fw_http__end_body(conn);
	else
		fw_http__refuse(conn,
				fw_raise_input_too_large("request body",
							 conn->http->limits->http_drain_bytes));
	return false;
}

static bool keep_body(struct fw_http_conn *conn, const char *data, size_t len)
{
	struct fw_http_body *body = &conn->body;
	size_t before = body->buf.cap;

	if (!before)
		fw_buf_init(&body->buf, body->announced ? body->announced : body->limit);
	if (!fw_buf_reserve(&body->buf, len))
		return false;
	conn->http->body_bytes += body->buf.cap - before;
	if (body->buf.cap != before && !fw_http__bound_bodies(conn))
		return false;
	fw_buf_put(&body->buf, data, len);
	return true;
}

void fw_http__release_body(struct fw_http_conn *conn)
{
	conn->http->body_bytes -= conn->body.buf.cap;
	fw_buf_clear(&conn->body.buf);
}

bool fw_http__expect_chunk(struct fw_http_conn *conn, uint64_t size)
{
	const struct fw_limits *limits = conn->http->limits;
	bool is_dropped = conn->answer.is_decided || !conn->body.limit;
	size_t before = is_dropped ? conn->body.dropped : conn->body.buf.len;
	uint64_t drain =
		limits->http_drain_bytes > before ? limits->http_drain_bytes - before : 0;

	/* A body that is only a little too long is dropped, and the connection kept. */
	if (size <= drain || (!is_dropped && size <= conn->body.limit - before))
		return true;
	if (conn->answer.is_decided)
		fw_http__end_body(conn);
	else
		fw_http__refuse(conn, fw_raise_input_too_large(
					      "request body", conn->body.limit
								      ? conn->body.limit
								      : limits->message_bytes));
	return false;
}

bool fw_http__take_body(struct fw_http_conn *conn, const char *data, size_t len)
{
	uint64_t limit = conn->body.limit;

	if (conn->answer.is_decided || !limit)
		return drop_body(conn, len);
	if (len > limit - conn->body.buf.len) {
		conn->body.dropped = conn->body.buf.len;
		conn->answer.is_decided = true;
		conn->answer.exchange = FW_HTTP_IN_CORE;
		fw_http__release_body(conn);
		fw_exchange_refuse(&conn->exchange,
				   fw_raise_input_too_large("request body", limit));
		return drop_body(conn, len);
	}
	/* The whole body in one piece: use it in place. */
	if (!conn->body.buf.len && conn->body.announced == len) {
		conn->body.data = data;
		conn->body.len = len;
		return true;
	}
	if (keep_body(conn, data, len))
		return true;
	if (conn->state == FW_HTTP_BODY)
		fw_http__refuse(conn, fw_raise_internal_out_of_memory());
	return false;
}
