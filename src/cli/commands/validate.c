/*
 * validate.c - checks errors against a contract: for each violation the place, the
 * rule, what was expected and what was found.
 *
 * Violations are the output of this command. Input that cannot be checked at all (not
 * JSON, too large, no such file) is reported as an error on standard error, and counts as
 * invalid.
 */
#include "cli/command.h"

#include <faultwire/faultwire.h>

#include "cli/commands/registry_file.h"
#include "cli/terminal/input.h"
#include "cli/terminal/json_out.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/report.h"
#include "cli/terminal/text.h"

enum { CONTRACT, LINES, JSON, REGISTRY };

static const cli_option options[] = {
	[CONTRACT] = { "contract", "CONTRACT", 'c', CLI_CONTRACT_OR_AUTO,
		       "Contract to check against, or auto to detect it; required. (To report "
		       "errors of faultwire itself in a contract, write --contract before the "
		       "command.)" },
	[LINES] = { "lines", NULL, 'l', CLI_NOTHING, "Read JSON Lines and check each line." },
	[JSON] = { "json", NULL, 'j', CLI_NOTHING,
		   "Print one line of JSON per error, with all its violations." },
	[REGISTRY] = { "registry", "FILE", 'r', CLI_FILE, "Also use the codes of this file." },
};

struct job {
	fw_contract contract;
	fw_decode_options decode;
	bool lines;
	bool json;
	bool failed;
	/* of the current text */
	const char *name;
	uint64_t line;
	fw_contract alike; /* what it looks like, if that is another contract; else FW_AUTO */
};

/* ---- what is printed ------------------------------------------------------ */

static void put_place(const struct job *job)
{
	cli_put_harmless(job->name);
	if (job->line > 0)
		cli_printf(":%llu", (unsigned long long)job->line);
	cli_puts(": ");
}

static void on_violation(void *ctx, const fw_violation_info *violation)
{
	struct job *job = ctx;

	if (job->json) {
		cli_json_open(NULL, '{');
		cli_json_string("pointer", violation->pointer);
		cli_json_string("rule", violation->rule);
		cli_json_string("expected", violation->expected);
		cli_json_string("found", violation->found);
		cli_json_close('}');
		return;
	}
	put_place(job);
	cli_put_harmless(*violation->pointer ? violation->pointer : "(whole)");
	cli_printf(": %s: expected ", violation->rule);
	cli_put_harmless(violation->expected);
	cli_puts(", found ");
	cli_put_harmless(violation->found);
	cli_putc('\n');
}

static void begin_result(const struct job *job, fw_contract contract)
{
	if (!job->json)
		return;
	cli_json_open(NULL, '{');
	cli_json_string("file", job->name);
	if (job->line > 0)
		cli_json_number("line", (int64_t)job->line);
	cli_json_string("contract",
			contract < FW_CONTRACT_COUNT ? fw_contract_name(contract) : NULL);
	if (job->alike < FW_CONTRACT_COUNT)
		cli_json_string("looks_like", fw_contract_name(job->alike));
	cli_json_open("violations", '[');
}

static void end_result(struct job *job, fw_contract contract, bool is_valid,
		       const fw_error *err)
{
	if (job->json) {
		cli_json_close(']');
		if (err)
			cli_json_error("error", err, FW_CANONICAL);
		cli_json_bool("valid", is_valid);
		cli_json_close('}');
		cli_json_line_end();
	} else if (is_valid && !job->lines) {
		put_place(job);
		cli_printf("valid %s\n", fw_contract_name(contract));
	}
	job->failed = job->failed || !is_valid;
}

/* ---- checking ------------------------------------------------------------- */

/* The contract of the text could not be detected. */
static size_t check_unknown(struct job *job)
{
	static const fw_violation_info unknown = {
		.pointer = "",
		.rule = "contract",
		.expected = "an error in one of the contracts",
		.found = "JSON in none of them",
	};

	on_violation(job, &unknown);
	return 1;
}

/* If the text is in another contract, say so first. */
static void put_likeness(struct job *job, const char *text, size_t len)
{
	fw_contract alike = fw_sniff(text, len);
	size_t count = 0;
	fw_error *err;

	if (alike == job->contract || alike >= FW_CONTRACT_COUNT)
		return;
	err = fw_validate(text, len, job->contract, &job->decode, NULL, NULL, &count);
	fw_error_free(err);
	if (err || !count)
		return;
	job->alike = alike;
	if (job->json)
		return;
	put_place(job);
	cli_printf("this looks like %s, not %s\n", fw_contract_name(alike),
		   fw_contract_name(job->contract));
}

