/*
 * http_pace.c - how long peers may take.
 *
 * One timer looks at all connections: limits are long, and a timer of its own
 * would cost each request more than the look costs all of them.
 */
#include <faultwire/raise.h>

#include "net/http.h"
#include "net/http_check.h"
#include "net/http_tls.h"

static bool may_stream(const struct fw_http_conn *conn)
{
	return (conn->accepts & FW_HTTP_ACCEPTS_EVENTS) && !conn->exchange.is_page &&
	       !conn->is_head;
}

static void probe(struct fw_http_conn *conn)
{
	if (conn->is_probed)
		return;
	conn->is_probed = true;
	fw_http__keep_alive(conn);
}

void fw_http__hung_up(struct fw_http_conn *conn)
{
	if (conn->has_hung_up)
		return;
	conn->has_hung_up = true;
	conn->hung_ms = fw_http__now_ms(conn->http);
	if (conn->state == FW_HTTP_ANSWERING && conn->is_stream && !conn->is_answered)
		probe(conn);
}

/* Nothing was written since the peer closed its side: is it still there? */
static void sweep_hung_up(struct fw_http_conn *conn, uint64_t now)
{
	uint64_t age = now - conn->hung_ms;

	if (conn->is_answered || conn->is_probed || age < FW_LIMIT_HTTP_HALF_CLOSED_MS)
		return;
	if (may_stream(conn))
		probe(conn);
	else if (age >= 4u * FW_LIMIT_HTTP_HALF_CLOSED_MS)
		fw_http__lose(conn);
}

static void too_slow(struct fw_http_conn *conn, const char *what, uint64_t limit_ms)
{
	if (conn->ssl && !fw_http_tls_is_up(conn->ssl)) {
		fw_http__lose(conn);
		return;
	}
	/* What was decided by the head is sent in place of a 408. */
	if (conn->state == FW_HTTP_BODY && conn->is_decided)
		fw_http__end_body(conn);
	else
		fw_http__refuse(conn, fw_raise_protocol_request_timeout(what, limit_ms));
	fw_http__queue(conn);
}

static void sweep_idle(struct fw_http_conn *conn, uint64_t age)
{
	const struct fw_http_pace *pace = &conn->http->pace;

	/* A handshake that does not end is not idleness. */
	if (conn->ssl && !fw_http_tls_is_up(conn->ssl) && age >= pace->head_ms)
		fw_http__lose(conn);
	else if (age >= pace->idle_ms)
		fw_http__lose(conn);
	else if (conn->place == FW_HTTP_IN_SURPLUS && age >= pace->spare_ms)
		fw_http__evict(conn);
}

static void sweep_answering(struct fw_http_conn *conn, uint64_t now)
{
	const struct fw_http_pace *pace = &conn->http->pace;

	if (conn->owed_ms && now - conn->owed_ms >= pace->read_ms) {
		fw_http__lose(conn);
		return;
	}
	if (conn->has_hung_up)
		sweep_hung_up(conn, now);
	if (conn->is_closed || conn->is_answered || conn->owed_ms || !may_stream(conn))
		return;
	if (conn->is_stream ? now - conn->spoke_ms >= pace->silence_ms
			    : now - conn->since_ms >= pace->patience_ms)
		fw_http__keep_alive(conn);
}

static void sweep(struct fw_http_conn *conn, uint64_t now)
{
	const struct fw_http_pace *pace = &conn->http->pace;
	uint64_t age = now - conn->since_ms;

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
		if (age >= pace->linger_ms)
			fw_http__lose(conn);
		break;
	}
}

void fw_http__sweep(uv_timer_t *timer)
{
	struct fw_http *http = timer->data;
	uint64_t now = fw_http__now_ms(http);

	for (struct fw_http_conn *conn = http->peers, *next; conn; conn = next) {
		/* Only `conn` can be unlinked by its own sweep: a victim is chosen by
		 * newcomers alone. */
		next = conn->next;
		sweep(conn, now);
	}
}
