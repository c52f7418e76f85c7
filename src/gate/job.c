/*
 * job.c - the life of one call, from the client to an upstream and back.
 *
 * A job waits until its upstream is ready, is sent, and ends with the reply. It is sent
 * again only if that is safe (retry.c). If the upstream asks a question, the client of
 * the call gets it, and the call continues with the answer.
 */
#include <stdio.h>
#include <string.h>

#include <yyjson.h>

#include <faultwire/raise.h>

#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "gate/gate_impl.h"
#include "gate/pins.h"
#include "gate/repair.h"
#include "gate/question.h"
#include "mcp/ask.h"
#include "mcp/authority.h"
#include "mcp/call.h"
#include "mcp/era.h"
#include "mcp/listen.h"
#include "mcp/method.h"
#include "mcp/request.h"
#include "mcp/server.h"
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

	job->is_waiting = is_waiting;
	job->is_linked = true;
	list = list_of(job);
	/* Waiting jobs are sent in the order in which they came. */
	job->previous = is_waiting ? job->upstream->last_waiting : NULL;
	job->next = is_waiting ? NULL : *list;
	if (job->next)
		job->next->previous = job;
	if (job->previous)
		job->previous->next = job;
	else
		*list = job;
	if (is_waiting)
		job->upstream->last_waiting = job;
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
	else if (job->is_waiting)
		job->upstream->last_waiting = job->previous;
	job->next = NULL;
	job->previous = NULL;
}

void fw_job_free(struct fw_job *job)
{
	fw_upstream_uncount(job);
	if (job->upstream)
		fw_breaker_let_go(&job->upstream->breaker, job);
	fw_job_stop_timer(job);
	fw_gathering_cancel(job->gathering);
	fw_question_clear(job);
	fw__release(job->own_name);
	fw__release(job);
}

struct fw_job *fw_job_of(const struct fw_upstream *upstream, uint64_t key)
{
	struct fw_job *job = upstream->jobs;

	/* Without a key, take the newest job that has a client. */
	while (job && (key ? job->key != key : !job->call))
		job = job->next;
	return job;
}

/* ---- its end ------------------------------------------------------------------------ */

static void add_attempts(const struct fw_job *job, fw_error *err)
{
	if (job->attempts < 2)
		return;
	fw_error_add_u64(err, "attempts", job->attempts);
	fw_error_add_u64(err, "waited_ms", job->waited_ms);
}

static void count(const struct fw_job *job, enum fw_gate_outcome outcome)
{
	if (job->upstream)
		fw_upstream_owner(job->upstream)->outcomes[outcome]++;
}

void fw_job_fail(struct fw_job *job, fw_error *err)
{
	fw_call *call = job->call;

	count(job, fw_error_delivery(err) == FW_NOT_SENT ? FW_GATE_REFUSED : FW_GATE_BROKEN);
	/* The last attempt was refused, but an earlier one may have had its effect. */
	if (job->was_sent && fw_error_delivery(err) == FW_NOT_SENT)
		fw_error_set_delivery(err, FW_SENT);
	add_attempts(job, err);
	if (job->gate->options.exposes_stderr && fw_error_detail(err))
		fw_error_add_string(err, "stderr", fw_error_detail(err));
	fw_job_free(job);
	fw_relay_fail(call, err, FW_RELAYED_NOTHING, none);
}

void fw_job_abandon(fw_call *call)
{
	struct fw_job *job = call->relayed.job;

	fw_job_unlink(job);
	if (job->upstream && job->key) {
		fw_upstream_abandon(job, job->key);
		fw_remote_cancel(job->upstream->remote, job->key, "the client has cancelled");
	}
	fw_job_free(job);
	fw_relay_drop(call);
}

/* ---- sending ------------------------------------------------------------------------ */

/* Members of `_meta` that apply only between the client and the gateway. */
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
	/* A legacy client sets the level once, but a modern server reads it from each
	 * request. */
	if (is_modern && !request->is_modern && job->call->session &&
	    job->upstream->log_level >= 0 && request->log_level >= 0) {
		put_key(out,
			(struct fw_text){ FW_META_LOG_LEVEL, sizeof FW_META_LOG_LEVEL - 1 });
		fw_buf_json_str(out, levels[request->log_level]);
	}
}

