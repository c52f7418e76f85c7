/*
 * cmd_serve.c - the toolsets as an MCP server.
 */
#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <faultwire/faultwire.h>

#include "limit.h"
#include "report.h"
#include "serve_observe.h"
#include "state.h"
#include "tools/context/context.h"
#include "tools/diag/diag.h"
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
	CACHE_ROOT,
};

static const cli_option options[] = {
	[STDIO] = { "stdio", NULL, 0, CLI_NOTHING,
		    "Speak on standard input and output; the default." },
	[HTTP] = { "http", "ADDR:PORT", 0, CLI_TEXT,
		   "Listen there; the endpoint is /mcp. Port 0 takes a free one. The URL is "
		   "printed on standard error." },
	[TOOLS] = { "tools", "LIST", 't', CLI_TEXT,
		    "Toolsets to serve, separated by commas: diag, context. By default diag, "
		    "and context where it is known where caches are." },
	[CONTRACT] = { "contract", "CONTRACT", 'c', CLI_CONTRACT,
		       "How errors are told to a client that does not choose; by default each "
		       "toolset's own." },
	[TOKEN_FILE] = { "token-file", "FILE", 0, CLI_FILE,
			 "HTTP: let in only who brings the bearer token on the first line of "
			 "FILE." },
	[ROLE] = { "role", "ROLE", 0, CLI_TEXT, "The role that errors name." },
	[LIMIT] = { "limit", "NAME=VALUE", 'l', CLI_SETTING,
		    "Set a limit; may be given several times. Bytes take k or m, times ms or "
		    "s." },
	[LIMITS] = { "limits", NULL, 0, CLI_NOTHING, "Show the limits, and serve nothing." },
	[JSON] = { "json", NULL, 'j', CLI_NOTHING, "With --limits: as JSON." },
	[AUDIT] = { "audit", "FILE", 0, CLI_FILE,
		    "Record failures and changes in this audit log, or off; by default "
		    "audit-log.jsonl in the state directory." },
	[AUDIT_SYNC] = { "audit-sync", "WHEN", 0, CLI_TEXT,
			 "When records are forced to disk: always (before the reply, the "
			 "default), interval, interval=MS, or off." },
	[AUDIT_ARGS] = { "audit-args", "HOW", 0, CLI_TEXT,
			 "What is recorded of arguments: hash (the default), or redacted." },
	[METRICS] = { "metrics", "on|off", 0, CLI_TEXT,
		      "HTTP: show metrics for Prometheus at /metrics; by default on." },
	[ALERT_WEBHOOK] = { "alert-webhook", "URL", 0, CLI_TEXT,
			    "Post each alert there when it fires and when it is over, as "
			    "JSON." },
	[ALERT_SECRET_FILE] = { "alert-secret-file", "FILE", 0, CLI_FILE,
				"Sign what the webhook gets with the secret on the first line "
				"of FILE." },
	[ALERTMANAGER] = { "alertmanager", "URL", 0, CLI_TEXT,
			   "Tell the Prometheus Alertmanager at URL what is firing." },
	[RUN] = { "run", "WHERE", 0, CLI_RUN,
		  "Where tools run: in a process of their own, which may crash or hang; in a "
		  "thread; or inline." },
	[WORKERS] = { "workers", "N", 0, CLI_TEXT,
		      "Processes that are kept ready for tools; by default one a processor, at "
		      "least 2." },
	[SANDBOX] = { "sandbox", "HOW", 0, CLI_SANDBOX,
		      "What the kernel lacks to confine those processes keeps the server from "
		      "starting, or is done without, which is said; or they are not "
		      "confined." },
	[DEADLINE] = { "deadline", "SECONDS", 0, CLI_TEXT,
		       "How long a call may take, 30 by default; 0: as long as it likes. Not "
		       "with --run inline." },
	[CACHE_ROOT] = { "cache-root", "DIR", 0, CLI_FILE,
			 "context: where caches are. CONTEXT_CACHE_ROOT in the environment "
			 "means the same." },
};

static const cli_example examples[] = {
	{ "One call over standard input and output:",
	  "echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}' | faultwire serve "
	  "--stdio" },
	{ "What is limited, and by how much:", "faultwire serve --limits" },
	{ NULL, NULL },
};

