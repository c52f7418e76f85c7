/*
 * gate.c - the command gate: a server that passes its requests on to other servers.
 */
#include "cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <faultwire/faultwire.h>

#include "cli/serve/api.h"
#include "cli/serve/gate_sandbox.h"
#include "cli/serve/shared.h"
#include "cli/terminal/input.h"
#include "cli/terminal/report.h"
#include "fleet/fleet.h"
#include "gate/config.h"
#include "gate/gate.h"
#include "observe/log/log.h"

/* What the heap keeps of the memory of large replies. */
enum { MAPPED_BYTES = 32 * 1024 * 1024, KEPT_BYTES = 128 * 1024 * 1024 };
enum {
	DEADLINE_MOST_S = 86400,
	DEADLINE_S = 60,
	LISTED_MOST = 64,
	OPERANDS_MOST = 1024,
	CONFIG_BYTES = 4 * 1024 * 1024
};
enum {
	URL,
	HEADER,
	HEADER_ENV,
	CONFIG,
	NAME,
	WRAPPED,
	ENV,
	CWD,
	ERA,
	DEADLINE,
	LISTS,
	TRUST_ANNOTATIONS,
	EXPOSE_STDERR,
	SUSPECT,
	PIN,
	CONTRACT,
	API,
	SANDBOX,
	SANDBOX_READ,
	SANDBOX_WRITE,
	SANDBOX_OFFLINE,
	OPTION_COUNT
};

static const cli_option options[OPTION_COUNT] = {
	[URL] = { "url", "URL", 0, CLI_TEXT,
		  "The upstream is this Streamable HTTP endpoint, not a program." },
	[HEADER] = { "header", "'NAME: VALUE'", 0, CLI_FILES,
		     "Send this header to --url; may be repeated." },
	[HEADER_ENV] = { "header-env", "NAME[=VARIABLE]", 0, CLI_FILES,
			 "Send the header NAME to --url, with the value of VARIABLE (by "
			 "default: the variable NAME), so that other users do not see it in "
			 "the list of processes; may be repeated." },
	[CONFIG] = { "config", "FILE", 0, CLI_FILE,
		     "The upstreams are the mcpServers of FILE, a client's configuration." },
	[NAME] = { "name", "NAME", 0, CLI_TEXT,
		   "Name of the upstream in errors and logs; by default that of its program or "
		   "host." },
	[WRAPPED] = { "wrapped", "HOW", 0, CLI_TEXT,
		      "Written by faultwire wrap for its --undo; has no effect." },
	[ENV] = { "env", "NAME[=VALUE]", 'e', CLI_FILES,
		  "Pass this variable to the program; may be repeated. Only PATH, HOME, USER, "
		  "LOGNAME, SHELL, LANG, LC_ALL, LC_CTYPE, TMPDIR, TERM and TZ are passed by "
		  "default." },
	[CWD] = { "cwd", "DIR", 0, CLI_FILE, "Start the program in this directory." },
	[ERA] = { "era", "ERA", 0, CLI_TEXT,
		  "Protocol of the upstream: auto (the default: that of the client, if the "
		  "upstream has it), legacy (initialize) or modern (2026-07-28)." },
	[DEADLINE] = { "deadline", "SECONDS", 0, CLI_TEXT,
		       "Time limit of a call, by default 60; 0: no limit." },
	[LISTS] = { "lists", "HOW", 0, CLI_TEXT,
		    "With several upstreams, if one of them is down: partial (the default): "
		    "list the others and name the missing one in _meta; strict: fail." },
	[TRUST_ANNOTATIONS] = { "trust-annotations", NULL, 0, CLI_NOTHING,
				"Repeat a failed call also after it was sent, if the tool's "
				"annotations say readOnlyHint or idempotentHint." },
	[EXPOSE_STDERR] = { "expose-stderr", NULL, 0, CLI_NOTHING,
			    "Show clients the end of an upstream's standard error, redacted." },
	[SUSPECT] = { "suspect", NULL, 0, CLI_NOTHING,
		      "Treat a short success whose text is an error as a failure." },
	[PIN] = { "pin", "FILE", 0, CLI_FILE,
		  "Record hashes of tool definitions in FILE, and refuse tools that differ "
		  "from it." },
	[CONTRACT] = { "contract", "CONTRACT", 'c', CLI_CONTRACT,
		       "Report every failure in this error contract; by default failures of "
		       "upstreams keep their text." },
	[API] = { "api", "on|off", 0, CLI_SWITCH,
		  "HTTP: serve the HTTP API at /api/v1/ and /openapi.json; by default on." },
	[SANDBOX] = { "sandbox", "HOW", 0, CLI_SANDBOX,
		      "Restrict programs to the system's own files and those named below, by "
		      "Landlock. required: refuse to start if the kernel does not have it; "
		      "best-effort: warn and go on; off: the default." },
	[SANDBOX_READ] = { "sandbox-read", "DIR", 0, CLI_FILES,
			   "Let programs read and execute files below DIR; may be repeated." },
	[SANDBOX_WRITE] = { "sandbox-write", "DIR", 0, CLI_FILES,
			    "Let programs also write below DIR; may be repeated." },
	[SANDBOX_OFFLINE] = { "sandbox-offline", NULL, 0, CLI_NOTHING,
			      "With --sandbox: no TCP connections, if the kernel can refuse "
			      "them (Landlock 4)." },
};

