/*
 * worker_log.c - logs how workers end, and informs the circuit breaker of the tool.
 * There is one event for each worker that ended without having been retired, and one
 * for each breaker that opens or closes.
 */
#include <sys/wait.h>

#include <faultwire/raw.h>

#include "observe/log/log.h"
#include "policy/breaker.h"
#include "worker/pool.h"

void fw_worker_log_success(const fw_call *call)
{
	struct fw_breaker *breaker = call->request.offer->breaker;

	if (!breaker)
		return;
	if (breaker->is_open)
		fw_log_event(FW_LOG_NOTICE, "faultwire", "breaker_closed",
			     (const fw_field[]){ fw_log_text("tool", call->request.name) }, 1);
	fw_breaker_worked(breaker);
}

void fw_worker_log_crash(const struct fw_worker *worker)
{
	const fw_workers_options *options = &worker->pool->options;
	const fw_call *call = worker->call;
	struct fw_breaker *breaker = call->request.offer->breaker;
	bool was_open;

	if (!breaker)
		return;
	was_open = breaker->is_open;
	fw_breaker_crashed(breaker, fw_worker_pool_now(worker->pool), call,
			   options->breaker_crashes, options->breaker_ms);
	if (breaker->is_open && !was_open)
		fw_log_event(
			FW_LOG_WARNING, "faultwire", "breaker_opened",
			(const fw_field[]){ fw_log_text("tool", call->request.name),
					    fw_log_number("crashes", breaker->crashes),
					    fw_log_number("pause_ms", options->breaker_ms) },
			3);
}

/* Did the server kill it? */
static bool is_killed(const struct fw_worker *worker)
{
	return worker->state == FW_WORKER_KILLED || worker->state == FW_WORKER_CLOSED_KILLED;
}

/* Without a process id the fork server is gone, which has an event of its own. */
void fw_worker_log_end(const struct fw_worker *worker, const struct fw_worker_exit *how)
{
	const fw_call *call = worker->call;
	int signum = WIFSIGNALED(how->status) ? WTERMSIG(how->status) : 0;
	const char *event = "worker_crashed";
	const char *reason = worker->broken;
	fw_field fields[5];
	size_t count = 0;

	if (!worker->pool->is_running || (!how->pid && !worker->own_error) ||
	    worker->state == FW_WORKER_RETIRED)
		return;
	if (!worker->was_ready) {
		event = "worker_not_started";
		reason = worker->own_error ? fw_error_message(worker->own_error) : NULL;
	} else if (is_killed(worker) && (!call || call->is_answered)) {
		event = "worker_replaced";
		reason = worker->own_error           ? "its request could not be sent"
			 : call && call->run.is_late ? "its call took too long"
						     : "its call was not wanted any more";
	} else if (!call) {
		event = "worker_replaced";
		reason = worker->broken ? worker->broken : "it ended while it was idle";
	}
	if (how->pid)
		fields[count++] = fw_log_number("pid", (uint64_t)how->pid);
	fields[count++] = fw_log_text("tool", call ? call->request.name : NULL);
	if (signum)
		fields[count++] = fw_log_text("signal", fw_signal_name(signum));
	else
		fields[count++] =
			fw_log_number("exit_status", (uint64_t)WEXITSTATUS(how->status));
	fields[count++] = fw_log_text("reason", reason);
	fw_log_event(FW_LOG_WARNING, "faultwire", event, fields, count);
}
