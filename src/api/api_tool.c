/*
 * api_tool.c - tools by HTTP: listed, described, called.
 */
#include <string.h>

#include <faultwire/raise.h>

#include "api/api_impl.h"
#include "mcp/offer.h"
#include "mcp/page.h"
#include "mcp/server.h"

fw_error *fw_api_list_tools(fw_page *page, void *ctx)
{
	const struct fw_api *api = ctx;
	const struct fw_offers *tools = &api->server->offers.tools;
	bool is_first = true;
	struct fw_buf out;

	FW_TRY(fw_api_enter(api, page));
	fw_buf_init(&out, FW_API_LIST_BYTES);
	FW_BUF(&out, "{\"tools\":[");
	for (size_t i = 0; i < tools->count; i++) {
		if (tools->items[i]->is_hidden)
			continue;
		if (!is_first)
			FW_BUF(&out, ",");
		is_first = false;
		fw_buf_str(&out, tools->items[i]->json);
	}
	FW_BUF(&out, "]}");
	return fw_api_answer(page, &out);
}

fw_error *fw_api_show_tool(fw_page *page, void *ctx)
{
	const struct fw_api *api = ctx;
	const char *name = fw_page_parameter(page, "name");
	const struct fw_offer *tool =
		fw_offers_find(&api->server->offers.tools, name, strlen(name));

	FW_TRY(fw_api_enter(api, page));
	if (!tool || tool->is_hidden)
		return fw_raise_protocol_unknown_tool(name);
	fw_page_status(page, 200, "application/json");
	fw_page_write(page, tool->json, strlen(tool->json));
	return NULL;
}

/* Without a body there are no arguments. */
fw_error *fw_api_call_tool(fw_page *page, void *ctx)
{
	size_t len = 0;
	const char *body = fw_page_body(page, &len);
	const char *name = fw_page_parameter(page, "name");
	const struct fw_api *api = ctx;
	const struct fw_offer *tool =
		fw_offers_find(&api->server->offers.tools, name, strlen(name));

	FW_TRY(fw_api_enter(ctx, page));
	if (len)
		FW_TRY(fw_api_check_type(page));
	/* A tool that changes nothing may run again. */
	if (fw_page_header(page, "Idempotency-Key") && tool && tool->changes)
		return fw_api_call_once(ctx, page);
	(void)fw_page_call_tool(page, name, len ? body : "{}", len ? len : 2);
	return NULL;
}
