/*
 * project.c - what an error becomes: which contract the caller understands, and
 * the error in it, as a tool's result, a JSON-RPC error or a problem document.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <yyjson.h>

#include <faultwire/raise.h>

#include "base/buf.h"
#include "base/out.h"
#include "base/text.h"
#include "base/utf8.h"
#include "contract/contract_impl.h"
#include "mcp/call.h"
#include "mcp/offer.h"
#include "mcp/project.h"
#include "mcp/relay.h"
#include "mcp/request.h"
#include "mcp/server.h"
#include "mcp/session.h"
#include "mcp/transport.h"
#include "mcp/util.h"
#include "rpc/names.h"
#include "rpc/version.h"

enum {
	KEEP_OUT_BYTES = 256 * 1024,
	HINT_BYTES = 800,
	LEGACY_RESOURCE_NOT_FOUND = -32002,
	INVALID_PARAMS = -32602
};

/* ---- which contract ----------------------------------------------------------- */

static fw_error *contract_named(fw_call *call, const char *where, const char *name)
{
	fw_contract contract;

	if (name && fw_contract_from_name(name, &contract) && contract < FW_CONTRACT_COUNT) {
		call->request.contract = contract;
		return NULL;
	}
	return fw_raise_input_invalid_value(where, FW_MCP_CONTRACT_NAMES);
}

static const char *contract_text(yyjson_val *value)
{
	if (yyjson_is_obj(value))
		value = fw_json_member(value, "name");
	return fw_text_str(fw_text_of(value));
}

bool fw_mcp_read_contract(yyjson_val *value, fw_contract *ret_contract)
{
	const char *name = contract_text(value);
	fw_contract found;

	if (!name || !fw_contract_from_name(name, &found) || found >= FW_CONTRACT_COUNT)
		return false;
	*ret_contract = found;
	return true;
}

fw_error *fw_mcp_choose_contract(fw_call *call)
{
	yyjson_val *value = fw_json_member(call->request.meta, FW_META_CONTRACT);
	const char *header;

	call->request.has_chosen = true;
	if (value)
		return contract_named(call, "_meta/dev.faultwire/contract",
				      contract_text(value));
	if (call->exchange && call->exchange->ops->header) {
		header = call->exchange->ops->header(call->exchange, FW_HEADER_CONTRACT, NULL);
		if (header)
			return contract_named(call, FW_HEADER_CONTRACT, header);
	}
	if (call->request.is_modern) {
		value = fw_json_member(
			fw_json_member(call->request.capabilities, "experimental"),
			FW_META_CONTRACT);
		if (value)
			return contract_named(
				call, "clientCapabilities/experimental/" FW_META_CONTRACT,
				contract_text(value));
	} else if (call->session && call->session->has_contract) {
		call->request.contract = call->session->contract;
	}
	return NULL;
}

/* A page beside the endpoint: its failure is a problem document, unless the client chose
 * another contract. */
static bool is_page(const fw_call *call)
{
	return call->page || (call->exchange && call->exchange->is_page);
}

fw_contract fw_mcp_contract(const fw_call *call)
{
	if (call->request.contract < FW_CONTRACT_COUNT)
		return call->request.contract;
	if (is_page(call))
		return FW_OWLCLAW_API;
	if (call->server->options.contract < FW_CONTRACT_COUNT)
		return call->server->options.contract;
	if (call->request.offer && call->request.offer->kind == FW_OFFER_TOOL &&
	    call->request.offer->contract < FW_CONTRACT_COUNT)
		return call->request.offer->contract;
	return FW_TOOLERROR;
}

/* ---- what an error becomes ------------------------------------------------------ */

/* The failure of a tool is reported as its result, unless the registry says that the
 * code is always a protocol error. */
