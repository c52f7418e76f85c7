/*
 * plan.h - what a plan is: its header, its hash, its scope, its approval.
 *
 * A plan is a Markdown text that begins with a comment:
 *
 *	<!--
 *	KAIZA_PLAN_HASH: 64 hexadecimal digits, or PENDING_HASH
 *	ROLE: ANTIGRAVITY
 *	STATUS: PENDING | APPROVED
 *	SCOPE: src/main.c, docs/        (globs, separated by commas)
 *	SIGNATURE: 64 hexadecimal digits, once approved
 *	-->
 *
 * Its hash is the SHA-256 of the whole text with the hash written as
 * PENDING_HASH, the status as PENDING, and without the line of the signature.
 *
 * The one rule to remember: do not trust a header before fw_ws_plan_verify().
 */
#ifndef FW_TOOLS_WORKSPACE_PLAN_H
#define FW_TOOLS_WORKSPACE_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "tools/workspace/key.h"

#include <faultwire/error.h>

enum { FW_WS_PLAN_BYTES = 256 * 1024, FW_WS_SCOPES = 64, FW_WS_FAULT_SIZE = 160 };

/* The purposes of signatures: of plans, and of bootstrap payloads. */
#define FW_WS_SIGN_PLAN "faultwire plan approval 2"
/* Used by versions whose approvals were valid in every workspace. */
#define FW_WS_SIGN_PLAN_UNBOUND "faultwire plan approval 1"
#define FW_WS_SIGN_BOOTSTRAP "faultwire bootstrap 1"

struct fw_ws_span {
	const char *text;
	size_t len;
};

/* Points into the text of the plan. */
struct fw_ws_plan {
	const char *text;
	size_t len;
	struct fw_ws_span hash; /* as the header states it */
	struct fw_ws_span role;
	struct fw_ws_span status;
	struct fw_ws_span signature; /* len 0: none */
	struct fw_ws_span scopes[FW_WS_SCOPES];
	size_t scope_count;
	struct fw_ws_span title; /* its first heading; len 0: none */
	char computed[FW_SHA256_TEXT];
	bool is_approved; /* as the header states it */
};

/* False if it is not a plan; `ret_fault` then has the reason and the line. */
bool fw_ws_plan_read(const char *text, size_t len, struct fw_ws_plan *ret_plan,
		     char ret_fault[FW_WS_FAULT_SIZE]);

/* Writes the text with another hash, status and signature (NULL: none). */
void fw_ws_plan_write(const struct fw_ws_plan *plan, const char *hash, const char *status,
		      const char *signature, struct fw_buf *out);

/* Why the plan is not authentic; NULL if it is. `name` is the hash that it is saved
 * under, `workspace` the identity of its workspace (fw_root). The signature of a
 * pending plan is not checked: it must have none. */
const char *fw_ws_plan_verify(const struct fw_ws_plan *plan, const char *name,
			      const struct fw_ws_key *key, const char *workspace);

/* Signs the approval of this plan in this workspace. False if libcrypto fails or the
 * path is too long. */
bool fw_ws_plan_sign(const struct fw_ws_plan *plan, const struct fw_ws_key *key,
		     const char *workspace, char ret_hex[FW_SHA256_TEXT]);

/* Is the path within the scope of the plan? */
bool fw_ws_plan_covers(const struct fw_ws_plan *plan, const char *path);

#endif
