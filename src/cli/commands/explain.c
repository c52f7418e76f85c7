/*
 * explain.c - explains an error code of any contract.
 */
#include "cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <faultwire/faultwire.h>

#include "cli/commands/foreign.h"
#include "cli/commands/lookup.h"
#include "cli/commands/registry_file.h"
#include "cli/commands/row_json.h"
#include "cli/terminal/input.h"
#include "cli/terminal/json_out.h"
#include "cli/terminal/output.h"
#include "cli/terminal/report.h"
#include "cli/terminal/text.h"

enum { CONTRACT, REGISTRY, JSON };

enum { LABEL_WIDTH = 14, INDENT = 2 };

static const cli_option options[] = {
	[CONTRACT] = { "contract", "CONTRACT", 'c', CLI_CONTRACT_OR_AUTO,
		       "Contract of CODE, or of the error on standard input; auto, the "
		       "default, detects it. (To report errors of faultwire itself in a "
		       "contract, write --contract before the command.)" },
	[REGISTRY] = { "registry", "FILE", 'r', CLI_FILE, "Also use the codes of this file." },
	[JSON] = { "json", NULL, 'j', CLI_NOTHING, "Print one line of JSON per code." },
};

const char *cli_retry_advice(fw_retry retry)
{
	switch (retry) {
	case FW_RETRY_NEVER: return "Do not retry: the same call will fail again.";
	case FW_RETRY_AFTER_FIX:
		return "Retry after changing something, in the call or in what it works on; "
		       "the unchanged call will fail again.";
	case FW_RETRY_BACKOFF:
		return "Retry the same call after a delay: the one that the error names, "
		       "otherwise an increasing one. If the call may have taken effect, retry "
		       "only if doing it twice does no harm.";
	case FW_RETRY_COUNT: break;
	}
	return "";
}

/* ---- for people ------------------------------------------------------------ */

static void put_labelled(const char *label, const char *text)
{
	cli_pad(INDENT);
	cli_cell(label, LABEL_WIDTH);
	cli_wrap(text, INDENT + LABEL_WIDTH, INDENT + LABEL_WIDTH);
}

/* The same for text that a peer may have written. */
static void put_foreign(const char *label, const char *text)
{
	char harmless[4096];

	cli_make_harmless(text, harmless, sizeof harmless);
	put_labelled(label, harmless);
}

static void put_number(const char *label, int number)
{
	cli_pad(INDENT);
	cli_cell(label, LABEL_WIDTH);
	cli_printf("%d\n", number);
}

/* Other rows that are written as the same code. */
static void put_others(const fw_registry *registry, const cli_meaning *meaning)
{
	const char *code = fw_row_code_in(meaning->row, meaning->contract);
	char list[4096] = "";
	size_t used = 0;
	const fw_row *row;

	for (size_t i = 0; (row = fw_registry_at(registry, i)); i++) {
		int n;

		if (row == meaning->row ||
		    strcmp(fw_row_code_in(row, meaning->contract), code) != 0)
			continue;
		n = snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "",
			     row->code);
		if (n < 0 || (size_t)n >= sizeof list - used)
			break;
		used += (size_t)n;
	}
	if (used == 0)
		return;
	cli_puts("It also stands for ");
	cli_wrap(list, sizeof "It also stands for" - 1 + 1, INDENT);
	if (fw_row_retry_in(meaning->row, meaning->contract) != meaning->row->retry) {
		char text[128];

		(void)snprintf(text, sizeof text,
			       "It is read with the retry class %s: the least retryable of all "
			       "of them.",
			       fw_retry_name(fw_row_retry_in(meaning->row, meaning->contract)));
		cli_wrap(text, 0, INDENT);
	}
}

static void put_reading(const fw_registry *registry, const cli_meaning *meaning)
{
	const char *code = fw_row_code_in(meaning->row, meaning->contract);
	char text[512];

	if (meaning->contract == FW_CANONICAL || strcmp(code, meaning->row->code) == 0)
		return;
	(void)snprintf(text, sizeof text, "%s of contract %s is read as %s.", code,
		       fw_contract_name(meaning->contract), meaning->row->code);
	cli_wrap(text, 0, INDENT);
	put_others(registry, meaning);
	cli_putc('\n');
}

static void put_message(const fw_row *row)
{
	put_labelled("message", row->message);
	for (size_t i = 0; i < row->param_count; i++) {
		const fw_param *param = &row->params[i];

		cli_pad(INDENT);
		cli_cell(i == 0 ? "parameters" : "", LABEL_WIDTH);
		cli_printf("%s: %s%s%s\n", param->name, cli_param_type_name(param->type),
			   param->optional ? ", optional" : "",
			   param->message_only ? ", shown in the message only" : "");
	}
}

