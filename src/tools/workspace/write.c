/*
 * write.c - see write.h.
 */
#include "tools/workspace/write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/limits.h"
#include "tools/common/file.h"
#include "tools/reserve/reserve.h"
#include "tools/workspace/journal.h"
#include "tools/workspace/plan_store.h"
#include "tools/workspace/preflight.h"
#include "tools/workspace/protect.h"
#include "tools/workspace/revoked.h"
#include "tools/workspace/trusted.h"
#include "tools/workspace/write_lock.h"

#include <faultwire/raise.h>

static bool is_below_reports(const char *path)
{
	return strncmp(path, FW_WS_REPORTS "/", sizeof FW_WS_REPORTS) == 0;
}

/* ---- path ---- */

static fw_error *find_place(const struct fw_ws_write *w, struct fw_ws_item *item)
{
	fw_place_clear(&item->place);
	if (w->makes_directories && item->creates)
		FW_TRY(fw_place_find_new(&w->root, item->path, &item->place));
	else
		FW_TRY(fw_place_find(&w->root, item->path, &item->place));
	item->is_report = is_below_reports(item->place.path);
	return NULL;
}

/* Outside of docs/reports/ the role is checked first, then that there is a plan. */
static fw_error *check_role(const struct fw_ws_write *w)
{
	if (w->ws->role != FW_WS_WINDSURF)
		return fw_raise_auth_action_not_allowed("write_file outside of docs/reports/",
							fw_ws_role_name(w->ws->role));
	return fw_call_has(w->call, "plan") ? NULL : fw_raise_input_missing_field("plan");
}

/* Is one of the directories that have to be created for this file protected? */
static bool needs_protected_directory(const struct fw_ws_write *w, const char *path)
{
	char part[FW_PATH_SIZE];

	for (const char *end = strchr(path, '/'); end; end = strchr(end + 1, '/')) {
		int fd;

		(void)snprintf(part, sizeof part, "%.*s", (int)(end - path), path);
		fd = fw_root_open_beneath(w->root.fd, part, O_PATH);
		if (fd >= 0)
			(void)close(fd);
		else if (fw_ws_is_protected_directory(&w->root, part))
			return true;
	}
	return false;
}

/* Reports have no plan whose scope would exclude protected paths. */
static fw_error *check_report(const struct fw_ws_write *w, const struct fw_ws_item *item)
{
	const char *refusal = NULL;

	if (!w->takes_reports)
		refusal = "changing reports other than with write_file";
	else if (fw_ws_is_protected(&w->root, item->place.path) ||
		 needs_protected_directory(w, item->place.path))
		refusal = "writing files that other programs run automatically";
	return refusal ? fw_raise_auth_action_not_allowed(refusal, fw_ws_role_name(w->ws->role))
		       : NULL;
}

static fw_error *check_path(const struct fw_ws_write *w, struct fw_ws_item *item)
{
	FW_TRY(fw_root_normalize(&w->root, item->given, item->given_len, item->path));
	/* The directory of reports is created; otherwise a locked session could not be
	 * unlocked. */
	if (w->takes_reports && is_below_reports(item->path)) {
		int dir;

		FW_TRY(fw_root_open_dir(&w->root, FW_WS_REPORTS, true, &dir));
		(void)close(dir);
	} else {
		FW_TRY(check_role(w));
	}
	FW_TRY(find_place(w, item));
	return item->is_report ? check_report(w, item) : check_role(w);
}

/* Two names of one file cannot both be written. */
static fw_error *check_distinct(const struct fw_ws_write *w)
{
	for (size_t i = 1; i < w->count; i++)
		for (size_t j = 0; j < i; j++) {
			char field[40];

			if (strcmp(w->items[i].place.path, w->items[j].place.path) != 0)
				continue;
			(void)snprintf(field, sizeof field, "%s%s", w->items[i].where,
				       w->items[i].source ? "to" : "path");
			return fw_raise_input_invalid_value(field,
							    "a file that occurs only once");
		}
	return NULL;
}

static fw_error *find_directory(struct fw_ws_write *w)
{
	char path[FW_PATH_SIZE];
	int fd;

	if (!w->directory)
		return NULL;
	FW_TRY(fw_root_normalize(&w->root, w->directory, w->directory_len, path));
	fd = fw_root_open_beneath(w->root.fd, path, O_PATH | O_DIRECTORY);
	if (fd >= 0) {
		(void)close(fd);
		return fw_raise_file_already_exists(path);
	}
	fw_place_clear(&w->directory_place);
	FW_TRY(fw_place_find_new(&w->root, path, &w->directory_place));
	return w->directory_place.exists ? fw_raise_file_already_exists(path) : NULL;
}

