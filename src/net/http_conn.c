/*
 * http_conn.c - one connection: the socket, its input and output, its states.
 *
 * A request costs three system calls when all goes well: the loop's epoll_wait,
 * one recv into a buffer that all connections share, one sendmsg of head and
 * body. A request that came in one piece is parsed, run and answered in that
 * buffer; only what has to outlive the event is copied into memory of the
 * connection. The socket is watched for input all the time; other events are
 * asked for only while they are needed.
 *
 * The memory of a connection is freed in the callback of uv_close(), so code
 * here may look at is_closed after anything it calls.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/http.h"
#include "net/http_tls.h"

enum { BODY_READS = 8 };

uint64_t fw_http__now_ms(const struct fw_http *http)
{
	return uv_now(fw_server__loop(http->base.server));
}

/* ---- the end of a connection ------------------------------------------------------- */

static void handle_closed(uv_handle_t *handle)
{
	struct fw_http_conn *conn = handle->data;
	struct fw_http *http = conn->http;

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
	if (!--http->peer_count)
		uv_timer_stop(&http->sweep);
}

static void free_buffers(struct fw_http_conn *conn)
{
	fw_http__release_body(conn);
	fw_http__text_clear(&conn->events);
	fw_http__text_clear(&conn->out);
	if (conn->in.cap)
		fw__release(conn->in.data);
	memset(&conn->in, 0, sizeof(conn->in));
	if (conn->ssl)
		fw_http_tls_drop(conn->ssl);
	conn->ssl = NULL;
}

static void close_conn(struct fw_http_conn *conn)
{
	static const struct linger none = { .l_onoff = 1, .l_linger = 0 };
	struct fw_http *http = conn->http;

	if (conn->is_closed)
		return;
	fw_http__leave_place(conn);
	fw_http__leave_address(conn);
	fw_http__enter(conn, FW_HTTP_CLOSING);
	conn->is_closed = true;
	unlink_conn(conn);
	/* The kernel drops what it holds for a peer that does not read. */
	if (conn->owed_ms)
		(void)setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	uv_close((uv_handle_t *)&conn->poll, handle_closed);
	(void)close(conn->fd);
	free_buffers(conn);
	fw_http__watch_listener(http, true);
	fw_http__stop_if_done(http);
}

void fw_http__lose(struct fw_http_conn *conn)
{
	if (conn->is_closed)
		return;
	if (conn->is_begun && !conn->is_answered) {
		conn->is_answered = true;
		conn->is_lost = true;
		fw_exchange_gone(&conn->exchange);
	}
	close_conn(conn);
}

/*
 * The answer is written and is the last one. If bytes may still come, closing
 * would reset the connection, and the peer might not see the answer: so only
 * our side is closed, and what comes is dropped for a while.
 */
static void begin_closing(struct fw_http_conn *conn)
{
	fw_http__leave_place(conn);
	if (conn->ssl)
		fw_http_tls_end(conn->ssl);
	if (conn->has_fin) {
		close_conn(conn);
		return;
	}
	(void)shutdown(conn->fd, SHUT_WR);
	fw_http__drop_input(conn, conn->in.len);
	conn->drained = 0;
	fw_http__enter(conn, FW_HTTP_CLOSING);
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
	conn->since_ms = fw_http__now_ms(http);
}

/* Empty lines before a request are skipped. False: there is nothing else yet. */
static bool begin_request(struct fw_http_conn *conn)
{
	const struct fw_http_input *in = &conn->in;

	while (in->len >= 2 && in->data[0] == '\r' && in->data[1] == '\n')
		fw_http__drop_input(conn, 2);
	if (!in->len || (in->len == 1 && in->data[0] == '\r'))
		return false;
	fw_http__renew(conn);
	fw_http__enter(conn, FW_HTTP_HEAD);
	if (in->data[0] != '\r' && in->data[0] != '\n')
		return true;
	fw_http__refuse(conn, fw_http__malformed(400, "a line does not end in CR LF"));
	return true;
}

static void end_request(struct fw_http_conn *conn)
{
	fw_http__enter(conn, FW_HTTP_ANSWERING);
	if (!conn->is_decided)
		fw_http__dispatch(conn);
}

