/*
 * retry.c - decides whether a failed call is sent again, and when.
 *
 * It is safe to repeat a call that was not sent, a method that only reads, and a tool
 * whose annotations say so if the operator trusts them. Any other call may have had its
 * effect, so repeating it is the caller's decision. Delays have full jitter, and respect
 * Retry-After (up to a limit) and the deadline of the call. A budget prevents retries
 * from doubling the load during an outage: each call earns a tenth of a retry.
 */
#include <string.h>

#include "base/mem.h"
#include "gate/gate_impl.h"
#include "mcp/call.h"
#include "mcp/method.h"
#include "policy/backoff.h"
#include "rpc/names.h"

enum { RETRY_COST = 10, FIRST_MS = 50, MOST_MS = 2000 };

static bool is_reading(const fw_call *call)
{
	static const char *const methods[] = {
		FW_METHOD_TOOLS_LIST,     FW_METHOD_RESOURCES_LIST, FW_METHOD_TEMPLATES_LIST,
		FW_METHOD_RESOURCES_READ, FW_METHOD_PROMPTS_LIST,   FW_METHOD_PROMPTS_GET,
		FW_METHOD_COMPLETE,
	};

	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
		if (strcmp(call->request.method_name, methods[i]) == 0)
			return true;
	return false;
}

static bool is_safe(const struct fw_job *job, const fw_error *err)
{
	if (fw_error_retry(err) != FW_RETRY_BACKOFF)
		return false;
	return fw_error_delivery(err) == FW_NOT_SENT || job->is_safe || is_reading(job->call);
}

static void timer_closed(uv_handle_t *handle)
{
	fw__release(handle);
}

void fw_job_stop_timer(struct fw_job *job)
{
	if (!job->timer)
		return;
	uv_close((uv_handle_t *)job->timer, timer_closed);
	job->timer = NULL;
}

static void on_timer(uv_timer_t *timer)
{
	struct fw_job *job = timer->data;

	fw_job_stop_timer(job);
	fw_job_start(job);
}

/* A random number in [0, 1). It only spreads delays, so it need not be unpredictable. */
static double random_part(const struct fw_job *job)
{
	uint64_t mixed =
		(uv_hrtime() ^ (uint64_t)(uintptr_t)job) * UINT64_C(0x9e3779b97f4a7c15);

	return (double)(mixed >> 11) / 9007199254740992.0;
}

/* False: the upstream asks for such a long delay that the client should decide. */
static bool find_delay(const struct fw_job *job, const fw_error *err, uint64_t *ret_ms)
{
	double asked = fw_error_retry_after(err);
	double own = fw_backoff(job->attempts, FIRST_MS / 1000.0, MOST_MS / 1000.0,
				random_part(job));

	if (asked > FW_GATE_RETRY_WAIT_S)
		return false;
	*ret_ms = (uint64_t)((asked > own ? asked : own) * 1000);
	return true;
}

void fw_job_earn_retry(const struct fw_job *job)
{
	struct fw_upstream *upstream = fw_upstream_owner(job->upstream);

	if (upstream->retry_tokens < FW_GATE_RETRY_TOKENS)
		upstream->retry_tokens++;
}

bool fw_job_retries(struct fw_job *job, const fw_error *err)
{
	struct fw_upstream *upstream = fw_upstream_owner(job->upstream);
	uint32_t most = upstream->entry->retries == UINT32_MAX ? FW_GATE_RETRIES
							       : upstream->entry->retries;
	uint64_t now = uv_now(&job->gate->loop->uv);
	uint64_t delay;

	if (!find_delay(job, err, &delay) || job->gate->is_stopped || job->attempts > most ||
	    job->rounds || upstream->retry_tokens < RETRY_COST || !is_safe(job, err) ||
	    (job->due_ms && now + delay >= job->due_ms))
		return false;
	job->timer = fw__allocate(sizeof *job->timer);
	if (!job->timer)
		return false;
	upstream->retry_tokens -= RETRY_COST;
	job->waited_ms += delay;
	(void)uv_timer_init(&job->gate->loop->uv, job->timer);
	job->timer->data = job;
	(void)uv_timer_start(job->timer, on_timer, delay, 0);
	return true;
}
