/*
 * bootstrap.h - the first plan of a workspace, approved by a payload that a
 * person has signed.
 *
 * The payload is a JSON object with "action" ("bootstrap"), "workspace" (the
 * root), "plan" (the hash), "nonce" and "expires" (seconds since 1970); its
 * signature is over its exact bytes.
 *
 * The one rule to remember: verify the signature before anything in the payload is
 * used.
 */
#ifndef FW_TOOLS_WORKSPACE_BOOTSTRAP_H
#define FW_TOOLS_WORKSPACE_BOOTSTRAP_H

#include "tools/common/root.h"
#include "tools/workspace/plan.h"

/* Writes a payload, for a person who holds the key. */
void fw_ws_bootstrap_payload(const char *root, const struct fw_ws_plan *plan, int64_t expires_s,
			     struct fw_buf *out);

/* Why the payload does not approve this plan in this workspace now; NULL if it does.
 * Returns the nonce. */
const char *fw_ws_bootstrap_verify(const char *payload, size_t len, const char *signature,
				   size_t signature_len, const struct fw_ws_key *key,
				   const char *root, const struct fw_ws_plan *plan,
				   int64_t now_s, char ret_nonce[64]);

struct fw_workspace;
struct yyjson_val;

/* Do the arguments of a call contain a payload that approves their plan in this
 * workspace now? Returns the nonce. */
bool fw_ws_bootstrap_is_valid(const struct fw_workspace *ws, const struct fw_root *root,
			      struct yyjson_val *arguments, char ret_nonce[64]);

#endif
