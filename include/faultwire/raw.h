/*
 * raw.h - errors made from what other software reports: an errno, an HTTP status, a
 * signal, a libcurl result, a SQLSTATE, a string, a JSON value.
 *
 * The original is kept as the first cause, with its own name.
 */
#ifndef FAULTWIRE_RAW_H
#define FAULTWIRE_RAW_H

#include <faultwire/error.h>

FW_EXTERN_C_BEGIN

/**
 * A failed system call. `what` is the path or object; may be NULL. Every errno of the
 * platform maps to a code; any other number gives internal.unexpected. Read errno
 * directly after the call.
 */
FW_API FW_NODISCARD fw_error *fw_error_from_errno(fw_src at, int errnum, const char *what);

/** "ENOENT"; NULL if the number is not an errno. */
FW_API const char *fw_errno_name(int errnum);

/**
 * A failed HTTP request to `what` (NULL: "server"). `retry_after` is the value of the
 * header, seconds or an HTTP date, or NULL; a date is relative to `now_unix_ms`. A
 * status below 400 gives internal.unexpected.
 */
FW_API FW_NODISCARD fw_error *fw_error_from_http(fw_src at, int status, const char *retry_after,
						 int64_t now_unix_ms, const char *what);

/** Seconds of a Retry-After header; negative if it is malformed. */
FW_API double fw_retry_after_parse(const char *header, int64_t now_unix_ms);

/** A process terminated by a signal: tool.crashed. */
FW_API FW_NODISCARD fw_error *fw_error_from_signal(fw_src at, int signum);

/** "SIGSEGV", "SIGRTMIN+3"; NULL if the number is not a signal. */
FW_API const char *fw_signal_name(int signum);

/** A CURLcode of libcurl, which need not be linked. `what` is the URL or NULL. */
FW_API FW_NODISCARD fw_error *fw_error_from_curl(fw_src at, int curlcode, const char *what);

/** "CURLE_COULDNT_CONNECT"; NULL if the number is not a CURLcode. */
FW_API const char *fw_curl_name(int curlcode);

/**
 * A failed statement, by the five characters that the database reports, such as
 * "23505" (resource.already_exists). `what` is the object, such as "note 7"; may be
 * NULL. Success, a warning, and what is no SQLSTATE give internal.unexpected.
 */
FW_API FW_NODISCARD fw_error *fw_error_from_sqlstate(fw_src at, const char *sqlstate,
						     const char *what);

/** "unique violation"; NULL if it is not the SQLSTATE of a failure. */
FW_API const char *fw_sqlstate_words(const char *sqlstate);

/**
 * A string that a tool threw: tool.failed, with the string as message and cause.
 * Empty or NULL: a message that something unexpected happened.
 */
FW_API FW_NODISCARD fw_error *fw_error_from_text(fw_src at, const char *text, size_t len);

/**
 * A JSON value that a tool threw: tool.failed. The `message` of an object (or its
 * `error`, `error.message` or `detail`) becomes the message, and the object the
 * cause, up to a depth and size limit. A string is treated as in
 * fw_error_from_text(), and so is text that is not JSON; any other value becomes its
 * JSON text, null the same as an empty string.
 */
FW_API FW_NODISCARD fw_error *fw_error_from_json(fw_src at, const char *json, size_t len);

FW_EXTERN_C_END

#endif
