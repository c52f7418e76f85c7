/*
 * transport.h - the interface between transports (src/net/) and the protocol core
 * (src/mcp/). Transports know bytes and connections; the core knows messages, sessions,
 * eras, statuses and errors.
 *
 * The one rule to remember: everything here happens on the server's loop thread, and an
 * exchange is answered exactly once: by reply(), by close(), or by the transport itself
 * after it has called fw_exchange_gone().
 */
#ifndef FW_MCP_TRANSPORT_H
#define FW_MCP_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include <faultwire/call.h>
#include <faultwire/principal.h>
#include <faultwire/serve.h>

#include "base/limits.h"

struct fw_exchange;
struct fw_session;
struct fw_batch;
struct fw_route_entry;
struct fw_takeover;

/* ---- what the core says to a transport ------------------------------------ */

/* One message before the reply, or one event of a stream. */
struct fw_event {
	const char *json; /* one line, no newline in it; "" (len 0): a priming event */
	size_t len;
	const char *id;    /* SSE event id; NULL: none */
	uint32_t retry_ms; /* SSE retry field; 0: none */
	const char *name;  /* SSE event type; NULL: "message" */
};

struct fw_reply {
	int status;       /* HTTP */
	const char *json; /* the body; NULL: none (202, 200 of DELETE) */
	size_t len;
	const char *event_id;   /* SSE event id, if the exchange became a stream */
	const char *session_id; /* Mcp-Session-Id of the response; NULL: none */
	const char *allow;      /* Allow header, with 405; NULL: none */
	const char *type;       /* media type of the body; NULL: application/json */
	uint32_t retry_after_s; /* Retry-After header; 0: none */
	bool challenge;         /* 401: the transport adds WWW-Authenticate */
	/* 403: the scope that the caller lacks, for WWW-Authenticate; NULL: none. */
	const char *scope;
	/* Further headers of a page, each a line with CR LF; NULL: none. */
	const char *headers;
	bool has_cache_control; /* one of them is; else a page is not stored */
	const char *event_name; /* SSE event type, if the exchange became a stream */
	/* The buffer that holds `json`, and nothing else: a transport may take the text by
	 * fw_buf_swap() instead of copying it. NULL: it must be copied. */
	struct fw_buf *own;
};

struct fw_exchange_ops {
	/*
	 * HTTP: the first send() turns the response into a stream of events
	 * (200, text/event-stream) and flushes at once. stdio: a line.
	 */
	void (*send)(struct fw_exchange *exchange, const struct fw_event *event);
	/*
	 * The answer. HTTP: JSON with that status, or, when the exchange is a stream, its
	 * last event. The core does not use an HTTP exchange after this call. On stdio an
	 * exchange is the whole connection and stays.
	 */
	void (*reply)(struct fw_exchange *exchange, const struct fw_reply *reply);
	/*
	 * There will be no answer: a cancelled legacy call, a stream that is closed on
	 * purpose. HTTP: ends the stream (before any event: an empty 202). stdio:
	 * nothing. The core does not use it afterwards.
	 */
	void (*close)(struct fw_exchange *exchange);
	/*
	 * The value of a request header, blanks trimmed, NUL-terminated, valid
	 * until the request callback returns; NULL: absent. `*ret_count` (may be
	 * NULL) is how often it came. NULL member: a transport without headers.
	 */
	const char *(*header)(struct fw_exchange *exchange, const char *name,
			      unsigned *ret_count);
	/* A decoded query parameter, valid as long; NULL: absent. NULL member: a
	 * transport without a query. */
	const char *(*query)(struct fw_exchange *exchange, const char *name);
};

/*
 * Where replies go: one HTTP request, or one stdio connection. Embedded in the
 * transport's own structure; zeroed, then fw_exchange_init().
 *
 * The transport owns it. The core points to it only from its `calls` and `batches` lists,
 * from call->exchange and batch->exchange of their members, from page->exchange of its
 * page, and from stream->exchange if exchange->streaming names the stream's session.
 * fw_exchange_gone() clears all of these, in every state of the call and the session. So
 * never take a call off the server's list before it has answered its exchange, and never
 * keep a pointer to an exchange elsewhere.
 */
struct fw_exchange {
	const struct fw_exchange_ops *ops;
	fw_server *server;
	bool is_http;
	bool is_page; /* a page beside the endpoint: failures become problem documents */
	fw_principal *principal; /* borrowed; NULL: nothing was proven */
	const char *peer;        /* address of the peer; NULL: none */
	/* What fw_server__page_terms() found for a page; NULL: to be looked up. */
	const struct fw_route_entry *route;
	bool is_alarm; /* refused, and an alert must be raised: see authority.h */
	/* Owned by the core: */
	fw_page *page;                /* open: to be answered, or a stream */
	struct fw_session *session;   /* borrowed; the only session of stdio */
	fw_call *calls;               /* in progress */
	struct fw_session *streaming; /* it is the GET stream of this session */
	bool persistent;              /* stdio: outlives its answers */
	struct fw_batch *batches;     /* that will reply through it */
	struct fw_takeover *takeover; /* its session is looked up; NULL: no */
};

