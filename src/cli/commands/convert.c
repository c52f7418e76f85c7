/*
 * convert.c - converts errors to another contract.
 *
 * With --lines, line n of the output always belongs to line n of the input: for a line
 * that cannot be read it is the error that says why, in the target contract. An empty
 * line cannot be read, because it is not JSON.
 */
#include "cli/command.h"

#include <string.h>

#include <faultwire/classify.h>
#include <faultwire/faultwire.h>

#include "cli/commands/registry_file.h"
#include "cli/stamp.h"
#include "cli/terminal/input.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/report.h"

enum {
	FROM,
	TO,
	LINES,
	REGISTRY,
	GO_ESCAPE,
	STACK,
	KEEP_SECRETS,
	NO_CLASSIFY,
	NOW,
	INCIDENT_ID,
	TOOL,
	OPERATION,
	PROBLEM_BASE
};

static const cli_option options[] = {
	[FROM] = { "from", "CONTRACT", 'f', CLI_SOURCE,
		   "Contract of the input; auto, the default, detects it." },
	[TO] = { "to", "CONTRACT", 't', CLI_CONTRACT, "Contract of the output; required." },
	[LINES] = { "lines", NULL, 'l', CLI_NOTHING,
		    "Read JSON Lines: one error per line, one line of output per line of "
		    "input. For a line that cannot be read, such as an empty one, the output "
		    "is the error that says why, and the exit status is 1." },
	[REGISTRY] = { "registry", "FILE", 'r', CLI_FILE, "Also use the codes of this file." },
	[GO_ESCAPE] = { "go-escape", NULL, 0, CLI_NOTHING,
			"To toolerror: escape and sort like Go's encoding/json." },
	[STACK] = { "stack", NULL, 0, CLI_NOTHING,
		    "To kaiza and canonical: include where the error was raised. "
		    "DEBUG_STACK=true in the environment has the same effect." },
	[KEEP_SECRETS] = { "keep-secrets", NULL, 0, CLI_NOTHING,
			   "Do not redact what looks like a password, key or token." },
	[NO_CLASSIFY] = { "no-classify", NULL, 0, CLI_NOTHING,
			  "Do not classify plain text and JSON in no contract: it is "
			  "tool.failed, not to be retried, as the contracts say." },
	[NOW] = { "now", "TIME", 0, CLI_TEXT,
		  "Time (RFC 3339) for errors without one, instead of the current time." },
	[INCIDENT_ID] = { "incident-id", "ID", 0, CLI_TEXT,
			  "Incident id for errors without one, instead of a random one." },
	[TOOL] = { "tool", "NAME", 0, CLI_TEXT, "Tool name for errors without one." },
	[OPERATION] = { "operation", "CATEGORY:OPERATION", 0, CLI_TEXT,
			"Operation for errors without one, such as files:open_file." },
	[PROBLEM_BASE] = { "problem-base", "URI", 0, CLI_TEXT,
			   "To owlclaw-api: prefix of problem types." },
};

struct job {
	fw_contract from;
	fw_contract to;
	fw_encode_options encode;
	fw_decode_options decode;
	cli_stamp stamp;
	fw_scope scope;
	bool no_classify;
	int status; /* of the process */
};

static void back_fill(const struct job *job, fw_error *err)
{
	cli_stamp_fill(&job->stamp, err);
	fw_error_fill_scope(err, &job->scope);
}

/* Writes and frees `err`. */
static void put(const struct job *job, fw_error *err)
{
	back_fill(job, err);
	cli_put_error(err, job->to, &job->encode);
	fw_error_free(err);
}

/* Reads an error; what is in no contract is classified. */
static fw_error *decode(const struct job *job, fw_contract from, const char *text, size_t len,
			fw_error **ret_read)
{
	fw_flat_text flat = { .text = text, .len = len, .tool = job->scope.tool };
	fw_decode_options how = job->decode;
	fw_contract found = FW_CANONICAL;

	how.ret_contract = &found;
	FW_TRY(fw_error_decode(text, len, from, &how, ret_read));
	if (!job->no_classify && (found == FW_ANY_JSON || found == FW_PLAIN_TEXT))
		*ret_read = fw_error_reclassify(*ret_read, fw_classifier_builtin(), &flat);
	return NULL;
}

/* ---- one error per file -------------------------------------------------- */

static bool is_blank(const char *text, size_t len)
{
	return strspn(text, " \t\r\n") == len;
}

static void convert_file(struct job *job, const char *path)
{
	cli_input in;
	const char *text;
	size_t len;
	fw_error *read = NULL;
	fw_error *err = cli_input_open(&in, path, CLI_ERROR_MAX);

	if (!err)
		err = cli_input_all(&in, &text, &len);
	if (!err && is_blank(text, len))
		err = cli_usage("%s is empty: there is no error to convert", in.name);
	if (err) {
		job->status = cli_fail(err);
	} else if ((err = decode(job, job->from, text, len, &read))) {
		job->status = cli_fail_at(err, in.name, 0);
	} else {
		put(job, read);
	}
	cli_input_close(&in);
}

/* ---- an error per line --------------------------------------------------- */

/*
 * A line that is not JSON is a fault of the input, not plain text from a tool; for
 * lines of plain text there is --from text.
 */
static fw_error *decode_line(const struct job *job, const char *text, size_t len,
			     fw_error **ret_read)
{
	fw_contract from = job->from;

	if (from == FW_AUTO && fw_sniff(text, len) == FW_PLAIN_TEXT)
		from = FW_ANY_JSON;
	return decode(job, from, text, len, ret_read);
}

