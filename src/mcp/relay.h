/*
 * relay.h - the interface between the server half and the part that passes its requests
 * on to other servers (src/gate/). With a relay, a server offers nothing of its own:
 * lists, calls, reads and unknown methods go to the relay, which later completes each
 * call with the bytes of a result or with an error. Sessions, eras, limits, observers and
 * contracts stay here, and every reply leaves through the boundary.
 *
 * The one rule to remember: each call that the relay takes ends in exactly one of
 * fw_relay_reply(), fw_relay_fail(), fw_relay_ask() (then it is taken again) and
 * fw_relay_drop() (after `abandon`). Everything happens on the loop's thread.
 */
#ifndef FW_MCP_RELAY_H
#define FW_MCP_RELAY_H

#include <stdbool.h>
#include <stddef.h>

#include <faultwire/call.h>
#include <faultwire/serve.h>

#include "base/buf.h"
#include "mcp/offer.h"
#include "rpc/scan.h"

struct fw_relay;
struct fw_session;

/* `list` is the JSON of a tools/list result, borrowed; or `err`, which the callee owns. */
typedef void fw_relay_listed_fn(void *ctx, struct fw_slice list, fw_error *err);

struct fw_relay_ops {
	/* fw_server_run() begins. NULL member: nothing to do. */
	void (*start)(struct fw_relay *relay);
	/* A client asks what the server is (initialize, server/discover). False: the call
	 * waits for fw_relay_settled(). */
	bool (*is_settled)(struct fw_relay *relay, const fw_call *call);
	/* Passes the call on; also again, when its questions are answered. */
	void (*take)(struct fw_relay *relay, fw_call *call);
	/* The result is not needed any more (cancelled, client disconnected): ends in
	 * fw_relay_drop(), now or later. */
	void (*abandon)(struct fw_relay *relay, fw_call *call);
	/* A notification of a client that the server does not handle. */
	void (*notified)(struct fw_relay *relay, const fw_call *call);
	/* A client sets the lowest level of log messages; subscribes to these resources
	 * (subscriptions/listen, or a session of another replica). NULL members: ignored. */
	void (*levelled)(struct fw_relay *relay, int level);
	void (*listening)(struct fw_relay *relay, bool is_legacy, char *const *uris,
			  size_t count);
	/* All tools that the caller may use, for the HTTP API: `done` is called once, maybe
	 * within this call. NULL member: there is no list. */
	void (*list)(struct fw_relay *relay, const fw_principal *principal,
		     fw_relay_listed_fn *done, void *ctx);
	/* A legacy client has ended its handshake, and can be asked. NULL member: ignored. */
	void (*initialized)(struct fw_relay *relay);
	/* The answer to fw_relay_ask_session(): `message` has it as its `result` or `error`;
	 * NULL: the session has ended. NULL member: nothing is asked. */
	void (*answered)(struct fw_relay *relay, void *asker, const fw_call *message);
	/* The name of the server that has the tool, borrowed; NULL: not known. NULL
	 * member: never known. */
	const char *(*toolset_of)(struct fw_relay *relay, const char *tool);
	/* The server has stopped: close all handles. */
	void (*stop)(struct fw_relay *relay);
};

/* The content of replies to initialize and server/discover. Texts are the relay's. */
struct fw_relay_hello {
	const char *capabilities; /* a JSON object; NULL: none are known */
	const char *instructions; /* JSON string; NULL: none */
	const char *server;       /* a JSON object: name and version; NULL: the server's own */
	bool has_tools;
	bool has_prompts;
	bool has_resources;
};

struct fw_relay {
	const struct fw_relay_ops *ops;
	fw_server *server;
	struct fw_relay_hello hello;
	/* Stand for what is called, because there is no offer of it here. */
	struct fw_offer tool;
	struct fw_offer other;
};

enum fw_relay_form {
	FW_RELAYED_NOTHING,
	FW_RELAYED_RESULT, /* of a tool, with isError */
	FW_RELAYED_ERROR   /* of JSON-RPC */
};

/* The part of a call that is passed on. */
struct fw_relayed {
	void *job;              /* the relay's; NULL: not taken */
	bool is_greeting;       /* it waits for fw_relay_settled() */
	struct fw_slice before; /* members to be added; borrowed until the reply */
	struct fw_slice result; /* borrowed until the reply */
	enum fw_relay_form form;
	struct fw_buf original; /* a failure, unchanged */
};

/* From now on requests go to the relay, which outlives the server. Before it runs. */
void fw_relay_attach(struct fw_relay *relay, fw_server *server);

/* ---- what the server half calls ---- */

/* Whether the method goes to the relay. */
bool fw_relay_wants(const fw_call *call);
fw_error *fw_relay_enter(fw_call *call);
/* initialize and discover: true if the call was put off. */
bool fw_relay_puts_off(fw_call *call);
/* Writes the result of a relayed call. */
void fw_relay_put_result(const fw_call *call, struct fw_buf *out);
/* Writes a failure unchanged, with the canonical error added; false: the usual form. */
bool fw_relay_put_failure(fw_call *call, const fw_error *err, struct fw_buf *out);
/* The call has failed: calls `abandon`. */
void fw_relay_abandon(fw_call *call);
void fw_relay_clear(fw_call *call);
/* False: there is no relay, and `done` is not called. */
bool fw_relay_list(fw_server *server, const fw_principal *principal, fw_relay_listed_fn *done,
		   void *ctx);
void fw_relay_initialized(fw_server *server);
void fw_relay_answered(fw_server *server, void *asker, const fw_call *message);

/* ---- what a relay calls ---- */

/* The answer to `hello` is known now: calls that waited for it continue. */
void fw_relay_settled(struct fw_relay *relay);
/* The result object, unchanged; `before` is members to be put in front of it, without
 * braces, or absent. `is_error`: a tool's result with isError. */
void fw_relay_reply(fw_call *call, struct fw_slice before, struct fw_slice result);
/* Consumes `err`. `original` is the failure as the other server sent it, a result with
 * isError or an error of JSON-RPC: it reaches the client as it was, with the canonical
 * error added, unless the client or the operator has chosen a contract. Absent: none. */
void fw_relay_fail(fw_call *call, fw_error *err, enum fw_relay_form form,
		   struct fw_slice original);
void fw_relay_drop(fw_call *call);
/* Questions were added with fw_call_ask(): the client is asked. */
void fw_relay_ask(fw_call *call);
/* Asks the only legacy client outside of a call; `answered` is called once with `asker`.
 * False: there is no such client, or it does not have the capability. */
bool fw_relay_ask_session(struct fw_relay *relay, const char *capability, const char *method,
			  struct fw_slice params, void *asker);
/* Progress of the other server; the client's token replaces the one in `params`. */
void fw_relay_progress(fw_call *call, struct fw_slice params);
/* A notification, before the reply of `call`; NULL: to every session. */
void fw_relay_notify(struct fw_relay *relay, fw_call *call, const char *method,
		     struct fw_slice params);

#endif
