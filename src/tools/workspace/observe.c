/*
 * observe.c - keeps the sessions, on the server's thread: which tools may be called, how
 * a call changes the session of its client, and which failures lock it.
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
#include "tools/workspace/clients.h"
#include "tools/workspace/journal.h"
#include "tools/workspace/trusted.h"
#include "tools/workspace/write_lock.h"

#include <faultwire/raise.h>

/* A call in progress, and what it did that its outcome does not say. */
struct fw_ws_progress {
	struct fw_ws_progress *next;
	const fw_call *call;
	struct fw_ws_client *client;
	bool began;    /* it began the session of its client */
	bool bound;    /* and that was the first one of the server */
	bool reported; /* it wrote a report, which unlocks the session */
	char journal[FW_WS_ID_SIZE];
};

static struct fw_ws_progress *progress_of(const fw_workspace *ws, const fw_call *call)
{
	struct fw_ws_progress *progress = ws->calls;

	while (progress && progress->call != call)
		progress = progress->next;
	return progress;
}

static struct fw_ws_progress *take(fw_workspace *ws, const fw_call *call)
{
	for (struct fw_ws_progress **at = &ws->calls; *at; at = &(*at)->next) {
		struct fw_ws_progress *progress = *at;

		if (progress->call == call) {
			*at = progress->next;
			progress->client->calls--;
			return progress;
		}
	}
	return NULL;
}

static fw_error *enter(fw_workspace *ws, struct fw_ws_client *client, fw_call *call)
{
	struct fw_ws_progress *progress = fw__allocate(sizeof *progress);

	/* A call of the same address has ended without a word. */
	fw__release(take(ws, call));
	if (!progress)
		return fw_raise_internal_out_of_memory();
	*progress =
		(struct fw_ws_progress){ .next = ws->calls, .call = call, .client = client };
	ws->calls = progress;
	client->calls++;
	client->used = ++ws->last_use;
	fw_call_use_state(call, client->state);
	return NULL;
}

static struct fw_ws_client *client_of(fw_workspace *ws, const fw_outcome *outcome)
{
	const struct fw_ws_progress *progress =
		outcome->call ? progress_of(ws, outcome->call) : NULL;

	if (progress)
		return progress->client;
	return outcome->call ? fw_ws_client_find(ws, outcome->call) : NULL;
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

/* Binds the server to the root of its first session. */
static fw_error *bind_root(fw_workspace *ws, const struct fw_ws_session *session)
{
	char log[FW_PATH_SIZE];
	fw_error *err;
	int dir;

	/* Opened by its path here and only here; from now on the descriptor is used. */
	FW_TRY(fw_ws_session_open_root(ws, session, "begin_session", &ws->root));
	err = fw_ws_trusted_begin(ws, &ws->root, &dir, log);
	if (err) {
		fw_root_close(&ws->root);
		return err;
	}
	ws->mark = fw_ws_server_mark(&ws->root, ws->number);
	if (ws->began)
		ws->began(ws->ctx, dir, log);
	return NULL;
}

static void unbind_root(fw_workspace *ws)
{
	fw_root_close(&ws->root);
	fw_ws_write_unlock(ws->mark);
	ws->mark = -1;
}

/* With --auto-session. */
static fw_error *begin_unasked(fw_workspace *ws, struct fw_ws_client *client)
{
	struct fw_ws_session session = client->session;

	fw_ws_session_make(&ws->directory, &session);
	if (ws->root.fd < 0)
		FW_TRY(bind_root(ws, &session));
	else if (ws->root.dev != ws->directory.dev || ws->root.ino != ws->directory.ino)
		return fw_raise_session_not_initialized("any tool");
	client->session = session;
	fw_ws_client_publish(ws, client);
	return NULL;
}

static fw_error *find_session(fw_workspace *ws, const struct fw_ws_tool *tool, fw_call *call,
			      struct fw_ws_client **ret_client)
{
	bool begins = strcmp(tool->name, "begin_session") == 0;
	struct fw_ws_client *client = fw_ws_client_find(ws, call);

