/*
 * audit.c - see audit.h.
 */
#include "cli/serve/audit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/serve/limit.h"
#include "cli/state.h"
#include "cli/terminal/report.h"

/* A file must have room for a line. */
enum { BYTES_LEAST = 64 * 1024 };
static const uint64_t bytes_most = UINT64_C(1) << 40;

/* ---- the audit log -------------------------------------------------------- */

static fw_error *read_sync(const char *word, struct fw_audit_options *options)
{
	static const char interval[] = "interval=";
	unsigned long ms;
	char *end;

	if (!word || strcmp(word, "always") == 0)
		return NULL;
	if (strcmp(word, "off") == 0) {
		options->sync = FW_AUDIT_SYNC_OFF;
		return NULL;
	}
	options->sync = FW_AUDIT_SYNC_INTERVAL;
	if (strcmp(word, "interval") == 0)
		return NULL;
	if (strncmp(word, interval, sizeof interval - 1) == 0) {
		word += sizeof interval - 1;
		errno = 0;
		ms = strtoul(word, &end, 10);
		if (!errno && end > word && *end == '\0' && ms >= 1 && ms <= 60000) {
			options->interval_ms = (uint32_t)ms;
			return NULL;
		}
	}
	return cli_usage("--audit-sync takes always, interval, interval=MS (up to 60000) or "
			 "off");
}

/* A record of a change has no error that names the session. */
static void describe(void *ctx, const fw_outcome *outcome, struct fw_audit_record *record)
{
	const struct serve_observers *observers = ctx;

	serve_toolsets_describe(&observers->toolsets, outcome, &record->scope);
}

/* Opens the log; with --audit off there is none. */
static fw_error *open_log(struct serve_observers *observers, const struct serve_audit *how)
{
	const char *file = how->file;
	const char *args = how->args;
	struct fw_audit_options options = { 0 };
	char path[CLI_PATH_SIZE];
	char heads[CLI_PATH_SIZE];
	fw_error *err;

	if (args && strcmp(args, "hash") != 0 && strcmp(args, "redacted") != 0)
		return cli_usage("--audit-args takes hash or redacted");
	options.describe = describe;
	options.describe_ctx = observers;
	options.keep_args = args && strcmp(args, "redacted") == 0;
	FW_TRY(read_sync(how->sync, &options));
	FW_TRY(serve_bytes_read("--audit-bytes", how->bytes, BYTES_LEAST, bytes_most,
				&options.rotate_bytes));
	if (file && strcmp(file, "off") == 0)
		return NULL;
	if (!file) {
		FW_TRY(cli_state_path("audit-log.jsonl", true, path));
		file = path;
	}
	if (!file[0])
		return cli_usage("HOME is not set, so there is no default audit log: give "
				 "--audit FILE, or --audit off");
	/* The head of the log is stored outside of it, too. */
	FW_TRY(cli_state_path("heads/x", true, heads));
	if (heads[0])
		*strrchr(heads, '/') = '\0';
	options.heads = heads[0] ? heads : NULL;
	(void)snprintf(observers->audit_home, sizeof observers->audit_home, "%s", file);
	err = fw_audit_open(file, &options, &observers->audit);
	if (err && fw_error_code(err) != FW_GOVERNANCE_INVARIANT_VIOLATION) {
		char hint[CLI_PATH_SIZE + 128];

		(void)snprintf(hint, sizeof hint,
			       "The log is %s; choose another one with --audit FILE, or none "
			       "with --audit off.",
			       file);
		fw_error_set_hint(err, hint);
	}
	return err;
}

fw_error *serve_audit_add(fw_server *server, struct serve_observers *observers,
			  const struct serve_audit *how)
{
	fw_observer observer;

	FW_TRY(open_log(observers, how));
	if (!observers->audit)
		return NULL;
	if (!fw_audit_is_up(observers->audit)) {
		struct fw_audit_health health;

		fw_audit_health(observers->audit, &health);
		cli_remark("the audit log cannot be written now (%s); tools that make changes "
			   "are refused until it can",
			   health.failure ? health.failure : "it has just recovered");
	}
	observer = fw_audit_observer(observers->audit);
	return fw_server_add_observer(server, &observer);
}

fw_error *serve_audit_record(struct serve_observers *observers, const struct serve_audit *how,
			     const fw_error *failure)
{
	const struct fw_audit_record record = { .event = FW_AUDIT_FAILURE, .error = failure };

	if (!observers->audit)
		FW_TRY(open_log(observers, how));
	if (!observers->audit)
		return NULL;
	return fw_audit_append_wait(observers->audit, &record);
}

/* ---- for toolsets ---------------------------------------------------------- */

void serve_audit_move(void *ctx, int dir, const char *log)
{
	struct serve_observers *observers = ctx;

	/* If that fails, the log continues in the old file, and nothing is lost. */
	if (observers->audit)
		fw_error_free(fw_audit_move(observers->audit, dir,
					    log ? log : observers->audit_home));
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

	if (!observers->audit)
		return;
	fw_error_free(fw_audit_append(observers->audit, &record, on_noted, NULL));
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

/* ---- the end ------------------------------------------------------------------ */

bool serve_audit_end(struct serve_observers *observers)
{
	bool is_over = fw_audit_close(observers->audit);

	observers->audit = NULL;
	return is_over;
}