/* How tools are run. */
static struct {
	fw_run run;
	bool is_asked; /* somebody said so */
	uint32_t count;
	fw_sandbox sandbox;
	fw_workers *workers;
} how;

static fw_error *add_diag(fw_server *server)
{
	return fw_diag_add(server, how.run, how.workers);
}

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
		return cli_usage("--%s takes a number up to %u", options[option].name, most);
	*ret_number = (uint32_t)number;
	return NULL;
}

/* Without a tool that runs in a process there are none. */
static fw_error *add_workers(fw_server *server, const cli_args *args)
{
	const char *run = args->values[RUN];
	const char *sandbox = args->values[SANDBOX];
	fw_workers_options workers = FW_WORKERS_INIT;
	struct fw_sandbox_report report;

	how.run = FW_RUN_PROCESS;
	how.is_asked = run != NULL;
	if (run && strcmp(run, "process") != 0) {
		how.run = strcmp(run, "inline") == 0 ? FW_RUN_INLINE : FW_RUN_THREAD;
		return NULL;
	}
	FW_TRY(read_number(args, WORKERS, WORKERS_MOST, &workers.count));
	if (sandbox && strcmp(sandbox, "required") == 0)
		workers.sandbox = FW_SANDBOX_REQUIRED;
	else if (sandbox && strcmp(sandbox, "off") == 0)
		workers.sandbox = FW_SANDBOX_OFF;
	how.count = workers.count;
	how.sandbox = workers.sandbox;
	fw_sandbox_probe(&report);
	if (workers.sandbox == FW_SANDBOX_BEST_EFFORT && !report.is_complete)
		cli_remark("sandbox: %s", report.missing);
	return fw_server_add_workers(server, &workers, &how.workers);
}

/* Where the context toolset finds its caches; NULL: nobody said. */
static const char *cache_root;

/* Threads that nobody waits for any more may use it until the very end, so it is
 * never freed. */
static struct fw_context_store *caches;

/*
 * In threads, which share what they have read and indexed; in processes, each of
 * which does that for itself, only where they are asked for.
 */
static fw_error *add_context(fw_server *server)
{
	const char *const readable[] = { cache_root, NULL };
	fw_workers_options options_of = FW_WORKERS_INIT;
	fw_workers *workers = NULL;

	if (!cache_root)
		return cli_usage("toolset context needs --cache-root: say where caches are");
	FW_TRY(fw_context_store_new(cache_root, &caches));
	if (!how.is_asked || how.run != FW_RUN_PROCESS)
		return fw_context_add(server, caches, FW_RUN_THREAD, NULL);
	options_of.count = how.count;
	options_of.sandbox = how.sandbox;
	options_of.readable = readable;
	FW_TRY(fw_server_add_workers(server, &options_of, &workers));
	return fw_context_add(server, caches, FW_RUN_PROCESS, workers);
}

static fw_error *add_toolsets(fw_server *server, const char *list)
{
	static const struct {
		const char *name;
		fw_error *(*add)(fw_server *server);
	} toolsets[] = { { "diag", add_diag }, { "context", add_context } };
	bool is_added[sizeof toolsets / sizeof *toolsets] = { false };

	if (!list)
		list = cache_root ? "diag,context" : "diag";
	for (const char *at = list; *at;) {
		size_t len = strcspn(at, ",");
		size_t i = 0;

		while (i < sizeof toolsets / sizeof *toolsets &&
		       (strlen(toolsets[i].name) != len ||
			memcmp(toolsets[i].name, at, len) != 0))
			i++;
		if (i == sizeof toolsets / sizeof *toolsets)
			return cli_usage("there is no toolset \"%.*s\"", (int)len, at);
		if (!is_added[i])
			FW_TRY(toolsets[i].add(server));
		is_added[i] = true;
		at += len + (at[len] == ',');
	}
	return NULL;
}

