/*
 * frame.h - the messages between the server and a worker, as bytes on a socket.
 *
 * A frame is a header and a list of operations (mcp/op.h). The server must not trust the
 * frames of a worker, so fw_worker_frame_next() checks every byte.
 */
#ifndef FW_WORKER_FRAME_H
#define FW_WORKER_FRAME_H

#include "base/buf.h"
#include <faultwire/serve.h>

#include "mcp/op.h"

enum fw_worker_frame_kind {
	FW_WORKER_FRAME_REQUEST = 0x66770001,
	FW_WORKER_FRAME_READY,  /* the worker has started */
	FW_WORKER_FRAME_FAILED, /* it cannot start: FW_OP_ERROR says why */
	FW_WORKER_FRAME_UPDATE, /* operations; the handler still runs */
	FW_WORKER_FRAME_DONE,   /* operations; the handler has returned */
};

struct fw_worker_frame {
	uint32_t kind;
	uint32_t len; /* bytes that follow this header */
	uint64_t run; /* number of the request, repeated by every frame that answers it */
};

/* The largest frame that a worker may send: the largest result, and room for an error. */
size_t fw_worker_frame_bytes_max(const fw_server *server);

/* Empties `out` and writes a frame header, which fw_worker_frame_end() completes. */
void fw_worker_frame_begin(struct fw_buf *out);
void fw_worker_frame_put(struct fw_buf *out, const struct fw_op *op);
void fw_worker_frame_end(struct fw_buf *out, enum fw_worker_frame_kind kind, uint64_t run);

/* Reads one operation after the other. fw_worker_frame_next() returns false at the end,
 * and also if the next bytes are not an operation; then `at` is not `end`. Texts are
 * borrowed from the frame. */
struct fw_worker_frame_reader {
	const char *at;
	const char *end;
};
bool fw_worker_frame_next(struct fw_worker_frame_reader *reader, struct fw_op *ret_op);

#endif
