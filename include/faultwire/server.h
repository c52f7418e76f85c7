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
 * Make the process that workers are copies of. fw_server_run() does it, too;
 * a program that starts threads before that calls this before them, and after
 * all tools that run in processes were added: a copy of a process has only the
 * thread that made it, and would wait for ever for what others held. Raises as
 * fw_server_run().
 */
FW_API FW_NODISCARD fw_error *fw_server_prepare(fw_server *server);

/**
 * Serve until standard input ends, fw_server_stop(), SIGTERM or SIGINT. Calls
 * under way are finished within grace_ms, or answered with
 * server.shutting_down; what was written is flushed. Raises
 * internal.unexpected; with workers also server.sandbox_unavailable, and what
 * is wrong with a path that they are to be given.
 */
FW_API FW_NODISCARD fw_error *fw_server_run(fw_server *server);

/** End fw_server_run(). From any thread, and from a signal handler. */
FW_API void fw_server_stop(fw_server *server);

/* ---- observers ---------------------------------------------------------- */

/** How a client learns what became of its request. */
typedef enum fw_told {
	FW_TOLD_RESULT,         /**< it succeeded */
	FW_TOLD_TOOL_ERROR,     /**< a tool's result with isError, raised or made by itself */
	FW_TOLD_PROTOCOL_ERROR, /**< a JSON-RPC error */
	/** Refused before it was read, or not brought to where it should go. */
	FW_TOLD_TRANSPORT_ERROR,
	FW_TOLD_COUNT
} fw_told;

/** One request at its end, borrowed for the time of the call. */
typedef struct fw_outcome {
	const char *method;    /**< "tools/call"; NULL: not readable */
	const char *name;      /**< of the tool or prompt, or a resource's URI; NULL: none */
	const fw_error *error; /**< NULL: it succeeded */
	fw_contract contract;  /**< in which the error was told */
	uint64_t duration_ns;
	const char *client;  /**< as it named itself; NULL: it did not */
	const char *session; /**< its id; NULL: none */
	const char *trace;   /**< traceparent; NULL: none */
	bool changes;        /**< the tool's own word: it changes state */
	bool is_known;       /**< the name is one that the server offers */
	fw_call *call;       /**< for fw_outcome_arguments() */
	fw_told told;
	uint64_t handling_ns; /**< since it was known to have failed; 0: it has not */
	/** Refused by HTTP before its sender had shown who it is: anybody can make
	 *  as many of these as there is time for. */
	bool is_stranger;
} fw_outcome;

/** The arguments as compact JSON text, yours for fw_free(); NULL: none, or no
 *  memory. */
FW_API char *fw_outcome_arguments(const fw_outcome *outcome, size_t *ret_len);

/** A reply that waits. */
typedef struct fw_hold fw_hold;

/**
 * Lets it go: `err` (consumed; NULL: none) is told instead, with what failed
 * before as its cause. Exactly once, from any thread, also from within
 * replying(), and not after fw_server_free(). A stop does not wait longer than
 * its grace: then audit.log_failed is told.
 */
FW_API void fw_hold_release(fw_hold *hold, fw_error *err);

/** Any member may be NULL. Called on the server's thread; must not block. */
typedef struct fw_observer {
	/** A tool is asked for, and its arguments have not been looked at: an error
	 *  refuses it. */
	fw_error *(*entering)(void *ctx, const fw_outcome *coming);
	/** Before a tool runs: an error refuses it. `error` and `duration_ns` are
	 *  not known yet. */
	fw_error *(*admitting)(void *ctx, const fw_outcome *coming);
	/** A call has failed: add to its error what the boundary does not know,
	 *  before it is completed and shown. */
	void (*failing)(void *ctx, const fw_outcome *outcome, fw_error *err);
	/**
	 * Before a reply leaves; an error is complete (scope, incident id, time).
	 * True: the reply waits for fw_hold_release(), for an audit that must be
	 * on disk first. Observers after this one are asked then.
	 */
	bool (*replying)(void *ctx, const fw_outcome *outcome, fw_hold *hold);
	/** After the reply has been handed to the transport. */
	void (*finished)(void *ctx, const fw_outcome *outcome);
	void *ctx;
} fw_observer;

/** Copied. Observers are asked in the order of adding. */
FW_API FW_NODISCARD fw_error *fw_server_add_observer(fw_server *server,
						     const fw_observer *observer);

/**
 * What every error says from now on of role, session_id and workspace_root (the
 * other members are not looked at; NULL: nothing). The session is then one of
 * the tools' own, in place of the protocol's. On the server's thread, or before
 * it runs. Strings are copied; without memory they are left out.
 */
