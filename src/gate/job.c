/*
 * job.c - a call on its way to an upstream and back.
 *
 * A job waits until its upstream is ready, is sent, and ends with the reply. It is sent
 * again only if that is safe (retry.c). A question of the upstream is passed on to the
 * client of the call; the call is then taken again with the answer.
 */
#include <stdio.h>
#include <string.h>

#include <yyjson.h>

#include <faultwire/raise.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "gate/gate_impl.h"
#include "gate/pins.h"
#include "mcp/ask.h"
#include "mcp/call.h"
#include "mcp/era.h"
#include "mcp/listen.h"
#include "mcp/method.h"
#include "mcp/request.h"
#include "mcp/server.h"
#include "mcp/util.h"
#include "rpc/names.h"

static void on_done(void *ctx, const struct fw_remote_reply *reply, fw_error *err);

static const struct fw_slice none = { NULL, 0 };

/* ---- lists ------------------------------------------------------------------------ */

static struct fw_job **list_of(const struct fw_job *job)
{
	return job->is_waiting ? &job->upstream->waiting : &job->upstream->jobs;
}

void fw_job_link(struct fw_job *job, bool is_waiting)
{
	struct fw_job **list;
	struct fw_job *last;

	job->is_waiting = is_waiting;
	job->is_linked = true;
	list = list_of(job);
	if (!is_waiting) {
		job->previous = NULL;
		job->next = *list;
		if (job->next)
			job->next->previous = job;
		*list = job;
		return;
	}
	/* The first to wait is the first to be sent. */
	last = *list;
	while (last && last->next)
		last = last->next;
	job->next = NULL;
	job->previous = last;
	if (last)
		last->next = job;
	else
		*list = job;
}

void fw_job_unlink(struct fw_job *job)
{
	if (!job->is_linked)
		return;
	job->is_linked = false;
	if (job->previous)
		job->previous->next = job->next;
	else
		*list_of(job) = job->next;
	if (job->next)
		job->next->previous = job->previous;
	job->next = NULL;
	job->previous = NULL;
}

static void job_free(struct fw_job *job)
{
	fw_job_stop_timer(job);
	fw_gathering_cancel(job->gathering);
	fw_buf_clear(&job->state);
	fw_buf_clear(&job->question_id);
	fw__release(job->own_name);
	fw__release(job);
}

struct fw_job *fw_job_of(const struct fw_upstream *upstream, uint64_t key)
{
	struct fw_job *job = upstream->jobs;

	if (!key)
		return job; /* the newest */
	while (job && job->key != key)
		job = job->next;
	return job;
}

/* ---- its end ------------------------------------------------------------------------ */

static void tell_attempts(const struct fw_job *job, fw_error *err)
{
	if (job->attempts < 2)
		return;
	fw_error_add_u64(err, "attempts", job->attempts);
	fw_error_add_u64(err, "waited_ms", job->waited_ms);
}

void fw_job_fail(struct fw_job *job, fw_error *err)
{
	fw_call *call = job->call;

	tell_attempts(job, err);
	if (job->gate->options.exposes_stderr && fw_error_detail(err))
		fw_error_add_string(err, "stderr", fw_error_detail(err));
	job_free(job);
	fw_relay_fail(call, err, FW_RELAYED_NOTHING, none);
}

void fw_job_abandon(fw_call *call)
{
	struct fw_job *job = call->relayed.job;

	fw_job_unlink(job);
	if (job->upstream)
		fw_breaker_let_go(&job->upstream->breaker, job);
	if (job->key)
		fw_remote_cancel(job->upstream->remote, job->key, "the client has cancelled");
	job_free(job);
	fw_relay_drop(call);
}

/* ---- sending ------------------------------------------------------------------------ */

/* Members of `_meta` that are the gateway's own, or were made for its hop. */
static bool is_hop_meta(struct fw_text key, bool to_modern)
{
	return fw_text_is(key, FW_META_PROGRESS) || fw_text_is(key, FW_META_VERSION) ||
	       fw_text_is(key, FW_META_CLIENT_INFO) ||
	       fw_text_is(key, FW_META_CLIENT_CAPABILITIES) ||
	       fw_text_is(key, FW_META_CONTRACT) ||
	       (!to_modern && fw_text_is(key, FW_META_LOG_LEVEL));
}

