/*
 * bootstrap.c - see bootstrap.h. A payload is valid once, for one plan in one
 * workspace, until it expires. The used nonces are kept outside of the workspace
 * (trusted.h), or in .faultwire/ if there is no state directory.
 */
#include "tools/workspace/bootstrap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <yyjson.h>

#include "base/id.h"
#include "base/json.h"
#include "base/mem.h"
#include "tools/workspace/journal.h"
#include "tools/workspace/plan_store.h"
#include "tools/workspace/trusted.h"
#include "tools/workspace/write_lock.h"

#include <faultwire/raise.h>

enum { PAYLOAD_BYTES = 16 * 1024, LIFETIME_S = 24 * 3600 };

#define NONCES FW_WS_OWN_DIR "/nonces"

void fw_ws_bootstrap_payload(const char *root, const struct fw_ws_plan *plan, int64_t expires_s,
			     struct fw_buf *out)
{
	char nonce[33];

	fw_random_hex(nonce, sizeof nonce);
	FW_BUF(out, "{\"action\":\"bootstrap\",\"workspace\":");
	fw_buf_json_str(out, root);
	FW_BUF(out, ",\"plan\":");
	fw_buf_json_str(out, plan->computed);
	FW_BUF(out, ",\"nonce\":");
	fw_buf_json_str(out, nonce);
	FW_BUF(out, ",\"expires\":");
	fw_buf_i64(out, expires_s);
	FW_BUF(out, "}");
}

static bool equals(yyjson_val *object, const char *member, const char *text)
{
	return yyjson_equals_str(yyjson_obj_get(object, member), text);
}

static bool is_nonce(const char *text)
{
	size_t len = text ? strlen(text) : 0;

	return len >= 16 && len < 64 && strspn(text, "0123456789abcdef") == len;
}

static const char *check_payload(yyjson_val *payload, const char *root,
				 const struct fw_ws_plan *plan, int64_t now_s)
{
	yyjson_val *expires = yyjson_obj_get(payload, "expires");

	if (!equals(payload, "action", "bootstrap"))
		return "the payload is for something else";
	if (!equals(payload, "workspace", root))
		return "the payload is for another workspace";
	if (!equals(payload, "plan", plan->computed))
		return "the payload is for another plan";
	if (!is_nonce(yyjson_get_str(yyjson_obj_get(payload, "nonce"))))
		return "the payload has no nonce";
	if (!yyjson_is_int(expires) || yyjson_get_sint(expires) <= now_s)
		return "the payload has expired";
	if (yyjson_get_sint(expires) - now_s > LIFETIME_S)
		return "the payload is valid for more than a day";
	return NULL;
}

const char *fw_ws_bootstrap_verify(const char *payload, size_t len, const char *signature,
				   size_t signature_len, const struct fw_ws_key *key,
				   const char *root, const struct fw_ws_plan *plan,
				   int64_t now_s, char ret_nonce[64])
{
	char expected[FW_SHA256_TEXT];
	yyjson_doc *doc;
	const char *fault;

	if (!key->is_set)
		return "this server has no key to check the signature with";
	if (len > PAYLOAD_BYTES)
		return "the payload is too large";
	if (!fw_sha256_is_text(signature, signature_len))
		return "the signature is not 64 hexadecimal digits";
	if (!fw_ws_key_sign(key, FW_WS_SIGN_BOOTSTRAP, payload, len, expected) ||
	    !fw_ws_key_is_signature(signature, signature_len, expected))
		return "the signature does not verify";
	doc = fw_json_read(payload, len, FW_JSON_SMALL, 0, NULL, NULL);
	if (!doc)
		return "the payload is not JSON";
	fault = check_payload(yyjson_doc_get_root(doc), root, plan, now_s);
	if (!fault)
		(void)snprintf(
			ret_nonce, 64, "%s",
			yyjson_get_str(yyjson_obj_get(yyjson_doc_get_root(doc), "nonce")));
	yyjson_doc_free(doc);
	return fault;
}

static fw_error *use_nonce(const struct fw_root *root, const char *nonce)
{
	int error;
	int dir;

	FW_TRY(fw_root_open_dir(root, NONCES, true, &dir));
	error = fw_ws_nonce_create(dir, nonce);
	(void)close(dir);
	if (error == EEXIST)
		return fw_raise_governance_bootstrap_failed("the payload was used before");
	return error ? fw_path_errno(error, NONCES, true) : NULL;
}

