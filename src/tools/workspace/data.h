/*
 * data.h - the data of the workspace toolset and its list of tools.
 *
 * Handlers run in worker processes and keep nothing between calls. What they need to
 * know about the session comes to them as a text (session.h), and what they did goes
 * back as one. The session itself is kept on the server's thread (observe.c).
 *
 * The one rule to remember: handlers only read `fw_workspace`, and only the observers
 * write its last part.
 */
#ifndef FW_TOOLS_WORKSPACE_DATA_H
#define FW_TOOLS_WORKSPACE_DATA_H

#include <pthread.h>

#include "tools/common/root.h"
#include "tools/workspace/plan.h"
#include "tools/workspace/policy.h"
#include "tools/workspace/session.h"
#include "tools/workspace/workspace.h"

#define FW_WS_REPORTS "docs/reports"

enum {
	FW_WS_PHASE_CHARS = 256, /* as in the schema of write_file */
	FW_WS_READ_BYTES = 2 * 1024 * 1024,
	FW_WS_EDIT_BYTES = 16 * 1024 * 1024
};

/* The roles, as a set of flags. */
enum { FW_WS_WINDSURF = 1, FW_WS_ANTIGRAVITY = 2 };

struct fw_ws_client;
struct fw_ws_progress;

/* What the arguments of the call that was described last say. */
struct fw_ws_described {
	char phase_id[4 * FW_WS_PHASE_CHARS + 1];
	char plan_hash[FW_SHA256_TEXT];
};

struct fw_workspace {
	struct fw_root directory;
	char *alias; /* the absolute path that was given for it; NULL: a relative one */
	unsigned role;
	struct fw_ws_key key;
	struct fw_ws_policy *policy;
	char *preflight;
	uint32_t preflight_ms;
	enum fw_ws_lock_on lock_on;
	bool hard_links;
	bool is_fenced; /* commands may not write everything that workers may */
	char *trusted;  /* directory that no worker may write; NULL: none */
	char *revoked;  /* directory with the hashes of revoked plans; NULL: none */
	void (*began)(void *ctx, int dir, const char *log);
	void (*note)(void *ctx, const char *text);
	fw_error *(*verify_audit)(const char *path, struct fw_toolset_audit_report *ret_report);
	void *ctx;
	bool begins_sessions;     /* a client need not call begin_session */
	bool checks_reservations; /* before it writes */
	uint64_t number;          /* of this server (write_lock.h) */
	/* Used by the server's thread only. */
	fw_server *server;
	fw_state *state;              /* of the tools; each client has its own */
	struct fw_root root;          /* of all sessions; its path may lead elsewhere by now */
	int mark;                     /* shows in that directory that the server is running */
	struct fw_ws_progress *calls; /* in progress */
	struct fw_ws_client *noted;   /* the client that a note is about; NULL: none */
	size_t client_count;
	uint64_t last_use;
	struct fw_ws_described described;
	/* For the threads that read resources. */
	pthread_mutex_t lock;
	struct fw_ws_client *clients;
};

const char *fw_ws_role_name(unsigned role); /* "WINDSURF" */
/* A role by its name or its neutral name (executor, planner), in any case; 0: none. */
unsigned fw_ws_role_read(const char *word);

/* ---- the tools ---- */

fw_handler fw_ws_begin_session;
fw_handler fw_ws_read_file_tool;
fw_handler fw_ws_write_file;
fw_handler fw_ws_write_files;
fw_handler fw_ws_move_file;
fw_handler fw_ws_delete_file;
fw_handler fw_ws_make_directory;
fw_handler fw_ws_list_files;
fw_handler fw_ws_search_files;
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

/* A tool of this toolset by its name; NULL if there is none. */
const struct fw_ws_tool *fw_ws_tool_find(const char *name);

/* ---- parts of its construction ---- */

/* Registers the observers that keep the session (observe.c). */
FW_NODISCARD fw_error *fw_ws_observe(fw_workspace *ws);
/* Frees what the observers keep about calls. */
void fw_ws_observe_clear(fw_workspace *ws);

/* Checks digests, registry, key and audit log before the server starts, and loads
 * the key (self_audit.c). Raises governance.self_audit_failed. */
FW_NODISCARD fw_error *fw_ws_self_audit(fw_workspace *ws, const char *plan_key);

#endif
