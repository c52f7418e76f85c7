/*
 * serve.h - create, run and stop an MCP server.
 *
 * The one rule to remember: registering and running belong to one thread.
 */
#ifndef FAULTWIRE_SERVE_H
#define FAULTWIRE_SERVE_H

#include <faultwire/error.h>
#include <faultwire/observer.h>
#include <faultwire/page.h>

FW_EXTERN_C_BEGIN

typedef struct fw_server fw_server;

/** Whether the result of a tool that fails has a second text, which says what to do and
 *  the incident id. Never in FW_CONTEXT_V0, which defines every byte. */
typedef enum fw_hints {
	/** If the client has not chosen a contract: one that has may parse all text. */
	FW_HINTS_AUTO,
	FW_HINTS_ON,
	FW_HINTS_OFF
} fw_hints;

/** Begin with FW_SERVER_OPTIONS_INIT. Strings are copied. */
typedef struct fw_server_options {
	size_t struct_size;
	const char *name;         /**< required */
	const char *version;      /**< required */
	const char *title;        /**< NULL: none */
	const char *instructions; /**< for the model; NULL: none */
	/** Default error contract, if neither request nor client chooses one;
	 *  FW_AUTO: that of the tool, else FW_TOOLERROR. */
	fw_contract contract;
	const char *role;           /**< in the scope of every error; NULL: none */
	const char *workspace_root; /**< likewise */
	/** Deadline of calls whose tool sets none; 0: none. */
	uint32_t deadline_ms;
	/** How long calls in progress may continue after a stop; 0: 1500. */
	uint32_t grace_ms;
	/** Items per page of a list; 0: 100. */
	uint32_t page_size;
	/** How long modern clients may cache lists and resources; 0: not at all. */
	uint32_t cache_ttl_ms;
	bool cache_public; /**< users may share a cache */
	bool debug_stack;  /**< show trails in kaiza and canonical errors */
	/** Do not handle SIGTERM, SIGINT and SIGHUP while running. */
	bool keep_signals;
	/** Your own codes (fw_registry_load()): errors of worker processes keep them, and
	 *  /problems/ explains them. Must outlive the server. NULL: none. */
	const fw_registry *registry;
	/** No call may take longer, not even of a tool with a longer deadline of its own;
	 *  0: no such limit. */
	uint32_t deadline_most_ms;
	fw_hints hints;
	/** Base of the type URIs in problem documents; NULL:
	 *  "https://owlclaw.dev/problems/". */
	const char *problem_base;
} fw_server_options;

/** To begin a list of designated initializers: { FW_SERVER_OPTIONS_DEFAULTS, ... }. */
#define FW_SERVER_OPTIONS_DEFAULTS .struct_size = sizeof(fw_server_options), .contract = FW_AUTO
#ifdef __cplusplus
#define FW_SERVER_OPTIONS_INIT fw_init<fw_server_options>(FW_AUTO)
#else
#define FW_SERVER_OPTIONS_INIT             \
	{                                  \
		FW_SERVER_OPTIONS_DEFAULTS \
	}
#endif

/** The server is yours, for fw_server_free(). Raises internal.api_misuse
 *  (no name or version), internal.out_of_memory, internal.unexpected. */
FW_API FW_NODISCARD fw_error *fw_server_new(const fw_server_options *options,
					    fw_server **ret_server);

/** NULL is a no-op. Not while it runs. */
FW_API void fw_server_free(fw_server *server);

/** URL of the HTTP endpoint, such as "http://127.0.0.1:4000/mcp"; NULL: none. */
FW_API const char *fw_server_url(const fw_server *server);

/**
 * Start the supervisor process, from which workers are forked. fw_server_run()
 * does it too. A program that starts threads earlier must call this before them,
 * and after all tools with FW_RUN_PROCESS were added: a forked process has only
 * the thread that forked it, and would wait forever for locks of other threads.
 * Raises the same errors as fw_server_run().
 */
FW_API FW_NODISCARD fw_error *fw_server_prepare(fw_server *server);

/**
 * Serve until standard input ends, fw_server_stop(), SIGTERM, SIGINT or SIGHUP (unless it
 * is ignored). Calls in progress finish within grace_ms, or fail with
 * server.shutting_down; output is flushed. Raises internal.unexpected; the errors of
 * standard input and output that cannot be read or written, other than a reader that
 * has gone; with workers also server.sandbox_unavailable, and errors of the paths in
 * their options.
 */
FW_API FW_NODISCARD fw_error *fw_server_run(fw_server *server);

/** End fw_server_run(). From any thread, and from a signal handler. */
FW_API void fw_server_stop(fw_server *server);

/* ---- observers, scope and pages ------------------------------------------ */

/** `observer` is copied. Observers are called in the order of adding. */
FW_API FW_NODISCARD fw_error *fw_server_add_observer(fw_server *server,
						     const fw_observer *observer);

/**
 * Set role, session_id and workspace_root of all later errors (other members are
 * ignored; NULL: leave it out). The session is then one of the tools, in place
 * of the protocol's. On the server's thread, or before it runs. Strings are
 * copied; if there is no memory, they are left out.
 */
FW_API void fw_server_set_scope(fw_server *server, const fw_scope *scope);

/**
 * Serve GET and HEAD of `path` ("/metrics") on the HTTP endpoint; a path that ends
 * in a slash ("/problems/") includes everything below it. Requires the bearer
 * token unless `is_open`.
 */
FW_API FW_NODISCARD fw_error *fw_server_add_page(fw_server *server, const char *path,
						 bool is_open, fw_page_fn *render, void *ctx);

/**
 * The same with every choice: methods, parameters of the path, a request body. Several
 * routes may have the same path, each for methods of its own. On the server's thread,
 * or before it runs. Raises internal.api_misuse, internal.out_of_memory.
 */
FW_API FW_NODISCARD fw_error *fw_server_add_route(fw_server *server, const fw_route *route);

/* ---- limits ------------------------------------------------------------- */

/** One limit, by its name: "message_bytes". */
typedef struct fw_limit {
	const char *name;
	uint64_t value; /**< by default */
	uint64_t least;
	uint64_t most;
	const char *summary;
} fw_limit;

/** The limit with this index; NULL: there are no more. */
FW_API const fw_limit *fw_limit_at(size_t index);

/** Before the server listens. Raises input.invalid_value (no such limit, or out of
 *  range), internal.api_misuse (too late). */
FW_API FW_NODISCARD fw_error *fw_server_set_limit(fw_server *server, const char *name,
						  uint64_t value);

FW_EXTERN_C_END

#endif
