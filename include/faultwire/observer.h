/*
 * observer.h - observers see every request at its end, may hold its reply, and
 * may refuse a tool before it runs.
 *
 * The one rule to remember: they run on the server's thread and must not block.
 */
#ifndef FAULTWIRE_OBSERVER_H
#define FAULTWIRE_OBSERVER_H

#include <faultwire/error.h>
#include <faultwire/principal.h>

FW_EXTERN_C_BEGIN

typedef struct fw_call fw_call;

/** How the outcome of a request reaches the client. */
typedef enum fw_outcome_kind {
	FW_OUTCOME_RESULT,     /**< it succeeded */
	FW_OUTCOME_TOOL_ERROR, /**< a tool's result with isError, raised or made by itself */
	FW_OUTCOME_PROTOCOL_ERROR, /**< a JSON-RPC error */
	/** Refused before it was read, or could not be delivered. */
	FW_OUTCOME_TRANSPORT_ERROR,
	FW_OUTCOME_COUNT
} fw_outcome_kind;

/** One request at its end. Borrowed: valid during the callback. */
typedef struct fw_outcome {
	const char *method;    /**< "tools/call"; NULL: not readable */
	const char *name;      /**< of the tool or prompt, or a resource's URI; NULL: none */
	const fw_error *error; /**< NULL: it succeeded */
	fw_contract contract;  /**< in which the error is reported */
	uint64_t duration_ns;
	const char *client;  /**< its name for itself; NULL: it gave none */
	const char *session; /**< its id; NULL: none */
	const char *trace;   /**< traceparent; NULL: none */
	bool changes;        /**< the tool is declared to change state */
	bool is_known;       /**< the server offers something of this name */
	fw_call *call;       /**< for fw_outcome_arguments() */
	fw_outcome_kind kind;
	uint64_t handling_ns; /**< time since it failed; 0: it has not */
	/** Refused by HTTP before authentication: anybody can cause any number of
	 *  these. */
	bool is_unauthenticated;
	const fw_principal *principal; /**< who is calling; never NULL */
	/** Of a failure over HTTP: the address of the peer, "127.0.0.1"; NULL: none. Not
	 *  to be shown to clients. */
	const char *peer;
	/** The tool fails on purpose (fw_tool.is_drill): no alert is raised. */
	bool is_drill;
} fw_outcome;

/** The arguments as compact JSON text; free it with fw_free(). NULL: none, or no
 *  memory. */
FW_API char *fw_outcome_arguments(const fw_outcome *outcome, size_t *ret_len);

/** The text of one argument, borrowed from the call. The name is one of an argument, or
 *  a JSON pointer into them ("/files/0/path"). NULL: there is no such argument, it is
 *  not a string, it has a NUL inside, or the call was refused before its
 *  arguments were read. */
FW_API const char *fw_outcome_argument(const fw_outcome *outcome, const char *name);

/** A reply that an observer holds back. */
typedef struct fw_hold fw_hold;

/**
 * Send the reply. If `err` (consumed) is not NULL, it replaces the outcome, with an
 * earlier error as its cause. Call this exactly once, from any thread, also
 * within replying(), and not after fw_server_free(). A stopping server waits for
 * its grace period at most; then the client gets audit.log_failed.
 */
FW_API void fw_hold_release(fw_hold *hold, fw_error *err);

/** Begin with FW_OBSERVER_INIT. Any member may be NULL. Called on the server's thread;
 *  must not block. */
typedef struct fw_observer {
	size_t struct_size;
	/** A tool is called, and its arguments are not checked yet: an error refuses
	 *  the call. */
	fw_error *(*entering)(void *ctx, const fw_outcome *coming);
	/** Before a tool runs: an error refuses the call. `error` and `duration_ns`
	 *  are not known yet. */
	fw_error *(*admitting)(void *ctx, const fw_outcome *coming);
	/** A call has failed: may add to its error, before that is completed and shown
	 *  to other observers. */
	void (*failing)(void *ctx, const fw_outcome *outcome, fw_error *err);
	/**
	 * Before a reply is sent; an error is complete (scope, incident id, time).
	 * True: the reply waits for fw_hold_release(), for example until an audit
	 * record is on disk. Later observers are called after that.
	 */
	bool (*replying)(void *ctx, const fw_outcome *outcome, fw_hold *hold);
	/** After the reply has been handed to the transport. */
	void (*finished)(void *ctx, const fw_outcome *outcome);
	void *ctx;
	/** A session of the protocol (HTTP) has ended: deleted by its client, expired, or
	 *  evicted. Its calls have failed by now; replies may still be held. */
	void (*session_ended)(void *ctx, const char *session);
	/** A call has failed, and no observer will change that any more: right before
	 *  the error is handed to the transport. */
	void (*failed)(void *ctx, const fw_outcome *outcome);
} fw_observer;

#define FW_OBSERVER_INIT FW_INIT(fw_observer)

FW_EXTERN_C_END

#endif