static fw_error *check_paths(struct fw_ws_write *w)
{
	for (size_t i = 0; i < w->count; i++)
		FW_TRY(check_path(w, &w->items[i]));
	FW_TRY(check_distinct(w));
	return find_directory(w);
}

static bool is_report(const struct fw_ws_write *w)
{
	return w->count == 1 && w->items[0].is_report;
}

/* ---- plan ---- */

static bool is_in_scope(const struct fw_ws_write *w, const struct fw_ws_plan *plan,
			const char *path)
{
	return !fw_ws_is_protected(&w->root, path) && !needs_protected_directory(w, path) &&
	       fw_ws_plan_covers(plan, path);
}

static fw_error *check_scope(const struct fw_ws_write *w, const struct fw_ws_plan *plan,
			     const char *hash)
{
	const char *path = w->directory_place.path;

	for (size_t i = 0; i < w->count; i++)
		if (!is_in_scope(w, plan, w->items[i].place.path))
			return fw_raise_plan_scope_violation(hash, w->items[i].place.path);
	if (w->directory && (fw_ws_is_protected_directory(&w->root, path) ||
			     is_below_reports(path) || !is_in_scope(w, plan, path)))
		return fw_raise_plan_scope_violation(hash, path);
	return NULL;
}

static fw_error *check_plan_text(const struct fw_ws_write *w, const char *hash,
				 const char *text, size_t len)
{
	char fault[FW_WS_FAULT_SIZE];
	struct fw_ws_plan plan;
	const char *refusal;

	if (!fw_ws_plan_read(text, len, &plan, fault))
		return fw_raise_plan_enforcement_failed(hash, fault);
	if (!plan.is_approved)
		return fw_raise_plan_not_approved(hash);
	refusal = fw_ws_plan_verify(&plan, hash, &w->ws->key, w->root.identity);
	if (!refusal && fw_ws_revoked_has(w->ws->revoked, &w->root, hash))
		refusal = FW_WS_REVOKED_FAULT;
	if (refusal)
		return fw_raise_plan_enforcement_failed(hash, refusal);
	return check_scope(w, &plan, hash);
}

static fw_error *check_plan(const struct fw_ws_write *w)
{
	const char *hash = fw_call_string(w->call, "plan", NULL);
	char *text = NULL;
	size_t len = 0;
	fw_error *err;

	if (is_report(w))
		return check_report(w, &w->items[0]);
	FW_TRY(fw_ws_plan_load(&w->root, hash, &text, &len));
	err = check_plan_text(w, hash, text, len);
	fw__release(text);
	return err;
}

/* ---- reservations ---- */

static void put_question(const struct fw_ws_write *w, struct fw_buf *out)
{
	FW_BUF(out, "{\"root\":");
	fw_buf_json_str(out, w->root.path);
	FW_BUF(out, ",\"paths\":[");
	for (size_t i = 0; i < w->count; i++) {
		if (i)
			FW_BUF(out, ",");
		fw_buf_json_str(out, w->items[i].place.path);
	}
	if (w->directory) {
		if (w->count)
			FW_BUF(out, ",");
		fw_buf_json_str(out, w->directory_place.path);
	}
	FW_BUF(out, "]}");
}

/*
 * Does another agent hold one of the files? Only the server knows: it is asked, and the
 * handler runs again with the answer. The question is named after its text, so that an
 * answer about other files is not taken for this one's.
 */
static fw_error *check_reservations(struct fw_ws_write *w)
{
	char key[16 + FW_SHA256_TEXT] = "host:";
	struct fw_buf question;
	const char *answer = NULL;

	if (!w->ws->checks_reservations || is_report(w))
		return NULL;
	fw_buf_init(&question, FW_LIMIT_JSON_BYTES);
	put_question(w, &question);
	if (question.state == FW_BUF_OK) {
		fw_sha256_text(question.text, question.len, key + 5);
		key[5 + 32] = '\0';
		answer = fw_call_ask(w->call, key, FW_RESERVE_QUESTION, question.text);
		w->is_waiting = !answer;
	}
	fw_buf_clear(&question);
	if (answer)
		return fw_reserve_read_answer(answer);
	return w->is_waiting ? NULL : fw_raise_internal_out_of_memory();
}

