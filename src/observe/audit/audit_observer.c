/*
 * audit_observer.c - a server's outcomes as records.
 *
 * The reply of a failure, and of a success that changed state, is held until its record
 * is written. While the log cannot be written, tools that change state are not run,
 * because their changes could not be recorded.
 */
#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "observe/audit/audit_writer.h"

/* ---- a server --------------------------------------------------------------- */

static fw_error *down_error(struct fw_audit *audit)
{
	struct fw_audit_failure failure;

	fw_queue_thread_lock(&audit->queue);
	failure = audit->failure;
	fw_queue_thread_unlock(&audit->queue);
	/* No lock was tried here, so it is not reported as a failure to lock. */
	failure.is_lock = false;
	return fw_audit_failure_error(&failure);
}

static fw_error *on_admitting(void *ctx, const fw_outcome *coming)
{
	struct fw_audit *audit = ctx;

	if (fw_audit_is_up(audit) || atomic_load(&audit->moves) > 0 ||
	    (!coming->changes && !audit->options.guard_reads))
		return NULL;
	return down_error(audit);
}

static void release(void *ctx, fw_error *err)
{
	fw_hold_release(ctx, err);
}

/* The reply already says that the audit is down. */
static void release_unchanged(void *ctx, fw_error *err)
{
	fw_error_free(err);
	fw_hold_release(ctx, NULL);
}

/* `files` of a tool that changes several files, or `path` and `to` of one that moves one. */
static const char *path_at(const void *ctx, size_t at)
{
	const fw_outcome *outcome = ctx;
	const char *from = fw_outcome_argument(outcome, "path");
	const char *to = from ? fw_outcome_argument(outcome, "to") : NULL;
	char pointer[48];

	if (to)
		return at == 0 ? from : at == 1 ? to : NULL;
	(void)snprintf(pointer, sizeof pointer, "/files/%zu/path", at);
	return fw_outcome_argument(outcome, pointer);
}

static void name_call(const fw_outcome *outcome, struct fw_audit_record *record)
{
	const char *method = outcome->method;

	if (method && strcmp(method, "tools/call") == 0)
		record->tool_name = outcome->name;
	else
		record->tool_name = method;
	record->path = fw_outcome_argument(outcome, "path");
	record->path_at = path_at;
	record->path_ctx = outcome;
	if (!record->path && method && strncmp(method, "resources/", 10) == 0)
		record->path = outcome->name;
	record->intent = fw_outcome_argument(outcome, "intent");
}

static bool on_replying(void *ctx, const fw_outcome *outcome, fw_hold *hold)
{
	struct fw_audit *audit = ctx;
	struct fw_audit_record record = {
		.event = outcome->error ? FW_AUDIT_FAILURE : FW_AUDIT_CHANGE,
		.error = outcome->error,
		.scope = { .session_id = outcome->session,
			   .client = outcome->client,
			   .trace_id = outcome->trace },
	};
	int code = fw_error_code(outcome->error);
	fw_audit_done *done = release;
	size_t len = 0;
	char *args;
	fw_error *err;

	if (!outcome->error && !outcome->changes)
		return false;
	/* Unauthenticated peers must not be able to fill the disk. */
	if (outcome->is_unauthenticated && !fw_audit_admit_unauthenticated(audit))
		return false;
	name_call(outcome, &record);
	if (audit->options.describe)
		audit->options.describe(audit->options.describe_ctx, outcome, &record);
	if (code == FW_AUDIT_LOG_FAILED || code == FW_AUDIT_LOCK_FAILED ||
	    (code == FW_GOVERNANCE_INVARIANT_VIOLATION && !fw_audit_is_up(audit)))
		done = release_unchanged;
	args = fw_outcome_arguments(outcome, &len);
	err = fw_audit_append_taking(audit, &record, args, len, done, hold);
	if (err) {
		fw_free(args);
		done(hold, fw_error_code(err) == FW_AUDIT_LOG_FAILED
				   ? err
				   : fw_error_caused_by(
					     fw_raise_audit_log_failed("out of memory"), err));
	}
	return true;
}

fw_observer fw_audit_observer(struct fw_audit *audit)
{
	return (fw_observer){ .struct_size = sizeof(fw_observer),
			      .admitting = on_admitting,
			      .replying = on_replying,
			      .ctx = audit };
}
