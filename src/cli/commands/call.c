/*
 * call.c - calls a tool of an MCP server, and does what its errors ask for.
 *
 * The exit status says what the caller has to do next, so that a script can branch on it
 * as an agent does.
 */
#include "cli/command.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <faultwire/client.h>
#include <faultwire/faultwire.h>

#include "base/decimal.h"
#include "base/json.h"
#include "cli/commands/call_input.h"
#include "cli/commands/call_show.h"
#include "cli/commands/call_target.h"
#include "cli/terminal/json_out.h"
#include "cli/terminal/output.h"
#include "cli/terminal/report.h"
#include "rpc/names.h"

enum {
	JSON,
	RAW,
	TRACE,
	VERBOSE,
	RETRY,
	DEADLINE,
	TIMEOUT,
	READ,
	PROMPT,
	HEADER,
	ENVIRONMENT,
	PROTOCOL
};

enum { INTERRUPTED = 130, ATTEMPTS_MAX = 100 };

static const cli_option options[] = {
	[JSON] = { "json", NULL, 'j', CLI_NOTHING,
		   "Write the result as JSON; a failure as an object with error, decision and "
		   "attempts." },
	[RAW] = { "raw", NULL, 0, CLI_NOTHING,
		  "Write what the server answered, byte for byte, also if it is a failure." },
	[TRACE] = { "trace", NULL, 0, CLI_NOTHING,
		    "Show each message on standard error: > sent, < received, ? not a "
		    "message." },
	[VERBOSE] = { "verbose", NULL, 'v', CLI_NOTHING,
		      "Show attempts, waits, decisions, progress and log messages on standard "
		      "error also if that is not a terminal." },
	[RETRY] = { "retry", "N|off", 0, CLI_TEXT,
		    "Make at most N attempts; off is 1. The default is 3." },
	[DEADLINE] = { "deadline", "SECONDS", 0, CLI_TEXT,
		       "Time for the call with all its attempts and waits." },
	[TIMEOUT] = { "timeout", "SECONDS", 0, CLI_TEXT,
		      "Time for one attempt; the default is 60." },
	[READ] = { "read", "URI", 0, CLI_TEXT, "Read a resource instead of calling a tool." },
	[PROMPT] = { "prompt", "NAME", 0, CLI_TEXT,
		     "Get a prompt instead of calling a tool; its arguments follow TARGET." },
	[HEADER] = { "header", "NAME: VALUE", 'H', CLI_TEXTS,
		     "Send this header with each HTTP request. May be repeated." },
	[ENVIRONMENT] = { "env", "NAME=VALUE", 'e', CLI_SETTING,
			  "Set a variable in the environment of the program. May be "
			  "repeated." },
	[PROTOCOL] = { "protocol", "auto|legacy|modern", 0, CLI_TEXT,
		       "Speak only the protocol versions with a handshake (legacy, up to "
		       "2025-11-25) or without (modern, from 2026-07-28). The default is to "
		       "ask the server." },
};

struct job {
	struct call_target target;
	struct call_show show;
	fw_client_options options;
	fw_client *client;
	bool json, raw;
};

/* ---- interruption ----------------------------------------------------------------- */

static fw_client *interrupted_client;

static void on_interrupt(int signum)
{
	(void)signum;
	fw_client_interrupt(interrupted_client);
}

/* The second signal ends the program. */
static void catch_interrupt(fw_client *client)
{
	struct sigaction action = { .sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND };

	interrupted_client = client;
	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
}

/* ---- results ------------------------------------------------------------------------- */

static int status_of(const fw_decision *decision, const fw_error *err)
{
	static const int statuses[FW_ACTION_COUNT] = {
		[FW_ACTION_GIVE_UP] = 1, [FW_ACTION_FIX] = 3,      [FW_ACTION_WORK_AROUND] = 4,
		[FW_ACTION_RESOLVE] = 5, [FW_ACTION_ESCALATE] = 6, [FW_ACTION_CHECK] = 7,
		[FW_ACTION_LATER] = 8,   [FW_ACTION_PREPARE] = 9,  [FW_ACTION_RETRY] = 8,
	};

	if (fw_error_code(err) == FW_RUNTIME_CANCELLED)
		return INTERRUPTED;
	return statuses[decision->action];
}

