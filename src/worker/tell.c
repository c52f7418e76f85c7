/*
 * tell.c - what the log and a tool's breaker hear of how workers end. Every
 * worker that is gone without having been retired is a line, and so is a
 * breaker that opens or closes.
 */
#include <sys/wait.h>

#include <faultwire/raw.h>

#include "observe/log/log.h"
#include "policy/breaker.h"
#include "worker/impl.h"

void fw_worker_tell_worked(const fw_call *call)
{
	struct fw_breaker *breaker = call->offer->breaker;

	if (!breaker)
		return;
	if (breaker->is_open)
		fw_log_event(FW_LOG_NOTICE, "faultwire", "breaker_closed",
			     (const fw_field[]){ fw_log_text("tool", call->name) }, 1);
	fw_breaker_worked(breaker);
}

void fw_worker_tell_crashed(const struct fw_worker *worker)
{
	const fw_workers_options *options = &worker->pool->options;
	const fw_call *call = worker->call;
	struct fw_breaker *breaker = call->offer->breaker;
	bool was_open;

	if (!breaker)
		return;
	was_open = breaker->is_open;
	fw_breaker_crashed(breaker, uv_now(&worker->pool->base.server->loop), call,
			   options->breaker_crashes, options->breaker_ms);
	if (breaker->is_open && !was_open)
		fw_log_event(
			FW_LOG_WARNING, "faultwire", "breaker_opened",
			(const fw_field[]){ fw_log_text("tool", call->name),
					    fw_log_number("crashes", breaker->crashes),
					    fw_log_number("pause_ms", options->breaker_ms) },
			3);
}

/* A nursery that went and took its workers along (`pid` is 0) is told as such. */
void fw_worker_tell_end(const struct fw_worker *worker, int status, pid_t pid)
{
	const fw_call *call = worker->call;
	int signum = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	const char *event = "worker_crashed";
	const char *reason = worker->broken;
	fw_field fields[5];
	size_t count = 0;

	if (!worker->pool->is_running || (!pid && !worker->unable) || worker->is_retired)
		return;
	if (!worker->is_up) {
		event = "worker_not_started";
		reason = worker->unable ? fw_error_message(worker->unable) : NULL;
	} else if (worker->is_ours && !worker->broken && (!call || call->is_answered)) {
		event = "worker_replaced";
		reason = worker->unable          ? "its request could not be sent"
			 : call && call->is_late ? "its call took too long"
						 : "its call was not wanted any more";
	} else if (!call) {
		event = "worker_replaced";
		reason = worker->broken ? worker->broken : "it ended while it was idle";
	}
	if (pid)
		fields[count++] = fw_log_number("pid", (uint64_t)pid);
	fields[count++] = fw_log_text("tool", call ? call->name : NULL);
	if (signum)
		fields[count++] = fw_log_text("signal", fw_signal_name(signum));
	else
		fields[count++] = fw_log_number("exit_status", (uint64_t)WEXITSTATUS(status));
	fields[count++] = fw_log_text("reason", reason);
	fw_log_event(FW_LOG_WARNING, "faultwire", event, fields, count);
}
