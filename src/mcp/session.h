/*
 * session.h - a session of a legacy client.
 *
 * States:
 *   OPEN   in the server's table, which owns a reference
 *   ENDED  fw_session_free(): no longer found, its streams are closed, its calls
 *          have failed (a call whose reply is held keeps its outcome)
 *   freed  with its last reference; each of its calls owns one
 */
#ifndef FW_MCP_SESSION_H
#define FW_MCP_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <yyjson.h>

#include <faultwire/call.h>
#include <faultwire/serve.h>

#include "mcp/stream.h"
#include "rpc/version.h"

struct fw_buf;
struct fw_owner;

/* A question to a legacy client whose answer has not come yet. */
struct fw_pending {
	struct fw_pending *next;
	uint64_t id;
	fw_call *call; /* NULL: the relay asks */
	size_t question;
	void *asker; /* of the relay */
};

/* The capabilities that a legacy client stated in initialize. Calls share them
 * with their session, because a handler on a thread may outlive it. They never
 * change; references are counted on the loop's thread. */
struct fw_capabilities {
	size_t refs;
	yyjson_doc *doc;
};

struct fw_capabilities *fw_capabilities_ref(struct fw_capabilities *capabilities);
/* From JSON whose depth was checked. NULL: no memory. */
struct fw_capabilities *fw_capabilities_new(const struct fw_buf *text);
/* NULL is a no-op. */
void fw_capabilities_unref(struct fw_capabilities *capabilities);

/* What replicas know of a session; see replica.h and follow.h. */
struct fw_shared_session {
	uint64_t stamp;     /* of the state that they share */
	char digest[33];    /* of its id; "": there are no replicas */
	bool is_refreshing; /* it has changed at another replica, and is looked up */
};

struct fw_session {
	struct fw_session *next;
	struct fw_session *previous;
	char id[40]; /* "": the session of stdio */
	fw_server *server;
	enum fw_version version; /* FW_V_NONE before initialize */
	bool is_initialized;
	struct fw_capabilities *capabilities; /* NULL before initialize */
	char *client;                         /* name and version of the client, redacted */
	size_t client_len;
	bool has_plain_client; /* nothing in it is escaped in JSON */
	bool has_contract;
	fw_contract contract;
	fw_log_level log_level;
	uint64_t used_ms;
	struct fw_shared_session shared;
	char **subscriptions;
	size_t subscription_count;
	struct fw_stream get;
	struct fw_stream *streams;
	uint64_t last_stream;
	struct fw_exchange *wire; /* stdio: all messages go there */
	struct fw_pending *pending;
	uint64_t last_id;
	size_t calls; /* in progress */
	size_t refs;  /* the server's table and each of its calls own one */
	bool is_ended;
	struct fw_owner *owner;
	fw_principal *principal; /* a reference: who has begun it; NULL: not known */
	size_t stream_count;     /* streams of calls that are kept */
	size_t stream_bytes;     /* of their events */
};

/* For the client at `exchange`. Raises session.limit_reached, out_of_memory. */
fw_error *fw_session_new(struct fw_exchange *exchange, struct fw_session **ret_session);
/* It has no call in progress, and was not used for `ms` milliseconds. */
bool fw_session_is_idle(const struct fw_session *session, uint64_t ms);
/* Ends it: its calls fail with session.ended, its streams are closed, and it is no
 * longer found. The memory is freed with the last call that refers to it. */
void fw_session_free(struct fw_session *session);
void fw_session__destroy(struct fw_session *session);
/* NULL is a no-op. */
static inline void fw_session_unref(struct fw_session *session)
{
	if (session && --session->refs == 0)
		fw_session__destroy(session);
}
struct fw_session *fw_session_find(fw_server *server, const char *id);
/* The same for a request: a session of another client is not found. */
struct fw_session *fw_session_of(const struct fw_exchange *exchange, const char *id);
/* The same without counting as use: the request may not be one of this session. */
const struct fw_session *fw_session_peek(const fw_server *server, const char *id);
void fw_session_expire(fw_server *server);
/* The contract that the capabilities state, if any. Raises input.invalid_value. */
fw_error *fw_session_read_contract(struct fw_session *session);
/* To the GET stream of the session, or its stdio connection. */
void fw_session_send(struct fw_session *session, const char *json, size_t len);
/* Raises server.overloaded (too many), internal.out_of_memory. */
fw_error *fw_session_subscribe(struct fw_session *session, const char *uri);
void fw_session_unsubscribe(struct fw_session *session, const char *uri);
bool fw_session_subscribes(const struct fw_session *session, const char *uri);

#endif
