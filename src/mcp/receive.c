/*
 * receive.c - receives a message: text, JSON, JSON-RPC, era, method. A message
 * is parsed once, into memory that its call keeps.
 */
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include <faultwire/raise.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"
#include "mcp/ask.h"
#include "mcp/authority.h"
#include "mcp/batch.h"
#include "mcp/boundary.h"
#include "mcp/call.h"
#include "mcp/era.h"
#include "mcp/lane.h"
#include "mcp/method.h"
#include "mcp/offer.h"
#include "mcp/page.h"
#include "mcp/principal.h"
#include "mcp/relay.h"
#include "mcp/replica.h"
#include "mcp/server.h"
#include "mcp/session.h"
#include "mcp/stream.h"
#include "mcp/transport.h"
#include "rpc/message.h"
#include "rpc/names.h"
#include "rpc/version.h"

/* ---- text to message ---------------------------------------------------------- */

static fw_error *parse(fw_call *call, const char *text, size_t len)
{
	const struct fw_limits *limits = &call->server->limits;
	const struct fw_message_limits most = { .bytes = limits->message_bytes,
						.depth = limits->message_depth,
						.pool = call->pool,
						.pool_bytes = FW_CALL_POOL_BYTES };

	FW_TRY(fw_message_parse(text, len, &most, &call->request.doc));
	/* There is no other way to write a NUL in JSON. */
	call->request.may_hold_nul = memchr(text, '\\', len) && memmem(text, len, "\\u0000", 6);
	call->request.root = yyjson_doc_get_root(call->request.doc);
	return NULL;
}

/* Also after an error: what is valid goes into the reply. */
static fw_error *read_message(fw_call *call, struct fw_message *message)
{
	struct fw_request *request = &call->request;
	fw_error *err = fw_message_read(request->root, message, &request->id);

	request->has_id = request->id.len > 0;
	request->params = message->params;
	request->meta = message->meta;
	request->method_name = message->method;
	if (message->method)
		request->method = fw_method_find(
			(struct fw_text){ message->method, strlen(message->method) });
	if (request->method) {
		request->method_name = request->method->name;
		request->kind = request->method->kind;
	}
	return err;
}

/* ---- what needs no answer ---------------------------------------------------------- */

static bool same_peer(const fw_call *call, const fw_call *other)
{
	if (call->exchange && call->exchange->persistent)
		return other->exchange == call->exchange;
	return call->session && other->session == call->session;
}

static bool same_id(const struct fw_message_id *a, const struct fw_message_id *b)
{
	/* Ids usually count up, so nearly all differ in their last character. */
	return a->len == b->len && a->len > 0 && a->text[a->len - 1] == b->text[a->len - 1] &&
	       memcmp(a->text, b->text, a->len) == 0;
}

static fw_call *find_by_id(const fw_call *call, const struct fw_message_id *id)
{
	for (fw_call *other = call->server->calls.first; other; other = other->next)
		if (other != call && same_id(&other->request.id, id) && same_peer(call, other))
			return other;
	return NULL;
}

static void notified(fw_call *call)
{
	struct fw_message_id id;
	fw_call *target;

	if (strcmp(call->request.method_name, FW_NOTE_INITIALIZED) == 0) {
		if (call->session) {
			call->session->is_initialized = true;
			fw_relay_initialized(call->server);
			if (fw_replica_save(call->session, call))
				return;
		}
	} else if (strcmp(call->request.method_name, FW_NOTE_CANCELLED) == 0) {
		/* Modern HTTP cancels by closing the connection. */
		if (fw_message_read_id(fw_json_member(call->request.params, "requestId"),
				       &id)) {
			target = find_by_id(call, &id);
			if (target && (!target->request.method ||
				       target->request.method->run != fw_method_initialize))
				fw_call_cancel(target);
		}
	} else if (call->server->relay) {
		call->server->relay->ops->notified(call->server->relay, call);
	}
	fw_mcp_accept(call);
}

