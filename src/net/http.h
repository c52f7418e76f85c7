/*
 * http.h - the Streamable HTTP transport, as its own files see it.
 *
 *   http.c          the transport: options, listening socket, start and stop
 *   http_admit.c    accepting connections, and evicting them when there are too many
 *   http_conn.c     one connection: its events and states
 *   http_io.c       input and output buffers of a connection
 *   http_usual.c    requests of the usual form, without a parser
 *   http_parse.c    all others: llhttp callbacks and strict checks of the request head
 *   http_auth.c     bearer tokens
 *   http_check.c    predicates on header values and request targets
 *   http_request.c  checks of a request, and its dispatch to the core
 *   http_body.c     request bodies
 *   http_reply.c    the core's answer, as a document or as a stream
 *   http_pace.c     time limits
 *   http_tls.c      OpenSSL
 *
 * Each of them has a header of the same name; http_request.h is also the header of
 * http_parse.c and http_usual.c. A connection (http_conn.h) consists of the structs of those
 * headers.
 *
 * A connection carries one request at a time and is in one of these states:
 *
 *          first byte         end of head         end of body
 *   IDLE ------------> HEAD -------------> BODY -------------> ANSWERING
 *    ^                   |                   |                   |   |
 *    |                   +-- refused, too slow or malformed -->--+   |
 *    |                                                           |   |
 *    +--------------- answer written, connection kept -----------+   |
 *                                                                    |
 *   closed <---- peer closed, linger_ms ---- CLOSING <---------------+
 *                                            answer written, not kept
 *
 * In every state the peer may close or reset the connection. IDLE, HEAD and
 * BODY then end without an answer; fw_http__hung_up() describes what happens in
 * ANSWERING.
 *
 * The one rule to remember: the core calls reply(), send() and close() from
 * anywhere, so these functions only write; they never start the next request or
 * free anything. fw_http__advance() does the rest. It runs from an event of the
 * connection or from the ready list, never inside a call of the core.
 */
#ifndef FW_NET_HTTP_H
#define FW_NET_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <uv.h>

#include <faultwire/listen.h>
#include <faultwire/serve.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/timer.h"
#include "mcp/transport.h"
#include "net/http_admit.h"
#include "net/http_llhttp.h"
#include "net/http_pace.h"

struct fw_http_conn;
struct fw_http_tls;

enum {
	/* The most that one read takes. */
	FW_HTTP_SCRATCH_BYTES = 64 * 1024,
};

/* What requests are checked against. */
struct fw_http_config {
	char *path;
	char *bearer_token;      /* NULL: none is required */
	fw_principal *principal; /* who has that token */
	char *allowed_hosts;     /* NULL: no list */
	char *allowed_origins;   /* NULL: no list */
	char *metadata_url;      /* for WWW-Authenticate; NULL: none */
	bool is_loopback;        /* bound to a loopback address */
	bool is_wildcard;        /* bound to all addresses */
};

/* The Date header with the line breaks around it, formatted once per second. */
struct fw_http_date {
	time_t time;
	size_t len;
	char line[64];
};

struct fw_http {
	struct fw_transport base;
	const struct fw_limits *limits;
	struct fw_http_pace pace;
	struct fw_http_config config;
	char *url;
	struct fw_http_tls *tls; /* NULL: plain HTTP */
	int listen_fd;

	/* These handles exist from start() on. */
	uv_poll_t acceptor;
	uv_idle_t ready;
	struct fw_timer sweep;
	uv_timer_t flush;
	uv_timer_t retry; /* starts accepting again */
	unsigned open_handles;
	bool is_started;
	bool is_accepting;
	bool is_quiesced; /* no new connections are accepted */
	bool is_closing;  /* close when the last answer is written */
	bool is_closed;   /* the handles are closing */

	struct fw_http_conn *peers;
	struct fw_http_conn *ready_list;
	unsigned peer_count;
	unsigned answering; /* connections whose answer is not written yet */
	struct fw_http_admission admission;

	struct fw_guard *guard; /* of the transport's own token; NULL: no wrong one yet */
	bool is_proven;         /* the right one was shown before */
	uint64_t body_bytes;    /* memory of all request bodies that are being read */
	char *scratch;          /* FW_HTTP_SCRATCH_BYTES: the bytes that were just read */
	struct fw_buf head;     /* the response head that is being written */
	struct fw_http_date date;
	llhttp_settings_t settings;
};

uint64_t fw_http__now_ms(const struct fw_http *http);
/* One open handle less; after the last one the transport is closed. */
void fw_http__handle_closed(struct fw_http *http);
/* Closes everything if the server is stopping and the last answer is written. */
void fw_http__stop_if_done(struct fw_http *http);

#endif
