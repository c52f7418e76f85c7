/*
 * tools_plan.c - list_plans, read_plan, save_plan and verify_workspace_integrity.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tools/common/reply.h"
#include "tools/workspace/plan_store.h"
#include "tools/workspace/revoked.h"
#include "tools/workspace/trusted.h"

#include <faultwire/raise.h>

/* Why the plan cannot be trusted; NULL if it can. */
static const char *verify(const fw_workspace *ws, const struct fw_root *root,
			  const struct fw_ws_plan *plan, const char *hash)
{
	const char *refusal = fw_ws_plan_verify(plan, hash, &ws->key, root->identity);

	if (!refusal && plan->is_approved && fw_ws_revoked_has(ws->revoked, root, hash))
		return FW_WS_REVOKED_FAULT;
	return refusal;
}

/* ---- list_plans ---- */

static void put_span(struct fw_buf *out, struct fw_ws_span span)
{
	fw_buf_json(out, span.text, span.len);
}

static void put_plan(const fw_workspace *ws, const struct fw_root *root, const char *hash,
		     struct fw_buf *out)
{
	char fault[FW_WS_FAULT_SIZE] = "";
	struct fw_ws_plan plan = { .is_approved = false };
	const char *refusal = NULL;
	char *text = NULL;
	size_t len = 0;
	fw_error *err = fw_ws_plan_load(root, hash, &text, &len);

	FW_BUF(out, "{\"plan\":");
	fw_buf_json_str(out, hash);
	if (err) {
		refusal = "it cannot be read";
	} else if (!fw_ws_plan_read(text, len, &plan, fault)) {
		refusal = fault;
	} else {
		refusal = verify(ws, root, &plan, hash);
		FW_BUF(out, ",\"title\":");
		put_span(out, plan.title);
		FW_BUF(out, ",\"status\":");
		put_span(out, plan.status);
		FW_BUF(out, ",\"scope\":[");
		for (size_t i = 0; i < plan.scope_count; i++) {
			if (i)
				FW_BUF(out, ",");
			put_span(out, plan.scopes[i]);
		}
		FW_BUF(out, "]");
	}
	FW_BUF(out, ",\"usable\":");
	fw_buf_str(out, !refusal && plan.is_approved ? "true" : "false");
	FW_BUF(out, ",\"fault\":");
	if (refusal)
		fw_buf_json_str(out, refusal);
	else
		FW_BUF(out, "null");
	FW_BUF(out, "}");
	fw_error_free(err);
	fw__release(text);
}

fw_error *fw_ws_list_plans(fw_call *call, void *ctx)
{
	const fw_workspace *ws = ctx;
	struct fw_root root = FW_ROOT_INIT;
	char(*hashes)[FW_SHA256_TEXT] = NULL;
	size_t count = 0;
	struct fw_buf out;
	fw_error *err;

	FW_TRY(fw_ws_session_enter_unlocked(ws, call, &root));
	err = fw_ws_plan_list(&root, &hashes, &count);
	fw_buf_init(&out, FW_WS_READ_BYTES);
	FW_BUF(&out, "{\"plans\":[");
	for (size_t i = 0; !err && i < count; i++) {
		if (i)
			FW_BUF(&out, ",");
		put_plan(ws, &root, hashes[i], &out);
	}
	FW_BUF(&out, "]}");
	if (!err)
		err = fw_reply_structured(call, &out);
	fw_buf_clear(&out);
	fw__release(hashes);
	fw_root_close(&root);
	return err;
}

fw_error *fw_ws_read_plan(fw_call *call, void *ctx)
{
	struct fw_root root = FW_ROOT_INIT;
	char *text = NULL;
	size_t len = 0;
	fw_error *err;

	FW_TRY(fw_ws_session_enter_unlocked(ctx, call, &root));
	err = fw_ws_plan_load(&root, fw_call_string(call, "plan", NULL), &text, &len);
	if (!err)
		fw_call_text_n(call, text, len);
	fw__release(text);
	fw_root_close(&root);
	return err;
}

/* ---- save_plan ---- */

static fw_error *read_content(const char *text, size_t len, const char *field,
			      struct fw_ws_plan *ret_plan)
{
	char fault[FW_WS_FAULT_SIZE];
	char expected[FW_WS_FAULT_SIZE + 32];

	if (!fw_ws_plan_read(text, len, ret_plan, fault)) {
		(void)snprintf(expected, sizeof expected, "a plan; %s", fault);
		return fw_raise_input_invalid_value(field, expected);
	}
	/* Only a person approves plans: a text that claims to be approved is forged. */
	if (ret_plan->is_approved || ret_plan->signature.len)
		return fw_raise_plan_enforcement_failed(ret_plan->computed,
							"it claims to be approved already");
	return NULL;
}

static void write_result(fw_call *call, const struct fw_ws_plan *plan, const char *status,
			 bool was_there)
{
	struct fw_buf out;

	fw_buf_init(&out, 4096);
	FW_BUF(&out, "{\"plan\":");
	fw_buf_json_str(&out, plan->computed);
	FW_BUF(&out, ",\"path\":\"" FW_WS_PLANS "/");
	fw_buf_str(&out, plan->computed);
	FW_BUF(&out, ".md\",\"status\":");
	fw_buf_json_str(&out, status);
	FW_BUF(&out, ",\"existed\":");
	fw_buf_str(&out, was_there ? "true" : "false");
	FW_BUF(&out, "}");
	if (out.state == FW_BUF_OK)
		fw_call_structured(call, out.text, out.len);
	fw_buf_clear(&out);
}

