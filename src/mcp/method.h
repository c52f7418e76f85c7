/*
 * method.h - the methods of the protocol that the server answers.
 */
#ifndef FW_MCP_METHOD_H
#define FW_MCP_METHOD_H

#include <stdbool.h>

#include <yyjson.h>

#include <faultwire/call.h>
#include <faultwire/serve.h>

#include "base/text.h"
#include "mcp/request.h"
#include "schema/schema.h"

struct fw_method {
	const char *name;
	enum fw_call_kind kind;
	bool in_legacy;
	bool in_modern;
	const char *name_param; /* "name", "uri": mirrored in the Mcp-Name header */
	bool (*is_offered)(const fw_server *server);
	fw_error *(*run)(fw_call *call);
};

/* NULL: there is no such method. */
const struct fw_method *fw_method_find(struct fw_text name);

/* Answers initialize; its session is begun. */
void fw_method_initialized(fw_call *call);
fw_error *fw_method_initialize(fw_call *call);
fw_error *fw_method_discover(fw_call *call);
fw_error *fw_method_ping(fw_call *call);
fw_error *fw_method_set_level(fw_call *call);
fw_error *fw_method_tools_list(fw_call *call);
fw_error *fw_method_tools_call(fw_call *call);
/* The rest of it: the name, the arguments and the offer are known. */
fw_error *fw_method_call_tool(fw_call *call);
fw_error *fw_method_resources_list(fw_call *call);
fw_error *fw_method_templates_list(fw_call *call);
fw_error *fw_method_resources_read(fw_call *call);
fw_error *fw_method_subscribe(fw_call *call);
fw_error *fw_method_unsubscribe(fw_call *call);
fw_error *fw_method_prompts_list(fw_call *call);
fw_error *fw_method_prompts_get(fw_call *call);
fw_error *fw_method_complete(fw_call *call);
fw_error *fw_method_listen(fw_call *call);

/* Reads a name or URI from `value` into the call. Raises protocol.invalid_params,
 * with `pointer` as its place, unless it is a string without NULs. */
fw_error *fw_mcp_read_name(fw_call *call, yyjson_val *value, const char *pointer);
/* Raises input.invalid_value if a key or string among the arguments holds a NUL,
 * because handlers read them as C strings. */
fw_error *fw_mcp_refuse_nul(const fw_call *call);

#endif