static const cli_example examples[] = {
	{ "A server of npm, through the gateway, on standard input and output:",
	  "faultwire gate -- npx -y @modelcontextprotocol/server-everything" },
	{ "A remote server, for clients that start programs only:",
	  "faultwire gate --url https://mcp.example.com/mcp --header 'Authorization: Bearer "
	  "TOKEN'" },
	{ "All servers of a client's configuration on one endpoint:",
	  "faultwire gate --config ~/.cursor/mcp.json --http 127.0.0.1:4000" },
	{ NULL, NULL },
};

/* A gateway, and everything around it. */
struct gating {
	const cli_args *args;
	struct serve_shared shared;
	struct fw_gate *gate;
	struct fw_gate_config *config;
	struct fw_sandbox_plan *sandbox; /* of programs; NULL: none */
	struct fw_api *api;              /* NULL: none */
};

/* ---- upstreams -------------------------------------------------------------------------- */

/* The values of an option that may be repeated, with a NULL at the end. */
static void list_values(const cli_args *args, size_t option, const char **ret_values)
{
	size_t count = 0;

	for (size_t i = 0; i < args->file_count && count < LISTED_MOST; i++)
		if (args->files[i].option == option)
			ret_values[count++] = args->files[i].value;
	ret_values[count] = NULL;
}

/* "github" of "npx -y @scope/server-github@1.2", "https://github.example.com/mcp" */
static void default_name(const char *const *argv, const char *url, char *ret_name, size_t size)
{
	static const char *const launchers[] = { "npx",     "uvx",  "node", "python",
						 "python3", "bunx", "deno", "env" };
	const char *text = url;
	const char *slash;
	size_t len;

	if (argv) {
		size_t at = 0;

		for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
			slash = strrchr(argv[0], '/');
			if (strcmp(slash ? slash + 1 : argv[0], launchers[i]) == 0) {
				at = 1;
				break;
			}
		}
		while (at && argv[at] && argv[at][0] == '-')
			at++;
		text = argv[at] ? argv[at] : argv[0];
		slash = strrchr(text, '/');
		text = slash ? slash + 1 : text;
		len = strcspn(text, "@");
		/* Code for an interpreter is no name. */
		if (strpbrk(text, " \t\r\n'\"(){};")) {
			slash = strrchr(argv[0], '/');
			text = slash ? slash + 1 : argv[0];
			len = strlen(text);
		}
	} else {
		slash = strstr(text, "://");
		text = slash ? slash + 3 : text;
		len = strcspn(text, "/:?@");
	}
	(void)snprintf(ret_name, size, "%.*s", (int)(len && len < 60 ? len : 8),
		       len ? text : "upstream");
}

/* Lines first, then the names of variables. */
static fw_error *read_headers(const cli_args *args, const char **ret_headers)
{
	size_t count = 0;

	list_values(args, HEADER, ret_headers);
	for (; ret_headers[count]; count++)
		if (!strchr(ret_headers[count], ':') || strpbrk(ret_headers[count], "\r\n"))
			return cli_usage("--header takes 'NAME: VALUE'");
	list_values(args, HEADER_ENV, ret_headers + count);
	for (; ret_headers[count]; count++) {
		const char *equals = strchr(ret_headers[count], '=');
		const char *variable = equals ? equals + 1 : ret_headers[count];
		const char *value = getenv(variable);

		if (equals == ret_headers[count] || !*variable || strchr(variable, ':'))
			return cli_usage("--header-env takes NAME or NAME=VARIABLE");
		if (!value || strpbrk(value, "\r\n"))
			return cli_usage("--header-env: the variable %s %s", variable,
					 value ? "has more than one line" : "is not set");
	}
	if (count && !args->values[URL])
		return cli_usage("--header and --header-env require --url");
	return NULL;
}