static void put_key(struct fw_buf *out, struct fw_text key)
{
	if (out->len)
		FW_BUF(out, ",");
	fw_buf_json(out, key.p, key.n);
	FW_BUF(out, ":");
}

static void put_meta(const struct fw_job *job, struct fw_buf *out)
{
	static const char *const levels[] = { "debug", "info",     "notice", "warning",
					      "error", "critical", "alert",  "emergency" };
	const struct fw_request *request = &job->call->request;
	bool is_modern = fw_remote_is_modern(job->upstream->remote);
	yyjson_obj_iter iter = yyjson_obj_iter_with(request->meta);
	yyjson_val *key;

	fw_buf_reset(out, FW_LIMIT_CHILD_KEPT_BYTES);
	while ((key = yyjson_obj_iter_next(&iter))) {
		if (is_hop_meta(fw_text_of(key), is_modern))
			continue;
		put_key(out, fw_text_of(key));
		fw_buf_value(out, yyjson_obj_iter_get_val(key));
	}
	/* A legacy client sets the level once, a modern server reads it in each request. */
	if (is_modern && !request->is_modern && job->call->session &&
	    job->upstream->log_level >= 0 && request->log_level >= 0) {
		put_key(out,
			(struct fw_text){ FW_META_LOG_LEVEL, sizeof FW_META_LOG_LEVEL - 1 });
		fw_buf_json_str(out, levels[request->log_level]);
	}
}

/* Answers to the questions of a modern upstream, from a legacy client. */
static void put_answers(const struct fw_job *job, struct fw_buf *out)
{
	const struct fw_questions *questions = &job->call->questions;
	bool is_first = true;

	if (!job->rounds || job->call->request.is_modern)
		return;
	put_key(out, (struct fw_text){ "inputResponses", 14 });
	FW_BUF(out, "{");
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
		put_key(out, (struct fw_text){ "requestState", 12 });
		fw_buf_put(out, job->state.text, job->state.len);
	}
}

/* completion/complete names a prompt inside of `ref`. */
static void put_reference(struct fw_buf *out, yyjson_val *ref, const char *own)
{
	yyjson_obj_iter iter = yyjson_obj_iter_with(ref);
	yyjson_val *key;
	bool is_first = true;

	FW_BUF(out, "{");
	while ((key = yyjson_obj_iter_next(&iter))) {
		if (!is_first)
			FW_BUF(out, ",");
		is_first = false;
		fw_buf_value(out, key);
		FW_BUF(out, ":");
		if (fw_text_is(fw_text_of(key), "name"))
			fw_buf_json_str(out, own);
		else
			fw_buf_value(out, yyjson_obj_iter_get_val(key));
	}
	FW_BUF(out, "}");
}

static void put_params(const struct fw_job *job, struct fw_buf *out)
{
	const struct fw_request *request = &job->call->request;
	yyjson_obj_iter iter = yyjson_obj_iter_with(request->params);
	const char *own = fw_gate_own_name(job);
	yyjson_val *key;

	fw_buf_reset(out, FW_LIMIT_CHILD_KEPT_BYTES);
	while ((key = yyjson_obj_iter_next(&iter))) {
		const struct fw_text name = fw_text_of(key);

		if (fw_text_is(name, "_meta"))
			continue;
		put_key(out, name);
		if (own && request->method->name_param &&
		    fw_text_is(name, request->method->name_param))
			fw_buf_json_str(out, own);
		else if (own && fw_text_is(name, "ref"))
			put_reference(out, yyjson_obj_iter_get_val(key), own);
		else
			fw_buf_value(out, yyjson_obj_iter_get_val(key));
	}
	put_answers(job, out);
}

static void on_progress(void *ctx, struct fw_slice params)
{
	struct fw_job *job = ctx;

	fw_relay_progress(job->call, params);
}

/* The client's own capabilities, for an upstream that reads them in each request. */
static struct fw_slice put_client(const struct fw_job *job, struct fw_buf *out,
				  struct fw_slice *ret_info)
{
	yyjson_val *capabilities = fw_call_capabilities(job->call);
	yyjson_val *info = fw_json_member(job->call->request.meta, FW_META_CLIENT_INFO);
	size_t split;