fw_error *fw_ws_save_plan(fw_call *call, void *ctx)
{
	size_t len = 0;
	const char *text = fw_call_string(call, "content", &len);
	struct fw_root root = FW_ROOT_INIT;
	struct fw_ws_plan plan;
	bool was_there = false;
	fw_error *err;

	FW_TRY(fw_ws_session_enter_unlocked(ctx, call, &root));
	err = read_content(text, len, "content", &plan);
	if (!err)
		err = fw_ws_plan_save(&root, &plan, "PENDING", NULL, &was_there);
	if (!err)
		write_result(call, &plan, "PENDING", was_there);
	fw_root_close(&root);
	return err;
}

/* ---- verify_workspace_integrity ---- */

struct findings {
	struct fw_buf list;
	size_t count;
	const char *first; /* the invariant, and with what was found in words */
	char words[512];
};

static void find(struct findings *found, const char *invariant, const char *what,
		 const char *why)
{
	if (!found->count++) {
		found->first = invariant;
		(void)snprintf(found->words, sizeof found->words, "%s (%s: %s)", invariant,
			       what, why);
	} else {
		FW_BUF(&found->list, ",");
	}
	FW_BUF(&found->list, "{\"invariant\":");
	fw_buf_json_str(&found->list, invariant);
	FW_BUF(&found->list, ",\"what\":");
	fw_buf_json_str(&found->list, what);
	FW_BUF(&found->list, ",\"why\":");
	fw_buf_json_str(&found->list, why);
	FW_BUF(&found->list, "}");
}

static void verify_plan(const fw_workspace *ws, const struct fw_root *root, const char *hash,
			struct findings *found)
{
	char fault[FW_WS_FAULT_SIZE];
	struct fw_ws_plan plan;
	char *text = NULL;
	size_t len = 0;
	fw_error *err = fw_ws_plan_load(root, hash, &text, &len);

	if (err) {
		find(found, "PLANS_READABLE", hash, fw_error_message(err));
	} else if (!fw_ws_plan_read(text, len, &plan, fault)) {
		find(found, "PLANS_WELL_FORMED", hash, fault);
	} else {
		const char *refusal = verify(ws, root, &plan, hash);

		if (refusal)
			find(found, "PLANS_AUTHENTIC", hash, refusal);
	}
	fw_error_free(err);
	fw__release(text);
}

static fw_error *verify_audit(const fw_workspace *ws, const struct fw_root *root,
			      struct findings *found, unsigned long long *records)
{
	struct fw_toolset_audit_report report;
	char path[FW_PATH_SIZE];
	fw_error *err;

	if (!ws->verify_audit)
		return NULL;
	memset(&report, 0, sizeof report);
	fw_ws_trusted_log(ws, root->path, path);
	err = ws->verify_audit(path, &report);
	if (err) {
		/* cppcheck-suppress returnDanglingLifetime ; an error copies its texts */
		return err;
	}
	*records = report.records;
	if (!fw_ws_trusted_is_link_intact(ws, root))
		find(found, FW_WS_LOG_IN_PLACE, FW_WS_AUDIT_LOG,
		     "it is no longer the link to the log");
	if (!report.is_intact)
		find(found, "AUDIT_CHAIN_INTACT", FW_WS_AUDIT_LOG, report.reason);
	return NULL;
}

static fw_error *conclude(fw_call *call, struct findings *found, size_t plans,
			  unsigned long long records)
{
	fw_error *err;

	if (!found->count) {
		char text[160];
		int len = snprintf(text, sizeof text,
				   "{\"intact\":true,\"plans\":%zu,\"audit_records\":%llu}",
				   plans, records);

		fw_call_structured(call, text, (size_t)len);
		return NULL;
	}
	/* Not wrapped: its cause are the findings. */
	err = fw_raise_governance_invariant_violation(found->words);
	fw_error_fill_scope(err, &(fw_scope){ .invariant_id = found->first });
	if (found->list.state == FW_BUF_OK) {
		FW_BUF(&found->list, "]");
		fw_error_add_json(err, "findings", found->list.text, found->list.len);
		fw_error_set_cause_json(err, found->list.text, found->list.len);
	}
	return err;
}

fw_error *fw_ws_verify_integrity(fw_call *call, void *ctx)
{
	const fw_workspace *ws = ctx;
	struct fw_root root = FW_ROOT_INIT;
	struct findings found = { .count = 0 };
	char(*hashes)[FW_SHA256_TEXT] = NULL;
	unsigned long long records = 0;
	size_t count = 0;
	fw_error *err;

	FW_TRY(fw_ws_session_enter_unlocked(ws, call, &root));
	fw_buf_init(&found.list, FW_WS_READ_BYTES);
	FW_BUF(&found.list, "[");
	err = fw_ws_plan_list(&root, &hashes, &count);
	for (size_t i = 0; !err && i < count; i++)
		verify_plan(ws, &root, hashes[i], &found);
	if (!err)
		err = verify_audit(ws, &root, &found, &records);
	if (!err)
		err = conclude(call, &found, count, records);
	fw_buf_clear(&found.list);
	fw__release(hashes);
	fw_root_close(&root);
	return err;
}
