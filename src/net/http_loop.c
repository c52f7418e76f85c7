/*
 * http_loop.c - libmicrohttpd on the server's loop.
 *
 * The daemon has its own epoll descriptor, edge-triggered; the loop polls that
 * one descriptor, so a connection costs the loop nothing. After each turn the
 * daemon says when it wants the next one: at once means that bytes are left
 * which no event will announce again.
 *
 * A suspended connection is out of the daemon's sight: it would not notice that
 * the client has gone. Nor does it otherwise when the end of the bytes came
 * with the last of them, before it had read: one edge announces both. A second
 * epoll descriptor of ours watches for hang-ups only; it is armed when a
 * connection begins and again at each suspension. (One uv_poll_t for each
 * socket would not do: the daemon closes sockets, and libuv must not learn that
 * afterwards.)
 *
 * The daemon's own timeout starts again with every byte. The sweep looks at
 * how long a request takes as a whole.
 */
#include "net/http.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <arpa/inet.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <faultwire/raise.h>
#include <faultwire/raw.h>

#include "base/mem.h"
#include "net/http_check.h"
#include "net/tcp.h"

enum {
	/* Turns in a row, before others on the loop have theirs. */
	TURNS_AT_ONCE = 16,
	WATCH_EVENTS = 32,
};

static uint64_t now_ms(const struct fw_http *http)
{
	return uv_now(fw_server__loop(http->base.server));
}

/* ---- the end ---------------------------------------------------------------- */

static void handle_closed(uv_handle_t *handle)
{
	struct fw_http *http = handle->data;

	if (--http->open_handles)
		return;
	close(http->watch_fd);
	http->watch_fd = -1;
	fw_transport_closed(&http->base);
}

static void stop_daemon(struct fw_http *http)
{
	struct MHD_Daemon *daemon = http->daemon;

	/* Before the descriptor goes. */
	uv_close((uv_handle_t *)&http->crank, handle_closed);
	uv_close((uv_handle_t *)&http->watch, handle_closed);
	uv_close((uv_handle_t *)&http->timer, handle_closed);
	uv_close((uv_handle_t *)&http->sweep, handle_closed);
	uv_close((uv_handle_t *)&http->flush, handle_closed);
	/* It must not be stopped with connections suspended. */
	for (struct fw_http_peer *peer = http->peers; peer; peer = peer->next) {
		peer->is_lost = peer->is_lost || peer->is_suspended;
		fw_http__wake(peer);
	}
	http->daemon = NULL;
	MHD_stop_daemon(daemon);
}

static void stop_if_done(struct fw_http *http)
{
	if (http->is_closing && !http->is_turning && !http->answering && http->daemon)
		stop_daemon(http);
}

static void flush_over(uv_timer_t *timer)
{
	struct fw_http *http = timer->data;

	http->answering = 0;
	stop_if_done(http);
}

void fw_http__close(struct fw_transport *transport)
{
	struct fw_http *http = (struct fw_http *)transport;

	http->is_closing = true;
	if (!http->is_started) {
		fw_transport_closed(transport);
		return;
	}
	uv_timer_start(&http->flush, flush_over, http->limits->flush_ms, 0);
	stop_if_done(http);
}

/* ---- turning ---------------------------------------------------------------- */

static void turn(struct fw_http *http);

static void timer_due(uv_timer_t *timer)
{
	turn(timer->data);
}

/* A timer that comes too early only turns once too often, so it is not moved
 * for every request. */
static void turn_within(struct fw_http *http, uint64_t delay_ms)
{
	if (uv_is_active((uv_handle_t *)&http->timer) &&
	    uv_timer_get_due_in(&http->timer) <= delay_ms)
		return;
	uv_timer_start(&http->timer, timer_due, delay_ms, 0);
}