bool fw_mcp_is_tool_failure(const fw_call *call, const fw_error *err)
{
	if (call->request.kind != FW_CALL_TOOL || !call->request.offer)
		return false;
	if (call->relayed.form != FW_RELAYED_NOTHING)
		return call->relayed.form == FW_RELAYED_RESULT;
	/* Whatever limit refuses it: the caller asked for a tool. */
	if (call->stage == FW_STAGE_LIMITS)
		return true;
	if (call->stage < FW_STAGE_METHOD)
		return false;
	if (fw_error_code(err) == FW_PROTOCOL_MISSING_CAPABILITY)
		return !call->request.is_modern;
	return !fw_error_row(err)->is_protocol_error;
}

/* It is not offered, or its handler did not find it. */
static bool is_resource_missing(const fw_call *call, const fw_error *err)
{
	/* Without an offer the call failed before: its method or session does not exist. */
	return fw_error_code(err) == FW_PROTOCOL_RESOURCE_NOT_FOUND ||
	       (call->request.kind == FW_CALL_RESOURCE && call->request.offer &&
		fw_error_row(err)->type == FW_TYPE_NOT_FOUND);
}

static int jsonrpc_code(const fw_call *call, const fw_error *err)
{
	if (is_resource_missing(call, err))
		return call->request.is_modern ? INVALID_PARAMS : LEGACY_RESOURCE_NOT_FOUND;
	if (!call->request.is_modern) {
		/* These codes were introduced by the modern version. */
		switch (fw_error_code(err)) {
		case FW_PROTOCOL_UNSUPPORTED_VERSION:
		case FW_PROTOCOL_MISSING_CAPABILITY: return INVALID_PARAMS;
		default: break;
		}
	}
	return fw_error_row(err)->jsonrpc;
}

/* Clients lose the body of most statuses, so the status is 200 unless the
 * protocol requires another. */
static int http_status(const fw_call *call, const fw_error *err)
{
	if (call->stage == FW_STAGE_TRANSPORT || is_page(call))
		return fw_error_status(err);
	switch (fw_error_code(err)) {
	case FW_SESSION_UNKNOWN: return 404;
	case FW_SESSION_MISSING: return 400;
	case FW_PROTOCOL_METHOD_NOT_FOUND: return call->request.is_modern ? 404 : 200;
	case FW_PROTOCOL_HEADER_MISMATCH:
	case FW_PROTOCOL_UNSUPPORTED_VERSION: return 400;
	case FW_PROTOCOL_MISSING_CAPABILITY: return call->request.is_modern ? 400 : 200;
	default: return call->stage <= FW_STAGE_PROTOCOL ? 400 : 200;
	}
}

/* Members of `data` that the protocol requires for some errors. */
static void put_demanded(struct fw_buf *out, const fw_call *call, const fw_error *err)
{
	static const struct {
		int code;
		const char *field;
		const char *member;
	} demanded[] = {
		{ FW_PROTOCOL_UNSUPPORTED_VERSION, "requested", "requested" },
		{ FW_PROTOCOL_MISSING_CAPABILITY, "required_capabilities",
		  "requiredCapabilities" },
	};
	fw_field field;

	if (fw_error_code(err) == FW_PROTOCOL_UNSUPPORTED_VERSION) {
		FW_BUF(out, "\"supported\":");
		fw_buf_str(out, call->request.is_modern ? fw_version_modern_list
							: fw_version_legacy_list);
		FW_BUF(out, ",");
	}
	if (is_resource_missing(call, err) && call->request.name) {
		FW_BUF(out, "\"uri\":");
		fw_buf_json(out, call->request.name, call->request.name_len);
		FW_BUF(out, ",");
	}
	for (size_t i = 0; i < sizeof demanded / sizeof *demanded; i++) {
		if (demanded[i].code != fw_error_code(err) ||
		    !fw_error_find_field(err, demanded[i].field, &field))
			continue;
		FW_BUF(out, "\"");
		fw_buf_str(out, demanded[i].member);
		FW_BUF(out, "\":");
		if (field.type == FW_FIELD_JSON)
			fw_buf_put(out, field.string, field.string_len);
		else
			fw_buf_json(out, field.string, field.string_len);
		FW_BUF(out, ",");
	}
}

