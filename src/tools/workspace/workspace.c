/*
 * workspace.c - the toolset: its tools, prompt and resources, and how it is added to
 * a server.
 */
#include "tools/workspace/workspace.h"

#include <string.h>

#include "base/mem.h"
#include "tools/toolset.h"
#include "tools/workspace/clients.h"
#include "tools/workspace/trusted.h"
#include "tools/workspace/write_lock.h"

#include <faultwire/faultwire.h>

enum { PREFLIGHT_MS = 60000, DEADLINE_MS = 60000, BOTH = FW_WS_WINDSURF | FW_WS_ANTIGRAVITY };

/* ---- the tools ---- */

/* Generated from schemas/. */
extern const struct fw_toolset_file fw_workspace_schemas[];

struct description {
	struct fw_ws_tool tool;
	fw_handler *handler;
	const char *title;
	const char *words;
	const char *annotations;
};

#define READS "{\"readOnlyHint\":true,\"openWorldHint\":false}"
#define ADDS                                                                         \
	"{\"readOnlyHint\":false,\"destructiveHint\":false,\"idempotentHint\":true," \
	"\"openWorldHint\":"                                                         \
	"false}"
#define CHANGES                                                                      \
	"{\"readOnlyHint\":false,\"destructiveHint\":true,\"idempotentHint\":false," \
	"\"openWorldHint\":"                                                         \
	"false}"

static const struct description tools[] = {
	{ { "begin_session", BOTH, true },
	  fw_ws_begin_session,
	  "Begin a session",
	  "Binds this server to a workspace. Call it before any other tool. Calling it again "
	  "with the same root changes nothing.",
	  ADDS },
	{ { "read_file", BOTH, false },
	  fw_ws_read_file_tool,
	  "Read a file",
	  "Content, size and SHA-256 of a text file of the workspace.",
	  READS },
	{ { "write_file", BOTH, true },
	  fw_ws_write_file,
	  "Write a file",
	  "Writes a file as content or as a unified diff, within an approved plan. Give "
	  "previousHash (the sha256 that read_file returned) so that no work is lost. A file "
	  "below docs/reports/ needs no plan; writing one unlocks a locked session.",
	  CHANGES },
	{ { "write_files", FW_WS_WINDSURF, true },
	  fw_ws_write_files,
	  "Write several files",
	  "Writes, patches, creates and deletes up to 100 files within an approved plan, all "
	  "or none of them. The preflight command runs once, with all changes in place.",
	  CHANGES },
	{ { "move_file", FW_WS_WINDSURF, true },
	  fw_ws_move_file,
	  "Move a file",
	  "Moves a file to a path that does not exist yet, within an approved plan.",
	  CHANGES },
	{ { "delete_file", FW_WS_WINDSURF, true },
	  fw_ws_delete_file,
	  "Delete a file",
	  "Deletes a file within an approved plan.",
	  CHANGES },
	{ { "make_directory", FW_WS_WINDSURF, true },
	  fw_ws_make_directory,
	  "Create a directory",
	  "Creates a directory and its missing parents within an approved plan.",
	  ADDS },
	{ { "list_files", BOTH, false },
	  fw_ws_list_files,
	  "List files",
	  "Paths and sizes of the files of the workspace, or of those that match a glob.",
	  READS },
	{ { "search_files", BOTH, false },
	  fw_ws_search_files,
	  "Search files",
	  "Lines of text files that contain a text or match a regular expression.",
	  READS },
	{ { "list_plans", BOTH, false },
	  fw_ws_list_plans,
	  "List the plans",
	  "All plans with title, status and scope, and whether they can be used.",
	  READS },
	{ { "read_plan", BOTH, false },
	  fw_ws_read_plan,
	  "Read a plan",
	  "The text of a plan.",
	  READS },
	{ { "save_plan", FW_WS_ANTIGRAVITY, true },
	  fw_ws_save_plan,
	  "Save a plan",
	  "Keeps a plan for a person to approve. It begins with a comment that has the lines "
	  "KAIZA_PLAN_HASH: PENDING_HASH, ROLE: ANTIGRAVITY, STATUS: PENDING and SCOPE: with "
	  "globs separated by commas.",
	  ADDS },
	{ { "bootstrap_create_foundation_plan", FW_WS_ANTIGRAVITY, true },
	  fw_ws_bootstrap,
	  "Create the foundation plan",
	  "The first plan of a workspace, approved at once by a payload that a person has "
	  "signed (faultwire plan bootstrap).",
	  ADDS },
	{ { "read_audit_log", BOTH, false },
	  fw_ws_read_audit_log,
	  "Read the audit log",
	  "The last lines of the workspace's audit log, as JSON Lines.",
	  READS },
	{ { "verify_workspace_integrity", BOTH, false },
	  fw_ws_verify_integrity,
	  "Verify the workspace",
	  "Checks the audit log's chain and every plan's hash and signature.",
	  READS },
};

