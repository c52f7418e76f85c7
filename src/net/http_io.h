/*
 * http_io.h - the input and output buffers of a connection.
 */
#ifndef FW_NET_HTTP_IO_H
#define FW_NET_HTTP_IO_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "base/buf.h"

struct fw_http_conn;

/*
 * Bytes from the peer that are still needed: the current request from its first byte on,
 * and bytes read beyond it. While cap is 0 the bytes are in http->scratch; they are
 * copied before the loop continues (fw_http__own_input()).
 */
struct fw_http_input {
	char *data;
	size_t len;
	size_t cap;
	size_t parsed;      /* bytes that the parser has seen */
	size_t request_end; /* the next request begins here */
};

struct fw_http_output {
	struct fw_buf events; /* of a stream, not in a chunk yet */
	struct fw_buf buf;    /* the socket did not take it yet */
	size_t sent;          /* bytes of `buf` that were sent */
};

void fw_http__init_output(struct fw_http_output *out);
/* Writes; what the socket does not take is kept. */
void fw_http__write(struct fw_http_conn *conn, struct iovec *parts, int count);
/* Only keeps it: the request is not read to its end yet. */
void fw_http__keep(struct fw_http_conn *conn, const struct iovec *parts, int count);
/* Sends what is kept, as far as the socket takes it. */
void fw_http__flush(struct fw_http_conn *conn);
/* Copies the input out of the shared buffer. False: no memory, is_lost is set. */
bool fw_http__own_input(struct fw_http_conn *conn);
/* Makes room for `more` bytes in memory of the connection. False: as above. */
bool fw_http__reserve_input(struct fw_http_conn *conn, size_t more);
/* The first `len` bytes are not needed any more. */
void fw_http__drop_input(struct fw_http_conn *conn, size_t len);

static inline bool fw_http__is_again(int errnum)
{
	return errnum == EAGAIN || errnum == EINTR;
}

#endif
