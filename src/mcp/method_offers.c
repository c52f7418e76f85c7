/*
 * method_offers.c - lists with their cursors, resources, prompts, completion.
 *
 * A cursor is the number of items already shown, with a mark of the list it
 * belongs to: lists only grow while a server runs, so it stays right.
 */
#include <stdio.h>
#include <string.h>

#include <yyjson.h>

#include <faultwire/raise.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "mcp/ask.h"
#include "mcp/authority.h"
#include "mcp/boundary.h"
#include "mcp/call.h"
#include "mcp/method.h"
#include "mcp/offer.h"
#include "mcp/project.h"
#include "mcp/result.h"
#include "mcp/run.h"
#include "mcp/server.h"
#include "mcp/replica.h"
#include "mcp/session.h"

/* ---- lists ------------------------------------------------------------------- */

static fw_error *read_cursor(const fw_call *call, const char *mark, size_t count,
			     size_t *ret_at)
{
	yyjson_val *cursor = fw_json_member(call->request.params, "cursor");
	struct fw_text text = fw_text_of(cursor);
	size_t mark_len = strlen(mark);
	size_t at = 0;

	*ret_at = 0;
	if (!cursor)
		return NULL;
	if (!fw_text_starts(text, mark) || text.n == mark_len || text.n > mark_len + 9 ||
	    text.p[mark_len] == '0')
		return fw_raise_protocol_invalid_cursor();
	for (size_t i = mark_len; i < text.n; i++) {
		if (text.p[i] < '0' || text.p[i] > '9')
			return fw_raise_protocol_invalid_cursor();
		at = at * 10 + (size_t)(text.p[i] - '0');
	}
	if (at >= count)
		return fw_raise_protocol_invalid_cursor();
	*ret_at = at;
	return NULL;
}

/* What the client could not use is not shown to it. */
static bool is_shown(const fw_call *call, const struct fw_offers *offers,
		     const struct fw_offer *offer)
{
	static const struct fw_listed other = { 0 };

	if (offers == &call->server->offers.tools)
		return fw_authority_shows_tool(call->server, fw_call_principal(call), offer);
	return !offer->is_hidden &&
	       fw_authority_shows(call->server, fw_call_principal(call), &other);
}

static fw_error *list(fw_call *call, const struct fw_offers *offers, const char *member,
		      const char *mark)
{
	size_t at;
	size_t shown = 0;
	struct fw_buf *out;

	FW_TRY(fw_mcp_choose_contract(call));
	FW_TRY(read_cursor(call, mark, offers->count, &at));
	out = fw_mcp_begin(call);
	FW_BUF(out, "\"");
	fw_buf_str(out, member);
	FW_BUF(out, "\":[");
	for (; at < offers->count; at++) {
		const struct fw_offer *offer = offers->items[at];

		if (!is_shown(call, offers, offer))
			continue;
		/* So the cursor is only given out if something follows. */
		if (shown == call->server->options.page_size)
			break;
		if (shown++)
			FW_BUF(out, ",");
		fw_buf_str(out, call->request.is_modern || !offer->json_legacy
					? offer->json
					: offer->json_legacy);
	}
	FW_BUF(out, "]");
	if (at < offers->count) {
		FW_BUF(out, ",\"nextCursor\":\"");
		fw_buf_str(out, mark);
		fw_buf_i64(out, (int64_t)at);
		FW_BUF(out, "\"");
	}
	fw_call_put_cache(call, out);
	fw_mcp_end(call, out);
	fw_mcp_reply(call);
	return NULL;
}

fw_error *fw_method_tools_list(fw_call *call)
{
	return list(call, &call->server->offers.tools, "tools", "t");
}

fw_error *fw_method_resources_list(fw_call *call)
{
	return list(call, &call->server->offers.resources, "resources", "r");
}

fw_error *fw_method_templates_list(fw_call *call)
{
	return list(call, &call->server->offers.templates, "resourceTemplates", "x");
}

fw_error *fw_method_prompts_list(fw_call *call)
{
	return list(call, &call->server->offers.prompts, "prompts", "p");
}

/* ---- resources ------------------------------------------------------------------ */

struct variables {
	yyjson_mut_doc *doc;
	yyjson_mut_val *object;
};

static void on_variable(void *ctx, const char *name, size_t name_len, const char *value,
			size_t len)
{
	struct variables *variables = ctx;

	(void)yyjson_mut_obj_add(variables->object,
				 yyjson_mut_strncpy(variables->doc, name, name_len),
				 yyjson_mut_strncpy(variables->doc, value, len));
}

/* The variables of a template become the arguments of the call. */
static const struct fw_offer *find_template(fw_call *call)
{
	const struct fw_offers *offers = &call->server->offers.templates;

	for (size_t i = 0; i < offers->count; i++) {
		struct variables variables;
		const struct fw_offer *offer = offers->items[i];

		if (!fw_template_match(offer->name, call->request.name, call->request.name_len,
				       NULL, NULL))
			continue;
		variables.doc = yyjson_mut_doc_new(&fw__yyjson_alc);
		if (!variables.doc)
			return NULL;
		variables.object = yyjson_mut_obj(variables.doc);
		yyjson_mut_doc_set_root(variables.doc, variables.object);
		(void)fw_template_match(offer->name, call->request.name, call->request.name_len,
					on_variable, &variables);
		call->request.made_arguments =
			yyjson_mut_doc_imut_copy(variables.doc, &fw__yyjson_alc);
		yyjson_mut_doc_free(variables.doc);
		call->request.arguments = yyjson_doc_get_root(call->request.made_arguments);
		return offer;
	}
	return NULL;
}

