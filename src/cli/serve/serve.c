/*
 * serve.c - the command serve: sets up a server from its options, and runs it.
 */
#include "cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <faultwire/faultwire.h>
#include <faultwire/raise.h>

#include "api/api.h"
#include "cli/serve/audit.h"
#include "cli/serve/confine.h"
#include "cli/serve/fleet.h"
#include "cli/serve/limit.h"
#include "cli/serve/api.h"
#include "cli/serve/shared.h"
#include "cli/serve/start.h"
#include "cli/serve/toolsets.h"
#include "cli/state.h"
#include "cli/terminal/report.h"
#include "mcp/server.h"
#include "observe/log/log.h"
#include "worker/sandbox.h"

enum { WORKERS_MOST = 64, DEADLINE_MOST_S = 86400, DEADLINE_S = 30 };
/* What the heap of the server and of each worker keeps of the memory of large results. */
enum { MAPPED_BYTES = 1024 * 1024, KEPT_BYTES = 2 * 1024 * 1024 };
enum {
	TOOLS,
	CONTRACT,
	ROLE,
	LIMITS,
	JSON,
	RUN,
	WORKERS,
	SANDBOX,
	DEADLINE,
	HINTS,
	PROBLEM_BASE,
	API,
	UPGRADE_REQUIRED,
	OPTION_COUNT,
	FIRST_OF_TOOLSETS = OPTION_COUNT + SERVE_OPTION_COUNT
};

static const cli_option options[OPTION_COUNT] = {
	[TOOLS] = { "tools", "LIST", 't', CLI_TOOLSET,
		    "Toolsets to serve, separated by commas; see above for the defaults." },
	[CONTRACT] = { "contract", "CONTRACT", 'c', CLI_CONTRACT,
		       "Default error contract, for clients that do not choose one; by default "
		       "that of each toolset." },
	[ROLE] = { "role", "ROLE", 0, CLI_ROLE,
		   "Role to name in errors. A toolset may require one; see above." },
	[LIMITS] = { "limits", NULL, 0, CLI_NOTHING, "Show the limits and exit." },
	[JSON] = { "json", NULL, 'j', CLI_NOTHING, "With --limits: print JSON." },
	[RUN] = { "run", "WHERE", 0, CLI_RUN,
		  "Where tools run: in a separate process, which may crash or hang without "
		  "harm to the server; in a thread; or inline." },
	[WORKERS] = { "workers", "N", 0, CLI_TEXT,
		      "Number of worker processes for tools; by default one per CPU, at least "
		      "2." },
	[SANDBOX] = { "sandbox", "HOW", 0, CLI_SANDBOX,
		      "Confine the server and its workers. required: refuse to start if the "
		      "kernel lacks a feature; best-effort (the default): warn and go on; off: "
		      "do not confine." },
	[DEADLINE] = { "deadline", "SECONDS", 0, CLI_TEXT,
		       "Time limit of a call, by default 30; 0: no limit. It also shortens "
		       "the limits that tools have of their own. Not with --run inline." },
	[HINTS] = { "hints", "on|off|auto", 0, CLI_HINTS,
		    "Add a second text to the result of a tool that fails: what to do, and the "
		    "incident id. auto (the default): if the client has not chosen a contract. "
		    "Never in context-v0." },
	[PROBLEM_BASE] = { "problem-base", "URL", 0, CLI_TEXT,
			   "Base of the type URIs in problem documents, by default "
			   "https://owlclaw.dev/problems/; such as "
			   "https://tools.example.com/problems/, where this server explains "
			   "them." },
	[API] = { "api", "on|off", 0, CLI_SWITCH,
		  "HTTP: serve the HTTP API at /api/v1/ and /openapi.json; by default on." },
	[UPGRADE_REQUIRED] = { "upgrade-required", NULL, 0, CLI_NOTHING,
			       "HTTP API: answer 426 instead of 400 to a version that is not "
			       "supported." },
};

static const cli_example examples[] = {
	{ "One call over standard input and output:",
	  "echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}' | faultwire serve "
	  "--stdio --log off" },
	{ "Show all limits:", "faultwire serve --limits" },
	{ NULL, NULL },
};

