/*
 * call.h - one call, as its handler sees it: what was asked, what is reported on
 * the way, and the result.
 *
 * The one rule to remember: a call may be used by the thread that handles it, and
 * by nobody after it is finished.
 */
#ifndef FAULTWIRE_CALL_H
#define FAULTWIRE_CALL_H

#include <faultwire/error.h>
#include <faultwire/json.h>
#include <faultwire/level.h>
#include <faultwire/principal.h>

FW_EXTERN_C_BEGIN

typedef struct fw_server fw_server;
typedef struct fw_call fw_call;

/* ---- in a handler: what was asked ---------------------------------------- */

/* Strings are borrowed from the call. An argument that is absent, null or of
 * another type yields the default; the input schema normally excludes that. */

/** The tool's or prompt's name, or the resource's URI. */
FW_API const char *fw_call_name(const fw_call *call);
FW_API bool fw_call_has(const fw_call *call, const char *name);
/**
 * NULL: none. The text ends in NUL. Arguments that hold another NUL are refused
 * with input.invalid_value before the handler runs, so the text can be used as a
 * C string. A tool with checks_arguments or takes_nul may get such texts: with
 * `ret_len` NULL, they are returned as NULL.
 */
FW_API const char *fw_call_string(const fw_call *call, const char *name, size_t *ret_len);
FW_API int64_t fw_call_i64(const fw_call *call, const char *name, int64_t otherwise);
FW_API double fw_call_f64(const fw_call *call, const char *name, double otherwise);
FW_API bool fw_call_bool(const fw_call *call, const char *name, bool otherwise);
/** The argument as compact JSON text; `name` NULL: all of them, an object. */
FW_API const char *fw_call_json(fw_call *call, const char *name, size_t *ret_len);

/** "2025-11-25", "2026-07-28"... */
FW_API const char *fw_call_protocol(const fw_call *call);
/** The id of the client's session (HTTP, Mcp-Session-Id); NULL: the protocol version or
 *  the transport has none. Not known in a worker process. */
FW_API const char *fw_call_session(const fw_call *call);
/** What the client calls itself; NULL: nothing. Not known in a worker process. */
FW_API const char *fw_call_client(const fw_call *call);
/** Who is calling; never NULL. In a worker process always "anonymous". */
FW_API const fw_principal *fw_call_principal(const fw_call *call);
/** Whether the client has this capability: "sampling", "elicitation", "roots". */
FW_API bool fw_call_client_can(const fw_call *call, const char *capability);
/** The tool's shared state, as it was when this run began. */
FW_API const char *fw_call_state(const fw_call *call, size_t *ret_len);
/** Replaces it when this run ends, even with an error; a run that crashes or is
 *  killed changes nothing. Of several, the last one wins. */
FW_API void fw_call_set_state(fw_call *call, const char *text, size_t len);
/** The client has cancelled the call, or the deadline has passed. */
FW_API bool fw_call_is_cancelled(const fw_call *call);

/* ---- in a handler: the result -------------------------------------------- */

/*
 * Each adds to the result of a tool, to the messages of a prompt (in the role that
 * was set last, "user" by default), or to the contents of a resource
 * (resource_text and resource_blob only). Content that cannot be sent (not UTF-8,
 * too large, not JSON) makes the call fail, for example with
 * tool.result_not_text.
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
/** Structured content, JSON text. If no other content is added, it is also added
 *  as text, as the protocol advises. */
FW_API void fw_call_structured(fw_call *call, const char *json, size_t len);
/** The same from a builder, which is consumed. One that is not complete makes the call
 *  fail. */
FW_API void fw_call_structured_json(fw_call *call, fw_json *json);
/** The whole result object, as JSON text, in place of all of the above. */
FW_API void fw_call_result(fw_call *call, const char *json, size_t len);
/** Prompts: the role of the messages that follow; the description of the prompt. */
FW_API void fw_call_role(fw_call *call, const char *role);
FW_API void fw_call_description(fw_call *call, const char *description);
/** Completion: one value; at most 100 are sent. */
FW_API void fw_call_value(fw_call *call, const char *value);

/* ---- in a handler: before the result -------------------------------------------- */

/** Sent if the client asked for it. `total` <= 0: not known. `message` may be NULL. */
FW_API void fw_call_progress(fw_call *call, double progress, double total, const char *message);
FW_API bool fw_call_wants_progress(const fw_call *call);

/** A log message for the client, if its level permits. `logger` may be NULL. */
FW_API void fw_call_log(fw_call *call, fw_log_level level, const char *logger,
			const char *text);

/**
 * Ask the client: `method` is "elicitation/create", "sampling/createMessage" or
 * "roots/list", `params` JSON text (NULL: none), `key` names the question
 * within this call. Returns the answer as JSON text, or NULL while it is not
 * known: then the handler asks its other questions, returns NULL, and IS RUN
 * AGAIN FROM ITS START once the answers have arrived. So do nothing that must
 * not happen twice before the last question is answered.
 *
 * A client that lacks the capability makes the call fail with
 * protocol.missing_capability; check with fw_call_client_can() first.
 */
FW_API const char *fw_call_ask(fw_call *call, const char *key, const char *method,
			       const char *params);
/**
 * A question that the server's program answers itself, for handlers that run in a worker
 * and need what only the server knows: fw_call_ask() with this `method` and a `key` that
 * begins with "host:". No client sees it. `params` is the JSON text, valid during the call;
 * NULL: none. Called on the server's thread, which it must not block; fw_call_supply()
 * gives the answer, then or later.
 */
typedef void fw_answerer(fw_call *call, const char *key, const char *params, void *ctx);
/** Before the server runs; at most 8. `method` is kept, not copied. Raises
 *  internal.api_misuse. */
FW_API FW_NODISCARD fw_error *fw_server_add_answerer(fw_server *server, const char *method,
						     fw_answerer *answer, void *ctx);
/**
 * Answers a question, exactly once, on the server's thread, before the server is freed: with
 * one JSON object, or with `err`, which is consumed and makes the call fail. The call must
 * not be used afterwards.
 */
FW_API void fw_call_supply(fw_call *call, const char *key, const char *json, size_t len,
			   fw_error *err);
/** One member of an answer as a string, by JSON Pointer ("/content/name"); NULL: none,
 *  or it holds a NUL. */
FW_API const char *fw_call_answer(fw_call *call, const char *key, const char *pointer);

/**
 * HTTP, 2025-11-25: end the stream of this call now. The client reconnects for
 * the result after `retry_ms`. No effect for other versions and transports.
 */
FW_API void fw_call_close_stream(fw_call *call, uint32_t retry_ms);

/* ---- finishing later (FW_RUN_ASYNC) -------------------------------------- */

/**
 * Finish the call, with its result (`err` NULL) or with `err`, which is consumed.
 * Exactly once for each run of the handler that returned NULL, from any thread;
 * the call must not be used afterwards.
 */
FW_API void fw_call_finish(fw_call *call, fw_error *err);

/** Call `resume` on the server's thread after `delay_ms`. For FW_RUN_ASYNC. */
typedef void fw_call_timer_fn(fw_call *call, void *ctx);
FW_API void fw_call_after(fw_call *call, uint32_t delay_ms, fw_call_timer_fn *resume,
			  void *ctx);

FW_EXTERN_C_END

#endif