static fw_error *listen_http(fw_server *server, const char *where, const char *token)
{
	fw_http_options http = FW_HTTP_OPTIONS_INIT;
	const char *colon = strrchr(where, ':');
	char address[256];
	unsigned long port;
	char *end;
	size_t len;

	if (!colon)
		return cli_usage("--http takes ADDR:PORT, such as 127.0.0.1:4000");
	errno = 0;
	port = strtoul(colon + 1, &end, 10);
	if (errno || end == colon + 1 || *end != '\0' || port > 65535)
		return cli_usage("the port of --http is a number up to 65535");
	len = (size_t)(colon - where);
	if (len >= 2 && where[0] == '[' && where[len - 1] == ']') {
		where++;
		len -= 2;
	}
	if (len >= sizeof address)
		return cli_usage("the address of --http is too long");
	memcpy(address, where, len);
	address[len] = '\0';
	http.address = len ? address : NULL;
	http.port = (uint16_t)port;
	http.bearer_token = token;
	FW_TRY(fw_server_listen_http(server, &http));
	cli_remark("listening on %s", fw_server_url(server));
	return NULL;
}

static fw_error *serve(const cli_args *args, struct serve_observers *observers,
		       fw_server **ret_server)
{
	fw_server_options server = FW_SERVER_OPTIONS_INIT;
	const char *http = args->values[HTTP];
	const struct serve_alerts alerts = { args->values[ALERT_WEBHOOK],
					     args->values[ALERT_SECRET_FILE],
					     args->values[ALERTMANAGER] };
	uint32_t deadline_s = DEADLINE_S;
	char token[1024] = "";
	char state[CLI_PATH_SIZE];

	if (http && cli_given(args, STDIO))
		return cli_usage("--stdio and --http cannot both be given");
	server.name = "faultwire";
	server.title = "faultwire";
	server.version = fw_version();
	server.contract = cli_contract(args, CONTRACT, FW_AUTO);
	server.role = args->values[ROLE];
	server.debug_stack = cli_wants_stack();
	FW_TRY(read_number(args, DEADLINE, DEADLINE_MOST_S, &deadline_s));
	server.deadline_ms = deadline_s * 1000;
	if (cli_given(args, TOKEN_FILE))
		FW_TRY(serve_read_line(args->values[TOKEN_FILE], "--token-file", token,
				       sizeof token));
	FW_TRY(cli_state_path("", true, state));
	FW_TRY(fw_server_new(&server, ret_server));
	FW_TRY(cli_limits_set(*ret_server, args));
	FW_TRY(add_audit(*ret_server, observers, args->values[AUDIT], args->values[AUDIT_SYNC],
			 args->values[AUDIT_ARGS]));
	FW_TRY(add_workers(*ret_server, args));
	cache_root = args->values[CACHE_ROOT];
	if (!cache_root)
		cache_root = getenv("CONTEXT_CACHE_ROOT");
	if (cache_root && !*cache_root)
		cache_root = NULL;
	FW_TRY(add_toolsets(*ret_server, args->values[TOOLS]));
	if (http)
		FW_TRY(listen_http(*ret_server, http, token[0] ? token : NULL));
	else
		FW_TRY(fw_server_listen_stdio(*ret_server));
	if (http)
		FW_TRY(add_metrics(*ret_server, observers, args->values[METRICS]));
	FW_TRY(add_alerts(*ret_server, observers, &alerts));
	return fw_server_run(*ret_server);
}

static int run(const cli_args *args)
{
	struct serve_observers observers = { 0 };
	fw_server *server = NULL;
	fw_error *err;

	if (cli_given(args, LIMITS)) {
		cli_limits_put(cli_given(args, JSON));
		return CLI_DONE;
	}
	err = serve(args, &observers, &server);

	if (end_audit(&observers))
		fw_server_free(server);
	end_alerts(&observers);
	return err ? cli_fail(err) : CLI_DONE;
}

const cli_command cmd_serve = {
	.name = "serve",
	.summary = "run the toolsets as an MCP server",
	.synopsis = "[--stdio | --http ADDR:PORT] [OPTION]...",
	.description =
		"Serves tools over the Model Context Protocol: versions 2025-03-26, 2025-06-18 "
		"and 2025-11-25 after a handshake, 2026-07-28 without, on the same endpoint. A "
		"tool that fails says so in the contract that the request, the client or "
		"--contract chooses.\n"
		"\n"
		"It ends with its input, with SIGTERM or with SIGINT, and finishes or answers "
		"what is under way first. State is kept in $XDG_STATE_HOME/faultwire: "
		"failures, and what tools changed, are on record there before the reply "
		"leaves; see faultwire audit.",
	.options = options,
	.option_count = sizeof options / sizeof *options,
	.operands = CLI_NOTHING,
	.examples = examples,
	.run = run,
};
