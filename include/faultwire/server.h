/*
 * server.h - an MCP server: tools, resources and prompts behind one boundary.
 *
 * Register what you offer, say where to listen, run. A handler gets a call,
 * adds to its result, and returns NULL; or it returns an fw_error, which
 * reaches the client in the contract that it asked for. Both protocol eras
 * (2025-03-26, 2025-06-18 and 2025-11-25 with a handshake, 2026-07-28 without)
 * and both transports are served from the same handlers.
 *
 * The one rule to remember: registering and running belong to one thread; a
 * call may be used by the thread that handles it, and by nobody else after it
 * is finished.
 */
#ifndef FAULTWIRE_SERVER_H
#define FAULTWIRE_SERVER_H

#include <faultwire/contract.h>
#include <faultwire/error.h>

FW_EXTERN_C_BEGIN

typedef struct fw_server fw_server;
typedef struct fw_call fw_call;

/* ---- the server --------------------------------------------------------- */

/** Begin with FW_SERVER_OPTIONS_INIT. Strings are copied. */
typedef struct fw_server_options {
	const char *name;         /**< required */
	const char *version;      /**< required */
	const char *title;        /**< NULL: none */
	const char *instructions; /**< for the model; NULL: none */
	/** The contract of errors where neither request nor client chooses one;
	 *  FW_AUTO: the tool's own, else FW_TOOLERROR. */
	fw_contract contract;
	const char *role;           /**< scope of every error; NULL: none */
	const char *workspace_root; /**< the same */
	/** Limit of a call whose tool names none; 0: none. */
	uint32_t deadline_ms;
	/** How long calls under way may go on after a stop; 0: 1500. */
	uint32_t grace_ms;
	/** Items of one page of a list; 0: 100. */
	uint32_t page_size;
	/** What modern clients may do with lists and resources; 0: do not cache. */
	uint32_t cache_ttl_ms;
	bool cache_public; /**< caches may be shared between users */
	bool debug_stack;  /**< show trails in kaiza and canonical errors */
	/** Do not take over SIGTERM and SIGINT while running. */
	bool keep_signals;
} fw_server_options;

#define FW_SERVER_OPTIONS_INIT                                                               \
	{                                                                                    \
		NULL, NULL, NULL, NULL, FW_AUTO, NULL, NULL, 0, 0, 0, 0, false, false, false \
	}

/** The server is yours, for fw_server_free(). Raises internal.api_misuse
 *  (no name or version), internal.out_of_memory, internal.unexpected. */
FW_API FW_NODISCARD fw_error *fw_server_new(const fw_server_options *options,
					    fw_server **ret_server);

/** NULL is a no-op. Not while it runs. */
FW_API void fw_server_free(fw_server *server);

/** Speak on standard input and output. The server ends with its input. */
FW_API FW_NODISCARD fw_error *fw_server_listen_stdio(fw_server *server);

/** The same on two descriptors, which stay yours. */
FW_API FW_NODISCARD fw_error *fw_server_listen_fds(fw_server *server, int in, int out);

/** Begin with FW_HTTP_OPTIONS_INIT. Strings are copied. */
typedef struct fw_http_options {
	const char *address;      /**< "127.0.0.1", "::1", "0.0.0.0"; NULL: 127.0.0.1 */
	uint16_t port;            /**< 0: any; fw_server_url() tells which */
	const char *path;         /**< NULL: "/mcp" */
	const char *bearer_token; /**< NULL: no authentication */
	/** Further Host values, comma separated, with or without port. Loopback
	 *  names are always right on a loopback address. */
	const char *allowed_hosts;
	/** Further Origin values, comma separated. */
	const char *allowed_origins;
	const char *tls_certificate; /**< PEM text; with tls_key: HTTPS */
	const char *tls_key;
	/** Where clients learn about authorization (RFC 9728); NULL: nowhere. */
	const char *resource_metadata_url;
} fw_http_options;