static void answered(fw_call *call, const struct fw_message *message)
{
	fw_error *err;
	uint64_t id = 0;

	call->request.method_name = "";
	err = fw_era_enter(call);
	if (!err && call->request.is_modern)
		err = fw_raise_protocol_invalid_request(
			"this version has no answers to a server");
	if (err) {
		/* On stdio, a response gets no reply. */
		call->is_silent = !call->exchange->is_http;
		fw_mcp_fail(call, err);
		return;
	}
	if (yyjson_is_raw(message->id))
		id = strtoull(yyjson_get_raw(message->id), NULL, 10);
	fw_ask_answer(call->session, id, call);
	fw_mcp_accept(call);
}

/* ---- a request ------------------------------------------------------------------------ */

static fw_error *check_limits(fw_call *call)
{
	fw_server *server = call->server;

	call->stage = FW_STAGE_LIMITS;
	if (server->state != FW_RUNNING)
		return fw_raise_server_shutting_down();
	if (server->calls.admitted >= server->limits.in_flight) {
		fw_error *err = fw_raise_server_overloaded(server->limits.in_flight, "calls");

		fw_error_set_retry_after(err, 1);
		return err;
	}
	if (server->calls.first && find_by_id(call, &call->request.id))
		return fw_raise_protocol_duplicate_id();
	return fw_lane_enter(call);
}

static fw_error *start(fw_call *call)
{
	const struct fw_method *method = call->request.method;
	yyjson_val *token;
	bool is_relayed;

	FW_TRY(fw_era_enter(call));
	FW_TRY(check_limits(call));
	is_relayed = fw_relay_wants(call);
	if (!is_relayed &&
	    (!method || !(call->request.is_modern ? method->in_modern : method->in_legacy) ||
	     (method->is_offered && !method->is_offered(call->server))))
		return fw_raise_protocol_method_not_found(call->request.method_name);
	token = fw_json_member(call->request.meta, FW_META_PROGRESS);
	if (yyjson_is_str(token) || yyjson_is_raw(token))
		call->request.progress_token = token;
	/* A copy, because the session may end before a handler that asks or logs. */
	if (!call->request.is_modern && call->session) {
		call->request.log_level = (int)call->session->log_level;
		if (call->session->capabilities) {
			call->request.session_capabilities =
				fw_capabilities_ref(call->session->capabilities);
			call->request.capabilities =
				yyjson_doc_get_root(call->request.session_capabilities->doc);
		}
	}
	call->stage = FW_STAGE_METHOD;
	/* Before anything can answer it. */
	fw_call_enlist(call);
	if (is_relayed)
		return fw_relay_enter(call);
	FW_TRY(fw_authority_read(call));
	return fw_relay_puts_off(call) ? NULL : method->run(call);
}

static void receive_message(fw_call *call)
{
	struct fw_message message;
	fw_error *err;

	call->stage = FW_STAGE_PROTOCOL;
	err = read_message(call, &message);
	if (!err && message.kind == FW_MESSAGE_RESPONSE) {
		answered(call, &message);
		return;
	}
	if (!err && !call->request.has_id) {
		err = fw_era_enter(call);
		if (!err) {
			notified(call);
			return;
		}
		call->is_silent = !call->exchange->is_http;
	} else if (!err) {
		err = start(call);
	}
	if (err)
		fw_mcp_fail(call, err);
}

/* ---- batches ---------------------------------------------------------------------------- */

