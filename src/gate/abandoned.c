/*
 * abandoned.c - calls that the gateway does not wait for any more, but its upstream may still
 * work on: after a cancellation, the end of a session or a timeout.
 *
 * What such a call asks or logs would look like a message of a call in progress. So while it
 * may still come, a message that names no call is not certain to belong to another client. The
 * reply of the call ends that, and so does the end of the process; many servers send no reply
 * after a cancellation, so it also ends after a while.
 */
#include <string.h>

#include "base/hash.h"
#include "gate/gate_impl.h"
#include "gate/question.h"
#include "mcp/call.h"
#include "mcp/session.h"

uint64_t fw_upstream_client(const fw_call *call)
{
	if (call->session)
		return fw_hash_text(call->session->id, 1);
	if (fw_principal_proof(call->principal) != FW_PROOF_NONE)
		return fw_hash_text(fw_principal_name(call->principal), 2);
	return 0;
}

void fw_upstream_abandon(struct fw_job *job, uint64_t key)
{
	struct fw_upstream *upstream = job->upstream;
	struct fw_abandoned *one = upstream->abandoned;

	if (!job->gate->options.is_http || !key)
		return;
	/* The oldest is forgotten if there are too many. */
	for (unsigned i = 0; i < FW_GATE_ABANDONED; i++)
		if (upstream->abandoned[i].until_ms < one->until_ms)
			one = &upstream->abandoned[i];
	*one = (struct fw_abandoned){ .key = key,
				      .client = job->call ? fw_upstream_client(job->call) : 0,
				      .connect = fw_remote_counts(upstream->remote)->connects,
				      .until_ms = uv_now(&job->gate->loop->uv) +
						  FW_GATE_ABANDONED_MS };
}

void fw_upstream_replied_late(struct fw_upstream *upstream, uint64_t key)
{
	for (unsigned i = 0; i < FW_GATE_ABANDONED; i++)
		if (upstream->abandoned[i].key == key)
			upstream->abandoned[i] = (struct fw_abandoned){ .key = 0 };
}

bool fw_upstream_is_left_to(const struct fw_upstream *upstream, uint64_t client)
{
	uint64_t now = uv_now(&upstream->gate->loop->uv);
	uint64_t connect = fw_remote_counts(upstream->remote)->connects;

	for (unsigned i = 0; i < FW_GATE_ABANDONED; i++) {
		const struct fw_abandoned *one = &upstream->abandoned[i];

		if (one->until_ms > now && one->connect == connect &&
		    (!client || one->client != client))
			return false;
	}
	return true;
}
