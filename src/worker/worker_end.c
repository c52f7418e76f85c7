/*
 * worker_end.c - the death of a worker: which error its call gets, and the delayed
 * reply to a call that crashed it.
 */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include <faultwire/raise.h>
#include <faultwire/raw.h>

#include "mcp/shared.h"
#include "policy/breaker.h"
#include "worker/pool.h"

/* ---- the error of its call ----------------------------------------------------------------- */

/* For the operator: what the kernel and the crash record say, and the last output. */
static void add_detail(const struct fw_worker *worker, const struct fw_worker_exit *how,
		       fw_error *err)
{
	const struct fw_worker_crash *crash =
		&fw_worker_page_at(&worker->pool->pages, worker->slot)->crash;
	int signum = WIFSIGNALED(how->status) ? WTERMSIG(how->status) : 0;
	char detail[256 + 2 * FW_LIMIT_TOOL_TEXT_BYTES];
	char output[2 * FW_LIMIT_TOOL_TEXT_BYTES];
	size_t len;

	if (signum && atomic_load(&crash->signal) == signum) {
		(void)snprintf(detail, sizeof detail,
			       "worker %d died of %s (code %d) at address %#llx", (int)how->pid,
			       fw_signal_name(signum), crash->code,
			       (unsigned long long)crash->address);
		fw_worker_crash_describe(crash, err);
	} else {
		(void)snprintf(detail, sizeof detail, "worker %d, wait status %#x",
			       (int)how->pid, (unsigned)how->status);
	}
	if (fw_worker_output_tail(worker, output, sizeof output)) {
		len = strlen(detail);
		(void)snprintf(detail + len, sizeof detail - len, "\nit wrote:\n%s", output);
	}
	fw_error_set_detail(err, detail);
}

static fw_error *death_error(const struct fw_worker *worker, const struct fw_worker_exit *how,
			     bool closed_socket)
{
	int signum = WIFSIGNALED(how->status) ? WTERMSIG(how->status) : 0;
	fw_error *err;

	if (worker->broken)
		err = fw_raise_tool_garbled(worker->broken);
	else if (closed_socket)
		err = fw_raise_tool_garbled("it closed its socket");
	else if (signum)
		err = fw_error_from_signal(FW_HERE, signum);
	else
		err = fw_raise_tool_exited(WEXITSTATUS(how->status));
	add_detail(worker, how, err);
	return err;
}

fw_error *fw_worker_cannot_start(fw_error *cause)
{
	fw_error *err = fw_raise_server_overloaded(0, "workers that can be started");

	fw_error_set_retry_after(err, FW_LIMIT_RESPAWN_MS / 1000.0);
	return cause ? fw_error_caused_by(err, cause) : err;
}

/* NULL: the call goes to another worker. Takes worker->own_error over. */
static fw_error *call_error(struct fw_worker *worker, const struct fw_worker_exit *how,
			    const struct fw_worker_death *death)
{
	bool closed_socket = death->state == FW_WORKER_CLOSED_KILLED && death->was_killed;
	fw_error *own = worker->own_error;

	worker->own_error = NULL;
	switch (fw_worker_outcome_of(death)) {
	case FW_WORKER_OUTCOME_OWN_ERROR: return own;
	case FW_WORKER_OUTCOME_CANNOT_START:
		return fw_worker_cannot_start(own ? own
						  : death_error(worker, how, closed_socket));
	case FW_WORKER_OUTCOME_CANCELLED: return fw_raise_runtime_cancelled();
	case FW_WORKER_OUTCOME_GARBLED:
	case FW_WORKER_OUTCOME_CRASHED:
		fw_worker_log_crash(worker);
		return death_error(worker, how, closed_socket);
	default: return NULL;
	}
}

/* ---- the delayed reply ------------------------------------------------------------------------ */

