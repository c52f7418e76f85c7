/*
 * impl.h - what the parts of the toolset share.
 *
 * A handler runs in a process of its own and remembers nothing: what is known
 * of the session comes to it as a text (session.c), and what it did goes back
 * as one. The truth is kept on the server's thread, by observe.c.
 *
 * The one rule to remember: handlers read `fw_workspace`, and only the
 * observers write its last part.
 */
#ifndef FW_TOOLS_WORKSPACE_IMPL_H
#define FW_TOOLS_WORKSPACE_IMPL_H

#include <pthread.h>

#include "base/buf.h"
#include "tools/workspace/plan.h"
#include "tools/workspace/policy.h"
#include "tools/workspace/workspace.h"
#include "tools/workspace/write.h"

#define FW_WS_PLANS "docs/plans"
#define FW_WS_REPORTS "docs/reports"
/* Invariant: audit-log.jsonl of a workspace is the link to its log. */
#define FW_WS_LOG_IN_PLACE "AUDIT_LOG_IN_ITS_PLACE"

enum {
	FW_WS_UUID_SIZE = 37,
	FW_WS_PHASE_CHARS = 256, /* as the schema of write_file says */
	FW_WS_READ_BYTES = 2 * 1024 * 1024,
	FW_WS_EDIT_BYTES = 16 * 1024 * 1024,
	FW_WS_STATE_BYTES = 32 * 1024
};

struct fw_ws_session {
	char id[FW_WS_UUID_SIZE]; /* "": none */
	char root[FW_WS_PATH_SIZE];
	uint64_t dev;
	uint64_t ino;
	char locked_by[48]; /* "": not locked */
};

/* What a call did that its outcome alone does not say. */
struct fw_ws_done {
	struct fw_ws_done *next;
	const fw_call *call;
	bool began;
	bool reported; /* a report, which unlocks */
	char journal[FW_WS_ID_SIZE];
};

enum { FW_WS_WINDSURF = 1, FW_WS_ANTIGRAVITY = 2 };

struct fw_workspace {
	struct fw_ws_root directory;
	char *alias; /* as whoever started it called the directory; NULL: relatively */
	unsigned role;
	struct fw_ws_key key;
	struct fw_ws_policy *policy;
	char *preflight;
	uint32_t preflight_ms;
	enum fw_ws_lock_on lock_on;
	bool hard_links;
	char *trusted; /* folder for what no worker may write; NULL: there is none */
	void (*began)(void *ctx, int dir, const char *log);
	void (*note)(void *ctx, const char *text);
	fw_error *(*verify_audit)(const char *path, struct fw_toolset_audit_report *ret_report);
	void *ctx;
	/* Of the server's thread. */
	fw_server *server;
	fw_state *state;
	struct fw_ws_session session;
	struct fw_ws_root root; /* the session's, which its path may not lead to any more */
	struct fw_ws_done *done;
	char phase_id[4 * FW_WS_PHASE_CHARS + 1]; /* of the call last looked at */
	char plan_hash[FW_WS_HEX_SIZE];
	/* The same session for threads, which resources are read on. */
	pthread_mutex_t lock;
	struct fw_ws_session shared;
};

const char *fw_ws_role_name(unsigned role); /* "WINDSURF" */

/* ---- in a handler (session.c) ------------------------------------------------- */

/* The session as this call sees it; one that does not exist has no id. */
void fw_ws_session_of(const fw_call *call, struct fw_ws_session *ret_session);
void fw_ws_session_write(const struct fw_ws_session *session, struct fw_buf *out);

/*
 * The session's root, open, for fw_ws_root_close(). Raises
 * session.not_initialized; governance.invariant_violation where it is not the
 * directory any more that the session began with.
 */
FW_NODISCARD fw_error *fw_ws_enter(const fw_workspace *ws, const fw_call *call,
				   struct fw_ws_session *ret_session,
				   struct fw_ws_root *ret_root);
/* The same for a session that is known. */
FW_NODISCARD fw_error *fw_ws_enter_session(const fw_workspace *ws,
					   const struct fw_ws_session *session,
					   const char *name, struct fw_ws_root *ret_root);
/* The same for tools that a lock closes; raises session.locked, too. */
FW_NODISCARD fw_error *fw_ws_enter_unlocked(const fw_workspace *ws, const fw_call *call,
					    struct fw_ws_root *ret_root);

/* governance.invariant_violation, with the id in its scope. */
FW_NODISCARD fw_error *fw_ws_invariant(fw_src at, const char *id, const char *why);

/* Tell the server's thread, when this call succeeds. */
void fw_ws_tell_began(fw_call *call, const struct fw_ws_session *session,
		      const char *recovered);
void fw_ws_tell_recovered(fw_call *call, const char *recovered);
void fw_ws_tell_wrote(fw_call *call, const char *journal, bool reported, const char *recovered);

/* ---- on the server's thread (observe.c) ----------------------------------------- */

FW_NODISCARD fw_error *fw_ws_observe(fw_workspace *ws);

/* ---- plans in a workspace (plan_store.c) ------------------------------------------ */

/* Its text, for fw__release(). Raises plan.not_found, file.read_failed... */
FW_NODISCARD fw_error *fw_ws_plan_load(const struct fw_ws_root *root, const char *hash,
				       char **ret_text, size_t *ret_len);
/* Kept under its own hash, with this status and signature (NULL: none). The
 * hash is told. Where there is one already it stays as it is: *ret_was_there. */
FW_NODISCARD fw_error *fw_ws_plan_save(const struct fw_ws_root *root,
				       const struct fw_ws_plan *plan, const char *status,
				       const char *signature, bool *ret_was_there);
/* The approved one takes the place of the pending one. */
FW_NODISCARD fw_error *fw_ws_plan_approve(const struct fw_ws_root *root,
					  const struct fw_ws_plan *plan,
					  const struct fw_ws_key *key);

/* The hashes of all plans, sorted, 64 digits and a NUL each; for fw__release(). */
FW_NODISCARD fw_error *fw_ws_plan_list(const struct fw_ws_root *root,
				       char (**ret_hashes)[FW_WS_HEX_SIZE], size_t *ret_count);

/* ---- the tools ---------------------------------------------------------------------- */

fw_handler fw_ws_begin_session;
fw_handler fw_ws_read_file_tool;
fw_handler fw_ws_write_file;
fw_handler fw_ws_list_plans;
fw_handler fw_ws_read_plan;
fw_handler fw_ws_save_plan;
fw_handler fw_ws_bootstrap;
fw_handler fw_ws_read_audit_log;
fw_handler fw_ws_verify_integrity;
fw_handler fw_ws_read_resource;
fw_handler fw_ws_role_prompt;

struct fw_ws_tool {
	const char *name;
	unsigned roles;
	bool changes;
};

/* One of ours by its name; NULL: not. */
const struct fw_ws_tool *fw_ws_tool_find(const char *name);

#endif