/* The body, as far as it is in the input. False: more is needed. */
static bool read_body(struct fw_http_conn *conn)
{
	struct fw_http_input *in = &conn->in;
	size_t used;

	switch (fw_http__parse_body(conn, in->data + in->parsed, in->len - in->parsed, &used)) {
	case FW_HTTP_PARSED_MORE:
		/* The head stays, for its header values. */
		in->len = in->parsed;
		return false;
	case FW_HTTP_PARSED_DONE:
		conn->request_end = in->parsed += used;
		end_request(conn);
		break;
	case FW_HTTP_PARSED_REFUSED: conn->request_end = in->len; break;
	}
	return true;
}

/* False: the answer is not there, or not written yet. */
static bool end_answer(struct fw_http_conn *conn)
{
	fw_http__flush_stream(conn);
	if (conn->out.len && !conn->is_lost)
		fw_http__flush(conn);
	if (conn->is_lost) {
		fw_http__lose(conn);
		return false;
	}
	if (!conn->is_answered || conn->out.len || (conn->is_stream && !conn->has_end))
		return false;
	if (conn->must_close) {
		begin_closing(conn);
		return false;
	}
	fw_http__drop_input(conn, conn->request_end);
	fw_http__text_reset(&conn->events);
	fw_http__enter(conn, FW_HTTP_IDLE);
	return true;
}

