/*
 * receive.c - a message comes in: text, JSON, JSON-RPC, era, method.
 *
 * A message is parsed once, into memory that its call keeps. Numbers stay
 * text: an id of 9007199254740993 is not ...992, and the schema checker reads
 * text as well.
 */
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include <faultwire/raise.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/utf8.h"
#include "mcp/ask.h"
#include "mcp/batch.h"
#include "mcp/boundary.h"
#include "mcp/call.h"
#include "mcp/era.h"
#include "mcp/lane.h"
#include "mcp/method.h"
#include "mcp/server.h"
#include "mcp/session.h"
#include "mcp/stream.h"
#include "mcp/transport.h"
#include "mcp/util.h"
#include "rpc/version.h"

/* What fits the pool of a call; longer messages get memory of their own. */
enum { POOLED_BYTES = 2048 };

static const yyjson_read_flag read_flags = YYJSON_READ_NUMBER_AS_RAW;

/* ---- text to JSON ------------------------------------------------------------- */

static fw_error *parse(fw_call *call, const char *text, size_t len)
{
	const struct fw_limits *limits = &call->server->limits;
	yyjson_read_err fault = { 0 };
	yyjson_alc pool;

	if (len > limits->message_bytes)
		return fw_raise_input_too_large("message", limits->message_bytes);
	if (fw_json_is_too_deep(text, len, limits->message_depth))
		return fw_raise_input_too_deep("message", limits->message_depth);
	/* There is no other way to write a NUL in JSON. */
	call->request.may_hold_nul = memchr(text, '\\', len) && memmem(text, len, "\\u0000", 6);
	/* yyjson takes a mutable pointer for its in-place mode only. */
	if (len <= POOLED_BYTES && yyjson_alc_pool_init(&pool, call->pool, FW_CALL_POOL_BYTES))
		call->request.doc =
			yyjson_read_opts((char *)text, len, read_flags, &pool, &fault);
	if (!call->request.doc &&
	    (len > POOLED_BYTES || fault.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION))
		call->request.doc = yyjson_read_opts((char *)text, len, read_flags,
						     &fw__yyjson_alc, &fault);
	if (call->request.doc) {
		call->request.root = yyjson_doc_get_root(call->request.doc);
		return NULL;
	}
	if (fault.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
		return fw_raise_internal_out_of_memory();
	if (fault.code == YYJSON_READ_ERROR_INVALID_STRING) {
		size_t valid = 0;

		/* A NUL is well-formed here, though not in texts of ours. */
		while (valid < len) {
			valid += fw_utf8_valid(text + valid, len - valid);
			if (valid >= len || text[valid] != '\0')
				break;
			valid++;
		}
		if (valid < len)
			return fw_raise_input_invalid_encoding("message", valid);
	}
	return fw_raise_protocol_parse_error(fault.pos, fault.msg ? fault.msg : "empty");
}

/* ---- JSON to JSON-RPC ----------------------------------------------------------- */

struct members {
	yyjson_val *jsonrpc, *id, *method, *params, *result, *error;
};

static void find_members(yyjson_val *root, struct members *m)
{
	yyjson_obj_iter iter = yyjson_obj_iter_with(root);
	yyjson_val *key;

	while ((key = yyjson_obj_iter_next(&iter))) {
		const char *name = fw_text_of(key).p;
		yyjson_val *value = yyjson_obj_iter_get_val(key);

		switch (yyjson_get_len(key)) {
		case 2:
			if (memcmp(name, "id", 2) == 0)
				m->id = value;
			break;
		case 5:
			if (memcmp(name, "error", 5) == 0)
				m->error = value;
			break;
		case 6:
			if (memcmp(name, "method", 6) == 0)
				m->method = value;
			else if (memcmp(name, "params", 6) == 0)
				m->params = value;
			else if (memcmp(name, "result", 6) == 0)
				m->result = value;
			break;
		case 7:
			if (memcmp(name, "jsonrpc", 7) == 0)
				m->jsonrpc = value;
			break;
		default: break;
		}
	}
}

/* The id as JSON text: a number as it came, a string escaped anew. */
static bool id_text(yyjson_val *id, char *buf, size_t cap, size_t *ret_len)
{
	struct fw_buf text;
	bool fits;

	if (yyjson_is_raw(id)) {
		size_t len = yyjson_get_len(id);
		const char *raw = yyjson_get_raw(id);

		if (len > cap)
			return false;
		/* Of a number: no fraction and no exponent. */
		for (size_t i = 0; i < len; i++) {
			if (raw[i] > '9' || raw[i] == '.')
				return false;
			buf[i] = raw[i];
		}
		*ret_len = len;
		return true;
	}
	if (!yyjson_is_str(id))
		return false;
	if (yyjson_get_len(id) > cap)
		return false;
	fw_buf_init(&text, 6 * (size_t)FW_LIMIT_ID_BYTES + 2);
	fw_buf_json(&text, fw_text_of(id).p, yyjson_get_len(id));
	fits = text.state == FW_BUF_OK && text.len <= cap;
	if (fits) {
		memcpy(buf, text.text, text.len);
		*ret_len = text.len;
	}
	fw_buf_clear(&text);
	return fits;
}

static bool is_response(const struct members *m)
{
	return !m->method && m->id && (m->result || m->error);
}

static fw_error *read_shape(fw_call *call, struct members *m)
{
	if (!yyjson_is_obj(call->request.root))
		return fw_raise_protocol_invalid_request("it is not an object");
	find_members(call->request.root, m);
	if (m->id && !is_response(m)) {
		call->request.has_id = id_text(m->id, call->request.id, sizeof call->request.id,
					       &call->request.id_len);
		if (!call->request.has_id)
			return fw_raise_protocol_invalid_request(
				"id must be a string or an integer, and not long");
	}
	if (!m->jsonrpc || !yyjson_equals_str(m->jsonrpc, "2.0"))
		return fw_raise_protocol_invalid_request("jsonrpc must be \"2.0\"");
	if (is_response(m))
		return NULL;
	if (!yyjson_is_str(m->method))
		return fw_raise_protocol_invalid_request("method must be a string");
	call->request.method = fw_method_find(fw_text_of(m->method));
	call->request.method_name = call->request.method ? call->request.method->name
							 : fw_text_str(fw_text_of(m->method));
	if (!call->request.method_name)
		return fw_raise_protocol_invalid_request(
			"method must not contain NUL characters");
	if (call->request.method)
		call->request.kind = call->request.method->kind;
	if (m->params && !yyjson_is_obj(m->params))
		return fw_raise_protocol_invalid_params("/params", "an object");
	call->request.params = m->params;
	call->request.meta = fw_json_member(m->params, "_meta");
	if (call->request.meta && !yyjson_is_obj(call->request.meta))
		return fw_raise_protocol_invalid_params("/params/_meta", "an object");
	return NULL;
}

/* ---- what needs no answer ---------------------------------------------------------- */

static bool same_peer(const fw_call *call, const fw_call *other)
{
	if (call->exchange && call->exchange->persistent)
		return other->exchange == call->exchange;
	return call->session && other->session == call->session;
}

static fw_call *find_by_id(const fw_call *call, const char *id, size_t len)
{
	for (fw_call *other = call->server->calls.first; other; other = other->next)
		if (other != call && other->request.id_len == len &&
		    memcmp(other->request.id, id, len) == 0 && same_peer(call, other))
			return other;
	return NULL;
}

static void notified(fw_call *call)
{
	char id[FW_LIMIT_ID_BYTES];
	size_t len;
	fw_call *target;

	if (strcmp(call->request.method_name, "notifications/initialized") == 0) {
		if (call->session)
			call->session->is_initialized = true;
	} else if (strcmp(call->request.method_name, "notifications/cancelled") == 0) {
		/* Modern HTTP cancels by closing the connection. */
		if (id_text(fw_json_member(call->request.params, "requestId"), id, sizeof id,
			    &len)) {
			target = find_by_id(call, id, len);
			if (target && (!target->request.method ||
				       target->request.method->run != fw_method_initialize))
				fw_call_cancel(target);
		}
	}
	fw_mcp_accept(call);
}

static void answered(fw_call *call, const struct members *m)
{
	fw_error *err;
	uint64_t id = 0;

	call->request.method_name = "";
	err = fw_era_enter(call);
	if (!err && call->request.is_modern)
		err = fw_raise_protocol_invalid_request(
			"this version has no answers to a server");
	if (err) {
		/* Nobody waits for an answer to an answer on a wire. */
		call->is_silent = !call->exchange->is_http;
		fw_mcp_fail(call, err);
		return;
	}
	if (yyjson_is_raw(m->id))
		id = strtoull(yyjson_get_raw(m->id), NULL, 10);
	fw_ask_answer(call->session, id, call->request.root);
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
	if (server->calls.first && find_by_id(call, call->request.id, call->request.id_len))
		return fw_raise_protocol_duplicate_id();
	return fw_lane_enter(call);
}

static fw_error *start(fw_call *call)
{
	const struct fw_method *method = call->request.method;
	yyjson_val *token;

	FW_TRY(fw_era_enter(call));
	FW_TRY(check_limits(call));
	if (!method || !(call->request.is_modern ? method->in_modern : method->in_legacy) ||
	    (method->is_offered && !method->is_offered(call->server)))
		return fw_raise_protocol_method_not_found(call->request.method_name);
	token = fw_json_member(call->request.meta, "progressToken");
	if (yyjson_is_str(token) || yyjson_is_raw(token))
		call->request.progress_token = token;
	/* As it is now: the session may end before a handler that asks or logs. */
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
	/* On the call's own list before anything can answer it. */
	fw_call_enlist(call);
	return method->run(call);
}

static void receive_message(fw_call *call)
{
	struct members m = { 0 };
	fw_error *err;

	call->stage = FW_STAGE_PROTOCOL;
	err = read_shape(call, &m);
	if (!err && is_response(&m)) {
		answered(call, &m);
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
		id = exchange->ops->header(exchange, "Mcp-Session-Id", NULL);
		session = id ? fw_session_find(call->server, id) : NULL;
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
		if (yyjson_equals_str(fw_json_member(item, "method"), "initialize"))
			return fw_raise_protocol_invalid_request(
				"initialize cannot be part of a batch");
	}
	return NULL;
}

/* A member that cannot even begin still counts among the answers. */
static void receive_member(struct fw_batch *batch, struct fw_exchange *exchange,
			   yyjson_val *item)
{
	fw_call *call = fw_call_new(exchange->server);
	struct fw_buf text;

	if (!call)
		return;
	call->exchange = exchange;
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
		/* A connection may break while it is told something. */
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

static void reply_without_memory(struct fw_exchange *exchange)
{
	static const char text[] = "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32603,"
				   "\"message\":\"out of memory\"}}";
	static const struct fw_reply reply = { .status = 503,
					       .json = text,
					       .len = sizeof text - 1 };

	exchange->ops->reply(exchange, &reply);
}

void fw_exchange_receive(struct fw_exchange *exchange, const char *text, size_t len)
{
	fw_call *call = fw_call_new(exchange->server);
	fw_error *err;

	if (!call) {
		reply_without_memory(exchange);
		return;
	}
	call->exchange = exchange;
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
	fw_call *call = fw_call_new(exchange->server);

	if (!call) {
		fw_error_free(err);
		reply_without_memory(exchange);
		return;
	}
	call->exchange = exchange;
	call->stage = FW_STAGE_TRANSPORT;
	if (exchange->is_page)
		call->request.method_name = "GET";
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
	while (exchange->batches)
		fw_batch_detach(exchange->batches);
	while (exchange->calls) {
		fw_call *call = exchange->calls;
		bool is_modern = call->request.is_modern || exchange->persistent;

		fw_call_detach(call);
		if (is_modern)
			fw_call_cancel(call);
	}
	if (exchange->persistent && exchange->session) {
		fw_session_free(exchange->session);
		exchange->session = NULL;
	}
}

bool fw_exchange_is_busy(const struct fw_exchange *exchange)
{
	return exchange->calls || exchange->batches || exchange->streaming;
}
