/*
 * workspace.h - the governed workspace: tools with which an agent reads and
 * changes the files of a directory, within plans that a person has approved.
 *
 * docs/workspace.md is the description for people.
 *
 * The one rule to remember: add it before any other observer, and free it after
 * the server.
 */
#ifndef FW_TOOLS_WORKSPACE_WORKSPACE_H
#define FW_TOOLS_WORKSPACE_WORKSPACE_H

#include <faultwire/server.h>

#include "tools/toolset.h"

typedef struct fw_workspace fw_workspace;

/* Which failures lock the session. */
enum fw_ws_lock_on { FW_WS_LOCK_INTEGRITY, FW_WS_LOCK_ANY, FW_WS_LOCK_NEVER };

/* All zero to begin with. Strings are copied. */
struct fw_workspace_options {
	const char *directory; /* workspaces are this one or beneath it; NULL: "." */
	const char *role;      /* "windsurf" or "antigravity"; required */
	const char *plan_key;  /* a file; NULL: fw_ws_key_path() */
	const char *policy;    /* a rules file's text; NULL: the default rules */
	const char *state;     /* a folder outside, for what workers may not write: logs
				* and nonces; made where it is missing. NULL: both are kept
				* in the workspace, in reach of preflight commands */
	const char *preflight; /* a command for /bin/sh; NULL: none */
	uint32_t preflight_ms; /* 0: 60000 */
	enum fw_ws_lock_on lock_on;
	bool hard_links; /* files with several names may be used */
	fw_sandbox sandbox;
	uint32_t workers; /* 0: as many as is usual */
	/* What the toolset leaves to whoever runs the server; may be NULL. The
	 * first two are called on its thread and must not block, the last one in
	 * a worker. `began`: a session has begun, and its audit log is `log`: that
	 * name in the folder `dir`, which is borrowed, or with -1 that path. NULL:
	 * that session never was. */
	void (*began)(void *ctx, int dir, const char *log);
	void (*note)(void *ctx, const char *text);
	fw_error *(*verify_audit)(const char *path, struct fw_toolset_audit_report *ret_report);
	void *ctx;
};

/* The file's name in a workspace. */
#define FW_WS_AUDIT_LOG "audit-log.jsonl"

/*
 * Checks itself first: governance.self_audit_failed keeps the server from being
 * started. Raises also input.invalid_value, internal.out_of_memory.
 */
FW_NODISCARD fw_error *fw_workspace_add(fw_server *server,
					const struct fw_workspace_options *options,
					fw_workspace **ret_workspace);

/* What is known of a call, or with NULL of the session: role, session, root,
 * phase and plan. On the server's thread; borrowed until it is asked again. */
void fw_workspace_describe(fw_workspace *ws, const fw_outcome *outcome, fw_scope *scope);

/* NULL is a no-op. */
void fw_workspace_free(fw_workspace *ws);

#endif