static void turn(struct fw_http *http)
{
	MHD_UNSIGNED_LONG_LONG delay_ms = 0;
	unsigned turns = 0;

	assert(!http->is_turning);
	if (!http->daemon)
		return;
	http->is_turning = true;
	do {
		if (MHD_run(http->daemon) != MHD_YES)
			break;
		if (MHD_get_timeout(http->daemon, &delay_ms) != MHD_YES) {
			delay_ms = UINT64_MAX;
			break;
		}
	} while (!delay_ms && ++turns < TURNS_AT_ONCE);
	http->is_turning = false;
	if (delay_ms != UINT64_MAX)
		turn_within(http, delay_ms);
	stop_if_done(http);
}

static void crank_ready(uv_poll_t *handle, int status, int events)
{
	(void)status;
	(void)events;
	turn(handle->data);
}

/* ---- connections ------------------------------------------------------------ */

void fw_http__enter(struct fw_http_peer *peer, enum fw_http_phase phase)
{
	struct fw_http *http = peer->http;

	if (phase == FW_HTTP_ANSWERING)
		http->answering++;
	else if (peer->phase == FW_HTTP_ANSWERING && http->answering)
		http->answering--;
	peer->phase = phase;
	peer->since_ms = now_ms(http);
	peer->is_measured = false;
}

static void watch_peer(struct fw_http_peer *peer)
{
	struct epoll_event event = { .events = EPOLLRDHUP | EPOLLONESHOT, .data.ptr = peer };
	int how = peer->is_watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	/* Without the watch a client that goes is noticed when it is next spoken
	 * to, or by the sweep, and that is all there is to lose. */
	if (epoll_ctl(peer->http->watch_fd, how, peer->fd, &event) == 0)
		peer->is_watched = true;
}

void fw_http__suspend(struct fw_http_peer *peer)
{
	assert(!peer->is_suspended);
	MHD_suspend_connection(peer->connection);
	peer->is_suspended = true;
	watch_peer(peer);
}

void fw_http__wake(struct fw_http_peer *peer)
{
	if (!peer->is_suspended)
		return;
	peer->is_suspended = false;
	MHD_resume_connection(peer->connection);
	/* Also while it turns: the daemon does not count this as work to do. */
	if (peer->http->daemon)
		turn_within(peer->http, 0);
}

/* It does not count any more. */
static void forget(const struct fw_http_peer *peer)
{
	if (peer->is_doomed)
		return;
	if (peer->is_surplus)
		peer->http->surplus--;
	else
		peer->http->standing--;
}

