/*
 * trusted.h - data that a preflight command must not change, and that is therefore kept
 * outside of the workspace: the audit log and the used nonces.
 *
 * Landlock grants rights to a directory with everything below it and cannot exclude a
 * single name. A preflight command has to write anywhere in the workspace, so nothing
 * in it can be protected. There is one directory per directory that is served, and in
 * it one per root of a session:
 *
 *	<state>/workspaces/<of the directory>/<of the root>/audit-log.jsonl
 *	                                                    nonces/
 *	<state>/workspaces/<of the directory>/journal/<of the root>/
 *
 * In the workspace, audit-log.jsonl is a symbolic link to the log. Workers may
 * read the directory; only the server writes there, except for journal/, which
 * workers write and commands do not (tools/common/fence.h).
 *
 * The one rule to remember: these functions are called on the server's thread, unless
 * their comment says that a worker may call them.
 */
#ifndef FW_TOOLS_WORKSPACE_TRUSTED_H
#define FW_TOOLS_WORKSPACE_TRUSTED_H

#include "tools/workspace/data.h"

/* The invariant that audit-log.jsonl of a workspace is the link to its log. */
#define FW_WS_LOG_IN_PLACE "AUDIT_LOG_IN_ITS_PLACE"

/* Creates the directory for the served directory. Raises governance.self_audit_failed
 * if it would be inside the latter; input.* and io.*. */
FW_NODISCARD fw_error *fw_ws_trusted_open(fw_workspace *ws, const char *state);

/* Any process: the directory of the journal entries of a root, or with NULL of all roots.
 * `trusted` is fw_workspace.trusted. False if the path is too long. */
bool fw_ws_trusted_journal(const char *trusted, const char *root, char ret_path[FW_PATH_SIZE]);

/* Any process: the path of the log of a root, in the trusted directory if it is there,
 * else in the root. */
void fw_ws_trusted_log(const fw_workspace *ws, const char *root, char ret_path[FW_PATH_SIZE]);

/* In a worker: creates the link in the workspace if there is none. A confined server
 * may not create symbolic links. In a read-only workspace there is no link; the log is
 * written anyway. */
void fw_ws_trusted_link(const fw_workspace *ws, const struct fw_root *root);

/*
 * Where the log of a new session is written: the descriptor of a directory (-1: none)
 * and the path. Raises governance.invariant_violation if the link in the workspace was
 * replaced.
 */
FW_NODISCARD fw_error *fw_ws_trusted_begin(const fw_workspace *ws, const struct fw_root *root,
					   int *ret_dir, char ret_path[FW_PATH_SIZE]);

/* Any process: is the link in the workspace unchanged? True if the log is not in the
 * trusted directory. */
bool fw_ws_trusted_is_link_intact(const fw_workspace *ws, const struct fw_root *root);

/* Records that a nonce is used; succeeds once per nonce. Raises
 * governance.bootstrap_failed if it was used before. */
FW_NODISCARD fw_error *fw_ws_trusted_use_nonce(const fw_workspace *ws,
					       const struct fw_root *root, const char *nonce);
/* Creates the file that marks a nonce as used, durably: it succeeds for one caller only.
 * Returns an errno, EEXIST if the nonce was used before; 0: success. */
int fw_ws_nonce_create(int dir, const char *nonce);
/* Any process: has the server recorded this nonce? */
bool fw_ws_trusted_is_nonce_used(const fw_workspace *ws, const struct fw_root *root,
				 const char *nonce);

#endif
