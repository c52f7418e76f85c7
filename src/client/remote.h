/*
 * remote.h - an MCP server as its client sees it: the handshake in both eras, requests
 * with ids and deadlines, and messages that the server sends on its own.
 *
 * Here failures of a server get their codes: the process ends, or a reply is truncated,
 * has a wrong id or never comes. A failure is reported as soon as it is known, with
 * origin and delivery. Replies are scanned, not parsed (rpc/scan.h).
 *
 * The one rule to remember: each accepted request ends in exactly one call of its
 * `done`, unless fw_remote_cancel() was called for it.
 */
#ifndef FW_CLIENT_REMOTE_H
#define FW_CLIENT_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

#include "base/loop.h"
#include "client/link.h"
#include "rpc/scan.h"
#include "rpc/version.h"

struct fw_remote;

enum fw_remote_state {
	FW_REMOTE_IDLE,     /* not connected */
	FW_REMOTE_GREETING, /* connected; the handshake is in progress */
	FW_REMOTE_READY,
	FW_REMOTE_DOWN /* ended; fw_remote_connect() begins again */
};

enum fw_remote_era {
	FW_REMOTE_AUTO, /* probe with server/discover, then initialize */
	FW_REMOTE_LEGACY,
	FW_REMOTE_MODERN
};

/* A reply. All slices are borrowed for the time of the callback; `scan` has the
 * members of the result or the error. */
struct fw_remote_reply {
	const struct fw_scan *scan;
	struct fw_slice result; /* an object; absent: it is an error of JSON-RPC */
	struct fw_slice error;  /* an object with an integer code and a message */
};

/* Gets either `reply` or `err`. The callee owns `err`. It may make another request, but
 * must not call fw_remote_free(). */
typedef void fw_remote_done_fn(void *ctx, const struct fw_remote_reply *reply, fw_error *err);
/* Gets notifications/progress of this request. `params` has the token of this side, not
 * the caller's. */
typedef void fw_remote_progress_fn(void *ctx, struct fw_slice params);

struct fw_remote_request {
	const char *method;
	/* Members of `params` and of `params._meta`, without braces; "" or NULL: none. */
	struct fw_slice params;
	struct fw_slice meta;
	/* Modern: capabilities and name of the client on whose behalf it is made, JSON
	 * objects; absent: those of the options. */
	struct fw_slice capabilities;
	struct fw_slice client;
	const char *name;           /* modern HTTP: Mcp-Name; NULL: none */
	const char *const *headers; /* modern HTTP: Mcp-Param-* lines; NULL: none */
	uint32_t deadline_ms;       /* 0: none */
	/* The request stays open for notifications (subscriptions/listen). A reply that
	 * matches no request is never attributed to it. */
	bool is_stream;
	fw_remote_done_fn *done;
	fw_remote_progress_fn *progress; /* NULL: no progress is asked for */
	void *ctx;
};

struct fw_remote_callbacks {
	/* The handshake is done. Also called when a session was renewed. */
	void (*ready)(void *ctx);
	/* The handshake failed, or the connection ended after it: the callee owns `err`
	 * (upstream.exited, ...). Requests get their own errors afterwards. A connection that
	 * is asked for by then begins when all have. */
	void (*down)(void *ctx, fw_error *err);
	/* A notification that is not progress of a request; `key` is the request in whose
	 * HTTP response it came, 0: not known. NULL member: ignored. */
	void (*notified)(void *ctx, uint64_t key, const struct fw_scan *message);
	/* The server asks something; answered with fw_remote_answer(), now or later. A
	 * ping is answered by the remote. NULL member: refused with -32601. */
	void (*asked)(void *ctx, uint64_t key, const struct fw_scan *message);
	/* A reply to request `key` after its deadline or cancellation, or a second one. NULL
	 * member: only counted. */
	void (*late)(void *ctx, uint64_t key);
	/* A line that is not a message: a banner or a log line. NULL member: only counted. */
	void (*stray)(void *ctx, const char *text, size_t len);
	/* Each message that is sent or received, unchanged. NULL member: not called. */
	void (*trace)(void *ctx, bool is_sent, const char *text, size_t len);
};