#define FW_HTTP_OPTIONS_INIT                                      \
	{                                                         \
		NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL \
	}

/** Bind now; requests are served while the server runs. An address that is not
 *  loopback needs a bearer token or allowed hosts. Raises io.failed,
 *  internal.api_misuse, internal.out_of_memory, transport.tls_failed. */
FW_API FW_NODISCARD fw_error *fw_server_listen_http(fw_server *server,
						    const fw_http_options *options);

/** Of the HTTP endpoint, such as "http://127.0.0.1:4000/mcp"; NULL: none. */
FW_API const char *fw_server_url(const fw_server *server);

/**
 * Serve until standard input ends, fw_server_stop(), SIGTERM or SIGINT. Calls
 * under way are finished within grace_ms, or answered with
 * server.shutting_down; what was written is flushed. Raises
 * internal.unexpected.
 */
FW_API FW_NODISCARD fw_error *fw_server_run(fw_server *server);

/** End fw_server_run(). From any thread, and from a signal handler. */
FW_API void fw_server_stop(fw_server *server);

/* ---- observers ---------------------------------------------------------- */

/** One finished request, borrowed for the time of the call. */
typedef struct fw_outcome {
	const char *method;    /**< "tools/call"; NULL: not readable */
	const char *name;      /**< of the tool or prompt, or a resource's URI; NULL: none */
	const fw_error *error; /**< NULL: it succeeded */
	fw_contract contract;  /**< in which the error was told */
	uint64_t duration_ns;
	const char *client; /**< as it named itself; NULL: it did not */
} fw_outcome;

/** Any member may be NULL. Called on the server's thread; must not block. */
typedef struct fw_observer {
	/**
	 * Before the reply leaves: `err` is complete (scope, incident id, time).
	 * May return an error of its own, which is then told instead with `err`
	 * as its cause: an audit that could not be written.
	 */
	fw_error *(*failing)(void *ctx, const fw_error *err);
	/** After the reply has been handed to the transport. */
	void (*finished)(void *ctx, const fw_outcome *outcome);
	void *ctx;
} fw_observer;

/** Copied. Observers are asked in the order of adding. */
FW_API FW_NODISCARD fw_error *fw_server_add_observer(fw_server *server,
						     const fw_observer *observer);

/* ---- what it offers ----------------------------------------------------- */

/**
 * Handles one call. Returns NULL for success, with what it added to the call
 * as the result, or an error, which the server takes over.
 */
typedef fw_error *fw_handler(fw_call *call, void *ctx);

typedef enum fw_run {
	FW_RUN_INLINE, /**< on the server's thread: must not block */
	FW_RUN_THREAD, /**< on a thread of the pool */
	/** On the server's thread; the result comes later, by fw_call_finish(). */
	FW_RUN_ASYNC,
	FW_RUN_PROCESS /**< in an isolated process: not built yet */
} fw_run;

/** Begin with FW_TOOL_INIT. Strings are copied, `ctx` is kept. */
typedef struct fw_tool {
	const char *name; /**< required: 1 to 64 of A-Z a-z 0-9 _ - . / */
	const char *title;
	const char *description;
	/** JSON Schema (2020-12) of the arguments, an object; NULL: any object. */
	const char *input_schema;
	/** Of structured content, which a result must then have; NULL: none. */
	const char *output_schema;
	const char *annotations; /**< JSON object; NULL: none */
	/** The empty result that codeintel shows beside an error; NULL: {} */
	const char *empty_result;
	const char *operation; /**< scope: "files:open_file"; NULL: none */
	fw_handler *handler;   /**< required */
	void *ctx;
	fw_run run;
	uint32_t deadline_ms; /**< 0: the server's. Not for FW_RUN_INLINE. */
	fw_contract contract; /**< FW_AUTO: the server's */
} fw_tool;

