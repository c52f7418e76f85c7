/*
 * pool_timer.c - the one timer of a pool: kill times, delayed replies, output that was
 * paused, new attempts to start workers.
 */
#include "worker/pool.h"

enum { SPARE_MS = 1000 };

static void at_earliest(uint64_t *next, uint64_t when_ms)
{
	if (when_ms && (!*next || when_ms < *next))
		*next = when_ms;
}

/* `next`: when this worker needs the timer again. */
static void check(struct fw_worker *worker, uint64_t now, uint64_t *next)
{
	if (worker->kill_ms && worker->kill_ms <= now)
		fw_worker_change(worker, FW_WORKER_EVENT_TIMER);
	at_earliest(next, worker->kill_ms);
	if (worker->pending.due_ms && worker->pending.due_ms <= now)
		fw_worker_settle_pending(worker, now);
	at_earliest(next, worker->pending.due_ms);
	at_earliest(next, fw_worker_output_resume(worker, now));
}

static void on_timer(uv_timer_t *timer)
{
	struct fw_worker_pool *pool = timer->data;
	uint64_t now = fw_worker_pool_now(pool);
	uint64_t next = 0;

	for (uint32_t i = 0; i < pool->options.most; i++)
		check(&pool->workers[i], now, &next);
	fw_worker_pool_answer_refused(pool);
	fw_worker_pool_refill(pool);
	fw_worker_pool_retire_spare(pool);
	if (pool->live > pool->options.count)
		at_earliest(&next, now + SPARE_MS);
	if (next)
		fw_worker_pool_wake_at(pool, next);
}

void fw_worker_pool_wake_at(struct fw_worker_pool *pool, uint64_t when_ms)
{
	uint64_t now = fw_worker_pool_now(pool);
	uint64_t delay = when_ms > now ? when_ms - now : 0;

	if (!pool->timer)
		return;
	if (uv_is_active((uv_handle_t *)pool->timer) &&
	    uv_timer_get_due_in(pool->timer) <= delay)
		return;
	(void)uv_timer_start(pool->timer, on_timer, delay, 0);
}