struct fw_remote_options {
	struct fw_link_target target;
	enum fw_remote_era era;
	const char *client;       /* {"name":...,"version":...}; NULL: faultwire's */
	const char *capabilities; /* of the client, a JSON object; NULL: {} */
	uint32_t handshake_ms;    /* 0: FW_LIMIT_HANDSHAKE_MS */
	size_t depth;             /* nesting of a message; 0: FW_LIMIT_REPLY_DEPTH */
	struct fw_remote_callbacks on;
	void *ctx;
};

/* Counts of messages; never reset. */
struct fw_remote_counts {
	uint64_t sent;
	uint64_t replies;
	uint64_t late;      /* replies after their deadline or cancellation */
	uint64_t stray;     /* lines that are not messages */
	uint64_t unmatched; /* replies with an unknown id, or repeated */
	uint64_t connects;
};

/* Strings of the options are borrowed for the life of the remote. `fetcher` may be NULL
 * if the target is a program. Raises internal.out_of_memory. */
fw_error *fw_remote_new(struct fw_loop *loop, struct fw_fetcher *fetcher,
			const struct fw_remote_options *options, struct fw_remote **ret_remote);
/* Ends the connection without callbacks. Not from within a callback. NULL is a no-op. */
void fw_remote_free(struct fw_remote *remote);
/* Begins the connection and the handshake; from IDLE and DOWN. A failure to start is
 * reported by `down`, from the loop. */
void fw_remote_connect(struct fw_remote *remote);
/* Ends the connection in an orderly way: the input of the server is closed; requests in
 * progress fail. `down` is not called. */
void fw_remote_disconnect(struct fw_remote *remote);

enum fw_remote_state fw_remote_state(const struct fw_remote *remote);
const struct fw_remote_counts *fw_remote_counts(const struct fw_remote *remote);

/* From READY on. */
enum fw_version fw_remote_version(const struct fw_remote *remote);
bool fw_remote_is_modern(const struct fw_remote *remote);
/* The result of initialize or server/discover, raw JSON; absent: not READY yet. */
struct fw_slice fw_remote_hello(const struct fw_remote *remote);

/* True: it accepts requests. It is READY, or it is renewing the session and requests wait
 * for that. */
bool fw_remote_takes_requests(const struct fw_remote *remote);
/* Makes a request. `ret_key` (may be NULL) identifies it for fw_remote_cancel(). Raises
 * what fw_link_send() raises, input.too_large, and upstream.closed if
 * fw_remote_takes_requests() is false, all with delivery not_sent; after such an error
 * `done` is not called. */
fw_error *fw_remote_call(struct fw_remote *remote, const struct fw_remote_request *request,
			 uint64_t *ret_key);
/* The result is not needed: sends the cancellation. `done` is not called any more. */
void fw_remote_cancel(struct fw_remote *remote, uint64_t key, const char *reason);
/* Sets the deadline of a request, counted from now; 0: no limit. Unknown keys are ignored. */
void fw_remote_set_deadline(struct fw_remote *remote, uint64_t key, uint32_t deadline_ms);
/* For a server whose era is not known (FW_REMOTE_AUTO): the handshake begins with
 * initialize, and tries server/discover if that is refused. Call it before
 * fw_remote_connect(). */
void fw_remote_prefer_legacy(struct fw_remote *remote);
/* Sets the time limit of later handshakes, from 1 ms to FW_LIMIT_HANDSHAKE_MS. */
void fw_remote_set_handshake(struct fw_remote *remote, uint32_t limit_ms);
/* Sets the capabilities for the next handshake: a JSON object, borrowed for the life of
 * the remote. */
void fw_remote_set_capabilities(struct fw_remote *remote, const char *capabilities);
size_t fw_remote_outstanding(const struct fw_remote *remote);

/* Sends a notification; `params` as above. A failure is ignored: the end of the
 * connection reports it. */
void fw_remote_notify(struct fw_remote *remote, const char *method, struct fw_slice params);
/* Answers a question of the server. `id` is the id of its message; exactly one of the
 * others is present: a result object, or an error object. */
void fw_remote_answer(struct fw_remote *remote, struct fw_slice id, struct fw_slice result,
		      struct fw_slice error);
/* The last text of standard error, without secrets; as fw_child_stderr(). */
size_t fw_remote_stderr(const struct fw_remote *remote, char *ret_text, size_t size);

#endif
