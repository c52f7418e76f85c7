/*
 * question.c - see question.h.
 *
 * The deadline of a call is paused while a person answers. A question may take as long as
 * a requestState is valid, and the rest of the call's time runs from the answer.
 */
#include "gate/question.h"

#include <stdio.h>
#include <string.h>

#include <yyjson.h>

#include <faultwire/raise.h>

#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "gate/gate_impl.h"
#include "mcp/ask.h"
#include "mcp/call.h"
#include "mcp/server.h"
#include "mcp/session.h"
#include "rpc/names.h"

/* A question for a legacy client. */
struct fw_asker {
	struct fw_asker *next; /* of the job */
	struct fw_upstream *upstream;
	struct fw_job *job; /* NULL: it belongs to no call */
	uint64_t connect;   /* the connection that it came by */
	struct fw_buf id;
	char method[64];
	struct fw_buf params;
};

enum { ASKERS_MOST = 16 };

static const struct fw_slice none = { NULL, 0 };

static void asker_free(struct fw_asker *asker)
{
	fw_buf_clear(&asker->id);
	fw_buf_clear(&asker->params);
	fw__release(asker);
}

/* NULL: no memory, or it is too large. */
static struct fw_asker *asker_new(struct fw_upstream *upstream, const struct fw_scan *message)
{
	static const struct fw_slice empty = { "{}", 2 };
	const struct fw_slice params = message->params.p ? message->params : empty;
	struct fw_asker *asker = fw__allocate(sizeof *asker);

	if (!asker)
		return NULL;
	*asker = (struct fw_asker){ .upstream = upstream };
	fw_buf_init(&asker->id, FW_LIMIT_ID_BYTES);
	fw_buf_put(&asker->id, message->id.p, message->id.n);
	fw_buf_init(&asker->params, upstream->gate->relay.server->limits.message_bytes);
	fw_buf_put(&asker->params, params.p, params.n);
	asker->connect = fw_remote_counts(upstream->remote)->connects;
	(void)fw_slice_text(message->method, asker->method, sizeof asker->method);
	if (asker->id.state == FW_BUF_OK && asker->params.state == FW_BUF_OK)
		return asker;
	asker_free(asker);
	return NULL;
}

static const char *capability_of(struct fw_slice method)
{
	if (fw_slice_equals(method, FW_METHOD_ELICIT))
		return "elicitation";
	if (fw_slice_equals(method, FW_METHOD_SAMPLE))
		return "sampling";
	return fw_slice_equals(method, FW_METHOD_ROOTS) ? "roots" : NULL;
}

static uint64_t now_of(const struct fw_job *job)
{
	return uv_now(&job->gate->loop->uv);
}

/* ---- time -------------------------------------------------------------------------- */

static void pause_deadline(struct fw_job *job)
{
	if (job->asked_ms)
		return;
	job->asked_ms = now_of(job);
	fw_remote_set_deadline(job->upstream->remote, job->key,
			       (uint32_t)job->gate->relay.server->limits.state_ms);
}

static void continue_deadline(struct fw_job *job)
{
	uint64_t now = now_of(job);

	if (job->due_ms && job->asked_ms)
		job->due_ms += now - job->asked_ms;
	job->asked_ms = 0;
	fw_remote_set_deadline(job->upstream->remote, job->key,
			       !job->due_ms        ? 0
			       : job->due_ms > now ? (uint32_t)(job->due_ms - now)
						   : 1);
}

/* ---- refusing ------------------------------------------------------------------------ */

void fw_question__refuse(struct fw_upstream *upstream, struct fw_slice id, const char *reason)
{
	char text[256];

	(void)snprintf(text, sizeof text, "{\"code\":-32601,\"message\":\"%s\"}", reason);
	fw_remote_answer(upstream->remote, id, none, (struct fw_slice){ text, strlen(text) });
}

/* `job` may be NULL. */
static void refuse(struct fw_upstream *upstream, struct fw_job *job,
		   const struct fw_scan *message, const char *reason)
{
	if (job && !job->refused) {
		char method[64];

		(void)fw_slice_text(message->method, method, sizeof method);
		job->refused = fw_strdup(method);
	}
	fw_question__refuse(upstream, message->id, reason);
}

