/*
 * ask.c - questions of a handler to the client, in both eras.
 *
 * Both eras use one model: the handler runs from its start with all answers so far. In
 * the modern era the questions are the result of the call, and the client calls again
 * with answers and a signed state; in the legacy era they are our requests, and the call
 * waits.
 */
#include <stdio.h>
#include <string.h>

#include <yyjson.h>

#include <faultwire/raise.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/utf8.h"
#include "mcp/ask.h"
#include "mcp/boundary.h"
#include "mcp/call.h"
#include "mcp/op.h"
#include "mcp/relay.h"
#include "mcp/request_state.h"
#include "mcp/result.h"
#include "mcp/run.h"
#include "mcp/server.h"
#include "mcp/session.h"
#include "rpc/names.h"

static const struct {
	const char *method;
	const char *capability;
	const char *required; /* the value of requiredCapabilities */
} kinds[] = {
	{ FW_METHOD_ELICIT, "elicitation", "{\"elicitation\":{\"form\":{}}}" },
	{ FW_METHOD_SAMPLE, "sampling", "{\"sampling\":{}}" },
	{ FW_METHOD_ROOTS, "roots", "{\"roots\":{}}" },
};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* The key is a C string of the handler. */
static struct fw_text text_of(const char *key)
{
	return (struct fw_text){ key, strlen(key) };
}

static struct fw_question *find(const fw_call *call, struct fw_text key)
{
	for (size_t i = 0; i < call->questions.count; i++)
		if (fw_text_is(key, call->questions.items[i].key))
			return &call->questions.items[i];
	return NULL;
}

/* NULL: too many, out of memory, or a key that no question can have. */
static struct fw_question *add(fw_call *call, struct fw_text key)
{
	struct fw_question *question = find(call, key);

	if (question)
		return question;
	if (call->questions.count >= call->server->limits.questions ||
	    key.n >= sizeof question->key || !fw_text_str(key))
		return NULL;
	if (!call->questions.items) {
		size_t size = call->server->limits.questions * sizeof *call->questions.items;

		call->questions.items = fw__allocate(size);
		if (!call->questions.items)
			return NULL;
		memset(call->questions.items, 0, size);
	}
	question = &call->questions.items[call->questions.count++];
	memcpy(question->key, key.p, key.n);
	return question;
}

/* Raises input.too_large, internal.out_of_memory: there is no answer then. */
static fw_error *set_answer(const fw_call *call, struct fw_question *question,
			    yyjson_val *value)
{
	const uint64_t most = call->server->limits.answer_bytes;
	struct fw_buf text;

	fw__release(question->answer);
	yyjson_doc_free(question->parsed);
	question->answer = NULL;
	question->parsed = NULL;
	fw_buf_init(&text, most);
	fw_buf_value(&text, value);
	if (text.state != FW_BUF_OK) {
		bool is_large = text.state == FW_BUF_TOO_LARGE;

		fw_buf_clear(&text);
		return is_large ? fw_raise_input_too_large("answer", most)
				: fw_raise_internal_out_of_memory();
	}
	question->answer = text.text;
	question->answer_len = text.len;
	/* Here and below the depth was checked with the message. */
	question->parsed =
		fw_json_read(text.text, text.len, (struct fw_json_limits){ .bytes = most },
			     YYJSON_READ_NUMBER_AS_RAW, NULL, NULL);
	if (question->parsed)
		return NULL;
	fw__release(question->answer);
	question->answer = NULL;
	return fw_raise_internal_out_of_memory();
}

fw_error *fw_ask_set_text(const fw_call *call, struct fw_question *question, const char *json,
			  size_t len)
{
	const struct fw_json_limits limits = { .bytes = call->server->limits.answer_bytes };
	yyjson_doc *doc =
		fw_json_read(json, len, limits, YYJSON_READ_NUMBER_AS_RAW, NULL, NULL);
	fw_error *err = doc ? set_answer(call, question, yyjson_doc_get_root(doc))
			    : fw_raise_internal_unexpected("an answer of the server");

	yyjson_doc_free(doc);
	return err;
}

void fw_ask_restore(fw_call *call, struct fw_text key, yyjson_val *answer)
{
	struct fw_question *question = add(call, key);

	/* The signed answers fit, unless memory is short: then the question is asked again. */
	if (question)
		fw_error_free(set_answer(call, question, answer));
}

void fw_ask_restore_text(fw_call *call, const char *key, const char *json, size_t len)
{
	const struct fw_json_limits limits = { .bytes = call->server->limits.answer_bytes };
	yyjson_doc *doc =
		fw_json_read(json, len, limits, YYJSON_READ_NUMBER_AS_RAW, NULL, NULL);

	if (doc)
		fw_ask_restore(call, text_of(key), yyjson_doc_get_root(doc));
	yyjson_doc_free(doc);
}