enum { TOOLS = sizeof tools / sizeof *tools };

const struct fw_ws_tool *fw_ws_tool_find(const char *name)
{
	for (size_t i = 0; i < TOOLS; i++)
		if (strcmp(tools[i].tool.name, name) == 0)
			return &tools[i].tool;
	return NULL;
}

/* ---- the prompt ---- */

static const char planner_text[] =
	"You plan, and do not change files. Call begin_session with the absolute path of the "
	"workspace first. Look around with list_files and search_files, and read what you need "
	"with read_file. Write each plan as Markdown that says what will be done and why, with "
	"the narrowest SCOPE that is enough, and keep it with save_plan. A person approves it; "
	"you cannot, and must not look for a way. When an error has the code SESSION_LOCKED, "
	"write what happened to docs/reports/ with write_file. Decide by error_code, never by "
	"human_message.";

static const char executor_text[] =
	"You carry out approved plans. Call begin_session with the absolute path of the "
	"workspace first, then list_plans; use a plan that is usable, and keep to its SCOPE. "
	"Find files with list_files and search_files. Read a file before you change it, and "
	"give its sha256 as previousHash. Change one file with write_file (content, or a "
	"unified diff as patch). Changes that belong together, such as a declaration and its "
	"uses, go into one call of write_files: all or none of them are made, and the "
	"preflight command sees all of them. There are also move_file, delete_file and "
	"make_directory. When you get PLAN_NOT_APPROVED or PLAN_SCOPE_VIOLATION, stop and "
	"tell a person. HASH_MISMATCH: read the file again. PREFLIGHT_FAILED: nothing was "
	"changed; the output is in cause. SESSION_LOCKED: write what happened to "
	"docs/reports/ with write_file, which unlocks the session. Decide by error_code, "
	"never by human_message.";

const char *fw_workspace_instructions(const char *role)
{
	switch (role ? fw_ws_role_read(role) : 0) {
	case FW_WS_WINDSURF: return executor_text;
	case FW_WS_ANTIGRAVITY: return planner_text;
	default: return NULL;
	}
}

fw_error *fw_ws_role_prompt(fw_call *call, void *ctx)
{
	const fw_workspace *ws = ctx;
	bool plans = ws->role == FW_WS_ANTIGRAVITY;

	fw_call_description(call, plans ? "How to work as ANTIGRAVITY"
					: "How to work as "
					  "WINDSURF");
	fw_call_text(call, plans ? planner_text : executor_text);
	return NULL;
}

/* ---- putting it together ---- */

/* Does the preflight command run in it? */
static bool is_writer(fw_handler *handler)
{
	return handler == fw_ws_write_file || handler == fw_ws_write_files ||
	       handler == fw_ws_move_file || handler == fw_ws_delete_file ||
	       handler == fw_ws_make_directory;
}