	*ret_info = none;
	fw_buf_reset(out, FW_LIMIT_CHILD_KEPT_BYTES);
	if (capabilities)
		fw_buf_value(out, capabilities);
	else
		FW_BUF(out, "{}");
	split = out->len;
	if (yyjson_is_obj(info))
		fw_buf_value(out, info);
	if (out->state != FW_BUF_OK)
		return none;
	if (out->len > split)
		*ret_info = (struct fw_slice){ out->text + split, out->len - split };
	return (struct fw_slice){ out->text, split };
}

/* What is left of the time of the call; 0: no limit. */
static uint32_t time_left(const struct fw_job *job)
{
	uint64_t now = uv_now(&job->upstream->gate->loop->uv);

	if (!job->due_ms)
		return 0;
	return job->due_ms > now ? (uint32_t)(job->due_ms - now) : 1;
}

/* Consumes `err`. */
static void fail_or_retry(struct fw_job *job, fw_error *err)
{
	fw_upstream_judge(job->upstream, job, err);
	if (fw_job_retries(job, err))
		fw_error_free(err);
	else
		fw_job_fail(job, err);
}

/* A modern upstream has no resources/subscribe: the gateway asks for all in one request. */
static bool subscribes_here(struct fw_job *job)
{
	struct fw_upstream *upstream = job->upstream;
	fw_call *call = job->call;
	const struct fw_method *method = call->request.method;

	if (!fw_remote_is_modern(upstream->remote) || !method ||
	    (method->run != fw_method_subscribe && method->run != fw_method_unsubscribe))
		return false;
	fw_upstream_judge(upstream, job, NULL);
	job_free(job);
	fw_relay_reply(call, none, (struct fw_slice){ "{}", 2 });
	fw_upstream_listen(upstream);
	return true;
}

void fw_job_send(struct fw_job *job)
{
	struct fw_gate *gate = job->gate;
	const struct fw_request *from = &job->call->request;
	struct fw_remote_request request = {
		.method = from->method_name,
		.name = from->method && from->method->name_param ? from->name : NULL,
		.deadline_ms = time_left(job),
		.done = on_done,
		.progress = from->progress_token ? on_progress : NULL,
		.ctx = job,
	};
	fw_error *err = NULL;

	if (subscribes_here(job))
		return;
	if (fw_gate_own_name(job))
		request.name = fw_gate_own_name(job);
	put_params(job, &gate->params);
	put_meta(job, &gate->meta);
	if (gate->params.state != FW_BUF_OK || gate->meta.state != FW_BUF_OK)
		err = fw_raise_internal_out_of_memory();
	request.params = (struct fw_slice){ gate->params.text, gate->params.len };
	request.meta = (struct fw_slice){ gate->meta.text, gate->meta.len };
	if (fw_remote_is_modern(job->upstream->remote))
		request.capabilities = put_client(job, &gate->scratch, &request.client);
	job->attempts++;
	if (!err)
		err = fw_remote_call(job->upstream->remote, &request, &job->key);
	if (err) {
		job->key = 0;
		fail_or_retry(job, err);
		return;
	}
	fw_job_link(job, false);
}

void fw_job_start(struct fw_job *job)
{
	fw_error *err;

	if (fw_upstream_admit(job->upstream, job, &err))
		fw_job_send(job);
	else if (err)
		fw_job_fail(job, err);
	else
		fw_job_link(job, true);
}

/* ---- replies ------------------------------------------------------------------------ */

/* Members that a modern client expects, and a legacy server does not write. */
static struct fw_slice missing_members(const struct fw_job *job, const struct fw_scan *scan)
{
	static const char type[] = "\"resultType\":\"complete\"";
	static const char cached[] =
		"\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\"";
	const struct fw_request *request = &job->call->request;

	if (!request->is_modern || scan->type.p)
		return none;
	if (request->kind == FW_CALL_RESOURCE ||
	    (request->method && strstr(request->method->name, "/list")))
		return (struct fw_slice){ cached, sizeof cached - 1 };
	return (struct fw_slice){ type, sizeof type - 1 };
}

