/*
 * uri.h - URI references, as far as `$id` and `$ref` need them.
 */
#ifndef FW_SCHEMA_URI_H
#define FW_SCHEMA_URI_H

#include <stddef.h>
#include <stdint.h>

/** Resolve `ref` against `base` (RFC 3986, 5.2). Writes at most `cap` bytes
 * with NUL into `out` and returns the length, or SIZE_MAX if it does not fit. */
size_t fw_schema__uri_resolve(const char *base, const char *ref, size_t len, char *out,
			      size_t cap);
/** Decode %XX in place. Returns the new length, or SIZE_MAX if malformed. */
size_t fw_schema__uri_unescape(char *text, size_t len);

#endif