static fw_error *read_uri(fw_call *call)
{
	return fw_mcp_read_name(call, fw_json_member(call->request.params, "uri"),
				"/params/uri");
}

fw_error *fw_method_resources_read(fw_call *call)
{
	FW_TRY(read_uri(call));
	FW_TRY(fw_mcp_choose_contract(call));
	call->request.offer = fw_offers_find(&call->server->offers.resources,
					     call->request.name, call->request.name_len);
	if (!call->request.offer)
		call->request.offer = find_template(call);
	if (!call->request.offer)
		return fw_raise_protocol_resource_not_found(call->request.name);
	FW_TRY(fw_ask_read(call));
	fw_call_start(call);
	return NULL;
}

fw_error *fw_method_subscribe(fw_call *call)
{
	struct fw_session *session = call->session;

	FW_TRY(read_uri(call));
	FW_TRY(fw_mcp_choose_contract(call));
	if (!fw_offers_find(&call->server->offers.resources, call->request.name,
			    call->request.name_len)) {
		const struct fw_offer *found = find_template(call);

		if (!found)
			return fw_raise_protocol_resource_not_found(call->request.name);
	}
	FW_TRY(fw_session_subscribe(session, call->request.name));
	if (!fw_replica_save(session, call))
		fw_mcp_reply_empty(call);
	return NULL;
}

fw_error *fw_method_unsubscribe(fw_call *call)
{
	struct fw_session *session = call->session;

	FW_TRY(read_uri(call));
	FW_TRY(fw_mcp_choose_contract(call));
	fw_session_unsubscribe(session, call->request.name);
	if (!fw_replica_save(session, call))
		fw_mcp_reply_empty(call);
	return NULL;
}

/* ---- prompts ---------------------------------------------------------------------- */

static fw_error *check_prompt_arguments(const fw_call *call)
{
	yyjson_obj_iter iter = yyjson_obj_iter_with(call->request.arguments);
	yyjson_val *key;
	char pointer[256];

	while ((key = yyjson_obj_iter_next(&iter))) {
		if (yyjson_is_str(yyjson_obj_iter_get_val(key)))
			continue;
		(void)snprintf(pointer, sizeof pointer, "/params/arguments/%s",
			       fw_text_of(key).p);
		return fw_raise_protocol_invalid_params(pointer, "a string");
	}
	for (size_t i = 0; call->request.offer->required[i]; i++)
		if (!fw_json_member(call->request.arguments, call->request.offer->required[i]))
			return fw_raise_input_missing_field(call->request.offer->required[i]);
	return NULL;
}

fw_error *fw_method_prompts_get(fw_call *call)
{
	FW_TRY(fw_mcp_read_name(call, fw_json_member(call->request.params, "name"),
				"/params/name"));
	call->request.arguments = fw_json_member(call->request.params, "arguments");
	FW_TRY(fw_mcp_choose_contract(call));
	if (call->request.arguments && !yyjson_is_obj(call->request.arguments))
		return fw_raise_protocol_invalid_params("/params/arguments", "an object");
	call->request.offer = fw_offers_find(&call->server->offers.prompts, call->request.name,
					     call->request.name_len);
	if (!call->request.offer)
		return fw_raise_protocol_prompt_not_found(call->request.name);
	call->stage = FW_STAGE_SCHEMA;
	FW_TRY(fw_mcp_refuse_nul(call));
	FW_TRY(check_prompt_arguments(call));
	FW_TRY(fw_ask_read(call));
	fw_call_start(call);
	return NULL;
}

/* ---- completion --------------------------------------------------------------------- */

static const struct fw_offer *find_template_by_text(const fw_server *server, const char *uri,
						    size_t len)
{
	const struct fw_offer *found = fw_offers_find(&server->offers.templates, uri, len);

	return found ? found : fw_offers_find(&server->offers.resources, uri, len);
}

fw_error *fw_method_complete(fw_call *call)
{
	yyjson_val *ref = fw_json_member(call->request.params, "ref");
	yyjson_val *type = fw_json_member(ref, "type");
	bool is_prompt = yyjson_equals_str(type, "ref/prompt");
	yyjson_val *name = fw_json_member(ref, is_prompt ? "name" : "uri");

	FW_TRY(fw_mcp_choose_contract(call));
	if (!is_prompt && !yyjson_equals_str(type, "ref/resource"))
		return fw_raise_protocol_invalid_params("/params/ref/type",
							"ref/prompt or ref/resource");
	FW_TRY(fw_mcp_read_name(call, name,
				is_prompt ? "/params/ref/name" : "/params/ref/uri"));
	call->request.arguments = fw_json_member(call->request.params, "argument");
	if (!yyjson_is_str(fw_json_member(call->request.arguments, "name")) ||
	    !yyjson_is_str(fw_json_member(call->request.arguments, "value")))
		return fw_raise_protocol_invalid_params("/params/argument",
							"an object with name and value");
	FW_TRY(fw_mcp_refuse_nul(call));
	call->request.offer =
		is_prompt ? fw_offers_find(&call->server->offers.prompts, call->request.name,
					   call->request.name_len)
			  : find_template_by_text(call->server, call->request.name,
						  call->request.name_len);
	if (!call->request.offer)
		return is_prompt ? fw_raise_protocol_prompt_not_found(call->request.name)
				 : fw_raise_protocol_invalid_params(
					   "/params/ref/uri", "a resource of this server");
	if (!call->request.offer->complete) {
		fw_call_complete(call, NULL);
		return NULL;
	}
	fw_call_start(call);
	return NULL;
}
