/*
 * outcome.c - what observers get to see of a call: before its arguments are
 * checked, before it runs, when it fails, and when it is over. boundary.c holds
 * replies.
 */
#include <uv.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "core/redact.h"
#include "mcp/call.h"
#include "mcp/outcome.h"
#include "mcp/project.h"
#include "mcp/server.h"
#include "mcp/session.h"
#include "rpc/names.h"

enum { CLIENT_SIZE = 256 };

static fw_outcome_kind kind_of(const fw_call *call, const fw_error *err)
{
	if (!err)
		return call->result.is_own_error ? FW_OUTCOME_TOOL_ERROR : FW_OUTCOME_RESULT;
	if (call->stage == FW_STAGE_TRANSPORT || fw_error_origin(err) == FW_ORIGIN_TRANSPORT)
		return FW_OUTCOME_TRANSPORT_ERROR;
	return fw_mcp_is_tool_failure(call, err) ? FW_OUTCOME_TOOL_ERROR
						 : FW_OUTCOME_PROTOCOL_ERROR;
}

const char *fw_mcp_client(fw_call *call)
{
	yyjson_val *name =
		fw_json_member(fw_json_member(call->request.meta, FW_META_CLIENT_INFO), "name");
	const char *text = fw_text_str(fw_text_of(name));
	size_t len = yyjson_get_len(name);

	if (call->session)
		return call->session->client;
	if (!text || (len < CLIENT_SIZE && fw_redact_find(text, len) == len))
		return text;
	if (!call->request.client_name) {
		call->request.client_name = fw__allocate(CLIENT_SIZE);
		if (call->request.client_name)
			(void)fw_redact_copy(call->request.client_name, CLIENT_SIZE, text, len);
	}
	return call->request.client_name ? call->request.client_name : FW_REDACTED;
}

/* Names of peers become labels of metrics and keys of alerts. */
static const char *harmless(yyjson_val *value, char room[FW_SHOWN_SIZE])
{
	const char *text = fw_text_str(fw_text_of(value));
	size_t len = yyjson_get_len(value);

	if (!text || len < FW_REDACT_LEAST || fw_redact_find(text, len) == len)
		return text;
	(void)fw_redact_copy(room, FW_SHOWN_SIZE, text, len);
	return room;
}

fw_outcome fw_outcome_of(fw_call *call, const fw_error *err)
{
	uint64_t now = uv_hrtime();

	return (fw_outcome){
		.method = call->request.method_name,
		.name = call->request.name,
		.error = err,
		.contract = fw_mcp_contract(call),
		.duration_ns = now - call->started_ns,
		.client = fw_mcp_client(call),
		.session = call->session && call->session->id[0] ? call->session->id : NULL,
		.trace = harmless(fw_json_member(call->request.meta, FW_META_TRACE),
				  call->server->observers.shown_trace),
		.changes = call->request.offer && call->request.offer->changes,
		.is_known = call->request.offer != NULL,
		.call = call,
		.kind = kind_of(call, err),
		.handling_ns = call->failed_ns ? now - call->failed_ns : 0,
		.is_unauthenticated = err && call->is_unauthenticated,
		.peer = err && call->peer[0] ? call->peer : NULL,
		.is_drill = call->request.offer && call->request.offer->is_drill,
		.principal = fw_call_principal(call),
	};
}

char *fw_outcome_arguments(const fw_outcome *outcome, size_t *ret_len)
{
	struct fw_buf text;

	if (!outcome->call->request.arguments)
		return NULL;
	fw_buf_init(&text, 2 * (size_t)outcome->call->server->limits.message_bytes);
	fw_buf_value(&text, outcome->call->request.arguments);
	if (text.state != FW_BUF_OK) {
		fw_buf_clear(&text);
		return NULL;
	}
	if (ret_len)
		*ret_len = text.len;
	return text.text;
}

const char *fw_outcome_argument(const fw_outcome *outcome, const char *name)
{
	yyjson_val *arguments = outcome->call->request.arguments;
	yyjson_val *value = name[0] == '/' ? yyjson_ptr_get(arguments, name)
					   : fw_json_member(arguments, name);

	return fw_text_str(fw_text_of(value));
}

fw_error *fw_mcp_enter(fw_call *call)
{
	fw_server *server = call->server;

	for (size_t i = 0; i < server->observers.count; i++) {
		const fw_observer *observer = &server->observers.items[i];
		fw_outcome coming;
		fw_error *err;

		if (!observer->entering)
			continue;
		coming = fw_outcome_of(call, NULL);
		coming.duration_ns = 0;
		err = observer->entering(observer->ctx, &coming);
		if (err) {
			/* cppcheck-suppress returnDanglingLifetime ; it is a copy's pointer */
			return err;
		}
	}
	return NULL;
}

fw_error *fw_mcp_admit(fw_call *call)
{
	fw_server *server = call->server;

	for (size_t i = 0; i < server->observers.count; i++) {
		const fw_observer *observer = &server->observers.items[i];
		fw_outcome coming;
		fw_error *err;

		if (!observer->admitting)
			continue;
		coming = fw_outcome_of(call, NULL);
		coming.duration_ns = 0;
		coming.kind = FW_OUTCOME_RESULT;
		err = observer->admitting(observer->ctx, &coming);
		if (err) {
			/* cppcheck-suppress returnDanglingLifetime ; it is a copy's pointer */
			return err;
		}
	}
	return NULL;
}

void fw_mcp_report_failed(fw_call *call, const fw_error *err)
{
	const struct fw_observers *observers = &call->server->observers;

	for (size_t i = 0; i < observers->count; i++) {
		const fw_observer *observer = &observers->items[i];
		fw_outcome outcome;

		if (!observer->failed)
			continue;
		outcome = fw_outcome_of(call, err);
		observer->failed(observer->ctx, &outcome);
	}
}

void fw_mcp_report_finished(fw_call *call, const fw_error *err)
{
	fw_server *server = call->server;
	fw_outcome outcome;

	if (!server->observers.count)
		return;
	outcome = fw_outcome_of(call, err);
	for (size_t i = 0; i < server->observers.count; i++)
		if (server->observers.items[i].finished)
			server->observers.items[i].finished(server->observers.items[i].ctx,
							    &outcome);
}

void fw_mcp_report_failing(fw_call *call, fw_error *err)
{
	fw_server *server = call->server;

	for (size_t i = 0; i < server->observers.count; i++) {
		const fw_observer *observer = &server->observers.items[i];
		fw_outcome outcome;

		if (!observer->failing)
			continue;
		outcome = fw_outcome_of(call, err);
		observer->failing(observer->ctx, &outcome, err);
	}
}

void fw_mcp_report_session_ended(fw_server *server, const char *session)
{
	for (size_t i = 0; i < server->observers.count; i++) {
		const fw_observer *observer = &server->observers.items[i];

		if (observer->session_ended)
			observer->session_ended(observer->ctx, session);
	}
}