bool fw_ws_bootstrap_is_valid(const fw_workspace *ws, const struct fw_root *root,
			      yyjson_val *arguments, char ret_nonce[64])
{
	yyjson_val *text = yyjson_obj_get(arguments, "planContent");
	yyjson_val *payload = yyjson_obj_get(arguments, "payload");
	yyjson_val *signature = yyjson_obj_get(arguments, "signature");
	char fault[FW_WS_FAULT_SIZE];
	struct fw_ws_plan plan;

	return yyjson_is_str(text) && yyjson_is_str(payload) && yyjson_is_str(signature) &&
	       yyjson_equals_str(yyjson_obj_get(arguments, "path"), root->path) &&
	       fw_ws_plan_read(yyjson_get_str(text), yyjson_get_len(text), &plan, fault) &&
	       !fw_ws_bootstrap_verify(yyjson_get_str(payload), yyjson_get_len(payload),
				       yyjson_get_str(signature), yyjson_get_len(signature),
				       &ws->key, root->path, &plan, (int64_t)time(NULL),
				       ret_nonce);
}

/* ---- bootstrap_create_foundation_plan ---- */

static fw_error *bootstrap(const fw_workspace *ws, const fw_call *call,
			   const struct fw_root *root, struct fw_ws_plan *plan)
{
	size_t text_len = 0;
	size_t payload_len = 0;
	size_t signature_len = 0;
	const char *path = fw_call_string(call, "path", NULL);
	const char *text = fw_call_string(call, "planContent", &text_len);
	const char *payload = fw_call_string(call, "payload", &payload_len);
	const char *signature = fw_call_string(call, "signature", &signature_len);
	char(*hashes)[FW_SHA256_TEXT] = NULL;
	char fault[FW_WS_FAULT_SIZE];
	char nonce[64];
	const char *refusal;
	size_t count = 0;

	if (strcmp(path, root->path) != 0)
		return fw_raise_governance_bootstrap_failed(
			"path is not the root of the session");
	if (!fw_ws_plan_read(text, text_len, plan, fault))
		return fw_raise_governance_bootstrap_failed(fault);
	refusal =
		fw_ws_bootstrap_verify(payload, payload_len, signature, signature_len, &ws->key,
				       root->path, plan, (int64_t)time(NULL), nonce);
	if (refusal)
		return fw_raise_governance_bootstrap_failed(refusal);
	FW_TRY(fw_ws_plan_list(root, &hashes, &count));
	fw__release(hashes);
	if (count)
		return fw_raise_governance_bootstrap_failed("a plan exists already");
	/* With a state directory the server has recorded the nonce before this call. */
	if (!ws->trusted)
		FW_TRY(use_nonce(root, nonce));
	else if (!fw_ws_trusted_is_nonce_used(ws, root, nonce))
		return fw_raise_governance_bootstrap_failed("its nonce was not recorded");
	return fw_ws_plan_approve(root, plan, &ws->key);
}

fw_error *fw_ws_bootstrap(fw_call *call, void *ctx)
{
	const fw_workspace *ws = ctx;
	struct fw_root root = FW_ROOT_INIT;
	struct fw_ws_plan plan;
	struct fw_buf out;
	fw_error *err;
	int lock;

	FW_TRY(fw_ws_session_enter_unlocked(ws, call, &root));
	err = fw_ws_write_lock(&root, FW_WS_WRITE_LOCK_MS, &lock);
	if (!err) {
		err = bootstrap(ws, call, &root, &plan);
		fw_ws_write_unlock(lock);
	}
	fw_root_close(&root);
	FW_TRY(err);
	fw_buf_init(&out, 4096);
	FW_BUF(&out, "{\"plan\":");
	fw_buf_json_str(&out, plan.computed);
	FW_BUF(&out, ",\"path\":\"" FW_WS_PLANS "/");
	fw_buf_str(&out, plan.computed);
	FW_BUF(&out, ".md\",\"status\":\"APPROVED\",\"existed\":false}");
	if (out.state == FW_BUF_OK)
		fw_call_structured(call, out.text, out.len);
	fw_buf_clear(&out);
	return NULL;
}
