/*
 * client.h - an MCP client that reads any error, decides what to do, and does it.
 *
 * It speaks to one server: a program over pipes, or an endpoint over HTTP, of any
 * protocol version. A failure is read whatever contract it is in, or classified if it is
 * in none (classify.h), and fw_decide() says what follows. What may be repeated is
 * repeated here, after the delay; anything else comes back to the caller, who owns the
 * error and asks fw_client_decision() what to do.
 *
 * Calls block. While one runs, the server's progress and log messages and the attempts
 * are reported to `event`, and its questions are given to `answer`.
 *
 * A program that exits while it is written to raises SIGPIPE: programs that use a client
 * ignore that signal.
 *
 * The one rule to remember: a client belongs to one thread at a time; only
 * fw_client_interrupt() may be called from another one, or from a signal handler.
 */
#ifndef FAULTWIRE_CLIENT_H
#define FAULTWIRE_CLIENT_H

#include <faultwire/classify.h>
#include <faultwire/decide.h>
#include <faultwire/error.h>

FW_EXTERN_C_BEGIN

typedef struct fw_client fw_client;

typedef enum fw_client_event_kind {
	FW_CLIENT_SENT,     /**< `text` is a message to the server, for debugging */
	FW_CLIENT_RECEIVED, /**< `text` is a message of the server */
	FW_CLIENT_STRAY,    /**< `text` is a line of the server that is not a message */
	FW_CLIENT_READY,    /**< connected; `text` is the protocol version */
	FW_CLIENT_PROGRESS, /**< `text` is the params of notifications/progress, JSON */
	FW_CLIENT_LOG,      /**< `text` is the params of notifications/message, JSON */
	FW_CLIENT_ASKED,    /**< `text` is the method that the server asks for */
	FW_CLIENT_FAILED,   /**< an attempt failed: `error`, `decision`, `attempt` */
	FW_CLIENT_WAITING   /**< `delay` seconds, before attempt `attempt` */
} fw_client_event_kind;

/** What `event` gets; all of it is borrowed during the call. */
typedef struct fw_client_event {
	fw_client_event_kind kind;
	unsigned attempt; /**< from 1 */
	const char *text; /**< not NUL-terminated */
	size_t len;
	double delay;
	const fw_error *error;
	const fw_decision *decision;
} fw_client_event;

typedef void fw_client_event_fn(void *ctx, const fw_client_event *event);

/**
 * A question of the server ("elicitation/create", "sampling/createMessage", "roots/list"):
 * returns the result as a JSON object, which must stay until the next call; NULL refuses.
 */
typedef const char *fw_client_answer_fn(void *ctx, const char *method, const char *params,
					size_t len);

typedef enum fw_client_era {
	FW_CLIENT_AUTO, /**< asks the server */
	FW_CLIENT_LEGACY,
	FW_CLIENT_MODERN
} fw_client_era;

/** Either `command` or `url`. Strings are borrowed for the life of the client. */
typedef struct fw_client_options {
	size_t struct_size;
	const char *name;               /**< of the server, in errors; NULL: "server" */
	const char *const *command;     /**< program and arguments; ends with a NULL */
	const char *const *environment; /**< "NAME=value"; NULL: that of this process */
	const char *directory;          /**< NULL: that of this process */
	const char *url;
	const char *const *headers; /**< "Name: value"; ends with a NULL; NULL: none */
	fw_client_era era;
	unsigned attempts_max; /**< 0: 3; 1: nothing is repeated */
	double timeout;        /**< seconds for one attempt; 0: 60 */
	double deadline;       /**< seconds for a call with all attempts; 0: none */
	/** What the client can do, a JSON object; NULL: {}. */
	const char *capabilities;
	/** "name" and "version" of the program, a JSON object; NULL: faultwire's. */
	const char *client;
	const fw_classifier *classifier; /**< NULL: the built-in rules */
	fw_client_event_fn *event;       /**< NULL: nothing is reported */
	fw_client_answer_fn *answer;     /**< NULL: questions are refused */
	void *ctx;
} fw_client_options;

#define FW_CLIENT_OPTIONS_INIT FW_INIT(fw_client_options)

/** Prepares a client; nothing is started yet. You own it. Raises internal.api_misuse,
 * internal.unsupported (no libcurl) and internal.out_of_memory. */
FW_API FW_NODISCARD fw_error *fw_client_new(const fw_client_options *options,
					    fw_client **ret_client);
/** Ends the connection; a program gets the end of its input. NULL is a no-op. */
FW_API void fw_client_free(fw_client *client);

/** Ends the call that is running with runtime.cancelled, and tells the server. */
FW_API void fw_client_interrupt(fw_client *client);

/** The result of a request: a JSON object. */
typedef struct fw_client_result {
	char *text; /**< NUL-terminated; release with fw_client_result_clear() */
	size_t len;
	unsigned attempts;
} fw_client_result;

FW_API void fw_client_result_clear(fw_client_result *result);

/**
 * Makes a request, connecting first if necessary. `params` is a JSON object, or NULL. A
 * request other than tools/call is taken for idempotent. Raises any code that the server
 * sends, or that its failure has; runtime.cancelled; input.invalid_format (`params`).
 */
FW_API FW_NODISCARD fw_error *fw_client_request(fw_client *client, const char *method,
						const char *params, size_t len,
						fw_client_result *ret_result);

/** All pages of tools/list, resources/list, resources/templates/list or prompts/list as
 * one result. In a modern server's list, tools whose header annotations are invalid are
 * left out. */
FW_API FW_NODISCARD fw_error *fw_client_list(fw_client *client, const char *method,
					     fw_client_result *ret_result);

/**
 * Calls a tool; `arguments` is a JSON object, or NULL. The annotations of the tool say
 * whether it is idempotent. A result with isError is raised as an error.
 */
FW_API FW_NODISCARD fw_error *fw_client_call(fw_client *client, const char *tool,
					     const char *arguments, size_t len,
					     fw_client_result *ret_result);

/** What follows from the error that the last function raised. Borrowed. */
FW_API const fw_decision *fw_client_decision(const fw_client *client);

/** The attempts of the last request. */
FW_API unsigned fw_client_attempts(const fw_client *client);

/** The result of the last tools/call with isError, or the JSON-RPC error object, as the
 * server sent it; NULL: the failure was of another kind. Borrowed. */
FW_API const char *fw_client_failure(const fw_client *client);

/** What the server says about itself, the JSON result of its handshake; NULL before. */
FW_API const char *fw_client_server(const fw_client *client);

/** The last text that a program wrote to standard error, without secrets: writes at most
 * `cap` bytes including a NUL and returns the length. */
FW_API size_t fw_client_stderr(const fw_client *client, char *buf, size_t cap);

FW_EXTERN_C_END

#endif