/* ---- what is there now: previousHash comes before the patch ---- */

static fw_error *count_bytes(struct fw_ws_write *w, const struct fw_ws_item *item, size_t len)
{
	if (len > FW_LIMIT_WORKSPACE_BYTES - w->bytes)
		return fw_raise_file_too_large(item->path, FW_LIMIT_WORKSPACE_BYTES);
	w->bytes += len;
	return NULL;
}

static fw_error *read_old(struct fw_ws_write *w, struct fw_ws_item *item)
{
	char hex[FW_SHA256_TEXT];

	if (!item->place.exists)
		return item->previous ? fw_raise_file_not_found(item->path) : NULL;
	if (item->creates)
		return fw_raise_file_already_exists(item->path);
	FW_TRY(fw_file_read(&w->root, item->place.path, FW_WS_EDIT_BYTES, &item->old_text,
			    &item->old_len));
	FW_TRY(count_bytes(w, item, item->old_len));
	if (!item->previous)
		return NULL;
	fw_sha256_text(item->old_text, item->old_len, hex);
	if (strcmp(item->previous, hex) != 0)
		return fw_raise_file_hash_mismatch(item->path, item->previous, hex);
	return NULL;
}

/* ---- what will be there ---- */

static fw_error *raise_missing(const struct fw_ws_item *item, const char *name)
{
	char field[40];

	(void)snprintf(field, sizeof field, "%s%s", item->where, name);
	return fw_raise_input_missing_field(field);
}

/* Before waiting for the lock. */
static fw_error *check_content(const struct fw_ws_item *item)
{
	int given = (item->content != NULL) + (item->diff != NULL) + item->deletes;
	char field[40];

	if (item->source)
		return NULL;
	if (!given)
		return raise_missing(item, "content");
	if (given == 1 && !(item->deletes && item->creates))
		return NULL;
	(void)snprintf(field, sizeof field, "%s%s", item->where,
		       item->deletes ? "delete" : "patch");
	return fw_raise_input_invalid_value(field, item->deletes
							   ? "the only change of its file"
							   : "omitted if content is given");
}

/* A missing file must be created explicitly; an existing file must not be created. */
static fw_error *check_existence(const struct fw_ws_write *w, const struct fw_ws_item *item)
{
	bool creates = item->diff ? item->patch.creates : item->creates || item->is_report;

	if (!item->place.exists && !creates)
		return fw_raise_file_not_found(item->path);
	if (item->place.exists && item->diff && creates)
		return fw_raise_file_already_exists(item->path);
	/* Reports stay on record. */
	if (item->is_report && item->diff && item->patch.deletes)
		return fw_raise_auth_action_not_allowed("deleting a report",
							fw_ws_role_name(w->ws->role));
	return NULL;
}

static fw_error *apply_patch(struct fw_ws_item *item)
{
	FW_TRY(fw_ws_patch_apply(&item->patch, item->path, item->old_text ? item->old_text : "",
				 item->old_len, &item->patched));
	if (item->patched.state == FW_BUF_TOO_LARGE)
		return fw_raise_file_too_large(item->path, FW_WS_EDIT_BYTES);
	if (item->patched.state != FW_BUF_OK)
		return fw_raise_internal_out_of_memory();
	if (item->patch.deletes)
		return NULL;
	item->text = item->patched.text ? item->patched.text : "";
	item->len = item->patched.len;
	return NULL;
}

static fw_error *make_content(struct fw_ws_write *w, struct fw_ws_item *item)
{
	if (item->diff) {
		FW_TRY(fw_ws_patch_parse(item->diff, item->diff_len, &item->patch));
		FW_TRY(fw_ws_patch_check_name(&item->patch, item->path));
	}
	FW_TRY(check_existence(w, item));
	if (item->diff) {
		FW_TRY(apply_patch(item));
	} else if (item->source) {
		item->text = item->source->old_text;
		item->len = item->source->old_len;
	} else {
		item->text = item->content;
		item->len = item->content_len;
	}
	return count_bytes(w, item, item->len);
}

/* ---- writing ---- */

/* The preflight command may have formatted the file: the result has the hash of the
 * current content, and that content must be on the disk before the change is final. */