FW_API void fw_server_set_scope(fw_server *server, const fw_scope *scope);

/* ---- pages -------------------------------------------------------------- */

/** One GET of a page, borrowed for the time of rendering. */
typedef struct fw_page fw_page;

/** On the server's thread; must not block. An error becomes a problem document. */
typedef fw_error *fw_page_fn(fw_page *page, void *ctx);

/**
 * Serve GET and HEAD of `path` ("/metrics"; "/problems/" ends in a slash: all
 * below it) on the HTTP endpoint, behind its token unless `is_open`.
 */
FW_API FW_NODISCARD fw_error *fw_server_add_page(fw_server *server, const char *path,
						 bool is_open, fw_page_fn *render, void *ctx);
FW_API const char *fw_page_path(const fw_page *page);
/** A request header ("Accept"); NULL: absent. */
FW_API const char *fw_page_header(const fw_page *page, const char *name);
/** A parameter of the query, decoded; NULL: absent. */
FW_API const char *fw_page_query(const fw_page *page, const char *name);
/** Without it: 200 and "text/plain; charset=utf-8". */
FW_API void fw_page_status(fw_page *page, int status, const char *content_type);
FW_API void fw_page_write(fw_page *page, const char *text, size_t len);

/* ---- limits ------------------------------------------------------------- */

/** One limit, by its name: "message_bytes". */
typedef struct fw_limit {
	const char *name;
	uint64_t value; /**< by default */
	uint64_t least;
	uint64_t most;
	const char *summary;
} fw_limit;

/** The limits, one after another; NULL: no more. */
FW_API const fw_limit *fw_limit_at(size_t index);

/** Before the server listens. Raises input.invalid_value (no such limit, or out of
 *  its range), internal.api_misuse (too late). */
FW_API FW_NODISCARD fw_error *fw_server_set_limit(fw_server *server, const char *name,
						  uint64_t value);

/* ---- isolated execution ------------------------------------------------- */

typedef enum fw_sandbox {
	FW_SANDBOX_BEST_EFFORT, /**< what the kernel lacks is told, and done without */
	FW_SANDBOX_REQUIRED,    /**< what the kernel lacks keeps the server from running */
	FW_SANDBOX_OFF
} fw_sandbox;

/** Begin with FW_WORKERS_INIT: nothing is allowed that is not named here.
 *  Strings are copied. */
typedef struct fw_workers_options {
	uint32_t count; /**< processes kept ready; 0: one a processor, at least 2 */
	uint32_t most;  /**< when others would starve; 0: four times `count` */
	fw_sandbox sandbox;
	const char *const *readable;    /**< paths, NULL at the end; NULL: none */
	const char *const *writable;    /**< the same; readable, too */
	const char *const *environment; /**< names of variables to keep; NULL: none */
	bool may_connect;               /**< to other machines and other processes */
	bool may_execute;               /**< programs, and processes of its own */
	/** Address space; with may_execute, memory of its own in each process; 0: 1 GiB. */
	uint64_t memory_bytes;
	uint32_t files;      /**< descriptors; 0: 64 */
	uint32_t cpu_s;      /**< processor time of one call; 0: 60 */
	uint64_t file_bytes; /**< largest file it may write; 0: 1 GiB */
	/** Crashes of one tool in a row that suspend it, and for how long. */
	uint32_t breaker_crashes; /**< 0: 5; UINT32_MAX: never */
	uint32_t breaker_ms;      /**< 0: 30000 */
	/** Runs in each new worker before its sandbox closes; NULL: none. */
	fw_error *(*prepare)(void *ctx);
	void *ctx;
} fw_workers_options;

#define FW_WORKERS_INIT                                                                      \
	{                                                                                    \
		0, 0, FW_SANDBOX_BEST_EFFORT, NULL, NULL, NULL, false, false, 0, 0, 0, 0, 0, \
			0, NULL, NULL                                                        \
	}

typedef struct fw_workers fw_workers;

/**
 * A pool of processes for tools that run with FW_RUN_PROCESS. Owned by the
 * server. The processes start with fw_server_run(), as copies of this program:
 * what a handler changes in memory, nobody else sees. Raises
 * internal.out_of_memory, internal.api_misuse.
 */
FW_API FW_NODISCARD fw_error *fw_server_add_workers(fw_server *server,
						    const fw_workers_options *options,
						    fw_workers **ret_workers);

