/*
 * preflight.h - the command that decides whether a change is kept.
 *
 * It runs in the workspace, with the new content in place, a small environment
 * and a time limit (tools/common/command.h).
 */
#ifndef FW_TOOLS_WORKSPACE_PREFLIGHT_H
#define FW_TOOLS_WORKSPACE_PREFLIGHT_H

#include "tools/common/root.h"

/* `path` is the file that was written; the command gets it as FAULTWIRE_PATH. Raises
 * policy.preflight_failed, with the end of the command's output as the cause. */
FW_NODISCARD fw_error *fw_ws_preflight(const struct fw_root *root, const char *command,
				       uint32_t limit_ms, const char *path);

#endif
