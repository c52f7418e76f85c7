/*
 * pool.h - a pool of worker processes, which is a runner (mcp/runner.h).
 *
 * `count` workers are always ready, and are replaced when they die. If a client or tool
 * would have to wait, further workers are started for a while, up to `most` in all.
 */
#ifndef FW_WORKER_POOL_H
#define FW_WORKER_POOL_H

#include <uv.h>

#include "base/buf.h"
#include "base/limits.h"
#include "mcp/call.h"
#include "mcp/offer.h"
#include "mcp/runner.h"
#include "mcp/server.h"
#include "worker/keeper.h"
#include "worker/forkserver.h"
#include "worker/page.h"
#include "worker/worker.h"

struct fw_worker_pool {
	fw_workers base;            /* must be first: mcp/ has a pointer to it */
	fw_workers_options options; /* a copy, with defaults in place of zeros */
	struct fw_sandbox_plan *plan;
	struct fw_worker_pages pages;
	struct fw_worker_keeper keeper; /* only if the server is confined */
	struct fw_worker_forkserver forkserver;
	uv_poll_t *control; /* reports of the fork server */
	uv_timer_t *timer;
	struct fw_worker *workers; /* options.most slots */
	uint32_t live;             /* slots in use */
	uint64_t generation;       /* of the last worker that was started */
	uint64_t run;              /* of the last request */
	unsigned failures;         /* failures to start a worker, in a row */
	uint64_t respawn_ms;       /* no new attempt before this loop time */
	bool is_running;
	bool has_log; /* the output of tools is logged */
	struct fw_buf scratch;
	fw_call *refused; /* calls that the timer will refuse */
};

static inline uv_loop_t *fw_worker_pool_loop(const struct fw_worker_pool *pool)
{
	return pool->base.runner.server->loop;
}

static inline uint64_t fw_worker_pool_now(const struct fw_worker_pool *pool)
{
	return uv_now(fw_worker_pool_loop(pool));
}

/* ---- pool_supply.c: starts enough workers, and the fork server ---- */

/* Starts workers until there are `count`, if that is possible now. */
void fw_worker_pool_refill(struct fw_worker_pool *pool);
/* Starts a worker. NULL: not possible now. */
struct fw_worker *fw_worker_pool_start_one(struct fw_worker_pool *pool);
/* Called when a worker could not be started: delays the next attempt. */
void fw_worker_pool_back_off(struct fw_worker_pool *pool);
/* Forks the fork server if there is none. Raises io errors. */
FW_NODISCARD fw_error *fw_worker_pool_make_forkserver(struct fw_worker_pool *pool);
/* The same, and starts reading its reports. */
FW_NODISCARD fw_error *fw_worker_pool_start_forkserver(struct fw_worker_pool *pool);
void fw_worker_pool_close_control(struct fw_worker_pool *pool);
/* Closes the idle workers that are above `count`. */
void fw_worker_pool_retire_spare(struct fw_worker_pool *pool);

/* ---- pool_calls.c: chooses the worker for a call ---- */

bool fw_worker_pool_take(struct fw_runner *runner, fw_call *call, bool beyond);
void fw_worker_pool_abandon(struct fw_runner *runner, fw_call *call);
/* Passes a call that has a slot to another worker. False: there is none. */
bool fw_worker_pool_pass_on(struct fw_worker_pool *pool, fw_call *call);
/* Answers the calls for which no worker can be started. */
void fw_worker_pool_answer_refused(struct fw_worker_pool *pool);

/* ---- pool_timer.c ---- */

/* Makes sure that the pool's timer fires at `when_ms` (loop time) at the latest. */
void fw_worker_pool_wake_at(struct fw_worker_pool *pool, uint64_t when_ms);

#endif
