/*
 * workspace.h - the governed workspace: tools for an agent to read the files of a
 * directory, and to change them within plans that a person has approved. See
 * docs/workspace.md. What other folders use begins with fw_workspace_, the rest with
 * fw_ws_.
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
	const char *directory; /* sessions may use it and what is below; NULL: "." */
	const char *role;      /* "windsurf" or "antigravity" (or "executor", "planner");
				* required */
	const char *plan_key;  /* a file; NULL: fw_ws_key_path() */
	const char *policy;    /* text of a rules file; NULL: the built-in rules */
	const char *state;     /* directory outside of the workspace for logs and nonces,
				* which workers may not write; created if missing. NULL:
				* they are kept in the workspace, where preflight commands
				* can write them */
	const char *preflight; /* a command for /bin/sh; NULL: none */
	uint32_t preflight_ms; /* 0: 60000 */
	enum fw_ws_lock_on lock_on;
	bool hard_links;      /* files with several names may be used */
	bool begins_sessions; /* the first call of a client begins its session, in `directory` */
	bool checks_reservations; /* the server answers FW_RESERVE_QUESTION */
	fw_sandbox sandbox;
	uint32_t workers; /* 0: the default number */
	/* Callbacks; may be NULL. The first two are called on the server's thread and
	 * must not block, the last one in a worker. `began`: a session has begun, and
	 * its audit log is `log`: a name in the directory `dir`, or with -1 a path.
	 * `log` NULL: the session that began last does not exist after all. */
	void (*began)(void *ctx, int dir, const char *log);
	void (*note)(void *ctx, const char *text);
	fw_error *(*verify_audit)(const char *path, struct fw_toolset_audit_report *ret_report);
	void *ctx;
};

/* The name of the audit log in a workspace. */
#define FW_WS_AUDIT_LOG "audit-log.jsonl"

/*
 * Adds the tools. Checks itself first and raises governance.self_audit_failed, with
 * which the server must not start. Also raises input.invalid_value,
 * internal.out_of_memory.
 */
FW_NODISCARD fw_error *fw_workspace_add(fw_server *server,
					const struct fw_workspace_options *options,
					fw_workspace **ret_workspace);

/* Fills in role, session, root, phase and plan of a call, or with NULL those of the
 * session. On the server's thread; the texts are valid until the next call. */
void fw_workspace_describe(fw_workspace *ws, const fw_outcome *outcome, fw_scope *scope);

/* What a model should know about working in this role; NULL: there is no such role. */
const char *fw_workspace_instructions(const char *role);

/* NULL is a no-op. */
void fw_workspace_free(fw_workspace *ws);

#endif