/* Writes the error in place of the line, and reports it on standard error. */
static void refuse_line(struct job *job, const cli_input *in, fw_error *err)
{
	back_fill(job, err);
	cli_put_error(err, job->to, &job->encode);
	job->status = cli_fail_at(err, in->name, in->line);
}

/* `*refused` counts the lines that could not be read. */
static fw_error *convert_lines(struct job *job, cli_input *in, uint64_t *refused)
{
	while (!cli_output_failed()) {
		const char *text = NULL;
		size_t len = 0;
		fw_error *read = NULL;
		fw_error *err = cli_input_line(in, &text, &len);

		if (err && in->at_end && fw_error_code(err) != FW_INPUT_TOO_LARGE)
			return err;
		if (!err && !text)
			return NULL;
		if (!err)
			err = decode_line(job, text, len, &read);
		if (err) {
			refuse_line(job, in, err);
			++*refused;
		} else {
			put(job, read);
		}
		cli_progress_step(in->line, in->consumed);
	}
	return NULL;
}

static void convert_stream(struct job *job, const char *path)
{
	cli_input in;
	uint64_t refused = 0;
	fw_error *err = cli_input_open(&in, path, CLI_ERROR_MAX);

	if (!err) {
		in.before_read = cli_output_flush;
		cli_progress_start(in.name, in.size);
		err = convert_lines(job, &in, &refused);
		cli_progress_stop();
	}
	if (err)
		job->status = cli_fail(err);
	if (refused > 0)
		cli_remark("%s: %llu of %llu lines could not be read", in.name,
			   (unsigned long long)refused, (unsigned long long)in.line);
	cli_input_close(&in);
}

/* ---- the command ---------------------------------------------------------- */

static fw_error *read_options(const cli_args *args, struct job *job)
{
	const char *operation = args->values[OPERATION];
	const char *id = args->values[INCIDENT_ID];
	const char *colon = operation ? strchr(operation, ':') : NULL;

	if (!cli_given(args, TO))
		return cli_usage("option --to is missing: it names the contract to convert to");
	if (operation && (!colon || colon == operation || colon[1] == '\0'))
		return cli_usage("--operation must be CATEGORY:OPERATION; found \"%s\"",
				 operation);
	if (id && *id == '\0')
		return cli_usage("--incident-id must not be empty");
	if (cli_given(args, NOW)) {
		job->stamp.fixed = true;
		if (!cli_time_read(args->values[NOW], &job->stamp.unix_ms))
			return cli_usage("--now must be a time such as 2026-01-15T12:00:00Z; "
					 "found \"%s\"",
					 args->values[NOW]);
	}
	job->from = cli_contract(args, FROM, FW_AUTO);
	job->to = cli_contract(args, TO, FW_CANONICAL);
	job->stamp.incident_id = id;
	job->scope.tool = args->values[TOOL];
	job->scope.operation = operation;
	job->encode.go_escape = cli_given(args, GO_ESCAPE);
	job->encode.stack = cli_given(args, STACK) || cli_stack_is_wanted();
	job->encode.problem_base = args->values[PROBLEM_BASE];
	job->no_classify = cli_given(args, NO_CLASSIFY);
	job->decode.keep_secrets = cli_given(args, KEEP_SECRETS);
	return NULL;
}

static int run(const cli_args *args)
{
	struct job job = { .stamp = CLI_STAMP_NOW,
			   .encode = FW_ENCODE_OPTIONS_INIT,
			   .decode = FW_DECODE_OPTIONS_INIT };
	fw_registry *registry = NULL;
	void (*convert)(struct job *, const char *) = convert_file;
	fw_error *err = read_options(args, &job);

	if (err)
		return cli_fail(err);
	if (!cli_registry_load(args->values[REGISTRY], &registry))
		return CLI_FAILED;
	job.decode.registry = registry;
	if (cli_given(args, LINES))
		convert = convert_stream;
	if (args->operand_count == 0)
		convert(&job, NULL);
	for (size_t i = 0; i < args->operand_count && !cli_output_failed(); i++)
		convert(&job, args->operands[i]);
	fw_registry_free(registry);
	return job.status;
}

static const cli_example examples[] = {
	{ "An error of a Go tool in the contract kaiza:",
	  "echo '{\"type\":\"NOT_FOUND\",\"message\":\"no such table\",\"recoverable\":false}' "
	  "| faultwire convert --to kaiza --tool query" },
	{ "Plain text is an error, too:",
	  "echo 'disk on fire' | faultwire convert --to kaiza" },
	{ "A stream of errors, one per line:",
	  "faultwire registry --examples | faultwire convert --lines --to toolerror" },
	{ NULL, NULL },
};

const cli_command cli_command_convert = {
	.name = "convert",
	.summary = "convert an error to another contract",
	.synopsis = "[--from CONTRACT] --to CONTRACT [--lines] [OPTION]... [FILE]...",
	.description =
		"Reads an error in any contract from each FILE, or from standard input, and "
		"writes it in another, one per line. Members that the target does not have are "
		"dropped; members that it requires and the source lacks are taken from the "
		"registry.\n"
		"\n"
		"An error without a time or an incident id gets them, as in a server. JSON in "
		"no contract, and plain text, are classified as \"faultwire classify\" does; "
		"with "
		"--no-classify they are the output of a failed tool: tool.failed. With --lines "
		"plain text is refused, unless --from text is given. JSON-RPC responses and "
		"results of tools are opened. Empty input is a usage error.",
	CLI_OPTIONS(options),
	.operands = CLI_FILE,
	.examples = examples,
	.run = run,
};