#define FW_TOOL_INIT                                                                          \
	{                                                                                     \
		NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, FW_RUN_INLINE, 0, \
			FW_AUTO                                                               \
	}

/** Raises internal.api_misuse (name taken, schema that does not compile...),
 *  internal.unsupported (FW_RUN_PROCESS), internal.out_of_memory. */
FW_API FW_NODISCARD fw_error *fw_server_add_tool(fw_server *server, const fw_tool *tool);

/** A resource, or a template of resources. All zero to begin with. */
typedef struct fw_resource {
	/** "file:///a", or with variables "test://item/{id}": each is then an
	 *  argument of the call. Required. */
	const char *uri;
	const char *name; /**< required */
	const char *title;
	const char *description;
	const char *mime_type;
	const char *annotations; /**< JSON object; NULL: none */
	fw_handler *handler;     /**< of resources/read; required */
	/** Of completion/complete: arguments "name" and "value"; NULL: none. */
	fw_handler *complete;
	void *ctx;
	fw_run run;
} fw_resource;

FW_API FW_NODISCARD fw_error *fw_server_add_resource(fw_server *server,
						     const fw_resource *resource);

typedef struct fw_prompt_argument {
	const char *name;
	const char *description; /**< NULL: none */
	bool required;
} fw_prompt_argument;

/** All zero to begin with. */
typedef struct fw_prompt {
	const char *name; /**< required */
	const char *title;
	const char *description;
	const fw_prompt_argument *arguments;
	size_t argument_count;
	fw_handler *handler;  /**< required */
	fw_handler *complete; /**< as of a resource; NULL: none */
	void *ctx;
	fw_run run;
} fw_prompt;

FW_API FW_NODISCARD fw_error *fw_server_add_prompt(fw_server *server, const fw_prompt *prompt);

/* Tell the clients that listen. From any thread while the server runs. */
FW_API void fw_server_tools_changed(fw_server *server);
FW_API void fw_server_prompts_changed(fw_server *server);
FW_API void fw_server_resources_changed(fw_server *server);
FW_API void fw_server_resource_updated(fw_server *server, const char *uri);

/* ---- in a handler: what was asked ---------------------------------------- */

/* Strings are borrowed from the call. An argument that is absent, null or of
 * another type gives the value named; the input schema keeps those out. */

/** The tool's or prompt's name, or the resource's URI. */
FW_API const char *fw_call_name(const fw_call *call);
FW_API bool fw_call_has(const fw_call *call, const char *name);
/** NULL: none. `ret_len` may be NULL; the text ends in NUL and may hold others. */
FW_API const char *fw_call_string(const fw_call *call, const char *name, size_t *ret_len);
FW_API int64_t fw_call_i64(const fw_call *call, const char *name, int64_t otherwise);
FW_API double fw_call_f64(const fw_call *call, const char *name, double otherwise);
FW_API bool fw_call_bool(const fw_call *call, const char *name, bool otherwise);
/** The argument as compact JSON text; `name` NULL: all of them, an object. */
FW_API const char *fw_call_json(fw_call *call, const char *name, size_t *ret_len);

/** "2025-11-25", "2026-07-28"... */
FW_API const char *fw_call_protocol(const fw_call *call);
/** Has the client this capability: "sampling", "elicitation", "roots"? */
FW_API bool fw_call_client_can(const fw_call *call, const char *capability);
/** The client does not want the answer any more, or the deadline has passed. */
FW_API bool fw_call_is_cancelled(const fw_call *call);

/* ---- in a handler: the result -------------------------------------------- */

/*
 * Each adds to the result of a tool; to the messages of a prompt, in the role
 * set last ("user" at first); to the contents of a resource (resource_text and
 * resource_blob alone). What cannot be sent (not UTF-8, too large, not JSON)
 * makes the call fail with tool.result_not_text and its like.
 */
