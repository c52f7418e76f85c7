/*
 * serve.c - the command serve: sets up a server from its options, and runs it.
 */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <faultwire/faultwire.h>
#include <faultwire/raise.h>

#include "api/api.h"
#include "base/loop.h"
#include "cli/serve/audit.h"
#include "cli/serve/confine.h"
#include "cli/serve/limit.h"
#include "cli/serve/listen.h"
#include "cli/serve/observers.h"
#include "cli/serve/start.h"
#include "cli/serve/toolsets.h"
#include "cli/state.h"
#include "cli/terminal/input.h"
#include "cli/terminal/report.h"
#include "mcp/server.h"
#include "observe/log/log.h"
#include "worker/sandbox.h"

enum { WORKERS_MOST = 64, DEADLINE_MOST_S = 86400, DEADLINE_S = 30 };
enum {
	STDIO,
	HTTP,
	TOOLS,
	CONTRACT,
	TOKEN_FILE,
	ROLE,
	AUDIT,
	AUDIT_SYNC,
	AUDIT_ARGS,
	AUDIT_BYTES,
	LIMIT,
	LIMITS,
	JSON,
	METRICS,
	ALERT_WEBHOOK,
	ALERT_SECRET_FILE,
	ALERTMANAGER,
	RUN,
	WORKERS,
	SANDBOX,
	DEADLINE,
	LOG,
	LOG_LEVEL,
	INCIDENTS,
	INCIDENTS_AGE,
	INCIDENTS_BYTES,
	HINTS,
	PROBLEM_BASE,
	API,
	UPGRADE_REQUIRED,
	STORE,
	OPTION_COUNT
};