void fw_ask_clear(fw_call *call)
{
	for (size_t i = 0; i < call->questions.count; i++) {
		struct fw_question *question = &call->questions.items[i];

		fw__release(question->method);
		fw__release(question->params);
		fw__release(question->answer);
		yyjson_doc_free(question->parsed);
	}
	fw__release(call->questions.items);
	fw__release(call->questions.missing_capability);
	call->questions.items = NULL;
	call->questions.missing_capability = NULL;
	call->questions.count = 0;
}

/* ---- the handler's side --------------------------------------------------------- */

const struct fw_question *fw_ask_find(const fw_call *call, const char *key)
{
	return find(call, text_of(key));
}

const char *fw_ask_answered(const fw_call *call, const char *key)
{
	const struct fw_question *question = find(call, text_of(key));

	return question ? question->answer : NULL;
}

static void refuse(fw_call *call, fw_error *err)
{
	if (call->result.fault)
		fw_error_free(err);
	else
		call->result.fault = err;
}

static void lacks(fw_call *call, const char *required)
{
	if (!call->questions.missing_capability)
		call->questions.missing_capability = fw_strdup(required);
	if (!call->questions.missing_capability)
		refuse(call, fw_raise_internal_out_of_memory());
}

/* Params become part of our message: one object, compact. */
static char *compact(const fw_call *call, const struct fw_op_text *json)
{
	const struct fw_limits *limits = &call->server->limits;
	struct fw_buf out;
	yyjson_doc *doc;

	doc = fw_json_read(json->text, json->len,
			   (struct fw_json_limits){ .bytes = limits->message_bytes,
						    .depth = (unsigned)limits->message_depth },
			   YYJSON_READ_NUMBER_AS_RAW, NULL, NULL);
	fw_buf_init(&out, limits->message_bytes);
	if (yyjson_is_obj(yyjson_doc_get_root(doc)))
		fw_buf_value(&out, yyjson_doc_get_root(doc));
	yyjson_doc_free(doc);
	if (out.state != FW_BUF_OK)
		fw_buf_clear(&out);
	return out.text;
}

static bool is_key(const struct fw_op_text *key)
{
	return key->text && strlen(key->text) == key->len &&
	       fw_utf8_valid(key->text, key->len) == key->len;
}

/* Which of `kinds` it is, KINDS if the server answers it, or -1. */
static int kind_of(const fw_call *call, const char *method, struct fw_text key)
{
	for (int i = 0; method && i < KINDS; i++)
		if (strcmp(kinds[i].method, method) == 0)
			return fw_ask_is_host_key(key) ? -1 : i;
	return method && fw_ask_answering(call, method) && fw_ask_is_host_key(key) ? KINDS : -1;
}

void fw_ask_apply(fw_call *call, const struct fw_op *op)
{
	const struct fw_text key = { op->texts[0].text, op->texts[0].len };
	bool is_named = is_key(&op->texts[0]);
	int kind = is_named ? kind_of(call, op->texts[1].text, key) : -1;
	struct fw_question *question;
	char *params = NULL;

	if (op->texts[2].text)
		params = compact(call, &op->texts[2]);
	if (kind < 0 || (op->texts[2].text && !params)) {
		fw__release(params);
		refuse(call, fw_raise_internal_api_misuse(
				     "fw_call_ask", kind >= 0 ? "params are no JSON object"
							      : "no such question"));
		return;
	}
	if (kind < KINDS && !fw_call_client_can(call, kinds[kind].capability)) {
		lacks(call, kinds[kind].required);
		fw__release(params);
		return;
	}
	question = add(call, key);
	if (question && !question->method) {
		question->is_host = kind == KINDS;
		question->method = fw_strdup(op->texts[1].text);
		if (question->method) {
			question->params = params;
			return;
		}
		refuse(call, fw_raise_internal_out_of_memory());
	}
	fw__release(params);
	if (!question)
		refuse(call, fw_raise_server_overloaded(call->server->limits.questions,
							"questions of one call"));
}

const char *fw_call_answer(fw_call *call, const char *key, const char *pointer)
{
	struct fw_question *question = find(call, text_of(key));
	yyjson_val *value;

	if (!question || !question->parsed)
		return NULL;
	value = yyjson_ptr_get(yyjson_doc_get_root(question->parsed), pointer);
	return fw_text_str(fw_text_of(value));
}

bool fw_ask_is_open(const fw_call *call)
{
	if (call->questions.missing_capability)
		return true;
	for (size_t i = 0; i < call->questions.count; i++)
		if (call->questions.items[i].method && !call->questions.items[i].answer)
			return true;
	return false;
}

/* ---- modern ----------------------------------------------------------------------- */

/* Reads our state and the client's answers from the request. An answer that is not an
 * object is ignored, so the question is asked again. */
