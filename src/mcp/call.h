/*
 * call.h - a call: one message from a client, until its reply has left.
 *
 * The one rule to remember: a call belongs to the loop's thread. Other threads
 * use only what the documentation of handlers allows, and only while the
 * handler runs.
 *
 * States:
 *   NEW          created; synchronous, on no list
 *   IN PROGRESS  fw_call_enlist(): on the lists of the server and the exchange
 *   HELD         its outcome is decided and an observer holds the reply; it stays
 *                on both lists; the hold owns a reference
 *   ANSWERED     leave() in boundary.c: replied, closed, or no client was left; on
 *                no list
 *   freed        with its last reference (a run, a hold, a post)
 *
 * NEW goes to IN PROGRESS, to HELD (which enlists it) or to ANSWERED; IN PROGRESS
 * to HELD or ANSWERED; HELD only to ANSWERED. A cancellation, a deadline, the end
 * of the session, the death of the worker and a closed connection change whether
 * the reply is sent (is_silent, exchange), never the state. fw_call_is_over() is
 * true for HELD and ANSWERED.
 */
#ifndef FW_MCP_CALL_H
#define FW_MCP_CALL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/call.h>
#include <faultwire/serve.h>

#include "mcp/ask.h"
#include "mcp/hold.h"
#include "mcp/listen.h"
#include "mcp/relay.h"
#include "mcp/request.h"
#include "mcp/result.h"
#include "mcp/run.h"

struct fw_batch;
struct fw_exchange;
struct fw_lane;
struct fw_session;
struct fw_stream;

/* How far a message got; observers see it with every failure. */
enum fw_stage {
	FW_STAGE_TRANSPORT,
	FW_STAGE_PARSE,
	FW_STAGE_PROTOCOL,
	FW_STAGE_SESSION,
	FW_STAGE_LIMITS,
	FW_STAGE_METHOD,
	FW_STAGE_SCHEMA,
	FW_STAGE_RUN,
	FW_STAGE_OUTPUT
};

struct fw_call {
	fw_call *next; /* in the server's list of calls in progress, or of free ones */
	fw_call *previous;
	fw_call *exchange_next;
	fw_server *server;
	struct fw_exchange *exchange; /* NULL: the client is gone */
	struct fw_session *session;
	struct fw_batch *batch;
	struct fw_stream *stream;
	struct fw_lane *lane;    /* of its client; NULL: not determined yet */
	fw_page *page;           /* a reference: of a page that failed; else NULL */
	fw_principal *principal; /* a reference */
	atomic_int refs;
	enum fw_stage stage;
	bool is_listed;          /* in the list of calls in progress */
	bool is_answered;        /* or never will be */
	bool is_listener;        /* subscriptions/listen: stays open to report changes */
	bool is_silent;          /* cancelled: no reply is sent */
	bool is_unauthenticated; /* refused by HTTP before it was authenticated */
	bool is_uncounted;       /* a held failure: does not count against in_flight any more */
	char peer[46];           /* its address, once it has failed; "": none */
	uint64_t started_ns;
	uint64_t failed_ns; /* 0: it has not failed */
	struct fw_execution run;
	struct fw_questions questions;
	struct fw_hold hold;
	struct fw_listening listening;
	struct fw_relayed relayed;
	/* Up to request.json, everything is zeroed between two uses of the struct. */
	struct fw_request request;
	struct fw_result result;
	char *pool; /* memory for parsing small messages */
};

enum { FW_CALL_POOL_BYTES = 16 * 1024, FW_CALL_KEEP_BYTES = 16 * 1024 };

/* NULL: out of memory. */
fw_call *fw_call_new(fw_server *server);
fw_call *fw_call__ref(fw_call *call);
void fw_call__unref(fw_call *call);
/* Frees a call that has no references and is not kept for reuse. */
void fw_call_destroy(fw_call *call);
/* Adds it to the calls in progress of the server and the exchange; removes it. */
void fw_call_enlist(fw_call *call);
void fw_call_delist(fw_call *call);
/* Its exchange will get no reply of it. */
void fw_call_detach(fw_call *call);
/* Makes it a call of this session; it owns a reference to the session. */
void fw_call_join(fw_call *call, struct fw_session *session);
/* Its outcome is decided: an observer holds the reply, or it has left. */
static inline bool fw_call_is_over(const fw_call *call)
{
	return call->is_answered || call->hold.state == FW_HOLD_HELD;
}
bool fw_call_is_on_loop(const fw_call *call);
/* Sends a message before the reply, from any thread. */
void fw_call_send(fw_call *call, const char *json, size_t len);
void fw_call_cancel(fw_call *call);

/* The client's capabilities, an object of either era; NULL: none are known. */
yyjson_val *fw_call_capabilities(const fw_call *call);
/* The lowest level of log messages that the client wants; -1: none. */
int fw_call_log_level(const fw_call *call);

#endif