static const cli_option options[OPTION_COUNT] = {
	[STDIO] = { "stdio", NULL, 0, CLI_NOTHING,
		    "Serve on standard input and output; the default." },
	[HTTP] = { "http", "ADDR:PORT", 0, CLI_TEXT,
		   "Listen on this address; the endpoint is /mcp. Port 0 chooses a free port. "
		   "The URL is printed on standard error." },
	[TOOLS] = { "tools", "LIST", 't', CLI_TOOLSET,
		    "Toolsets to serve, separated by commas; see above for the defaults." },
	[CONTRACT] = { "contract", "CONTRACT", 'c', CLI_CONTRACT,
		       "Default error contract, for clients that do not choose one; by default "
		       "that of each toolset." },
	[TOKEN_FILE] = { "token-file", "FILE", 0, CLI_FILE,
			 "HTTP: require the bearer token on the first line of FILE." },
	[ROLE] = { "role", "ROLE", 0, CLI_TEXT,
		   "Role to name in errors. A toolset may require one; see above." },
	[LIMIT] = { "limit", "NAME=VALUE", 'l', CLI_SETTING,
		    "Set a limit; may be repeated. Bytes take the suffix k or m, times ms or "
		    "s." },
	[LIMITS] = { "limits", NULL, 0, CLI_NOTHING, "Show the limits and exit." },
	[JSON] = { "json", NULL, 'j', CLI_NOTHING, "With --limits: print JSON." },
	[AUDIT] = { "audit", "FILE", 0, CLI_FILE,
		    "Audit log of failures and changes, or off; by default audit-log.jsonl in "
		    "the state directory." },
	[AUDIT_SYNC] = { "audit-sync", "WHEN", 0, CLI_AUDIT_SYNC,
			 "When to sync the audit log to disk: always (before each reply, the "
			 "default), interval, interval=MS, or off." },
	[AUDIT_ARGS] = { "audit-args", "HOW", 0, CLI_AUDIT_FORM,
			 "How to record arguments: hash (the default) or redacted." },
	[AUDIT_BYTES] = { "audit-bytes", "N", 0, CLI_TEXT,
			  "Rotate the audit log at this size, by default 64m; takes the suffix "
			  "k or m. Rotated files are never deleted." },
	[METRICS] = { "metrics", "on|off", 0, CLI_SWITCH,
		      "HTTP: serve Prometheus metrics at /metrics; by default on." },
	[ALERT_WEBHOOK] = { "alert-webhook", "URL", 0, CLI_TEXT,
			    "Post each alert to URL as JSON, when it fires and when it is "
			    "resolved." },
	[ALERT_SECRET_FILE] = { "alert-secret-file", "FILE", 0, CLI_FILE,
				"Sign webhook requests with the secret on the first line of "
				"FILE." },
	[ALERTMANAGER] = { "alertmanager", "URL", 0, CLI_TEXT,
			   "Send firing alerts to the Prometheus Alertmanager at URL." },
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
	[LOG] = { "log", "FORM", 0, CLI_LOG_FORM,
		  "Log format on standard error: json, text, journald or off; by default text "
		  "on a terminal, otherwise json." },
	[LOG_LEVEL] = { "log-level", "LEVEL", 0, CLI_LOG_LEVEL,
			"Lowest level to log: debug, info (the default), notice, warning, "
			"error or critical." },
	[INCIDENTS] = { "incidents", "FILE", 0, CLI_FILE,
			"Database for incidents, or off; by default incidents.db in the state "
			"directory." },
	[INCIDENTS_AGE] = { "incidents-age", "DAYS", 0, CLI_TEXT,
			    "Delete incidents older than this; by default 30." },
	[INCIDENTS_BYTES] = { "incidents-bytes", "N", 0, CLI_TEXT,
			      "Maximum size of the incident database, by default 256m; takes "
			      "the suffix k or m. The oldest incidents are deleted." },
	[HINTS] = { "hints", "on|off|auto", 0, CLI_HINTS,
		    "Add a second text to the result of a tool that fails: what to do, and the "
		    "incident id. auto (the default): if the client has not chosen a contract. "
		    "Never in context-v0." },
	[PROBLEM_BASE] = { "problem-base", "URL", 0, CLI_TEXT,
			   "Base of the type URIs in problem documents, by default "
			   "https://owlclaw.dev/problems/; such as "
			   "https://tools.example.com/problems/, where this server explains "
			   "them." },
	[API] = { "api", "on|off", 0, CLI_TEXT,
		  "HTTP: serve the HTTP API at /api/v1/ and /openapi.json; by default on." },
	[UPGRADE_REQUIRED] = { "upgrade-required", NULL, 0, CLI_NOTHING,
			       "HTTP API: answer 426 instead of 400 to a version that is not "
			       "supported." },
	[STORE] = { "store", "FILE", 0, CLI_FILE,
		    "Database for file reservations, and for answers of the HTTP API to "
		    "requests with an Idempotency-Key, or off; by default store.db in the "
		    "state "
		    "directory." },
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
	fw_server *server;
	bool is_started;
	struct serve_observers observers;
	fw_observe_options observe;
	char state[CLI_PATH_SIZE]; /* the state directory; "": there is none */
	char store[CLI_PATH_SIZE]; /* the default of --store */
	/* How tools are run. */
	fw_run run;
	bool is_run_chosen; /* by --run */
	fw_workers_options isolation;
	fw_workers *workers;
	struct fw_sandbox_report lacks; /* logged when there is a log */
	struct fw_loop loop;            /* of the server and the alerts */
	struct fw_api *api;             /* NULL: none */
	void *reservations;             /* of the toolsets */
};

static fw_error *read_number(const cli_args *args, size_t option, uint32_t most,
			     uint32_t *ret_number)
{
	const char *text = args->values[option];
	unsigned long number;
	char *end;

	if (!text)
		return NULL;
	errno = 0;
	number = strtoul(text, &end, 10);
	if (errno || end == text || *end != '\0' || text[0] == '-' || number > most)
		return cli_usage("--%s takes a number up to %u; found \"%s\"",
				 options[option].name, most, text);
	*ret_number = (uint32_t)number;
	return NULL;
}

/* With --log json, standard error contains nothing else. */
static bool is_log_only(const cli_args *args)
{
	return args->values[LOG] && strcmp(args->values[LOG], "json") == 0;
}