	if (!client && (begins || ws->begins_sessions))
		FW_TRY(fw_ws_client_add(ws, call, &client));
	if (client && !client->session.id[0] && ws->begins_sessions)
		FW_TRY(begin_unasked(ws, client));
	if (!begins && (!client || !client->session.id[0]))
		return fw_raise_session_not_initialized(tool->name);
	*ret_client = client;
	return NULL;
}

static fw_error *entering(void *ctx, const fw_outcome *coming)
{
	fw_workspace *ws = ctx;
	const struct fw_ws_tool *tool = coming->name ? fw_ws_tool_find(coming->name) : NULL;
	struct fw_ws_client *client = NULL;

	if (!tool)
		return NULL;
	FW_TRY(find_session(ws, tool, coming->call, &client));
	FW_TRY(enter(ws, client, coming->call));
	/* A call whose client has disconnected has left its report; discard it. */
	if (strncmp(fw_state_text(client->state, NULL), "{\"did\"", 6) == 0)
		fw_ws_client_publish(ws, client);
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

	copy_text(ws->described.phase_id, sizeof ws->described.phase_id,
		  yyjson_get_str(yyjson_obj_get(all, "phase_id")));
	copy_text(ws->described.plan_hash, sizeof ws->described.plan_hash,
		  plan && fw_sha256_is_text(plan, strlen(plan)) ? plan : NULL);
	yyjson_doc_free(doc);
	fw_free(arguments);
}

void fw_workspace_describe(fw_workspace *ws, const fw_outcome *outcome, fw_scope *scope)
{
	const struct fw_ws_client *client = outcome ? client_of(ws, outcome) : ws->noted;

	if (client && client->session.id[0]) {
		scope->role = fw_ws_role_name(ws->role);
		scope->session_id = client->session.id;
		scope->workspace_root = client->session.root;
	}
	if (!outcome || !outcome->name || !fw_ws_tool_find(outcome->name))
		return;
	read_arguments(ws, outcome);
	scope->phase_id = ws->described.phase_id[0] ? ws->described.phase_id : NULL;
	scope->plan_hash = ws->described.plan_hash[0] ? ws->described.plan_hash : NULL;
}

static void failing(void *ctx, const fw_outcome *outcome, fw_error *err)
{
	fw_scope scope = { .role = NULL };

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
		const char *kept = yyjson_get_str(yyjson_obj_get(item, "kept"));

		(void)snprintf(text, sizeof text,
			       "a write of %s was interrupted; its content is %s (sha256 "
			       "%s)%s%s",
			       path ? path : "", outcome ? outcome : "", hash ? hash : "none",
			       kept ? "; other content that was there is in " : "",
			       kept ? kept : "");
		ws->note(ws->ctx, text);
	}
}

static void text_of(char *to, size_t size, yyjson_val *value)
{
	const char *text = yyjson_get_str(value);

	(void)snprintf(to, size, "%s", text ? text : "");
}

static fw_error *begin(fw_workspace *ws, yyjson_val *report, struct fw_ws_progress *progress)
{
	struct fw_ws_client *client = progress->client;
	struct fw_ws_session session = client->session;
	uint64_t dev = yyjson_get_uint(yyjson_obj_get(report, "dev"));
	uint64_t ino = yyjson_get_uint(yyjson_obj_get(report, "ino"));

	/* Another begin_session came first. */
	if (ws->root.fd >= 0 &&
	    ((uint64_t)ws->root.dev != dev || (uint64_t)ws->root.ino != ino))
		return fw_raise_session_init_failed(
			"the sessions of this server are bound to another root already");
	if (session.id[0])
		return NULL;
	text_of(session.id, sizeof session.id, yyjson_obj_get(report, "session"));
	text_of(session.root, sizeof session.root, yyjson_obj_get(report, "root"));
	session.dev = dev;
	session.ino = ino;
	if (ws->root.fd < 0) {
		FW_TRY(bind_root(ws, &session));
		progress->bound = true;
	}
	client->session = session;
	progress->began = true;
	return NULL;
}

