/*
 * http_conn.c - see http_conn.h.
 *
 * A typical request costs three system calls: the loop's epoll_wait, one recv into
 * a buffer that all connections share, one sendmsg of head and body. A request that
 * came in one piece is parsed, run and answered in that buffer; only what has to
 * outlive the event is copied into memory of the connection. The socket is polled
 * for input all the time, and for other events only while they are needed.
 */
#include "net/http_conn.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "mcp/principal.h"
#include "net/http_tls.h"

enum { BODY_READS = 8 };

/* ---- the end of a connection ------------------------------------------------------- */

static void handle_closed(uv_handle_t *handle)
{
	struct fw_http_conn *conn = handle->data;
	struct fw_http *http = conn->http;

	fw_principal_unref(conn->exchange.principal);
	fw__release(conn);
	fw_http__handle_closed(http);
}

static void unlink_conn(struct fw_http_conn *conn)
{
	struct fw_http *http = conn->http;
	struct fw_http_conn **ready = &http->ready_list;

	while (*ready && *ready != conn)
		ready = &(*ready)->next_ready;
	if (conn->is_ready && *ready)
		*ready = conn->next_ready;
	if (conn->next)
		conn->next->previous = conn->previous;
	if (conn->previous)
		conn->previous->next = conn->next;
	else
		http->peers = conn->next;
	http->peer_count--;
}

static void free_buffers(struct fw_http_conn *conn)
{
	fw_http__release_body(conn);
	fw_buf_clear(&conn->out.events);
	fw_buf_clear(&conn->out.buf);
	if (conn->in.cap)
		fw__release(conn->in.data);
	memset(&conn->in, 0, sizeof(conn->in));
	if (conn->socket.ssl)
		fw_http_tls_drop(conn->socket.ssl);
	conn->socket.ssl = NULL;
}

