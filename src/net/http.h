/*
 * http.h - the Streamable HTTP transport, as its own files see it.
 *
 *   http.c          options, listening socket, start and stop
 *   http_admit.c    accept, who may stay when connections run out
 *   http_conn.c     one connection: its events and states
 *   http_io.c       its buffers
 *   http_parse.c    llhttp callbacks, strict checks of the head
 *   http_check.c    questions about header values and targets
 *   http_request.c  what a request asks for, up to the core
 *   http_body.c     its body
 *   http_reply.c    the core's answer, as a document or as a stream
 *   http_pace.c     time limits
 *   http_tls.c      OpenSSL
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
 * BODY then end without an answer; what happens in ANSWERING is described at
 * fw_http__hung_up().
 *
 * The one rule to remember: the core calls reply(), send() and close() from
 * anywhere, so these write at most, and never start the next request or free
 * anything. What follows from them is done by fw_http__advance(), which runs
 * from an event of the connection or from the ready list, outside the core.
 */
#ifndef FW_NET_HTTP_H
#define FW_NET_HTTP_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

#include <uv.h>

#include <faultwire/server.h>

#include "base/limits.h"
#include "mcp/transport.h"
#include "net/http_llhttp.h"

struct fw_http_conn;
struct fw_http_tls;
struct ssl_st;

enum {
	/* Connections above the limit that are let in, so that they can be refused
	 * with an answer. */
	FW_HTTP_SURPLUS = 64,
	/* One read. */
	FW_HTTP_SCRATCH_BYTES = 64 * 1024,
	FW_HTTP_ADDRESS_BUCKETS = 256,
};

/* How long a peer may take, and how long it may be left waiting. */
struct fw_http_pace {
	uint64_t idle_ms;
	uint64_t head_ms;
	uint64_t body_ms;
	uint64_t patience_ms;
	uint64_t silence_ms;
	uint64_t read_ms;
	uint64_t spare_ms;
	uint64_t linger_ms;
	uint64_t sweep_ms;
};

/* Connections of one IPv4 address or of one IPv6 /64. */
struct fw_http_address {
	struct fw_http_address *next; /* in its bucket */
	uint64_t key;
	unsigned count;
};

struct fw_http_text {
	char *data;
	size_t len;
	size_t cap;
};

struct fw_http {
	struct fw_transport base;
	const struct fw_limits *limits;
	struct fw_http_pace pace;

	char *path;
	char *bearer_token;
	char *allowed_hosts;
	char *allowed_origins;
	char *challenge; /* WWW-Authenticate */
	char *url;
	bool is_loopback; /* bound to a loopback address */
	bool is_wildcard;
	struct fw_http_tls *tls; /* NULL: plain HTTP */
	int listen_fd;

	/* Handles exist from start on. */
	uv_poll_t acceptor;
	uv_idle_t ready;
	uv_timer_t sweep;
	uv_timer_t flush;
	uv_timer_t retry; /* of accepting */
	unsigned open_handles;
	bool is_started;
	bool is_accepting;
	bool is_quiet;   /* accepts no connection any more */
	bool is_closing; /* everything is answered */
	bool is_closed;  /* the handles are closing */

	struct fw_http_conn *peers;
	struct fw_http_conn *ready_list;
	unsigned peer_count;
	unsigned standing;         /* connections within the limit */
	unsigned surplus;          /* connections above it */
	unsigned connections_most; /* the limit, or less if there are too few descriptors */
	unsigned surplus_most;
	unsigned answering; /* connections whose answer is not written yet */
	struct fw_http_address *addresses[FW_HTTP_ADDRESS_BUCKETS];

	uint64_t body_bytes;      /* memory of all request bodies that are being read */
	char *scratch;            /* FW_HTTP_SCRATCH_BYTES: what was just read */
	struct fw_http_text head; /* the response head that is being written */
	time_t date_s;
	char date[48];
	llhttp_settings_t settings;
};

enum fw_http_state {
	FW_HTTP_IDLE,
	FW_HTTP_HEAD,
	FW_HTTP_BODY,
	FW_HTTP_ANSWERING,
	FW_HTTP_CLOSING,
};

enum fw_http_method { FW_HTTP_POST, FW_HTTP_GET, FW_HTTP_DELETE };

/* Which count of struct fw_http a connection is in. */
enum fw_http_place { FW_HTTP_NO_PLACE, FW_HTTP_STANDING, FW_HTTP_IN_SURPLUS };

/* A part of the input, by offset: the input moves. */
struct fw_http_span {
	uint32_t at;
	uint32_t len;
};

struct fw_http_field {
	struct fw_http_span name;
	struct fw_http_span value;
};

/*
 * What came from the peer and is still needed: the current request from its
 * first byte, and what was read beyond it. With cap 0 the bytes are still in
 * http->scratch and are copied before the loop goes on (fw_http__own_input).
 */
struct fw_http_input {
	char *data;
	size_t len;
	size_t cap;
	size_t parsed; /* so much was given to the parser */
};

