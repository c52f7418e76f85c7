/*
 * http_check.h - predicates on the values of HTTP headers, and on request targets.
 *
 * The one rule to remember: values are trimmed and NUL-terminated, but may hold
 * any other byte; the answer to an invalid value is false.
 */
#ifndef FW_NET_HTTP_CHECK_H
#define FW_NET_HTTP_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "localhost", "127.0.0.1" or "[::1]", with or without a port. */
bool fw_http_host_is_loopback(const char *host);

/* True: it is in the comma-separated list. An entry without a port matches every port. */
bool fw_http_host_is_listed(const char *host, const char *list);

/* http or https, and a loopback host. */
bool fw_http_origin_is_loopback(const char *origin);
bool fw_http_origin_is_listed(const char *origin, const char *list);

/* Which of the two media types of an answer an Accept header accepts. */
enum { FW_HTTP_ACCEPTS_JSON = 1, FW_HTTP_ACCEPTS_EVENTS = 2 };
unsigned fw_http_accept_read(const char *accept);

/* application/json, without a charset or with UTF-8. */
bool fw_http_type_is_json(const char *type);

/* The token of "Bearer TOKEN", in the text; NULL: it has another form. */
const char *fw_http_bearer(const char *authorization, size_t *ret_len);

/* True: two hexadecimal digits follow every "%" of a request target, no escape
 * stands for NUL, and no escape in the path stands for another control byte. */
bool fw_http_escapes_are_valid(const char *target);
/* Decodes valid escapes in place; returns the new length. In a query "+" is a space.
 * In a path an escaped "/" stays escaped, because it is not a separator, and so does an
 * escaped "%", because "%252F" would otherwise become an escaped "/". */
size_t fw_http_escapes_decode(char *text, bool is_query);

/* Accepts digits only. */
bool fw_http_length_read(const char *text, uint64_t *ret_length);

#endif