static fw_error *read_upstreams(struct gating *gating)
{
	const cli_args *args = gating->args;
	const char *url = args->values[URL];
	const char *file = args->values[CONFIG];
	bool has_program = args->operand_count > 0;
	const char *headers[2 * LISTED_MOST + 1];
	const char *names[LISTED_MOST + 1];
	const char *argv[OPERANDS_MOST + 1];
	char name[64];
	fw_error *err;

	if (has_program + (url != NULL) + (file != NULL) != 1)
		return cli_usage("give the server as -- COMMAND..., --url or --config");
	if (file) {
		char *text;
		size_t len;

		FW_TRY(cli_read_file(file, CONFIG_BYTES, &text, &len));
		err = fw_gate_config_read(text, len, file, &gating->config);
		free(text);
		return err;
	}
	if (args->operand_count > OPERANDS_MOST)
		return cli_usage("the command has more than %d words", OPERANDS_MOST);
	/* Words of options follow the operands. */
	for (size_t i = 0; i < args->operand_count; i++)
		argv[i] = args->operands[i];
	argv[args->operand_count] = NULL;
	FW_TRY(read_headers(args, headers));
	list_values(args, ENV, names);
	if (names[0] && url)
		return cli_usage("--env requires a program");
	if (url && strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
		return cli_usage("--url takes an http or https URL; found \"%s\"", url);
	default_name(has_program ? argv : NULL, url, name, sizeof name);
	FW_TRY(fw_gate_config_new(&gating->config));
	return fw_gate_config_add(
		gating->config, args->values[NAME] ? args->values[NAME] : name,
		has_program ? argv : NULL, url, args->values[CWD], names, headers);
}

static fw_error *read_era(const char *text, enum fw_remote_era *ret_era)
{
	static const char *const names[] = { "auto", "legacy", "modern" };

	*ret_era = FW_REMOTE_AUTO;
	for (int i = 0; text && i < 3; i++) {
		if (strcmp(text, names[i]) == 0) {
			*ret_era = (enum fw_remote_era)i;
			return NULL;
		}
	}
	return text ? cli_usage("--era takes auto, legacy or modern; found \"%s\"", text)
		    : NULL;
}

static fw_error *make_sandbox(struct gating *gating, const struct fw_gate_entry *entries,
			      size_t count)
{
	const cli_args *args = gating->args;
	const char *readable[LISTED_MOST + 1];
	const char *writable[LISTED_MOST + 1];

	list_values(args, SANDBOX_READ, readable);
	list_values(args, SANDBOX_WRITE, writable);
	return serve_gate_sandbox(
		&(struct serve_sandbox){ .how = args->values[SANDBOX],
					 .readable = readable,
					 .writable = writable,
					 .may_connect = !cli_given(args, SANDBOX_OFFLINE),
					 .entries = entries,
					 .count = count },
		&gating->sandbox);
}

/* The rules for files are all that programs get, so that is all that can be missing. */
static void report_sandbox(const struct gating *gating)
{
	static const char missing[] = "no file rules (Landlock): programs are not restricted";

	if (!gating->sandbox || fw_sandbox_plan_file(gating->sandbox) >= 0)
		return;
	fw_log_event(FW_LOG_WARNING, "faultwire", "sandbox_incomplete",
		     (const fw_field[]){ fw_log_text("missing", missing) }, 1);
	if (!serve_is_log_only(gating->args))
		cli_remark("sandbox: %s", missing);
}

static fw_error *make_gate(struct gating *gating)
{
	const cli_args *args = gating->args;
	const char *lists = args->values[LISTS];
	uint32_t deadline_s = DEADLINE_S;
	struct fw_gate_options how = { .is_http = serve_value(args, SERVE_HTTP) != NULL,
				       .trusts_annotations = cli_given(args, TRUST_ANNOTATIONS),
				       .exposes_stderr = cli_given(args, EXPOSE_STDERR),
				       .suspects = cli_given(args, SUSPECT),
				       .pin_file = args->values[PIN] };

	if (lists && strcmp(lists, "strict") != 0 && strcmp(lists, "partial") != 0)
		return cli_usage("--lists takes partial or strict; found \"%s\"", lists);
	how.is_strict = lists && strcmp(lists, "strict") == 0;
	FW_TRY(read_era(args->values[ERA], &how.era));
	FW_TRY(serve_number_read("--deadline", args->values[DEADLINE], DEADLINE_MOST_S,
				 &deadline_s));
	how.deadline_ms = deadline_s * 1000;
	FW_TRY(read_upstreams(gating));
	how.entries = fw_gate_config_entries(gating->config, &how.count);
	FW_TRY(make_sandbox(gating, how.entries, how.count));
	if (gating->sandbox && fw_sandbox_plan_file(gating->sandbox) >= 0)
		how.ruleset = fw_sandbox_plan_file(gating->sandbox);
	return fw_gate_new(&gating->shared.loop, &how, &gating->gate);
}

/* ---- running ------------------------------------------------------------------------------ */

static fw_error *share_breaker(void *ctx, const char *url, struct fw_breaker *breaker)
{
	return fw_fleet_add_breaker(ctx, url, breaker);
}

static fw_error *gate(struct gating *gating)
{
	struct serve_shared *shared = &gating->shared;
	fw_server_options server = FW_SERVER_OPTIONS_INIT;

	FW_TRY(serve_shared_read(shared));
	server.name = "faultwire-gate";
	server.title = "faultwire gateway";
	server.version = fw_version();
	server.contract = cli_contract(gating->args, CONTRACT, FW_AUTO);
	server.debug_stack = cli_stack_is_wanted();
	FW_TRY(serve_shared_make(shared, &server));
	FW_TRY(make_gate(gating));
	fw_gate_attach(gating->gate, shared->server);
	FW_TRY(fw_server_prepare(shared->server));
	FW_TRY(serve_observers_begin(&shared->observers, shared->server, &shared->loop,
				     &shared->observe));
	report_sandbox(gating);
	if (serve_value(gating->args, SERVE_HTTP))
		FW_TRY(serve_api_add(shared,
				     &(struct serve_api){ .api = gating->args->values[API] },
				     &gating->api));
	FW_TRY(serve_shared_listen(shared));
	/* A program that replicas run is not the same one, an endpoint is. */
	if (shared->fleet)
		FW_TRY(fw_gate_each_breaker(gating->gate, share_breaker, shared->fleet));
	if (gating->api) {
		fw_api_set_alerting(gating->api, shared->observers.observation.alerting);
		fw_api_set_upstreams(gating->api, fw_gate_put_status, gating->gate);
		fw_api_set_fleet(gating->api, serve_put_fleet, shared);
	}
	FW_TRY(fw_gate_observe(gating->gate, shared->observers.observation.metrics));
	serve_shared_started(shared, "gateway_started", NULL);
	serve_keep_heap(MAPPED_BYTES, KEPT_BYTES);
	return fw_server_run(shared->server);
}

static int run(const cli_args *args)
{
	struct gating gating = { .args = args, .shared = { .args = args } };
	fw_error *err = gate(&gating);
	bool is_free;

	fw_api_close(gating.api);
	is_free = serve_shared_close(&gating.shared);
	if (is_free)
		fw_api_free(gating.api);
	fw_gate_free(gating.gate);
	fw_sandbox_plan_free(gating.sandbox);
	fw_gate_config_free(gating.config);
	serve_shared_clear(&gating.shared, is_free, "gateway_stopped");
	return err ? cli_fail(err) : CLI_DONE;
}

const cli_command cli_command_gate = {
	.name = "gate",
	.summary = "run a gateway in front of other MCP servers",
	.synopsis = "[OPTION]... -- COMMAND... | --url URL | --config FILE",
	.description =
		"Passes requests on to other MCP servers (upstreams), over standard input and "
		"output or Streamable HTTP on either side, in both eras of the protocol. A "
		"result reaches the client unchanged. Whatever goes wrong gets exactly one "
		"answer, as soon as it is known: a canonical error that says which side "
		"failed, whether the call was delivered, and whether a retry is safe.\n"
		"\n"
		"With several upstreams, tools and prompts with the same name get the name of "
		"their server in front of it. An upstream that ends is started again for the "
		"next call. A call is repeated only if that is safe: if it was not sent, or "
		"reads only.",
	.options = options,
	.option_count = OPTION_COUNT,
	.shared_options = serve_options,
	.shared_count = SERVE_OPTION_COUNT,
	.operands = CLI_TEXT,
	.examples = examples,
	.run = run,
};
