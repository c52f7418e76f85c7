/*
 * serve_workspace.c - see serve_workspace.h.
 */
#include "serve_workspace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "report.h"
#include "state.h"

enum { POLICY_MAX = 1 << 20 };

static fw_error *read_lock_on(const char *word, enum fw_ws_lock_on *ret)
{
	static const char *const words[] = { [FW_WS_LOCK_INTEGRITY] = "integrity",
					     [FW_WS_LOCK_ANY] = "any",
					     [FW_WS_LOCK_NEVER] = "never" };

	for (size_t i = 0; word && i < sizeof words / sizeof *words; i++) {
		if (strcmp(words[i], word) == 0) {
			*ret = (enum fw_ws_lock_on)i;
			return NULL;
		}
	}
	return word ? cli_usage("--lock-on takes integrity, any or never") : NULL;
}

static fw_error *read_seconds(const char *word, uint32_t *ret_ms)
{
	unsigned long seconds;
	char *end;

	if (!word)
		return NULL;
	errno = 0;
	seconds = strtoul(word, &end, 10);
	if (errno || end == word || *end || !seconds || seconds > 3600)
		return cli_usage("--preflight-timeout takes 1 to 3600 seconds");
	*ret_ms = (uint32_t)seconds * 1000;
	return NULL;
}

/* ---- the audit log of a session --------------------------------------------- */

static void move_audit(void *ctx, int dir, const char *log)
{
	struct serve_observers *observers = ctx;

	/* Where that fails the old log goes on; nothing is lost. */
	if (observers->audit)
		fw_error_free(fw_audit_move(observers->audit, dir,
					    log ? log : observers->audit_home));
}

static void on_noted(void *ctx, fw_error *err)
{
	(void)ctx;
	fw_error_free(err);
}

static void note(void *ctx, const char *text)
{
	struct serve_observers *observers = ctx;
	struct fw_audit_record record = { .event = FW_AUDIT_NOTE, .reason = text };

	if (!observers->audit)
		return;
	fw_workspace_describe(observers->workspace, NULL, &record.scope);
	fw_error_free(fw_audit_append(observers->audit, &record, on_noted, NULL));
}

/* Compared with what was kept outside, which a worker cannot read: there the
 * server does it with each record. */
static fw_error *check_head(const char *path, struct fw_ws_audit_report *ret_report)
{
	char heads[CLI_PATH_SIZE];
	bool is_there = true;
	uint64_t seq = 0;

	ret_report->is_whole = true;
	FW_TRY(cli_state_path("heads", false, heads));
	if (heads[0])
		FW_TRY(fw_audit_check_head(heads, path, &seq, &is_there));
	if (is_there)
		return NULL;
	ret_report->is_whole = false;
	(void)snprintf(ret_report->reason, sizeof ret_report->reason,
		       "the audit log does not contain its record %llu any more: it was cut or "
		       "replaced; put it back, or accept it: faultwire audit accept FILE",
		       (unsigned long long)seq);
	return NULL;
}

/* At the start, and in a worker. */
static fw_error *verify(const char *path, struct fw_ws_audit_report *ret_report)
{
	struct fw_audit_report report;
	fw_error *err = fw_audit_verify(path, NULL, &report);

	if (err && fw_error_code(err) == FW_FILE_NOT_FOUND) {
		fw_error_free(err);
		ret_report->is_whole = true;
		return NULL;
	}
	FW_TRY(err);
	FW_TRY(check_head(path, ret_report));
	if (!ret_report->is_whole)
		return NULL;
	/* The server may be writing its last line just now. */
	ret_report->is_whole = report.fault == FW_AUDIT_WHOLE || report.fault == FW_AUDIT_TORN;
	ret_report->records = report.records;
	(void)snprintf(ret_report->reason, sizeof ret_report->reason, "%s", report.reason);
	return NULL;
}

fw_error *cli_workspace_add(fw_server *server, const struct cli_workspace *how,
			    struct serve_observers *observers)
{
	struct fw_workspace_options options = { .directory = how->directory,
						.role = how->role,
						.plan_key = how->plan_key,
						.preflight = how->preflight,
						.hard_links = how->hard_links,
						.sandbox = how->sandbox,
						.workers = how->workers,
						.began = how->keeps_audit ? NULL : move_audit,
						.note = note,
						.verify_audit = verify,
						.ctx = observers };
	char state[CLI_PATH_SIZE];
	char *policy = NULL;
	size_t len = 0;
	fw_error *err;

	if (!how->role)
		return cli_usage("the workspace toolset needs --role windsurf or antigravity");
	FW_TRY(read_lock_on(how->lock_on, &options.lock_on));
	FW_TRY(read_seconds(how->preflight_timeout, &options.preflight_ms));
	if (how->policy)
		FW_TRY(cli_read_file(how->policy, POLICY_MAX, &policy, &len));
	options.policy = policy;
	err = cli_state_path("workspaces", false, state);
	fw_error_free(err);
	options.state = !err && state[0] ? state : NULL;
	err = fw_workspace_add(server, &options, &observers->workspace);
	free(policy);
	return err;
}
