/*
 * early.c - see early.h.
 *
 * The choice is made here and not before every call, so that a call that succeeds does
 * not pay for it. A flood of refused calls does: reading the name and finding the tool
 * is a few hundred instructions of the error's ten thousand.
 */
#include <string.h>

#include <yyjson.h>

#include "base/json.h"
#include "base/text.h"
#include "mcp/call.h"
#include "mcp/early.h"
#include "mcp/method.h"
#include "mcp/offer.h"
#include "mcp/project.h"
#include "mcp/relay.h"
#include "mcp/server.h"
#include "mcp/session.h"
#include "mcp/transport.h"
#include "rpc/names.h"

/* ---- the contract -------------------------------------------------------------- */

/* `_meta` of a message that is not valid JSON-RPC, or whose era is not known yet. */
static void read_meta(fw_call *call)
{
	struct fw_request *request = &call->request;
	yyjson_val *meta = request->meta;

	if (!yyjson_is_obj(meta))
		meta = fw_json_member(fw_json_member(request->root, "params"), "_meta");
	request->meta = yyjson_is_obj(meta) ? meta : NULL;
	if (request->is_modern && !request->capabilities) {
		yyjson_val *stated = fw_json_member(request->meta, FW_META_CLIENT_CAPABILITIES);

		request->capabilities = yyjson_is_obj(stated) ? stated : NULL;
	}
}

/* The session that the request says it belongs to. It is not joined: the request may
 * have been refused before its sender was authenticated. */
static const struct fw_session *stated_session(const fw_call *call)
{
	struct fw_exchange *exchange = call->exchange;
	const char *id;

	if (call->session || !exchange)
		return call->session;
	if (!exchange->is_http)
		return exchange->session;
	id = exchange->ops->header(exchange, FW_HEADER_SESSION, NULL);
	return id ? fw_session_peek(call->server, id) : NULL;
}

/* initialize states the contract of the session that it would begin. */
static void read_initialize(fw_call *call)
{
	yyjson_val *capabilities = fw_json_member(call->request.params, "capabilities");

	fw_mcp_read_contract(
		fw_json_member(fw_json_member(capabilities, "experimental"), FW_META_CONTRACT),
		&call->request.contract);
}

static void choose_contract(fw_call *call)
{
	const struct fw_session *session;

	read_meta(call);
	fw_error_free(fw_mcp_choose_contract(call));
	if (call->request.contract != FW_AUTO || call->request.is_modern)
		return;
	if (call->request.method && call->request.method->run == fw_method_initialize)
		read_initialize(call);
	if (call->request.contract != FW_AUTO)
		return;
	session = stated_session(call);
	if (session && session->has_contract)
		call->request.contract = session->contract;
}

/* ---- the tool ------------------------------------------------------------------ */

static void find_name(fw_call *call)
{
	struct fw_request *request = &call->request;
	struct fw_text name;

	if (!request->method || !request->method->name_param)
		return;
	name = fw_text_of(fw_json_member(request->params, request->method->name_param));
	if (!fw_text_str(name))
		return;
	request->name = name.p;
	request->name_len = name.n;
	if (request->kind == FW_CALL_TOOL && call->server->relay)
		request->offer = &call->server->relay->tool;
	else if (request->kind == FW_CALL_TOOL)
		request->offer = fw_offers_find(&call->server->offers.tools, name.p, name.n);
}

void fw_mcp_read_early(fw_call *call)
{
	struct fw_exchange *exchange = call->exchange;

	if (!call->request.has_chosen && exchange && exchange->is_page)
		fw_error_free(fw_mcp_choose_page_contract(exchange, &call->request.contract));
	else if (!call->request.has_chosen)
		choose_contract(call);
	if (!call->request.name)
		find_name(call);
}
