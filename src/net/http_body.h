/*
 * http_body.h - the body of a request: kept for the core, or dropped.
 */
#ifndef FW_NET_HTTP_BODY_H
#define FW_NET_HTTP_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct fw_http_conn;

/* All zero at the start of a request. */
struct fw_http_body {
	struct fw_buf buf; /* a body that comes in several pieces */
	const char *data;  /* a body that came in one piece, in the input */
	size_t len;
	size_t at;          /* in the input, while `data` is not set */
	uint64_t announced; /* Content-Length */
	uint64_t limit;     /* the most that is kept; 0: the body is dropped */
	size_t extra_bytes; /* trailers and chunk extensions */
	size_t dropped;     /* bytes that were read only to be dropped */
};

/* A chunk of that size is announced. False: it is too large, and refused. */
bool fw_http__expect_chunk(struct fw_http_conn *conn, uint64_t size);
/* A part of the body. False: the request has been refused. */
bool fw_http__take_body(struct fw_http_conn *conn, const char *data, size_t len);
/* Stops reading a body that is being dropped: the answer that the head decided is
 * sent now, and the connection closes. */
void fw_http__end_body(struct fw_http_conn *conn);
void fw_http__release_body(struct fw_http_conn *conn);

#endif
