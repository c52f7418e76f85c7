/*
 * listen.c - notifies clients of changes: modern listeners, each a call that
 * stays open, and legacy sessions.
 */
#include <string.h>

#include <yyjson.h>

#include <faultwire/raise.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "mcp/boundary.h"
#include "mcp/call.h"
#include "mcp/follow.h"
#include "mcp/listen.h"
#include "mcp/method.h"
#include "mcp/project.h"
#include "mcp/relay.h"
#include "mcp/server.h"
#include "mcp/session.h"
#include "rpc/names.h"

#define SUBSCRIPTION "\"" FW_META_SUBSCRIPTION "\":"

static bool asks(yyjson_val *filter, const char *name, bool is_offered)
{
	return is_offered && yyjson_is_true(fw_json_member(filter, name));
}

static fw_error *take_uris(fw_call *call, yyjson_val *list)
{
	yyjson_val *item;
	size_t at, count;

	if (!list)
		return NULL;
	if (!yyjson_is_arr(list))
		return fw_raise_protocol_invalid_params(
			"/params/notifications/resourceSubscriptions", "an array");
	if (yyjson_arr_size(list) > call->server->limits.subscriptions)
		return fw_raise_server_overloaded(call->server->limits.subscriptions,
						  "subscriptions of one listener");
	call->listening.uris =
		fw__allocate((yyjson_arr_size(list) + 1) * sizeof *call->listening.uris);
	if (!call->listening.uris)
		return fw_raise_internal_out_of_memory();
	yyjson_arr_foreach(list, at, count, item)
	{
		char *uri;

		if (!fw_text_str(fw_text_of(item)))
			return fw_raise_protocol_invalid_params(
				"/params/notifications/resourceSubscriptions",
				"strings without NUL characters");
		uri = fw_strdup(fw_text_str(fw_text_of(item)));
		if (!uri)
			return fw_raise_internal_out_of_memory();
		call->listening.uris[call->listening.uri_count++] = uri;
	}
	return NULL;
}

static void acknowledge(fw_call *call)
{
	struct fw_buf *out = &call->server->out;
	size_t start;

	fw_buf_reset(out, (size_t)-1);
	FW_BUF(out, "{\"jsonrpc\":\"2.0\",\"method\":\"" FW_NOTE_ACKNOWLEDGED "\","
		    "\"params\":{\"notifications\":{");
	start = out->len;
	if (call->listening.tools)
		FW_BUF(out, "\"toolsListChanged\":true,");
	if (call->listening.prompts)
		FW_BUF(out, "\"promptsListChanged\":true,");
	if (call->listening.resources)
		FW_BUF(out, "\"resourcesListChanged\":true,");
	if (call->listening.uris) {
		FW_BUF(out, "\"resourceSubscriptions\":[");
		for (size_t i = 0; i < call->listening.uri_count; i++) {
			if (i)
				FW_BUF(out, ",");
			fw_buf_json_str(out, call->listening.uris[i]);
		}
		FW_BUF(out, "],");
	}
	if (out->len > start)
		out->len--;
	FW_BUF(out, "},\"_meta\":{" SUBSCRIPTION);
	fw_buf_put(out, call->request.id.text, call->request.id.len);
	FW_BUF(out, "}}}");
	if (out->state == FW_BUF_OK)
		fw_call_send(call, out->text, out->len);
}

fw_error *fw_method_listen(fw_call *call)
{
	fw_server *server = call->server;
	yyjson_val *filter = fw_json_member(call->request.params, "notifications");
	const struct fw_relay *relay = server->relay;
	bool has_resources =
		relay ? relay->hello.has_resources
		      : server->offers.resources.count + server->offers.templates.count > 0;

	FW_TRY(fw_mcp_choose_contract(call));
	if (!yyjson_is_obj(filter))
		return fw_raise_protocol_invalid_params("/params/notifications", "an object");
	if (server->calls.listeners >= server->limits.listeners)
		return fw_raise_server_overloaded(server->limits.listeners, "listeners");
	call->listening.tools =
		asks(filter, "toolsListChanged",
		     relay ? relay->hello.has_tools : server->offers.tools.count > 0);
	call->listening.prompts =
		asks(filter, "promptsListChanged",
		     relay ? relay->hello.has_prompts : server->offers.prompts.count > 0);
	call->listening.resources = asks(filter, "resourcesListChanged", has_resources);
	if (has_resources)
		FW_TRY(take_uris(call, fw_json_member(filter, "resourceSubscriptions")));
	call->is_listener = true;
	server->calls.listeners++;
	acknowledge(call);
	if (relay && relay->ops->listening)
		relay->ops->listening(server->relay, false, call->listening.uris,
				      call->listening.uri_count);
	return NULL;
}

