/*
 * http_body.c - the body of a request: kept for the core, or dropped.
 *
 * A body that comes in one piece is used where it lies. Another one grows with
 * what comes, not with what is announced, and counts against http_unread_bytes.
 */
#include <string.h>

#include <faultwire/raise.h>

#include "net/http.h"

void fw_http__end_body(struct fw_http_conn *conn)
{
	conn->must_close = true;
	conn->must_linger = true;
	conn->request_end = conn->in.len;
	fw_http__enter(conn, FW_HTTP_ANSWERING);
}

static bool drop_body(struct fw_http_conn *conn, size_t len)
{
	conn->drained += len;
	if (conn->drained <= conn->http->limits->http_drain_bytes)
		return true;
	if (conn->is_decided)
		fw_http__end_body(conn);
	else
		fw_http__refuse(conn,
				fw_raise_input_too_large("request body",
							 conn->http->limits->http_drain_bytes));
	return false;
}

/* Grows with what comes, not with what is announced. */
static bool reserve_body(struct fw_http_conn *conn, size_t len)
{
	struct fw_http_text *body = &conn->body;
	size_t needed = body->len + len;

	if (needed <= body->cap || conn->body_length <= needed)
		return fw_http__text_reserve(body, len, SIZE_MAX);
	return fw_http__text_fit(
		body, conn->body_length < 2 * needed ? (size_t)conn->body_length : 2 * needed);
}

static bool keep_body(struct fw_http_conn *conn, const char *data, size_t len)
{
	size_t before = conn->body.cap;
	bool is_reserved = reserve_body(conn, len);

	conn->http->body_bytes += conn->body.cap - before;
	if (!is_reserved || (conn->body.cap != before && !fw_http__bound_bodies(conn)))
		return false;
	fw_http__text_put(&conn->body, data, len);
	return true;
}

void fw_http__release_body(struct fw_http_conn *conn)
{
	conn->http->body_bytes -= conn->body.cap;
	fw_http__text_clear(&conn->body);
}

bool fw_http__expect_chunk(struct fw_http_conn *conn, uint64_t size)
{
	const struct fw_limits *limits = conn->http->limits;
	bool is_dropped = conn->is_decided || conn->method != FW_HTTP_POST;
	size_t before = is_dropped ? conn->drained : conn->body.len;
	uint64_t drain =
		limits->http_drain_bytes > before ? limits->http_drain_bytes - before : 0;

	/* One that is only a little too long is dropped, and the connection kept. */
	if (size <= drain || (!is_dropped && size <= limits->message_bytes - before))
		return true;
	if (conn->is_decided)
		fw_http__end_body(conn);
	else
		fw_http__refuse(
			conn, fw_raise_input_too_large("request body", limits->message_bytes));
	return false;
}

bool fw_http__take_body(struct fw_http_conn *conn, const char *data, size_t len)
{
	uint64_t limit = conn->http->limits->message_bytes;

	if (conn->is_decided || conn->method != FW_HTTP_POST)
		return drop_body(conn, len);
	if (len > limit - conn->body.len) {
		conn->drained = conn->body.len;
		conn->is_decided = true;
		conn->is_begun = true;
		fw_http__release_body(conn);
		fw_exchange_refuse(&conn->exchange,
				   fw_raise_input_too_large("request body", limit));
		return drop_body(conn, len);
	}
	/* All of it at once: it is used where it lies. */
	if (!conn->body.len && conn->body_length == len) {
		conn->body_at = data;
		conn->body_len = len;
		return true;
	}
	if (keep_body(conn, data, len))
		return true;
	if (conn->state == FW_HTTP_BODY)
		fw_http__refuse(conn, fw_raise_internal_out_of_memory());
	return false;
}
