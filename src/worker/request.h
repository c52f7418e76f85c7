/*
 * request.h - encodes a call as a frame, from the server to a worker.
 */
#ifndef FW_WORKER_REQUEST_H
#define FW_WORKER_REQUEST_H

#include "base/buf.h"
#include "mcp/op.h"

/* In the server: replaces the contents of `out` with the request of this call. */
void fw_worker_request_write(struct fw_buf *out, const fw_call *call, uint64_t run);

/* In the worker: fills the worker's own call and its recorder from the body of a
 * frame. Both borrow from `body`, which is changed. False: the body is too short. */
bool fw_worker_request_read(char *body, size_t len, fw_call *call,
			    struct fw_recorder *recorder);

#endif