static fw_error *add_tools(fw_workspace *ws, fw_workers *workers)
{
	for (size_t i = 0; i < TOOLS; i++) {
		const struct description *about = &tools[i];
		fw_tool tool = FW_TOOL_INIT;

		tool.name = about->tool.name;
		tool.title = about->title;
		tool.description = about->words;
		tool.input_schema = fw_toolset_input_schema(fw_workspace_schemas, tool.name);
		tool.annotations = about->annotations;
		tool.handler = about->handler;
		tool.ctx = ws;
		tool.run = workers ? FW_RUN_PROCESS : FW_RUN_THREAD;
		tool.workers = workers;
		tool.state = ws->state;
		tool.contract = FW_KAIZA;
		tool.changes = about->tool.changes;
		/* A path with a NUL in it has a code of its own: path.invalid. */
		tool.takes_nul = true;
		tool.is_hidden = !(about->tool.roles & ws->role);
		tool.deadline_ms =
			DEADLINE_MS + (is_writer(about->handler) ? 2 * ws->preflight_ms : 0);
		FW_TRY(fw_server_add_tool(ws->server, &tool));
	}
	return NULL;
}

static fw_error *add_others(fw_workspace *ws)
{
	const fw_prompt prompt = {
		.struct_size = sizeof(fw_prompt),
		.name = ws->role == FW_WS_ANTIGRAVITY ? "antigravity" : "windsurf",
		.title = "How to work in this workspace",
		.description = "What this role does, with which tools, and what to do when "
			       "something is refused.",
		.handler = fw_ws_role_prompt,
		.ctx = ws,
	};
	const fw_resource files = {
		.struct_size = sizeof(fw_resource),
		.uri = "workspace:///{+path}",
		.name = "workspace-file",
		.title = "A file of the workspace",
		.description = "Text files, by their path relative to the workspace.",
		.mime_type = "text/plain",
		.handler = fw_ws_read_resource,
		.ctx = ws,
		.run = FW_RUN_THREAD,
	};

	FW_TRY(fw_server_add_prompt(ws->server, &prompt));
	return fw_server_add_resource(ws->server, &files);
}

static fw_error *add_workers(fw_workspace *ws, const struct fw_workspace_options *how,
			     fw_workers **ret_workers)
{
	char journal[FW_PATH_SIZE] = "";
	const char *writable[] = { ws->directory.path, NULL, NULL };
	const char *const readable[] = { ws->trusted, ws->revoked, NULL };
	fw_workers_options options = FW_WORKERS_INIT;

	if (ws->trusted && fw_ws_trusted_journal(ws->trusted, NULL, journal))
		writable[1] = journal;
	ws->is_fenced = ws->trusted && how->sandbox != FW_SANDBOX_OFF;
	options.count = how->workers;
	options.sandbox = how->sandbox;
	options.writable = writable;
	options.readable = readable;
	options.may_execute = ws->preflight != NULL;
	options.files = 256;
	if (ws->preflight)
		options.cpu_s = DEADLINE_MS / 1000 + 2 * ws->preflight_ms / 1000;
	return fw_server_add_workers(ws->server, &options, ret_workers);
}

static char *copy(const char *text)
{
	size_t len = strlen(text);
	char *to = fw__allocate(len + 1);

	if (to)
		memcpy(to, text, len + 1);
	return to;
}

static fw_error *audit_tools(const fw_workspace *ws)
{
	for (size_t i = 0; i < TOOLS; i++) {
		if (!tools[i].handler || !tools[i].tool.roles ||
		    !fw_toolset_input_schema(fw_workspace_schemas, tools[i].tool.name))
			return fw_raise_governance_self_audit_failed(
				"a tool lacks a schema, a role or a handler");
	}
	if (ws->role != FW_WS_WINDSURF && ws->role != FW_WS_ANTIGRAVITY)
		return fw_raise_governance_self_audit_failed("the server has no role");
	return NULL;
}