/* completion/complete names the prompt in `ref`. */
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
		if (own && request->method && request->method->name_param &&
		    fw_text_is(name, request->method->name_param))
			fw_buf_json_str(out, own);
		else if (own && fw_text_is(name, "ref"))
			put_reference(out, yyjson_obj_iter_get_val(key), own);
		else
			fw_buf_value(out, yyjson_obj_iter_get_val(key));
	}
	/* A call of the HTTP API has only the arguments. */
	if (!request->params && job->call->page) {
		FW_BUF(out, "\"name\":");
		fw_buf_json_str(out, own ? own : request->name);
		FW_BUF(out, ",\"arguments\":");
		fw_buf_value(out, request->arguments);
	}
	fw_question_put_answers(job, out);
}

/* An upstream that reports progress is working, so its deadline starts again, up to a
 * limit. While a question is open, no deadline runs. */
static void extend_deadline(struct fw_job *job)
{
	uint64_t now = uv_now(&job->gate->loop->uv);
	uint64_t due = now + job->deadline_ms;
	uint64_t last = job->began_ms + (uint64_t)job->deadline_ms * FW_GATE_PROGRESS_TIMES;

	if (!job->due_ms || job->asked_ms)
		return;
	if (due > last)
		due = last;
	if (due <= job->due_ms)
		return;
	job->due_ms = due;
	fw_remote_set_deadline(job->upstream->remote, job->key, (uint32_t)(due - now));
}

static void on_progress(void *ctx, struct fw_slice params)
{
	struct fw_job *job = ctx;

	extend_deadline(job);
	if (job->call)
		fw_relay_progress(job->call, params);
}

/* The client's own capabilities, for an upstream that reads them from each request. */
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

/* Time until the deadline of the call; 0: no limit. */
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
	job->was_sent |= fw_error_delivery(err) != FW_NOT_SENT;
	if (fw_job_retries(job, err))
		fw_error_free(err);
	else
		fw_job_fail(job, err);
}

/* A modern upstream has no resources/subscribe: the gateway subscribes to all resources
 * in one request (subscribe.c). */
static bool subscribes_here(struct fw_job *job)
{
	struct fw_upstream *upstream = job->upstream;
	fw_call *call = job->call;
	const struct fw_method *method = call->request.method;

	if (!fw_remote_is_modern(upstream->remote) || !method ||
	    (method->run != fw_method_subscribe && method->run != fw_method_unsubscribe))
		return false;
	fw_upstream_judge(upstream, job, NULL);
	fw_job_free(job);
	fw_relay_reply(call, none, (struct fw_slice){ "{}", 2 });
	fw_upstream_listen(upstream);
	return true;
}

