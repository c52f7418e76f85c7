/*
 * http_io.c - the buffers of a connection: what was read and is still needed,
 * and what the socket did not take yet.
 */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "net/http.h"
#include "net/http_tls.h"

/* ---- text ------------------------------------------------------------------------ */

bool fw_http__text_fit(struct fw_http_text *text, size_t cap)
{
	char *data = fw__reallocate(text->data, cap);

	if (!data)
		return false;
	text->data = data;
	text->cap = cap;
	return true;
}

bool fw_http__text_reserve(struct fw_http_text *text, size_t more, size_t limit)
{
	size_t cap = text->cap ? text->cap : 1024;

	if (more > limit || text->len > limit - more)
		return false;
	if (more <= text->cap - text->len)
		return true;
	while (cap - text->len < more)
		cap *= 2;
	return fw_http__text_fit(text, cap);
}

void fw_http__text_clear(struct fw_http_text *text)
{
	fw__release(text->data);
	memset(text, 0, sizeof(*text));
}

void fw_http__text_reset(struct fw_http_text *text)
{
	text->len = 0;
	if (text->cap > FW_LIMIT_HTTP_KEPT_BYTES)
		fw_http__text_clear(text);
}

void fw_http__text_put(struct fw_http_text *text, const char *bytes, size_t len)
{
	if (len)
		memcpy(text->data + text->len, bytes, len);
	text->len += len;
}

/* ---- input ----------------------------------------------------------------------- */

/* Room for `more` bytes in memory of the connection. */
bool fw_http__reserve_input(struct fw_http_conn *conn, size_t more)
{
	struct fw_http_input *in = &conn->in;
	size_t cap = in->cap ? in->cap : 2048;
	char *data;

	if (in->cap && in->cap - in->len >= more)
		return true;
	while (cap - in->len < more || cap < in->len)
		cap *= 2;
	data = fw__reallocate(in->cap ? in->data : NULL, cap);
	if (!data) {
		conn->is_lost = true;
		return false;
	}
	if (!in->cap && in->len)
		memcpy(data, in->data, in->len);
	in->data = data;
	in->cap = cap;
	return true;
}

bool fw_http__own_input(struct fw_http_conn *conn)
{
	return conn->in.cap || !conn->in.len || fw_http__reserve_input(conn, 0);
}

void fw_http__drop_input(struct fw_http_conn *conn, size_t len)
{
	struct fw_http_input *in = &conn->in;

	in->len -= len;
	in->parsed = 0;
	if (!in->cap)
		in->data += len;
	else if (in->len)
		memmove(in->data, in->data + len, in->len);
	if (in->len)
		return;
	if (in->cap)
		fw__release(in->data);
	memset(in, 0, sizeof(*in));
}

/* ---- output ---------------------------------------------------------------------- */

static void keep_output(struct fw_http_conn *conn, const struct iovec *parts, int count,
			size_t sent)
{
	size_t len = 0;

	for (int i = 0; i < count; i++)
		len += parts[i].iov_len;
	len -= sent;
	if (!len)
		return;
	/* What was sent makes room. */
	if (conn->out_at > conn->out.len / 2) {
		conn->out.len -= conn->out_at;
		memmove(conn->out.data, conn->out.data + conn->out_at, conn->out.len);
		conn->out_at = 0;
	}
	/* The core bounds one answer, http_queue_bytes and http_held_bytes the rest. */
	if (!fw_http__text_reserve(&conn->out, len, SIZE_MAX)) {
		conn->is_lost = true;
		return;
	}
	for (int i = 0; i < count; i++) {
		size_t skip = sent < parts[i].iov_len ? sent : parts[i].iov_len;

		fw_http__text_put(&conn->out, (const char *)parts[i].iov_base + skip,
				  parts[i].iov_len - skip);
		sent -= skip;
	}
}

void fw_http__keep(struct fw_http_conn *conn, const struct iovec *parts, int count)
{
	keep_output(conn, parts, count, 0);
}

/* Sends what is kept, as far as the socket takes it. */
void fw_http__flush(struct fw_http_conn *conn)
{
	struct fw_http_text *out = &conn->out;

	while (conn->out_at < out->len && !conn->is_lost) {
		const char *data = out->data + conn->out_at;
		size_t len = out->len - conn->out_at;
		ssize_t sent = conn->ssl ? fw_http_tls_write(conn->ssl, data, len)
					 : send(conn->fd, data, len, MSG_NOSIGNAL);
		int errnum = errno;

		if (sent < 0 && fw_http__is_again(errnum)) {
			if (!conn->owed_ms)
				conn->owed_ms = fw_http__now_ms(conn->http);
			return;
		}
		if (sent < 0)
			conn->is_lost = true;
		else
			conn->out_at += (size_t)sent;
	}
	conn->out_at = 0;
	conn->owed_ms = 0;
	fw_http__text_reset(out);
}

void fw_http__write(struct fw_http_conn *conn, struct iovec *parts, int count)
{
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = (size_t)count };
	ssize_t sent = 0;

	if (conn->is_lost)
		return;
	if (!conn->ssl && !conn->out.len) {
		int errnum;

		sent = count == 1
			       ? send(conn->fd, parts->iov_base, parts->iov_len, MSG_NOSIGNAL)
			       : sendmsg(conn->fd, &message, MSG_NOSIGNAL);
		errnum = errno;
		if (sent < 0 && !fw_http__is_again(errnum)) {
			conn->is_lost = true;
			return;
		}
		if (sent < 0)
			sent = 0;
	}
	keep_output(conn, parts, count, (size_t)sent);
	if (conn->ssl && !conn->is_lost)
		fw_http__flush(conn);
	else if (conn->out.len && !conn->owed_ms)
		conn->owed_ms = fw_http__now_ms(conn->http);
}