struct fw_http_conn {
	struct fw_exchange exchange; /* first: the core hands it back */
	struct fw_http *http;
	uv_poll_t poll;
	struct ssl_st *ssl; /* NULL: plain */
	struct fw_http_conn *next;
	struct fw_http_conn *previous;
	struct fw_http_conn *next_ready;
	struct fw_http_address *address;
	char address_text[46];
	int fd;
	int armed; /* uv_poll events */
	enum fw_http_place place;
	bool has_fin;     /* nothing more will be read */
	bool has_hung_up; /* the peer has closed its side; bytes may be left to read */
	bool has_asked;   /* at least one whole request */
	bool is_closed;   /* only the handle is left */
	bool is_ready;    /* in the ready list */
	bool is_inside;   /* fw_http__advance() is running */

	enum fw_http_state state;
	uint64_t since_ms; /* of the state */
	uint64_t spoke_ms; /* something was last put into the stream */
	uint64_t owed_ms;  /* since when the peer does not take our bytes; 0: it does */
	uint64_t hung_ms;  /* when the peer closed its side */

	llhttp_t parser;
	struct fw_http_input in;
	struct fw_http_text body;
	struct fw_http_text events; /* of a stream, not framed yet */
	struct fw_http_text out;    /* the socket did not take it yet */
	size_t out_at;              /* so much of it was sent */
	size_t drained;             /* bytes that were read only to be dropped */

	/* From here on zero when a request begins. */
	size_t request_end; /* what follows in the input is the next request */
	const char *body_at;
	size_t body_len;
	uint64_t body_length; /* announced */
	size_t extra_bytes;   /* trailers and chunk extensions */
	const char *fault;    /* why a callback stopped the parser */
	struct fw_http_span target;
	struct fw_http_span query;
	unsigned field_count;
	unsigned parameter_count; /* of the query, behind the fields */
	unsigned accepts;
	unsigned accept_count;
	unsigned host_count;
	unsigned origin_count;
	unsigned length_count;
	unsigned coding_count;
	unsigned type_count;
	unsigned authorization_count;
	unsigned expect_count;
	struct fw_http_span host;
	struct fw_http_span origin;
	struct fw_http_span authorization;
	struct fw_http_span type;
	struct fw_http_span length;
	struct fw_http_span coding;
	struct fw_http_span expect;
	enum fw_http_method method;
	bool is_value;         /* the parser is in a header value */
	bool is_head_complete; /* a callback paused the parser for this */
	bool is_message_complete;
	bool is_old;      /* HTTP/1.0 */
	bool is_head;     /* HEAD: the answer has no body */
	bool is_begun;    /* the core knows of it */
	bool is_decided;  /* by its head alone: the body is dropped */
	bool is_answered; /* the core has let go of the exchange */
	bool is_stream;   /* the answer is a stream of events */
	bool has_head;    /* of which the head was sent */
	bool has_end;     /* and the last chunk */
	bool is_complete; /* the stream has its last event */
	bool is_probed;   /* it was written to after the peer had closed its side */
	bool is_lost;     /* nobody reads the answer */
	bool must_close;  /* no further request on this connection */
	bool must_linger; /* unread bytes may follow: do not reset the peer */
	struct fw_http_field fields[FW_LIMIT_HTTP_FIELDS];
};

/* The bytes of a span; NUL-terminated once the head is complete. */
static inline const char *fw_http__at(const struct fw_http_conn *conn, struct fw_http_span span)
{
	return conn->in.data + span.at;
}

/* ---- http.c ------------------------------------------------------------------- */

/* One handle less; after the last one the transport is closed. */
void fw_http__handle_closed(struct fw_http *http);
/* Closes everything if the server stops and no answer is left to write. */
void fw_http__stop_if_done(struct fw_http *http);

/* ---- http_admit.c ------------------------------------------------------------- */

/* A uv_poll_cb for the listening socket. */
void fw_http__accept(uv_poll_t *handle, int status, int events);
/* Starts polling the listening socket, or stops for a moment. */
void fw_http__watch_listener(struct fw_http *http, bool should);
/* Is there a place for it within the limit now? Another one may lose its own. */
bool fw_http__admit(struct fw_http_conn *conn);
/* The connection no longer counts against the limit. */
void fw_http__leave_place(struct fw_http_conn *conn);
/* The count of its address. False: no memory. */
bool fw_http__join_address(struct fw_http_conn *conn, const struct sockaddr *address);
void fw_http__leave_address(struct fw_http_conn *conn);
/* Its place is needed: 503, or nothing if it is between requests. */
void fw_http__evict(struct fw_http_conn *conn);
/* Room for request bodies: 503 for the oldest large one if there is none. False:
 * that is this one, and it has been refused. */
bool fw_http__bound_bodies(struct fw_http_conn *conn);

/* ---- http_conn.c -------------------------------------------------------------- */

/* A new connection, in IDLE. NULL: no memory; the descriptor is closed. */
struct fw_http_conn *fw_http__open(struct fw_http *http, int fd,
				   const struct sockaddr *address);
