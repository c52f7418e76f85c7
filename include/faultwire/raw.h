/*
 * raw.h - errors made of what the rest of the world reports: an errno, an
 * HTTP status, a signal, a libcurl result, a string, a JSON value.
 *
 * The original is kept as the first cause, with its own name.
 */
#ifndef FAULTWIRE_RAW_H
#define FAULTWIRE_RAW_H

#include <faultwire/error.h>

FW_EXTERN_C_BEGIN

/**
 * A failed system call. `what` is the path or object it was about; NULL for
 * none. Every errno of the platform has its code; a number that is not one
 * gives internal.unexpected. Pass errno itself only on the line after the call.
 */
FW_API FW_NODISCARD fw_error *fw_error_from_errno(fw_src at, int errnum, const char *what);

/** "ENOENT"; NULL for a number that is no errno. */
FW_API const char *fw_errno_name(int errnum);

/**
 * A failed HTTP exchange with `what` (NULL for "server"). `retry_after` is the
 * header's value, seconds or an HTTP date, or NULL; a date is taken relative
 * to `now_unix_ms`. A status below 400 gives internal.unexpected.
 */
FW_API FW_NODISCARD fw_error *fw_error_from_http(fw_src at, int status, const char *retry_after,
						 int64_t now_unix_ms, const char *what);

/** Seconds that a Retry-After header asks for; negative where it cannot be read. */
FW_API double fw_retry_after_parse(const char *header, int64_t now_unix_ms);

/** A process that died of a signal: tool.crashed. */
FW_API FW_NODISCARD fw_error *fw_error_from_signal(fw_src at, int signum);

/** "SIGSEGV", "SIGRTMIN+3"; NULL for a number that is no signal. */
FW_API const char *fw_signal_name(int signum);

/** A CURLcode of libcurl, which need not be linked. `what` is the URL or NULL. */
FW_API FW_NODISCARD fw_error *fw_error_from_curl(fw_src at, int curlcode, const char *what);

/** "CURLE_COULDNT_CONNECT"; NULL for a number that is none. */
FW_API const char *fw_curl_name(int curlcode);

/**
 * A bare string that a tool threw: tool.failed, the string as its message and
 * its cause. Empty or NULL: only that something unexpected happened.
 */
FW_API FW_NODISCARD fw_error *fw_error_from_text(fw_src at, const char *text, size_t len);

/**
 * A JSON value that a tool threw: tool.failed. An object's `message` (or, where
 * it has none, its `error`, `error.message` or `detail`) becomes the message,
 * and the object the cause, to a depth and size limit; a string
 * is taken as a bare string, another value as its JSON text, null as nothing,
 * and what is not JSON as a bare string.
 */
FW_API FW_NODISCARD fw_error *fw_error_from_json(fw_src at, const char *json, size_t len);

FW_EXTERN_C_END

#endif