/* A modern upstream wants to know something, and the client is a legacy one. */
static void pass_questions(struct fw_job *job, const struct fw_scan *scan)
{
	fw_call *call = job->call;
	struct fw_slice key;
	struct fw_slice value;
	const char *at = NULL;

	fw_buf_init(&job->state, call->server->limits.message_bytes);
	if (scan->state.p)
		fw_buf_put(&job->state, scan->state.p, scan->state.n);
	while (scan->questions.p && fw_slice_next(scan->questions, &at, &key, &value)) {
		struct fw_scan_member members[] = { { .name = "method" },
						    { .name = "params" } };
		char name[64];
		char method[64];
		char *params = NULL;

		(void)fw_slice_members(value, members, 2);
		(void)fw_slice_text(key, name, sizeof name);
		(void)fw_slice_text(members[0].value, method, sizeof method);
		if (members[1].value.p)
			params = fw_strdup_n(members[1].value.p, members[1].value.n);
		(void)fw_call_ask(call, name, method, params ? params : "{}");
		fw__release(params);
	}
	job->rounds++;
	job->key = 0;
	call->relayed.job = job;
	fw_relay_ask(call);
}

/* A list that passes through is looked at for tools that have changed. */
static void watch_tools(struct fw_upstream *upstream, struct fw_slice result)
{
	struct fw_scan_member tools = { .name = "tools" };
	uint64_t changed = upstream->changed_tools;
	struct fw_slice key;
	struct fw_slice item;
	const char *at = NULL;

	(void)fw_slice_members(result, &tools, 1);
	while (tools.value.p && fw_slice_next(tools.value, &at, &key, &item)) {
		struct fw_scan_member name = { .name = "name" };
		char text[256];

		(void)fw_slice_members(item, &name, 1);
		if (fw_slice_is_string(name.value) &&
		    fw_slice_text(name.value, text, sizeof text) < sizeof text)
			(void)fw_pins_check(upstream, text, item);
	}
	if (upstream->changed_tools != changed)
		fw_listen_tell(upstream->gate->relay.server, FW_CHANGE_TOOLS, NULL);
}

static void succeed(struct fw_job *job, const struct fw_remote_reply *reply)
{
	fw_call *call = job->call;
	struct fw_slice before = missing_members(job, reply->scan);

	if (fw_slice_equals(reply->scan->type, "input_required") && !call->request.is_modern) {
		pass_questions(job, reply->scan);
		return;
	}
	if (call->request.method &&
	    fw_listing_kind_of(call->request.method->name) == FW_LISTING_TOOLS)
		watch_tools(job->upstream, reply->result);
	job_free(job);
	fw_relay_reply(call, before, reply->result);
}

static void on_done(void *ctx, const struct fw_remote_reply *reply, fw_error *err)
{
	struct fw_job *job = ctx;
	fw_call *call = job->call;
	enum fw_relay_form form;

	fw_job_unlink(job);
	job->key = 0;
	if (err) {
		fail_or_retry(job, err);
		return;
	}
	fw_upstream_judge(job->upstream, job, NULL);
	err = fw_answer_read(job->upstream, call, reply);
	if (!err) {
		succeed(job, reply);
		return;
	}
	tell_attempts(job, err);
	form = reply->result.p ? FW_RELAYED_RESULT : FW_RELAYED_ERROR;
	job_free(job);
	fw_relay_fail(call, err, form, reply->result.p ? reply->result : reply->error);
}

/* ---- questions of a legacy upstream --------------------------------------------------- */

static void refuse_question(struct fw_upstream *upstream, const struct fw_scan *message)
{
	static const char refusal[] =
		"{\"code\":-32601,\"message\":\"the client does not support this request\"}";

	fw_remote_answer(upstream->remote, message->id, none,
			 (struct fw_slice){ refusal, sizeof refusal - 1 });
}

static const char *capability_of(struct fw_slice method)
{
	if (fw_slice_equals(method, FW_METHOD_ELICIT))
		return "elicitation";
	if (fw_slice_equals(method, FW_METHOD_SAMPLE))
		return "sampling";
	return fw_slice_equals(method, FW_METHOD_ROOTS) ? "roots" : NULL;
}

void fw_job_asked(struct fw_upstream *upstream, struct fw_job *job,
		  const struct fw_scan *message)
{
	const char *capability = capability_of(message->method);
	char method[64];
	char key[32];
	char *params = NULL;

	if (!job || !job->call || !capability || job->question_id.len ||
	    job->call->request.is_modern || !fw_call_client_can(job->call, capability)) {
		refuse_question(upstream, message);
		return;
	}
	fw_buf_init(&job->question_id, FW_LIMIT_ID_BYTES);
	fw_buf_put(&job->question_id, message->id.p, message->id.n);
	(void)fw_slice_text(message->method, method, sizeof method);
	(void)snprintf(key, sizeof key, "q%u", ++job->rounds);
	if (message->params.p)
		params = fw_strdup_n(message->params.p, message->params.n);
	(void)fw_call_ask(job->call, key, method, params ? params : "{}");
	fw__release(params);
	fw_relay_ask(job->call);
}

