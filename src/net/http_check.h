/*
 * http_check.h - questions about the values of HTTP headers.
 *
 * The one rule to remember: values come trimmed of blanks and end in NUL, but
 * may hold any other byte; whatever is not understood is answered with no.
 */
#ifndef FW_NET_HTTP_CHECK_H
#define FW_NET_HTTP_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "localhost", "127.0.0.1" or "[::1]", with or without a port. */
bool fw_http_host_is_loopback(const char *host);

/* Is it in the comma-separated list? An entry without a port fits every port. */
bool fw_http_host_is_listed(const char *host, const char *list);

/* http or https, and a loopback host. */
bool fw_http_origin_is_loopback(const char *origin);
bool fw_http_origin_is_listed(const char *origin, const char *list);

/* Which of the two forms of an answer one Accept header takes. */
enum { FW_HTTP_ACCEPTS_JSON = 1, FW_HTTP_ACCEPTS_EVENTS = 2 };
unsigned fw_http_accept_read(const char *accept);

/* application/json, with no charset but UTF-8. */
bool fw_http_type_is_json(const char *type);

/* "Bearer TOKEN": takes the same time whatever the token's bytes are. */
bool fw_http_bearer_is(const char *authorization, const char *token);

/* Is every "%" of a request target followed by two hexadecimal digits, none of
 * them stands for NUL, and none in the path for another control byte? */
bool fw_http_escapes_are_valid(const char *target);
/* In place; returns the new length. Valid escapes only. A query also has "+" for
 * a blank; an escaped "/" of a path stays escaped, because it separates nothing. */
size_t fw_http_escapes_decode(char *text, bool is_query);

/* Digits alone. */
bool fw_http_length_read(const char *text, uint64_t *ret_length);

#endif