void fw_http__enter(struct fw_http_conn *conn, enum fw_http_state state);
/* Goes on with whatever is possible. The connection may be closed afterwards. */
void fw_http__advance(struct fw_http_conn *conn);
/* Calls advance() soon, outside the core. */
void fw_http__queue(struct fw_http_conn *conn);
/* A uv_idle_cb: the turn of those that are queued. */
void fw_http__run_ready(uv_idle_t *handle);
/* The peer is gone: tells the core, and closes. */
void fw_http__lose(struct fw_http_conn *conn);
uint64_t fw_http__now_ms(const struct fw_http *http);

/* ---- http_io.c ---------------------------------------------------------------- */

/* Writes, or keeps what the socket does not take. */
void fw_http__write(struct fw_http_conn *conn, struct iovec *parts, int count);
/* Only keeps it: the request has not come to its end. */
void fw_http__keep(struct fw_http_conn *conn, const struct iovec *parts, int count);
/* Moves the input out of the shared buffer. False: no memory, is_lost is set. */
bool fw_http__own_input(struct fw_http_conn *conn);
/* Room for `more` bytes in memory of the connection. False: as above. */
bool fw_http__reserve_input(struct fw_http_conn *conn, size_t more);
/* The first `len` bytes are not needed any more. */
void fw_http__drop_input(struct fw_http_conn *conn, size_t len);
/* Sends what is kept, as far as the socket takes it. */
void fw_http__flush(struct fw_http_conn *conn);
static inline bool fw_http__is_again(int errnum)
{
	return errnum == EAGAIN || errnum == EINTR;
}

/* False: no memory, or more than `limit` bytes would be held. */
bool fw_http__text_reserve(struct fw_http_text *text, size_t more, size_t limit);
/* Empties it; a large buffer is freed. */
void fw_http__text_reset(struct fw_http_text *text);
void fw_http__text_clear(struct fw_http_text *text);
/* Exactly `cap` bytes of memory, at least its length. */
bool fw_http__text_fit(struct fw_http_text *text, size_t cap);
void fw_http__text_put(struct fw_http_text *text, const char *bytes, size_t len);

/* ---- http_parse.c ------------------------------------------------------------- */

enum fw_http_parsed {
	FW_HTTP_PARSED_MORE,   /* needs more input */
	FW_HTTP_PARSED_DONE,   /* the head, or the message, is complete */
	FW_HTTP_PARSED_REFUSED /* was refused */
};

void fw_http__set_callbacks(llhttp_settings_t *settings);
/* From in.parsed on. */
enum fw_http_parsed fw_http__parse_head(struct fw_http_conn *conn);
enum fw_http_parsed fw_http__parse_body(struct fw_http_conn *conn, const char *data, size_t len,
					size_t *ret_used);

/* ---- http_request.c ----------------------------------------------------------- */

/* Begins afresh: the exchange, and everything that belongs to one request. */
void fw_http__renew(struct fw_http_conn *conn);
/* The head is complete: accepts or refuses the request, and enters the next state. */
void fw_http__judge(struct fw_http_conn *conn);
/* The request is complete: hands it to the core. */
void fw_http__dispatch(struct fw_http_conn *conn);
/* An error for what is not HTTP, or HTTP that not every reader takes alike. */
fw_error *fw_http__malformed(int status, const char *reason);
/* Refuses the request and ends the connection after the answer. Consumes err. */
void fw_http__refuse(struct fw_http_conn *conn, fw_error *err);

/* ---- http_body.c -------------------------------------------------------------- */

/* A chunk of that size is announced. False: it is too large, and refused. */
bool fw_http__expect_chunk(struct fw_http_conn *conn, uint64_t size);
/* A part of the body. False: the request has been refused. */
bool fw_http__take_body(struct fw_http_conn *conn, const char *data, size_t len);
/* The rest of a body that was to be dropped is not read: what the head decided is
 * sent now, and the connection ends. */
void fw_http__end_body(struct fw_http_conn *conn);
void fw_http__release_body(struct fw_http_conn *conn);

/* ---- http_reply.c ------------------------------------------------------------- */

extern const struct fw_exchange_ops fw_http__exchange_ops;

/* Puts a comment into the stream; an answer that was none becomes one. */
void fw_http__keep_alive(struct fw_http_conn *conn);
/* Writes the events that have come together. */
void fw_http__flush_stream(struct fw_http_conn *conn);

/* ---- http_pace.c -------------------------------------------------------------- */

/* A uv_timer_cb. */
void fw_http__sweep(uv_timer_t *timer);
/*
 * The peer has closed its side. A full close and a half close look the same
 * until something is written: a peer that is gone answers with a reset. So a
 * stream gets a comment at once; a request that waits for its answer is given
 * FW_LIMIT_HTTP_HALF_CLOSED_MS, then it becomes a stream and gets that comment
 * too. A peer that still reads gets its answer. A request whose answer cannot
 * be a stream (a page, DELETE) is given four times as long and then dropped.
 */
void fw_http__hung_up(struct fw_http_conn *conn);

#endif
