/*
 * session.c - see session.h.
 */
#include "tools/workspace/session.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <yyjson.h>

#include "base/digest.h"
#include "base/id.h"
#include "base/json.h"
#include "tools/workspace/data.h"

#include <faultwire/raise.h>

const char *fw_ws_role_name(unsigned role)
{
	return role == FW_WS_ANTIGRAVITY ? "ANTIGRAVITY" : "WINDSURF";
}

unsigned fw_ws_role_read(const char *word)
{
	if (strcasecmp(word, "windsurf") == 0 || strcasecmp(word, "executor") == 0)
		return FW_WS_WINDSURF;
	if (strcasecmp(word, "antigravity") == 0 || strcasecmp(word, "planner") == 0)
		return FW_WS_ANTIGRAVITY;
	return 0;
}

void fw_ws_session_make(const struct fw_root *root, struct fw_ws_session *session)
{
	char hex[33];

	fw_random_hex(hex, sizeof hex);
	hex[12] = '4';
	hex[16] = "89ab"[hex[16] & 3];
	(void)snprintf(session->id, sizeof session->id, "%.8s-%.4s-%.4s-%.4s-%.12s", hex,
		       hex + 8, hex + 12, hex + 16, hex + 20);
	(void)snprintf(session->root, sizeof session->root, "%s", root->path);
	session->dev = (uint64_t)root->dev;
	session->ino = (uint64_t)root->ino;
}

static void copy(char *to, size_t size, yyjson_val *value)
{
	const char *text = yyjson_get_str(value);

	(void)snprintf(to, size, "%s", text ? text : "");
}

void fw_ws_session_read(const fw_call *call, struct fw_ws_session *ret_session)
{
	size_t len = 0;
	const char *text = fw_call_state(call, &len);
	yyjson_doc *doc = text ? fw_json_read(text, len, FW_JSON_SMALL, 0, NULL, NULL) : NULL;
	yyjson_val *all = yyjson_doc_get_root(doc);

	memset(ret_session, 0, sizeof *ret_session);
	copy(ret_session->id, sizeof ret_session->id, yyjson_obj_get(all, "session"));
	copy(ret_session->root, sizeof ret_session->root, yyjson_obj_get(all, "root"));
	copy(ret_session->locked_by, sizeof ret_session->locked_by,
	     yyjson_obj_get(all, "locked_by"));
	ret_session->dev = yyjson_get_uint(yyjson_obj_get(all, "dev"));
	ret_session->ino = yyjson_get_uint(yyjson_obj_get(all, "ino"));
	yyjson_doc_free(doc);
}

static void put_u64(struct fw_buf *out, uint64_t value)
{
	char text[24];

	(void)snprintf(text, sizeof text, "%llu", (unsigned long long)value);
	fw_buf_str(out, text);
}

void fw_ws_session_write(const struct fw_ws_session *session, struct fw_buf *out)
{
	FW_BUF(out, "\"session\":");
	fw_buf_json_str(out, session->id);
	FW_BUF(out, ",\"root\":");
	fw_buf_json_str(out, session->root);
	FW_BUF(out, ",\"dev\":");
	put_u64(out, session->dev);
	FW_BUF(out, ",\"ino\":");
	put_u64(out, session->ino);
	FW_BUF(out, ",\"locked_by\":");
	fw_buf_json_str(out, session->locked_by);
}

fw_error *fw_ws_raise_invariant(fw_src at, const char *id, const char *why)
{
	fw_error *err = fw_raise_governance_invariant_violation_at(at, id);
	const fw_scope scope = { .invariant_id = id };

	fw_error_fill_scope(err, &scope);
	return fw_error_wrap(err, at, "%s", why);
}

fw_error *fw_ws_session_enter(const fw_workspace *ws, const fw_call *call,
			      struct fw_ws_session *ret_session, struct fw_root *ret_root)
{
	fw_ws_session_read(call, ret_session);
	return fw_ws_session_open_root(ws, ret_session, fw_call_name(call), ret_root);
}

