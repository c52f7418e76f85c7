/*
 * server.h - the server: its loop, what it offers, and what is in progress.
 *
 * A server lives on a loop of its own, or on one that it shares with other parts
 * (clients, an alert sender, another server). fw_server_run() runs the loop until
 * the server has stopped; fw_server__start() leaves that to the loop's owner.
 *
 * The one rule to remember: all of this belongs to the loop's thread, except
 * the inbox, which has a lock.
 */
#ifndef FW_MCP_SERVER_H
#define FW_MCP_SERVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include <faultwire/call.h>
#include <faultwire/observer.h>
#include <faultwire/serve.h>
#include <faultwire/tool.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/loop.h"
#include "base/timer.h"
#include "mcp/ask.h"
#include "mcp/offer.h"
#include "mcp/runner.h"
#include "mcp/signin.h"

struct fw_authority;
struct fw_check_entry;
struct fw_confine;
struct fw_hold;
struct fw_lane;
struct fw_later;
struct fw_owner;
struct fw_post;
struct fw_relay;
struct fw_replica;
struct fw_route_entry;
struct fw_runner;
struct fw_session;
struct fw_transport;

enum fw_server_state { FW_IDLE, FW_RUNNING, FW_DRAINING, FW_CLOSING, FW_CLOSED };

/* Longest name of a peer that observers see. */
enum { FW_SHOWN_SIZE = 256 };

/* Memory of fw_server.out that is kept between two replies. */
enum { FW_SERVER_KEEP_OUT_BYTES = 256 * 1024 };

/* What other threads hand to the loop. */
struct fw_inbox {
	uv_mutex_t lock;
	bool is_closed; /* nothing is accepted any more */
	struct fw_post *posts;
	struct fw_post *last_post;
	struct fw_hold *released; /* in order of release */
	struct fw_hold *last_released;
};

/* How the server presents itself, and the scope of its errors. */
struct fw_identity {
	char *name;
	char *version;
	char *title;
	char *instructions;
	char *role;
	char *workspace_root;
	char *problem_base;    /* of fw_encode_options; NULL: the default */
	char *session_id;      /* of the tools, with has_own_sessions */
	bool has_own_sessions; /* fw_server_set_scope() was called */
	char *implementation;  /* {"name":...,"version":...} */
	char *modern_tail;     /* the last members of modern results */
	size_t modern_tail_len;
	char *modern_meta; /* "_meta":{serverInfo} alone */
};

struct fw_catalogue {
	struct fw_offers tools;
	struct fw_offers resources;
	struct fw_offers templates;
	struct fw_offers prompts;
	bool has_completion;
	fw_state *states; /* shared by tools */
};

struct fw_observers {
	fw_observer *items;
	size_t count;
	/* Redacted traceparent of the outcome that observers look at now. */
	char shown_trace[FW_SHOWN_SIZE];
};

struct fw_page_file;

struct fw_pages {
	struct fw_route_entry **items; /* live as long as the server */
	size_t count;
	struct fw_check_entry *checks; /* of /readyz */
	size_t check_count;
	/* Files whose index.html is "/" for browsers; NULL: none. */
	const struct fw_page_file *root;
	struct fw_signins signins;
	fw_page *open;  /* kept by their handlers, not answered yet, or streams */
	size_t pending; /* of these, those that are not streams */
	size_t streams;
};

struct fw_sessions {
	struct fw_session *first; /* the most recently used */
	size_t count;
	struct fw_owner *owners;
};

struct fw_calls {
	fw_call *first; /* in progress */
	size_t count;
	size_t admitted;  /* of these, those that count against in_flight */
	size_t listeners; /* of these, listeners */
	fw_call *unused;  /* kept for reuse */
	size_t unused_count;
	struct fw_lane *lanes;
};

struct fw_runners {
	struct fw_runner *first;
	struct fw_runner *threads; /* one of them; NULL: not needed yet */
	fw_workers *workers;       /* default pool of process tools; NULL: not needed yet */
	fw_workers_factory *make_workers; /* creates that pool when it is first needed */
	struct fw_later *laters;          /* timers of fw_call_after() */
	bool has_busy_threads;            /* threads still use calls of this server */
};

