/*
 * http_admit.c - accepting connections, and evicting them when there are too many.
 *
 * A connection within the limit has a slot. When all slots are taken, a new
 * connection is surplus: it needs a slot only when the head of its request is
 * complete. It then gets the slot of another connection: of the address with the
 * most connections, the one that has not sent a complete request for the longest
 * time. A connection is not evicted while it is new (http_spare_ms), nor while
 * its request is being answered. If none can be evicted, the answer is 503.
 *
 * When there are too many surplus connections as well, one of them is evicted for
 * the next new connection. A surplus connection without a byte can be evicted
 * after FW_LIMIT_HTTP_SILENT_MS; so can any connection without a byte when a
 * complete head needs its slot. Until one can be evicted, new connections
 * wait in the queue of the listening socket: none is accepted and closed at once.
 *
 * A connection that is evicted during a request, or before its first one, gets
 * a 503. A connection between two requests is closed, as clients expect.
 */
#include "net/http_admit.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include <faultwire/raise.h>

#include "base/mem.h"
#include "net/http_conn.h"
#include "net/http_tls.h"

/* ---- addresses ------------------------------------------------------------------- */

/* Of an IPv6 address only the /64: one owner has all addresses in it. */
static uint64_t address_key(const struct sockaddr *address)
{
	uint64_t key = 0;

	if (address->sa_family == AF_INET)
		return ((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr;
	if (address->sa_family == AF_INET6)
		memcpy(&key, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr,
		       sizeof(key));
	return key;
}

static struct fw_http_address **find_address(struct fw_http *http, uint64_t key)
{
	uint64_t hash = key * 0x9e3779b97f4a7c15u;
	struct fw_http_address **at = &http->admission.addresses[hash >> 56];

	while (*at && (*at)->key != key)
		at = &(*at)->next;
	return at;
}

bool fw_http__join_address(struct fw_http_conn *conn, const struct sockaddr *address)
{
	uint64_t key = address_key(address);
	struct fw_http_address **at = find_address(conn->http, key);

	if (!*at) {
		*at = fw__allocate(sizeof(**at));
		if (!*at)
			return false;
		memset(*at, 0, sizeof(**at));
		(*at)->key = key;
	}
	(*at)->count++;
	conn->address = *at;
	return true;
}

void fw_http__leave_address(struct fw_http_conn *conn)
{
	struct fw_http_address **at;

	if (!conn->address || --conn->address->count)
		return;
	at = find_address(conn->http, conn->address->key);
	*at = conn->address->next;
	fw__release(conn->address);
	conn->address = NULL;
}

/* ---- slots ---------------------------------------------------------------------- */

void fw_http__leave_slot(struct fw_http_conn *conn)
{
	if (conn->slot == FW_HTTP_ADMITTED)
		conn->http->admission.admitted--;
	else if (conn->slot == FW_HTTP_SURPLUS_SLOT)
		conn->http->admission.surplus--;
	conn->slot = FW_HTTP_NO_SLOT;
}

static void take_slot(struct fw_http_conn *conn)
{
	fw_http__leave_slot(conn);
	conn->slot = FW_HTTP_ADMITTED;
	conn->http->admission.admitted++;
}

/* How long a connection cannot be evicted. Shorter for one without a byte, if it is
 * surplus or a complete head needs its slot. */
static uint64_t grace_ms(const struct fw_http_conn *conn, bool is_for_head)
{
	uint64_t spare = conn->http->pace.spare_ms;

	if ((is_for_head || conn->slot == FW_HTTP_SURPLUS_SLOT) &&
	    conn->state == FW_HTTP_IDLE && !conn->has_asked && spare > FW_LIMIT_HTTP_SILENT_MS)
		return FW_LIMIT_HTTP_SILENT_MS;
	return spare;
}

/* The higher, the sooner it is evicted. */
static unsigned rank(const struct fw_http_conn *conn)
{
	if (conn->state == FW_HTTP_BODY)
		return 1;
	return conn->state == FW_HTTP_IDLE && conn->has_asked ? 0 : 2;
}

static unsigned share(const struct fw_http_conn *conn)
{
	return conn->address ? conn->address->count : 0;
}

static bool is_evicted_before(const struct fw_http_conn *conn, const struct fw_http_conn *than)
{
	if (share(conn) != share(than))
		return share(conn) > share(than);
	if (rank(conn) != rank(than))
		return rank(conn) > rank(than);
	return conn->times.since_ms <= than->times.since_ms;
}

static bool can_evict(const struct fw_http_conn *conn, bool is_for_head, uint64_t now)
{
	return conn->state < FW_HTTP_ANSWERING &&
	       now - conn->times.since_ms >= grace_ms(conn, is_for_head);
}

/* For `asking`, which has sent a complete head; NULL: for a new connection. */
static struct fw_http_conn *find_victim(const struct fw_http *http, enum fw_http_slot slot,
					const struct fw_http_conn *asking)
{
	uint64_t now = fw_http__now_ms(http);
	struct fw_http_conn *found = NULL;

	/* The newest connection is the first in the list. */
	for (struct fw_http_conn *conn = http->peers; conn; conn = conn->next) {
		if (asking == conn || conn->slot != slot || !can_evict(conn, asking, now))
			continue;
		if (!found || is_evicted_before(conn, found))
			found = conn;
	}
	return found;
}

static fw_error *overloaded(uint64_t limit, const char *what)
{
	fw_error *err = fw_raise_server_overloaded(limit, what);

	fw_error_set_retry_after(err, 1);
	return err;
}

void fw_http__evict(struct fw_http_conn *conn)
{
	fw_http__leave_slot(conn);
	if ((conn->state == FW_HTTP_IDLE && conn->has_asked) ||
	    (conn->socket.ssl && !fw_http_tls_is_up(conn->socket.ssl))) {
		fw_http__abort(conn);
		return;
	}
	if (conn->state == FW_HTTP_BODY && conn->answer.is_decided) {
		fw_http__end_body(conn);
	} else {
		if (conn->state == FW_HTTP_IDLE)
			fw_http__reset_request(conn);
		fw_http__refuse(conn,
				overloaded(conn->http->admission.admitted_max, "connections"));
	}
	fw_http__queue(conn);
}

bool fw_http__admit(struct fw_http_conn *conn)
{
	struct fw_http *http = conn->http;
	struct fw_http_conn *victim;

	if (conn->slot == FW_HTTP_ADMITTED)
		return true;
	if (http->admission.admitted >= http->admission.admitted_max) {
		victim = find_victim(http, FW_HTTP_ADMITTED, conn);
		if (!victim)
			return false;
		fw_http__evict(victim);
	}
	take_slot(conn);
	return true;
}

/* ---- bodies ---------------------------------------------------------------------- */

bool fw_http__bound_bodies(struct fw_http_conn *conn)
{
	struct fw_http *http = conn->http;

	while (http->body_bytes > http->limits->http_unread_bytes) {
		struct fw_http_conn *victim = NULL;

		for (struct fw_http_conn *at = http->peers; at; at = at->next)
			if (at->state == FW_HTTP_BODY &&
			    at->body.buf.cap > FW_LIMIT_HTTP_KEPT_BYTES &&
			    (!victim || is_evicted_before(at, victim)))
				victim = at;
		if (!victim)
			return true;
		fw_http__refuse(victim, overloaded(http->limits->http_unread_bytes,
						   "bytes of request bodies"));
		fw_http__queue(victim);
		if (victim == conn)
			return false;
	}
	return true;
}

/* ---- accepting --------------------------------------------------------------------- */

static unsigned most_in_all(const struct fw_http *http)
{
	return http->admission.admitted_max + 4 * http->admission.surplus_max;
}

/* Closes the connection that has been in CLOSING for the longest time. */
static bool end_closing(struct fw_http *http)
{
	struct fw_http_conn *oldest = NULL;

	for (struct fw_http_conn *conn = http->peers; conn; conn = conn->next)
		if (conn->state == FW_HTTP_CLOSING &&
		    (!oldest || conn->times.since_ms <= oldest->times.since_ms))
			oldest = conn;
	if (!oldest || fw_http__now_ms(http) - oldest->times.since_ms < FW_LIMIT_HTTP_SILENT_MS)
		return false;
	fw_http__abort(oldest);
	return true;
}

/* True: one more can be accepted. Another one may be evicted for it. */
static bool make_room(struct fw_http *http)
{
	struct fw_http_conn *victim;

	if (http->peer_count >= most_in_all(http) && !end_closing(http))
		return false;
	if (http->admission.admitted < http->admission.admitted_max ||
	    http->admission.surplus < http->admission.surplus_max)
		return true;
	victim = find_victim(http, FW_HTTP_SURPLUS_SLOT, NULL);
	if (!victim)
		victim = find_victim(http, FW_HTTP_ADMITTED, NULL);
	if (victim)
		fw_http__evict(victim);
	return victim != NULL;
}

static void retry_due(uv_timer_t *timer)
{
	fw_http__watch_listener(timer->data, true);
}

void fw_http__watch_listener(struct fw_http *http, bool should)
{
	if (!http->is_started || http->is_quiesced || should == http->is_accepting)
		return;
	http->is_accepting = should;
	if (should) {
		uv_poll_start(&http->acceptor, UV_READABLE, fw_http__accept);
		return;
	}
	uv_poll_stop(&http->acceptor);
	uv_timer_start(&http->retry, retry_due, FW_LIMIT_HTTP_SILENT_MS / 2, 0);
}

/* False: no connection is waiting, or there is no descriptor for it. */
static bool accept_one(struct fw_http *http)
{
	union {
		struct sockaddr any;
		struct sockaddr_storage room;
	} address;
	socklen_t len = sizeof(address);
	struct fw_http_conn *conn;
	int fd = accept4(http->listen_fd, &address.any, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	int errnum = errno;

	if (fd < 0) {
		if (errnum != EAGAIN && errnum != EINTR && errnum != ECONNABORTED)
			fw_http__watch_listener(http, false);
		return errnum == EINTR || errnum == ECONNABORTED;
	}
	conn = fw_http__open(http, fd, &address.any);
	if (!conn)
		return true;
	if (http->admission.admitted < http->admission.admitted_max) {
		take_slot(conn);
	} else {
		conn->slot = FW_HTTP_SURPLUS_SLOT;
		http->admission.surplus++;
	}
	return true;
}

void fw_http__accept(uv_poll_t *handle, int status, int events)
{
	struct fw_http *http = handle->data;

	(void)status;
	(void)events;
	for (int i = 0; i < FW_LIMIT_HTTP_ACCEPTS; i++) {
		if (!make_room(http)) {
			fw_http__watch_listener(http, false);
			return;
		}
		if (!accept_one(http))
			return;
	}
}