void fw_http__cut(struct fw_http_peer *peer)
{
	static const struct linger none = { .l_onoff = 1, .l_linger = 0 };

	forget(peer);
	peer->is_doomed = true;
	/* What the kernel holds for one that does not read is dropped, too. */
	if (peer->owed_ms && peer->phase == FW_HTTP_ANSWERING)
		(void)setsockopt(peer->fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	(void)shutdown(peer->fd, SHUT_RDWR);
	fw_http__wake(peer);
}

/* ---- too many ---------------------------------------------------------------- */

/* Does it keep its connection to itself, for no good reason that we know of? */
static bool is_spare(const struct fw_http_peer *peer, uint64_t now)
{
	if (peer->is_doomed || peer->is_shouted || peer->phase == FW_HTTP_ANSWERING)
		return false;
	return (peer->phase == FW_HTTP_IDLE && !peer->has_asked) ||
	       now - peer->since_ms >= peer->http->pace.spare_ms;
}

/* The one that has done so for longest. */
static struct fw_http_peer *find_spare(const struct fw_http *http, bool is_surplus)
{
	uint64_t now = now_ms(http);
	struct fw_http_peer *found = NULL;

	/* The newest are first. */
	for (struct fw_http_peer *peer = http->peers; peer; peer = peer->next)
		if (peer->is_surplus == is_surplus && is_spare(peer, now) &&
		    (!found || peer->since_ms <= found->since_ms))
			found = peer;
	return found;
}

/* One that asks for something is worth more than one that does nothing, or
 * takes its time. */
bool fw_http__admit(struct fw_http_peer *peer)
{
	struct fw_http *http = peer->http;
	struct fw_http_peer *spare;

	if (!peer->is_surplus)
		return true;
	if (http->standing >= http->connections_most) {
		spare = find_spare(http, false);
		if (!spare)
			return false;
		fw_http__cut(spare);
	}
	peer->is_surplus = false;
	http->surplus--;
	http->standing++;
	return true;
}

/* Beyond the limit it is let in nevertheless, until it is known what it wants;
 * of those that want nothing the first has to go for the last. */
static void receive(struct fw_http_peer *peer)
{
	struct fw_http *http = peer->http;
	struct fw_http_peer *spare;

	if (http->standing < http->connections_most) {
		http->standing++;
		return;
	}
	peer->is_surplus = true;
	if (++http->surplus <= http->surplus_most)
		return;
	spare = find_spare(http, true);
	fw_http__cut(spare ? spare : peer);
}

/* One that is not suspended may have said all it had to: the sweep will see. */
static void peer_hung_up(struct fw_http_peer *peer)
{
	peer->has_hung_up = true;
	if (!peer->is_suspended)
		return;
	peer->is_lost = true;
	if (!peer->is_answered) {
		peer->is_answered = true;
		fw_exchange_gone(&peer->exchange);
	}
	fw_http__wake(peer);
}

/* No connection is freed in here, because nothing in here turns the crank. */
static void watch_ready(uv_poll_t *handle, int status, int events)
{
	struct fw_http *http = handle->data;
	struct epoll_event ready[WATCH_EVENTS];
	int count = epoll_wait(http->watch_fd, ready, WATCH_EVENTS, 0);

	(void)status;
	(void)events;
	for (int i = 0; i < count; i++)
		peer_hung_up(ready[i].data.ptr);
}

/* The daemon tells of a first line when it has all of it. That some of it has
 * come, only the kernel knows. */
static bool has_begun_line(struct fw_http_peer *peer)
{
	uint64_t before = peer->is_measured ? peer->bytes : UINT64_MAX;

	if (peer->http->is_tls || !fw_tcp_received(peer->fd, &peer->bytes))
		return false;
	if (!peer->has_asked)
		before = 0;
	peer->is_measured = true;
	return peer->bytes > before;
}

static void sweep_idle(struct fw_http_peer *peer, uint64_t age)
{
	const struct fw_http_pace *pace = &peer->http->pace;

	if (age >= pace->idle_ms || (peer->is_surplus && age >= pace->spare_ms))
		fw_http__cut(peer);
	else if (has_begun_line(peer))
		fw_http__enter(peer, FW_HTTP_HEAD);
}

static void sweep_peer(struct fw_http_peer *peer, uint64_t now)
{
	const struct fw_http_pace *pace = &peer->http->pace;
	uint64_t age = now - peer->since_ms;

	if (peer->is_doomed)
		return;
	if ((peer->has_hung_up && peer->phase != FW_HTTP_ANSWERING) ||
	    (peer->is_shouted && peer->is_answered && age >= pace->sweep_ms)) {
		fw_http__cut(peer);
		return;
	}
	switch (peer->phase) {
	case FW_HTTP_IDLE: sweep_idle(peer, age); break;
	case FW_HTTP_HEAD:
		if (age >= pace->head_ms)
			fw_http__too_slow(peer, "head", pace->head_ms);
		break;
	case FW_HTTP_BODY:
		if (age >= pace->body_ms)
			fw_http__too_slow(peer, "body", pace->body_ms);
		break;
	case FW_HTTP_ANSWERING:
		if (!peer->is_suspended && peer->owed_ms &&
		    now - peer->owed_ms >= pace->read_ms) {
			fw_http__cut(peer);
			break;
		}
		/* One that is not suspended has bytes of ours before it. */
		if (!peer->is_suspended || !(peer->accepts & FW_HTTP_ACCEPTS_EVENTS))
			break;
		if (peer->is_stream ? now - peer->spoke_ms >= pace->silence_ms
				    : age >= pace->patience_ms)
			fw_http__keep_alive(peer);
		break;
	}
}

static void sweep_due(uv_timer_t *timer)
{
	struct fw_http *http = timer->data;
	uint64_t now = now_ms(http);

	for (struct fw_http_peer *peer = http->peers; peer; peer = peer->next)
		sweep_peer(peer, now);
}

static void note_address(struct fw_http_peer *peer)
{
	const struct sockaddr *address =
		MHD_get_connection_info(peer->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)
			->client_addr;
	union {
		const struct sockaddr *any;
		const struct sockaddr_in *v4;
		const struct sockaddr_in6 *v6;
	} at = { address };

	if (address && address->sa_family == AF_INET)
		(void)inet_ntop(AF_INET, &at.v4->sin_addr, peer->address,
				sizeof(peer->address));
	else if (address && address->sa_family == AF_INET6)
		(void)inet_ntop(AF_INET6, &at.v6->sin6_addr, peer->address,
				sizeof(peer->address));
}

static void peer_connected(struct fw_http *http, struct MHD_Connection *connection,
			   void **context)
{
	struct fw_http_peer *peer = fw__allocate(sizeof(*peer));

	*context = peer;
	if (!peer)
		return;
	memset(peer, 0, sizeof(*peer));
	peer->http = http;
	peer->connection = connection;
	peer->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)
			   ->connect_fd;
	note_address(peer);
	fw_http__enter(peer, FW_HTTP_IDLE);
	watch_peer(peer);
	peer->next = http->peers;
	if (peer->next)
		peer->next->previous = peer;
	http->peers = peer;
	if (!http->peer_count++)
		uv_timer_start(&http->sweep, sweep_due, http->pace.sweep_ms,
			       http->pace.sweep_ms);
	receive(peer);
}

