/*
 * classify.c - tells what kind of failure a text describes.
 *
 * With --lines, line n of the output always belongs to line n of the input.
 */
#include "cli/command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <faultwire/classify.h>
#include <faultwire/faultwire.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/commands/lookup.h"
#include "cli/terminal/input.h"
#include "cli/terminal/json_out.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/report.h"

enum { MATCHES_MAX = 256, RULES_MAX = 1 << 20, INPUT_MAX = 4 << 20, DEPTH_MAX = 64 };

enum { LINES, JSON, EXPLAIN, RULES, TOOL, JSONRPC_CODE, HTTP_STATUS };

static const cli_option options[] = {
	[LINES] = { "lines", NULL, 'l', CLI_NOTHING,
		    "Read lines from standard input, each a text or a JSON object with the "
		    "members text, jsonrpc_code, http_status and tool, and write one JSON "
		    "object per line." },
	[JSON] = { "json", NULL, 'j', CLI_NOTHING, "Write JSON." },
	[EXPLAIN] = { "explain", NULL, 'e', CLI_NOTHING,
		      "Show all rules that match, and which of them decided." },
	[RULES] = { "rules", "FILE", 'r', CLI_FILE,
		    "Also use the rules of this file. A rule with the name of a built-in one "
		    "replaces it." },
	[TOOL] = { "tool", "NAME", 0, CLI_TEXT, "Name of the tool that failed." },
	[JSONRPC_CODE] = { "jsonrpc-code", "NUMBER", 0, CLI_TEXT,
			   "Code of the JSON-RPC error." },
	[HTTP_STATUS] = { "http-status", "NUMBER", 0, CLI_TEXT, "Status of the HTTP reply." },
};

struct job {
	const fw_classifier *rules;
	fw_flat_text given; /* what the options say */
	bool json, explain, failed;
	size_t shown;
};

/* ---- for programs ----------------------------------------------------------- */

/* Negative: null. */
static void put_decimal(const char *key, double value)
{
	char text[32] = "null";

	if (value >= 0)
		(void)snprintf(text, sizeof text, "%.10g", value);
	cli_json_raw(key, text);
}

static void put_matches_json(const struct job *job, const fw_flat_text *text)
{
	fw_classify_match matches[MATCHES_MAX];
	size_t count = fw_classify_matches(job->rules, text, matches, MATCHES_MAX);

	cli_json_open("matches", '[');
	for (size_t i = 0; i < count && i < MATCHES_MAX; i++) {
		cli_json_open(NULL, '{');
		cli_json_string("rule", matches[i].rule);
		cli_json_string("code", matches[i].row->code);
		cli_json_number("rank", matches[i].rank);
		cli_json_bool("excluded", matches[i].is_excluded);
		cli_json_close('}');
	}
	cli_json_close(']');
}

static void put_json(const struct job *job, const fw_flat_text *text,
		     const fw_classification *c)
{
	cli_json_open(NULL, '{');
	cli_json_string("code", c->row->code);
	cli_json_string("type", fw_type_name(c->row->type));
	cli_json_bool("retryable", c->retry == FW_RETRY_BACKOFF);
	put_decimal("retry_after", c->retry_after);
	if (c->http_status)
		cli_json_number("http_status", c->http_status);
	else
		cli_json_raw("http_status", "null");
	put_decimal("confidence", round(c->confidence * 100) / 100);
	cli_json_string("rule", c->rule);
	if (c->contested_by)
		cli_json_string("contested_by", c->contested_by);
	if (job->explain)
		put_matches_json(job, text);
	cli_json_close('}');
	cli_json_line_end();
}

/* ---- for people --------------------------------------------------------------- */

static void put_matches(const struct job *job, const fw_flat_text *text)
{
	fw_classify_match matches[MATCHES_MAX];
	size_t count = fw_classify_matches(job->rules, text, matches, MATCHES_MAX);

	cli_puts("  rules that match:\n");
	for (size_t i = 0; i < count && i < MATCHES_MAX; i++)
		cli_printf("    %2d  %-20s %-30s word %zu%s\n", matches[i].rank,
			   matches[i].rule, matches[i].row->code, matches[i].word,
			   matches[i].is_excluded ? ", excluded by \"unless\"" : "");
}