/* The client has answered: a legacy upstream gets its answer, a modern one the call again. */
static void resume(struct fw_job *job)
{
	char key[32];
	const char *answer;
	struct fw_slice id = { job->question_id.text, job->question_id.len };

	if (!job->question_id.len) {
		fw_job_start(job);
		return;
	}
	(void)snprintf(key, sizeof key, "q%u", job->rounds);
	answer = fw_ask_answered(job->call, key);
	if (answer)
		fw_remote_answer(job->upstream->remote, id,
				 (struct fw_slice){ answer, strlen(answer) }, none);
	fw_buf_clear(&job->question_id);
}

/* ---- taking ------------------------------------------------------------------------- */

/* Consumes `err`. */
static void refuse(struct fw_job *job, fw_error *err)
{
	fw_call *call = job->call;

	fw_error_set_delivery(err, FW_NOT_SENT);
	job_free(job);
	fw_relay_fail(call, err, FW_RELAYED_NOTHING, none);
}

static void find_upstream(struct fw_job *job);

static void on_gathered(void *ctx)
{
	struct fw_job *job = ctx;

	job->gathering = NULL;
	job->gathered++;
	find_upstream(job);
}

static void find_upstream(struct fw_job *job)
{
	struct fw_gate *gate = job->gate;
	int kind = fw_gate_route_kind(job->call);
	/* A resource may match a template. */
	bool has_templates = kind == FW_LISTING_RESOURCES;
	fw_error *err = fw_gate_route(job, job->gathered > has_templates);
	uint32_t deadline;

	if (err) {
		refuse(job, err);
		return;
	}
	if (!job->upstream) {
		if (job->gathered)
			kind = FW_LISTING_TEMPLATES;
		fw_gathering_begin(gate, (enum fw_listing_kind)kind, true, on_gathered, job,
				   &job->gathering);
		return;
	}
	deadline = job->upstream->entry->deadline_ms ? job->upstream->entry->deadline_ms
						     : gate->options.deadline_ms;
	if (deadline)
		job->due_ms = uv_now(&gate->loop->uv) + deadline;
	if (job->upstream->retry_tokens < 100)
		job->upstream->retry_tokens++;
	fw_job_start(job);
}

/* A list of several upstreams, or a filtered one. */
static void on_listed(void *ctx)
{
	struct fw_job *job = ctx;
	fw_call *call = job->call;
	struct fw_gate *gate = job->gate;
	int kind = fw_listing_kind_of(call->request.method_name);
	struct fw_buf out;
	struct fw_scan scan;
	fw_error *err;

	job->gathering = NULL;
	fw_buf_init(&out, call->server->limits.result_bytes);
	err = fw_gate_merge(gate, (enum fw_listing_kind)kind, &out);
	if (err) {
		fw_buf_clear(&out);
		refuse(job, err);
		return;
	}
	memset(&scan, 0, sizeof scan);
	{
		struct fw_slice before = missing_members(job, &scan);

		job_free(job);
		fw_relay_reply(call, before, (struct fw_slice){ out.text, out.len });
	}
	fw_buf_clear(&out);
}

void fw_job_take(struct fw_gate *gate, fw_call *call)
{
	struct fw_job *job = call->relayed.job;
	int kind = fw_listing_kind_of(call->request.method_name);

	if (job) {
		resume(job);
		return;
	}
	job = fw__allocate(sizeof *job);
	if (!job) {
		fw_relay_fail(call, fw_raise_internal_out_of_memory(), FW_RELAYED_NOTHING,
			      none);
		return;
	}
	memset(job, 0, sizeof *job);
	job->gate = gate;
	job->call = call;
	call->relayed.job = job;
	if (kind < 0 || !fw_gate_needs_lists(gate, (enum fw_listing_kind)kind)) {
		if (kind >= 0)
			job->is_safe = true;
		find_upstream(job);
		return;
	}
	fw_gathering_begin(gate, (enum fw_listing_kind)kind, false, on_listed, job,
			   &job->gathering);
}
