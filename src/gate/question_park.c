/*
 * question_park.c - calls of a legacy upstream that wait for the answer of a modern client.
 *
 * The call between client and gateway has ended with the question. The call between
 * gateway and upstream continues, and it and its outcome are kept until the client calls
 * again with the requestState, or the state expires.
 */
#include <stdio.h>
#include <string.h>

#include <yyjson.h>

#include <faultwire/raise.h>

#include "base/id.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "gate/gate_impl.h"
#include "gate/question.h"
#include "mcp/ask.h"
#include "mcp/call.h"
#include "mcp/request_state.h"
#include "mcp/server.h"

/* Key of the parked job among the answers in a requestState. */
#define JOB_KEY "dev.faultwire/job"

enum { TOKEN_SIZE = 33 };

/* A job of a legacy upstream whose modern client was asked something. */
struct fw_parking {
	struct fw_parking *next;
	struct fw_job *job;
	char token[TOKEN_SIZE];
	bool is_over;
	struct fw_buf reply; /* the whole message */
	fw_error *err;       /* why there is no reply */
};

/* ---- parking -------------------------------------------------------------------------- */

void fw_question__unpark(struct fw_job *job)
{
	struct fw_parking **at = &job->gate->parked;

	while (*at != job->parking)
		at = &(*at)->next;
	*at = job->parking->next;
	job->gate->parked_count--;
	fw_error_free(job->parking->err);
	fw_buf_clear(&job->parking->reply);
	fw__release(job->parking);
	job->parking = NULL;
}

/* The client has not come back in time. */
static void on_expired(uv_timer_t *timer)
{
	struct fw_job *job = timer->data;

	if (job->key) {
		if (job->question_id.len)
			fw_question__refuse(job->upstream,
					    (struct fw_slice){ job->question_id.text,
							       job->question_id.len },
					    "the client has not answered");
		fw_job_unlink(job);
		fw_upstream_abandon(job, job->key);
		fw_remote_cancel(job->upstream->remote, job->key,
				 "the client has not answered");
	}
	fw_job_free(job);
}

/* Stores the job's key with the answers of its call, which become part of the requestState. */
static bool name_in_state(const struct fw_job *job)
{
	char json[TOKEN_SIZE + 16];
	int len = snprintf(json, sizeof json, "{\"t\":\"%s\"}", job->parking->token);

	fw_ask_restore_text(job->call, JOB_KEY, json, (size_t)len);
	return fw_ask_answered(job->call, JOB_KEY) != NULL;
}

bool fw_question__park(struct fw_job *job)
{
	struct fw_gate *gate = job->gate;
	struct fw_parking *parking;

	if (gate->parked_count >= FW_GATE_PARKED || job->timer)
		return false;
	parking = fw__allocate(sizeof *parking);
	job->timer = fw__allocate(sizeof *job->timer);
	if (!parking || !job->timer) {
		fw__release(parking);
		fw__release(job->timer);
		job->timer = NULL;
		return false;
	}
	memset(parking, 0, sizeof *parking);
	parking->job = job;
	parking->next = gate->parked;
	fw_buf_init(&parking->reply, FW_LIMIT_CHILD_LINE_BYTES);
	fw_random_hex(parking->token, sizeof parking->token);
	gate->parked = parking;
	gate->parked_count++;
	job->parking = parking;
	(void)uv_timer_init(&gate->loop->uv, job->timer);
	job->timer->data = job;
	(void)uv_timer_start(job->timer, on_expired, gate->relay.server->limits.state_ms, 0);
	if (name_in_state(job))
		return true;
	fw_question__unpark(job);
	fw_job_stop_timer(job);
	return false;
}

