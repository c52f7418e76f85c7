/*
 * error.h - the error type.
 *
 * A function that can fail returns `fw_error *`. NULL is success. Otherwise the
 * caller OWNS the error and does exactly one thing with it: return it, wrap it, or
 * handle and free it. There is no last error and no errno convention, and nothing
 * here logs.
 *
 * Raising, wrapping, annotating and freeing cannot fail. If memory runs out, an
 * annotation is dropped, and raising returns a static out-of-memory error that can be
 * used like any other.
 *
 * Errors are raised with the constructors of <faultwire/raise.h>, which are generated
 * from the registry, one per code.
 *
 * An error belongs to one thread at a time.
 */
#ifndef FAULTWIRE_ERROR_H
#define FAULTWIRE_ERROR_H

#include <faultwire/base.h>
#include <faultwire/codes.h>
#include <faultwire/registry.h>

FW_EXTERN_C_BEGIN

/** How far a request got before it failed: may it have had a side effect? */
typedef enum fw_delivery {
	FW_DELIVERY_NONE, /**< not applicable */
	FW_NOT_SENT,
	FW_SENT,
	FW_REPLIED,
	FW_DELIVERY_COUNT
} fw_delivery;

FW_API const char *fw_delivery_name(fw_delivery delivery);

typedef enum fw_field_type {
	FW_FIELD_STRING,
	FW_FIELD_I64,
	FW_FIELD_U64,
	FW_FIELD_F64,
	FW_FIELD_BOOL,
	FW_FIELD_JSON /**< `string` is compact JSON text */
} fw_field_type;

/** One named, typed piece of context. */
typedef struct fw_field {
	const char *key;
	size_t key_len;
	fw_field_type type;
	bool boolean;
	const char *string; /**< STRING and JSON: NUL-terminated, but may contain NULs */
	size_t string_len;
	int64_t i64;
	uint64_t u64;
	double f64;
} fw_field;

/* ---- lifecycle ---- */

/** Release an error. NULL is a no-op. Preserves errno. */
FW_API void fw_error_free(fw_error *err);

/** Number of live errors in this process, for leak checks in tests. */
FW_API long fw_error_live(void);

/**
 * Raise a code by its row, as the generated constructors do. Use it for your own
 * codes. `fields` are copied; those that the row marks message-only are used only in
 * the message. A missing required parameter raises internal.api_misuse instead, a
 * NULL row registry.code_unregistered.
 */
FW_API FW_NODISCARD fw_error *fw_raise_row(fw_src at, const fw_row *row, const fw_field *fields,
					   size_t count);

/** Return from the calling function with the error of `expr`, if it has one. */
#define FW_TRY(expr)                            \
	do {                                    \
		fw_error *fw_try_err_ = (expr); \
		if (fw_try_err_)                \
			return fw_try_err_;     \
	} while (0)

/* ---- adding to an error ---- */

/**
 * Add context to an error: what was being attempted. The message becomes "new text:
 * old message", and the old message becomes the first cause. The code stays. Consumes
 * `err` and returns it. NULL returns NULL, so it can be wrapped around a call.
 *
 * `fmt` is lower case without a final period: "could not read plan %s".
 */
FW_API FW_NODISCARD fw_error *fw_error_wrap(fw_error *err, fw_src at, const char *fmt, ...)
	FW_PRINTF(3, 4);

/**
 * Make `cause` the cause of `err`: its message, code and causes become causes of
 * `err`. The code of `err` stays. Consumes both and returns `err`; if one is NULL,
 * the other is returned.
 */
FW_API FW_NODISCARD fw_error *fw_error_caused_by(fw_error *err, fw_error *cause);

/**
 * Append a cause that is not an fw_error, such as that of a system call, a signal or
 * a library. `code` and `name` may be NULL.
 */
FW_API void fw_error_add_cause(fw_error *err, const char *message, const char *code,
			       const char *name);

/**
 * Set the last cause from a JSON value: an object is kept unchanged, a string becomes
 * its text, any other value its JSON text. Ignored if it is null or not JSON.
 */
FW_API void fw_error_set_cause_json(fw_error *err, const char *json, size_t len);

/* Context. The key is copied; a key that exists gets the new value; a key or value
 * that looks like a secret is stored as "[redacted]". NULL `err` is a no-op, here
 * and in all setters below. */
FW_API void fw_error_add_string(fw_error *err, const char *key, const char *value);
FW_API void fw_error_add_i64(fw_error *err, const char *key, int64_t value);
FW_API void fw_error_add_u64(fw_error *err, const char *key, uint64_t value);
FW_API void fw_error_add_f64(fw_error *err, const char *key, double value);
FW_API void fw_error_add_bool(fw_error *err, const char *key, bool value);
/** `json` must be one JSON value, otherwise it is ignored. */
FW_API void fw_error_add_json(fw_error *err, const char *key, const char *json, size_t len);