static void report_sandbox(const cli_args *args, const char *missing)
{
	fw_log_event(FW_LOG_WARNING, "faultwire", "sandbox_incomplete",
		     (const fw_field[]){ fw_log_text("missing", missing) }, 1);
	if (!is_log_only(args))
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
	FW_TRY(read_number(args, WORKERS, WORKERS_MOST, &isolation->count));
	if (sandbox && strcmp(sandbox, "required") == 0)
		isolation->sandbox = FW_SANDBOX_REQUIRED;
	else if (sandbox && strcmp(sandbox, "off") == 0)
		isolation->sandbox = FW_SANDBOX_OFF;
	if (run && strcmp(run, "process") != 0) {
		serving->run = strcmp(run, "inline") == 0 ? FW_RUN_INLINE : FW_RUN_THREAD;
		return NULL;
	}
	return fw_server_add_workers(serving->server, isolation, &serving->workers);
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
			return args->values[OPTION_COUNT + i];
	return NULL;
}

/* `name` in the state directory, unless the option names another file or is off. */
static fw_error *file_of(const cli_args *args, size_t option, const char *name,
			 char path[CLI_PATH_SIZE], const char **ret_file)
{
	const char *given = args->values[option];

	*ret_file = given && strcmp(given, "off") == 0 ? NULL : given;
	if (given)
		return NULL;
	FW_TRY(cli_state_path(name, false, path));
	*ret_file = path[0] ? path : NULL;
	return NULL;
}

static fw_error *add_toolsets(struct serving *serving)
{
	const cli_args *args = serving->args;
	char *state = serving->state;
	struct fw_toolset_host host = {
		.server = serving->server,
		.value_at = value_at,
		.value_of = value_of,
		.loop = &serving->loop,
		.reservations = &serving->reservations,
		.arguments = args,
		.first_option = OPTION_COUNT,
		.role = args->values[ROLE],
		.run = serving->run,
		.is_run_chosen = serving->is_run_chosen,
		.workers = serving->workers,
		.isolation = serving->isolation,
		.allow = allow,
		.move_audit = cli_given(args, AUDIT) ? NULL : serve_audit_move,
		.note_audit = serve_audit_note,
		.verify_audit = serve_audit_verify,
		.ctx = &serving->observers,
	};

	FW_TRY(cli_state_path("", false, state));
	/* Removes the slash at the end. */
	if (state[0])
		state[strlen(state) - 1] = '\0';
	host.state = state[0] ? state : NULL;
	FW_TRY(file_of(args, STORE, "store.db", serving->store, &host.store));
	return serve_toolsets_add(&serving->observers.toolsets, args->values[TOOLS],
				  args->values + OPTION_COUNT, &host);
}

static void report_start(const fw_server *server, const cli_args *args)
{
	const char *url = fw_server_url(server);
	const fw_field fields[] = {
		fw_log_text("version", fw_version()),
		fw_log_text("transport", url ? "http" : "stdio"),
		fw_log_text("url", url),
		fw_log_text("tools", args->values[TOOLS]),
	};

	fw_log_event(FW_LOG_INFO, "faultwire", "server_started", fields,
		     sizeof fields / sizeof *fields);
	if (url && !is_log_only(args))
		cli_remark("listening on %s", url);
}

/* After the toolsets were added, because adding some of them reads files. */
static fw_error *confine(struct serving *serving)
{
	const cli_args *args = serving->args;
	const struct serve_toolsets *toolsets = &serving->observers.toolsets;
	const struct serve_confine how = {
		.sandbox = serving->isolation.sandbox,
		.http = args->values[HTTP],
		.audit = args->values[AUDIT],
		.incidents = args->values[INCIDENTS],
		.store = args->values[STORE],
		.paths = toolsets->paths,
		.path_count = toolsets->path_count,
		.secret_file = args->values[ALERT_SECRET_FILE],
		.webhook = args->values[ALERT_WEBHOOK],
		.alertmanager = args->values[ALERTMANAGER],
	};

	/* Workers need no feature that the server does not need. */
	if (how.sandbox == FW_SANDBOX_BEST_EFFORT)
		fw_sandbox_probe_server(how.webhook || how.alertmanager, &serving->lacks);
	return serve_confine(serving->server, &how);
}