void fw_question_settle(struct fw_job *job, const struct fw_remote_reply *reply, fw_error *err)
{
	struct fw_parking *parking = job->parking;

	if (job->gate->is_stopped || !parking) {
		fw_error_free(err);
		fw_job_free(job);
		return;
	}
	parking->is_over = true;
	parking->err = err;
	if (!reply)
		return;
	FW_BUF(&parking->reply, "{\"jsonrpc\":\"2.0\",\"id\":0,\"");
	fw_buf_str(&parking->reply, reply->result.p ? "result\":" : "error\":");
	fw_buf_put(&parking->reply, reply->result.p ? reply->result.p : reply->error.p,
		   reply->result.p ? reply->result.n : reply->error.n);
	FW_BUF(&parking->reply, "}");
	if (parking->reply.state != FW_BUF_OK)
		parking->err = fw_raise_internal_out_of_memory();
}

void fw_question__end_parked(struct fw_gate *gate)
{
	while (gate->parked) {
		struct fw_job *job = gate->parked->job;

		fw_job_unlink(job);
		fw_job_free(job);
	}
}

/* ---- the client comes back -------------------------------------------------------------- */

static struct fw_job *find_parked(const struct fw_gate *gate, const char *answer)
{
	struct fw_parking *at = gate->parked;
	struct fw_scan_member token = { .name = "t" };

	(void)fw_slice_members((struct fw_slice){ answer, strlen(answer) }, &token, 1);
	while (at && !fw_slice_equals(token.value, at->token))
		at = at->next;
	return at ? at->job : NULL;
}

/* Delivers an outcome that came while the client was away. */
static void deliver(struct fw_job *job)
{
	struct fw_parking *parking = job->parking;
	fw_error *err = parking->err;
	struct fw_buf text = parking->reply;
	struct fw_scan scan;
	struct fw_remote_reply reply = { .scan = &scan };

	parking->err = NULL;
	fw_buf_init(&parking->reply, 0);
	fw_question__unpark(job);
	fw_job_stop_timer(job);
	if (err) {
		fw_job_fail(job, err);
	} else {
		(void)fw_slice_scan(text.text, text.len, FW_LIMIT_REPLY_DEPTH, &scan);
		reply.result = scan.result;
		reply.error = scan.error;
		fw_job_end(job, &reply);
	}
	fw_buf_clear(&text);
}

/* The new call replaces the one that ended with the question. */
static void rejoin(struct fw_job *fresh, struct fw_job *job)
{
	fw_call *call = fresh->call;
	char key[32];

	(void)snprintf(key, sizeof key, "q%u", job->rounds);
	if (!job->parking->is_over && !fw_ask_answered(call, key)) {
		fw_job_refuse(fresh, fw_raise_protocol_invalid_params(
					     "/params/inputResponses",
					     "an object with the answer to each question"));
		return;
	}
	fw_job_free(fresh);
	call->relayed.job = job;
	job->call = call;
	if (job->parking->is_over) {
		deliver(job);
		return;
	}
	fw_question__unpark(job);
	fw_job_stop_timer(job);
	fw_question__answer(job);
}

bool fw_question_continue(struct fw_job *job)
{
	fw_call *call = job->call;
	yyjson_val *state = fw_json_member(call->request.params, "requestState");
	const char *answer;
	struct fw_job *parked;
	fw_error *err;

	if (!call->request.is_modern || !state || job->rounds)
		return false;
	err = yyjson_is_str(state) ? fw_request_state_read(call, fw_text_of(state))
				   : fw_raise_protocol_state_tampered();
	answer = err ? NULL : fw_ask_answered(call, JOB_KEY);
	if (!answer) {
		/* We did not make this state. It may be that of a modern upstream. */
		fw_error_free(err);
		fw_ask_clear(call);
		job->has_state = true;
		return false;
	}
	parked = find_parked(job->gate, answer);
	err = parked && parked->upstream == job->upstream ? fw_ask_read(call)
							  : fw_raise_protocol_state_tampered();
	if (err)
		fw_job_refuse(job, err);
	else
		rejoin(job, parked);
	return true;
}