fw_error *fw_ask_read(fw_call *call)
{
	yyjson_val *answers;
	yyjson_val *state;
	yyjson_obj_iter iter;
	yyjson_val *key;

	if (!call->request.is_modern)
		return NULL;
	answers = fw_json_member(call->request.params, "inputResponses");
	state = fw_json_member(call->request.params, "requestState");
	if (answers && !yyjson_is_obj(answers))
		return fw_raise_protocol_invalid_params("/params/inputResponses", "an object");
	/* Questions are sent with a state; answers without one do not belong to any
	 * question of this server. */
	if (answers && !state)
		return fw_raise_protocol_invalid_params(
			"/params/requestState", "the state that came with the questions");
	if (state) {
		if (!yyjson_is_str(state))
			return fw_raise_protocol_state_tampered();
		FW_TRY(fw_request_state_read(call, fw_text_of(state)));
	}
	iter = yyjson_obj_iter_with(answers);
	while ((key = yyjson_obj_iter_next(&iter))) {
		yyjson_val *value = yyjson_obj_iter_get_val(key);
		struct fw_question *question;

		if (!yyjson_is_obj(value) || fw_ask_is_host_key(fw_text_of(key)))
			continue;
		question = add(call, fw_text_of(key));
		if (question)
			FW_TRY(set_answer(call, question, value));
	}
	return NULL;
}

static void put_question(const struct fw_question *question, struct fw_buf *out)
{
	FW_BUF(out, "\"method\":\"");
	fw_buf_str(out, question->method);
	FW_BUF(out, "\",\"params\":");
	fw_buf_str(out, question->params ? question->params : "{}");
}

static fw_error *ask_modern(fw_call *call)
{
	struct fw_buf *out = fw_mcp_begin(call);
	bool is_first = true;

	FW_BUF(out, "\"resultType\":\"input_required\",\"inputRequests\":{");
	for (size_t i = 0; i < call->questions.count; i++) {
		const struct fw_question *question = &call->questions.items[i];

		if (!question->method || question->answer)
			continue;
		if (!is_first)
			FW_BUF(out, ",");
		is_first = false;
		fw_buf_json_str(out, question->key);
		FW_BUF(out, ":{");
		put_question(question, out);
		FW_BUF(out, "}");
	}
	FW_BUF(out, "},\"requestState\":\"");
	FW_TRY(fw_request_state_write(call, out));
	FW_BUF(out, "\",");
	fw_buf_str(out, call->server->identity.modern_meta);
	FW_BUF(out, "}}");
	fw_mcp_reply(call);
	return NULL;
}

/* ---- legacy ----------------------------------------------------------------------- */

/* Count a question only if it was sent: otherwise no answer would ever come. */
static fw_error *ask_one(fw_call *call, size_t index)
{
	struct fw_session *session = call->session;
	struct fw_question *question = &call->questions.items[index];
	struct fw_pending *pending = fw__allocate(sizeof *pending);
	struct fw_buf out;
	fw_error *err = NULL;

	if (!pending)
		return fw_raise_internal_out_of_memory();
	fw_buf_init(&out, call->server->limits.message_bytes);
	FW_BUF(&out, "{\"jsonrpc\":\"2.0\",\"id\":");
	fw_buf_i64(&out, (int64_t)session->last_id + 1);
	FW_BUF(&out, ",");
	put_question(question, &out);
	FW_BUF(&out, "}");
	if (out.state == FW_BUF_OK) {
		*pending = (struct fw_pending){ .next = session->pending,
						.id = ++session->last_id,
						.call = call,
						.question = index };
		session->pending = pending;
		question->is_sent = true;
		call->questions.outstanding++;
		fw_call_send(call, out.text, out.len);
	} else {
		fw__release(pending);
		err = out.state == FW_BUF_TOO_LARGE
			      ? fw_raise_input_too_large("question", out.max)
			      : fw_raise_internal_out_of_memory();
	}
	fw_buf_clear(&out);
	return err;
}

bool fw_ask_session(struct fw_session *session, fw_call *call, const char *method,
		    const char *params, size_t params_len, void *asker)
{
	struct fw_pending *pending = fw__allocate(sizeof *pending);
	struct fw_buf out;
	bool is_sent;

	if (!pending)
		return false;
	*pending = (struct fw_pending){ .next = session->pending,
					.id = ++session->last_id,
					.asker = asker };
	fw_buf_init(&out, session->server->limits.message_bytes);
	FW_BUF(&out, "{\"jsonrpc\":\"2.0\",\"id\":");
	fw_buf_i64(&out, (int64_t)pending->id);
	FW_BUF(&out, ",\"method\":");
	fw_buf_json_str(&out, method);
	if (params_len) {
		FW_BUF(&out, ",\"params\":");
		fw_buf_put(&out, params, params_len);
	}
	FW_BUF(&out, "}");
	is_sent = out.state == FW_BUF_OK;
	if (is_sent)
		session->pending = pending;
	else
		fw__release(pending);
	if (is_sent && call)
		fw_call_send(call, out.text, out.len);
	else if (is_sent)
		fw_session_send(session, out.text, out.len);
	fw_buf_clear(&out);
	return is_sent;
}