fw_error *fw_question_blame(const struct fw_job *job, fw_error *err)
{
	fw_error *blamed;

	if (!job->refused)
		return err;
	blamed = fw_raise_upstream_not_bridged(job->upstream->entry->target.name, job->refused);
	fw_error_set_delivery(blamed, FW_REPLIED);
	return fw_error_caused_by(blamed, err);
}

static void fail_not_bridged(struct fw_job *job, const char *what)
{
	fw_error *err = fw_raise_upstream_not_bridged(job->upstream->entry->target.name, what);

	fw_error_set_delivery(err, FW_REPLIED);
	fw_job_fail(job, err);
}

void fw_question_stop(struct fw_gate *gate)
{
	while (gate->askers) {
		struct fw_asker *asker = gate->askers;

		gate->askers = asker->next;
		asker_free(asker);
	}
	fw_question__end_parked(gate);
}

/* The answer goes nowhere. */
static void withdraw(struct fw_asker *asker, const char *reason)
{
	struct fw_job *job = asker->job;
	struct fw_asker **at = &job->askers;

	while (*at != asker)
		at = &(*at)->next;
	*at = asker->next;
	job->asker_count--;
	fw_ask_withdraw(job->call, asker, reason);
	asker_free(asker);
}

void fw_question_clear(struct fw_job *job)
{
	while (job->askers)
		withdraw(job->askers, "the call that asked is over");
	if (job->parking)
		fw_question__unpark(job);
	fw__release(job->refused);
	fw_buf_clear(&job->state);
	fw_buf_clear(&job->question_id);
}

/* ---- a legacy upstream asks ------------------------------------------------------------ */

/* If both calls are of one client, it does not matter which of them the question belongs to. */
static bool is_same_client(const fw_call *one, const fw_call *other)
{
	if (one->session || other->session)
		return one->session == other->session;
	return fw_principal_proof(one->principal) != FW_PROOF_NONE &&
	       strcmp(fw_principal_name(one->principal), fw_principal_name(other->principal)) ==
		       0;
}

bool fw_question_is_certain(const struct fw_upstream *upstream, const struct fw_job *job)
{
	for (const struct fw_job *at = upstream->jobs; at; at = at->next)
		if (at != job && at->call && !at->askers &&
		    !is_same_client(at->call, job->call))
			return false;
	return fw_upstream_is_left_to(upstream, fw_upstream_client(job->call));
}

/* Why the client of the job cannot be asked. NULL: it can be. */
static const char *obstacle(const struct fw_upstream *upstream, uint64_t key,
			    const struct fw_job *job, const struct fw_scan *message)
{
	const char *capability = capability_of(message->method);

	if (!capability)
		return "the gateway does not pass this request on";
	if (!job || !job->call || fw_call_is_over(job->call))
		return "no call is in progress, so the gateway cannot tell whose client is "
		       "meant";
	if (!key && !fw_question_is_certain(upstream, job))
		return "calls of several clients are in progress, so the gateway cannot tell "
		       "whose client is meant";
	if (job->asker_count >= ASKERS_MOST)
		return "the client has not answered many questions of this call";
	if (!fw_call_client_can(job->call, capability))
		return "the client does not support this request";
	if (!job->call->request.is_modern && (!job->call->session || job->call->page))
		return "the client has no session";
	if (job->call->request.is_modern && job->call->request.kind != FW_CALL_TOOL &&
	    job->call->request.kind != FW_CALL_PROMPT &&
	    job->call->request.kind != FW_CALL_RESOURCE)
		return "the client cannot be asked during this request";
	return NULL;
}

static void put_question(struct fw_job *job, const struct fw_scan *message, const char *params)
{
	char method[64];
	char key[32];

	(void)fw_slice_text(message->method, method, sizeof method);
	(void)snprintf(key, sizeof key, "q%u", ++job->rounds);
	(void)fw_call_ask(job->call, key, method, params);
}

/* The modern client's call ends with the question, and the job waits for its next call.
 * False: no memory, or too many jobs wait. */