FW_API void fw_call_text(fw_call *call, const char *text);
FW_API void fw_call_text_n(fw_call *call, const char *text, size_t len);
FW_API void fw_call_textf(fw_call *call, const char *fmt, ...) FW_PRINTF(2, 3);
FW_API void fw_call_image(fw_call *call, const char *base64, const char *mime_type);
FW_API void fw_call_audio(fw_call *call, const char *base64, const char *mime_type);
FW_API void fw_call_resource_text(fw_call *call, const char *uri, const char *mime_type,
				  const char *text);
FW_API void fw_call_resource_blob(fw_call *call, const char *uri, const char *mime_type,
				  const char *base64);
FW_API void fw_call_resource_link(fw_call *call, const char *uri, const char *name,
				  const char *mime_type);
/** Structured content, JSON text. Where no other content is added, its text
 *  is that, too, as the protocol advises. */
FW_API void fw_call_structured(fw_call *call, const char *json, size_t len);
/** The whole result object, as JSON text, in place of all of the above. */
FW_API void fw_call_result(fw_call *call, const char *json, size_t len);
/** Prompts: the role of what follows; `description` of the whole. */
FW_API void fw_call_role(fw_call *call, const char *role);
FW_API void fw_call_description(fw_call *call, const char *description);
/** Completion: one value; at most 100 are sent. */
FW_API void fw_call_value(fw_call *call, const char *value);

/* ---- in a handler: on the way -------------------------------------------- */

/** Told if the client asked for it. `total` <= 0: not known. `message` may be NULL. */
FW_API void fw_call_progress(fw_call *call, double progress, double total, const char *message);
FW_API bool fw_call_wants_progress(const fw_call *call);

typedef enum fw_log_level {
	FW_LOG_DEBUG,
	FW_LOG_INFO,
	FW_LOG_NOTICE,
	FW_LOG_WARNING,
	FW_LOG_ERROR,
	FW_LOG_CRITICAL,
	FW_LOG_ALERT,
	FW_LOG_EMERGENCY,
	FW_LOG_LEVEL_COUNT
} fw_log_level;

/** A log message for the client, if its level lets it through. `logger` may be NULL. */
FW_API void fw_call_log(fw_call *call, fw_log_level level, const char *logger,
			const char *text);

/**
 * Ask the client: `method` is "elicitation/create", "sampling/createMessage" or
 * "roots/list", `params` JSON text (NULL: none), `key` names the question
 * within this call. Returns the answer, JSON text, or NULL while it is not
 * known: then the handler asks what else it needs, returns NULL, and IS RUN
 * AGAIN FROM ITS START once the answers are there. So do nothing that must not
 * happen twice before the last question is answered.
 *
 * A client that lacks the capability makes the call fail with
 * protocol.missing_capability; fw_call_client_can() tells before.
 */
FW_API const char *fw_call_ask(fw_call *call, const char *key, const char *method,
			       const char *params);
/** One member of an answer as a string, by JSON Pointer ("/content/name"); NULL: none. */
FW_API const char *fw_call_answer(fw_call *call, const char *key, const char *pointer);

/**
 * HTTP, 2025-11-25: end the stream of this call now. The client comes back for
 * the result after `retry_ms`. Elsewhere nothing happens.
 */
FW_API void fw_call_close_stream(fw_call *call, uint32_t retry_ms);

/* ---- finishing later (FW_RUN_ASYNC) -------------------------------------- */

/**
 * The call is done, with its result (NULL) or `err`, which is consumed. Exactly
 * once for each run of the handler that returned NULL, from any thread; the
 * call may not be used afterwards.
 */
FW_API void fw_call_finish(fw_call *call, fw_error *err);

/** Call `resume` on the server's thread after `delay_ms`. For FW_RUN_ASYNC. */
typedef void fw_call_timer_fn(fw_call *call, void *ctx);
FW_API void fw_call_after(fw_call *call, uint32_t delay_ms, fw_call_timer_fn *resume,
			  void *ctx);

FW_EXTERN_C_END

#endif