void fw_ask_withdraw(fw_call *call, const void *asker, const char *reason)
{
	struct fw_pending **at = &call->session->pending;
	struct fw_pending *pending;
	struct fw_buf out;

	while (*at && (*at)->asker != asker)
		at = &(*at)->next;
	pending = *at;
	if (!pending)
		return;
	*at = pending->next;
	fw_buf_init(&out, FW_LIMIT_TEXT_BYTES);
	FW_BUF(&out, "{\"jsonrpc\":\"2.0\",\"method\":\"" FW_NOTE_CANCELLED
		     "\",\"params\":{\"requestId\":");
	fw_buf_i64(&out, (int64_t)pending->id);
	FW_BUF(&out, ",\"reason\":");
	fw_buf_json_str(&out, reason);
	FW_BUF(&out, "}}");
	if (out.state == FW_BUF_OK)
		fw_call_send(call, out.text, out.len);
	fw_buf_clear(&out);
	fw__release(pending);
}

void fw_ask_end(struct fw_session *session)
{
	while (session->pending) {
		struct fw_pending *pending = session->pending;

		session->pending = pending->next;
		if (pending->asker)
			fw_relay_answered(session->server, pending->asker, NULL);
		fw__release(pending);
	}
}

static fw_error *ask_legacy(fw_call *call)
{
	if (!call->session)
		return fw_raise_session_missing();
	if (call->session->is_ended)
		return fw_raise_session_ended();
	for (size_t i = 0; i < call->questions.count; i++) {
		const struct fw_question *question = &call->questions.items[i];

		if (question->method && !question->answer && !question->is_sent)
			FW_TRY(ask_one(call, i));
	}
	return NULL;
}

fw_error *fw_ask_send(fw_call *call)
{
	if (call->result.fault) {
		fw_error *err = call->result.fault;

		call->result.fault = NULL;
		return err;
	}
	if (fw_ask_send_host(call))
		return NULL;
	if (call->questions.missing_capability)
		return fw_raise_protocol_missing_capability(call->questions.missing_capability);
	if (++call->questions.round > call->server->limits.rounds)
		return fw_raise_server_overloaded(call->server->limits.rounds,
						  "rounds of questions");
	fw_call_forget_result(call);
	return call->request.is_modern ? ask_modern(call) : ask_legacy(call);
}

/* The call is over, so its questions are obsolete. */
void fw_ask_forget(fw_call *call)
{
	struct fw_pending **at;

	if (!call->session)
		return;
	at = &call->session->pending;
	while (*at) {
		struct fw_pending *pending = *at;

		if (pending->call == call) {
			*at = pending->next;
			fw__release(pending);
		} else {
			at = &pending->next;
		}
	}
}

static fw_error *refused(const struct fw_question *question, yyjson_val *error)
{
	char reason[512];
	const char *text = fw_text_str(fw_text_of(fw_json_member(error, "message")));

	(void)snprintf(reason, sizeof reason, "client refused %s: %s", question->method,
		       text ? text : "no reason given");
	return fw_raise_tool_failed(reason);
}

/* A relay passes the refusal on: the other server may be able to do without. */
static fw_error *keep_refusal(const fw_call *call, struct fw_question *question,
			      yyjson_val *error)
{
	if (!call->relayed.job || !yyjson_is_obj(error))
		return refused(question, error);
	question->is_refused = true;
	return set_answer(call, question, error);
}

void fw_ask_answer(struct fw_session *session, uint64_t id, const fw_call *message)
{
	struct fw_pending **at = &session->pending;
	struct fw_pending *pending;
	struct fw_question *question;
	yyjson_val *result = fw_json_member(message->request.root, "result");
	fw_error *err;
	fw_call *call;

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	pending = *at;
	if (!pending)
		return;
	*at = pending->next;
	call = pending->call;
	if (!call) {
		fw_relay_answered(session->server, pending->asker, message);
		fw__release(pending);
		return;
	}
	question = &call->questions.items[pending->question];
	fw__release(pending);
	call->questions.outstanding--;
	if (yyjson_is_obj(result))
		err = set_answer(call, question, result);
	else
		err = keep_refusal(call, question,
				   fw_json_member(message->request.root, "error"));
	if (err)
		fw_mcp_fail(call, err);
	else if (!call->questions.outstanding)
		fw_call_start(call);
}
