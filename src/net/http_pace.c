/*
 * http_pace.c - see http_pace.h.
 *
 * One timer checks all connections. The limits are long, so this costs less than
 * a timer per request would.
 */
#include "net/http_pace.h"

#include <faultwire/raise.h>

#include "net/http_conn.h"
#include "net/http_check.h"
#include "net/http_tls.h"

static bool may_stream(const struct fw_http_conn *conn)
{
	/* The handler of a page decides whether its answer is a stream. */
	if (conn->exchange.is_page)
		return conn->answer.is_stream;
	return (conn->head.accepts & FW_HTTP_ACCEPTS_EVENTS) && !conn->answer.has_no_body;
}

static void probe(struct fw_http_conn *conn)
{
	if (conn->answer.is_probed)
		return;
	conn->answer.is_probed = true;
	fw_http__keep_alive(conn);
}

void fw_http__hung_up(struct fw_http_conn *conn)
{
	if (conn->socket.has_hung_up)
		return;
	conn->socket.has_hung_up = true;
	conn->times.hung_up_ms = fw_http__now_ms(conn->http);
	if (conn->state == FW_HTTP_ANSWERING && conn->answer.is_stream &&
	    conn->answer.exchange != FW_HTTP_ANSWERED)
		probe(conn);
}

/* Finds out whether a peer that has closed its side still reads. */
static void sweep_hung_up(struct fw_http_conn *conn, uint64_t now)
{
	uint64_t age = now - conn->times.hung_up_ms;

	if (conn->answer.exchange == FW_HTTP_ANSWERED || conn->answer.is_probed ||
	    age < FW_LIMIT_HTTP_HALF_CLOSED_MS)
		return;
	if (may_stream(conn))
		probe(conn);
	else if (age >= 4u * FW_LIMIT_HTTP_HALF_CLOSED_MS)
		fw_http__abort(conn);
}

static void too_slow(struct fw_http_conn *conn, const char *what, uint64_t limit_ms)
{
	if (conn->socket.ssl && !fw_http_tls_is_up(conn->socket.ssl)) {
		fw_http__abort(conn);
		return;
	}
	/* An answer that the head decided is sent instead of a 408. */
	if (conn->state == FW_HTTP_BODY && conn->answer.is_decided)
		fw_http__end_body(conn);
	else
		fw_http__refuse(conn, fw_raise_protocol_request_timeout(what, limit_ms));
	fw_http__queue(conn);
}

static void sweep_idle(struct fw_http_conn *conn, uint64_t age)
{
	const struct fw_http_pace *pace = &conn->http->pace;

	/* A handshake has the time limit of a head. */
	if (conn->socket.ssl && !fw_http_tls_is_up(conn->socket.ssl) && age >= pace->head_ms)
		fw_http__abort(conn);
	else if (age >= pace->idle_ms)
		fw_http__abort(conn);
	else if (conn->slot == FW_HTTP_SURPLUS_SLOT && age >= pace->spare_ms)
		fw_http__evict(conn);
}

static void sweep_answering(struct fw_http_conn *conn, uint64_t now)
{
	const struct fw_http_pace *pace = &conn->http->pace;

	if (conn->times.stalled_ms && now - conn->times.stalled_ms >= pace->read_ms) {
		fw_http__abort(conn);
		return;
	}
	if (conn->socket.has_hung_up)
		sweep_hung_up(conn, now);
	if (conn->is_closed || conn->answer.exchange == FW_HTTP_ANSWERED ||
	    conn->times.stalled_ms || !may_stream(conn))
		return;
	if (conn->answer.is_stream ? now - conn->times.event_ms >= pace->silence_ms
				   : now - conn->times.since_ms >= pace->patience_ms)
		fw_http__keep_alive(conn);
}

static void sweep(struct fw_http_conn *conn, uint64_t now)
{
	const struct fw_http_pace *pace = &conn->http->pace;
	uint64_t age = now - conn->times.since_ms;

	switch (conn->state) {
	case FW_HTTP_IDLE: sweep_idle(conn, age); break;
	case FW_HTTP_HEAD:
		if (age >= pace->head_ms)
			too_slow(conn, "head", pace->head_ms);
		break;
	case FW_HTTP_BODY:
		if (age >= pace->body_ms)
			too_slow(conn, "body", pace->body_ms);
		break;
	case FW_HTTP_ANSWERING: sweep_answering(conn, now); break;
	case FW_HTTP_CLOSING:
		if (age >= pace->linger_ms ||
		    now - conn->times.dropped_ms >= pace->linger_silent_ms)
			fw_http__abort(conn);
		break;
	}
}

void fw_http__sweep(void *ctx)
{
	struct fw_http *http = ctx;
	uint64_t now = fw_http__now_ms(http);

	for (struct fw_http_conn *conn = http->peers, *next; conn; conn = next) {
		/* The sweep of a connection unlinks no other one: only new connections
		 * and requests evict others. */
		next = conn->next;
		sweep(conn, now);
	}
	if (http->peers)
		fw_timer_set(&http->sweep, http->pace.sweep_ms);
}