fw_error *fw_ws_session_open_root(const fw_workspace *ws, const struct fw_ws_session *session,
				  const char *name, struct fw_root *ret_root)
{
	struct fw_root root = FW_ROOT_INIT;
	fw_error *err;

	if (!session->id[0])
		return fw_raise_session_not_initialized(name);
	err = fw_root_open(session->root, strlen(session->root), &root);
	if (err) {
		/* The caller did not cause this. */
		if (fw_error_code(err) == FW_PATH_NOT_FOUND ||
		    fw_error_code(err) == FW_SESSION_INIT_FAILED)
			return fw_error_caused_by(
				fw_ws_raise_invariant(
					FW_HERE, "WORKSPACE_ROOT_UNCHANGED",
					"the workspace cannot be opened any more"),
				err);
		return err;
	}
	root.hard_links = ws->hard_links;
	if (root.dev != (dev_t)session->dev || root.ino != (ino_t)session->ino) {
		fw_root_close(&root);
		return fw_ws_raise_invariant(
			FW_HERE, "WORKSPACE_ROOT_UNCHANGED",
			"another folder has taken the place of the workspace");
	}
	*ret_root = root;
	return NULL;
}

fw_error *fw_ws_session_enter_unlocked(const fw_workspace *ws, const fw_call *call,
				       struct fw_root *ret_root)
{
	struct fw_ws_session session;

	FW_TRY(fw_ws_session_enter(ws, call, &session, ret_root));
	if (!session.locked_by[0])
		return NULL;
	fw_root_close(ret_root);
	return fw_raise_session_locked(session.locked_by);
}

/* ---- telling ---- */

static void notify(fw_call *call, const struct fw_buf *report)
{
	if (report->state == FW_BUF_OK)
		fw_call_set_state(call, report->text, report->len);
}

/* Identifies the call by its arguments: a report that came too late for its own reply
 * must not be used for another call. */
static void put_call(struct fw_buf *report, fw_call *call)
{
	char hex[FW_SHA256_TEXT];
	size_t len = 0;
	const char *arguments = fw_call_json(call, NULL, &len);

	fw_sha256_text(arguments ? arguments : "", arguments ? len : 0, hex);
	FW_BUF(report, ",\"of\":");
	fw_buf_json_str(report, hex);
}

static void put_recovered(struct fw_buf *report, const char *recovered)
{
	FW_BUF(report, ",\"recovered\":[");
	if (recovered)
		fw_buf_str(report, recovered);
	FW_BUF(report, "]}");
}

void fw_ws_notify_began(fw_call *call, const struct fw_ws_session *session,
			const char *recovered)
{
	struct fw_buf report;

	fw_buf_init(&report, FW_WS_STATE_BYTES);
	FW_BUF(&report, "{\"did\":\"began\",");
	fw_ws_session_write(session, &report);
	put_call(&report, call);
	put_recovered(&report, recovered);
	notify(call, &report);
	fw_buf_clear(&report);
}

void fw_ws_notify_wrote(fw_call *call, const char *journal, bool reported,
			const char *recovered)
{
	struct fw_buf report;

	fw_buf_init(&report, FW_WS_STATE_BYTES);
	FW_BUF(&report, "{\"did\":");
	fw_buf_json_str(&report, reported ? "reported" : "wrote");
	FW_BUF(&report, ",\"journal\":");
	fw_buf_json_str(&report, journal);
	put_call(&report, call);
	put_recovered(&report, recovered);
	notify(call, &report);
	fw_buf_clear(&report);
}

void fw_ws_notify_recovered(fw_call *call, const char *recovered)
{
	struct fw_buf report;

	fw_buf_init(&report, FW_WS_STATE_BYTES);
	FW_BUF(&report, "{\"did\":\"recovered\"");
	put_call(&report, call);
	put_recovered(&report, recovered);
	notify(call, &report);
	fw_buf_clear(&report);
}
