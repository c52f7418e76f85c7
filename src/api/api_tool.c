/*
 * api_tool.c - tools by HTTP: listed, described, called.
 */
#include <string.h>

#include <faultwire/raise.h>

#include "api/api_impl.h"
#include "mcp/authority.h"
#include "mcp/offer.h"
#include "mcp/page.h"
#include "mcp/relay.h"
#include "mcp/server.h"

/* ---- tools of a relay ------------------------------------------------------------------ */

static void send_list(void *ctx, struct fw_slice list, fw_error *err)
{
	fw_page *page = ctx;

	if (!err) {
		fw_page_status(page, 200, "application/json");
		fw_page_write(page, list.p, list.n);
	}
	fw_page_finish(page, err);
}

static void send_one(void *ctx, struct fw_slice list, fw_error *err)
{
	fw_page *page = ctx;
	const char *wanted = fw_page_parameter(page, "name");
	struct fw_scan_member tools = { .name = "tools" };
	bool is_found = false;
	struct fw_slice key, item;
	const char *at = NULL;

	if (!err)
		(void)fw_slice_members(list, &tools, 1);
	while (!is_found && tools.value.p && fw_slice_next(tools.value, &at, &key, &item)) {
		struct fw_scan_member name = { .name = "name" };
		char text[1024];

		(void)fw_slice_members(item, &name, 1);
		(void)fw_slice_text(name.value, text, sizeof text);
		is_found = strcmp(text, wanted) == 0;
	}
	if (is_found) {
		fw_page_status(page, 200, "application/json");
		fw_page_write(page, item.p, item.n);
	} else if (!err) {
		err = fw_raise_protocol_unknown_tool(wanted);
	}
	fw_page_finish(page, err);
}

/* The servers behind a relay are asked, so the answer comes later. */
static fw_error *ask_relay(const struct fw_api *api, fw_page *page, fw_relay_listed_fn *done)
{
	FW_TRY(fw_api_enter(api, page));
	FW_TRY(fw_page_keep(page));
	(void)fw_relay_list(api->server, fw_page_principal(page), done, page);
	return NULL;
}

/* ---- handlers --------------------------------------------------------------------------- */

fw_error *fw_api_list_tools(fw_page *page, void *ctx)
{
	const struct fw_api *api = ctx;
	const struct fw_offers *tools = &api->server->offers.tools;
	bool is_first = true;
	struct fw_buf out;

	if (api->server->relay)
		return ask_relay(api, page, send_list);
	FW_TRY(fw_api_enter(api, page));
	fw_buf_init(&out, FW_API_LIST_BYTES);
	FW_BUF(&out, "{\"tools\":[");
	for (size_t i = 0; i < tools->count; i++) {
		if (!fw_authority_shows_tool(api->server, fw_page_principal(page),
					     tools->items[i]))
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

	if (api->server->relay)
		return ask_relay(api, page, send_one);
	FW_TRY(fw_api_enter(api, page));
	if (!tool || !fw_authority_shows_tool(api->server, fw_page_principal(page), tool))
		return fw_raise_protocol_unknown_tool(name);
	fw_page_status(page, 200, "application/json");
	fw_page_write(page, tool->json, strlen(tool->json));
	return NULL;
}

/* A tool that changes nothing may run again; what those of a relay do is not known. */
static bool may_change(const struct fw_api *api, const char *name)
{
	const struct fw_offer *tool =
		fw_offers_find(&api->server->offers.tools, name, strlen(name));

	return api->server->relay || (tool && tool->changes);
}

/* Without a body there are no arguments. */
fw_error *fw_api_call_tool(fw_page *page, void *ctx)
{
	size_t len = 0;
	const char *body = fw_page_body(page, &len);
	const char *name = fw_page_parameter(page, "name");

	FW_TRY(fw_api_enter(ctx, page));
	if (len)
		FW_TRY(fw_api_check_type(page));
	if (fw_page_header(page, "Idempotency-Key") && may_change(ctx, name))
		return fw_api_call_once(ctx, page);
	(void)fw_page_call_tool(page, name, len ? body : "{}", len ? len : 2);
	return NULL;
}