/* A server, and everything around it. */
struct serving {
	const cli_args *args;
	struct serve_shared shared;
	char state[CLI_PATH_SIZE]; /* the state directory; "": there is none */
	char store[CLI_PATH_SIZE]; /* the default of --store */
	/* How tools are run. */
	fw_run run;
	bool is_run_chosen; /* by --run */
	fw_workers_options isolation;
	fw_workers *workers;
	struct fw_sandbox_report lacks; /* logged when there is a log */
	struct fw_api *api;             /* NULL: none */
	void *reservations;             /* of the toolsets */
};

static void report_sandbox(const cli_args *args, const char *missing)
{
	fw_log_event(FW_LOG_WARNING, "faultwire", "sandbox_incomplete",
		     (const fw_field[]){ fw_log_text("missing", missing) }, 1);
	if (!serve_is_log_only(args))
		cli_remark("sandbox: %s", missing);
}

/* There are workers only if tools run in processes. */
static fw_error *add_workers(struct serving *serving)
{
	const cli_args *args = serving->args;
	const char *run = args->values[RUN];
	const char *sandbox = args->values[SANDBOX];
	fw_workers_options *isolation = &serving->isolation;

	serving->run = FW_RUN_PROCESS;
	serving->is_run_chosen = run != NULL;
	FW_TRY(serve_number_read("--workers", args->values[WORKERS], WORKERS_MOST,
				 &isolation->count));
	if (sandbox && strcmp(sandbox, "required") == 0)
		isolation->sandbox = FW_SANDBOX_REQUIRED;
	else if (sandbox && strcmp(sandbox, "off") == 0)
		isolation->sandbox = FW_SANDBOX_OFF;
	if (run && strcmp(run, "process") != 0) {
		serving->run = strcmp(run, "inline") == 0 ? FW_RUN_INLINE : FW_RUN_THREAD;
		return NULL;
	}
	return fw_server_add_workers(serving->shared.server, isolation, &serving->workers);
}

static void allow(void *ctx, const char *path, bool may_write)
{
	struct serve_observers *observers = ctx;

	serve_toolsets_allow(&observers->toolsets, path, may_write);
}

/* See fw_toolset_host. */
static const char *value_at(const struct fw_toolset_host *host, size_t option, size_t index)
{
	const cli_args *args = host->arguments;

	for (size_t i = 0; i < args->file_count; i++)
		if (args->files[i].option == host->first_option + option && index-- == 0)
			return args->files[i].value;
	return NULL;
}

/* The same, of an option of any toolset. */
static const char *value_of(const struct fw_toolset_host *host, const char *option)
{
	const cli_args *args = host->arguments;
	const cli_option *found;
	const char *toolset;

	for (size_t i = 0; (found = serve_toolset_option_at(i, &toolset)); i++)
		if (strcmp(found->name, option) == 0)
			return args->values[FIRST_OF_TOOLSETS + i];
	return NULL;
}

static fw_error *add_toolsets(struct serving *serving)
{
	const cli_args *args = serving->args;
	char *state = serving->state;
	struct fw_toolset_host host = {
		.server = serving->shared.server,
		.value_at = value_at,
		.value_of = value_of,
		.loop = &serving->shared.loop,
		.reservations = &serving->reservations,
		.arguments = args,
		.first_option = FIRST_OF_TOOLSETS,
		.role = args->values[ROLE],
		.run = serving->run,
		.is_run_chosen = serving->is_run_chosen,
		.workers = serving->workers,
		.isolation = serving->isolation,
		.allow = allow,
		.move_audit = serve_value(args, SERVE_AUDIT) ? NULL : serve_audit_move,
		.note_audit = serve_audit_note,
		.verify_audit = serve_audit_verify,
		.ctx = &serving->shared.observers,
	};

	FW_TRY(cli_state_path("", false, state));
	/* Removes the slash at the end. */
	if (state[0])
		state[strlen(state) - 1] = '\0';
	host.state = state[0] ? state : NULL;
	FW_TRY(serve_api_file(serve_value(args, SERVE_STORE), "store.db", serving->store,
			      &host.store));
	return serve_toolsets_add(&serving->shared.observers.toolsets, args->values[TOOLS],
				  args->values + FIRST_OF_TOOLSETS, &host);
}

