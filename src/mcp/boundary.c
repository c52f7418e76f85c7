/*
 * boundary.c - where every call leaves.
 *
 * parse > protocol > auth > limits > session > tool known > input schema > run
 * > output schema > reply: each of these can fail, and each failure comes to
 * fw_mcp_fail() as an fw_error. There it gets its scope, incident and time, is
 * shown to the observers, and only then becomes bytes. Nothing else in the
 * runtime writes an error.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/out.h"
#include "contract/contract_impl.h"
#include "mcp/impl.h"

enum {
	KEEP_OUT_BYTES = 256 * 1024,
	LEGACY_RESOURCE_NOT_FOUND = -32002,
	INVALID_PARAMS = -32602
};

/* ---- which contract ----------------------------------------------------------- */

static fw_error *contract_named(fw_call *call, const char *where, const char *name)
{
	fw_contract contract;

	if (name && fw_contract_from_name(name, &contract) && contract < FW_CONTRACT_COUNT) {
		call->contract = contract;
		return NULL;
	}
	return fw_raise_input_invalid_value(where, "canonical, kaiza, context-v0, codeintel, "
						   "toolerror or owlclaw");
}

static const char *contract_text(yyjson_val *value)
{
	if (yyjson_is_obj(value))
		value = fw_member(value, "name");
	return yyjson_get_str(value);
}

fw_error *fw_mcp_choose_contract(fw_call *call)
{
	yyjson_val *value = fw_member(call->meta, "dev.faultwire/contract");
	const char *header;

	call->contract = FW_AUTO;
	if (value)
		return contract_named(call, "_meta/dev.faultwire/contract",
				      contract_text(value));
	if (call->exchange && call->exchange->ops->header) {
		header =
			call->exchange->ops->header(call->exchange, "Faultwire-Contract", NULL);
		if (header)
			return contract_named(call, "Faultwire-Contract", header);
	}
	if (call->is_modern) {
		value = fw_member(fw_member(call->capabilities, "experimental"),
				  "dev.faultwire/contract");
		if (value)
			return contract_named(call,
					      "clientCapabilities/experimental/"
					      "dev.faultwire/contract",
					      contract_text(value));
	} else if (call->session && call->session->has_contract) {
		call->contract = call->session->contract;
	}
	return NULL;
}

static fw_contract contract_of(const fw_call *call)
{
	if (call->contract < FW_CONTRACT_COUNT)
		return call->contract;
	if (call->server->options.contract < FW_CONTRACT_COUNT)
		return call->server->options.contract;
	if (call->offer && call->offer->kind == FW_OFFER_TOOL &&
	    call->offer->contract < FW_CONTRACT_COUNT)
		return call->offer->contract;
	return FW_TOOLERROR;
}

/* ---- what an error becomes ------------------------------------------------------ */

/* A document beside the endpoint: its failure is one, too. */
static bool is_page(const fw_call *call)
{
	return call->exchange && call->exchange->is_page;
}

/* A tool's failure is its result; what breaks the protocol is not a tool's. */
static bool is_tool_failure(const fw_call *call, const fw_error *err)
{
	int code = fw_error_code(err);

	if (call->kind != FW_CALL_TOOL || !call->offer || call->stage < FW_STAGE_METHOD)
		return false;
	if (code == FW_PROTOCOL_MISSING_CAPABILITY)
		return !call->is_modern;
	return code < 4001 || code > 4500;
}

static int jsonrpc_code(const fw_call *call, const fw_error *err)
{
	if (fw_error_code(err) == FW_PROTOCOL_RESOURCE_NOT_FOUND)
		return call->is_modern ? INVALID_PARAMS : LEGACY_RESOURCE_NOT_FOUND;
	if (!call->is_modern) {
		/* These codes were minted by the modern version. */
		switch (fw_error_code(err)) {
		case FW_PROTOCOL_UNSUPPORTED_VERSION:
		case FW_PROTOCOL_MISSING_CAPABILITY: return INVALID_PARAMS;
		default: break;
		}
	}
	return fw_error_row(err)->jsonrpc;
}

/* Clients lose the body of most statuses, so 200 is told wherever the protocol
 * does not demand another. */
static int http_status(const fw_call *call, const fw_error *err)
{
	if (call->stage == FW_STAGE_TRANSPORT)
		return fw_error_status(err);
	switch (fw_error_code(err)) {
	case FW_SESSION_UNKNOWN: return 404;
	case FW_SESSION_MISSING: return 400;
	case FW_PROTOCOL_METHOD_NOT_FOUND: return call->is_modern ? 404 : 200;
	case FW_PROTOCOL_HEADER_MISMATCH:
	case FW_PROTOCOL_UNSUPPORTED_VERSION: return 400;
	case FW_PROTOCOL_MISSING_CAPABILITY: return call->is_modern ? 400 : 200;
	default: return call->stage <= FW_STAGE_PROTOCOL ? 400 : 200;
	}
}

