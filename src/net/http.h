/*
 * http.h - the Streamable HTTP transport, as its own files see it.
 *
 * http.c binds, starts and stops; http_loop.c turns the crank and watches the
 * clock; http_request.c takes a request in, up to the core; http_reply.c takes
 * the answer out; http_check.c knows header values.
 *
 * The one rule to remember: libmicrohttpd is driven by turning the crank alone,
 * and nothing that the core calls turns it: another request might come in while
 * the core is in the middle of something. Waking a connection asks for a turn.
 */
#ifndef FW_NET_HTTP_H
#define FW_NET_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include <faultwire/server.h>

#include "base/limits.h"
#include "mcp/transport.h"
#include "net/mhd.h"

struct fw_http_peer;

/* Connections beyond the limit that are let in, for as long as it takes to tell
 * them so. */
enum { FW_HTTP_SURPLUS = 64 };

/* How long a peer may take, and how long it may be left waiting. */
struct fw_http_pace {
	uint64_t idle_ms;
	uint64_t head_ms;
	uint64_t body_ms;
	uint64_t patience_ms;
	uint64_t silence_ms;
	uint64_t read_ms;
	uint64_t spare_ms;
	uint64_t sweep_ms;
};

struct fw_http {
	struct fw_transport base;
	struct MHD_Daemon *daemon;
	const struct fw_limits *limits;
	struct fw_http_pace pace;

	char *path;
	char *bearer_token;
	char *allowed_hosts;
	char *allowed_origins;
	char *challenge; /* WWW-Authenticate */
	char *url;
	bool is_loopback; /* bound to an address of this machine alone */
	bool is_wildcard;
	bool is_tls;

	/* Handles exist from start on. */
	uv_poll_t crank; /* the daemon's epoll descriptor */
	uv_poll_t watch; /* ours, for peers that go away while suspended */
	uv_timer_t timer;
	uv_timer_t sweep;
	uv_timer_t flush;
	int watch_fd;
	unsigned open_handles;
	bool is_started;
	bool is_turning;
	bool is_quiet;   /* takes no connection any more */
	bool is_closing; /* all is answered */

	struct fw_http_peer *peers;
	unsigned peer_count;
	unsigned standing;         /* of these, those within the limit and not cut off */
	unsigned surplus;          /* and those beyond it */
	unsigned connections_most; /* the limit, or fewer where descriptors are */
	unsigned surplus_most;
	unsigned answering; /* peers whose answer is not out yet */

	char start_log[256]; /* what the daemon said while it started */
};

struct fw_http_text {
	char *data;
	size_t len;
	size_t cap;
};

struct fw_http_field {
	const char *name;
	const char *value;
	size_t name_len;
};

enum fw_http_phase {
	FW_HTTP_IDLE,     /* between requests */
	FW_HTTP_HEAD,     /* its first line is there */
	FW_HTTP_BODY,     /* its headers are */
	FW_HTTP_ANSWERING /* all of it is */
};

enum fw_http_method { FW_HTTP_POST, FW_HTTP_GET, FW_HTTP_DELETE };

/*
 * A connection, and the request that it carries: there is one at a time, so
 * their memory is the same and is used again.
 */
struct fw_http_peer {
	struct fw_exchange exchange; /* first: the core hands it back */
	struct fw_http *http;
	struct MHD_Connection *connection;
	struct fw_http_peer *next;
	struct fw_http_peer *previous;
	int fd;
	bool is_watched;  /* the watch knows fd */
	bool has_hung_up; /* nothing more will come from it */
	bool has_asked;   /* something, at least once */
	bool is_spaced;   /* a blank in the target, which some read otherwise */
	bool is_surplus;  /* beyond the limit: it is let in to be told so */
	bool is_doomed;   /* cut off; the daemon will notice */
	bool is_measured; /* between requests: `bytes` is what had come */
	uint64_t bytes;
	char address[46];