/* After the toolsets were added, because adding some of them reads files. */
static fw_error *confine(struct serving *serving)
{
	const cli_args *args = serving->args;
	const struct serve_toolsets *toolsets = &serving->shared.observers.toolsets;
	struct fw_engine_url engine = { .place_count = 0 };
	fw_error *err;
	struct serve_confine how = {
		.sandbox = serving->isolation.sandbox,
		.http = serve_value(args, SERVE_HTTP),
		.audit = serve_value(args, SERVE_AUDIT),
		.incidents = serve_database(args, SERVE_INCIDENTS),
		.store = serve_value(args, SERVE_STORE),
		.governance = serve_database(args, SERVE_GOVERNANCE),
		.anchors = serve_anchors(args),
		.policy = serve_value(args, SERVE_CLIENTS),
		.jwks = serve_value(args, SERVE_OAUTH_JWKS),
		.paths = toolsets->paths,
		.path_count = toolsets->path_count,
		.secret_file = serve_value(args, SERVE_ALERT_SECRET_FILE),
		.webhook = serve_value(args, SERVE_ALERT_WEBHOOK),
		.alertmanager = serve_value(args, SERVE_ALERTMANAGER),
	};

	if (serve_is_fleet(args)) {
		FW_TRY(serve_fleet_url(args, &engine));
		how.engine = &engine;
	}
	/* Workers need no feature that the server does not need. */
	if (how.sandbox == FW_SANDBOX_BEST_EFFORT)
		fw_sandbox_probe_server(serve_confine_connects(&how), &serving->lacks);
	err = serve_confine(serving->shared.server, &how);
	explicit_bzero(&engine, sizeof engine);
	return err;
}

static fw_hints hints_of(const char *word)
{
	if (!word || strcmp(word, "auto") == 0)
		return FW_HINTS_AUTO;
	return strcmp(word, "on") == 0 ? FW_HINTS_ON : FW_HINTS_OFF;
}

/* The name of a problem is appended to it. */
static fw_error *check_problem_base(const char *url)
{
	bool is_url =
		!url || strncmp(url, "https://", 8) == 0 || strncmp(url, "http://", 7) == 0;

	if (is_url && (!url || (url[strlen(url) - 1] == '/' && !strpbrk(url, " ?#\"\\<>"))))
		return NULL;
	return cli_usage("--problem-base takes an http or https URL that ends in a slash; "
			 "found \"%s\"",
			 url);
}

static fw_error *serve(struct serving *serving)
{
	const cli_args *args = serving->args;
	struct serve_observers *observers = &serving->shared.observers;
	fw_server_options server = FW_SERVER_OPTIONS_INIT;
	const char *http = serve_value(args, SERVE_HTTP);
	static const size_t needs_http[] = { API, UPGRADE_REQUIRED };
	uint32_t deadline_s = DEADLINE_S;

	for (size_t i = 0; !http && i < sizeof needs_http / sizeof *needs_http; i++)
		if (cli_given(args, needs_http[i]))
			return cli_usage("--%s requires --http", options[needs_http[i]].name);
	FW_TRY(serve_shared_read(&serving->shared));
	server.name = "faultwire";
	server.title = "faultwire";
	server.version = fw_version();
	/* A toolset that is served alone determines the contract of the server. */
	server.contract =
		cli_contract(args, CONTRACT, serve_toolsets_contract(args->values[TOOLS]));
	server.role = args->values[ROLE];
	server.instructions =
		serve_toolsets_instructions(args->values[TOOLS], args->values[ROLE]);
	server.debug_stack = cli_stack_is_wanted();
	server.hints = hints_of(args->values[HINTS]);
	server.problem_base = args->values[PROBLEM_BASE];
	FW_TRY(check_problem_base(server.problem_base));
	FW_TRY(serve_number_read("--deadline", args->values[DEADLINE], DEADLINE_MOST_S,
				 &deadline_s));
	server.deadline_ms = deadline_s * 1000;
	if (cli_given(args, DEADLINE))
		server.deadline_most_ms = server.deadline_ms;
	/* Before workers are forked, which inherit it. */
	serve_keep_heap(MAPPED_BYTES, KEPT_BYTES);
	FW_TRY(serve_shared_make(&serving->shared, &server));
	FW_TRY(add_workers(serving));
	/* Before the audit log, whose records contain what toolsets know about a call. */
	FW_TRY(add_toolsets(serving));
	FW_TRY(confine(serving));
	/* From here on threads may start, and only what confine() permits can be opened. */
	FW_TRY(fw_server_prepare(serving->shared.server));
	FW_TRY(serve_observers_begin(observers, serving->shared.server, &serving->shared.loop,
				     &serving->shared.observe));
	if (serving->lacks.missing[0])
		report_sandbox(args, serving->lacks.missing);
	if (http)
		FW_TRY(serve_api_add(&serving->shared,
				     &(struct serve_api){ .api = args->values[API],
							  .upgrade_required = cli_given(
								  args, UPGRADE_REQUIRED) },
				     &serving->api));
	FW_TRY(serve_shared_listen(&serving->shared));
	if (serving->api) {
		fw_api_set_alerting(serving->api, observers->observation.alerting);
		fw_api_set_fleet(serving->api, serve_put_fleet, &serving->shared);
	}
	serve_toolsets_start(&observers->toolsets);
	serve_shared_started(&serving->shared, "server_started", args->values[TOOLS]);
	return fw_server_run(serving->shared.server);
}

