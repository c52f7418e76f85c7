/*
 * observe.c - keeps the session, on the server's thread: which tools may be called, how
 * a call changes the session, and which failures lock it.
 *
 * A session begins just before begin_session is answered, so that the audit record of
 * that call is already written to the log of the workspace. If the record cannot be
 * written, the session does not begin. The session is locked and unlocked after the
 * reply, according to what the client received.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <yyjson.h>

#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "core/redact.h"
#include "tools/workspace/bootstrap.h"
#include "tools/workspace/journal.h"
#include "tools/workspace/trusted.h"

#include <faultwire/raise.h>

/* What a call did that its outcome does not say. */
struct fw_ws_done {
	struct fw_ws_done *next;
	const fw_call *call;
	bool began;
	bool reported; /* it wrote a report, which unlocks the session */
	char journal[FW_WS_ID_SIZE];
};

/* ---- what all handlers see ---- */

static void publish(fw_workspace *ws)
{
	struct fw_buf text;
	fw_scope scope = { .role = NULL };

	fw_buf_init(&text, FW_WS_STATE_BYTES);
	FW_BUF(&text, "{");
	fw_ws_session_write(&ws->session, &text);
	FW_BUF(&text, "}");
	if (text.state == FW_BUF_OK)
		(void)fw_state_set(ws->state, text.text, text.len);
	fw_buf_clear(&text);
	(void)pthread_mutex_lock(&ws->lock);
	ws->shared = ws->session;
	(void)pthread_mutex_unlock(&ws->lock);
	if (ws->session.id[0]) {
		scope.role = fw_ws_role_name(ws->role);
		scope.session_id = ws->session.id;
		scope.workspace_root = ws->session.root;
	}
	fw_server_set_scope(ws->server, &scope);
}

/* The arguments of a call; the server has limited the message they came in. */
static yyjson_doc *read_json(const char *text, size_t len)
{
	const struct fw_json_limits limits = { .bytes = FW_LIMIT_JSON_BYTES };

	return text ? fw_json_read(text, len, limits, 0, NULL, NULL) : NULL;
}

/* ---- before a call ---- */

/*
 * The server records the nonce of a bootstrap payload before the call runs, where no
 * worker can undo it. The nonce stays used if the call then fails. A payload without a
 * valid signature is refused by the worker.
 */
static fw_error *use_nonce(const fw_workspace *ws, const fw_outcome *coming)
{
	size_t len = 0;
	char *arguments = ws->trusted ? fw_outcome_arguments(coming, &len) : NULL;
	yyjson_doc *doc = read_json(arguments, len);
	char nonce[64];
	fw_error *err = NULL;

	if (doc && fw_ws_bootstrap_is_valid(ws, &ws->root, yyjson_doc_get_root(doc), nonce))
		err = fw_ws_trusted_use_nonce(ws, &ws->root, nonce);
	yyjson_doc_free(doc);
	fw_free(arguments);
	return err;
}

static fw_error *entering(void *ctx, const fw_outcome *coming)
{
	fw_workspace *ws = ctx;
	const struct fw_ws_tool *tool = coming->name ? fw_ws_tool_find(coming->name) : NULL;

	if (!tool)
		return NULL;
	/* A call whose client has disconnected has left its report; discard it. */
	if (strncmp(fw_state_text(ws->state, NULL), "{\"did\"", 6) == 0)
		publish(ws);
	if (!ws->session.id[0] && strcmp(tool->name, "begin_session") != 0)
		return fw_raise_session_not_initialized(tool->name);
	if (!(tool->roles & ws->role))
		return fw_raise_auth_action_not_allowed(tool->name, fw_ws_role_name(ws->role));
	if (strcmp(tool->name, "bootstrap_create_foundation_plan") == 0)
		return use_nonce(ws, coming);
	return NULL;
}

/* ---- what a failure says of its call ---- */

/* A text that is too long is redacted and cut between two characters. */
static void copy_text(char *to, size_t size, const char *text)
{
	to[0] = '\0';
	if (text)
		(void)fw_redact_cut(to, size, text, strlen(text));
}

/* Reads phase and plan from the arguments. */
static void read_arguments(fw_workspace *ws, const fw_outcome *outcome)
{
	size_t len = 0;
	char *arguments = fw_outcome_arguments(outcome, &len);
	yyjson_doc *doc = read_json(arguments, len);
	yyjson_val *all = yyjson_doc_get_root(doc);
	const char *plan = yyjson_get_str(yyjson_obj_get(all, "plan"));

	copy_text(ws->phase_id, sizeof ws->phase_id,
		  yyjson_get_str(yyjson_obj_get(all, "phase_id")));
	copy_text(ws->plan_hash, sizeof ws->plan_hash,
		  plan && fw_sha256_is_text(plan, strlen(plan)) ? plan : NULL);
	yyjson_doc_free(doc);
	fw_free(arguments);
}

