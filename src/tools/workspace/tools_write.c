/*
 * tools_write.c - write_file. A write is checked in this order: path, role, lock, plan
 * (exists, approved, hash, scope), previousHash, patch, policy; then it is written, and
 * the preflight command runs. Session, role and schema were checked before the handler
 * is called.
 *
 * Reports (docs/reports/) need no plan and are not checked by policy and preflight: they
 * unlock a locked session, so a lock must not prevent them.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "tools/common/file.h"
#include "tools/workspace/change.h"
#include "tools/workspace/journal.h"
#include "tools/workspace/patch.h"
#include "tools/workspace/plan_store.h"
#include "tools/workspace/preflight.h"
#include "tools/workspace/protect.h"
#include "tools/workspace/trusted.h"
#include "tools/workspace/write_lock.h"

#include <faultwire/raise.h>

struct change {
	const fw_workspace *ws;
	fw_call *call;
	struct fw_root root;
	struct fw_ws_session session;
	char path[FW_PATH_SIZE]; /* as requested */
	struct fw_place place;   /* the resolved location */
	int lock;
	bool is_report;
	char *old_text; /* NULL: the file does not exist */
	size_t old_len;
	struct fw_ws_patch patch;
	bool has_patch;
	struct fw_buf patched;
	char *after;      /* content after the preflight command; NULL: not read */
	const char *text; /* NULL: delete the file */
	size_t len;
	struct fw_buf recovered;
};

/* ---- path ---- */

static fw_error *find_place(struct change *c)
{
	fw_place_clear(&c->place);
	FW_TRY(fw_place_find(&c->root, c->path, &c->place));
	c->is_report = strncmp(c->place.path, FW_WS_REPORTS "/", sizeof FW_WS_REPORTS) == 0;
	return NULL;
}

/* Outside of docs/reports/ the role is checked first, then that there is a plan. */
static fw_error *check_role(const struct change *c)
{
	if (c->ws->role != FW_WS_WINDSURF)
		return fw_raise_auth_action_not_allowed("write_file outside of docs/reports/",
							fw_ws_role_name(c->ws->role));
	return fw_call_has(c->call, "plan") ? NULL : fw_raise_input_missing_field("plan");
}

/* Reports have no plan whose scope would exclude protected paths. */
static fw_error *check_report(const struct change *c)
{
	if (fw_ws_is_protected(&c->root, c->place.path))
		return fw_raise_auth_action_not_allowed("writing files that other programs "
							"run automatically",
							fw_ws_role_name(c->ws->role));
	return NULL;
}

static fw_error *check_path(struct change *c)
{
	size_t len = 0;
	const char *path = fw_call_string(c->call, "path", &len);

	FW_TRY(fw_root_normalize(&c->root, path, len, c->path));
	/* The directory of reports is created; otherwise a locked session could not be
	 * unlocked. */
	if (strncmp(c->path, FW_WS_REPORTS "/", sizeof FW_WS_REPORTS) == 0) {
		int dir;

		FW_TRY(fw_root_open_dir(&c->root, FW_WS_REPORTS, true, &dir));
		(void)close(dir);
	} else {
		FW_TRY(check_role(c));
	}
	FW_TRY(find_place(c));
	return c->is_report ? check_report(c) : check_role(c);
}

/* ---- plan ---- */

static fw_error *check_plan_text(const struct change *c, const char *hash, const char *text,
				 size_t len)
{
	char fault[FW_WS_FAULT_SIZE];
	struct fw_ws_plan plan;
	const char *refusal;

	if (!fw_ws_plan_read(text, len, &plan, fault))
		return fw_raise_plan_enforcement_failed(hash, fault);
	if (!plan.is_approved)
		return fw_raise_plan_not_approved(hash);
	refusal = fw_ws_plan_verify(&plan, hash, &c->ws->key, c->root.identity);
	if (refusal)
		return fw_raise_plan_enforcement_failed(hash, refusal);
	if (fw_ws_is_protected(&c->root, c->place.path) ||
	    !fw_ws_plan_covers(&plan, c->place.path))
		return fw_raise_plan_scope_violation(hash, c->place.path);
	return NULL;
}

static fw_error *check_plan(const struct change *c)
{
	const char *hash = fw_call_string(c->call, "plan", NULL);
	char *text = NULL;
	size_t len = 0;
	fw_error *err;

	FW_TRY(fw_ws_plan_load(&c->root, hash, &text, &len));
	err = check_plan_text(c, hash, text, len);
	fw__release(text);
	return err;
}

