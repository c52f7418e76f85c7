/*
 * http_request.h - the head of a request, from its bytes to the call of the core.
 */
#ifndef FW_NET_HTTP_REQUEST_H
#define FW_NET_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <faultwire/error.h>

#include "base/limits.h"
#include "net/http_llhttp.h"

struct fw_http_conn;

/* A part of the input. By offset, because the input moves. */
struct fw_http_span {
	uint32_t at;
	uint32_t len;
};

struct fw_http_field {
	struct fw_http_span name;
	struct fw_http_span value;
};

/* A header that the transport itself uses: the first value, and how often it came. */
struct fw_http_header {
	struct fw_http_span value;
	unsigned count;
};

/* What the endpoint does; a request for a page is always FW_HTTP_PAGE, with any
 * method. */
enum fw_http_method { FW_HTTP_POST, FW_HTTP_GET, FW_HTTP_DELETE, FW_HTTP_PAGE };

/* How far the parser is. The last two pause it. */
enum fw_http_progress {
	FW_HTTP_IN_NAME, /* of a header; or before the first one */
	FW_HTTP_IN_VALUE,
	FW_HTTP_HEAD_COMPLETE,
	FW_HTTP_MESSAGE_COMPLETE,
};

/* All zero at the start of a request, except for `fields`. */
struct fw_http_head {
	enum fw_http_method method;
	enum fw_http_progress progress;
	const char *fault; /* why a callback stopped the parser */
	struct fw_http_span target;
	struct fw_http_span query;
	struct fw_http_header host;
	struct fw_http_header origin;
	struct fw_http_header authorization;
	struct fw_http_header cookie;
	struct fw_http_header type;
	struct fw_http_header length;
	struct fw_http_header coding;
	struct fw_http_header expect;
	unsigned accepts; /* FW_HTTP_ACCEPTS_* */
	unsigned accept_count;
	bool is_http10;
	bool is_finished; /* header values are trimmed and terminated */
	unsigned field_count;
	/* The length of the body, if all of it is in the input and the parser has seen
	 * nothing of the request (http_usual.c); else 0. */
	size_t whole_body;
	unsigned parameter_count; /* of the query: in `fields`, after the headers */
	struct fw_http_field fields[FW_LIMIT_HTTP_FIELDS];
};

/*
 * Compares the name of a header, whose bytes are those of a token, with a literal of
 * lower-case letters and dashes, of four bytes at least. Setting the bit of lower case
 * in all bytes changes no other byte of a token into one of these.
 */
static inline bool fw_http__same_name(const char *name, const char *lower, size_t len)
{
	const uint64_t bits = UINT64_C(0x2020202020202020);
	uint64_t a, b;
	uint32_t c, d;
	size_t at = 0;

	for (; len - at > 8; at += 8) {
		memcpy(&a, name + at, 8);
		memcpy(&b, lower + at, 8);
		if ((a | bits) != b)
			return false;
	}
	/* The last bytes, together with some of those before them. */
	if (len >= 8) {
		memcpy(&a, name + len - 8, 8);
		/* cppcheck-suppress pointerOutOfBoundsCond; `len` is that of the literal */
		memcpy(&b, lower + len - 8, 8);
		return (a | bits) == b;
	}
	memcpy(&c, name, 4);
	memcpy(&d, lower, 4);
	if ((c | (uint32_t)bits) != d)
		return false;
	memcpy(&c, name + len - 4, 4);
	memcpy(&d, lower + len - 4, 4);
	return (c | (uint32_t)bits) == d;
}

#define FW_HTTP_NAME_IS(name, len, lower) \
	((len) == sizeof(lower) - 1 && fw_http__same_name(name, "" lower, sizeof(lower) - 1))

/* ---- http_usual.c ------------------------------------------------------------- */

/*
 * Takes a request of the usual form, if it is complete and in.parsed is 0: sets the
 * head as a parser would. False: nothing has changed.
 */
bool fw_http__take_usual(struct fw_http_conn *conn);

/* ---- http_parse.c ------------------------------------------------------------- */

enum fw_http_parsed {
	FW_HTTP_PARSED_MORE,   /* more input is needed */
	FW_HTTP_PARSED_DONE,   /* the head, or the message, is complete */
	FW_HTTP_PARSED_REFUSED /* the request was refused */
};

void fw_http__set_callbacks(llhttp_settings_t *settings);
/* Parses from in.parsed on. */
enum fw_http_parsed fw_http__parse_head(struct fw_http_conn *conn);
enum fw_http_parsed fw_http__parse_body(struct fw_http_conn *conn, const char *data, size_t len,
					size_t *ret_used);

/* ---- http_request.c ----------------------------------------------------------- */

/* Resets the exchange and everything else that belongs to one request. */
void fw_http__reset_request(struct fw_http_conn *conn);
/* The head is complete: accepts or refuses the request, and enters the next state. */
void fw_http__take_head(struct fw_http_conn *conn);
/* The request is complete: hands it to the core. */
void fw_http__dispatch(struct fw_http_conn *conn);
/* An error for input that is not HTTP, or that two readers may read differently. */
fw_error *fw_http__malformed(int status, const char *reason);
/* Refuses the request and closes the connection after the answer. Consumes err. */
void fw_http__refuse(struct fw_http_conn *conn, fw_error *err);

#endif
