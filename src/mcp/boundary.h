/*
 * boundary.h - where every call leaves, with a result or an error.
 *
 * The one rule to remember: nothing else in the runtime writes a reply.
 */
#ifndef FW_MCP_BOUNDARY_H
#define FW_MCP_BOUNDARY_H

#include <faultwire/call.h>

#include "base/buf.h"

/*
 * The only exit of a failure: completes `err` (scope, incident, time), shows it
 * to the observers, projects it into the contract of the call, and replies.
 * Consumes `err`, and ends the call.
 */
void fw_mcp_fail(fw_call *call, fw_error *err);

/* The only exit of a success: sends the text in `server->out`. */
void fw_mcp_reply(fw_call *call);
/* Writes everything up to the result's first member into `server->out`. */
struct fw_buf *fw_mcp_begin(fw_call *call);
/* Ends the result, with the members that the era adds. */
void fw_mcp_end(fw_call *call, struct fw_buf *out);
/* An empty result. */
void fw_mcp_reply_empty(fw_call *call);
/* A notification, or an answer of the client, was accepted: no reply. */
void fw_mcp_accept(fw_call *call);

#endif