void fw_worker_settle_pending(struct fw_worker *worker, uint64_t now_ms)
{
	struct fw_worker_pending pending = worker->pending;

	if (!pending.call)
		return;
	if (now_ms < pending.not_before_ms) {
		worker->pending.due_ms = pending.not_before_ms;
		fw_worker_pool_wake_at(worker->pool, pending.not_before_ms);
		return;
	}
	worker->pending = (struct fw_worker_pending){ 0 };
	fw_call_complete(pending.call, pending.err);
}

/* Delays the reply until the replacement, which has this slot by now, is ready. False:
 * there is no replacement, or the client is gone. */
static bool delay_reply(struct fw_worker *worker, fw_call *call, fw_error *err)
{
	const struct fw_breaker *breaker = call->request.offer->breaker;
	uint64_t now_ms = fw_worker_pool_now(worker->pool);
	uint64_t pace_ms = 0;

	if (worker->state != FW_WORKER_STARTING || call->is_answered)
		return false;
	if (breaker && breaker->crashes > FW_LIMIT_CRASHES_AT_ONCE)
		pace_ms = FW_LIMIT_CRASH_PACE_MS;
	worker->pending = (struct fw_worker_pending){ .call = call,
						      .err = err,
						      .not_before_ms = now_ms + pace_ms,
						      .due_ms = now_ms + FW_LIMIT_DEATH_MS };
	fw_worker_pool_wake_at(worker->pool, worker->pending.due_ms);
	return true;
}

/* ---- its end ------------------------------------------------------------------------------------ */

static struct fw_worker_death describe(const struct fw_worker *worker,
				       const struct fw_worker_exit *how)
{
	const struct fw_worker_page *page =
		fw_worker_page_at(&worker->pool->pages, worker->slot);

	return (struct fw_worker_death){
		.state = worker->state,
		.was_ready = worker->was_ready,
		.has_begun = atomic_load(&page->begun_run) == worker->run,
		.has_own_error = worker->own_error != NULL,
		.was_killed = how->was_alive && WIFSIGNALED(how->status) &&
			      WTERMSIG(how->status) == SIGKILL,
	};
}

static void free_slot(struct fw_worker *worker)
{
	fw_error_free(worker->own_error);
	worker->own_error = NULL;
	worker->call = NULL;
	fw_worker_change(worker, FW_WORKER_EVENT_DEATH);
	worker->pool->live--;
	fw_worker_socket_close(worker);
	fw_worker_output_close(worker);
	fw_buf_clear(&worker->in);
	fw_buf_clear(&worker->out);
	atomic_store(&fw_worker_page_at(&worker->pool->pages, worker->slot)->crash.signal, 0);
}

void fw_worker_ended(struct fw_worker *worker, const struct fw_worker_exit *how)
{
	struct fw_worker_pool *pool = worker->pool;
	struct fw_worker_death death;
	fw_error *err = NULL;
	fw_call *call;

	if (worker->state == FW_WORKER_NONE)
		return;
	fw_worker_settle_pending(worker, UINT64_MAX);
	/* It may have sent its result before it died. */
	fw_worker_socket_read(worker, UINT_MAX);
	fw_worker_output_drain(worker);
	call = worker->call;
	fw_worker_log_end(worker, how);
	death = describe(worker, how);
	if (call)
		err = call_error(worker, how, &death);
	/* Work in the background that fails at once must not be repeated at once. */
	if (fw_worker_death_is_start_failure(&death) || pool->options.background)
		fw_worker_pool_back_off(pool);
	free_slot(worker);
	fw_worker_pool_refill(pool);
	if (!call) {
		/* A call that waited for this worker waits for another one now. */
		fw_runner_freed(&pool->base.runner, NULL);
		return;
	}
	if (!err && !call->is_answered && fw_worker_pool_pass_on(pool, call))
		return;
	if (!err)
		err = fw_worker_cannot_start(NULL);
	fw_shared_end(call, false);
	if (!delay_reply(worker, call, err))
		fw_call_complete(call, err);
}
