/*
 * replica.h - the interface between the server half and the part that shares legacy
 * sessions with other replicas (src/fleet/). Without it a session is known to one server
 * only.
 *
 * A request that names a session is held back until the shared state of the session was
 * looked up, so that any replica continues a session, with its current state. Shared are
 * the version, client, capabilities, log level, subscriptions and owner of a session,
 * events of streams and changes of lists (mcp/follow.h); calls in progress and questions
 * are not.
 *
 * The one rule to remember: a lookup that was begun is ended exactly once, by
 * fw_takeover_end(). Everything is on the loop's thread.
 */
#ifndef FW_MCP_REPLICA_H
#define FW_MCP_REPLICA_H

#include <stdbool.h>
#include <stddef.h>

#include <faultwire/call.h>
#include <faultwire/serve.h>

#include "mcp/listen.h"

struct fw_exchange;
struct fw_reading;
struct fw_replica;
struct fw_session;
struct fw_stream;
struct fw_takeover;

struct fw_replica_ops {
	/* Looks the session up; false: cannot now, and the server uses what it knows. */
	bool (*find)(struct fw_replica *replica, const char *id, struct fw_takeover *takeover);
	/* Stores its state. With a call, fw_replica_saved() comes later; false: not now. A new
	 * session is not known to other replicas, which need no notice of it. */
	bool (*save)(struct fw_replica *replica, const char *id, const char *text, size_t len,
		     bool is_new, fw_call *call);
	/* The client has ended it. */
	void (*end)(struct fw_replica *replica, const char *id);
	/* Whether events are shared now. */
	bool (*is_sharing)(const struct fw_replica *replica);
	/* The greatest number of an event that is known. */
	uint64_t (*newest)(const struct fw_replica *replica);
	/* See fw_follow_begin() and fw_follow_keep(); `id` is that of the request. No JSON: the
	 * stream is over without an answer. False: not now. */
	bool (*begin)(struct fw_replica *replica, const struct fw_stream *stream,
		      const char *id, size_t len);
	bool (*keep)(struct fw_replica *replica, const struct fw_stream *stream,
		     const char *json, size_t len, bool is_answer);
	/* Reads events; false: not now, and the reading is not ended. */
	bool (*read)(struct fw_replica *replica, struct fw_reading *reading);
	/* The change comes back to all replicas; false: not now. */
	bool (*announce)(struct fw_replica *replica, enum fw_change change, const char *uri);
};

struct fw_replica {
	const struct fw_replica_ops *ops;
};

/* It outlives the server. Before the server listens. */
void fw_server__set_replica(fw_server *server, struct fw_replica *replica);

/* ---- what the server half calls; each is a no-op without a replica ---------------------- */

/* A session has changed. With a call, true: the call is answered by fw_replica_saved(), because
 * the client's next request may come to another replica, which must know of the change: it
 * stores the state as a whole. */
bool fw_replica_save(struct fw_session *session, fw_call *call);
void fw_replica_end(const struct fw_session *session);
/* It has changed at another replica: its state is read again. */
void fw_replica_refresh(struct fw_session *session);
/* The exchange is gone. */
void fw_takeover_leave(struct fw_takeover *takeover);

/* ---- what a transport calls -------------------------------------------------------------- */

/* A request has come. True: its session is looked up, and `resume` is called later, unless
 * the exchange is gone by then. */
bool fw_exchange_looks_up(struct fw_exchange *exchange,
			  void (*resume)(struct fw_exchange *exchange));

/* ---- what a replica calls ------------------------------------------------------------------ */

enum fw_takeover_result {
	FW_TAKEOVER_FOUND,
	FW_TAKEOVER_NONE,  /* not known; what this server knows is valid */
	FW_TAKEOVER_ENDED, /* by its client */
	FW_TAKEOVER_FAILED /* could not be looked up */
};
/* The text is that of a peer: it is checked. */
void fw_takeover_end(struct fw_takeover *takeover, enum fw_takeover_result result,
		     const char *text, size_t len);
/* The call of fw_replica_ops.save; consumes the reference that was taken for it. */
void fw_replica_saved(fw_call *call);

#endif