	enum fw_http_phase phase;
	uint64_t since_ms; /* of the phase */
	uint64_t spoke_ms; /* something was last put into the stream */
	uint64_t owed_ms;  /* since when there is something for it to read; 0: nothing */

	struct fw_http_text body;
	struct fw_http_text out; /* the answer, or what waits to be streamed */
	size_t out_at;           /* so much of the stream has gone out */
	size_t drained;

	/* From here on zero when a request begins. */
	struct MHD_Response *response; /* ready, to be queued */
	unsigned status;
	unsigned accepts;
	unsigned accept_count;
	unsigned host_count;
	unsigned origin_count;
	unsigned length_count;
	unsigned coding_count;
	unsigned field_count;
	const char *host;
	const char *origin;
	const char *authorization;
	const char *type;
	const char *length;
	const char *coding;
	uint64_t body_length;
	enum fw_http_method method;
	bool is_malformed; /* a header that cannot be taken as one */
	bool expects;      /* 100-continue */
	bool is_begun;     /* the core knows of it */
	bool is_decided;   /* by its headers alone: the body does not matter */
	bool is_answered;  /* and has let go of it */
	bool is_stream;    /* the answer is a stream of events */
	bool is_complete;  /* that has got its last */
	bool is_queued;    /* the daemon has the response */
	bool is_suspended;
	bool is_lost;    /* there is nobody to answer */
	bool must_close; /* no further request on this connection */
	bool is_shouted; /* the answer goes past the daemon, which would wait */
	struct fw_http_field fields[FW_LIMIT_HTTP_FIELDS];
};

/* ---- http_loop.c ------------------------------------------------------------ */

fw_error *fw_http__start(struct fw_transport *transport);
/* Everything is answered: let it out, then stop the daemon. */
void fw_http__close(struct fw_transport *transport);
/* Stop caring for a connection until it is woken; it is watched meanwhile. */
void fw_http__suspend(struct fw_http_peer *peer);
void fw_http__wake(struct fw_http_peer *peer);
/* Cut the connection: the daemon finds out, and cleans up as ever. */
void fw_http__cut(struct fw_http_peer *peer);
/* Is there room for it now? Another may have to go. */
bool fw_http__admit(struct fw_http_peer *peer);
void fw_http__enter(struct fw_http_peer *peer, enum fw_http_phase phase);

/* ---- http_request.c --------------------------------------------------------- */

/* What libmicrohttpd calls. */
enum MHD_Result fw_http__handle(void *cls, struct MHD_Connection *connection, const char *url,
				const char *method, const char *version, const char *data,
				size_t *data_len, void **request);
void fw_http__completed(void *cls, struct MHD_Connection *connection, void **request,
			enum MHD_RequestTerminationCode how);
void fw_http__connected(void *cls, struct MHD_Connection *connection, void **context,
			enum MHD_ConnectionNotificationCode what);
void *fw_http__first_line(void *cls, const char *uri, struct MHD_Connection *connection);

/* Begins afresh: the exchange, and all that is of one request. */
void fw_http__renew(struct fw_http_peer *peer);
/* Past its time: says so if it can, and cuts it off. */
void fw_http__too_slow(struct fw_http_peer *peer, const char *what, uint64_t limit_ms);

/* ---- http_reply.c ----------------------------------------------------------- */

extern const struct fw_exchange_ops fw_http__exchange_ops;

/* Puts a comment into the stream, which it becomes if it was none. */
void fw_http__keep_alive(struct fw_http_peer *peer);
/* Hands over what there is to the daemon, or suspends until there is something. */
enum MHD_Result fw_http__advance(struct fw_http_peer *peer);

/* False when there is no memory, or more than `limit` bytes would be held. */
bool fw_http__text_reserve(struct fw_http_text *text, size_t more, size_t limit);
/* Empties it; a large buffer is given back. */
void fw_http__text_reset(struct fw_http_text *text);

#endif
