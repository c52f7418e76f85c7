/*
 * era.h - which protocol a request speaks, and whether it follows its rules.
 */
#ifndef FW_MCP_ERA_H
#define FW_MCP_ERA_H

#include <faultwire/call.h>

#include "base/text.h"
#include "rpc/mirror.h"

/* Determines era, version and session of the call. */
fw_error *fw_era_enter(fw_call *call);
/* Checks the headers of a modern HTTP request that mirror arguments of its tool. */
fw_error *fw_era_check_mirrors(const fw_call *call, const struct fw_mirrors *mirrors);
/* -1: there is no such level. */
int fw_mcp_log_level(struct fw_text name);

#endif