void fw_workspace_describe(fw_workspace *ws, const fw_outcome *outcome, fw_scope *scope)
{
	if (ws->session.id[0]) {
		scope->role = fw_ws_role_name(ws->role);
		scope->session_id = ws->session.id;
		scope->workspace_root = ws->session.root;
	}
	if (!outcome || !outcome->name || !fw_ws_tool_find(outcome->name))
		return;
	read_arguments(ws, outcome);
	scope->phase_id = ws->phase_id[0] ? ws->phase_id : NULL;
	scope->plan_hash = ws->plan_hash[0] ? ws->plan_hash : NULL;
}

static void failing(void *ctx, const fw_outcome *outcome, fw_error *err)
{
	fw_scope scope = { .role = NULL };

	if (!outcome->name || !fw_ws_tool_find(outcome->name))
		return;
	fw_workspace_describe(ctx, outcome, &scope);
	fw_error_fill_scope(err, &scope);
}

/* ---- a call's own report ---- */

/* Records each recovered write in the audit log. */
static void note_recovered(const fw_workspace *ws, yyjson_val *list)
{
	yyjson_arr_iter iter;
	char text[FW_PATH_SIZE + 256];

	if (!ws->note || !yyjson_is_arr(list))
		return;
	yyjson_arr_iter_init(list, &iter);
	for (yyjson_val *item; (item = yyjson_arr_iter_next(&iter));) {
		const char *path = yyjson_get_str(yyjson_obj_get(item, "path"));
		const char *outcome = yyjson_get_str(yyjson_obj_get(item, "outcome"));
		const char *hash = yyjson_get_str(yyjson_obj_get(item, "sha256"));

		(void)snprintf(text, sizeof text,
			       "a write of %s was interrupted; its content is %s (sha256 %s)",
			       path ? path : "", outcome ? outcome : "", hash ? hash : "none");
		ws->note(ws->ctx, text);
	}
}

static void text_of(char *to, size_t size, yyjson_val *value)
{
	const char *text = yyjson_get_str(value);

	(void)snprintf(to, size, "%s", text ? text : "");
}

static fw_error *begin(fw_workspace *ws, yyjson_val *report)
{
	struct fw_ws_session session = { .dev = yyjson_get_uint(yyjson_obj_get(report, "dev")),
					 .ino = yyjson_get_uint(
						 yyjson_obj_get(report, "ino")) };
	char log[FW_PATH_SIZE];
	fw_error *err;
	int dir;

	text_of(session.id, sizeof session.id, yyjson_obj_get(report, "session"));
	text_of(session.root, sizeof session.root, yyjson_obj_get(report, "root"));
	if (ws->session.id[0]) {
		/* Another begin_session came first. */
		if (ws->session.dev != session.dev || ws->session.ino != session.ino)
			return fw_raise_session_init_failed(
				"the session is bound to another root already");
		return NULL;
	}
	/* Opened by its path here and only here; from now on the descriptor is used. */
	FW_TRY(fw_ws_session_open_root(ws, &session, "begin_session", &ws->root));
	err = fw_ws_trusted_begin(ws, &ws->root, &dir, log);
	if (err) {
		fw_root_close(&ws->root);
		return err;
	}
	ws->session = session;
	if (ws->began)
		ws->began(ws->ctx, dir, log);
	return NULL;
}

/* Ends a session that no client knows about. */
static void end_unknown_session(fw_workspace *ws)
{
	memset(&ws->session, 0, sizeof ws->session);
	fw_root_close(&ws->root);
	if (ws->began)
		ws->began(ws->ctx, -1, NULL);
}

static bool is_report_of(const fw_outcome *outcome, yyjson_val *report)
{
	char hex[FW_SHA256_TEXT];
	size_t len = 0;
	char *arguments = fw_outcome_arguments(outcome, &len);

	fw_sha256_text(arguments ? arguments : "", arguments ? len : 0, hex);
	fw_free(arguments);
	return hex[0] && yyjson_equals_str(yyjson_obj_get(report, "of"), hex);
}