/* ---- what is there now: previousHash comes before the patch ---- */

static fw_error *read_old(struct change *c)
{
	const char *previous = fw_call_string(c->call, "previousHash", NULL);
	char hex[FW_SHA256_TEXT];

	if (!c->place.exists)
		return previous ? fw_raise_file_not_found(c->path) : NULL;
	if (fw_call_bool(c->call, "create", false))
		return fw_raise_file_already_exists(c->path);
	FW_TRY(fw_file_read(&c->root, c->place.path, FW_WS_EDIT_BYTES, &c->old_text,
			    &c->old_len));
	if (!previous)
		return NULL;
	fw_sha256_text(c->old_text, c->old_len, hex);
	if (strcmp(previous, hex) != 0)
		return fw_raise_file_hash_mismatch(c->path, previous, hex);
	return NULL;
}

/* ---- what will be there ---- */

/* Reads the arguments before waiting for the lock. */
static fw_error *read_content(struct change *c)
{
	size_t len = 0;
	const char *patch = fw_call_string(c->call, "patch", &len);

	c->text = fw_call_string(c->call, "content", &c->len);
	if (c->text && patch)
		return fw_raise_input_invalid_value("patch", "omitted if content is given");
	if (!c->text && !patch)
		return fw_raise_input_missing_field("content");
	c->has_patch = patch != NULL;
	return NULL;
}

static fw_error *parse_patch(struct change *c)
{
	size_t len = 0;
	const char *patch = fw_call_string(c->call, "patch", &len);

	if (!c->has_patch)
		return NULL;
	FW_TRY(fw_ws_patch_parse(patch, len, &c->patch));
	return fw_ws_patch_check_name(&c->patch, c->path);
}

/* A missing file must be created explicitly; an existing file must not be created. */
static fw_error *check_existence(const struct change *c)
{
	bool creates = c->has_patch ? c->patch.creates
				    : fw_call_bool(c->call, "create", false) || c->is_report;

	if (!c->place.exists && !creates)
		return fw_raise_file_not_found(c->path);
	if (c->place.exists && c->has_patch && creates)
		return fw_raise_file_already_exists(c->path);
	/* Reports stay on record. */
	if (c->is_report && c->has_patch && c->patch.deletes)
		return fw_raise_auth_action_not_allowed("deleting a report",
							fw_ws_role_name(c->ws->role));
	return NULL;
}

static fw_error *apply_patch(struct change *c)
{
	if (!c->has_patch)
		return NULL;
	FW_TRY(fw_ws_patch_apply(&c->patch, c->path, c->old_text ? c->old_text : "", c->old_len,
				 &c->patched));
	if (c->patched.state == FW_BUF_TOO_LARGE)
		return fw_raise_file_too_large(c->path, FW_WS_EDIT_BYTES);
	if (c->patched.state != FW_BUF_OK)
		return fw_raise_internal_out_of_memory();
	if (c->patch.deletes)
		return NULL;
	c->text = c->patched.text ? c->patched.text : "";
	c->len = c->patched.len;
	return NULL;
}

/* ---- writing ---- */

static void write_result(struct change *c)
{
	char hex[FW_SHA256_TEXT];
	struct fw_buf out;

	fw_buf_init(&out, 4 * FW_PATH_SIZE);
	FW_BUF(&out, "{\"path\":");
	fw_buf_json_str(&out, c->place.path);
	FW_BUF(&out, ",\"outcome\":");
	fw_buf_json_str(&out, !c->text ? "deleted" : c->old_text ? "replaced" : "created");
	FW_BUF(&out, ",\"size\":");
	fw_buf_i64(&out, (int64_t)c->len);
	FW_BUF(&out, ",\"sha256\":");
	if (c->text) {
		fw_sha256_text(c->text, c->len, hex);
		fw_buf_json_str(&out, hex);
	} else {
		FW_BUF(&out, "null");
	}
	FW_BUF(&out, ",\"previousHash\":");
	if (c->old_text) {
		fw_sha256_text(c->old_text, c->old_len, hex);
		fw_buf_json_str(&out, hex);
	} else {
		FW_BUF(&out, "null");
	}
	FW_BUF(&out, "}");
	if (out.state == FW_BUF_OK)
		fw_call_structured(c->call, out.text, out.len);
	fw_buf_clear(&out);
}

/* The preflight command may have formatted the file: the result has the hash of the
 * current content. */
