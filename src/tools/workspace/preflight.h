/*
 * preflight.h - the command that decides whether a change is kept.
 *
 * It runs in the workspace, with the new content in place, a small environment, a
 * directory for temporary files of its own and a time limit (tools/common/command.h).
 *
 * The one rule to remember: hold the write lock, because temporary files that an earlier
 * command left are removed.
 */
#ifndef FW_TOOLS_WORKSPACE_PREFLIGHT_H
#define FW_TOOLS_WORKSPACE_PREFLIGHT_H

#include "tools/common/root.h"

/* For temporary files; TMPDIR is a directory in it. */
#define FW_WS_TEMP_DIR ".faultwire/tmp"

struct fw_ws_preflight {
	const char *command; /* for /bin/sh */
	uint32_t limit_ms;
	bool is_fenced; /* it may write in the workspace only, even if its worker may write elsewhere */
};

/*
 * `paths` are the files that were changed. The command finds them in a file, one per
 * line, whose name is FAULTWIRE_PATHS; if it is one, it is also FAULTWIRE_PATH. A command
 * whose text has FAULTWIRE_PATH, and not FAULTWIRE_PATHS, is run once for each. Raises
 * policy.preflight_failed, with the end of the command's output as the cause, and io.*.
 */
FW_NODISCARD fw_error *fw_ws_preflight_run(const struct fw_root *root,
					   const struct fw_ws_preflight *preflight,
					   const char *const *paths, size_t count);

#endif