static void close_conn(struct fw_http_conn *conn)
{
	static const struct linger none = { .l_onoff = 1, .l_linger = 0 };
	struct fw_http *http = conn->http;

	if (conn->is_closed)
		return;
	fw_http__leave_slot(conn);
	fw_http__leave_address(conn);
	fw_http__enter(conn, FW_HTTP_CLOSING);
	conn->is_closed = true;
	unlink_conn(conn);
	/* Make the kernel discard unsent bytes of a peer that does not read. */
	if (conn->times.stalled_ms)
		(void)setsockopt(conn->socket.fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	uv_close((uv_handle_t *)&conn->socket.poll, handle_closed);
	(void)close(conn->socket.fd);
	free_buffers(conn);
	fw_http__watch_listener(http, true);
	fw_http__stop_if_done(http);
}

void fw_http__abort(struct fw_http_conn *conn)
{
	if (conn->is_closed)
		return;
	if (conn->answer.exchange == FW_HTTP_IN_CORE) {
		conn->answer.exchange = FW_HTTP_ANSWERED;
		conn->answer.is_lost = true;
		fw_exchange_gone(&conn->exchange);
	}
	close_conn(conn);
}

/*
 * The last answer is written. If more bytes come, closing the socket would reset the
 * connection, and the peer might not see the answer. So only our side is closed,
 * and input is dropped until the peer closes or the linger time is over.
 */
static void begin_closing(struct fw_http_conn *conn)
{
	fw_http__leave_slot(conn);
	if (conn->socket.ssl)
		fw_http_tls_end(conn->socket.ssl);
	if (conn->socket.has_fin) {
		close_conn(conn);
		return;
	}
	(void)shutdown(conn->socket.fd, SHUT_WR);
	fw_http__drop_input(conn, conn->in.len);
	conn->body.dropped = 0;
	fw_http__enter(conn, FW_HTTP_CLOSING);
	conn->times.dropped_ms = conn->times.since_ms;
	fw_http__stop_if_done(conn->http);
}

/* ---- states ------------------------------------------------------------------------ */

void fw_http__enter(struct fw_http_conn *conn, enum fw_http_state state)
{
	struct fw_http *http = conn->http;

	if (conn->state == FW_HTTP_ANSWERING)
		http->answering--;
	if (state == FW_HTTP_ANSWERING)
		http->answering++;
	conn->state = state;
	conn->times.since_ms = fw_http__now_ms(http);
}

/* Skips empty lines before a request. False: there is nothing else yet. */
static bool begin_request(struct fw_http_conn *conn)
{
	const struct fw_http_input *in = &conn->in;

	while (in->len >= 2 && in->data[0] == '\r' && in->data[1] == '\n')
		fw_http__drop_input(conn, 2);
	if (!in->len || (in->len == 1 && in->data[0] == '\r'))
		return false;
	fw_http__reset_request(conn);
	fw_http__enter(conn, FW_HTTP_HEAD);
	if (in->data[0] != '\r' && in->data[0] != '\n')
		return true;
	fw_http__refuse(conn, fw_http__malformed(400, "a line does not end in CR LF"));
	return true;
}

static void end_request(struct fw_http_conn *conn)
{
	fw_http__enter(conn, FW_HTTP_ANSWERING);
	if (!conn->answer.is_decided)
		fw_http__dispatch(conn);
}

/* The body, as far as it is in the input. False: more is needed. */
static bool read_body(struct fw_http_conn *conn)
{
	struct fw_http_input *in = &conn->in;
	size_t used;

	switch (fw_http__parse_body(conn, in->data + in->parsed, in->len - in->parsed, &used)) {
	case FW_HTTP_PARSED_MORE:
		/* Keep the head: its header values are still needed. */
		in->len = in->parsed;
		return false;
	case FW_HTTP_PARSED_DONE:
		conn->in.request_end = in->parsed += used;
		end_request(conn);
		break;
	case FW_HTTP_PARSED_REFUSED: conn->in.request_end = in->len; break;
	}
	return true;
}

/* False: the answer is not complete, or not written yet. */
static bool end_answer(struct fw_http_conn *conn)
{
	fw_http__flush_stream(conn);
	if (conn->out.buf.len && !conn->answer.is_lost)
		fw_http__flush(conn);
	if (conn->answer.is_lost) {
		fw_http__abort(conn);
		return false;
	}
	if (conn->answer.exchange != FW_HTTP_ANSWERED || conn->out.buf.len ||
	    (conn->answer.is_stream && !conn->answer.has_end))
		return false;
	if (conn->answer.must_close) {
		begin_closing(conn);
		return false;
	}
	fw_http__drop_input(conn, conn->in.request_end);
	fw_buf_reset(&conn->out.events, FW_LIMIT_HTTP_KEPT_BYTES);
	fw_http__enter(conn, FW_HTTP_IDLE);
	return true;
}

/* One step. False: nothing more can be done now. */
static bool step(struct fw_http_conn *conn)
{
	switch (conn->state) {
	case FW_HTTP_IDLE: return conn->in.len && begin_request(conn);
	case FW_HTTP_HEAD:
		if (conn->in.parsed == conn->in.len)
			return false;
		if (fw_http__parse_head(conn) == FW_HTTP_PARSED_DONE)
			fw_http__take_head(conn);
		return conn->state != FW_HTTP_HEAD;
	case FW_HTTP_BODY: return read_body(conn);
	case FW_HTTP_ANSWERING: return end_answer(conn);
	case FW_HTTP_CLOSING: break;
	}
	return false;
}

static bool may_read(const struct fw_http_conn *conn)
{
	if (conn->state != FW_HTTP_ANSWERING)
		return true;
	return !conn->answer.must_close &&
	       conn->in.len - conn->in.request_end < FW_LIMIT_HTTP_READ_AHEAD_BYTES;
}

static int wanted_events(const struct fw_http_conn *conn)
{
	int events = 0;

	if (conn->out.buf.len && conn->state == FW_HTTP_ANSWERING)
		events |= UV_WRITABLE;
	if (conn->socket.ssl && fw_http_tls_wants_write(conn->socket.ssl))
		events |= UV_WRITABLE;
	if (!conn->socket.has_fin && may_read(conn))
		events |= UV_READABLE;
	else if (!conn->socket.has_hung_up)
		events |= UV_DISCONNECT;
	/* Errors are always reported, but uv_poll needs at least one event. */
	return events ? events : UV_PRIORITIZED;
}

static void poll_ready(uv_poll_t *handle, int status, int events);

static void arm(struct fw_http_conn *conn)
{
	int events = wanted_events(conn);

	if (events == conn->socket.armed)
		return;
	conn->socket.armed = events;
	uv_poll_start(&conn->socket.poll, events, poll_ready);
}

/* The peer sends nothing more. */
static void end_input(struct fw_http_conn *conn)
{
	switch (conn->state) {
	case FW_HTTP_IDLE:
	case FW_HTTP_HEAD: fw_http__abort(conn); break;
	case FW_HTTP_BODY:
		if (!conn->answer.is_decided) {
			fw_http__abort(conn);
			break;
		}
		fw_http__end_body(conn);
		fw_http__advance(conn);
		break;
	case FW_HTTP_ANSWERING: break;
	case FW_HTTP_CLOSING: close_conn(conn); break;
	}
}

void fw_http__advance(struct fw_http_conn *conn)
{
	assert(!conn->is_advancing);
	conn->is_advancing = true;
	while (!conn->is_closed && step(conn))
		;
	conn->is_advancing = false;
	if (conn->is_closed)
		return;
	if (!fw_http__own_input(conn)) {
		fw_http__abort(conn);
		return;
	}
	if (conn->socket.has_fin && conn->state != FW_HTTP_ANSWERING) {
		end_input(conn);
		return;
	}
	arm(conn);
	/* No event reports bytes that are already decrypted. */
	if (conn->socket.ssl && may_read(conn) && fw_http_tls_has_pending(conn->socket.ssl))
		fw_http__queue(conn);
}

/* ---- reading ------------------------------------------------------------------------ */

static ssize_t read_socket(struct fw_http_conn *conn, char *data, size_t len)
{
	return conn->socket.ssl ? fw_http_tls_read(conn->socket.ssl, data, len)
				: recv(conn->socket.fd, data, len, 0);
}

/* Where to read to: the shared buffer, unless part of a request is kept already. */
static char *find_room(struct fw_http_conn *conn, size_t *ret_len)
{
	struct fw_http_input *in = &conn->in;

	*ret_len = FW_HTTP_SCRATCH_BYTES;
	if (!in->len || conn->state == FW_HTTP_BODY || conn->state == FW_HTTP_CLOSING)
		return conn->http->scratch;
	if (!fw_http__reserve_input(conn, 1024))
		return NULL;
	*ret_len = in->cap - in->len;
	return in->data + in->len;
}

static void take_body(struct fw_http_conn *conn, char *data, size_t len)
{
	size_t used;

	conn->is_advancing = true;
	switch (fw_http__parse_body(conn, data, len, &used)) {
	case FW_HTTP_PARSED_MORE:
	case FW_HTTP_PARSED_REFUSED: break;
	case FW_HTTP_PARSED_DONE:
		/* The remaining bytes belong to the next request. */
		if (len > used && fw_http__reserve_input(conn, len - used)) {
			memcpy(conn->in.data + conn->in.len, data + used, len - used);
			conn->in.len += len - used;
		}
		end_request(conn);
		break;
	}
	conn->is_advancing = false;
	if (conn->answer.is_lost)
		fw_http__abort(conn);
	else if (conn->state != FW_HTTP_BODY)
		fw_http__advance(conn);
}

static void take_input(struct fw_http_conn *conn, char *data, size_t len)
{
	struct fw_http_input *in = &conn->in;

	if (conn->state == FW_HTTP_CLOSING) {
		conn->body.dropped += len;
		conn->times.dropped_ms = fw_http__now_ms(conn->http);
		if (conn->body.dropped > conn->http->limits->http_drain_bytes)
			close_conn(conn);
		return;
	}
	if (conn->state == FW_HTTP_BODY) {
		take_body(conn, data, len);
		return;
	}
	if (!in->len) {
		in->data = data;
		in->parsed = 0;
	}
	in->len += len;
	fw_http__advance(conn);
}

/* True: there are probably more bytes. */
static bool receive_once(struct fw_http_conn *conn)
{
	size_t room = 0;
	char *data = find_room(conn, &room);
	ssize_t len = data ? read_socket(conn, data, room) : -1;
	int errnum = errno;

	if (!data || (len < 0 && !fw_http__is_again(errnum))) {
		fw_http__abort(conn);
	} else if (len > 0) {
		take_input(conn, data, (size_t)len);
	} else if (len == 0) {
		conn->socket.has_fin = true;
		fw_http__hung_up(conn);
		if (!conn->is_closed)
			end_input(conn);
	}
	return len > 0 && (size_t)len == room;
}

/* Reads a large body in a few steps, but not all at once: other connections wait. */
static void receive(struct fw_http_conn *conn)
{
	for (int i = 0; i < BODY_READS; i++)
		if (!receive_once(conn) || conn->is_closed || conn->state != FW_HTTP_BODY)
			return;
}

/* ---- events ------------------------------------------------------------------------- */

static void poll_ready(uv_poll_t *handle, int status, int events)
{
	struct fw_http_conn *conn = handle->data;

	/* A socket error: the connection was reset. */
	if (status < 0 || (events & UV_PRIORITIZED)) {
		fw_http__abort(conn);
		return;
	}
	if (events & UV_DISCONNECT)
		fw_http__hung_up(conn);
	if ((events & UV_WRITABLE) && conn->state == FW_HTTP_ANSWERING)
		fw_http__advance(conn);
	if (!conn->is_closed && !conn->socket.has_fin && may_read(conn) &&
	    (events & (UV_READABLE | (conn->socket.ssl ? UV_WRITABLE : 0))))
		receive(conn);
	if (!conn->is_closed)
		arm(conn);
}

void fw_http__queue(struct fw_http_conn *conn)
{
	struct fw_http *http = conn->http;

	if (conn->is_ready || conn->is_closed || conn->is_advancing)
		return;
	conn->is_ready = true;
	conn->next_ready = http->ready_list;
	http->ready_list = conn;
	if (!uv_is_active((uv_handle_t *)&http->ready))
		uv_idle_start(&http->ready, fw_http__run_ready);
}

/* Connections that are queued meanwhile are advanced in the next iteration. */
void fw_http__run_ready(uv_idle_t *handle)
{
	struct fw_http *http = handle->data;
	struct fw_http_conn *list = http->ready_list;

	http->ready_list = NULL;
	uv_idle_stop(handle);
	for (struct fw_http_conn *next; list; list = next) {
		next = list->next_ready;
		list->is_ready = false;
		if (list->is_closed)
			continue;
		if (list->socket.ssl && !list->socket.has_fin && may_read(list) &&
		    fw_http_tls_has_pending(list->socket.ssl))
			receive(list);
		if (!list->is_closed)
			fw_http__advance(list);
	}
}

/* ---- the beginning ------------------------------------------------------------------ */

static void note_address(struct fw_http_conn *conn, const struct sockaddr *address)
{
	union {
		const struct sockaddr *any;
		const struct sockaddr_in *v4;
		const struct sockaddr_in6 *v6;
	} at = { address };

	const void *v4 = NULL;

	if (address->sa_family == AF_INET)
		v4 = &at.v4->sin_addr;
	/* An IPv4 client of a socket for both: limits are by address, and logs are read. */
	else if (address->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&at.v6->sin6_addr))
		v4 = at.v6->sin6_addr.s6_addr + 12;
	if (v4)
		(void)inet_ntop(AF_INET, v4, conn->address_text, sizeof(conn->address_text));
	else if (address->sa_family == AF_INET6)
		(void)inet_ntop(AF_INET6, &at.v6->sin6_addr, conn->address_text,
				sizeof(conn->address_text));
}