/* The end of a standard error, or what a server answered: its last lines. */
static void show_detail(const char *text)
{
	enum { LINES = 20 };
	size_t lines = 0;

	for (const char *at = text; at && *at; at++)
		lines += *at == '\n' || !at[1];
	while (text && *text) {
		size_t len = strcspn(text, "\n");

		if (lines-- <= LINES && len)
			cli_remark("detail: %.*s", (int)(len < 400 ? len : 400), text);
		text += len + (text[len] == '\n');
	}
}

/* Consumes `err`. */
static int show_failure(struct job *job, fw_error *err)
{
	const fw_decision *decision = fw_client_decision(job->client);
	const char *failure = fw_client_failure(job->client);
	const char *incident = fw_error_incident_id(err);
	int status = status_of(decision, err);

	if (job->raw && failure) {
		cli_puts(failure);
		cli_putc('\n');
	} else if (job->json) {
		cli_call_show_failure_json(job->client, err);
	} else {
		cli_report(err, NULL, 0);
		if (status != INTERRUPTED && !job->show.is_verbose)
			cli_call_show_decision(decision, err);
		cli_remark("code: %s%s%s", fw_error_name(err), incident ? ", incident: " : "",
			   incident ? incident : "");
		show_detail(fw_error_detail(err));
	}
	fw_error_free(err);
	return status;
}

static int show_result(const struct job *job, fw_client_result *result)
{
	if (job->json || job->raw) {
		if (job->raw)
			cli_put(result->text, result->len);
		else
			cli_put_json(result->text, result->len);
		cli_putc('\n');
	} else {
		cli_call_show_result(result);
	}
	fw_client_result_clear(result);
	return CLI_DONE;
}

/* ---- what there is -------------------------------------------------------------------- */

static bool server_has(const struct job *job, const char *capability)
{
	const char *server = fw_client_server(job->client);
	size_t len = server ? strlen(server) : 0;
	yyjson_doc *doc = fw_json_read(server ? server : "", len,
				       (struct fw_json_limits){ len, 0 }, 0, NULL, NULL);
	yyjson_val *capabilities = fw_json_member(yyjson_doc_get_root(doc), "capabilities");
	bool has = fw_json_member(capabilities, capability) != NULL;

	yyjson_doc_free(doc);
	return has;
}

static int list_all(struct job *job)
{
	static const struct {
		const char *method, *capability, *key;
	} lists[] = {
		{ FW_METHOD_TOOLS_LIST, "tools", "tools" },
		{ FW_METHOD_RESOURCES_LIST, "resources", "resources" },
		{ FW_METHOD_TEMPLATES_LIST, "resources", "resourceTemplates" },
		{ FW_METHOD_PROMPTS_LIST, "prompts", "prompts" },
	};

	if (job->json)
		cli_json_open(NULL, '{');
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		fw_client_result list = { .text = NULL };
		fw_error *err;

		/* The first list connects; what the server has is known after it. */
		if (i > 0 && !server_has(job, lists[i].capability))
			continue;
		err = fw_client_list(job->client, lists[i].method, &list);
		/* Templates are optional, and so are tools. */
		if (err && (i > 0 || fw_error_code(err) == FW_PROTOCOL_METHOD_NOT_FOUND)) {
			fw_error_free(err);
			continue;
		}
		if (err) {
			if (job->json)
				cli_output_drop();
			return show_failure(job, err);
		}
		if (i == 0)
			cli_call_check_tools(&list);
		/* {"tools":[...]}: the array is what is wanted. */
		if (job->json)
			list.text[list.len - 1] = '\0';
		if (job->json)
			cli_json_raw(lists[i].key, strchr(list.text, '['));
		else
			cli_call_show_list(lists[i].method, &list);
		fw_client_result_clear(&list);
	}
	if (job->json) {
		cli_json_close('}');
		cli_json_line_end();
	}
	return CLI_DONE;
}

/* ---- calls ------------------------------------------------------------------------------- */

static yyjson_val *find_tool(yyjson_doc *list, const char *name)
{
	yyjson_val *tool;
	size_t index, max;

	yyjson_arr_foreach(
		fw_json_member(yyjson_doc_get_root(list), "tools"), index, max,
		tool) if (yyjson_equals_str(fw_json_member(tool, "name"), name)) return tool;
	return NULL;
}