/** What the server process itself may reach; begin with FW_CONFINE_INIT, which is
 *  nothing. Paths and ports are read by fw_server_confine() and not kept. */
typedef struct fw_confine_options {
	fw_sandbox sandbox;
	const char *const *readable; /**< paths, NULL at the end; NULL: none */
	const char *const *writable; /**< the same; readable, too */
	/** TCP ports of other machines that the program's own code connects to, 0 at
	 *  the end; name lookups come with them. NULL: it makes no sockets. */
	const uint16_t *connect_ports;
	/** The port that fw_server_listen_http() will be given. */
	uint16_t listen_port;
} fw_confine_options;

#define FW_CONFINE_INIT                                     \
	{                                                   \
		FW_SANDBOX_BEST_EFFORT, NULL, NULL, NULL, 0 \
	}

/**
 * Confine this process, before fw_server_prepare(). From fw_server_prepare() on
 * it opens only what is named here, the system's libraries and /proc; so that
 * call has to come before the first thread, and what else is needed has to be
 * open by then. From the moment that fw_server_run() takes its first byte it can
 * also neither fork nor execute programs, makes no sockets other than for
 * connect_ports, and binds none. Handlers with FW_RUN_PROCESS have the sandbox
 * of their own pool instead; all others live under this one. It cannot be
 * undone. Raises server.sandbox_unavailable (FW_SANDBOX_REQUIRED, and the kernel
 * lacks something), what is wrong with a path, internal.api_misuse (too late, or
 * twice), internal.out_of_memory.
 */
FW_API FW_NODISCARD fw_error *fw_server_confine(fw_server *server,
						const fw_confine_options *options);

/**
 * A text that the tools of a set share, and that lives in the server: what a
 * process cannot keep. Owned by the server. Raises input.too_large (1 MiB),
 * internal.out_of_memory, internal.api_misuse.
 */
typedef struct fw_state fw_state;
FW_API FW_NODISCARD fw_error *fw_server_add_state(fw_server *server, const char *text,
						  size_t len, fw_state **ret_state);
/** On the server's thread. Borrowed until it is set. */
FW_API const char *fw_state_text(const fw_state *state, size_t *ret_len);
/** On the server's thread. False: too large, or no memory, and unchanged. */
FW_API bool fw_state_set(fw_state *state, const char *text, size_t len);

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
	FW_RUN_PROCESS /**< in an isolated process, which may crash or hang */
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
	/** It changes state: observers are told so, and may refuse it. */
	bool changes;
	/** Its handler checks the arguments, with codes of its own: the schema is
	 *  listed for clients, and not enforced; strings may hold NULs. */
	bool checks_arguments;
	fw_workers *workers; /**< FW_RUN_PROCESS: NULL: a pool that may do nothing */
	fw_state *state;     /**< what its handler shares with others; NULL: nothing */
	/** No list shows it, but it can be called: for an observer that says why
	 *  not, in place of a tool that is not known. */
	bool is_hidden;
	/** Its handler asks for the lengths of strings: they may hold NULs. */
	bool takes_nul;
} fw_tool;

#define FW_TOOL_INIT                                                                          \
	{                                                                                     \
		NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, FW_RUN_INLINE, 0, \
			FW_AUTO, false, false, NULL, NULL, false, false                       \
	}

/** Raises internal.api_misuse (name taken, schema that does not compile,
 *  FW_RUN_PROCESS while the server runs...), internal.out_of_memory. */
FW_API FW_NODISCARD fw_error *fw_server_add_tool(fw_server *server, const fw_tool *tool);

/** A resource, or a template of resources. All zero to begin with. */
typedef struct fw_resource {
	/** "file:///a", or with variables "test://item/{id}": each is then an
	 *  argument of the call. "{+path}" takes slashes, too. Required. */
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
/**
 * NULL: none. The text ends in NUL. Arguments that hold another NUL are refused
 * with input.invalid_value before the handler runs, so that a text can be read
 * as a C string. A tool with checks_arguments or takes_nul gets them: its
 * handler passes `ret_len`, since without it such a text is NULL.
 */
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
/** The tool's state, as it was when this run began. */
FW_API const char *fw_call_state(const fw_call *call, size_t *ret_len);
/** Replaces it, when this run ends, be it with an error; a run that crashes or is
 *  killed changes nothing. The last one wins. */
FW_API void fw_call_set_state(fw_call *call, const char *text, size_t len);
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
/** One member of an answer as a string, by JSON Pointer ("/content/name"); NULL: none,
 *  or it holds a NUL. */
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
