/*
 * shared.h - shared state of tools (fw_state): a run reads the version that was
 * current when it began, and may set a new one.
 */
#ifndef FW_MCP_SHARED_H
#define FW_MCP_SHARED_H

#include <stdbool.h>

#include <faultwire/call.h>
#include <faultwire/serve.h>

void fw_shared_begin(fw_call *call);
/* `counts`: what the run set becomes the current version. */
void fw_shared_end(fw_call *call, bool counts);
void fw_shared_free_all(fw_server *server);

#endif