FW_API void fw_error_set_origin(fw_error *err, fw_origin origin);
FW_API void fw_error_set_delivery(fw_error *err, fw_delivery delivery);
/** Override the registry. Any value but BACKOFF clears retry_after. */
FW_API void fw_error_set_retry(fw_error *err, fw_retry retry);
FW_API void fw_error_set_recoverable(fw_error *err, bool recoverable);
/** Retry after this many seconds; implies BACKOFF. Negative or NaN: ignored. */
FW_API void fw_error_set_retry_after(fw_error *err, double seconds);
FW_API void fw_error_set_status(fw_error *err, int http_status);
FW_API void fw_error_set_hint(fw_error *err, const char *hint);
/** For the operator's log only; never part of a reply. */
FW_API void fw_error_set_detail(fw_error *err, const char *detail);
/** NULL and "" are ignored. */
FW_API void fw_error_set_incident_id(fw_error *err, const char *incident_id);
/** Set the timestamp (RFC 3339, UTC, with milliseconds). */
FW_API void fw_error_set_time(fw_error *err, int64_t unix_ms);
/** The tool's empty result, a JSON object, which codeintel shows next to the error. */
FW_API void fw_error_set_empty_result(fw_error *err, const char *json, size_t len);

/** The circumstances of an error. Any member may be NULL. It never gets another member:
 *  fw_error_scope() returns it by value. */
typedef struct fw_scope {
	const char *tool;
	const char *operation; /**< "files:open_file" */
	const char *role;
	const char *session_id;
	const char *workspace_root;
	const char *phase_id;
	const char *plan_hash;
	const char *invariant_id;
	const char *client;
	const char *trace_id;
} fw_scope;

/** Set the members that the error does not have yet; others are unchanged. */
FW_API void fw_error_fill_scope(fw_error *err, const fw_scope *scope);

/* ---- reading an error ---- */

/* All strings are borrowed from the error; NULL if there is none. `err` must not be
 * NULL unless stated otherwise. */

FW_API const fw_row *fw_error_row(const fw_error *err);
/** Number of the code, to compare with FW_FILE_NOT_FOUND etc.; 0 for NULL. */
FW_API int fw_error_code(const fw_error *err);
/** "file.not_found" */
FW_API const char *fw_error_name(const fw_error *err);
/** One sentence, including the text added by wraps. */
FW_API const char *fw_error_message(const fw_error *err);
FW_API const char *fw_error_hint(const fw_error *err);
FW_API const char *fw_error_detail(const fw_error *err);
FW_API fw_origin fw_error_origin(const fw_error *err);
FW_API fw_delivery fw_error_delivery(const fw_error *err);
FW_API fw_retry fw_error_retry(const fw_error *err);
FW_API bool fw_error_recoverable(const fw_error *err);
/** Seconds, or a negative number if there is no delay. */
FW_API double fw_error_retry_after(const fw_error *err);
FW_API int fw_error_status(const fw_error *err);
FW_API const char *fw_error_incident_id(const fw_error *err);
FW_API const char *fw_error_timestamp(const fw_error *err);
/** All members borrowed from the error. */
FW_API fw_scope fw_error_scope(const fw_error *err);

FW_API size_t fw_error_field_count(const fw_error *err);
/** Field `index` in the order of adding; false after the last. */
FW_API bool fw_error_field(const fw_error *err, size_t index, fw_field *ret_field);
/** The field with that key; false if there is none. */
FW_API bool fw_error_find_field(const fw_error *err, const char *key, fw_field *ret_field);

/** One of the causes, outermost first. Any string may be NULL. */
typedef struct fw_cause {
	const char *message;
	const char *code; /**< "file.not_found", "ENOENT", "SIGSEGV" */
	const char *name; /**< the kind of code: "fw_error", "errno", "signal" */
	const char *json; /**< the original cause, if it was JSON */
	fw_src at;        /**< where it was raised or wrapped; file NULL if unknown */
} fw_cause;

FW_API size_t fw_error_cause_count(const fw_error *err);
FW_API bool fw_error_cause(const fw_error *err, size_t index, fw_cause *ret_cause);
/** Does the error or one of its causes have that canonical code? */
FW_API bool fw_error_has_code(const fw_error *err, const char *code);

/**
 * Write "message: cause: cause", as for a log line. Writes at most `cap` bytes
 * including the NUL and returns the complete length without it, as snprintf does.
 */
FW_API size_t fw_error_text(const fw_error *err, char *buf, size_t cap);

/** Write where it was raised and wrapped, innermost first, one line each; likewise. */
FW_API size_t fw_error_trail(const fw_error *err, char *buf, size_t cap);

FW_EXTERN_C_END

#endif