static void put_examples(const fw_row *row)
{
	fw_error *err = fw_row_example(row);

	cli_heading("Example, in each contract");
	for (fw_contract c = FW_CANONICAL; c < FW_CONTRACT_COUNT; c++) {
		cli_printf("  %s\n    ", fw_contract_name(c));
		cli_put_error(err, c, NULL);
	}
	fw_error_free(err);
}

static void put_row(const fw_row *row, fw_retry retry, const char *hint)
{
	char title[256];

	(void)snprintf(title, sizeof title, "%s (%d): %s", row->code, row->number, row->title);
	cli_heading(title);
	if (*row->explanation) {
		cli_pad(INDENT);
		cli_wrap(row->explanation, INDENT, INDENT);
	}
	cli_putc('\n');

	cli_heading("What to do");
	put_labelled("retry", cli_retry_advice(retry));
	if (*hint)
		put_foreign("hint", hint);
	cli_putc('\n');

	cli_heading("Code in each contract");
	for (fw_contract c = FW_CANONICAL; c < FW_CONTRACT_COUNT; c++)
		put_labelled(fw_contract_name(c), fw_row_code_in(row, c));
	cli_putc('\n');

	cli_heading("Class");
	put_labelled("category", fw_category_name(row->category));
	put_labelled("type", fw_type_name(row->type));
	put_labelled("retry class", fw_retry_name(row->retry));
	put_labelled("recoverable", row->recoverable ? "yes" : "no");
	put_labelled("severity", fw_severity_name(row->severity));
	put_labelled("origin", fw_origin_name(row->origin));
	put_number("HTTP status", row->status);
	put_number("JSON-RPC", row->jsonrpc);
	put_labelled("since", row->since);
	put_message(row);
	cli_putc('\n');

	put_examples(row);
}

/* What this error contains besides its code. */
static void put_envelope(const fw_error *err, fw_contract contract)
{
	char text[4096];
	fw_scope scope = fw_error_scope(err);

	if (contract < FW_CONTRACT_COUNT)
		cli_printf("An error in contract %s:\n", fw_contract_name(contract));
	else
		cli_puts("In no contract, so treated as the output of a failed tool:\n");
	(void)fw_error_text(err, text, sizeof text);
	put_foreign("message", text);
	if (scope.tool)
		put_foreign("tool", scope.tool);
	if (fw_error_retry_after(err) >= 0) {
		(void)snprintf(text, sizeof text, "%g s", fw_error_retry_after(err));
		put_foreign("retry after", text);
	}
	if (fw_error_incident_id(err))
		put_foreign("incident", fw_error_incident_id(err));
	cli_putc('\n');
}

/* ---- for programs ----------------------------------------------------------- */

static void put_json(const fw_registry *registry, const char *asked, const cli_meaning *meaning,
		     const fw_error *err)
{
	const char *code = fw_row_code_in(meaning->row, meaning->contract);
	fw_error *example = fw_row_example(meaning->row);
	const fw_row *row;

	cli_json_open(NULL, '{');
	cli_json_string("asked", asked);
	cli_json_string("contract", fw_contract_name(meaning->contract));
	cli_json_string("code", code);
	cli_json_string("read_as", meaning->row->code);
	cli_json_open("also_stands_for", '[');
	for (size_t i = 0; (row = fw_registry_at(registry, i)); i++)
		if (row != meaning->row &&
		    strcmp(fw_row_code_in(row, meaning->contract), code) == 0)
			cli_json_string(NULL, row->code);
	cli_json_close(']');
	cli_json_string("advice",
			cli_retry_advice(err ? fw_error_retry(err) : meaning->row->retry));
	if (err)
		cli_json_error("error", err, FW_CANONICAL);
	cli_row_json("row", meaning->row);
	cli_row_contracts_json("called", meaning->row);
	cli_json_open("examples", '{');
	for (fw_contract c = FW_CANONICAL; c < FW_CONTRACT_COUNT; c++)
		cli_json_error(fw_contract_name(c), example, c);
	cli_json_close('}');
	cli_json_close('}');
	cli_json_line_end();
	fw_error_free(example);
}

/* ---- the command ------------------------------------------------------------ */

struct job {
	fw_registry *registry;
	fw_contract contract;
	bool json;
	bool failed;
	size_t shown;
};

static void separate(struct job *job)
{
	if (job->shown++ > 0 && !job->json)
		cli_puts("\n\n");
}

/* A name of other software: what it is reported as. */
static bool explain_foreign(struct job *job, const char *name)
{
	char what[160];
	fw_error *err = cli_foreign_error(name, what, sizeof what);
	cli_meaning meaning = { FW_CANONICAL, NULL };

	if (!err)
		return false;
	meaning.row = fw_error_row(err);
	separate(job);
	if (job->json) {
		put_json(job->registry, name, &meaning, err);
	} else {
		char text[320];

		(void)snprintf(text, sizeof text, "%s is %s. It is reported as %s.", name, what,
			       meaning.row->code);
		cli_wrap(text, 0, INDENT);
		cli_putc('\n');
		put_row(meaning.row, fw_error_retry(err), meaning.row->hint);
	}
	fw_error_free(err);
	return true;
}