enum { FW_TERMS = 3 }; /* signals that end a server in an orderly way */

/* The server's handles on its loop. A block of their own: a shared loop closes them
 * when it runs again, and the server may be freed by then. */
struct fw_server_handles {
	uv_async_t wakeup;      /* not a task of the loop: a signal handler may send it */
	struct fw_timer timer;  /* the next deadline */
	struct fw_timer expiry; /* of sessions */
	uv_signal_t terms[FW_TERMS];
	unsigned open;
};

/* `err` is the callee's: why the server could not begin or go on; NULL: it was stopped. */
typedef void fw_server_closed_fn(void *ctx, fw_error *err);

/* Where a server runs. */
struct fw_residence {
	struct fw_loop *loop; /* shared, or `own` */
	struct fw_loop own;
	struct fw_server_handles *handles;
	fw_server_closed_fn *closed; /* NULL: fw_server_run() waits */
	void *ctx;
	fw_error *err; /* for `closed` */
};

/* What lives and ends with the server, and is not part of it. */
struct fw_companion {
	/* Before the server is freed. False: it is still used, and is not freed. */
	bool (*close)(void *ctx);
	/* After that, while the loop can still run. */
	void (*free)(void *ctx);
	void *ctx;
};

struct fw_server {
	uv_loop_t *loop; /* of `residence` */
	struct fw_residence residence;
	uv_thread_t thread;
	enum fw_server_state state;
	bool is_prepared; /* fw_server_prepare() was called */
	atomic_int stop_wanted;
	uint64_t deadline_next;
	uint64_t stop_ms; /* when the grace period ends */
	bool is_past_grace;
	struct fw_inbox inbox;
	struct fw_transport *transports;
	struct fw_confine *confine;     /* NULL: the process is not confined */
	struct fw_relay *relay;         /* NULL: the server has offers of its own */
	struct fw_authority *authority; /* NULL: every caller may do everything */
	struct fw_replica *replica;     /* NULL: sessions are known to this server only */
	fw_server_options options;
	struct fw_limits limits;
	unsigned char key[32]; /* signs requestState */
	struct fw_identity identity;
	struct fw_catalogue offers;
	struct fw_observers observers;
	struct fw_answerers answerers;
	struct fw_pages pages;
	struct fw_sessions sessions;
	struct fw_calls calls;
	struct fw_runners runners;
	struct fw_companion companion; /* of fw_server_observe(); all NULL: none */
	char last_words[512];          /* a reply that there is no memory for */
	struct fw_buf out;             /* the reply being written */
	struct fw_buf scratch;         /* an error as text */
};

/* A server without runners and transports, on a loop that outlives it; NULL: on one of
 * its own. fw_server_new() (worker/register.c) adds the factory of its default pool. */
fw_error *fw_server__create(const fw_server_options *options, struct fw_loop *loop,
			    fw_server **ret_server);
/* The same with that factory: fw_server_new() on a shared loop. fw_server_free() leaves
 * handles to the loop, which closes them when it runs again. */
fw_error *fw_server__new_on(struct fw_loop *loop, const fw_server_options *options,
			    fw_server **ret_server);
/* Begins to serve on a loop that the caller runs, as fw_server_run() does on its own.
 * `closed` is called once, on the loop, when the server has stopped or could not
 * begin; then it may be freed, also by `closed`. Raises internal.api_misuse; then
 * `closed` is not called. */
fw_error *fw_server__start(fw_server *server, fw_server_closed_fn *closed, void *ctx);
/* Wakes the loop to do what was posted. From any thread, and from a signal handler. */
void fw_server__wake(fw_server *server);
/* The callback of that handle. */
void fw_server__on_wakeup(uv_async_t *handle);
/* Makes sure that the timer fires at `deadline_ms` at the latest. */
void fw_server__watch(fw_server *server, uint64_t deadline_ms);
/* What its timers do: `ctx` is the server. */
void fw_server__on_deadline(void *ctx);
void fw_server__on_expiry(void *ctx);
/* Continues a stop if no call is in progress any more. Called by the loop only. */
void fw_server__settle(fw_server *server);

#endif