void fw_mcp_encode(const fw_server *server, const fw_error *err, fw_contract contract,
		   struct fw_buf *out)
{
	const fw_encode_options options = { .struct_size = sizeof(fw_encode_options),
					    .stack = server->options.debug_stack,
					    .problem_base = server->identity.problem_base };
	size_t len;

	if (!fw_buf_reserve(out, 1024))
		return;
	len = fw_error_encode(err, contract, &options, out->text + out->len,
			      out->cap - out->len);
	if (len >= out->cap - out->len) {
		if (!fw_buf_reserve(out, len))
			return;
		len = fw_error_encode(err, contract, &options, out->text + out->len,
				      out->cap - out->len);
	}
	out->len += len;
}

static void put_start(const fw_call *call, struct fw_buf *out)
{
	FW_BUF(out, "{\"jsonrpc\":\"2.0\",");
	if (call->request.has_id) {
		FW_BUF(out, "\"id\":");
		fw_buf_put(out, call->request.id.text, call->request.id.len);
		FW_BUF(out, ",");
	}
}

static bool wants_hint(const fw_call *call, fw_contract contract)
{
	switch (call->server->options.hints) {
	case FW_HINTS_ON: return contract != FW_CONTEXT_V0;
	case FW_HINTS_OFF: return false;
	default:
		return contract != FW_CONTEXT_V0 && call->request.contract >= FW_CONTRACT_COUNT;
	}
}

/* One line of text. What is appended to it fits: put_hint() bounds each part. */
struct line {
	size_t len;
	char text[1024];
};

static void append(struct line *line, const char *part, size_t len)
{
	memcpy(line->text + line->len, part, len);
	line->len += len;
}

/* The hint may be a tool's own: it may be long, and have several lines. */
static void append_hint(struct line *line, const char *hint)
{
	size_t start = line->len + 12;

	append(line, "What to do: ", 12);
	append(line, hint, fw_utf8_cut(hint, strlen(hint), HINT_BYTES));
	for (size_t i = start; i < line->len; i++)
		if (line->text[i] == '\n' || line->text[i] == '\r')
			line->text[i] = ' ';
}

/* A model reads the text of a result and not its _meta: one line for it. */
static void put_hint(const fw_error *err, struct fw_buf *out)
{
	enum { WAIT_BYTES = 64, INCIDENT_BYTES = 64 };
	_Static_assert(HINT_BYTES + WAIT_BYTES + INCIDENT_BYTES + 32 <
			       sizeof((struct line *)0)->text,
		       "a line has room for all of its parts");
	const char *hint = fw_error_hint(err);
	const char *incident = fw_error_incident_id(err);
	double delay = fw_error_retry_after(err);
	struct line line;

	if (!hint && !incident)
		return;
	line.len = 0;
	if (hint)
		append_hint(&line, hint);
	if (delay >= 0) {
		char wait[WAIT_BYTES];
		int len = snprintf(wait, sizeof wait, "%sTry again in %g s.",
				   line.len ? " " : "", ceil(delay * 10) / 10);

		append(&line, wait, len < WAIT_BYTES ? (size_t)len : WAIT_BYTES - 1);
	}
	if (incident) {
		if (line.len)
			append(&line, " ", 1);
		append(&line, "Incident: ", 10);
		append(&line, incident, strnlen(incident, INCIDENT_BYTES));
	}
	FW_BUF(out, ",{\"type\":\"text\",\"text\":");
	fw_buf_json(out, line.text, line.len);
	FW_BUF(out, "}");
}

