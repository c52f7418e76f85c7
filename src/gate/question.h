/*
 * question.h - passes an upstream's questions (sampling, elicitation, roots) to its
 * client, also if the client speaks the other era.
 *
 * A legacy upstream sends a request while it works on a call; a modern one answers the
 * call with `input_required`. A legacy client gets requests and its call waits; a modern
 * client gets `input_required` and calls again with the answers. Meanwhile the call at a
 * legacy upstream has no client: it is parked, and the signed requestState identifies it.
 *
 * The one rule to remember: a question goes only to the client whose call it belongs to.
 * If that is not certain, or the client cannot answer, the question is refused. If the
 * call fails after that, it fails with upstream.not_bridged.
 */
#ifndef FW_GATE_QUESTION_H
#define FW_GATE_QUESTION_H

#include <stdbool.h>

#include <faultwire/error.h>

#include "base/buf.h"
#include "client/remote.h"
#include "mcp/relay.h"
#include "rpc/scan.h"

struct fw_gate;
struct fw_job;
struct fw_upstream;

enum { FW_GATE_PARKED = 256 };

/* True: all calls in progress belong to the client of this job, so a message that names
 * no call is for that client. */
bool fw_question_is_certain(const struct fw_upstream *upstream, const struct fw_job *job);
/* The upstream has asked a question. `key` is the call that it belongs to; 0: not known. */
void fw_question_asked(struct fw_upstream *upstream, uint64_t key,
		       const struct fw_scan *message);
/* The upstream does not want the answer any more: `params` of its notification. */
void fw_question_cancelled(struct fw_upstream *upstream, struct fw_slice params);
/* A modern upstream answers a legacy client's call with questions. */
void fw_question_pass(struct fw_job *job, const struct fw_scan *scan);
/* The client has answered all questions of a modern upstream: the call is taken again. */
void fw_question_resume(struct fw_job *job);
/* A modern client has called again. True: the parked job has replaced this one, or this
 * one was refused. */
bool fw_question_continue(struct fw_job *job);
/* Writes the answers of a legacy client as members of `params`, for a modern upstream. */
void fw_question_put_answers(const struct fw_job *job, struct fw_buf *out);
/* A parked job has ended: stores the outcome until the client comes back. Consumes `err`. */
void fw_question_settle(struct fw_job *job, const struct fw_remote_reply *reply, fw_error *err);
/* If a question was refused, makes that the reason of the failure. Consumes `err`. */
fw_error *fw_question_blame(const struct fw_job *job, fw_error *err);
/* Frees the question and answer of a job. */
void fw_question_clear(struct fw_job *job);
/* Ends all parked jobs. */
void fw_question_stop(struct fw_gate *gate);
/* Sets the capabilities that a legacy upstream gets in initialize. `call` NULL: there
 * will be many clients. */
void fw_question_offer(struct fw_gate *gate, const fw_call *call);
/* The client's handshake is done: asks the questions that waited for that. */
void fw_question_greeted(struct fw_gate *gate);
/* The answer of a legacy client to the question `asking`; `message` NULL: none will come. */
void fw_question_answered(struct fw_gate *gate, void *asking, const fw_call *message);

/* ---- question_park.c and question.c, for each other ---- */

/* Parks the job until its client comes back, and names it in the requestState of the
 * call. False: no memory, or too many jobs are parked. */
bool fw_question__park(struct fw_job *job);
void fw_question__unpark(struct fw_job *job);
void fw_question__end_parked(struct fw_gate *gate);
void fw_question__refuse(struct fw_upstream *upstream, struct fw_slice id, const char *reason);
/* Sends the upstream the answer of a modern client that it waits for. */
void fw_question__answer(struct fw_job *job);

#endif
