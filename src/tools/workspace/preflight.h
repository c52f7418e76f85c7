/*
 * preflight.h - the command that has the last word on a change.
 *
 * It runs in the workspace, with the new content in place, a small environment
 * and a time limit.
 *
 * The one rule to remember: whatever it starts is dead when this returns.
 */
#ifndef FW_TOOLS_WORKSPACE_PREFLIGHT_H
#define FW_TOOLS_WORKSPACE_PREFLIGHT_H

#include "tools/workspace/paths.h"

/* `path` is what was written, given to the command as FAULTWIRE_PATH. Raises
 * policy.preflight_failed, with the end of its output as the cause. */
FW_NODISCARD fw_error *fw_ws_preflight(const struct fw_ws_root *root, const char *command,
				       uint32_t limit_ms, const char *path);

/*
 * Ends every descendant of this process, which must be a child subreaper
 * (PR_SET_CHILD_SUBREAPER) without children that are to live on. Does not return
 * before the last one is dead; if that fails for FW_LIMIT_PREFLIGHT_END_MS, this
 * process ends with its process group.
 */
void fw_ws_end_descendants(void);

#endif