static void put_text(struct job *job, const fw_flat_text *text, const fw_classification *c)
{
	if (job->shown++ > 0)
		cli_putc('\n');
	cli_printf("%s  %s\n", fw_type_name(c->row->type), c->row->code);
	cli_printf("  %s\n", cli_retry_advice(c->retry));
	if (c->retry_after >= 0)
		cli_printf("  wait: %g seconds\n", c->retry_after);
	if (c->http_status)
		cli_printf("  HTTP status: %d\n", c->http_status);
	if (c->rule)
		cli_printf("  rule: %s, confidence %.2f%s%s\n", c->rule, c->confidence,
			   c->contested_by ? "; also matched: " : "",
			   c->contested_by ? c->contested_by : "");
	else
		cli_puts("  no rule matches, so it is treated as permanent\n");
	if (job->explain)
		put_matches(job, text);
}

static void classify(struct job *job, const fw_flat_text *text)
{
	fw_classification found;

	fw_classify(job->rules, text, &found);
	if (job->json)
		put_json(job, text, &found);
	else
		put_text(job, text, &found);
}

/* ---- lines -------------------------------------------------------------------- */

static int number_of(yyjson_val *object, const char *key)
{
	yyjson_val *value = yyjson_obj_get(object, key);

	return yyjson_is_int(value) ? (int)yyjson_get_sint(value) : 0;
}

/* A line that is not an object with a text is itself the text. */
static void classify_line(struct job *job, const char *line, size_t len)
{
	struct fw_json_limits limits = { .bytes = INPUT_MAX, .depth = DEPTH_MAX };
	yyjson_doc *doc =
		len && *line == '{' ? fw_json_read(line, len, limits, 0, NULL, NULL) : NULL;
	yyjson_val *root = yyjson_doc_get_root(doc);
	struct fw_text text = fw_text_of(yyjson_obj_get(root, "text"));
	fw_flat_text flat = job->given;

	flat.text = line;
	flat.len = len;
	if (text.p) {
		flat.text = text.p;
		flat.len = text.n;
		flat.jsonrpc_code = number_of(root, "jsonrpc_code");
		flat.http_status = number_of(root, "http_status");
		flat.tool = fw_text_str(fw_text_of(yyjson_obj_get(root, "tool")));
	}
	classify(job, &flat);
	yyjson_doc_free(doc);
}

/* A line that is too long gets the error in place of its answer. */
static void refuse_line(struct job *job, const cli_input *in, fw_error *err)
{
	cli_put_error(err, FW_CANONICAL, NULL);
	(void)cli_fail_at(err, in->name, in->line);
	job->failed = true;
}

static fw_error *classify_lines(struct job *job, cli_input *in)
{
	while (!cli_output_failed()) {
		const char *text = NULL;
		size_t len = 0;
		fw_error *err = cli_input_line(in, &text, &len);

		if (err && in->at_end && fw_error_code(err) != FW_INPUT_TOO_LARGE)
			return err;
		if (err)
			refuse_line(job, in, err);
		else if (text)
			classify_line(job, text, len);
		else
			return NULL;
		cli_progress_step(in->line, in->consumed);
	}
	return NULL;
}

static fw_error *classify_stream(struct job *job)
{
	cli_input in;
	fw_error *err = cli_input_open(&in, NULL, INPUT_MAX);

	job->json = true;
	if (!err) {
		in.before_read = cli_output_flush;
		cli_progress_start(in.name, in.size);
		err = classify_lines(job, &in);
		cli_progress_stop();
	}
	cli_input_close(&in);
	return err;
}

/* ---- the command ---------------------------------------------------------------- */

static fw_error *classify_input(struct job *job)
{
	fw_flat_text flat = job->given;
	char *text = NULL;
	fw_error *err = cli_read_file(NULL, INPUT_MAX, &text, &flat.len);

	if (err)
		return err;
	if (flat.len == 0)
		err = cli_usage("no text is given; give one, or send it to standard input");
	flat.text = text;
	if (!err)
		classify(job, &flat);
	free(text);
	return err;
}