static void explain_code(struct job *job, const char *code)
{
	cli_meaning meanings[FW_CONTRACT_COUNT];
	size_t count = cli_lookup(job->registry, code, job->contract, meanings);

	if (count == 0 && job->contract == FW_AUTO && explain_foreign(job, code))
		return;
	if (count == 0) {
		(void)cli_fail(cli_lookup_failed(job->registry, code, job->contract));
		job->failed = true;
	}
	for (size_t i = 0; i < count; i++) {
		separate(job);
		if (job->json) {
			put_json(job->registry, code, &meanings[i], NULL);
			continue;
		}
		put_reading(job->registry, &meanings[i]);
		put_row(meanings[i].row, meanings[i].row->retry, meanings[i].row->hint);
	}
}

static fw_error *explain_input(struct job *job)
{
	fw_decode_options decode = { .struct_size = sizeof(fw_decode_options),
				     .registry = job->registry };
	fw_contract contract = job->contract;
	fw_error *read = NULL;
	char *text = NULL;
	size_t len = 0;
	fw_error *err = cli_read_file(NULL, CLI_ERROR_MAX, &text, &len);

	if (err)
		return err;
	if (contract == FW_AUTO)
		contract = fw_sniff(text, len);
	err = fw_error_decode(text, len, contract, &decode, &read);
	free(text);
	if (err)
		return err;

	cli_meaning meaning = { contract < FW_CONTRACT_COUNT ? contract : FW_CANONICAL,
				fw_error_row(read) };
	const char *hint = fw_error_hint(read);

	separate(job);
	if (job->json) {
		put_json(job->registry, "-", &meaning, read);
	} else {
		put_envelope(read, contract);
		put_reading(job->registry, &meaning);
		put_row(meaning.row, fw_error_retry(read), hint ? hint : meaning.row->hint);
	}
	fw_error_free(read);
	return NULL;
}

static int run(const cli_args *args)
{
	struct job job = {
		.contract = cli_contract(args, CONTRACT, FW_AUTO),
		.json = cli_given(args, JSON),
	};

	if (args->operand_count == 0)
		return cli_fail(cli_usage(
			"no code is given; give one, or - for an error on standard input"));
	if (!cli_registry_load(args->values[REGISTRY], &job.registry))
		return CLI_FAILED;
	for (size_t i = 0; i < args->operand_count; i++) {
		fw_error *err = NULL;

		if (strcmp(args->operands[i], "-") != 0)
			explain_code(&job, args->operands[i]);
		else
			err = explain_input(&job);
		if (err) {
			(void)cli_fail_at(err, "stdin", 0);
			job.failed = true;
		}
	}
	fw_registry_free(job.registry);
	return job.failed ? CLI_FAILED : CLI_DONE;
}

static const cli_example examples[] = {
	{ "A code of any contract, its number, or its name in C:",
	  "faultwire explain FILE_NOT_FOUND" },
	{ NULL, "faultwire explain cache_missing governance.rate_limited 2511" },
	{ "What other software reports:", "faultwire explain ENOENT SIGSEGV 404 -32602" },
	{ "An error:",
	  "echo '{\"error\":{\"code\":\"io_error\",\"message\":\"I/O error occurred\"}}' | "
	  "faultwire explain -" },
	{ NULL, NULL },
};

const cli_command cli_command_explain = {
	.name = "explain",
	.summary = "explain an error code, and what to do about it",
	.synopsis = "[--contract CONTRACT] [--json] [OPTION]... CODE...|-",
	.description =
		"Explains each CODE: its meaning, its name in every contract, its "
		"class, what to do about it, and an example. CODE is a code of any "
		"contract (FILE_NOT_FOUND, file-not-found, cache_missing, "
		"governance.rate_limited, NOT_FOUND), a name in C (FW_FILE_NOT_FOUND) "
		"or a number (2511). Names of other software are explained as what they are "
		"reported as: an errno (ENOENT), a signal (SIGSEGV), an HTTP status "
		"(404), a JSON-RPC code (-32602), a SQLSTATE (23505), a result of "
		"libcurl (CURLE_COULDNT_CONNECT). With - it explains the error on "
		"standard input.\n"
		"\n"
		"A code that stands for several canonical codes is explained as the one "
		"that it is read as; the others are listed.",
	CLI_OPTIONS(options),
	.operands = CLI_CODE,
	.examples = examples,
	.run = run,
};
