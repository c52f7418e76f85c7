/*
 * method.c - the methods there are, by era. Few enough to be found by length
 * and comparison; the one that matters for speed comes first.
 */
#include <string.h>

#include "base/text.h"
#include "mcp/method.h"
#include "mcp/request.h"
#include "mcp/server.h"

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
	{ "tools/call", FW_CALL_TOOL, true, true, "name", has_tools, fw_method_tools_call },
	{ "tools/list", FW_CALL_OTHER, true, true, NULL, has_tools, fw_method_tools_list },
	{ "initialize", FW_CALL_OTHER, true, false, NULL, NULL, fw_method_initialize },
	{ "ping", FW_CALL_OTHER, true, false, NULL, NULL, fw_method_ping },
	{ "server/discover", FW_CALL_OTHER, false, true, NULL, NULL, fw_method_discover },
	{ "resources/list", FW_CALL_OTHER, true, true, NULL, has_resources,
	  fw_method_resources_list },
	{ "resources/templates/list", FW_CALL_OTHER, true, true, NULL, has_resources,
	  fw_method_templates_list },
	{ "resources/read", FW_CALL_RESOURCE, true, true, "uri", has_resources,
	  fw_method_resources_read },
	{ "resources/subscribe", FW_CALL_OTHER, true, false, NULL, has_resources,
	  fw_method_subscribe },
	{ "resources/unsubscribe", FW_CALL_OTHER, true, false, NULL, has_resources,
	  fw_method_unsubscribe },
	{ "prompts/list", FW_CALL_OTHER, true, true, NULL, has_prompts,
	  fw_method_prompts_list },
	{ "prompts/get", FW_CALL_PROMPT, true, true, "name", has_prompts,
	  fw_method_prompts_get },
	{ "completion/complete", FW_CALL_COMPLETE, true, true, NULL, has_completion,
	  fw_method_complete },
	{ "logging/setLevel", FW_CALL_OTHER, true, false, NULL, NULL, fw_method_set_level },
	{ "subscriptions/listen", FW_CALL_OTHER, false, true, NULL, NULL, fw_method_listen },
};

const struct fw_method *fw_method_find(struct fw_text name)
{
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
		if (fw_text_is(name, methods[i].name))
			return &methods[i];
	return NULL;
}