static void reread(struct change *c)
{
	fw_error *err = NULL;
	size_t len = 0;

	if (!c->text)
		return;
	err = fw_file_read(&c->root, c->place.path, FW_WS_EDIT_BYTES, &c->after, &len);
	if (!err) {
		c->text = c->after;
		c->len = len;
	}
	fw_error_free(err);
}

/* A command that replaced the link to the log has failed, whatever its exit
 * status. */
static fw_error *run_preflight(const struct change *c)
{
	const fw_workspace *ws = c->ws;
	bool was_in_place = fw_ws_trusted_is_link_intact(ws, &c->root);
	fw_error *err =
		fw_ws_preflight(&c->root, ws->preflight, ws->preflight_ms, c->place.path);

	if (!was_in_place || fw_ws_trusted_is_link_intact(ws, &c->root))
		return err;
	return fw_error_caused_by(
		fw_ws_raise_invariant(FW_HERE, FW_WS_LOG_IN_PLACE,
				      "the preflight command replaced audit-log.jsonl of the "
				      "workspace; the log itself is intact"),
		err);
}

static fw_error *write_and_check(struct change *c, struct fw_ws_change *w)
{
	const fw_workspace *ws = c->ws;
	fw_error *err;

	FW_TRY(fw_ws_change_begin(w));
	FW_TRY(fw_ws_change_apply(w));
	if (ws->preflight && !c->is_report) {
		err = run_preflight(c);
		FW_WS_STEP("verdict");
		if (err) {
			fw_error *worse = fw_ws_change_undo(w);

			return worse ? fw_error_caused_by(worse, err) : err;
		}
		reread(c);
	}
	return fw_ws_change_keep(w);
}

/* ---- all of it ---- */

static fw_error *check_all(struct change *c)
{
	size_t count = 0;

	FW_TRY(read_content(c));
	FW_TRY(check_path(c));
	if (c->session.locked_by[0] && !c->is_report)
		return fw_raise_session_locked(c->session.locked_by);
	if (!c->is_report)
		FW_TRY(check_plan(c));
	FW_TRY(fw_ws_write_lock(&c->root, FW_WS_WRITE_LOCK_MS + c->ws->preflight_ms, &c->lock));
	FW_TRY(fw_ws_journal_recover(&c->root, &c->recovered, &count));
	/* Things may have changed while waiting for the lock. */
	FW_TRY(find_place(c));
	FW_TRY(c->is_report ? check_report(c) : check_plan(c));
	FW_TRY(read_old(c));
	FW_TRY(parse_patch(c));
	FW_TRY(check_existence(c));
	FW_TRY(apply_patch(c));
	if (!c->is_report && c->text)
		FW_TRY(fw_ws_policy_check(c->ws->policy, c->place.path, c->text, c->len));
	return NULL;
}

/* Is the content more than white space? A blank report does not unlock. */
static bool is_not_blank(const struct change *c)
{
	for (size_t i = 0; c->text && i < c->len; i++)
		if (!strchr(" \t\r\n", c->text[i]) || !c->text[i])
			return true;
	return false;
}

static void clear(struct change *c)
{
	fw_ws_write_unlock(c->lock);
	fw_place_clear(&c->place);
	fw_ws_patch_clear(&c->patch);
	fw_buf_clear(&c->patched);
	fw_buf_clear(&c->recovered);
	fw__release(c->old_text);
	fw__release(c->after);
	fw_root_close(&c->root);
}

fw_error *fw_ws_write_file(fw_call *call, void *ctx)
{
	struct change c = { .ws = ctx,
			    .call = call,
			    .root = FW_ROOT_INIT,
			    .place = FW_PLACE_INIT,
			    .lock = -1 };
	struct fw_ws_change w = { .journal = -1 };
	fw_error *err;

	fw_buf_init(&c.patched, FW_WS_EDIT_BYTES);
	fw_buf_init(&c.recovered, FW_WS_STATE_BYTES / 2);
	err = fw_ws_session_enter(c.ws, call, &c.session, &c.root);
	if (!err)
		err = check_all(&c);
	if (!err) {
		w.root = &c.root;
		w.place = &c.place;
		w.text = c.text;
		w.len = c.len;
		w.old_text = c.old_text;
		w.old_len = c.old_len;
		err = write_and_check(&c, &w);
		fw_ws_change_clear(&w);
	}
	if (!err) {
		write_result(&c);
		fw_ws_notify_wrote(call, w.id, c.is_report && is_not_blank(&c),
				   c.recovered.text);
	}
	FW_WS_STEP("returned");
	clear(&c);
	return err;
}
