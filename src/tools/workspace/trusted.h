/*
 * trusted.h - what must not be in reach of a preflight command, and so lies
 * outside of the workspace: the audit log and the used nonces.
 *
 * Landlock grants rights to a folder with all below it and cannot take one name
 * out again. A preflight command needs to write anywhere in the workspace, so
 * nothing in there can be kept from it. One folder per directory that a server
 * serves, and in there one per root of a session:
 *
 *	<state>/workspaces/<of the directory>/<of the root>/audit-log.jsonl
 *	                                                    nonces/
 *
 * In the workspace, audit-log.jsonl is a symbolic link to the log. Workers may
 * read the folder; only the server itself writes there.
 *
 * The one rule to remember: all of this is called on the server's thread, but for
 * fw_ws_trusted_log(), fw_ws_trusted_is_link_intact() and fw_ws_trusted_is_nonce_used().
 */
#ifndef FW_TOOLS_WORKSPACE_TRUSTED_H
#define FW_TOOLS_WORKSPACE_TRUSTED_H

#include "tools/workspace/data.h"

/* The invariant that audit-log.jsonl of a workspace is the link to its log. */
#define FW_WS_LOG_IN_PLACE "AUDIT_LOG_IN_ITS_PLACE"

/* Makes the folder of the served directory. Raises governance.self_audit_failed
 * where it would lie inside of that; input and io errors. */
FW_NODISCARD fw_error *fw_ws_trusted_open(fw_workspace *ws, const char *state);

/* The log of a root: in the trusted folder if there is one, else in the root. */
void fw_ws_trusted_log(const fw_workspace *ws, const char *root, char ret_path[FW_PATH_SIZE]);

/* In a worker: creates the link in the workspace if there is none. A confined server
 * may not create symbolic links. In a read-only workspace there is no link; the log is
 * written anyway. */
void fw_ws_trusted_link(const fw_workspace *ws, const struct fw_root *root);

/*
 * Where the session's log is to be written: a folder's descriptor, -1: none, and
 * the path. Raises
 * governance.invariant_violation where something else has taken its place.
 */
FW_NODISCARD fw_error *fw_ws_trusted_begin(const fw_workspace *ws, const struct fw_root *root,
					   int *ret_dir, char ret_path[FW_PATH_SIZE]);

/* In a worker, too: is the link in the workspace as it was made? Also if the log
 * is elsewhere. */
bool fw_ws_trusted_is_link_intact(const fw_workspace *ws, const struct fw_root *root);

/* Of several that use a nonce, one succeeds. Raises
 * governance.bootstrap_failed: it was used before. */
FW_NODISCARD fw_error *fw_ws_trusted_use_nonce(const fw_workspace *ws,
					       const struct fw_root *root, const char *nonce);
/* In a worker: has the server used it up? */
bool fw_ws_trusted_is_nonce_used(const fw_workspace *ws, const struct fw_root *root,
				 const char *nonce);

#endif