static int call_tool(struct job *job, const char *name, char **words, size_t count)
{
	fw_client_result list = { .text = NULL }, result = { .text = NULL };
	fw_error *err = fw_client_list(job->client, FW_METHOD_TOOLS_LIST, &list);
	yyjson_doc *doc;
	char *arguments = NULL;

	/* A server without a list may still have the tool. */
	if (err && fw_error_code(err) != FW_PROTOCOL_METHOD_NOT_FOUND)
		return show_failure(job, err);
	fw_error_free(err);
	doc = fw_json_read(list.text ? list.text : "", list.len,
			   (struct fw_json_limits){ list.len, 0 }, 0, NULL, NULL);
	err = cli_call_input_read(find_tool(doc, name), words, count, &arguments);
	yyjson_doc_free(doc);
	fw_client_result_clear(&list);
	if (err)
		return cli_fail(err);
	err = fw_client_call(job->client, name, arguments, strlen(arguments), &result);
	free(arguments);
	return err ? show_failure(job, err) : show_result(job, &result);
}

static int request(struct job *job, const char *method, const char *key, const char *value,
		   const char *arguments)
{
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	yyjson_mut_val *root = yyjson_mut_obj(doc);
	fw_client_result result = { .text = NULL };
	char *params;
	fw_error *err;

	yyjson_mut_doc_set_root(doc, root);
	(void)yyjson_mut_obj_add_str(doc, root, key, value);
	if (arguments)
		(void)yyjson_mut_obj_add_val(doc, root, "arguments",
					     yyjson_mut_raw(doc, arguments));
	params = yyjson_mut_write(doc, 0, NULL);
	yyjson_mut_doc_free(doc);
	if (!params)
		return cli_fail(cli_usage("\"%s\" is not UTF-8", value));
	err = fw_client_request(job->client, method, params, strlen(params), &result);
	free(params);
	return err ? show_failure(job, err) : show_result(job, &result);
}

static int get_prompt(struct job *job, const char *name, char **words, size_t count)
{
	char *arguments = NULL;
	fw_error *err = cli_call_input_read(NULL, words, count, &arguments);
	int status;

	if (err)
		return cli_fail(err);
	status = request(job, FW_METHOD_PROMPTS_GET, "name", name, arguments);
	free(arguments);
	return status;
}

/* ---- the command line ---------------------------------------------------------------------- */

static fw_error *read_seconds(const char *option, const char *text, double *ret_seconds)
{
	char *end = NULL;
	double seconds = text ? strtod(text, &end) : 0;

	if (!text)
		return NULL;
	if (end == text || *end || !(seconds > 0 && seconds < 1e7))
		return cli_usage("--%s must be a number of seconds; found \"%s\"", option,
				 text);
	*ret_seconds = seconds;
	return NULL;
}

static fw_error *read_retry(const char *text, unsigned *ret_attempts)
{
	uint64_t attempts;

	if (!text)
		return NULL;
	if (strcmp(text, "off") == 0) {
		*ret_attempts = 1;
		return NULL;
	}
	if (!fw_decimal_read(text, 1, ATTEMPTS_MAX, &attempts))
		return cli_usage("--retry must be off, or a number from 1 to %d; found \"%s\"",
				 ATTEMPTS_MAX, text);
	*ret_attempts = (unsigned)attempts;
	return NULL;
}

static fw_error *read_protocol(const char *text, fw_client_era *ret_era)
{
	static const char *const names[] = { "auto", "legacy", "modern" };

	for (int i = 0; text && i < 3; i++)
		if (strcmp(text, names[i]) == 0) {
			*ret_era = (fw_client_era)i;
			return NULL;
		}
	return text ? cli_usage("--protocol must be auto, legacy or modern; found \"%s\"", text)
		    : NULL;
}

static fw_error *read_options(const cli_args *args, struct job *job)
{
	fw_client_options *how = &job->options;

	if (args->operand_count == 0)
		return cli_usage("TARGET is missing: a URL, a command, or FILE.json#SERVER");
	FW_TRY(read_seconds("deadline", args->values[DEADLINE], &how->deadline));
	FW_TRY(read_seconds("timeout", args->values[TIMEOUT], &how->timeout));
	FW_TRY(read_retry(args->values[RETRY], &how->attempts_max));
	FW_TRY(read_protocol(args->values[PROTOCOL], &how->era));
	FW_TRY(cli_call_target_read(args->operands[0], &job->target));
	for (size_t i = 0; i < args->file_count; i++)
		FW_TRY(cli_call_target_header(&job->target, args->files[i].value));
	for (size_t i = 0; i < args->setting_count; i++)
		FW_TRY(cli_call_target_variable(&job->target, args->settings[i]));
	job->json = cli_given(args, JSON);
	job->raw = cli_given(args, RAW);
	job->show.traces = cli_given(args, TRACE);
	job->show.is_verbose = cli_given(args, VERBOSE) || isatty(STDERR_FILENO);
	return NULL;
}