/*
 * Makes a failure to start be reported in a contract: that of --contract; without one, in kaiza
 * if a toolset has that contract, which has codes for failures to start. A usage error is
 * always plain text, for the person who typed the command.
 */
static bool report_in_contract(const struct serving *serving, const fw_error *err)
{
	const cli_args *args = serving->args;
	const struct fw_toolset *failed = serving->shared.observers.toolsets.failed;
	fw_contract contract =
		serve_toolsets_include(args->values[TOOLS], FW_KAIZA) ? FW_KAIZA : FW_AUTO;
	bool is_self_audit = fw_error_code(err) == FW_GOVERNANCE_SELF_AUDIT_FAILED;

	if (failed && contract != FW_KAIZA)
		contract = failed->contract;
	if (!cli_given(args, CONTRACT) &&
	    (fw_error_code(err) == FW_CLI_USAGE || (contract != FW_KAIZA && !is_self_audit)))
		return cli_reports_in_contract();
	contract = cli_contract(args, CONTRACT, contract);
	cli_report_by_default_in(contract < FW_CONTRACT_COUNT ? contract : FW_CANONICAL);
	return true;
}

/* Before the log is closed. Consumes `err`, and returns what to report. */
static fw_error *fail_to_start(struct serving *serving, fw_error *err)
{
	bool in_contract = report_in_contract(serving, err);

	return serve_start_failed(&serving->shared.observers, &serving->shared.observe,
				  serving->args->values[ROLE], err, in_contract);
}

static int run(const cli_args *args)
{
	struct serving serving = { .args = args,
				   .shared = { .args = args,
					       .observe = FW_OBSERVE_OPTIONS_INIT },
				   .isolation = FW_WORKERS_INIT };
	bool is_free;
	fw_error *err;

	if (cli_given(args, LIMITS)) {
		serve_limits_put(cli_given(args, JSON));
		return CLI_DONE;
	}
	err = serve(&serving);
	if (err && !serving.shared.is_started)
		err = fail_to_start(&serving, err);
	fw_api_close(serving.api);
	serve_toolsets_stop(&serving.shared.observers.toolsets);
	is_free = serve_shared_close(&serving.shared);
	if (is_free) {
		fw_api_free(serving.api);
		serve_toolsets_free(&serving.shared.observers.toolsets);
	}
	serve_shared_clear(&serving.shared, is_free, "server_stopped");
	return err ? cli_fail(err) : CLI_DONE;
}

const cli_command cli_command_serve = {
	.name = "serve",
	.summary = "run an MCP server with toolsets",
	.synopsis = "[--stdio | --http ADDR:PORT] [OPTION]...",
	.description =
		"Serves tools over the Model Context Protocol: versions 2025-03-26, "
		"2025-06-18 and 2025-11-25 with a handshake, 2026-07-28 without one, on "
		"the same endpoint. Errors are reported in the contract that the "
		"request, the client or --contract chooses.\n"
		"\n"
		"The server stops at the end of its input, or on SIGTERM, SIGINT or "
		"SIGHUP; calls in progress are completed or answered first. State is stored in "
		"$XDG_STATE_HOME/faultwire. Failures and changes are written to the "
		"audit log before the reply is sent (see faultwire audit), and failures "
		"can be looked up by their incident id (see faultwire incident).\n"
		"\n"
		"Over HTTP there are pages beside the endpoint: /livez and /healthz (is "
		"it alive), /readyz (does it accept calls), /problems/ (what codes "
		"mean), and with the token /metrics and /alerts.",
	.options = options,
	.option_count = OPTION_COUNT,
	.shared_options = serve_options,
	.shared_count = SERVE_OPTION_COUNT,
	.more_options = serve_toolset_option_at,
	.part_kind = "toolset",
	.part_at = serve_toolset_at,
	.operands = CLI_NOTHING,
	.examples = examples,
	.run = run,
};