static void put_tool_failure(fw_call *call, const fw_error *err, struct fw_buf *out)
{
	fw_server *server = call->server;
	fw_contract contract = fw_mcp_contract(call);

	fw_buf_reset(&server->scratch, KEEP_OUT_BYTES);
	fw_mcp_encode(server, err, contract, &server->scratch);
	/* Then it is reported without its context. */
	if (server->scratch.state != FW_BUF_OK) {
		out->state = server->scratch.state;
		return;
	}
	put_start(call, out);
	FW_BUF(out, "\"result\":{\"content\":[{\"type\":\"text\",\"text\":");
	fw_buf_json(out, server->scratch.text, server->scratch.len);
	FW_BUF(out, "}");
	if (wants_hint(call, contract))
		put_hint(err, out);
	FW_BUF(out, "],");
	if (contract == FW_CODEINTEL && call->request.offer->output &&
	    call->request.offer->empty_result) {
		FW_BUF(out, "\"structuredContent\":");
		fw_buf_put(out, server->scratch.text, server->scratch.len);
		FW_BUF(out, ",");
	}
	FW_BUF(out, "\"isError\":true,\"_meta\":{\"" FW_META_ERROR "\":");
	fw_mcp_encode(server, err, FW_CANONICAL, out);
	if (call->request.is_modern) {
		FW_BUF(out, ",\"" FW_META_SERVER_INFO "\":");
		fw_buf_str(out, server->identity.implementation);
		FW_BUF(out, "},\"resultType\":\"complete\"}}");
	} else {
		FW_BUF(out, "}}}");
	}
}

static void put_protocol_error(fw_call *call, const fw_error *err, struct fw_buf *out)
{
	put_start(call, out);
	FW_BUF(out, "\"error\":{\"code\":");
	fw_buf_i64(out, jsonrpc_code(call, err));
	FW_BUF(out, ",\"message\":");
	fw_buf_json_str(out, fw_error_message(err));
	FW_BUF(out, ",\"data\":{");
	put_demanded(out, call, err);
	FW_BUF(out, "\"error\":");
	fw_mcp_encode(call->server, err, fw_mcp_contract(call), out);
	if (out->len && out->text[out->len - 1] == '\n') /* context-v0 ends in one */
		out->len--;
	FW_BUF(out, ",\"" FW_META_ERROR "\":");
	fw_mcp_encode(call->server, err, FW_CANONICAL, out);
	FW_BUF(out, "}}}");
}

void fw_mcp_put_error(fw_call *call, const fw_error *err)
{
	struct fw_buf *out = &call->server->out;

	fw_buf_reset(out, KEEP_OUT_BYTES);
	if (is_page(call))
		fw_mcp_encode(call->server, err, fw_mcp_contract(call), out);
	else if (fw_relay_put_failure(call, err, out))
		;
	else if (fw_mcp_is_tool_failure(call, err))
		put_tool_failure(call, err, out);
	else
		put_protocol_error(call, err, out);
	/* An error too large for a reply is reported without its context. */
	if (out->state != FW_BUF_OK && !is_page(call)) {
		fw_buf_reset(out, KEEP_OUT_BYTES);
		put_start(call, out);
		FW_BUF(out, "\"error\":{\"code\":-32603,\"message\":\"out of memory\"}}");
	}
}

/* HTTP headers of a failure. */
void fw_mcp_put_headers(const fw_call *call, const fw_error *err, struct fw_reply *reply)
{
	double delay = fw_error_retry_after(err);
	fw_field allowed;

	reply->status = http_status(call, err);
	if (is_page(call)) {
		reply->type = fw_mcp_contract(call) == FW_OWLCLAW_API
				      ? "application/problem+json"
				      : "application/json";
		reply->event_name = "error";
		if (reply->status == 405 && fw_error_find_field(err, "allowed", &allowed))
			reply->allow = allowed.string;
	}
	if (fw_error_code(err) == FW_AUTH_FORBIDDEN && reply->status == 403 &&
	    fw_error_find_field(err, "scope", &allowed))
		reply->scope = allowed.string;
	if (reply->status != 200 && delay >= 0)
		reply->retry_after_s = delay < 1       ? 1
				       : delay < 86400 ? (uint32_t)ceil(delay)
						       : 86400;
}