static void remember(fw_workspace *ws, const fw_call *call, yyjson_val *report, bool is_new)
{
	struct fw_ws_done *done = fw__allocate(sizeof *done);
	const char *did = yyjson_get_str(yyjson_obj_get(report, "did"));

	/* Out of memory: the session stays locked, and recovery removes the journal
	 * entry later. */
	if (!done)
		return;
	memset(done, 0, sizeof *done);
	done->call = call;
	done->began = is_new;
	done->reported = strcmp(did, "reported") == 0;
	text_of(done->journal, sizeof done->journal, yyjson_obj_get(report, "journal"));
	done->next = ws->done;
	ws->done = done;
}

static bool replying(void *ctx, const fw_outcome *outcome, fw_hold *hold)
{
	fw_workspace *ws = ctx;
	size_t len = 0;
	const char *text = fw_state_text(ws->state, &len);
	yyjson_doc *doc = fw_json_read(text, len, FW_JSON_SMALL, 0, NULL, NULL);
	yyjson_val *report = yyjson_doc_get_root(doc);
	const char *did = yyjson_get_str(yyjson_obj_get(report, "did"));
	const struct fw_ws_tool *tool = outcome->name ? fw_ws_tool_find(outcome->name) : NULL;
	bool is_own_report = did && tool && is_report_of(outcome, report);
	fw_error *err = NULL;

	if (is_own_report && !outcome->error) {
		bool had_session = ws->session.id[0] != '\0';

		if (strcmp(did, "began") == 0)
			err = begin(ws, report);
		if (!err)
			remember(ws, outcome->call, report, !had_session);
	}
	/* If the session has just begun, this is written to its log. */
	if (is_own_report)
		note_recovered(ws, yyjson_obj_get(report, "recovered"));
	if (did)
		publish(ws);
	yyjson_doc_free(doc);
	if (!err)
		return false;
	fw_hold_release(hold, err);
	return true;
}

/* ---- after a call ---- */

static bool is_integrity_failure(const char *code)
{
	static const char *const codes[] = { "INVARIANT_VIOLATION", "AUDIT_LOG_FAILED",
					     "AUDIT_LOCK_FAILED", "PREFLIGHT_FAILED",
					     "PLAN_ENFORCEMENT_FAILED" };

	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (strcmp(codes[i], code) == 0)
			return true;
	return false;
}

static bool locks(const fw_workspace *ws, const fw_outcome *outcome)
{
	const char *code = fw_error_row(outcome->error)->kaiza;

	if (ws->lock_on == FW_WS_LOCK_NEVER || !outcome->name ||
	    !fw_ws_tool_find(outcome->name) || strcmp(outcome->name, "begin_session") == 0)
		return false;
	return ws->lock_on == FW_WS_LOCK_ANY || is_integrity_failure(code);
}

static struct fw_ws_done *take(fw_workspace *ws, const fw_call *call)
{
	for (struct fw_ws_done **at = &ws->done; *at; at = &(*at)->next) {
		struct fw_ws_done *done = *at;

		if (done->call == call) {
			*at = done->next;
			return done;
		}
	}
	return NULL;
}

static void finished(void *ctx, const fw_outcome *outcome)
{
	fw_workspace *ws = ctx;
	struct fw_ws_done *done = take(ws, outcome->call);
	bool changed = false;

	if (outcome->error && ws->session.id[0] && !ws->session.locked_by[0] &&
	    locks(ws, outcome)) {
		(void)snprintf(ws->session.locked_by, sizeof ws->session.locked_by, "%s",
			       fw_error_row(outcome->error)->kaiza);
		changed = true;
	}
	if (done && outcome->error && done->began) {
		end_unknown_session(ws);
		changed = true;
	}
	if (done && !outcome->error && done->journal[0])
		fw_ws_journal_drop(&ws->root, done->journal);
	if (done && !outcome->error && done->reported && ws->session.locked_by[0]) {
		ws->session.locked_by[0] = '\0';
		changed = true;
	}
	if (changed)
		publish(ws);
	fw__release(done);
}

void fw_ws_observe_clear(fw_workspace *ws)
{
	while (ws->done) {
		struct fw_ws_done *done = ws->done;

		ws->done = done->next;
		fw__release(done);
	}
}

fw_error *fw_ws_observe(fw_workspace *ws)
{
	const fw_observer observer = {
		.struct_size = sizeof(fw_observer),
		.entering = entering,
		.failing = failing,
		.replying = replying,
		.finished = finished,
		.ctx = ws,
	};

	publish(ws);
	return fw_server_add_observer(ws->server, &observer);
}
