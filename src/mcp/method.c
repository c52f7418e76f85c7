/*
 * method.c - the methods there are, by era. Few enough to be found by length
 * and comparison; the one that matters for speed comes first.
 */
#include <string.h>

#include "base/text.h"
#include "mcp/method.h"
#include "mcp/request.h"
#include "mcp/server.h"
#include "rpc/names.h"

static bool has_tools(const fw_server *server)
{
	return server->offers.tools.count > 0;
}

static bool has_resources(const fw_server *server)
{
	return server->offers.resources.count + server->offers.templates.count > 0;
}

static bool has_prompts(const fw_server *server)
{
	return server->offers.prompts.count > 0;
}

static bool has_completion(const fw_server *server)
{
	return server->offers.has_completion;
}

static const struct fw_method methods[] = {
	{ FW_METHOD_TOOLS_CALL, FW_CALL_TOOL, true, true, "name", has_tools,
	  fw_method_tools_call },
	{ FW_METHOD_TOOLS_LIST, FW_CALL_OTHER, true, true, NULL, has_tools,
	  fw_method_tools_list },
	{ FW_METHOD_INITIALIZE, FW_CALL_OTHER, true, false, NULL, NULL, fw_method_initialize },
	{ FW_METHOD_PING, FW_CALL_OTHER, true, false, NULL, NULL, fw_method_ping },
	{ FW_METHOD_DISCOVER, FW_CALL_OTHER, false, true, NULL, NULL, fw_method_discover },
	{ FW_METHOD_RESOURCES_LIST, FW_CALL_OTHER, true, true, NULL, has_resources,
	  fw_method_resources_list },
	{ FW_METHOD_TEMPLATES_LIST, FW_CALL_OTHER, true, true, NULL, has_resources,
	  fw_method_templates_list },
	{ FW_METHOD_RESOURCES_READ, FW_CALL_RESOURCE, true, true, "uri", has_resources,
	  fw_method_resources_read },
	{ FW_METHOD_SUBSCRIBE, FW_CALL_OTHER, true, false, NULL, has_resources,
	  fw_method_subscribe },
	{ FW_METHOD_UNSUBSCRIBE, FW_CALL_OTHER, true, false, NULL, has_resources,
	  fw_method_unsubscribe },
	{ FW_METHOD_PROMPTS_LIST, FW_CALL_OTHER, true, true, NULL, has_prompts,
	  fw_method_prompts_list },
	{ FW_METHOD_PROMPTS_GET, FW_CALL_PROMPT, true, true, "name", has_prompts,
	  fw_method_prompts_get },
	{ FW_METHOD_COMPLETE, FW_CALL_COMPLETE, true, true, NULL, has_completion,
	  fw_method_complete },
	{ FW_METHOD_SET_LEVEL, FW_CALL_OTHER, true, false, NULL, NULL, fw_method_set_level },
	{ FW_METHOD_LISTEN, FW_CALL_OTHER, false, true, NULL, NULL, fw_method_listen },
};

const struct fw_method *fw_method_find(struct fw_text name)
{
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
		if (fw_text_is(name, methods[i].name))
			return &methods[i];
	return NULL;
}
