/*
 * http_io.c - see http_io.h.
 */
#include "net/http_io.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "net/http_conn.h"
#include "net/http_tls.h"

/* ---- input ----------------------------------------------------------------------- */

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
		conn->answer.is_lost = true;
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

void fw_http__init_output(struct fw_http_output *out)
{
	fw_buf_init(&out->events, FW_LIMIT_HTTP_OUTPUT_BYTES);
	fw_buf_init(&out->buf, FW_LIMIT_HTTP_OUTPUT_BYTES);
}

static void keep_output(struct fw_http_conn *conn, const struct iovec *parts, int count,
			size_t sent)
{
	struct fw_http_output *out = &conn->out;
	size_t len = 0;

	for (int i = 0; i < count; i++)
		len += parts[i].iov_len;
	len -= sent;
	if (!len)
		return;
	/* Remove the bytes that were sent once they are most of the buffer. */
	if (out->sent > out->buf.len / 2) {
		out->buf.len -= out->sent;
		memmove(out->buf.text, out->buf.text + out->sent, out->buf.len);
		out->sent = 0;
	}
	/* The core limits one answer; http_queue_bytes and http_held_bytes limit the
	 * sum. */
	if (!fw_buf_reserve(&out->buf, len)) {
		conn->answer.is_lost = true;
		return;
	}
	for (int i = 0; i < count; i++) {
		size_t skip = sent < parts[i].iov_len ? sent : parts[i].iov_len;

		fw_buf_put(&out->buf, (const char *)parts[i].iov_base + skip,
			   parts[i].iov_len - skip);
		sent -= skip;
	}
}

void fw_http__keep(struct fw_http_conn *conn, const struct iovec *parts, int count)
{
	keep_output(conn, parts, count, 0);
}

void fw_http__flush(struct fw_http_conn *conn)
{
	struct fw_http_output *out = &conn->out;

	while (out->sent < out->buf.len && !conn->answer.is_lost) {
		const char *data = out->buf.text + out->sent;
		size_t len = out->buf.len - out->sent;
		ssize_t sent = conn->socket.ssl
				       ? fw_http_tls_write(conn->socket.ssl, data, len)
				       : send(conn->socket.fd, data, len, MSG_NOSIGNAL);
		int errnum = errno;

		if (sent < 0 && fw_http__is_again(errnum)) {
			if (!conn->times.stalled_ms)
				conn->times.stalled_ms = fw_http__now_ms(conn->http);
			return;
		}
		if (sent < 0)
			conn->answer.is_lost = true;
		else
			out->sent += (size_t)sent;
	}
	out->sent = 0;
	conn->times.stalled_ms = 0;
	fw_buf_reset(&out->buf, FW_LIMIT_HTTP_KEPT_BYTES);
}

void fw_http__write(struct fw_http_conn *conn, struct iovec *parts, int count)
{
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = (size_t)count };
	ssize_t sent = 0;

	if (conn->answer.is_lost)
		return;
	if (!conn->socket.ssl && !conn->out.buf.len) {
		int errnum;

		sent = count == 1 ? send(conn->socket.fd, parts->iov_base, parts->iov_len,
					 MSG_NOSIGNAL)
				  : sendmsg(conn->socket.fd, &message, MSG_NOSIGNAL);
		errnum = errno;
		if (sent < 0 && !fw_http__is_again(errnum)) {
			conn->answer.is_lost = true;
			return;
		}
		if (sent < 0)
			sent = 0;
	}
	keep_output(conn, parts, count, (size_t)sent);
	if (conn->socket.ssl && !conn->answer.is_lost)
		fw_http__flush(conn);
	else if (conn->out.buf.len && !conn->times.stalled_ms)
		conn->times.stalled_ms = fw_http__now_ms(conn->http);
}
