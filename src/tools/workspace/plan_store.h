/*
 * plan_store.h - the plans of a workspace, kept as files: docs/plans/<hash>.md.
 */
#ifndef FW_TOOLS_WORKSPACE_PLAN_STORE_H
#define FW_TOOLS_WORKSPACE_PLAN_STORE_H

#include "tools/common/root.h"
#include "tools/workspace/plan.h"

#define FW_WS_PLANS "docs/plans"

/* Reads the text of a plan; release it with fw__release(). Raises plan.not_found,
 * file.read_failed... */
FW_NODISCARD fw_error *fw_ws_plan_load(const struct fw_root *root, const char *hash,
				       char **ret_text, size_t *ret_len);
/* Saves a plan under its own hash, with this status and signature (NULL: none). An
 * existing file is left unchanged, and `*ret_was_there` set. */
FW_NODISCARD fw_error *fw_ws_plan_save(const struct fw_root *root,
				       const struct fw_ws_plan *plan, const char *status,
				       const char *signature, bool *ret_was_there);
/* Replaces the pending plan by the approved and signed one. */
FW_NODISCARD fw_error *fw_ws_plan_approve(const struct fw_root *root,
					  const struct fw_ws_plan *plan,
					  const struct fw_ws_key *key);

/* Replaces the plan by the pending one, without a signature. */
FW_NODISCARD fw_error *fw_ws_plan_revoke(const struct fw_root *root,
					 const struct fw_ws_plan *plan);

/* The hashes of all plans, sorted, 64 digits and a NUL each; release the array with
 * fw__release(). */
FW_NODISCARD fw_error *fw_ws_plan_list(const struct fw_root *root,
				       char (**ret_hashes)[FW_SHA256_TEXT], size_t *ret_count);

#endif
