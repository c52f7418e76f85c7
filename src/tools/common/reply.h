/*
 * reply.h - the result of a tool from a buffer.
 */
#ifndef FW_TOOLS_COMMON_REPLY_H
#define FW_TOOLS_COMMON_REPLY_H

#include <faultwire/call.h>

#include "base/buf.h"

/* Makes the JSON in `out` the structured content of the call, and clears `out`. Raises
 * internal.out_of_memory if it could not be written. */
FW_NODISCARD fw_error *fw_reply_structured(fw_call *call, struct fw_buf *out);

#endif