static fw_error *open_client(struct job *job)
{
	const struct call_target *target = &job->target;
	fw_client_options *how = &job->options;

	how->name = target->name;
	how->url = target->url;
	how->directory = target->directory;
	if (!target->url)
		how->command = (const char *const *)target->command.words;
	if (target->headers.count)
		how->headers = (const char *const *)target->headers.words;
	if (target->environment.count)
		how->environment = (const char *const *)target->environment.words;
	/* Servers ask only clients that say so; what they ask is declined. */
	how->capabilities = "{\"elicitation\":{}}";
	how->event = cli_call_show_event;
	how->ctx = &job->show;
	return fw_client_new(how, &job->client);
}

static int run(const cli_args *args)
{
	struct job job = { .options = FW_CLIENT_OPTIONS_INIT };
	fw_error *err = read_options(args, &job);
	int status;

	if (!err)
		err = open_client(&job);
	if (err) {
		cli_call_target_clear(&job.target);
		return cli_fail(err);
	}
	catch_interrupt(job.client);
	/* A server that exits while it is written to is reported as such. */
	(void)signal(SIGPIPE, SIG_IGN);
	if (cli_given(args, READ))
		status = request(&job, FW_METHOD_RESOURCES_READ, "uri", args->values[READ],
				 NULL);
	else if (cli_given(args, PROMPT))
		status = get_prompt(&job, args->values[PROMPT], args->operands + 1,
				    args->operand_count - 1);
	else if (args->operand_count == 1)
		status = list_all(&job);
	else
		status = call_tool(&job, args->operands[1], args->operands + 2,
				   args->operand_count - 2);
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
	fw_client_free(job.client);
	cli_call_target_clear(&job.target);
	return status;
}

static const cli_example examples[] = {
	{ "What a server offers:",
	  "faultwire call 'npx -y @modelcontextprotocol/server-everything'" },
	{ "Call a tool; values have the types that the tool's schema gives them:",
	  "faultwire call http://127.0.0.1:8080/mcp search query='open files' limit=5" },
	{ "Arguments as JSON:",
	  "faultwire call 'faultwire serve --tools workspace' read_file '{\"path\":\"a.c\"}'" },
	{ "A server of a client's configuration file, with all messages:",
	  "faultwire call --trace ~/.config/mcp.json#github list_issues state=open" },
	{ NULL, NULL },
};

static const cli_status statuses[] = {
	{ 0, "the call succeeded" },
	{ 1, "it failed for good: give up" },
	{ 2, "the command line is invalid, or an argument of the tool is missing" },
	{ 3, "the arguments are wrong: correct them" },
	{ 4, "the thing does not exist: skip it or look elsewhere" },
	{ 5, "a state or another holder prevents it: resolve that" },
	{ 6, "it is not allowed: ask a person" },
	{ 7, "it was sent and may have taken effect: check, do not repeat it" },
	{ 8, "it failed temporarily, and attempts or time are used up: try again later" },
	{ 9, "another step is needed first; the decision names it" },
	{ INTERRUPTED, "interrupted; the server got a cancellation" },
	{ 0, NULL },
};

const cli_command cli_command_call = {
	.name = "call",
	.summary = "call a tool of an MCP server, following the retry rules",
	.synopsis = "[OPTION]... TARGET [TOOL [ARGUMENT]...]",
	.description =
		"Connects to an MCP server, calls TOOL and writes its result. Without TOOL it "
		"lists what the server offers, with a usage line for each tool.\n"
		"\n"
		"TARGET is a URL, a command in one word (quoted), or FILE.json#SERVER, a "
		"server "
		"in the mcpServers of a client's configuration file. An ARGUMENT is key=value, "
		"key:=json or a JSON object.\n"
		"\n"
		"An error is read in any contract, or classified if it is in none. What may be "
		"repeated is repeated after the delay that the error names, or after an "
		"increasing random one; anything else is reported, and the exit status says "
		"what to do.",
	.options = options,
	.option_count = sizeof options / sizeof *options,
	.operands = CLI_TEXT,
	.examples = examples,
	.run = run,
	.statuses = statuses,
};
