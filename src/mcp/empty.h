/*
 * empty.h - the empty result of a tool with an output schema.
 *
 * In the codeintel contract a failure is the tool's empty result with `error` and
 * `problem`, and clients check it against the output schema. So it must be valid there.
 */
#ifndef FW_MCP_EMPTY_H
#define FW_MCP_EMPTY_H

#include <stddef.h>

#include "base/buf.h"
#include "schema/schema.h"

/*
 * Writes an empty result for the output schema: an object with the required properties,
 * each "", 0, false, [] or {} by its type, or its `const`, `default` or first `enum`.
 * It may still break the schema, for example by a `pattern`; see below.
 */
void fw_mcp_derive_empty(const char *schema_json, struct fw_buf *out);

/*
 * Is the codeintel envelope with the empty result `json` valid by `schema`? If not,
 * `ret_reason` says where.
 */
bool fw_mcp_check_empty(const fw_schema *schema, const char *json, char *ret_reason,
			size_t size);

#endif