/* What the protocol wants to find in `data` of some errors. */
static void put_demanded(struct fw_buf *out, const fw_error *err)
{
	static const struct {
		int code;
		const char *field;
		const char *member;
	} demanded[] = {
		{ FW_PROTOCOL_UNSUPPORTED_VERSION, "supported_versions", "supported" },
		{ FW_PROTOCOL_UNSUPPORTED_VERSION, "requested", "requested" },
		{ FW_PROTOCOL_MISSING_CAPABILITY, "required_capabilities",
		  "requiredCapabilities" },
		{ FW_PROTOCOL_RESOURCE_NOT_FOUND, "uri", "uri" },
	};
	fw_field field;

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

static void encode(const fw_server *server, const fw_error *err, fw_contract contract,
		   struct fw_buf *out)
{
	const fw_encode_options options = { .stack = server->options.debug_stack };
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
	if (call->has_id) {
		FW_BUF(out, "\"id\":");
		fw_buf_put(out, call->id, call->id_len);
		FW_BUF(out, ",");
	}
}

static void put_tool_failure(fw_call *call, const fw_error *err, struct fw_buf *out)
{
	fw_server *server = call->server;
	fw_contract contract = contract_of(call);

	fw_buf_reset(&server->scratch, KEEP_OUT_BYTES);
	encode(server, err, contract, &server->scratch);
	put_start(call, out);
	FW_BUF(out, "\"result\":{\"content\":[{\"type\":\"text\",\"text\":");
	fw_buf_json(out, server->scratch.text, server->scratch.len);
	FW_BUF(out, "}],");
	if (contract == FW_CODEINTEL && call->offer->output) {
		FW_BUF(out, "\"structuredContent\":");
		fw_buf_put(out, server->scratch.text, server->scratch.len);
		FW_BUF(out, ",");
	}
	FW_BUF(out, "\"isError\":true,\"_meta\":{\"dev.faultwire/error\":");
	encode(server, err, FW_CANONICAL, out);
	if (call->is_modern) {
		FW_BUF(out, ",\"io.modelcontextprotocol/serverInfo\":");
		fw_buf_str(out, server->implementation);
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
	put_demanded(out, err);
	FW_BUF(out, "\"error\":");
	encode(call->server, err, contract_of(call), out);
	if (out->len && out->text[out->len - 1] == '\n') /* context-v0 ends in one */
		out->len--;
	FW_BUF(out, ",\"dev.faultwire/error\":");
	encode(call->server, err, FW_CANONICAL, out);
	FW_BUF(out, "}}}");
}

/* ---- leaving ------------------------------------------------------------------------ */

/* One answer of a batch; the last one sends them all. */
static void put_in_batch(fw_call *call, const struct fw_buf *out)
{
	struct fw_batch *batch = call->batch;

	if (out->len) {
		fw_buf_put(&batch->out, batch->out.len ? "," : "[", 1);
		fw_buf_put(&batch->out, out->text, out->len);
	}
	batch->pending--;
	fw_batch_settle(batch);
}

void fw_batch_settle(struct fw_batch *batch)
{
	struct fw_reply reply = { .status = 202 };

	if (batch->pending || batch->is_open)
		return;
	if (batch->out.len) {
		FW_BUF(&batch->out, "]");
		reply.status = 200;
		reply.json = batch->out.text;
		reply.len = batch->out.len;
	}
	if (batch->exchange && (reply.json || batch->exchange->is_http))
		batch->exchange->ops->reply(batch->exchange, &reply);
	fw_buf_clear(&batch->out);
	fw__release(batch);
}

/* What HTTP says of a failure in its headers. */
static void put_headers(const fw_call *call, const fw_error *err, struct fw_reply *reply)
{
	double delay = fw_error_retry_after(err);

	reply->status = http_status(call, err);
	if (is_page(call)) {
		reply->type = "application/problem+json";
		if (reply->status == 405)
			reply->allow = "GET, HEAD";
	}
	if (reply->status != 200 && delay >= 0)
		reply->retry_after_s = delay < 1       ? 1
				       : delay < 86400 ? (uint32_t)ceil(delay)
						       : 86400;
}

/* Hands `server->out` to the transport, and ends the call. */
static void leave(fw_call *call, const fw_error *err)
{
	fw_server *server = call->server;
	struct fw_exchange *exchange = call->exchange;
	struct fw_reply reply = { .status = 200 };
	bool is_listed = call->is_listed;

	call->is_answered = true;
	if (err)
		put_headers(call, err, &reply);
	if (!call->is_silent) {
		reply.json = server->out.text;
		reply.len = server->out.len;
	}
	if (call->questions)
		fw_ask_forget(call);
	if (call->batch) {
		if (call->is_silent)
			server->out.len = 0;
		put_in_batch(call, &server->out);
		call->batch = NULL;
		fw_call_delist(call);
	} else if (call->stream) {
		if (!call->is_silent)
			fw_stream_send(call->stream, reply.json, reply.len, true);
		call->stream = NULL;
		fw_call_delist(call);
	} else {
		if (call->session && exchange && exchange->is_http)
			reply.session_id = call->session->id;
		if (is_listed)
			fw_call_delist(call);
		if (exchange && !call->is_silent)
			exchange->ops->reply(exchange, &reply);
		else if (exchange)
			exchange->ops->close(exchange);
	}
	if (server->out.cap > KEEP_OUT_BYTES)
		fw_buf_clear(&server->out);
}

/* ---- observers ------------------------------------------------------------------------ */

static fw_told told_of(const fw_call *call, const fw_error *err)
{
	if (!err)
		return call->is_own_error ? FW_TOLD_TOOL_ERROR : FW_TOLD_RESULT;
	if (call->stage == FW_STAGE_TRANSPORT || fw_error_origin(err) == FW_ORIGIN_TRANSPORT)
		return FW_TOLD_TRANSPORT_ERROR;
	return is_tool_failure(call, err) ? FW_TOLD_TOOL_ERROR : FW_TOLD_PROTOCOL_ERROR;
}

static fw_outcome outcome_of(fw_call *call, const fw_error *err)
{
	yyjson_val *info = fw_member(call->meta, "io.modelcontextprotocol/clientInfo");
	uint64_t now = uv_hrtime();

	return (fw_outcome){
		.method = call->method_name,
		.name = call->name,
		.error = err,
		.contract = contract_of(call),
		.duration_ns = now - call->started_ns,
		.client = call->session ? call->session->client
					: yyjson_get_str(fw_member(info, "name")),
		.session = call->session && call->session->id[0] ? call->session->id : NULL,
		.trace = yyjson_get_str(fw_member(call->meta, "traceparent")),
		.changes = call->offer && call->offer->changes,
		.is_known = call->offer != NULL,
		.call = call,
		.told = told_of(call, err),
		.handling_ns = call->failed_ns ? now - call->failed_ns : 0,
	};
}

char *fw_outcome_arguments(const fw_outcome *outcome, size_t *ret_len)
{
	struct fw_buf text;

	if (!outcome->call->arguments)
		return NULL;
	fw_buf_init(&text, 2 * (size_t)outcome->call->server->limits.message_bytes);
	fw_buf_value(&text, outcome->call->arguments);
	if (text.state != FW_BUF_OK) {
		fw_buf_clear(&text);
		return NULL;
	}
	if (ret_len)
		*ret_len = text.len;
	return text.text;
}

fw_error *fw_mcp_enter(fw_call *call)
{
	fw_server *server = call->server;

	for (size_t i = 0; i < server->observer_count; i++) {
		const fw_observer *observer = &server->observers[i];
		fw_outcome coming;
		fw_error *err;

		if (!observer->entering)
			continue;
		coming = outcome_of(call, NULL);
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
	fw_outcome coming;

	if (!server->observer_count)
		return NULL;
	coming = outcome_of(call, NULL);
	coming.duration_ns = 0;
	coming.told = FW_TOLD_RESULT;
	for (size_t i = 0; i < server->observer_count; i++)
		if (server->observers[i].admitting)
			FW_TRY(server->observers[i].admitting(server->observers[i].ctx,
							      &coming));
	return NULL;
}

static void tell_finished(fw_call *call, const fw_error *err)
{
	fw_server *server = call->server;
	fw_outcome outcome;

	if (!server->observer_count)
		return;
	outcome = outcome_of(call, err);
	for (size_t i = 0; i < server->observer_count; i++)
		if (server->observers[i].finished)
			server->observers[i].finished(server->observers[i].ctx, &outcome);
}

static void finish(fw_call *call)
{
	fw_server *server = call->server;

	fw_call__unref(call);
	if (server->state == FW_DRAINING)
		fw_server__settle(server);
}

static void tell_failing(fw_call *call, fw_error *err)
{
	fw_server *server = call->server;

	for (size_t i = 0; i < server->observer_count; i++) {
		const fw_observer *observer = &server->observers[i];
		fw_outcome outcome;

		if (!observer->failing)
			continue;
		outcome = outcome_of(call, err);
		observer->failing(observer->ctx, &outcome, err);
	}
}

/* What the raiser did not know. */
static void complete_error(fw_call *call, fw_error *err)
{
	fw_server *server = call->server;
	fw_scope scope = {
		.role = server->role,
		.workspace_root = server->workspace_root,
	};
	yyjson_val *trace = fw_member(call->meta, "traceparent");
	char id[FW_INCIDENT_ID_SIZE];
	int64_t now = fw_now_unix_ms();

	tell_failing(call, err);
	if (call->kind == FW_CALL_TOOL) {
		scope.tool = call->name;
		if (call->offer)
			scope.operation = call->offer->operation;
	}
	if (call->session) {
		scope.session_id = call->session->id[0] ? call->session->id : NULL;
		scope.client = call->session->client;
	} else {
		yyjson_val *info = fw_member(call->meta, "io.modelcontextprotocol/clientInfo");

		scope.client = yyjson_get_str(fw_member(info, "name"));
	}
	if (server->has_own_sessions)
		scope.session_id = server->session_id;
	scope.trace_id = yyjson_get_str(trace);
	fw_error_fill_scope(err, &scope);
	if (!fw_error_timestamp(err))
		fw_error_set_time(err, now);
	if (!fw_error_incident_id(err)) {
		fw_incident_id(now, id);
		fw__error_set_own(err, FW_SLOT_INCIDENT_ID, id, strlen(id));
	}
	if (call->offer && call->offer->empty_result)
		fw_error_set_empty_result(err, call->offer->empty_result,
					  strlen(call->offer->empty_result));
}

static fw_call *call_of(fw_hold *hold)
{
	return (fw_call *)(void *)((char *)hold - offsetof(fw_call, hold));
}

/* An observer that could not do its part is told in place of the outcome. */
static void tell_instead(fw_call *call, fw_error *instead)
{
	struct fw_hold *hold = &call->hold;

	hold->err = hold->err ? fw_error_caused_by(instead, hold->err) : instead;
	complete_error(call, hold->err);
}

/* Asks the observers from where it stopped; false: one of them holds the reply. */
static bool consult(fw_call *call)
{
	fw_server *server = call->server;
	struct fw_hold *hold = &call->hold;

	while (hold->next < server->observer_count) {
		const fw_observer *observer = &server->observers[hold->next++];
		fw_outcome outcome;

		if (!observer->replying)
			continue;
		outcome = outcome_of(call, hold->err);
		hold->state = FW_HOLD_ASKING;
		if (observer->replying(observer->ctx, &outcome, hold) &&
		    hold->state == FW_HOLD_ASKING) {
			hold->state = FW_HOLD_HELD;
			(void)fw_call__ref(call);
			/* What is refused early is not: its connection may end, and
			 * the server stop, before it is let go. */
			if (!call->is_listed)
				fw_call_enlist(call);
			return false;
		}
		hold->state = FW_HOLD_FREE;
		if (hold->instead) {
			fw_error *instead = hold->instead;

			hold->instead = NULL;
			tell_instead(call, instead);
		}
	}
	return true;
}

static void put_error(fw_call *call, const fw_error *err)
{
	struct fw_buf *out = &call->server->out;

	fw_buf_reset(out, KEEP_OUT_BYTES);
	if (is_page(call))
		encode(call->server, err, FW_OWLCLAW_API, out);
	else if (is_tool_failure(call, err))
		put_tool_failure(call, err, out);
	else
		put_protocol_error(call, err, out);
	/* An error too large for a reply is told without its context. */
	if (out->state != FW_BUF_OK) {
		fw_buf_reset(out, KEEP_OUT_BYTES);
		put_start(call, out);
		FW_BUF(out, "\"error\":{\"code\":-32603,\"message\":\"out of memory\"}}");
	}
}

/* The reply of a success waits in the call: others are written meanwhile. */
static void set_aside(fw_call *call)
{
	fw_server *server = call->server;

	call->hold.out = server->out;
	fw_buf_init(&server->out, call->hold.out.max);
}

/* All observers have had their say. */
static void depart(fw_call *call)
{
	fw_error *err = call->hold.err;

	call->hold.err = NULL;
	if (err && !call->is_silent)
		put_error(call, err);
	leave(call, err);
	tell_finished(call, err);
	fw_error_free(err);
	finish(call);
}

/* The loop's thread; a release that comes after all is over does nothing. */
void fw_hold_end(struct fw_hold *hold, fw_error *err)
{
	fw_call *call = call_of(hold);
	fw_server *server = call->server;

	if (hold->state == FW_HOLD_ASKING) {
		hold->state = FW_HOLD_FREE;
		hold->instead = err;
		return;
	}
	if (hold->state != FW_HOLD_HELD || call->is_answered) {
		fw_error_free(err);
		fw_call__unref(call);
		return;
	}
	hold->state = FW_HOLD_FREE;
	/* The reply of a success was set aside. */
	if (hold->out.text) {
		fw_buf_clear(&server->out);
		server->out = hold->out;
		memset(&hold->out, 0, sizeof hold->out);
	}
	if (err)
		tell_instead(call, err);
	if (consult(call))
		depart(call);
	else if (!hold->err)
		set_aside(call);
	fw_call__unref(call);
}

/* The server stops and cannot wait. The hold keeps its reference until its
 * holder lets go. */
void fw_hold_abandon(fw_hold *hold)
{
	fw_call *call = call_of(hold);

	hold->state = FW_HOLD_FREE;
	fw_buf_clear(&hold->out);
	tell_instead(call,
		     fw_raise_audit_log_failed("the server stopped before it was written"));
	depart(call);
}

void fw_hold_release(fw_hold *hold, fw_error *err)
{
	fw_call *call = call_of(hold);
	fw_server *server = call->server;

	if (fw_call_is_on_loop(call)) {
		fw_hold_end(hold, err);
		return;
	}
	uv_mutex_lock(&server->lock);
	hold->instead = err;
	hold->next_released = server->released;
	server->released = hold;
	if (!server->is_deaf)
		(void)uv_async_send(&server->wakeup);
	uv_mutex_unlock(&server->lock);
}

void fw_mcp_fail(fw_call *call, fw_error *err)
{
	bool was_running;

	/* A reply that is held has its outcome. */
	if (call->is_answered || call->hold.state == FW_HOLD_HELD) {
		fw_error_free(err);
		return;
	}
	call->failed_ns = uv_hrtime();
	/* A handler at work on it learns that nobody waits; its run keeps the call. */
	was_running = call->is_running;
	if (was_running)
		atomic_store(&call->cancelled, true);
	complete_error(call, err);
	call->hold.err = err;
	call->hold.next = 0;
	if (consult(call))
		depart(call);
	if (was_running)
		fw_call_abandon(call);
}

/* ---- success --------------------------------------------------------------------------- */

struct fw_buf *fw_mcp_begin(fw_call *call)
{
	struct fw_buf *out = &call->server->out;

	fw_buf_reset(out, KEEP_OUT_BYTES);
	FW_BUF(out, "{\"jsonrpc\":\"2.0\",\"id\":");
	fw_buf_put(out, call->id, call->id_len);
	FW_BUF(out, ",\"result\":{");
	return out;
}

void fw_mcp_end(fw_call *call, struct fw_buf *out)
{
	if (call->is_modern) {
		if (out->len && out->text[out->len - 1] != '{')
			FW_BUF(out, ",");
		fw_buf_put(out, call->server->modern_tail, call->server->modern_tail_len);
	}
	FW_BUF(out, "}}");
}

void fw_mcp_reply(fw_call *call)
{
	struct fw_buf *out = &call->server->out;

	if (call->is_answered || call->hold.state == FW_HOLD_HELD)
		return;
	if (out->state != FW_BUF_OK) {
		fw_mcp_fail(call, out->state == FW_BUF_TOO_LARGE
					  ? fw_raise_tool_result_too_large(
						    call->server->limits.result_bytes)
					  : fw_raise_internal_out_of_memory());
		return;
	}
	call->hold.next = 0;
	if (consult(call))
		depart(call);
	else if (!call->hold.err)
		set_aside(call);
}

void fw_mcp_reply_empty(fw_call *call)
{
	fw_mcp_end(call, fw_mcp_begin(call));
	fw_mcp_reply(call);
}

void fw_mcp_accept(fw_call *call)
{
	static const struct fw_reply accepted = { .status = 202 };

	call->is_answered = true;
	if (call->batch) {
		call->server->out.len = 0;
		put_in_batch(call, &call->server->out);
		call->batch = NULL;
	} else if (call->exchange && call->exchange->is_http) {
		call->exchange->ops->reply(call->exchange, &accepted);
	}
	finish(call);
}