static void peer_disconnected(struct fw_http *http, struct fw_http_peer *peer)
{
	/* Of a head that never ended the daemon does not tell the end. */
	if (peer->is_begun && !peer->is_answered) {
		peer->is_answered = true;
		fw_exchange_gone(&peer->exchange);
	}
	forget(peer);
	if (peer->is_watched)
		(void)epoll_ctl(http->watch_fd, EPOLL_CTL_DEL, peer->fd, NULL);
	if (peer->next)
		peer->next->previous = peer->previous;
	if (peer->previous)
		peer->previous->next = peer->next;
	else
		http->peers = peer->next;
	if (!--http->peer_count)
		uv_timer_stop(&http->sweep);
	fw__release(peer->body.data);
	fw__release(peer->out.data);
	fw__release(peer);
}

void fw_http__connected(void *cls, struct MHD_Connection *connection, void **context,
			enum MHD_ConnectionNotificationCode what)
{
	struct fw_http_peer *peer = *context;

	if (what == MHD_CONNECTION_NOTIFY_STARTED)
		peer_connected(cls, connection, context);
	else if (peer)
		peer_disconnected(cls, peer);
}

/* ---- the beginning ---------------------------------------------------------- */

fw_error *fw_http__start(struct fw_transport *transport)
{
	struct fw_http *http = (struct fw_http *)transport;
	uv_loop_t *loop = fw_server__loop(transport->server);
	int crank_fd = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
	int watch_fd = epoll_create1(EPOLL_CLOEXEC);
	int errnum = errno;

	if (watch_fd < 0)
		return fw_error_from_errno(FW_HERE, errnum, "epoll descriptor");
	http->watch_fd = watch_fd;
	/* Neither fails for an epoll descriptor, nor does a timer. */
	uv_poll_init(loop, &http->crank, crank_fd);
	uv_poll_init(loop, &http->watch, watch_fd);
	uv_timer_init(loop, &http->timer);
	uv_timer_init(loop, &http->sweep);
	uv_timer_init(loop, &http->flush);
	http->crank.data = http->watch.data = http;
	http->timer.data = http->sweep.data = http->flush.data = http;
	http->open_handles = 5;
	http->is_started = true;
	uv_poll_start(&http->crank, UV_READABLE, crank_ready);
	uv_poll_start(&http->watch, UV_READABLE, watch_ready);
	/* What came before this moment announced itself to nobody. */
	turn_within(http, 0);
	return NULL;
}
