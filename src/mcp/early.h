/*
 * early.h - what can be said about a request that fails before its method has read
 * it: which contract its caller chose, and which tool it names.
 *
 * The one rule to remember: nothing here refuses anything; the first error wins.
 */
#ifndef FW_MCP_EARLY_H
#define FW_MCP_EARLY_H

#include <faultwire/call.h>

/*
 * Called once, when a call fails. Does nothing for what its method has read already.
 * The contract is that of `_meta`, of the HTTP header, of the client's capabilities or
 * of the session, as far as each can be read; a name that is not a contract is ignored.
 * Sets the name and, for a tool, what is offered under it.
 */
void fw_mcp_read_early(fw_call *call);

#endif
