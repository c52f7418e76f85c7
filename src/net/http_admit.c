/*
 * http_admit.c - new connections, and who may stay when there are too many.
 *
 * A connection within the limit has a place. When all places are taken, a new
 * connection is surplus: its request is read, and only then it needs a place. It
 * gets the place of the connection that is worth least: of the address with
 * most connections, one that has not sent a whole request for the longest time.
 * A connection is left alone while it is new (http_spare_ms), and always while
 * its request is being answered. If nobody can be turned out, the answer is 503.
 *
 * When there are too many surplus connections as well, the same is done for the
 * next newcomer; a surplus connection without a byte is left alone for
 * FW_LIMIT_HTTP_SILENT_MS only, as any is that a whole request needs the place of. Until somebody can be turned out, newcomers wait
 * in the queue of the listening socket: none is accepted to be closed at once.
 *
 * Whoever loses its place in the middle of a request, or before its first, gets
 * a 503. A connection between requests is closed, as clients expect.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include <faultwire/raise.h>

#include "base/mem.h"
#include "net/http.h"
#include "net/http_tls.h"

/* ---- addresses ------------------------------------------------------------------- */

/* IPv6: the network, because its owner has all addresses of it. */
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
	struct fw_http_address **at = &http->addresses[hash >> 56];

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

/* ---- places ---------------------------------------------------------------------- */

void fw_http__leave_place(struct fw_http_conn *conn)
{
	if (conn->place == FW_HTTP_STANDING)
		conn->http->standing--;
	else if (conn->place == FW_HTTP_IN_SURPLUS)
		conn->http->surplus--;
	conn->place = FW_HTTP_NO_PLACE;
}

static void take_place(struct fw_http_conn *conn)
{
	fw_http__leave_place(conn);
	conn->place = FW_HTTP_STANDING;
	conn->http->standing++;
}

/* For how long may it take its time? A request that is there is worth more than
 * a connection without a byte, and so is the next surplus connection. */
static uint64_t grace_ms(const struct fw_http_conn *conn, bool is_asked_for)
{
	uint64_t spare = conn->http->pace.spare_ms;

	if ((is_asked_for || conn->place == FW_HTTP_IN_SURPLUS) &&
	    conn->state == FW_HTTP_IDLE && !conn->has_asked && spare > FW_LIMIT_HTTP_SILENT_MS)
		return FW_LIMIT_HTTP_SILENT_MS;
	return spare;
}

/* The higher, the sooner it goes. */
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

static bool is_worth_less(const struct fw_http_conn *conn, const struct fw_http_conn *than)
{
	if (share(conn) != share(than))
		return share(conn) > share(than);
	if (rank(conn) != rank(than))
		return rank(conn) > rank(than);
	return conn->since_ms <= than->since_ms;
}

static bool may_go(const struct fw_http_conn *conn, bool is_asked_for, uint64_t now)
{
	return conn->state < FW_HTTP_ANSWERING &&
	       now - conn->since_ms >= grace_ms(conn, is_asked_for);
}

/* For `asking`, which has sent a whole head; NULL: for somebody who comes. */
static struct fw_http_conn *find_victim(const struct fw_http *http, enum fw_http_place place,
					const struct fw_http_conn *asking)
{
	uint64_t now = fw_http__now_ms(http);
	struct fw_http_conn *found = NULL;

	/* The newest are first. */
	for (struct fw_http_conn *conn = http->peers; conn; conn = conn->next) {
		if (asking == conn || conn->place != place || !may_go(conn, asking, now))
			continue;
		if (!found || is_worth_less(conn, found))
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
	fw_http__leave_place(conn);
	if ((conn->state == FW_HTTP_IDLE && conn->has_asked) ||
	    (conn->ssl && !fw_http_tls_is_up(conn->ssl))) {
		fw_http__lose(conn);
		return;
	}
	if (conn->state == FW_HTTP_BODY && conn->is_decided) {
		fw_http__end_body(conn);
	} else {
		if (conn->state == FW_HTTP_IDLE)
			fw_http__renew(conn);
		fw_http__refuse(conn, overloaded(conn->http->connections_most, "connections"));
	}
	fw_http__queue(conn);
}

bool fw_http__admit(struct fw_http_conn *conn)
{
	struct fw_http *http = conn->http;
	struct fw_http_conn *victim;

	if (conn->place == FW_HTTP_STANDING)
		return true;
	if (http->standing >= http->connections_most) {
		victim = find_victim(http, FW_HTTP_STANDING, conn);
		if (!victim)
			return false;
		fw_http__evict(victim);
	}
	take_place(conn);
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
			    at->body.cap > FW_LIMIT_HTTP_KEPT_BYTES &&
			    (!victim || is_worth_less(at, victim)))
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
	return http->connections_most + 4 * http->surplus_most;
}

/* The connection that has been closing for longest has had time to read. */
static bool end_closing(struct fw_http *http)
{
	struct fw_http_conn *oldest = NULL;

	for (struct fw_http_conn *conn = http->peers; conn; conn = conn->next)
		if (conn->state == FW_HTTP_CLOSING &&
		    (!oldest || conn->since_ms <= oldest->since_ms))
			oldest = conn;
	if (!oldest || fw_http__now_ms(http) - oldest->since_ms < FW_LIMIT_HTTP_SILENT_MS)
		return false;
	fw_http__lose(oldest);
	return true;
}

/* Can one more be accepted? Another one may be turned out for it. */
static bool make_room(struct fw_http *http)
{
	struct fw_http_conn *victim;

	if (http->peer_count >= most_in_all(http) && !end_closing(http))
		return false;
	if (http->standing < http->connections_most || http->surplus < http->surplus_most)
		return true;
	victim = find_victim(http, FW_HTTP_IN_SURPLUS, NULL);
	if (!victim)
		victim = find_victim(http, FW_HTTP_STANDING, NULL);
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
	if (!http->is_started || http->is_quiet || should == http->is_accepting)
		return;
	http->is_accepting = should;
	if (should) {
		uv_poll_start(&http->acceptor, UV_READABLE, fw_http__accept);
		return;
	}
	uv_poll_stop(&http->acceptor);
	uv_timer_start(&http->retry, retry_due, FW_LIMIT_HTTP_SILENT_MS / 2, 0);
}

/* False: there is none, or no descriptor for it. */
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
	if (http->standing < http->connections_most) {
		take_place(conn);
	} else {
		conn->place = FW_HTTP_IN_SURPLUS;
		http->surplus++;
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