static bool ask_modern(struct fw_job *job, const struct fw_scan *message, const char *params)
{
	fw_call *call = job->call;

	fw_ask_clear(call);
	if (!fw_question__park(job))
		return false;
	pause_deadline(job);
	put_question(job, message, params);
	job->call = NULL;
	call->relayed.job = NULL;
	fw_relay_ask(call);
	return true;
}

/* Several can be open at once: servers ask for samples in parallel, for example. */
static bool ask_legacy(struct fw_job *job, const struct fw_scan *message)
{
	struct fw_asker *asker = asker_new(job->upstream, message);
	fw_call *call = job->call;

	if (!asker)
		return false;
	asker->job = job;
	asker->next = job->askers;
	job->askers = asker;
	job->asker_count++;
	job->rounds++;
	pause_deadline(job);
	if (fw_ask_session(call->session, call, asker->method, asker->params.text,
			   asker->params.len, asker))
		return true;
	withdraw(asker, "");
	if (!job->askers)
		continue_deadline(job);
	return false;
}

static bool ask_parked(struct fw_job *job, const struct fw_scan *message)
{
	char *params = message->params.p ? fw_strdup_n(message->params.p, message->params.n)
					 : fw_strdup("{}");
	bool is_asked = false;

	fw_buf_init(&job->question_id, FW_LIMIT_ID_BYTES);
	fw_buf_put(&job->question_id, message->id.p, message->id.n);
	if (params && job->question_id.state == FW_BUF_OK)
		is_asked = ask_modern(job, message, params);
	/* A job that was asked about may be gone by now. */
	if (!is_asked)
		fw_buf_clear(&job->question_id);
	fw__release(params);
	return is_asked;
}

static bool ask_now(struct fw_gate *gate, struct fw_asker *asker)
{
	const struct fw_buf *method = &gate->scratch;

	fw_buf_reset(&gate->scratch, FW_LIMIT_CHILD_KEPT_BYTES);
	fw_buf_json_str(&gate->scratch, asker->method);
	return fw_relay_ask_session(
		&gate->relay, capability_of((struct fw_slice){ method->text, method->len }),
		asker->method, (struct fw_slice){ asker->params.text, asker->params.len },
		asker);
}

/* Some servers ask for the roots as soon as they are connected. If the client is still in
 * its handshake, it is asked afterwards. */
static bool ask_session(struct fw_upstream *upstream, const struct fw_scan *message)
{
	struct fw_gate *gate = upstream->gate;
	struct fw_asker **at = &gate->askers;
	struct fw_asker *asker;
	unsigned count = 0;

	if (!capability_of(message->method) || gate->options.is_http)
		return false;
	asker = asker_new(upstream, message);
	if (!asker)
		return false;
	for (; *at; at = &(*at)->next)
		count++;
	if (gate->is_greeting && count < ASKERS_MOST) {
		*at = asker;
		return true;
	}
	if (!gate->is_greeting && ask_now(gate, asker))
		return true;
	asker_free(asker);
	return false;
}

void fw_question_greeted(struct fw_gate *gate)
{
	gate->is_greeting = false;
	while (gate->askers) {
		struct fw_asker *asker = gate->askers;

		gate->askers = asker->next;
		if (!ask_now(gate, asker))
			fw_question_answered(gate, asker, NULL);
	}
}

/* The answer reaches the process that has asked; another one would not know the question. */
static void pass_answer(const struct fw_asker *asker, yyjson_val *root)
{
	const struct fw_gate *gate = asker->upstream->gate;
	const struct fw_slice id = { asker->id.text, asker->id.len };
	yyjson_val *result = fw_json_member(root, "result");
	yyjson_val *value = result ? result : fw_json_member(root, "error");
	struct fw_slice text;
	struct fw_buf out;

	if (gate->is_stopped ||
	    asker->connect != fw_remote_counts(asker->upstream->remote)->connects)
		return;
	fw_buf_init(&out, gate->relay.server->limits.answer_bytes);
	if (yyjson_is_obj(value))
		fw_buf_value(&out, value);
	text = (struct fw_slice){ out.text, out.len };
	if (out.len && out.state == FW_BUF_OK)
		fw_remote_answer(asker->upstream->remote, id, result ? text : none,
				 result ? none : text);
	else
		fw_question__refuse(asker->upstream, id,
				    out.state == FW_BUF_TOO_LARGE
					    ? "the answer of the client is too large"
					    : "the client does not support this request");
	fw_buf_clear(&out);
}