/* One step; false: nothing more can be done now. */
static bool step(struct fw_http_conn *conn)
{
	switch (conn->state) {
	case FW_HTTP_IDLE: return conn->in.len && begin_request(conn);
	case FW_HTTP_HEAD:
		if (conn->in.parsed == conn->in.len)
			return false;
		if (fw_http__parse_head(conn) == FW_HTTP_PARSED_DONE)
			fw_http__judge(conn);
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
	return !conn->must_close &&
	       conn->in.len - conn->request_end < FW_LIMIT_HTTP_READ_AHEAD_BYTES;
}

static int wanted_events(const struct fw_http_conn *conn)
{
	int events = 0;

	if (conn->out.len && conn->state == FW_HTTP_ANSWERING)
		events |= UV_WRITABLE;
	if (conn->ssl && fw_http_tls_wants_write(conn->ssl))
		events |= UV_WRITABLE;
	if (!conn->has_fin && may_read(conn))
		events |= UV_READABLE;
	else if (!conn->has_hung_up)
		events |= UV_DISCONNECT;
	/* Errors are always reported, but something has to be asked for. */
	return events ? events : UV_PRIORITIZED;
}

static void poll_ready(uv_poll_t *handle, int status, int events);

static void arm(struct fw_http_conn *conn)
{
	int events = wanted_events(conn);

	if (events == conn->armed)
		return;
	conn->armed = events;
	uv_poll_start(&conn->poll, events, poll_ready);
}

/* The peer sends nothing more. */
static void end_input(struct fw_http_conn *conn)
{
	switch (conn->state) {
	case FW_HTTP_IDLE:
	case FW_HTTP_HEAD: fw_http__lose(conn); break;
	case FW_HTTP_BODY:
		if (!conn->is_decided) {
			fw_http__lose(conn);
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
	assert(!conn->is_inside);
	conn->is_inside = true;
	while (!conn->is_closed && step(conn))
		;
	conn->is_inside = false;
	if (conn->is_closed)
		return;
	if (!fw_http__own_input(conn)) {
		fw_http__lose(conn);
		return;
	}
	if (conn->has_fin && conn->state != FW_HTTP_ANSWERING) {
		end_input(conn);
		return;
	}
	arm(conn);
	/* No event tells of bytes that are already decrypted. */
	if (conn->ssl && may_read(conn) && fw_http_tls_has_pending(conn->ssl))
		fw_http__queue(conn);
}

/* ---- reading ------------------------------------------------------------------------ */

static ssize_t read_socket(struct fw_http_conn *conn, char *data, size_t len)
{
	return conn->ssl ? fw_http_tls_read(conn->ssl, data, len)
			 : recv(conn->fd, data, len, 0);
}

/* Where the next bytes go: only a part of a request has memory of its own. */
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

	conn->is_inside = true;
	switch (fw_http__parse_body(conn, data, len, &used)) {
	case FW_HTTP_PARSED_MORE:
	case FW_HTTP_PARSED_REFUSED: break;
	case FW_HTTP_PARSED_DONE:
		/* The rest is the next request. */
		if (len > used && fw_http__reserve_input(conn, len - used)) {
			memcpy(conn->in.data + conn->in.len, data + used, len - used);
			conn->in.len += len - used;
		}
		end_request(conn);
		break;
	}
	conn->is_inside = false;
	if (conn->is_lost)
		fw_http__lose(conn);
	else if (conn->state != FW_HTTP_BODY)
		fw_http__advance(conn);
}

static void take_input(struct fw_http_conn *conn, char *data, size_t len)
{
	struct fw_http_input *in = &conn->in;

	if (conn->state == FW_HTTP_CLOSING) {
		conn->drained += len;
		if (conn->drained > conn->http->limits->http_drain_bytes)
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

/* True: there is probably more. */
static bool receive_once(struct fw_http_conn *conn)
{
	size_t room = 0;
	char *data = find_room(conn, &room);
	ssize_t len = data ? read_socket(conn, data, room) : -1;
	int errnum = errno;

	if (!data || (len < 0 && !fw_http__is_again(errnum))) {
		fw_http__lose(conn);
	} else if (len > 0) {
		take_input(conn, data, (size_t)len);
	} else if (len == 0) {
		conn->has_fin = true;
		fw_http__hung_up(conn);
		if (!conn->is_closed)
			end_input(conn);
	}
	return len > 0 && (size_t)len == room;
}

/* A large body is read in a few steps, but not so many that others wait. */
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

	/* An error of the socket: it was reset. */
	if (status < 0 || (events & UV_PRIORITIZED)) {
		fw_http__lose(conn);
		return;
	}
	if (events & UV_DISCONNECT)
		fw_http__hung_up(conn);
	if ((events & UV_WRITABLE) && conn->state == FW_HTTP_ANSWERING)
		fw_http__advance(conn);
	if (!conn->is_closed && !conn->has_fin && may_read(conn) &&
	    (events & (UV_READABLE | (conn->ssl ? UV_WRITABLE : 0))))
		receive(conn);
	if (!conn->is_closed)
		arm(conn);
}

void fw_http__queue(struct fw_http_conn *conn)
{
	struct fw_http *http = conn->http;

	if (conn->is_ready || conn->is_closed || conn->is_inside)
		return;
	conn->is_ready = true;
	conn->next_ready = http->ready_list;
	http->ready_list = conn;
	if (!uv_is_active((uv_handle_t *)&http->ready))
		uv_idle_start(&http->ready, fw_http__run_ready);
}

/* Those that are queued meanwhile have their turn in the next round. */
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
		if (list->ssl && !list->has_fin && may_read(list) &&
		    fw_http_tls_has_pending(list->ssl))
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

	if (address->sa_family == AF_INET)
		(void)inet_ntop(AF_INET, &at.v4->sin_addr, conn->address_text,
				sizeof(conn->address_text));
	else if (address->sa_family == AF_INET6)
		(void)inet_ntop(AF_INET6, &at.v6->sin6_addr, conn->address_text,
				sizeof(conn->address_text));
}

static bool set_up(struct fw_http_conn *conn)
{
	struct fw_http *http = conn->http;

	if (http->tls) {
		conn->ssl = fw_http_tls_accept(http->tls, conn->fd);
		if (!conn->ssl)
			return false;
	}
	if (uv_poll_init(fw_server__loop(http->base.server), &conn->poll, conn->fd) == 0)
		return true;
	if (conn->ssl)
		fw_http_tls_drop(conn->ssl);
	return false;
}

struct fw_http_conn *fw_http__open(struct fw_http *http, int fd, const struct sockaddr *address)
{
	struct fw_http_conn *conn = fw__allocate(sizeof(*conn));

	if (!conn) {
		(void)close(fd);
		return NULL;
	}
	memset(conn, 0, offsetof(struct fw_http_conn, fields));
	conn->http = http;
	conn->fd = fd;
	if (!set_up(conn)) {
		fw__release(conn);
		(void)close(fd);
		return NULL;
	}
	conn->poll.data = conn;
	http->open_handles++;
	llhttp_init(&conn->parser, HTTP_REQUEST, &http->settings);
	conn->parser.data = conn;
	note_address(conn, address);
	(void)fw_http__join_address(conn, address);
	fw_http__enter(conn, FW_HTTP_IDLE);
	conn->next = http->peers;
	if (conn->next)
		conn->next->previous = conn;
	http->peers = conn;
	if (!http->peer_count++)
		uv_timer_start(&http->sweep, fw_http__sweep, http->pace.sweep_ms,
			       http->pace.sweep_ms);
	arm(conn);
	return conn;
}