static void classify_operands(struct job *job, const cli_args *args)
{
	for (size_t i = 0; i < args->operand_count; i++) {
		fw_flat_text flat = job->given;

		flat.text = args->operands[i];
		flat.len = strlen(flat.text);
		classify(job, &flat);
	}
}

static fw_error *read_number(const cli_args *args, size_t option, int *ret_number)
{
	const char *value = args->values[option];
	char *end;
	long number;

	if (!value)
		return NULL;
	number = strtol(value, &end, 10);
	if (!*value || *end || number < -99999 || number > 99999)
		return cli_usage("--%s must be a number; found \"%s\"", options[option].name,
				 value);
	*ret_number = (int)number;
	return NULL;
}

struct problems {
	const char *path;
	size_t count;
};

static void report(void *ctx, const fw_error *problem)
{
	struct problems *problems = ctx;
	fw_field row = { .u64 = 0 };

	problems->count++;
	(void)fw_error_find_field(problem, "row", &row);
	cli_report(problem, problems->path, row.u64);
}

/* False: the file has mistakes, which were reported. */
static bool load_rules(const char *path, fw_classifier **ret_rules)
{
	struct problems problems = { .path = path };
	char *text = NULL;
	size_t len = 0;
	fw_error *err = cli_read_file(path, RULES_MAX, &text, &len);

	if (!err)
		err = fw_classifier_new(text, len, NULL, report, &problems, ret_rules);
	free(text);
	if (!err)
		return true;
	if (problems.count > 0)
		fw_error_free(err);
	else
		(void)cli_fail(err);
	return false;
}

static fw_error *run_job(struct job *job, const cli_args *args)
{
	if (cli_given(args, LINES))
		return classify_stream(job);
	if (args->operand_count == 0)
		return classify_input(job);
	classify_operands(job, args);
	return NULL;
}

static int run(const cli_args *args)
{
	struct job job = { .json = cli_given(args, JSON),
			   .explain = cli_given(args, EXPLAIN),
			   .given = { .tool = args->values[TOOL] } };
	fw_classifier *own = NULL;
	fw_error *err = read_number(args, JSONRPC_CODE, &job.given.jsonrpc_code);

	if (!err)
		err = read_number(args, HTTP_STATUS, &job.given.http_status);
	if (!err && cli_given(args, LINES) && args->operand_count > 0)
		err = cli_usage("--lines reads standard input; remove the text");
	if (err)
		return cli_fail(err);
	if (cli_given(args, RULES) && !load_rules(args->values[RULES], &own))
		return CLI_FAILED;
	job.rules = own ? own : fw_classifier_builtin();
	err = run_job(&job, args);
	fw_classifier_free(own);
	if (err)
		return cli_fail(err);
	return job.failed ? CLI_FAILED : CLI_DONE;
}

static const cli_example examples[] = {
	{ "What to do about a sentence:",
	  "faultwire classify 'connect ECONNREFUSED 127.0.0.1:5432'" },
	{ "Why it is so:",
	  "faultwire classify --explain 'Not Found: try again in 30 seconds'" },
	{ "Many texts, one per line:",
	  "printf 'disk full\\nHTTP 429\\n' | faultwire classify --lines" },
	{ NULL, NULL },
};

const cli_command cli_command_classify = {
	.name = "classify",
	.summary = "classify plain text as canonical errors",
	.synopsis = "[--json] [--explain] [OPTION]... [TEXT]...",
	.description =
		"Reads an error message of any server, each TEXT or standard input, and says "
		"what kind of failure it is: its code, its type, whether the call may be "
		"repeated and after how long, and the HTTP status that the text states.\n"
		"\n"
		"The answer comes from rules, phrases that are known from many servers; the "
		"rule that decided is named. If none matches, the failure is treated as "
		"permanent: tool.failed, INTERNAL, not to be repeated.",
	CLI_OPTIONS(options),
	.operands = CLI_TEXT,
	.examples = examples,
	.run = run,
};