static fw_error *reread(const struct fw_ws_write *w, struct fw_ws_item *item)
{
	struct stat st;
	size_t len = 0;
	fw_error *err;
	int fd;

	FW_TRY(fw_file_open(&w->root, item->place.path, &fd, &st));
	err = fw_file_read_all(fd, item->place.path, FW_WS_EDIT_BYTES, &item->after, &len);
	if (!err && (len != item->len || memcmp(item->after, item->text, len) != 0) &&
	    (fsync(fd) != 0 || fsync(item->place.dir) != 0))
		err = fw_path_errno(errno, item->place.path, true);
	(void)close(fd);
	if (!err) {
		item->text = item->after;
		item->len = len;
	}
	return err;
}

/* A command that removed a file, or made it something that cannot be read, has failed. */
static fw_error *reread_all(struct fw_ws_write *w)
{
	for (size_t i = 0; i < w->count; i++) {
		fw_error *err = w->items[i].text ? reread(w, &w->items[i]) : NULL;

		if (err)
			return fw_error_caused_by(
				fw_raise_policy_preflight_failed(w->ws->preflight, 0), err);
	}
	return NULL;
}

static fw_error *run_command(const struct fw_ws_write *w)
{
	const fw_workspace *ws = w->ws;
	const struct fw_ws_preflight preflight = { .command = ws->preflight,
						   .limit_ms = ws->preflight_ms,
						   .is_fenced = ws->is_fenced };
	const char *paths[FW_LIMIT_WORKSPACE_FILES] = { w->directory_place.path };

	for (size_t i = 0; i < w->count; i++)
		paths[i] = w->items[i].place.path;
	return fw_ws_preflight_run(&w->root, &preflight, paths, w->count ? w->count : 1);
}

/* A command that replaced the link to the log has failed, even with exit status 0. */
static fw_error *run_preflight(const struct fw_ws_write *w)
{
	bool was_in_place = fw_ws_trusted_is_link_intact(w->ws, &w->root);
	fw_error *err = run_command(w);

	if (!was_in_place || fw_ws_trusted_is_link_intact(w->ws, &w->root))
		return err;
	return fw_error_caused_by(
		fw_ws_raise_invariant(FW_HERE, FW_WS_LOG_IN_PLACE,
				      "the preflight command replaced audit-log.jsonl of the "
				      "workspace; the log itself is intact"),
		err);
}

static fw_error *write_and_check(struct fw_ws_write *w)
{
	fw_error *err;

	FW_TRY(fw_ws_changes_begin(&w->set));
	FW_TRY(fw_ws_changes_apply(&w->set));
	if (w->ws->preflight && !is_report(w)) {
		err = run_preflight(w);
		FW_WS_STEP("verdict");
		if (!err)
			err = reread_all(w);
		if (err) {
			fw_error *worse = fw_ws_changes_undo(&w->set);

			return worse ? fw_error_caused_by(worse, err) : err;
		}
	}
	return fw_ws_changes_keep(&w->set);
}

static fw_error *write_all(struct fw_ws_write *w)
{
	struct fw_ws_change *list = fw__allocate((w->count + 1) * sizeof *list);
	fw_error *err;

	if (!list)
		return fw_raise_internal_out_of_memory();
	memset(list, 0, (w->count + 1) * sizeof *list);
	for (size_t i = 0; i < w->count; i++) {
		struct fw_ws_item *item = &w->items[i];

		list[i] = (struct fw_ws_change){
			.place = &item->place,
			.text = item->text,
			.len = item->len,
			.old_text = item->old_text,
			.old_len = item->old_len,
			.like = item->source ? &item->source->place.stat : NULL,
		};
	}
	w->set.root = &w->root;
	w->set.trusted = w->ws->trusted;
	w->set.server = w->ws->number;
	w->set.list = list;
	w->set.count = w->count;
	w->set.directory = w->directory ? w->directory_place.path : NULL;
	err = write_and_check(w);
	w->set.list = NULL;
	fw__release(list);
	return err;
}

/* ---- all of it ---- */

/* After what is there now was read. */
static fw_error *check_contents(struct fw_ws_write *w)
{
	for (size_t i = 0; i < w->count; i++)
		FW_TRY(make_content(w, &w->items[i]));
	for (size_t i = 0; i < w->count && !is_report(w); i++)
		if (w->items[i].text)
			FW_TRY(fw_ws_policy_check(w->ws->policy, w->items[i].place.path,
						  w->items[i].text, w->items[i].len));
	return NULL;
}