static fw_error *check_batch(fw_call *call)
{
	struct fw_exchange *exchange = call->exchange;
	struct fw_session *session = exchange->session;
	const char *id;
	yyjson_val *item;
	size_t at, count;

	call->stage = FW_STAGE_PROTOCOL;
	if (exchange->is_http) {
		id = exchange->ops->header(exchange, FW_HEADER_SESSION, NULL);
		session = id ? fw_session_of(exchange, id) : NULL;
	}
	if (!session || session->version != FW_V_2025_03_26)
		return fw_raise_protocol_batch_not_allowed(
			session && session->version < FW_V_COUNT
				? fw_version_names[session->version]
				: fw_version_names[FW_V_2026_07_28]);
	if (yyjson_arr_size(call->request.root) == 0)
		return fw_raise_protocol_invalid_request("the batch is empty");
	if (yyjson_arr_size(call->request.root) > call->server->limits.batch_messages)
		return fw_raise_server_overloaded(call->server->limits.batch_messages,
						  "messages in one batch");
	fw_call_join(call, session);
	FW_TRY(fw_lane_check_room(call, yyjson_arr_size(call->request.root)));
	yyjson_arr_foreach(call->request.root, at, count, item)
	{
		if (yyjson_equals_str(fw_json_member(item, "method"), FW_METHOD_INITIALIZE))
			return fw_raise_protocol_invalid_request(
				"initialize cannot be part of a batch");
	}
	return NULL;
}

/* NULL: no memory. */
static fw_call *call_on(struct fw_exchange *exchange)
{
	fw_call *call = fw_call_new(exchange->server);

	if (!call)
		return NULL;
	call->exchange = exchange;
	call->principal = fw_principal_ref((fw_principal *)fw_exchange_principal(exchange));
	return call;
}

/* A member that cannot start still counts as one of the replies. */
static void receive_member(struct fw_batch *batch, struct fw_exchange *exchange,
			   yyjson_val *item)
{
	fw_call *call = call_on(exchange);
	struct fw_buf text;

	if (!call)
		return;
	call->batch = batch;
	batch->pending++;
	fw_buf_init(&text, exchange->server->limits.message_bytes);
	fw_buf_value(&text, item);
	if (text.state == FW_BUF_OK) {
		fw_error *err = parse(call, text.text, text.len);

		if (err)
			fw_mcp_fail(call, err);
		else
			receive_message(call);
	} else {
		fw_mcp_fail(call, fw_raise_internal_out_of_memory());
	}
	fw_buf_clear(&text);
}

static void receive_batch(fw_call *call)
{
	struct fw_exchange *exchange = call->exchange;
	fw_error *err = check_batch(call);
	struct fw_batch *batch = NULL;
	yyjson_val *item;
	size_t at, count;

	if (!err) {
		batch = fw_batch_new(exchange);
		if (!batch)
			err = fw_raise_internal_out_of_memory();
	}
	if (err) {
		fw_mcp_fail(call, err);
		return;
	}
	yyjson_arr_foreach(call->request.root, at, count, item)
	{
		/* The connection may close during a reply. */
		if (batch->exchange)
			receive_member(batch, exchange, item);
	}
	batch->is_open = false;
	fw_batch_settle(batch);
	fw_call__unref(call);
}

/* ---- what transports call ---------------------------------------------------------------- */

void fw_exchange_init(struct fw_exchange *exchange, fw_server *server,
		      const struct fw_exchange_ops *ops, bool is_http)
{
	*exchange = (struct fw_exchange){
		.ops = ops, .server = server, .is_http = is_http, .persistent = !is_http
	};
}

const fw_principal *fw_exchange_principal(const struct fw_exchange *exchange)
{
	if (exchange->principal)
		return exchange->principal;
	return exchange->persistent ? fw_principal_process() : fw_principal_anonymous();
}

static void reply_without_memory(struct fw_exchange *exchange)
{
	static const char text[] = "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32603,"
				   "\"message\":\"out of memory\"}}";
	static const char problem[] = "{\"title\":\"Out of Memory\",\"status\":503,"
				      "\"code\":\"internal.out_of_memory\"}";
	static const struct fw_reply reply = { .status = 503,
					       .json = text,
					       .len = sizeof text - 1 };
	static const struct fw_reply of_page = { .status = 503,
						 .json = problem,
						 .len = sizeof problem - 1,
						 .type = "application/problem+json",
						 .event_name = "error" };

	exchange->ops->reply(exchange, exchange->is_page ? &of_page : &reply);
}

