/*
 * request_state.h - requestState: signed text that a modern client carries from
 * one round of a call to the next, bound to the request and to its caller.
 */
#ifndef FW_MCP_REQUEST_STATE_H
#define FW_MCP_REQUEST_STATE_H

#include <faultwire/call.h>

#include "base/buf.h"
#include "base/text.h"

fw_error *fw_request_state_write(fw_call *call, struct fw_buf *out);
fw_error *fw_request_state_read(fw_call *call, struct fw_text state);

#endif
