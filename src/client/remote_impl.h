/*
 * remote_impl.h - the internals of a remote. remote.c has its lifecycle and sends,
 * remote_greet.c does the handshake, remote_receive.c receives and attributes failures,
 * remote_framing.c recognises output whose messages are not lines.
 */
#ifndef FW_CLIENT_REMOTE_IMPL_H
#define FW_CLIENT_REMOTE_IMPL_H

#include <uv.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/timer.h"
#include "client/remote.h"

enum { FW_REMOTE_BUCKETS = 256 };

/* A request without an answer. */
struct fw_remote_pending {
	struct fw_remote_pending *next; /* all requests, the oldest first */
	struct fw_remote_pending *previous;
	struct fw_remote_pending *bucket_next;
	uint64_t id;
	uint64_t serial;   /* of its message, as in fw_link_accepted(); 0: not sent, or HTTP */
	uint64_t due_ms;   /* in loop time; 0: no deadline runs */
	uint64_t since_ms; /* when the deadline that runs was set; loop time */
	uint64_t spent_ms; /* time that ran under earlier deadlines */
	bool is_tool;      /* tools/call */
	bool is_stream;    /* not counted in `outstanding` */
	bool is_waiting;   /* not sent: a handshake is in progress */
	bool is_unsent;    /* it was accepted, but the process has not read it */
	bool is_repeated;  /* sent again in a new session */
	fw_remote_done_fn *done;
	fw_remote_progress_fn *progress;
	void *ctx;
	/* HTTP: the session that it was sent in, as in fw_link_session(), and the message, for sending
	 * it again in a new one. */
	uint64_t session;
	struct fw_buf text;
	char *method;
	char *name;
};

enum fw_remote_step { FW_STEP_NONE, FW_STEP_PROBE, FW_STEP_INITIALIZE };

/* The handshake. */
struct fw_remote_greeting {
	enum fw_remote_step step;
	enum fw_remote_era era; /* AUTO until a handshake has succeeded */
	bool is_renewal;        /* it renews an HTTP session; requests wait */
	bool is_opening;        /* its first request is being sent */
	bool prefers_legacy;    /* if the era is not known, initialize comes first */
	fw_error *refused;      /* why initialize was refused; NULL: it was not */
	bool has_succeeded;     /* at least once, so the target is known to be an MCP server */
	uint64_t due_ms;
	struct fw_buf hello;
};

struct fw_remote {
	struct fw_loop *loop;
	struct fw_fetcher *fetcher;
	struct fw_remote_options options;
	struct fw_link *link;
	enum fw_remote_state state;
	bool is_ending; /* the connection is over, and its requests are failing */
	bool is_wanted; /* meanwhile: another one */
	enum fw_version version;
	struct fw_remote_greeting greeting;
	struct fw_remote_counts counts;
	uint64_t first_id; /* of this connection */
	uint64_t last_id;
	struct fw_remote_pending *first;
	struct fw_remote_pending *last;
	size_t outstanding;
	struct fw_remote_pending *unused;
	struct fw_remote_pending *buckets[FW_REMOTE_BUCKETS];
	struct fw_timer *timer;
	uint64_t timer_ms;   /* when it rings; 0: it is not set */
	fw_error *start_err; /* why the link failed to open or must end, for the timer */
	uint64_t alarm_ms;   /* when text that is not an answer fails its call; 0: never */
	const char *alarm;   /* what that text is; NULL: an unfinished line */
	bool is_compressed;  /* output was compressed, and no message has come since */
	uint64_t alarm_id;   /* of the call */
	unsigned indented;   /* members of an indented message that were seen */
	uint64_t indented_id;
	size_t indented_depth; /* blanks before its first member */
	struct fw_buf out;
};

/* ---- remote.c ---- */

void fw_remote__watch(struct fw_remote *remote, uint64_t due_ms);
struct fw_remote_pending *fw_remote__find(const struct fw_remote *remote, uint64_t id);
/* Ends a request. Consumes `err`. */
void fw_remote__finish(struct fw_remote *remote, struct fw_remote_pending *pending,
		       const struct fw_remote_reply *reply, fw_error *err);
/* As fw_remote_call(), in any state. With `may_wait` it is sent after the handshake that is
 * in progress, if any. */
fw_error *fw_remote__request(struct fw_remote *remote, const struct fw_remote_request *request,
			     bool may_wait, uint64_t *ret_key);
/* Opens the link, and begins the handshake. */
void fw_remote__open(struct fw_remote *remote);
/* The connection has ended: requests fail with the error of the ending, or a copy of the
 * handshake's. Consumes `err`. */
void fw_remote__go_down(struct fw_remote *remote, const struct fw_link_ending *ending,
			fw_error *err);
/* Sends the requests that waited for a handshake. */
void fw_remote__send_waiting(struct fw_remote *remote);

/* The process does not accept messages any more. The link is ended later, from the loop. */
void fw_remote__give_up_input(struct fw_remote *remote);

/* ---- remote_greet.c ---- */

void fw_remote__greet(struct fw_remote *remote);
/* The HTTP session that `pending` was sent in is gone: it is sent again in the one that has been
 * begun since, or begins another one and waits for it. */
void fw_remote__renew(struct fw_remote *remote, struct fw_remote_pending *pending);

/* ---- remote_receive.c ---- */

extern const struct fw_link_callbacks fw_remote__callbacks;
/* The only request in progress, if there is one; NULL: none, or several. */
struct fw_remote_pending *fw_remote__only_one(const struct fw_remote *remote);
/* The server has printed text that is not an answer. Request `id` fails unless its answer
 * follows soon. */
void fw_remote__sound(struct fw_remote *remote, const char *alarm, uint64_t id);
/* The time after fw_remote__sound() is over, and no answer has come. */
void fw_remote__alarm(struct fw_remote *remote);

/* ---- remote_framing.c ---- */

/* Raises upstream.garbled with the kind of text, and with a hint if it is one of the
 * known mistakes. */
fw_error *fw_remote__raise_garbled(const struct fw_remote *remote, const char *reason);
/* If a line is a reply in UTF-16, its request fails. False: it is not. */
bool fw_remote__take_wide(struct fw_remote *remote, const char *text, size_t len);
/* If a line is part of a message, returns how the server frames its messages, and which
 * request gets no valid answer because of that. `only` is the only request in progress,
 * if there is just one. NULL: it is not part of a message. */
const char *fw_remote__framing(struct fw_remote *remote, const struct fw_remote_pending *only,
			       struct fw_text line, uint64_t *ret_id);
/* As `partial` of struct fw_link_callbacks. */
void fw_remote__partial(void *ctx, const char *text, size_t len);
/* A line has been unfinished for a while: fails the requests whose replies are in it. */
void fw_remote__check_partial(struct fw_remote *remote);

#endif