/* The last message to a listener is the result of its call. */
void fw_listen_end(fw_call *call)
{
	struct fw_buf *out;

	if (fw_call_is_over(call))
		return;
	call->server->calls.listeners--;
	out = fw_mcp_begin(call);
	FW_BUF(out, "\"resultType\":\"complete\",\"_meta\":{" SUBSCRIPTION);
	fw_buf_put(out, call->request.id.text, call->request.id.len);
	FW_BUF(out, ",\"" FW_META_SERVER_INFO "\":");
	fw_buf_str(out, call->server->identity.implementation);
	FW_BUF(out, "}}}");
	fw_mcp_reply(call);
}

/* ---- telling ----------------------------------------------------------------------- */

static const char *const methods[] = {
	[FW_CHANGE_TOOLS] = FW_NOTE_TOOLS_CHANGED,
	[FW_CHANGE_PROMPTS] = FW_NOTE_PROMPTS_CHANGED,
	[FW_CHANGE_RESOURCES] = FW_NOTE_RESOURCES_CHANGED,
	[FW_CHANGE_RESOURCE] = FW_NOTE_RESOURCE_UPDATED,
};

static bool wants(const fw_call *call, enum fw_change change, const char *uri)
{
	switch (change) {
	case FW_CHANGE_TOOLS: return call->listening.tools;
	case FW_CHANGE_PROMPTS: return call->listening.prompts;
	case FW_CHANGE_RESOURCES: return call->listening.resources;
	case FW_CHANGE_RESOURCE:
		for (size_t i = 0; i < call->listening.uri_count; i++)
			if (strcmp(call->listening.uris[i], uri) == 0)
				return true;
		break;
	}
	return false;
}

/* `listener` NULL: for a legacy session. */
static void put_change(struct fw_buf *out, const fw_call *listener, enum fw_change change,
		       const char *uri)
{
	bool has_params = listener || uri;

	fw_buf_reset(out, (size_t)-1);
	FW_BUF(out, "{\"jsonrpc\":\"2.0\",\"method\":\"");
	fw_buf_str(out, methods[change]);
	FW_BUF(out, "\"");
	if (has_params)
		FW_BUF(out, ",\"params\":{");
	if (listener) {
		FW_BUF(out, "\"_meta\":{" SUBSCRIPTION);
		fw_buf_put(out, listener->request.id.text, listener->request.id.len);
		FW_BUF(out, "}");
	}
	if (uri) {
		fw_buf_str(out, listener ? ",\"uri\":" : "\"uri\":");
		fw_buf_json_str(out, uri);
	}
	if (has_params)
		FW_BUF(out, "}");
	FW_BUF(out, "}");
}

bool fw_listen_put(fw_server *server, enum fw_change change, const char *uri)
{
	put_change(&server->out, NULL, change, uri);
	return server->out.state == FW_BUF_OK;
}

void fw_listen_announce(fw_server *server, enum fw_change change, const char *uri)
{
	if (!fw_follow_announce(server, change, uri))
		fw_listen_deliver(server, change, uri, 0);
}

void fw_listen_deliver(fw_server *server, enum fw_change change, const char *uri,
		       uint64_t number)
{
	struct fw_buf *out = &server->out;

	for (fw_call *call = server->calls.first; call; call = call->next) {
		if (!call->is_listener || fw_call_is_over(call) || !wants(call, change, uri))
			continue;
		put_change(out, call, change, uri);
		if (out->state == FW_BUF_OK)
			fw_call_send(call, out->text, out->len);
	}
	for (struct fw_session *session = server->sessions.first; session;
	     session = session->next) {
		if (!session->is_initialized ||
		    (change == FW_CHANGE_RESOURCE && !fw_session_subscribes(session, uri)))
			continue;
		if (!fw_listen_put(server, change, uri))
			continue;
		if (number && !session->wire)
			fw_follow_change(session, number, out->text, out->len);
		else
			fw_session_send(session, out->text, out->len);
	}
}
