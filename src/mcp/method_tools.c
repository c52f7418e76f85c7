/*
 * method_tools.c - tools/call up to the handler: whether the tool exists, its
 * headers agree, and its arguments are valid.
 */
#include <string.h>

#include <yyjson.h>

#include <faultwire/raise.h>

#include "base/json.h"
#include "base/text.h"
#include "mcp/ask.h"
#include "mcp/authority.h"
#include "mcp/call.h"
#include "mcp/era.h"
#include "mcp/method.h"
#include "mcp/offer.h"
#include "mcp/outcome.h"
#include "mcp/project.h"
#include "mcp/server.h"
#include "mcp/violation.h"

/* ---- names and arguments with a NUL inside ------------------------------------ */

fw_error *fw_mcp_read_name(fw_call *call, yyjson_val *value, const char *pointer)
{
	const struct fw_text text = fw_text_of(value);
	const bool is_unfit = call->request.may_hold_nul && fw_text_has_nul(text);

	if (!text.p || is_unfit)
		return fw_raise_protocol_invalid_params(
			pointer, text.p ? "a string without NUL characters" : "a string");
	call->request.name = text.p;
	call->request.name_len = text.n;
	return NULL;
}

/* Searches a value and everything below it: yyjson stores them consecutively. */
static bool has_nul(yyjson_val *value)
{
	const yyjson_val *end = unsafe_yyjson_get_next(value);

	for (; value < end; value++)
		if (yyjson_is_str(value) && fw_text_has_nul(fw_text_of(value)))
			return true;
	return false;
}

fw_error *fw_mcp_refuse_nul(const fw_call *call)
{
	yyjson_obj_iter iter;
	yyjson_val *key;
	const char *field = NULL;

	if (!call->request.may_hold_nul || !call->request.arguments ||
	    !has_nul(call->request.arguments))
		return NULL;
	iter = yyjson_obj_iter_with(call->request.arguments);
	while (!field && (key = yyjson_obj_iter_next(&iter)))
		if (has_nul(key) || has_nul(yyjson_obj_iter_get_val(key)))
			field = fw_text_str(fw_text_of(key));
	return fw_raise_input_invalid_value(field ? field : "arguments",
					    "text without NUL characters");
}

/* ---- tools/call ------------------------------------------------------------------ */

static yyjson_val *no_arguments(void)
{
	/* An empty object, as yyjson would have read it. */
	static yyjson_val empty = { .tag = YYJSON_TYPE_OBJ };

	return &empty;
}

fw_error *fw_method_tools_call(fw_call *call)
{
	fw_error *err;

	FW_TRY(fw_mcp_read_name(call, fw_json_member(call->request.params, "name"),
				"/params/name"));
	call->request.arguments = fw_json_member(call->request.params, "arguments");
	if (!call->request.arguments)
		call->request.arguments = no_arguments();
	err = fw_mcp_choose_contract(call);
	call->request.offer = fw_offers_find(&call->server->offers.tools, call->request.name,
					     call->request.name_len);
	return err ? err : fw_method_call_tool(call);
}

fw_error *fw_method_call_tool(fw_call *call)
{
	if (!call->request.offer)
		return fw_raise_protocol_unknown_tool(call->request.name);
	if (!yyjson_is_obj(call->request.arguments))
		return fw_raise_protocol_invalid_params(call->page ? "" : "/params/arguments",
							"an object");
	/* A page has no arguments in its headers. */
	if (!call->page)
		FW_TRY(fw_era_check_mirrors(call, &call->request.offer->mirrors));
	/* Before the observers are called, because they read the arguments too. */
	if (call->request.may_hold_nul && !call->request.offer->takes_nul)
		FW_TRY(fw_mcp_refuse_nul(call));
	FW_TRY(fw_authority_enter(call));
	FW_TRY(fw_mcp_enter(call));
	FW_TRY(fw_ask_read(call));
	call->stage = FW_STAGE_SCHEMA;
	if (call->request.offer->input && !call->request.offer->checks_arguments)
		FW_TRY(fw_violation_check(call->request.offer->input, call->request.arguments,
					  (uint32_t)call->server->limits.violations));
	FW_TRY(fw_mcp_admit(call));
	return fw_authority_start(call);
}
