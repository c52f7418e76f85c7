/*
 * tool.h - what a server offers: tools, resources and prompts, and the state
 * that tools share.
 *
 * The one rule to remember: what runs on the server's thread must not block.
 */
#ifndef FAULTWIRE_TOOL_H
#define FAULTWIRE_TOOL_H

#include <faultwire/error.h>

FW_EXTERN_C_BEGIN

typedef struct fw_server fw_server;
typedef struct fw_call fw_call;
typedef struct fw_workers fw_workers;

/**
 * Text that several tools share. It lives in the server, since worker processes
 * cannot keep it. Owned by the server. Raises input.too_large (1 MiB),
 * internal.out_of_memory, internal.api_misuse.
 */
typedef struct fw_state fw_state;
FW_API FW_NODISCARD fw_error *fw_server_add_state(fw_server *server, const char *text,
						  size_t len, fw_state **ret_state);
/** On the server's thread. Borrowed: valid until it is set again. */
FW_API const char *fw_state_text(const fw_state *state, size_t *ret_len);
/** On the server's thread. False: too large or no memory; then it is unchanged. */
FW_API bool fw_state_set(fw_state *state, const char *text, size_t len);
/** In entering() or admitting() of an observer: this call reads and replaces `state`
 *  in place of its tool's, which must have one. NULL: the tool's own. */
FW_API void fw_call_use_state(fw_call *call, fw_state *state);

/* ---- tools, resources and prompts ----------------------------------------- */

/**
 * Handles one call. Returns NULL for success; what it added to the call is the
 * result. Or returns an error, which the server then owns.
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
	size_t struct_size;
	const char *name; /**< required: 1 to 64 of A-Z a-z 0-9 _ - . / */
	const char *title;
	const char *description;
	/** JSON Schema (2020-12) of the arguments, an object; NULL: any object. */
	const char *input_schema;
	/** Of structured content, which a result must then have; NULL: none. */
	const char *output_schema;
	const char *annotations; /**< JSON object; NULL: none */
	/** Empty result, to which the codeintel contract adds `error` and `problem`. It must
	 *  be valid by the output schema with them. NULL: derived from the output schema;
	 *  if that is not possible, errors have no structured content. */
	const char *empty_result;
	const char *operation; /**< scope: "files:open_file"; NULL: none */
	fw_handler *handler;   /**< required */
	void *ctx;
	fw_run run;
	uint32_t deadline_ms; /**< 0: the server's. Not for FW_RUN_INLINE. */
	fw_contract contract; /**< FW_AUTO: the server's */
	/** It changes state: observers can see this and refuse the call. */
	bool changes;
	/** The handler checks the arguments itself: the schema is listed for clients
	 *  and not enforced; strings may hold NULs. */
	bool checks_arguments;
	fw_workers *workers; /**< for FW_RUN_PROCESS; NULL: a pool with an empty sandbox */
	fw_state *state;     /**< shared with other tools; NULL: none */
	/** It can be called, but is not listed. An observer can then refuse it with a
	 *  reason, instead of "unknown tool". */
	bool is_hidden;
	/** The handler reads the lengths of strings: they may hold NULs. */
	bool takes_nul;
	/** It fails on purpose: failures are recorded, and fire no alert. */
	bool is_drill;
} fw_tool;

/** To begin a list of designated initializers: { FW_TOOL_DEFAULTS, .name = ... }. */
#define FW_TOOL_DEFAULTS .struct_size = sizeof(fw_tool), .contract = FW_AUTO
#ifdef __cplusplus
#define FW_TOOL_INIT fw_init<fw_tool>(FW_AUTO)
#else
#define FW_TOOL_INIT             \
	{                        \
		FW_TOOL_DEFAULTS \
	}
#endif

/** Raises internal.api_misuse (name taken, schema that does not compile, empty result
 *  that it does not allow, FW_RUN_PROCESS while the server runs...), internal.out_of_memory. */
FW_API FW_NODISCARD fw_error *fw_server_add_tool(fw_server *server, const fw_tool *tool);

/** A resource, or a template of resources. Begin with FW_RESOURCE_INIT. Strings are
 *  copied. */
typedef struct fw_resource {
	size_t struct_size;
	/** "file:///a", or with variables "test://item/{id}", which become arguments
	 *  of the call. "{+path}" also matches slashes. Required. */
	const char *uri;
	const char *name; /**< required */
	const char *title;
	const char *description;
	const char *mime_type;
	const char *annotations; /**< JSON object; NULL: none */
	fw_handler *handler;     /**< for resources/read; required */
	/** For completion/complete, with arguments "name" and "value"; NULL: none. */
	fw_handler *complete;
	void *ctx;
	fw_run run;
} fw_resource;

#define FW_RESOURCE_INIT FW_INIT(fw_resource)

FW_API FW_NODISCARD fw_error *fw_server_add_resource(fw_server *server,
						     const fw_resource *resource);

/** An element of an array, so it never gets another member. */
typedef struct fw_prompt_argument {
	const char *name;
	const char *description; /**< NULL: none */
	bool required;
} fw_prompt_argument;

/** Begin with FW_PROMPT_INIT. Strings and arguments are copied. */
typedef struct fw_prompt {
	size_t struct_size;
	const char *name; /**< required */
	const char *title;
	const char *description;
	const fw_prompt_argument *arguments;
	size_t argument_count;
	fw_handler *handler;  /**< required */
	fw_handler *complete; /**< as for a resource; NULL: none */
	void *ctx;
	fw_run run;
} fw_prompt;

#define FW_PROMPT_INIT FW_INIT(fw_prompt)

FW_API FW_NODISCARD fw_error *fw_server_add_prompt(fw_server *server, const fw_prompt *prompt);

/* Notify clients that listen. From any thread while the server runs. */
FW_API void fw_server_tools_changed(fw_server *server);
FW_API void fw_server_prompts_changed(fw_server *server);
FW_API void fw_server_resources_changed(fw_server *server);
FW_API void fw_server_resource_updated(fw_server *server, const char *uri);

FW_EXTERN_C_END

#endif
