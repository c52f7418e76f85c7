/*
 * revoked.h - approvals that a person has withdrawn (faultwire plan revoke).
 *
 * Revoking sets a plan back to PENDING, but a kept copy of the approved text could be put back.
 * So the hash is also noted outside of the workspace, where no tool and no preflight command
 * can write: <state>/workspaces/revoked/<key of the root>/<hash>.
 *
 * The one rule to remember: without a state directory (`dir` NULL) nothing is noted, and
 * nothing is found.
 */
#ifndef FW_TOOLS_WORKSPACE_REVOKED_H
#define FW_TOOLS_WORKSPACE_REVOKED_H

#include "tools/common/root.h"

#define FW_WS_REVOKED_DIR "revoked"

/* Notes that the approval of this plan is revoked; removes such a note. Raise io.*. */
FW_NODISCARD fw_error *fw_ws_revoked_add(const char *dir, const struct fw_root *root,
					 const char *hash);
FW_NODISCARD fw_error *fw_ws_revoked_remove(const char *dir, const struct fw_root *root,
					    const char *hash);
/* Any process. */
bool fw_ws_revoked_has(const char *dir, const struct fw_root *root, const char *hash);

/* Why it cannot be used, if it has: for fw_raise_plan_enforcement_failed(). */
#define FW_WS_REVOKED_FAULT "its approval was revoked"

#endif