static fw_error *read_observers(struct serving *serving)
{
	const cli_args *args = serving->args;
	const struct serve_observing observing = {
		.log = args->values[LOG],
		.log_level = args->values[LOG_LEVEL],
		.audit = args->values[AUDIT],
		.audit_sync = args->values[AUDIT_SYNC],
		.audit_args = args->values[AUDIT_ARGS],
		.audit_bytes = args->values[AUDIT_BYTES],
		.incidents = args->values[INCIDENTS],
		.incidents_age = args->values[INCIDENTS_AGE],
		.incidents_bytes = args->values[INCIDENTS_BYTES],
		.metrics = args->values[METRICS],
		.webhook = args->values[ALERT_WEBHOOK],
		.secret_file = args->values[ALERT_SECRET_FILE],
		.alertmanager = args->values[ALERTMANAGER],
	};

	return serve_observers_read(&serving->observers, &observing, &serving->observe);
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

static fw_error *add_api(struct serving *serving)
{
	const cli_args *args = serving->args;
	const char *api = args->values[API];
	char incidents[CLI_PATH_SIZE], store[CLI_PATH_SIZE];
	struct fw_api_options how = { .loop = &serving->loop,
				      .upgrade_required = cli_given(args, UPGRADE_REQUIRED) };

	if (api && strcmp(api, "on") != 0 && strcmp(api, "off") != 0)
		return cli_usage("--api takes on or off; found \"%s\"", api);
	if (api && strcmp(api, "off") == 0)
		return NULL;
	FW_TRY(file_of(args, INCIDENTS, "incidents.db", incidents, &how.incident_file));
	FW_TRY(file_of(args, STORE, "store.db", store, &how.store_file));
	return fw_api_new(serving->server, &how, &serving->api);
}

static fw_error *serve(struct serving *serving)
{
	const cli_args *args = serving->args;
	struct serve_observers *observers = &serving->observers;
	fw_server_options server = FW_SERVER_OPTIONS_INIT;
	const char *http = args->values[HTTP];
	static const size_t needs_http[] = { METRICS, API, UPGRADE_REQUIRED };
	uint32_t deadline_s = DEADLINE_S;
	char token[1024] = "";
	char state[CLI_PATH_SIZE];

	if (http && cli_given(args, STDIO))
		return cli_usage("--stdio and --http cannot both be given");
	for (size_t i = 0; !http && i < sizeof needs_http / sizeof *needs_http; i++)
		if (cli_given(args, needs_http[i]))
			return cli_usage("--%s requires --http", options[needs_http[i]].name);
	FW_TRY(read_observers(serving));
	serve_raise_open_files();
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
	FW_TRY(read_number(args, DEADLINE, DEADLINE_MOST_S, &deadline_s));
	server.deadline_ms = deadline_s * 1000;
	if (cli_given(args, DEADLINE))
		server.deadline_most_ms = server.deadline_ms;
	if (cli_given(args, TOKEN_FILE))
		FW_TRY(cli_read_first_line(args->values[TOKEN_FILE], "--token-file", token,
					   sizeof token));
	FW_TRY(cli_state_path("", true, state));
	if (fw_loop_init(&serving->loop) != 0)
		return fw_raise_internal_unexpected("uv_loop_init");
	FW_TRY(fw_server__new_on(&serving->loop, &server, &serving->server));
	FW_TRY(serve_limits_set(serving->server, args));
	FW_TRY(add_workers(serving));
	/* Before the audit log, whose records contain what toolsets know about a call. */
	FW_TRY(add_toolsets(serving));
	FW_TRY(confine(serving));
	/* From here on threads may start, and only what confine() permits can be opened. */
	FW_TRY(fw_server_prepare(serving->server));
	FW_TRY(serve_observers_begin(observers, serving->server, &serving->observe));
	if (serving->lacks.missing[0])
		report_sandbox(args, serving->lacks.missing);
	if (http)
		FW_TRY(add_api(serving));
	if (http)
		FW_TRY(serve_listen_http(serving->server, http, token[0] ? token : NULL));
	else
		FW_TRY(fw_server_listen_stdio(serving->server));
	FW_TRY(fw_observation_complete(&observers->observation, serving->server, &serving->loop,
				       &serving->observe));
	if (serving->api)
		fw_api_set_alerting(serving->api, observers->observation.alerting);
	explicit_bzero(observers->secret, sizeof observers->secret);
	serve_toolsets_start(&observers->toolsets);
	report_start(serving->server, args);
	serving->is_started = true;
	return fw_server_run(serving->server);
}

/*
 * Makes a failure to start be reported in a contract: that of --contract; without one, in
 * kaiza if a toolset has that contract, which has codes for failures to start. An error of
 * usage is for whoever types the command.
 */
static bool report_in_contract(const struct serving *serving, const fw_error *err)
{
	const cli_args *args = serving->args;
	const struct fw_toolset *failed = serving->observers.toolsets.failed;
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

	return serve_start_failed(&serving->observers, &serving->observe,
				  serving->args->values[ROLE], err, in_contract);
}

static int run(const cli_args *args)
{
	struct serving serving = { .args = args,
				   .isolation = FW_WORKERS_INIT,
				   .observe = FW_OBSERVE_OPTIONS_INIT };
	bool is_free;
	fw_error *err;

	if (cli_given(args, LIMITS)) {
		serve_limits_put(cli_given(args, JSON));
		return CLI_DONE;
	}
	err = serve(&serving);
	if (err && !serving.is_started)
		err = fail_to_start(&serving, err);
	fw_api_close(serving.api);
	serve_toolsets_stop(&serving.observers.toolsets);
	is_free = fw_observation_close(&serving.observers.observation);
	if (is_free) {
		fw_server_free(serving.server);
		fw_api_free(serving.api);
		serve_toolsets_free(&serving.observers.toolsets);
	}
	if (serving.is_started)
		fw_log_event(FW_LOG_INFO, "faultwire", "server_stopped", NULL, 0);
	fw_observation_clear(&serving.observers.observation);
	/* A server that is still in use keeps its handles. */
	if (is_free)
		fw_loop_close(&serving.loop);
	return err ? cli_fail(err) : CLI_DONE;
}

const cli_command cli_command_serve = {
	.name = "serve",
	.summary = "run an MCP server with toolsets",
	.synopsis = "[--stdio | --http ADDR:PORT] [OPTION]...",
	.description = "Serves tools over the Model Context Protocol: versions 2025-03-26, "
		       "2025-06-18 and 2025-11-25 with a handshake, 2026-07-28 without one, on "
		       "the same endpoint. Errors are reported in the contract that the "
		       "request, the client or --contract chooses.\n"
		       "\n"
		       "The server stops at the end of its input, or on SIGTERM or SIGINT; "
		       "calls in progress are completed or answered first. State is stored in "
		       "$XDG_STATE_HOME/faultwire. Failures and changes are written to the "
		       "audit log before the reply is sent (see faultwire audit), and failures "
		       "can be looked up by their incident id (see faultwire incident).\n"
		       "\n"
		       "Over HTTP there are pages beside the endpoint: /livez and /healthz (is "
		       "it alive), /readyz (does it accept calls), /problems/ (what codes "
		       "mean), and with the token /metrics and /alerts.",
	.options = options,
	.option_count = OPTION_COUNT,
	.more_options = serve_toolset_option_at,
	.part_kind = "toolset",
	.part_at = serve_toolset_at,
	.operands = CLI_NOTHING,
	.examples = examples,
	.run = run,
};
