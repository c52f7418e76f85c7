/*
 * follow.h - streams of legacy sessions whose events replicas share, so that a client that lost
 * its connection can continue at any replica (Last-Event-ID).
 *
 * The stream of a session (GET) has writers at every replica. Its events, and changes of lists,
 * are numbered by the engine and read from there, in the order of their numbers. The stream of
 * a call has one writer, the replica of the call: it numbers its events, sends them itself and
 * keeps a copy in the engine. Another replica, if the client continues there, follows that
 * copy; if the writer has ended, it answers in its place.
 *
 * Without a replica (mcp/replica.h), or while it is unavailable, streams are those of one
 * server.
 *
 * The one rule to remember: a reading that was begun is ended exactly once, by
 * fw_reading_end(); its reader may be gone by then.
 */
#ifndef FW_MCP_FOLLOW_H
#define FW_MCP_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/call.h>
#include <faultwire/serve.h>

#include "mcp/listen.h"

struct fw_exchange;
struct fw_session;
struct fw_stream;

/* Events that were asked for. The replica frees it by fw_reading_end(). */
struct fw_reading {
	struct fw_stream *stream; /* NULL: no reader waits for them */
	uint64_t after;           /* events with a greater number */
	bool is_again;            /* there may be more since */
};

/* ---- what the server half calls ---------------------------------------------------------- */

/* A new session: what replicas know it by, and the events that it has missed: none. */
void fw_follow_begin_session(struct fw_session *session);
/* Makes the response of a legacy call a stream that can be resumed, before its first
 * event. No-op if it cannot be one, or is one. */
void fw_follow_call(fw_call *call);
/* The stream of a call begins: its request is kept, so that it can be answered if this
 * replica ends. */
void fw_follow_begin(struct fw_stream *stream, const fw_call *call);
/* Keeps an event. Of a session's stream, true: the event comes back with its number, and
 * the caller does not send it. */
bool fw_follow_keep(struct fw_stream *stream, const char *json, size_t len, bool is_answer);
/* Whether events come from other replicas now. */
bool fw_follow_is_on(const fw_server *server);
/* There may be events that the reader of the stream does not have. */
void fw_follow(struct fw_stream *stream);
/* A client wants the events of a stream that this server does not have. False: it cannot
 * be asked for now. */
bool fw_follow_open(struct fw_session *session, struct fw_exchange *exchange, uint64_t number,
		    uint64_t after);
/* The stream has another reader, or none any more. */
void fw_follow_stop(struct fw_stream *stream);
/* Announces a change to all replicas. False: this server must do it alone. */
bool fw_follow_announce(fw_server *server, enum fw_change change, const char *uri);
/* Sends a change that was announced to the reader of a session. */
void fw_follow_change(struct fw_session *session, uint64_t number, const char *json,
		      size_t len);

/* ---- what a replica calls ------------------------------------------------------------------ */

/* The stream exists; `now` is the greatest number that an event can have. False: the
 * reader is gone, and needs no events. */
bool fw_reading_found(struct fw_reading *reading, uint64_t now);
/* In the order of their numbers. */
void fw_reading_event(struct fw_reading *reading, uint64_t number, const char *json, size_t len,
		      bool is_answer);
void fw_reading_change(struct fw_reading *reading, uint64_t number, enum fw_change change,
		       const char *uri);

enum fw_reading_result {
	FW_READING_DONE,
	FW_READING_MORE,   /* more events are there */
	FW_READING_NONE,   /* there is no such stream, or nothing more will come */
	FW_READING_FAILED, /* the engine does not answer */
	FW_READING_ORPHAN, /* its replica has ended; this server must answer */
	FW_READING_LARGE   /* the answer was too large to be kept; likewise */
};
/* `id` is that of the request, as JSON, if this server must answer. */
void fw_reading_end(struct fw_reading *reading, enum fw_reading_result result, const char *id,
		    size_t len);

/* The engine was seen for the first time: events of sessions that have begun before are
 * those after `now`. */
void fw_replica_begun(fw_server *server, uint64_t now);
/* There are new events in a stream; NULL digest: perhaps in any stream. */
void fw_replica_woken(fw_server *server, const char *digest, uint64_t number);
/* The number of no stream: the state of the session has changed. */
#define FW_FOLLOW_STATE UINT64_C(999999999999999999)
/* A change that a replica has announced. */
void fw_replica_changed(fw_server *server, enum fw_change change, const char *uri,
			uint64_t number);
/* Regularly: whether replicas that streams wait for have ended. */
void fw_replica_check(fw_server *server);

#endif