void fw_exchange_receive(struct fw_exchange *exchange, const char *text, size_t len)
{
	fw_call *call = call_on(exchange);
	fw_error *err;

	if (!call) {
		reply_without_memory(exchange);
		return;
	}
	call->stage = FW_STAGE_PARSE;
	err = parse(call, text, len);
	if (err)
		fw_mcp_fail(call, err);
	else if (yyjson_is_arr(call->request.root))
		receive_batch(call);
	else
		receive_message(call);
}

void fw_exchange_refuse(struct fw_exchange *exchange, fw_error *err)
{
	fw_exchange_fail_page(exchange, NULL, err);
}

/* A call that belongs to a page. */
static void join_page(fw_call *call, fw_page *page)
{
	call->page = fw_page_ref(page);
	call->request.contract = page->answer.contract;
	call->request.has_chosen = true;
}

/* As start(), for a request that is not a message. */
static fw_error *start_tool(fw_call *call, const char *text, size_t len)
{
	call->stage = FW_STAGE_PARSE;
	FW_TRY(parse(call, text, len));
	call->request.arguments = call->request.root;
	FW_TRY(check_limits(call));
	call->stage = FW_STAGE_METHOD;
	fw_call_enlist(call);
	return fw_method_call_tool(call);
}

bool fw_exchange_call_tool(struct fw_exchange *exchange, fw_page *page, const char *name,
			   const char *text, size_t len)
{
	fw_call *call = call_on(exchange);
	struct fw_request *request;
	fw_error *err;

	if (!call) {
		reply_without_memory(exchange);
		return false;
	}
	join_page(call, page);
	request = &call->request;
	/* Of the version that has no sessions. */
	request->is_modern = true;
	request->version = FW_V_2026_07_28;
	request->kind = FW_CALL_TOOL;
	request->method = fw_method_find(
		(struct fw_text){ FW_METHOD_TOOLS_CALL, sizeof FW_METHOD_TOOLS_CALL - 1 });
	request->method_name = FW_METHOD_TOOLS_CALL;
	request->name = name;
	request->name_len = strlen(name);
	request->offer = call->server->relay ? &call->server->relay->tool
					     : fw_offers_find(&call->server->offers.tools,
							      request->name, request->name_len);
	err = start_tool(call, text, len);
	if (err)
		fw_mcp_fail(call, err);
	return true;
}

void fw_exchange_fail_page(struct fw_exchange *exchange, fw_page *page, fw_error *err)
{
	fw_call *call = call_on(exchange);

	if (!call) {
		fw_error_free(err);
		reply_without_memory(exchange);
		return;
	}
	call->stage = FW_STAGE_TRANSPORT;
	if (page)
		join_page(call, page);
	if (exchange->is_page)
		call->request.method_name = page ? page->method : "GET";
	fw_mcp_fail(call, err);
}

void fw_exchange_gone(struct fw_exchange *exchange)
{
	struct fw_session *session = exchange->streaming;

	if (session) {
		if (session->get.exchange == exchange)
			session->get.exchange = NULL;
		for (struct fw_stream *stream = session->streams; stream; stream = stream->next)
			if (stream->exchange == exchange)
				stream->exchange = NULL;
		exchange->streaming = NULL;
	}
	fw_takeover_leave(exchange->takeover);
	exchange->takeover = NULL;
	if (exchange->page)
		fw_page_lose(exchange->page);
	while (exchange->batches)
		fw_batch_detach(exchange->batches);
	while (exchange->calls) {
		fw_call *call = exchange->calls;
		bool is_modern = call->request.is_modern || exchange->persistent;
		bool goes_on = call->page && call->page->outlives_client;

		fw_call_detach(call);
		if (is_modern && !goes_on)
			fw_call_cancel(call);
	}
	if (exchange->persistent && exchange->session) {
		fw_session_free(exchange->session);
		exchange->session = NULL;
	}
}

bool fw_exchange_is_busy(const struct fw_exchange *exchange)
{
	return exchange->calls || exchange->batches || exchange->streaming || exchange->page ||
	       exchange->takeover;
}