static fw_error *check_after_lock(struct fw_ws_write *w)
{
	size_t count = 0;

	FW_TRY(fw_ws_journal_recover(&w->root, w->ws->trusted, &w->recovered, &count));
	/* Things may have changed while waiting for the lock. */
	for (size_t i = 0; i < w->count; i++)
		FW_TRY(find_place(w, &w->items[i]));
	FW_TRY(check_distinct(w));
	FW_TRY(find_directory(w));
	FW_TRY(check_plan(w));
	FW_TRY(check_reservations(w));
	for (size_t i = 0; i < w->count && !w->is_waiting; i++)
		FW_TRY(read_old(w, &w->items[i]));
	return w->is_waiting ? NULL : check_contents(w);
}

static fw_error *check_all(struct fw_ws_write *w)
{
	for (size_t i = 0; i < w->count; i++)
		FW_TRY(check_content(&w->items[i]));
	FW_TRY(check_paths(w));
	if (w->session.locked_by[0] && !is_report(w))
		return fw_raise_session_locked(w->session.locked_by);
	FW_TRY(check_plan(w));
	FW_TRY(check_reservations(w));
	if (w->is_waiting)
		return NULL;
	FW_TRY(fw_ws_write_lock(&w->root, FW_WS_WRITE_LOCK_MS + w->ws->preflight_ms, &w->lock));
	return check_after_lock(w);
}

/* Is the content more than white space? A blank report does not unlock. */
static bool is_not_blank(const struct fw_ws_item *item)
{
	for (size_t i = 0; item->text && i < item->len; i++)
		if (!strchr(" \t\r\n", item->text[i]) || !item->text[i])
			return true;
	return false;
}

fw_error *fw_ws_write_run(struct fw_ws_write *w)
{
	FW_TRY(check_all(w));
	if (w->is_waiting)
		return NULL;
	FW_TRY(write_all(w));
	fw_ws_notify_wrote(w->call, w->set.id, is_report(w) && is_not_blank(&w->items[0]),
			   w->recovered.text);
	return NULL;
}

/* ---- lifecycle ---- */

fw_error *fw_ws_write_begin(struct fw_ws_write *w, const fw_workspace *ws, fw_call *call,
			    size_t count)
{
	size_t size = (count + 1) * sizeof *w->items;

	*w = (struct fw_ws_write){ .ws = ws,
				   .call = call,
				   .root = FW_ROOT_INIT,
				   .directory_place = FW_PLACE_INIT,
				   .lock = -1,
				   .set = FW_WS_CHANGES_INIT };
	fw_buf_init(&w->recovered, FW_WS_STATE_BYTES / 2);
	w->items = fw__allocate(size);
	if (!w->items)
		return fw_raise_internal_out_of_memory();
	memset(w->items, 0, size);
	w->count = count;
	for (size_t i = 0; i < count; i++) {
		w->items[i].place.dir = -1;
		fw_buf_init(&w->items[i].patched, FW_WS_EDIT_BYTES);
	}
	return fw_ws_session_enter(ws, call, &w->session, &w->root);
}

void fw_ws_write_clear(struct fw_ws_write *w)
{
	fw_ws_write_unlock(w->lock);
	for (size_t i = 0; w->items && i < w->count; i++) {
		fw_place_clear(&w->items[i].place);
		fw_ws_patch_clear(&w->items[i].patch);
		fw_buf_clear(&w->items[i].patched);
		fw__release(w->items[i].old_text);
		fw__release(w->items[i].after);
	}
	fw__release(w->items);
	fw_place_clear(&w->directory_place);
	fw_ws_changes_clear(&w->set);
	fw_buf_clear(&w->recovered);
	fw_root_close(&w->root);
}

void fw_ws_write_put_item(const struct fw_ws_item *item, struct fw_buf *out)
{
	FW_BUF(out, "{\"path\":");
	fw_buf_json_str(out, item->place.path);
	FW_BUF(out, ",\"outcome\":");
	fw_buf_json_str(out, !item->text ? "deleted" : item->old_text ? "replaced" : "created");
	FW_BUF(out, ",\"size\":");
	fw_buf_i64(out, (int64_t)item->len);
	FW_BUF(out, ",\"sha256\":");
	fw_ws_put_hash(out, item->text, item->len);
	FW_BUF(out, ",\"previousHash\":");
	fw_ws_put_hash(out, item->old_text, item->old_len);
	FW_BUF(out, "}");
}