/* ---- what a transport says to the core ------------------------------------- */

void fw_exchange_init(struct fw_exchange *exchange, fw_server *server,
		      const struct fw_exchange_ops *ops, bool is_http);

/*
 * A message has come: a line of stdio, the body of a POST. The text is copied
 * as far as it is kept. The answer may come during this call or later.
 */
void fw_exchange_receive(struct fw_exchange *exchange, const char *text, size_t len);

/* HTTP GET of the endpoint: opens the stream of the session, or resumes one
 * (Last-Event-ID). Refuses with reply(), or sends now and later. */
void fw_exchange_open_stream(struct fw_exchange *exchange);

/* HTTP DELETE of the endpoint. Always ends in reply(). */
void fw_exchange_end_session(struct fw_exchange *exchange);

/* Who may see the page of a path. */
enum fw_page_access {
	FW_PAGE_NONE,
	FW_PAGE_UNCHECKED, /* anyone, with any Host header */
	FW_PAGE_OPEN,      /* without a token */
	FW_PAGE_GUARDED
};

/* What a request for a page must satisfy, before its body is read. */
struct fw_page_terms {
	enum fw_page_access access;         /* FW_PAGE_NONE: there is no such path */
	const struct fw_route_entry *route; /* NULL: none takes it */
	bool takes_method;
	bool takes_cookie;   /* see fw_route */
	uint64_t body_bytes; /* the most that its handler takes; 0: the body is dropped */
	char allow[48];      /* the methods that the path takes; set if not this one */
};
void fw_server__page_terms(const fw_server *server, const char *method, const char *path,
			   struct fw_page_terms *ret_terms);

/* The texts are copied. */
struct fw_page_request {
	const char *method; /* "GET" */
	const char *path;   /* decoded */
	const char *body;   /* NULL: none */
	size_t len;
};

/* A request for a page, after its terms were checked. The answer may come during this
 * call or later: reply(), or send() and then reply() or close(). */
void fw_exchange_open_page(struct fw_exchange *exchange, const struct fw_page_request *request);

/* The headers that the open page of a stream has set, as in fw_reply; NULL: none. */
const char *fw_exchange_page_headers(const struct fw_exchange *exchange);

/*
 * The transport refuses (Origin, token, media type, size, method): `err`
 * (consumed) leaves through the boundary like any other, as reply() with the
 * error's own HTTP status.
 */
void fw_exchange_refuse(struct fw_exchange *exchange, fw_error *err);

/*
 * The peer has gone away. Modern calls are cancelled, legacy ones go on and
 * their answers are dropped or kept for resumption. The core never touches the
 * exchange again.
 */
void fw_exchange_gone(struct fw_exchange *exchange);

/* Who is calling; never NULL. */
const fw_principal *fw_exchange_principal(const struct fw_exchange *exchange);

/* Whether initialize or server/discover waits for a server behind this one. A client may
 * send what follows it before the answer: stdio reads on when this is false. */
bool fw_exchange_is_greeting(const struct fw_exchange *exchange);

/* Whether the core will still reply to this exchange. */
bool fw_exchange_is_busy(const struct fw_exchange *exchange);

/* ---- the transport as a whole ---------------------------------------------- */

struct fw_transport;

struct fw_transport_ops {
	/* fw_server_run() begins: read, accept. */
	fw_error *(*start)(struct fw_transport *transport);
	/* A stop has begun: accept nothing new. Calls in progress continue. */
	void (*quiesce)(struct fw_transport *transport);
	/*
	 * All is answered: flush (within the limit flush_ms), close every handle,
	 * then call fw_transport_closed(), at once or later.
	 */
	void (*close)(struct fw_transport *transport);
	/* After closed, or when it never started. Frees the structure. */
	void (*free)(struct fw_transport *transport);
	/* NULL, or the URL of the endpoint. */
	const char *(*url)(const struct fw_transport *transport);
	/* How many are open. NULL member: one. */
	size_t (*connections)(const struct fw_transport *transport);
};

struct fw_transport {
	const struct fw_transport_ops *ops;
	struct fw_transport *next;
	fw_server *server;
	bool is_closed;
};

/* The server owns the transport from now on. */
void fw_transport_attach(struct fw_transport *transport, fw_server *server);
/* Why it cannot go on, for the result of fw_server_run(); the first reason is kept. Consumes
 * `err`. The transport hangs up as well. */
void fw_transport_failed(struct fw_transport *transport, fw_error *err);
/* stdio: the input has ended. The server stops if there is no other transport. */
void fw_transport_hangup(struct fw_transport *transport);
/* All its handles are closed. */
void fw_transport_closed(struct fw_transport *transport);

/* The loop that everything runs on. Valid from fw_server_new() on. */
uv_loop_t *fw_server__loop(fw_server *server);
struct fw_linger *fw_server__linger(fw_server *server);
/* The message that is being received is followed by others that have arrived with it. */
void fw_server__set_more(fw_server *server, bool has_more);
/* Its limits do not change once a transport is attached. */
const struct fw_limits *fw_server__limits(const fw_server *server);
/* Whether it accepts new calls, for /readyz. */
bool fw_server__is_ready(const fw_server *server);

#endif
