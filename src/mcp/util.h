/*
 * util.h - hashes of text; and what the runtime uses of base/ everywhere.
 */
#ifndef FW_MCP_UTIL_H
#define FW_MCP_UTIL_H

#include <stdint.h>

#include "base/json.h"
#include "base/mem.h"

/* Mixes a C string with its NUL into a hash: "ab" and "c" are not "a" and "bc". */
uint64_t fw_mcp_mix(uint64_t hash, const char *text);

#endif