/* ---- lifecycle ---- */

static fw_error *read_options(fw_workspace *ws, const struct fw_workspace_options *options)
{
	const char *policy = options->policy ? options->policy : fw_ws_policy_default;

	if (!options->role)
		return fw_raise_input_missing_field("--role");
	ws->role = fw_ws_role_read(options->role);
	if (!ws->role)
		return fw_raise_input_invalid_value("--role", "windsurf or antigravity, also "
							      "named executor and planner");
	FW_TRY(fw_root_open_any(options->directory ? options->directory : ".", &ws->directory));
	if (options->directory && options->directory[0] == '/') {
		ws->alias = copy(options->directory);
		if (!ws->alias)
			return fw_raise_internal_out_of_memory();
		/* "/ws/" and "/ws" are the same directory. */
		for (size_t len = strlen(ws->alias); len > 1 && ws->alias[len - 1] == '/';
		     len--)
			ws->alias[len - 1] = '\0';
	}
	FW_TRY(fw_ws_policy_new(policy, strlen(policy), &ws->policy));
	if (options->preflight) {
		ws->preflight = copy(options->preflight);
		if (!ws->preflight)
			return fw_raise_internal_out_of_memory();
		ws->preflight_ms = options->preflight_ms ? options->preflight_ms : PREFLIGHT_MS;
	}
	ws->lock_on = options->lock_on;
	ws->hard_links = options->hard_links;
	ws->begins_sessions = options->begins_sessions;
	ws->checks_reservations = options->checks_reservations;
	ws->began = options->began;
	ws->note = options->note;
	ws->verify_audit = options->verify_audit;
	ws->ctx = options->ctx;
	return NULL;
}

static fw_error *set_up(fw_workspace *ws, const struct fw_workspace_options *options)
{
	fw_workers *workers = NULL;

	FW_TRY(read_options(ws, options));
	if (options->state)
		FW_TRY(fw_ws_trusted_open(ws, options->state));
	FW_TRY(audit_tools(ws));
	FW_TRY(fw_ws_self_audit(ws, options->plan_key));
	FW_TRY(fw_server_add_state(ws->server, "{}", 2, &ws->state));
	FW_TRY(add_workers(ws, options, &workers));
	FW_TRY(add_tools(ws, workers));
	FW_TRY(add_others(ws));
	/* The server itself cannot create links once it is confined. */
	if (ws->begins_sessions)
		fw_ws_trusted_link(ws, &ws->directory);
	return fw_ws_observe(ws);
}

fw_error *fw_workspace_add(fw_server *server, const struct fw_workspace_options *options,
			   fw_workspace **ret_workspace)
{
	fw_workspace *ws = fw__allocate(sizeof *ws);
	fw_error *err;

	if (!ws)
		return fw_raise_internal_out_of_memory();
	memset(ws, 0, sizeof *ws);
	ws->directory.fd = ws->root.fd = ws->mark = -1;
	ws->number = fw_ws_server_number();
	(void)pthread_mutex_init(&ws->lock, NULL);
	ws->server = server;
	err = set_up(ws, options);
	if (err) {
		fw_workspace_free(ws);
		return err;
	}
	*ret_workspace = ws;
	return NULL;
}

void fw_workspace_free(fw_workspace *ws)
{
	if (!ws)
		return;
	fw_ws_observe_clear(ws);
	fw_ws_policy_free(ws->policy);
	fw__release(ws->preflight);
	fw__release(ws->alias);
	fw__release(ws->trusted);
	fw__release(ws->revoked);
	fw_root_close(&ws->directory);
	fw_root_close(&ws->root);
	fw_ws_write_unlock(ws->mark);
	fw_ws_clients_free(ws);
	(void)pthread_mutex_destroy(&ws->lock);
	explicit_bzero(&ws->key, sizeof ws->key);
	fw__release(ws);
}
