/*
 * pool_supply.c - keeps enough workers ready, and a fork server that forks them.
 */
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>

#include <faultwire/raise.h>
#include <faultwire/raw.h>

#include "base/mem.h"
#include "observe/log/log.h"
#include "worker/pool.h"

/* After this time the pool checks whether workers above `count` are idle. */
enum { SPARE_MS = 1000 };

/* ---- workers ------------------------------------------------------------------------------ */

static struct fw_worker *find_empty(struct fw_worker_pool *pool)
{
	for (uint32_t i = 0; i < pool->options.most; i++)
		if (pool->workers[i].state == FW_WORKER_NONE)
			return &pool->workers[i];
	return NULL;
}

void fw_worker_pool_back_off(struct fw_worker_pool *pool)
{
	pool->failures++;
	pool->respawn_ms = fw_worker_pool_now(pool) + FW_LIMIT_RESPAWN_MS;
	fw_worker_pool_wake_at(pool, pool->respawn_ms);
}

struct fw_worker *fw_worker_pool_start_one(struct fw_worker_pool *pool)
{
	struct fw_worker *worker;

	if (!pool->is_running ||
	    (pool->failures && fw_worker_pool_now(pool) < pool->respawn_ms))
		return NULL;
	worker = find_empty(pool);
	if (!worker)
		return NULL;
	if (fw_worker_start(worker)) {
		if (pool->live > pool->options.count)
			fw_worker_pool_wake_at(pool, fw_worker_pool_now(pool) + SPARE_MS);
		return worker;
	}
	fw_worker_pool_back_off(pool);
	return NULL;
}

void fw_worker_pool_retire_spare(struct fw_worker_pool *pool)
{
	uint32_t staying = pool->live;

	for (uint32_t i = 0; i < pool->options.most; i++)
		staying -= fw_worker_state_is_ending(pool->workers[i].state);
	for (uint32_t i = pool->options.most; i-- > 0 && staying > pool->options.count;) {
		struct fw_worker *worker = &pool->workers[i];

		if (worker->state != FW_WORKER_IDLE)
			continue;
		fw_worker_change(worker, FW_WORKER_EVENT_RETIRE);
		fw_worker_socket_close(worker);
		staying--;
	}
}

/* ---- the fork server ---------------------------------------------------------------------------- */

static void on_control(uv_poll_t *poll, int status, int events);

fw_error *fw_worker_pool_make_forkserver(struct fw_worker_pool *pool)
{
	const struct fw_worker_forkserver_setup setup = { &pool->pages, &pool->options,
							  pool->plan,
							  pool->base.runner.server };

	if (pool->forkserver.pid)
		return NULL;
	if (!setup.server->confine)
		return fw_worker_forkserver_start(&pool->forkserver, &setup);
	if (!pool->keeper.pid)
		FW_TRY(fw_worker_keeper_start(&pool->keeper, &setup));
	return fw_worker_keeper_fork(&pool->keeper, &pool->forkserver);
}

fw_error *fw_worker_pool_start_forkserver(struct fw_worker_pool *pool)
{
	/* The first one may exist already: fw_server_prepare(). */
	FW_TRY(fw_worker_pool_make_forkserver(pool));
	pool->control = fw__allocate(sizeof *pool->control);
	if (!pool->control || uv_poll_init(fw_worker_pool_loop(pool), pool->control,
					   pool->forkserver.control) != 0) {
		fw__release(pool->control);
		pool->control = NULL;
		fw_worker_forkserver_end(&pool->forkserver);
		return fw_raise_internal_out_of_memory();
	}
	pool->control->data = pool;
	(void)uv_poll_start(pool->control, UV_READABLE, on_control);
	return NULL;
}

/* Logs the attempt to replace a fork server; `err` may be NULL. */
static void log_restart(const struct fw_worker_pool *pool, const fw_error *err)
{
	if (err)
		fw_log_event(FW_LOG_ERROR, "faultwire", "forkserver_not_started",
			     (const fw_field[]){ fw_log_text("reason", fw_error_message(err)) },
			     1);
	else
		fw_log_event(FW_LOG_NOTICE, "faultwire", "forkserver_restarted",
			     (const fw_field[]){
				     fw_log_number("pid", (uint64_t)pool->forkserver.pid) },
			     1);
}

void fw_worker_pool_refill(struct fw_worker_pool *pool)
{
	fw_error *err;

	if (!pool->is_running)
		return;
	if (!pool->forkserver.pid && fw_worker_pool_now(pool) >= pool->respawn_ms) {
		err = fw_worker_pool_start_forkserver(pool);
		if (err)
			fw_worker_pool_back_off(pool);
		log_restart(pool, err);
		fw_error_free(err);
	}
	while (pool->forkserver.pid && pool->live < pool->options.count &&
	       fw_worker_pool_start_one(pool))
		;
	if (pool->live < pool->options.count)
		fw_worker_pool_wake_at(pool, pool->respawn_ms);
}

/* ---- its reports ------------------------------------------------------------------------------ */

static void on_closed(uv_handle_t *handle)
{
	fw__release(handle);
}

void fw_worker_pool_close_control(struct fw_worker_pool *pool)
{
	if (!pool->control)
		return;
	(void)uv_poll_stop(pool->control);
	uv_close((uv_handle_t *)pool->control, on_closed);
	pool->control = NULL;
}

/* The fork server was killed, and its workers die with it. */
static void lose_forkserver(struct fw_worker_pool *pool)
{
	static const struct fw_worker_exit killed = { .status = SIGKILL };

	fw_log_event(FW_LOG_WARNING, "faultwire", "forkserver_lost",
		     (const fw_field[]){ fw_log_number("pid", (uint64_t)pool->forkserver.pid),
					 fw_log_number("workers", pool->live) },
		     2);
	fw_worker_pool_close_control(pool);
	fw_worker_forkserver_end(&pool->forkserver);
	/* Waits a moment before the restart: whatever killed it may kill the next one as well. */
	pool->respawn_ms = fw_worker_pool_now(pool) + FW_LIMIT_DEATH_MS;
	pool->failures++;
	for (uint32_t i = 0; i < pool->options.most; i++)
		fw_worker_ended(&pool->workers[i], &killed);
	fw_worker_pool_wake_at(pool, pool->respawn_ms);
}

static void take_report(struct fw_worker_pool *pool, const struct fw_worker_report *report)
{
	struct fw_worker_exit how = { .status = report->status,
				      .pid = report->pid,
				      .was_alive = report->kind == FW_WORKER_REPORT_KILLED };
	struct fw_worker *worker;

	if (report->slot >= pool->options.most)
		return;
	worker = &pool->workers[report->slot];
	if (worker->generation != report->generation)
		return;
	if (report->kind == FW_WORKER_REPORT_NOT_FORKED) {
		fw_error_free(worker->own_error);
		worker->own_error = fw_error_from_errno(FW_HERE, report->status, "fork");
		how.status = 0;
	}
	fw_worker_ended(worker, &how);
}

static void on_control(uv_poll_t *poll, int status, int events)
{
	struct fw_worker_pool *pool = poll->data;
	struct fw_worker_report report;

	(void)status;
	(void)events;
	while (pool->control == poll) {
		ssize_t got =
			recv(pool->forkserver.control, &report, sizeof report, MSG_DONTWAIT);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got != sizeof report) {
			lose_forkserver(pool);
			return;
		}
		take_report(pool, &report);
	}
}