void fw_question_answered(struct fw_gate *gate, void *asking, const fw_call *message)
{
	struct fw_asker *asker = asking;
	struct fw_job *job = asker->job;

	(void)gate;
	pass_answer(asker, message ? message->request.root : NULL);
	if (!job) {
		asker_free(asker);
		return;
	}
	withdraw(asker, "");
	if (!job->askers)
		continue_deadline(job);
}

void fw_question_asked(struct fw_upstream *upstream, uint64_t key,
		       const struct fw_scan *message)
{
	struct fw_job *job = fw_job_of(upstream, key);
	const char *reason = obstacle(upstream, key, job, message);

	if (!job && !key && ask_session(upstream, message))
		return;
	if (!reason && !(job->call->request.is_modern ? ask_parked(job, message)
						      : ask_legacy(job, message)))
		reason = "the gateway cannot keep this request: its id is too long, or too "
			 "many calls wait for their clients";
	if (reason)
		refuse(upstream, job, message, reason);
}

/* ---- a modern upstream asks a legacy client ----------------------------------------------- */

static bool can_answer(const struct fw_job *job, struct fw_slice questions, char *ret_method,
		       size_t size)
{
	struct fw_slice key;
	struct fw_slice value;
	const char *at = NULL;

	while (questions.p && fw_slice_next(questions, &at, &key, &value)) {
		struct fw_scan_member method = { .name = "method" };
		const char *capability;

		(void)fw_slice_members(value, &method, 1);
		capability = capability_of(method.value);
		if (capability && fw_call_client_can(job->call, capability))
			continue;
		(void)fw_slice_text(method.value, ret_method, size);
		return false;
	}
	return true;
}

/* False: no memory. */
static bool put_input_request(fw_call *call, struct fw_slice key, struct fw_slice value)
{
	struct fw_scan_member members[] = { { .name = "method" }, { .name = "params" } };
	char name[64];
	char method[64];
	char *params;

	(void)fw_slice_members(value, members, 2);
	(void)fw_slice_text(key, name, sizeof name);
	(void)fw_slice_text(members[0].value, method, sizeof method);
	params = members[1].value.p ? fw_strdup_n(members[1].value.p, members[1].value.n)
				    : fw_strdup("{}");
	if (params)
		(void)fw_call_ask(call, name, method, params);
	fw__release(params);
	return params != NULL;
}

void fw_question_pass(struct fw_job *job, const struct fw_scan *scan)
{
	fw_call *call = job->call;
	struct fw_slice key;
	struct fw_slice value;
	const char *at = NULL;
	char method[64] = "input";
	bool is_whole;

	if (!can_answer(job, scan->questions, method, sizeof method)) {
		fail_not_bridged(job, method);
		return;
	}
	if (++job->rounds > call->server->limits.rounds) {
		fail_not_bridged(job, "more rounds of questions than are allowed");
		return;
	}
	fw_buf_clear(&job->state);
	fw_buf_init(&job->state, call->server->limits.message_bytes);
	if (scan->state.p)
		fw_buf_put(&job->state, scan->state.p, scan->state.n);
	if (job->state.state == FW_BUF_TOO_LARGE) {
		fail_not_bridged(job, "a state that is too large");
		return;
	}
	fw_ask_clear(call);
	is_whole = job->state.state == FW_BUF_OK;
	while (is_whole && scan->questions.p &&
	       fw_slice_next(scan->questions, &at, &key, &value))
		is_whole = put_input_request(call, key, value);
	if (!is_whole) {
		fw_error *err = fw_raise_internal_out_of_memory();

		fw_error_set_delivery(err, FW_REPLIED);
		fw_job_fail(job, err);
		return;
	}
	call->relayed.job = job;
	job->asked_ms = now_of(job);
	/* A requestState without questions is sent back at once. */
	if (fw_ask_is_open(call))
		fw_relay_ask(call);
	else
		fw_question_resume(job);
}

