/*
 * audit.c - see audit.h.
 */
#include "cli/serve/audit.h"

#include <stdio.h>

#include "cli/state.h"

void serve_audit_move(void *ctx, int dir, const char *log)
{
	struct serve_observers *observers = ctx;

	/* If that fails, the log continues in the old file, and nothing is lost. */
	if (observers->observation.audit)
		fw_error_free(fw_audit_move(observers->observation.audit, dir,
					    log ? log : observers->observation.audit_path));
}

static void on_noted(void *ctx, fw_error *err)
{
	(void)ctx;
	fw_error_free(err);
}

void serve_audit_note(void *ctx, const fw_scope *scope, const char *text)
{
	struct serve_observers *observers = ctx;
	struct fw_audit_record record = { .event = FW_AUDIT_NOTE,
					  .reason = text,
					  .scope = *scope };

	if (!observers->observation.audit)
		return;
	fw_error_free(fw_audit_append(observers->observation.audit, &record, on_noted, NULL));
}

/* Compares the log with the head that is kept outside of it. Workers cannot read that;
 * for them the server checks it with each record. */
static fw_error *check_head(const char *path, struct fw_toolset_audit_report *ret_report)
{
	char heads[CLI_PATH_SIZE];
	bool is_contained = true;
	uint64_t seq = 0;

	ret_report->is_intact = true;
	FW_TRY(cli_state_path("heads", false, heads));
	if (heads[0])
		FW_TRY(fw_audit_check_head(heads, path, &seq, &is_contained));
	if (is_contained)
		return NULL;
	ret_report->is_intact = false;
	(void)snprintf(ret_report->reason, sizeof ret_report->reason,
		       "the audit log no longer contains its record %llu: it was truncated or "
		       "replaced; restore it, or accept it: faultwire audit accept FILE",
		       (unsigned long long)seq);
	return NULL;
}

/* Called at the start, and in workers. */
fw_error *serve_audit_verify(const char *path, struct fw_toolset_audit_report *ret_report)
{
	struct fw_audit_report report;
	fw_error *err = fw_audit_verify(path, NULL, &report);

	if (err && fw_error_code(err) == FW_FILE_NOT_FOUND) {
		fw_error_free(err);
		ret_report->is_intact = true;
		return NULL;
	}
	FW_TRY(err);
	FW_TRY(check_head(path, ret_report));
	if (!ret_report->is_intact)
		return NULL;
	/* An incomplete last line may be one that the server is writing. */
	ret_report->is_intact = report.fault == FW_AUDIT_WHOLE || report.fault == FW_AUDIT_TORN;
	ret_report->records = report.records;
	(void)snprintf(ret_report->reason, sizeof ret_report->reason, "%s", report.reason);
	return NULL;
}