/* Why the request cannot be sent to its upstream; NULL: it can. */
static fw_error *refusal(const struct fw_job *job)
{
	if (job->has_state && !fw_remote_is_modern(job->upstream->remote))
		return fw_raise_protocol_state_tampered();
	return fw_job_check_headers(job);
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
	struct fw_mirror_lines headers = { .count = 0 };
	fw_error *err = refusal(job);

	if (err) {
		fw_upstream_judge(job->upstream, job, NULL);
		fw_job_refuse(job, err);
		return;
	}
	if (subscribes_here(job))
		return;
	if (fw_gate_own_name(job))
		request.name = fw_gate_own_name(job);
	put_params(job, &gate->params);
	put_meta(job, &gate->meta);
	if (!fw_job_put_headers(job, &headers) || gate->params.state != FW_BUF_OK ||
	    gate->meta.state != FW_BUF_OK)
		err = fw_raise_internal_out_of_memory();
	request.headers = headers.lines;
	request.params = (struct fw_slice){ gate->params.text, gate->params.len };
	request.meta = (struct fw_slice){ gate->meta.text, gate->meta.len };
	if (fw_remote_is_modern(job->upstream->remote))
		request.capabilities = put_client(job, &gate->scratch, &request.client);
	job->attempts++;
	if (!err)
		err = fw_remote_call(job->upstream->remote, &request, &job->key);
	fw_buf_clear(&headers.text);
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

/* Members that a modern client expects and a legacy server does not send. */
static struct fw_slice missing_members(const struct fw_job *job, const struct fw_scan *scan)
{
	static const char type[] = "\"resultType\":\"complete\"";
	static const char cached[] =
		"\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\"";
	const struct fw_request *request = &job->call->request;

	if (!request->is_modern || scan->type.p || job->call->page)
		return none;
	if (request->kind == FW_CALL_RESOURCE ||
	    (request->method && strstr(request->method->name, "/list")))
		return (struct fw_slice){ cached, sizeof cached - 1 };
	return (struct fw_slice){ type, sizeof type - 1 };
}

enum { TOOL_NAME_BYTES = 256 };

/* The name of a tool in a list; false: it has none that can be used. */
static bool read_name(struct fw_slice item, char name[TOOL_NAME_BYTES])
{
	struct fw_scan_member member = { .name = "name" };

	(void)fw_slice_members(item, &member, 1);
	return fw_slice_is_string(member.value) &&
	       fw_slice_text(member.value, name, TOOL_NAME_BYTES) < TOOL_NAME_BYTES;
}

/* Checks a list that passes through for tools that have changed. */
static void watch_tools(struct fw_upstream *upstream, struct fw_slice result)
{
	struct fw_scan_member tools = { .name = "tools" };
	uint64_t changed = upstream->changed_tools;
	struct fw_slice key;
	struct fw_slice item;
	const char *at = NULL;

	(void)fw_slice_members(result, &tools, 1);
	upstream->definitions.is_known = true;
	while (tools.value.p && fw_slice_next(tools.value, &at, &key, &item)) {
		char name[TOOL_NAME_BYTES];

		if (read_name(item, name))
			(void)fw_pins_check(upstream, name, item);
	}
	if (upstream->changed_tools != changed)
		fw_listen_announce(upstream->gate->relay.server, FW_CHANGE_TOOLS, NULL);
}

/* Returns the list in a form that strict clients accept. If it must be changed, the new
 * list is in `out`. */
static struct fw_slice repair_list(const struct fw_job *job, int kind, struct fw_slice result,
				   struct fw_buf *out)
{
	struct fw_upstream *upstream = fw_upstream_owner(job->upstream);
	struct fw_text cursor = fw_text_of(fw_json_member(job->call->request.params, "cursor"));

	if (kind == FW_LISTING_TOOLS)
		watch_tools(upstream, result);
	if (!fw_repair_list(upstream, (enum fw_listing_kind)kind, result, cursor, out) ||
	    out->state != FW_BUF_OK)
		return result;
	return (struct fw_slice){ out->text, out->len };
}

static void succeed(struct fw_job *job, const struct fw_remote_reply *reply)
{
	fw_call *call = job->call;
	struct fw_slice before = missing_members(job, reply->scan);
	struct fw_slice result = reply->result;
	int kind = call->request.method ? fw_listing_kind_of(call->request.method->name) : -1;
	struct fw_buf valid;

	fw_buf_init(&valid, FW_LIMIT_CHILD_LINE_BYTES);
	if (kind >= 0)
		result = repair_list(job, kind, result, &valid);
	count(job, FW_GATE_OK);
	fw_job_free(job);
	fw_relay_reply(call, before, result);
	fw_buf_clear(&valid);
}

/* The failure that the reply reports. Consumes `err`. */
static void fail_as_reported(struct fw_job *job, fw_error *err,
			     const struct fw_remote_reply *reply)
{
	bool is_result = reply->result.p != NULL;
	fw_call *call = job->call;

	err = fw_question_blame(job, err);
	count(job, FW_GATE_FAILED);
	add_attempts(job, err);
	fw_job_free(job);
	fw_relay_fail(call, err, is_result ? FW_RELAYED_RESULT : FW_RELAYED_ERROR,
		      is_result ? reply->result : reply->error);
}

static void ignore_list(void *ctx)
{
	(void)ctx;
}

/* Checks a successful result against the tool's definition, and a list against the schema
 * of lists. */
static fw_error *check_output(const struct fw_job *job, const struct fw_scan *scan)
{
	struct fw_upstream *upstream = fw_upstream_owner(job->upstream);
	const struct fw_request *request = &job->call->request;
	const char *own = fw_gate_own_name(job);
	struct fw_gathering *gathering;
	int kind;

	if (request->kind != FW_CALL_TOOL) {
		kind = fw_listing_kind_of(request->method_name);
		return kind < 0 ? NULL
				: fw_repair_check(upstream, (enum fw_listing_kind)kind,
						  scan->result);
	}
	/* The client has not listed the tools, but this tool may have an output schema.
	 * List them now, so that the next results can be checked. */
	if (!upstream->definitions.is_known && scan->structured.p) {
		upstream->definitions.is_known = true;
		fw_gathering_begin(job->gate, FW_LISTING_TOOLS, false, ignore_list, NULL,
				   &gathering);
	}
	return fw_definitions_check(&upstream->definitions, upstream->entry->target.name,
				    own ? own : request->name, scan);
}

void fw_job_end(struct fw_job *job, const struct fw_remote_reply *reply)
{
	const struct fw_scan *scan = reply->scan;
	bool has_questions = fw_slice_equals(scan->type, "input_required");
	fw_error *err;

	if (fw_job_relists(job, reply))
		return;
	err = fw_answer_read(job->upstream, job->call, reply);
	if (err) {
		fail_as_reported(job, err, reply);
	} else if (has_questions && (!job->call->request.is_modern || job->call->page)) {
		fw_question_pass(job, scan);
	} else {
		err = has_questions ? NULL : check_output(job, scan);
		if (err)
			fw_job_fail(job, err);
		else
			succeed(job, reply);
	}
}

static void on_done(void *ctx, const struct fw_remote_reply *reply, fw_error *err)
{
	struct fw_job *job = ctx;

	fw_job_unlink(job);
	if (err && fw_error_code(err) == FW_UPSTREAM_TIMEOUT)
		fw_upstream_abandon(job, job->key);
	job->key = 0;
	if (!err || !job->call)
		fw_upstream_judge(job->upstream, job, err);
	if (!job->call)
		fw_question_settle(job, reply, err);
	else if (err)
		fail_or_retry(job, err);
	else
		fw_job_end(job, reply);
}

/* ---- taking ------------------------------------------------------------------------- */

void fw_job_refuse(struct fw_job *job, fw_error *err)
{
	fw_call *call = job->call;

	fw_error_set_delivery(err, job->was_sent ? FW_SENT : FW_NOT_SENT);
	count(job, FW_GATE_REFUSED);
	fw_job_free(job);
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
	/* A resource that is not listed may match a template. */
	bool has_templates = kind == FW_LISTING_RESOURCES;
	fw_error *err = fw_gate_route(job, job->gathered > has_templates);

	if (err) {
		fw_job_refuse(job, err);
		return;
	}
	if (!job->upstream) {
		if (job->gathered)
			kind = FW_LISTING_TEMPLATES;
		fw_gathering_begin(gate, (enum fw_listing_kind)kind, true, on_gathered, job,
				   &job->gathering);
		return;
	}
	if (job->upstream->entry->contract < FW_CONTRACT_COUNT &&
	    job->call->request.contract >= FW_CONTRACT_COUNT)
		job->call->request.contract = job->upstream->entry->contract;
	if (fw_question_continue(job))
		return;
	job->upstream = fw_upstream_for(job->upstream, job->call);
	err = fw_upstream_count(job->upstream, job);
	if (err) {
		fw_job_refuse(job, err);
		return;
	}
	job->deadline_ms = job->upstream->entry->deadline_ms ? job->upstream->entry->deadline_ms
							     : gate->options.deadline_ms;
	job->began_ms = uv_now(&gate->loop->uv);
	if (job->deadline_ms)
		job->due_ms = job->began_ms + job->deadline_ms;
	fw_job_earn_retry(job);
	fw_job_start(job);
}

/* Sends a list that is merged from several upstreams, or filtered. */
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
	err = fw_gate_merge(gate, (enum fw_listing_kind)kind, fw_call_principal(call), &out);
	if (err) {
		fw_buf_clear(&out);
		fw_job_refuse(job, err);
		return;
	}
	memset(&scan, 0, sizeof scan);
	{
		struct fw_slice before = missing_members(job, &scan);

		fw_job_free(job);
		fw_relay_reply(call, before, (struct fw_slice){ out.text, out.len });
	}
	fw_buf_clear(&out);
}

void fw_job_take(struct fw_gate *gate, fw_call *call)
{
	struct fw_job *job = call->relayed.job;
	int kind = fw_listing_kind_of(call->request.method_name);

	if (job) {
		fw_question_resume(job);
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
	/* With access rules, each client may see other tools, so the list is filtered. */
	if (kind < 0 || (!fw_gate_needs_lists(gate, (enum fw_listing_kind)kind) &&
			 !fw_server__authority(call->server))) {
		if (kind >= 0)
			job->is_safe = true;
		find_upstream(job);
		return;
	}
	fw_gathering_begin(gate, (enum fw_listing_kind)kind, false, on_listed, job,
			   &job->gathering);
}
