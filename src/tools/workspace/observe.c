/*
 * observe.c - the session's truth, on the server's thread: who may call what
 * before its arguments are looked at, what a call has changed about the
 * session, and which failures lock it.
 *
 * A session begins when begin_session is about to be answered, so that its own
 * audit line is already in the workspace; where that line cannot be written,
 * it never began. Locks and releases come after the reply, from what the
 * client was really told.
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

/* ---- what all handlers see ------------------------------------------------------ */

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

/* ---- before a call ----------------------------------------------------------------- */

/*
 * The nonce of a bootstrap payload is used up here, by the server, where no worker
 * can undo it; also when the call then fails, for a plan exists already. What is
 * not signed is left to the worker to refuse.
 */
static fw_error *spend_nonce(const fw_workspace *ws, const fw_outcome *coming)
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
	/* The word of a call that nobody waits for any more. */
	if (strncmp(fw_state_text(ws->state, NULL), "{\"did\"", 6) == 0)
		publish(ws);
	if (!ws->session.id[0] && strcmp(tool->name, "begin_session") != 0)
		return fw_raise_session_not_initialized(tool->name);
	if (!(tool->roles & ws->role))
		return fw_raise_auth_action_not_allowed(tool->name, fw_ws_role_name(ws->role));
	if (strcmp(tool->name, "bootstrap_create_foundation_plan") == 0)
		return spend_nonce(ws, coming);
	return NULL;
}

/* ---- what a failure says of its call ------------------------------------------------ */

/* What is too long, and refused for that, is redacted and cut between two characters. */
static void copy_text(char *to, size_t size, const char *text)
{
	to[0] = '\0';
	if (text)
		(void)fw_redact_cut(to, size, text, strlen(text));
}

/* Phase and plan, as the arguments name them. */
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

/* ---- a call's own word ---------------------------------------------------------------- */

/* "a write of src/a.c was under way: the old content is there" */
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

static fw_error *begin(fw_workspace *ws, yyjson_val *word)
{
	struct fw_ws_session session = { .dev = yyjson_get_uint(yyjson_obj_get(word, "dev")),
					 .ino = yyjson_get_uint(yyjson_obj_get(word, "ino")) };
	char log[FW_PATH_SIZE];
	fw_error *err;
	int dir;

	text_of(session.id, sizeof session.id, yyjson_obj_get(word, "session"));
	text_of(session.root, sizeof session.root, yyjson_obj_get(word, "root"));
	if (ws->session.id[0]) {
		/* Another was begun meanwhile. */
		if (ws->session.dev != session.dev || ws->session.ino != session.ino)
			return fw_raise_session_init_failed(
				"the session is bound to another root already");
		return NULL;
	}
	/* Once by its path, and never again: it is held from here on. */
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

/* It was never told to anybody. */
static void take_back(fw_workspace *ws)
{
	memset(&ws->session, 0, sizeof ws->session);
	fw_root_close(&ws->root);
	if (ws->began)
		ws->began(ws->ctx, -1, NULL);
}

static bool is_word_of(const fw_outcome *outcome, yyjson_val *word)
{
	char hex[FW_SHA256_TEXT];
	size_t len = 0;
	char *arguments = fw_outcome_arguments(outcome, &len);

	fw_sha256_text(arguments ? arguments : "", arguments ? len : 0, hex);
	fw_free(arguments);
	return hex[0] && yyjson_equals_str(yyjson_obj_get(word, "of"), hex);
}

static void remember(fw_workspace *ws, const fw_call *call, yyjson_val *word, bool is_new)
{
	struct fw_ws_done *done = fw__allocate(sizeof *done);
	const char *did = yyjson_get_str(yyjson_obj_get(word, "did"));

	/* Without memory the lock stays, and the journal tells its tale later. */
	if (!done)
		return;
	memset(done, 0, sizeof *done);
	done->call = call;
	done->began = is_new;
	done->reported = strcmp(did, "reported") == 0;
	text_of(done->journal, sizeof done->journal, yyjson_obj_get(word, "journal"));
	done->next = ws->done;
	ws->done = done;
}

static bool replying(void *ctx, const fw_outcome *outcome, fw_hold *hold)
{
	fw_workspace *ws = ctx;
	size_t len = 0;
	const char *text = fw_state_text(ws->state, &len);
	yyjson_doc *doc = fw_json_read(text, len, FW_JSON_SMALL, 0, NULL, NULL);
	yyjson_val *word = yyjson_doc_get_root(doc);
	const char *did = yyjson_get_str(yyjson_obj_get(word, "did"));
	const struct fw_ws_tool *tool = outcome->name ? fw_ws_tool_find(outcome->name) : NULL;
	bool is_its_word = did && tool && is_word_of(outcome, word);
	fw_error *err = NULL;

	if (is_its_word && !outcome->error) {
		bool had_session = ws->session.id[0] != '\0';

		if (strcmp(did, "began") == 0)
			err = begin(ws, word);
		if (!err)
			remember(ws, outcome->call, word, !had_session);
	}
	/* Into the log of the session, if it has just begun. */
	if (is_its_word)
		note_recovered(ws, yyjson_obj_get(word, "recovered"));
	if (did)
		publish(ws);
	yyjson_doc_free(doc);
	if (!err)
		return false;
	fw_hold_release(hold, err);
	return true;
}

/* ---- after a call ------------------------------------------------------------------------ */

static bool is_of_integrity(const char *code)
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
	return ws->lock_on == FW_WS_LOCK_ANY || is_of_integrity(code);
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
		take_back(ws);
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
		.entering = entering,
		.failing = failing,
		.replying = replying,
		.finished = finished,
		.ctx = ws,
	};

	publish(ws);
	return fw_server_add_observer(ws->server, &observer);
}
