/*
 * project.c - what an error becomes: which contract the caller understands, and
 * the error in it, as a tool's result, a JSON-RPC error or a problem document.
 */
#include <stdio.h>
#include <string.h>

#include <yyjson.h>

#include <faultwire/raise.h>

#include "base/accept.h"
#include "base/buf.h"
#include "base/id.h"
#include "base/json.h"
#include "base/out.h"
#include "base/real.h"
#include "base/text.h"
#include "base/utf8.h"
#include "contract/write.h"
#include "core/error_own.h"
#include "core/registry_table.h"
#include "mcp/call.h"
#include "mcp/offer.h"
#include "mcp/project.h"
#include "mcp/relay.h"
#include "mcp/request.h"
#include "mcp/server.h"
#include "mcp/session.h"
#include "mcp/transport.h"
#include "rpc/names.h"
#include "rpc/version.h"

enum {
	/* Room for usual ones. */
	ERROR_BYTES = 1024,
	USUAL_BYTES = 2048,
	/* What a line for a model shows at most. */
	HINT_BYTES = 800,
	INCIDENT_BYTES = 64,
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

static const char *header_of(struct fw_exchange *exchange, const char *name)
{
	return exchange && exchange->ops->header ? exchange->ops->header(exchange, name, NULL)
						 : NULL;
}

fw_error *fw_mcp_choose_contract(fw_call *call)
{
	yyjson_val *value = fw_json_member(call->request.meta, FW_META_CONTRACT);
	const char *header = header_of(call->exchange, FW_HEADER_CONTRACT);

	call->request.has_chosen = true;
	if (value)
		return contract_named(call, "_meta/dev.faultwire/contract",
				      contract_text(value));
	if (header)
		return contract_named(call, FW_HEADER_CONTRACT, header);
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

#define MEDIA_TYPE(contract) "application/vnd.faultwire." contract "+json"

fw_error *fw_mcp_choose_page_contract(struct fw_exchange *exchange, fw_contract *ret_contract)
{
	static const char *const types[] = {
		"application/json",      "application/problem+json", MEDIA_TYPE("canonical"),
		MEDIA_TYPE("kaiza"),     MEDIA_TYPE("context-v0"),   MEDIA_TYPE("codeintel"),
		MEDIA_TYPE("toolerror"), MEDIA_TYPE("owlclaw"),
	};
	static const fw_contract contracts[] = {
		FW_AUTO,       FW_OWLCLAW_API, FW_CANONICAL, FW_KAIZA,
		FW_CONTEXT_V0, FW_CODEINTEL,   FW_TOOLERROR, FW_OWLCLAW,
	};
	const char *name = header_of(exchange, FW_HEADER_CONTRACT);
	const char *accept = header_of(exchange, "Accept");
	fw_contract contract;

	if (!name) {
		*ret_contract = contracts[fw_accept_choose(accept, types,
							   sizeof types / sizeof *types)];
		return NULL;
	}
	if (!fw_contract_from_name(name, &contract) || contract >= FW_CONTRACT_COUNT)
		return fw_raise_input_invalid_value(FW_HEADER_CONTRACT, FW_MCP_CONTRACT_NAMES);
	*ret_contract = contract;
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
	/* For every limit: the caller asked for a tool. */
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

static inline fw_encode_options encode_options(const fw_server *server)
{
	return (fw_encode_options){ .struct_size = sizeof(fw_encode_options),
				    .stack = server->options.debug_stack,
				    .problem_base = server->identity.problem_base };
}

void fw_mcp_encode(const fw_server *server, const fw_error *err, fw_contract contract,
		   struct fw_buf *buf)
{
	const fw_encode_options options = encode_options(server);
	struct fw_out out;

	for (bool more = fw_buf_open(buf, ERROR_BYTES, &out); more;
	     more = fw_buf_close(buf, &out))
		fw_contract_write(&out, err, contract, &options);
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

/* Writes a text as one line, inside a JSON string: a hint of a tool may have several. */
static void write_line(struct fw_out *out, const char *text, size_t len)
{
	while (len) {
		const char *feed = memchr(text, '\n', len);
		size_t part = feed ? (size_t)(feed - text) : len;
		const char *turn = memchr(text, '\r', part);

		if (turn)
			part = (size_t)(turn - text);
		fw_out_json_body(out, text, part);
		if (part == len)
			return;
		FW_OUT(out, " ");
		text += part + 1;
		len -= part + 1;
	}
}

/* The hint of a code is one line, and not long. */
static void write_row_hint(struct fw_out *out, const fw_row *row)
{
	static const char before[] = ",\"hint\":\"";
	const struct fw_row_text *texts = fw__row_text_of(row);

	if (texts)
		fw_out_put(out, texts->hint + sizeof before - 1,
			   texts->hint_len - sizeof before);
	else
		fw_out_json_body(out, row->hint, row->hint_len);
}

static void write_delay(struct fw_out *out, double delay)
{
	char text[64];
	int len = snprintf(text, sizeof text, "Try again in %g s.", fw_ceil(delay * 10) / 10);

	fw_out_put(out, text, len < (int)sizeof text ? (size_t)len : sizeof text - 1);
}

/* A model reads the text of a result and not its _meta: one line for it. */
static void write_hint(struct fw_out *out, const fw_error *err)
{
	const char *hint = fw_error_hint(err);
	const char *incident = fw_error_incident_id(err);
	double delay = fw_error_retry_after(err);

	if (!hint && !incident)
		return;
	FW_OUT(out, ",{\"type\":\"text\",\"text\":\"");
	if (hint) {
		const fw_row *row = fw_error_row(err);

		FW_OUT(out, "What to do: ");
		if (hint == row->hint)
			write_row_hint(out, row);
		else
			write_line(out, hint, fw_utf8_cut(hint, strlen(hint), HINT_BYTES));
		if (delay >= 0 || incident)
			FW_OUT(out, " ");
	}
	if (delay >= 0) {
		write_delay(out, delay);
		if (incident)
			FW_OUT(out, " ");
	}
	if (incident) {
		FW_OUT(out, "Incident: ");
		if (fw__error_has_own_incident(err))
			fw_out_put(out, incident, FW_INCIDENT_ID_SIZE - 1);
		else
			fw_out_json_body(out, incident, strnlen(incident, INCIDENT_BYTES));
	}
	FW_OUT(out, "\"}");
}

static void write_start(struct fw_out *out, const fw_call *call)
{
	FW_OUT(out, "{\"jsonrpc\":\"2.0\",");
	if (call->request.has_id) {
		FW_OUT(out, "\"id\":");
		fw_out_put(out, call->request.id.text, call->request.id.len);
		FW_OUT(out, ",");
	}
}

/* `text`: the error in the contract; NULL: it is written in toolerror, in one pass. */
static void write_tool_failure(struct fw_out *out, const fw_call *call, const fw_error *err,
			       fw_contract contract, const struct fw_buf *text)
{
	const fw_server *server = call->server;
	const struct fw_offer *offer = call->request.offer;
	const fw_encode_options options = encode_options(server);

	write_start(out, call);
	FW_OUT(out, "\"result\":{\"content\":[{\"type\":\"text\",\"text\":");
	if (text) {
		fw_out_json(out, text->text, text->len);
		FW_OUT(out, "}");
	} else {
		FW_OUT(out, "\"");
		fw_toolerror_write_inside(out, err);
		FW_OUT(out, "\"}");
	}
	if (wants_hint(call, contract))
		write_hint(out, err);
	FW_OUT(out, "],");
	if (contract == FW_CODEINTEL && offer->output && offer->empty_result) {
		FW_OUT(out, "\"structuredContent\":");
		fw_out_put(out, text->text, text->len);
		FW_OUT(out, ",");
	}
	FW_OUT(out, "\"isError\":true,\"_meta\":{\"" FW_META_ERROR "\":");
	fw_contract_write(out, err, FW_CANONICAL, &options);
	if (call->request.is_modern) {
		FW_OUT(out, ",\"" FW_META_SERVER_INFO "\":");
		fw_out_str(out, server->identity.implementation);
		FW_OUT(out, "},\"resultType\":\"complete\"}}");
	} else {
		FW_OUT(out, "}}}");
	}
}

static void put_tool_failure(fw_call *call, const fw_error *err, struct fw_buf *buf)
{
	struct fw_buf *text = &call->server->scratch;
	fw_contract contract = fw_mcp_contract(call);
	struct fw_out out;

	if (contract == FW_TOOLERROR) {
		text = NULL;
	} else {
		fw_buf_reset(text, FW_SERVER_KEEP_OUT_BYTES);
		fw_mcp_encode(call->server, err, contract, text);
		/* Then it is reported without its context. */
		if (text->state != FW_BUF_OK) {
			buf->state = text->state;
			return;
		}
	}
	for (bool more = fw_buf_open(buf, USUAL_BYTES, &out); more;
	     more = fw_buf_close(buf, &out))
		write_tool_failure(&out, call, err, contract, text);
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

	fw_buf_reset(out, FW_SERVER_KEEP_OUT_BYTES);
	if (is_page(call))
		fw_mcp_encode(call->server, err, fw_mcp_contract(call), out);
	else if (call->relayed.form != FW_RELAYED_NOTHING &&
		 fw_relay_put_failure(call, err, out))
		;
	else if (fw_mcp_is_tool_failure(call, err))
		put_tool_failure(call, err, out);
	else
		put_protocol_error(call, err, out);
	/* An error too large for a reply is reported without its context. */
	if (out->state != FW_BUF_OK && !is_page(call)) {
		fw_buf_reset(out, FW_SERVER_KEEP_OUT_BYTES);
		put_start(call, out);
		FW_BUF(out, "\"error\":{\"code\":-32603,\"message\":\"out of memory\"}}");
	}
}

/* Clients of pages read the header, so it is sent even if no delay is known. */
static bool needs_delay(const fw_error *err, int status)
{
	return (status == 429 || status == 503 || status == 504) &&
	       fw_error_retry(err) == FW_RETRY_BACKOFF;
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
		if (delay < 0 && needs_delay(err, reply->status))
			delay = 1;
	}
	if (fw_error_code(err) == FW_AUTH_FORBIDDEN && reply->status == 403 &&
	    fw_error_find_field(err, "scope", &allowed))
		reply->scope = allowed.string;
	if (reply->status != 200 && delay >= 0)
		reply->retry_after_s = delay < 1       ? 1
				       : delay < 86400 ? (uint32_t)fw_ceil(delay)
						       : 86400;
}