static bool set_up(struct fw_http_conn *conn)
{
	struct fw_http *http = conn->http;

	if (http->tls) {
		conn->socket.ssl = fw_http_tls_accept(http->tls, conn->socket.fd);
		if (!conn->socket.ssl)
			return false;
	}
	if (uv_poll_init(fw_server__loop(http->base.server), &conn->socket.poll,
			 conn->socket.fd) == 0)
		return true;
	if (conn->socket.ssl)
		fw_http_tls_drop(conn->socket.ssl);
	return false;
}

struct fw_http_conn *fw_http__open(struct fw_http *http, int fd, const struct sockaddr *address)
{
	struct fw_http_conn *conn = fw__allocate(sizeof(*conn));

	if (!conn) {
		(void)close(fd);
		return NULL;
	}
	memset(conn, 0, offsetof(struct fw_http_conn, head.fields));
	conn->http = http;
	conn->socket.fd = fd;
	if (!set_up(conn)) {
		fw__release(conn);
		(void)close(fd);
		return NULL;
	}
	conn->socket.poll.data = conn;
	http->open_handles++;
	fw_http__init_output(&conn->out);
	llhttp_init(&conn->parser, HTTP_REQUEST, &http->settings);
	conn->parser.data = conn;
	note_address(conn, address);
	(void)fw_http__join_address(conn, address);
	fw_http__enter(conn, FW_HTTP_IDLE);
	conn->next = http->peers;
	if (conn->next)
		conn->next->previous = conn;
	http->peers = conn;
	http->peer_count++;
	if (!fw_timer_is_set(&http->sweep))
		fw_timer_set(&http->sweep, http->pace.sweep_ms);
	arm(conn);
	return conn;
}
