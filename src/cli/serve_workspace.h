/*
 * serve_workspace.h - the workspace toolset, as the options of serve describe
 * it.
 */
#ifndef FW_CLI_SERVE_WORKSPACE_H
#define FW_CLI_SERVE_WORKSPACE_H

#include "serve_observe.h"

/* As given; NULL: not. */
struct cli_workspace {
	const char *directory;
	const char *role;
	const char *plan_key;
	const char *policy;
	const char *preflight;
	const char *preflight_timeout;
	const char *lock_on;
	bool hard_links;
	fw_sandbox sandbox;
	uint32_t workers; /* 0: as many as is usual */
	bool keeps_audit; /* the log is one that was named: it stays where it is */
};

/** With a session the audit log moves into its workspace. Raises cli.usage, what
 *  reading the files does, governance.self_audit_failed. */
FW_NODISCARD fw_error *cli_workspace_add(fw_server *server, const struct cli_workspace *how,
					 struct serve_observers *observers);

#endif