void fw_question_put_answers(const struct fw_job *job, struct fw_buf *out)
{
	const struct fw_questions *questions = &job->call->questions;
	bool is_first = true;

	if (!job->rounds || job->call->request.is_modern)
		return;
	fw_buf_str(out, out->len ? ",\"inputResponses\":{" : "\"inputResponses\":{");
	for (size_t i = 0; i < questions->count; i++) {
		const struct fw_question *question = &questions->items[i];

		if (!question->answer)
			continue;
		if (!is_first)
			FW_BUF(out, ",");
		is_first = false;
		fw_buf_json_str(out, question->key);
		FW_BUF(out, ":");
		fw_buf_put(out, question->answer, question->answer_len);
	}
	FW_BUF(out, "}");
	if (job->state.len) {
		FW_BUF(out, ",\"requestState\":");
		fw_buf_put(out, job->state.text, job->state.len);
	}
}

/* ---- answers ---------------------------------------------------------------------------- */

void fw_question__answer(struct fw_job *job)
{
	const struct fw_slice id = { job->question_id.text, job->question_id.len };
	const struct fw_question *question;
	char key[32];

	(void)snprintf(key, sizeof key, "q%u", job->rounds);
	question = fw_ask_find(job->call, key);
	/* It may have withdrawn the question. */
	if (id.n && question && question->answer)
		fw_remote_answer(job->upstream->remote, id,
				 (struct fw_slice){ question->answer, question->answer_len },
				 none);
	fw_buf_clear(&job->question_id);
	continue_deadline(job);
}

static bool is_id(const struct fw_buf *id, struct fw_slice other)
{
	return other.p && id->len == other.n && id->len &&
	       memcmp(id->text, other.p, other.n) == 0;
}

void fw_question_cancelled(struct fw_upstream *upstream, struct fw_slice params)
{
	struct fw_scan_member id = { .name = "requestId" };

	(void)fw_slice_members(params, &id, 1);
	for (struct fw_job *job = upstream->jobs; job; job = job->next) {
		struct fw_asker *asker = job->askers;

		while (asker && !is_id(&asker->id, id.value))
			asker = asker->next;
		if (asker)
			withdraw(asker, "the server has cancelled its request");
		else if (is_id(&job->question_id, id.value))
			fw_buf_clear(&job->question_id);
		else
			continue;
		if (!job->askers)
			continue_deadline(job);
		return;
	}
}

static const struct fw_question *find_refused(const fw_call *call)
{
	for (size_t i = 0; i < call->questions.count; i++)
		if (call->questions.items[i].is_refused)
			return &call->questions.items[i];
	return NULL;
}

void fw_question_resume(struct fw_job *job)
{
	const struct fw_question *question;

	/* inputResponses cannot express a refusal. */
	question = find_refused(job->call);
	if (question) {
		fail_not_bridged(job, question->method);
		return;
	}
	if (job->due_ms && job->asked_ms)
		job->due_ms += now_of(job) - job->asked_ms;
	job->asked_ms = 0;
	fw_job_start(job);
}

/* ---- what clients can be asked ------------------------------------------------------------ */

void fw_question_offer(struct fw_gate *gate, const fw_call *call)
{
	static const char *const names[] = { "elicitation", "sampling", "roots" };
	struct fw_buf *out = &gate->capabilities;
	yyjson_val *given = call ? fw_call_capabilities(call) : NULL;

	if (call && !given)
		given = fw_json_member(call->request.params, "capabilities");
	fw_buf_reset(out, FW_LIMIT_HELLO_BYTES);
	FW_BUF(out, "{");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		yyjson_val *value = fw_json_member(given, names[i]);

		if (call && !yyjson_is_obj(value))
			continue;
		if (out->text && out->text[out->len - 1] != '{')
			FW_BUF(out, ",");
		fw_buf_json_str(out, names[i]);
		FW_BUF(out, ":");
		if (value)
			fw_buf_value(out, value);
		else
			fw_buf_str(out, i == 2 ? "{\"listChanged\":true}" : "{}");
	}
	FW_BUF(out, "}");
	for (size_t i = 0; i < gate->count; i++)
		fw_remote_set_capabilities(gate->upstreams[i].remote,
					   out->state == FW_BUF_OK ? out->text : "{}");
}
