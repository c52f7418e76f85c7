/*
 * pool_calls.c - which worker of the pool runs a call, and how a call is stopped.
 */
#include "worker/pool.h"

/* A worker that is still starting is used only if no other one is ready or busy: a busy
 * one will be free sooner. `ret_wait`: the call should wait for that. */
static struct fw_worker *find_free(struct fw_worker_pool *pool, bool *ret_wait)
{
	struct fw_worker *starting = NULL;
	bool is_any_busy = false;

	*ret_wait = false;
	for (uint32_t i = 0; i < pool->options.most; i++) {
		struct fw_worker *worker = &pool->workers[i];

		if (worker->state == FW_WORKER_IDLE)
			return worker;
		is_any_busy = is_any_busy || worker->state == FW_WORKER_BUSY;
		if (worker->state == FW_WORKER_STARTING && !starting)
			starting = worker;
	}
	*ret_wait = starting && is_any_busy;
	return *ret_wait ? NULL : starting;
}

static struct fw_worker *find_by_call(struct fw_worker_pool *pool, const fw_call *call)
{
	for (uint32_t i = 0; i < pool->options.most; i++)
		if (pool->workers[i].call == call)
			return &pool->workers[i];
	return NULL;
}

/* No worker exists and none can be started. The timer answers the call, because the
 * queue that asks must not be changed during its walk. */
static void refuse(struct fw_worker_pool *pool, fw_call *call)
{
	call->run.runner = &pool->base.runner;
	call->run.wait.next = pool->refused;
	pool->refused = call;
	fw_worker_pool_wake_at(pool, fw_worker_pool_now(pool));
}

void fw_worker_pool_answer_refused(struct fw_worker_pool *pool)
{
	fw_call *call = pool->refused;

	pool->refused = NULL;
	while (call) {
		fw_call *next = call->run.wait.next;

		fw_call_complete(call, fw_worker_cannot_start(NULL));
		call = next;
	}
}

/* False: all `limit` workers are in use. */
static bool give(struct fw_worker_pool *pool, fw_call *call, uint32_t limit)
{
	for (;;) {
		bool is_to_wait;
		struct fw_worker *worker = find_free(pool, &is_to_wait);

		if (!worker && !is_to_wait && pool->live < limit)
			worker = fw_worker_pool_start_one(pool);
		if (!worker)
			return false;
		if (fw_worker_send(worker, call))
			return true;
	}
}

bool fw_worker_pool_pass_on(struct fw_worker_pool *pool, fw_call *call)
{
	return pool->is_running && give(pool, call, pool->options.count);
}

bool fw_worker_pool_take(struct fw_runner *runner, fw_call *call, bool beyond)
{
	struct fw_worker_pool *pool = (struct fw_worker_pool *)runner;
	uint32_t limit = beyond ? pool->options.most : pool->options.count;

	if (!pool->is_running)
		return false;
	if (give(pool, call, limit))
		return true;
	if (pool->live)
		return false;
	refuse(pool, call);
	return true;
}

void fw_worker_pool_abandon(struct fw_runner *runner, fw_call *call)
{
	struct fw_worker_pool *pool = (struct fw_worker_pool *)runner;
	struct fw_worker *worker = find_by_call(pool, call);

	if (!worker || fw_worker_state_is_ending(worker->state))
		return;
	atomic_store(&fw_worker_page_at(&pool->pages, worker->slot)->cancelled, 1);
	if (call->run.is_late) {
		fw_worker_change(worker, FW_WORKER_EVENT_KILL);
		return;
	}
	worker->kill_ms = fw_worker_pool_now(pool) + FW_LIMIT_CANCEL_GRACE_MS;
	fw_worker_pool_wake_at(pool, worker->kill_ms);
}