/* Ends a session that no client knows about. A lock stays. */
static void end_unknown_session(fw_workspace *ws, const struct fw_ws_progress *progress)
{
	struct fw_ws_session *session = &progress->client->session;

	session->id[0] = session->root[0] = '\0';
	session->dev = session->ino = 0;
	if (!progress->bound || fw_ws_clients_have_session(ws))
		return;
	unbind_root(ws);
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

/* What the call reports is used only if it succeeded. */
static fw_error *use_report(fw_workspace *ws, yyjson_val *report,
			    struct fw_ws_progress *progress)
{
	const char *did = yyjson_get_str(yyjson_obj_get(report, "did"));

	if (strcmp(did, "began") == 0)
		FW_TRY(begin(ws, report, progress));
	progress->reported = strcmp(did, "reported") == 0;
	text_of(progress->journal, sizeof progress->journal, yyjson_obj_get(report, "journal"));
	return NULL;
}

static bool replying(void *ctx, const fw_outcome *outcome, fw_hold *hold)
{
	fw_workspace *ws = ctx;
	struct fw_ws_progress *progress = progress_of(ws, outcome->call);
	size_t len = 0;
	const char *text = progress ? fw_state_text(progress->client->state, &len) : "";
	yyjson_doc *doc = fw_json_read(text, len, FW_JSON_SMALL, 0, NULL, NULL);
	yyjson_val *report = yyjson_doc_get_root(doc);
	bool has_report = yyjson_is_str(yyjson_obj_get(report, "did"));
	fw_error *err = NULL;

	if (has_report && is_report_of(outcome, report)) {
		if (!outcome->error)
			err = use_report(ws, report, progress);
		/* If the session has just begun, this is written to its log. */
		ws->noted = progress->client;
		note_recovered(ws, yyjson_obj_get(report, "recovered"));
		ws->noted = NULL;
	}
	if (has_report)
		fw_ws_client_publish(ws, progress->client);
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

/* True if the session is locked now, and was not before. */
static bool lock(const fw_workspace *ws, struct fw_ws_client *client, const fw_outcome *outcome)
{
	struct fw_ws_session *session = &client->session;

	if (!outcome->error || !session->id[0] || session->locked_by[0] || !locks(ws, outcome))
		return false;
	(void)snprintf(session->locked_by, sizeof session->locked_by, "%s",
		       fw_error_row(outcome->error)->kaiza);
	return true;
}

/* True if the session has changed. */
static bool conclude(fw_workspace *ws, const struct fw_ws_progress *progress,
		     const fw_outcome *outcome)
{
	struct fw_ws_session *session = &progress->client->session;

	if (outcome->error) {
		if (progress->began)
			end_unknown_session(ws, progress);
		return progress->began;
	}
	if (progress->journal[0])
		fw_ws_journal_drop(&ws->root, ws->trusted, progress->journal);
	if (!progress->reported || !session->locked_by[0])
		return false;
	session->locked_by[0] = '\0';
	return true;
}

static void finished(void *ctx, const fw_outcome *outcome)
{
	fw_workspace *ws = ctx;
	struct fw_ws_client *client = client_of(ws, outcome);
	struct fw_ws_progress *progress = outcome->call ? take(ws, outcome->call) : NULL;
	bool changed = client && lock(ws, client, outcome);

	if (progress)
		changed = conclude(ws, progress, outcome) || changed;
	if (changed)
		fw_ws_client_publish(ws, client);
	fw__release(progress);
}

static void session_ended(void *ctx, const char *session)
{
	fw_ws_client_leave(ctx, session);
}

void fw_ws_observe_clear(fw_workspace *ws)
{
	while (ws->calls) {
		struct fw_ws_progress *progress = ws->calls;

		ws->calls = progress->next;
		fw__release(progress);
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
		.session_ended = session_ended,
		.ctx = ws,
	};
	const fw_scope none = { .role = NULL };

	fw_server_set_scope(ws->server, &none);
	return fw_server_add_observer(ws->server, &observer);
}