static void check(struct job *job, const char *text, size_t len)
{
	fw_contract contract = job->contract;
	fw_error *err = NULL;
	size_t count = 0;

	job->alike = FW_AUTO;
	if (contract == FW_AUTO)
		contract = fw_sniff(text, len);
	else
		put_likeness(job, text, len);
	begin_result(job, contract);
	if (contract == FW_ANY_JSON)
		count = check_unknown(job);
	else
		/* Text that is not JSON is invalid in every contract. */
		err = fw_validate(text, len,
				  contract < FW_CONTRACT_COUNT ? contract : FW_CANONICAL,
				  &job->decode, on_violation, job, &count);
	end_result(job, contract, !err && count == 0, err);
	if (err)
		(void)cli_fail_at(err, job->name, job->line);
}

/* The text could not be read. */
static void give_up(struct job *job, fw_error *err)
{
	begin_result(job, job->contract);
	end_result(job, job->contract, false, err);
	(void)cli_fail_at(err, job->line ? job->name : NULL, job->line);
}

static void check_file(struct job *job, const char *path)
{
	cli_input in;
	const char *text;
	size_t len;
	fw_error *err = cli_input_open(&in, path, CLI_ERROR_MAX);

	job->name = in.name;
	job->line = 0;
	if (!err)
		err = cli_input_all(&in, &text, &len);
	if (err)
		give_up(job, err);
	else
		check(job, text, len);
	cli_input_close(&in);
}

static void check_lines(struct job *job, cli_input *in)
{
	while (!cli_output_failed()) {
		const char *text = NULL;
		size_t len = 0;
		fw_error *err = cli_input_line(in, &text, &len);
		bool broken = err && in->at_end && fw_error_code(err) != FW_INPUT_TOO_LARGE;

		if (!err && !text)
			return;
		job->line = broken ? 0 : in->line;
		if (err)
			give_up(job, err);
		else
			check(job, text, len);
		if (broken)
			return;
		cli_progress_step(in->line, in->consumed);
	}
}

static void check_stream(struct job *job, const char *path)
{
	cli_input in;
	bool failed_before = job->failed;
	fw_error *err = cli_input_open(&in, path, CLI_ERROR_MAX);

	job->name = in.name;
	job->line = 0;
	job->failed = false;
	if (err) {
		give_up(job, err);
	} else {
		in.before_read = cli_output_flush;
		cli_progress_start(in.name, in.size);
		check_lines(job, &in);
		cli_progress_stop();
	}
	if (!job->failed && !job->json) {
		job->line = 0;
		put_place(job);
		cli_printf("%llu lines, all valid", (unsigned long long)in.line);
		if (job->contract != FW_AUTO)
			cli_printf(" %s", fw_contract_name(job->contract));
		cli_putc('\n');
	}
	job->failed = job->failed || failed_before;
	cli_input_close(&in);
}

/* ---- the command ---------------------------------------------------------- */

static int run(const cli_args *args)
{
	struct job job = {
		.decode = FW_DECODE_OPTIONS_INIT,
		.contract = cli_contract(args, CONTRACT, FW_AUTO),
		.alike = FW_AUTO,
		.lines = cli_given(args, LINES),
		.json = cli_given(args, JSON),
	};
	fw_registry *registry = NULL;
	void (*check_input)(struct job *, const char *) = job.lines ? check_stream : check_file;

	if (!cli_given(args, CONTRACT))
		return cli_fail(cli_usage("option --contract is missing: it names the contract "
					  "to check against, or auto"));
	if (!cli_registry_load(args->values[REGISTRY], &registry))
		return CLI_FAILED;
	job.decode.registry = registry;
	if (args->operand_count == 0)
		check_input(&job, NULL);
	for (size_t i = 0; i < args->operand_count && !cli_output_failed(); i++)
		check_input(&job, args->operands[i]);
	fw_registry_free(registry);
	return job.failed ? CLI_FAILED : CLI_DONE;
}

static const cli_example examples[] = {
	{ "Check all examples of the registry against a contract:",
	  "faultwire registry --examples | faultwire convert --lines --to kaiza | faultwire "
	  "validate --lines --contract kaiza" },
	{ "Check one error, and detect its contract:",
	  "echo '{\"error\":{\"code\":\"cache_missing\",\"message\":\"Cache does not "
	  "exist\"}}' | faultwire validate --contract auto" },
	{ NULL, NULL },
};

const cli_command cli_command_validate = {
	.name = "validate",
	.summary = "check an error against a contract",
	.synopsis = "--contract CONTRACT [--lines] [--json] [OPTION]... [FILE]...",
	.description = "Checks the error in each FILE, or on standard input, against the JSON "
		       "Schema of the contract, and checks what a schema cannot express: that "
		       "category, status and retry class are those of the code.\n"
		       "\n"
		       "Prints one line per violation: file, line, JSON Pointer, rule, what "
		       "was expected and what was found. If the text is in another contract, "
		       "that is printed first. Exits with 0 if everything is valid, "
		       "and with 1 otherwise.",
	CLI_OPTIONS(options),
	.operands = CLI_FILE,
	.examples = examples,
	.run = run,
};
