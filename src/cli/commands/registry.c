/*
 * registry.c - prints all codes, as a table or in a format for programs.
 *
 * Everything is generated from the rows, not from the files of the generator, so that it
 * includes the user's own codes.
 */
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

#include <faultwire/faultwire.h>

#include "cli/commands/prometheus_rules.h"
#include "cli/commands/registry_file.h"
#include "cli/commands/row_json.h"
#include "cli/terminal/json_out.h"
#include "cli/terminal/output.h"
#include "cli/terminal/report.h"
#include "cli/terminal/text.h"
#include "core/registry_table.h"

enum { JSON, MARKDOWN, SCHEMA, EXAMPLES, PROMETHEUS_RULES, REGISTRY };

static const cli_option options[] = {
	[JSON] = { "json", NULL, 'j', CLI_NOTHING, "Print all rows as JSON." },
	[MARKDOWN] = { "markdown", NULL, 0, CLI_NOTHING,
		       "Print a page that explains every code." },
	[SCHEMA] = { "schema", "NAME", 0, CLI_SCHEMA,
		     "Print a JSON Schema (draft 2020-12): of a contract, of the problem "
		     "details of codeintel, or of the result of one of its tools." },
	[EXAMPLES] = { "examples", NULL, 0, CLI_NOTHING,
		       "Print an error of every code as one line of canonical JSON; always the "
		       "same bytes." },
	[PROMETHEUS_RULES] = { "prometheus-rules", NULL, 0, CLI_NOTHING,
			       "Print alerting rules for Prometheus, generated from the "
			       "severities of the codes." },
	[REGISTRY] = { "registry", "FILE", 'r', CLI_FILE, "Also use the codes of this file." },
};

/* ---- the table --------------------------------------------------------------- */

enum { COLUMNS = 6 };

static const char *cell(const fw_row *row, size_t column, char *status, size_t size)
{
	switch (column) {
	case 0: return row->code;
	case 1: return fw_type_name(row->type);
	case 2: return fw_retry_name(row->retry);
	case 3: (void)snprintf(status, size, "%d", row->status); return status;
	case 4: return row->kaiza;
	default: return row->title;
	}
}

static void put_table(const fw_registry *registry)
{
	static const char *const heads[COLUMNS] = { "CODE",   "TYPE",  "RETRY",
						    "STATUS", "KAIZA", "TITLE" };
	size_t widths[COLUMNS];
	char status[16];
	const fw_row *row;

	for (size_t c = 0; c < COLUMNS; c++) {
		widths[c] = strlen(heads[c]);
		for (size_t i = 0; (row = fw_registry_at(registry, i)); i++) {
			size_t columns = cli_columns(cell(row, c, status, sizeof status));

			if (columns > widths[c])
				widths[c] = columns;
		}
	}
	for (size_t c = 0; c < COLUMNS - 1; c++)
		cli_cell(heads[c], widths[c] + 2);
	cli_printf("%s\n", heads[COLUMNS - 1]);
	for (size_t i = 0; (row = fw_registry_at(registry, i)); i++) {
		for (size_t c = 0; c < COLUMNS - 1; c++)
			cli_cell(cell(row, c, status, sizeof status), widths[c] + 2);
		cli_printf("%s\n", row->title);
	}
}

/* ---- for programs ------------------------------------------------------------- */

static void put_json(const fw_registry *registry)
{
	const fw_row *row;

	cli_json_open(NULL, '[');
	for (size_t i = 0; (row = fw_registry_at(registry, i)); i++) {
		cli_putc('\n');
		cli_row_json(NULL, row);
	}
	cli_putc('\n');
	cli_json_close(']');
	cli_json_line_end();
}

static void put_examples(const fw_registry *registry)
{
	const fw_row *row;

	for (size_t i = 0; (row = fw_registry_at(registry, i)); i++) {
		fw_error *err = fw_row_example(row);

		cli_put_error(err, FW_CANONICAL, NULL);
		fw_error_free(err);
	}
}

static const char *find_schema(const char *name)
{
	fw_contract contract;

	for (size_t i = 0; fw__more_schemas[i].name; i++)
		if (strcmp(fw__more_schemas[i].name, name) == 0)
			return fw__more_schemas[i].text;
	return fw_contract_schema(fw_contract_from_name(name, &contract) ? contract
									 : FW_CANONICAL);
}

static void put_schema(const char *name)
{
	const char *schema = find_schema(name);
	size_t len = strlen(schema);

	cli_put(schema, len);
	if (len == 0 || schema[len - 1] != '\n')
		cli_putc('\n');
}

/* ---- the page ------------------------------------------------------------------ */

static void put_markdown_text(const char *text)
{
	for (; *text; text++) {
		if (strchr("|<>*_", *text))
			cli_putc('\\');
		cli_putc(*text);
	}
}

static void put_markdown_row(const fw_row *row)
{
	fw_error *err = fw_row_example(row);

	cli_printf("\n## %s\n\n**%s.** ", row->code, row->title);
	put_markdown_text(row->explanation);
	cli_printf("\n| number | category | type | retry | status | severity | JSON-RPC | "
		   "origin |\n"
		   "|---|---|---|---|---|---|---|---|\n"
		   "| %d | %s | %s | %s | %d | %s | %d | %s |\n\n",
		   row->number, fw_category_name(row->category), fw_type_name(row->type),
		   fw_retry_name(row->retry), row->status, fw_severity_name(row->severity),
		   row->jsonrpc, fw_origin_name(row->origin));
	cli_printf("- message: `%s`\n", row->message);
	if (*row->hint) {
		cli_puts("- hint: ");
		put_markdown_text(row->hint);
		cli_putc('\n');
	}
	for (fw_contract c = FW_KAIZA; c < FW_CONTRACT_COUNT; c++)
		cli_printf("- %s: `%s`\n", fw_contract_name(c), fw_row_code_in(row, c));
	cli_puts("\n```json\n");
	cli_put_error(err, FW_CANONICAL, NULL);
	cli_puts("```\n");
	fw_error_free(err);
}

static void put_markdown(const fw_registry *registry)
{
	const fw_row *row;

	cli_puts(
		"# Codes\n\n| code | title | type | retry | status |\n|---|---|---|---|---|\n");
	for (size_t i = 0; (row = fw_registry_at(registry, i)); i++) {
		cli_printf("| [%s](#", row->code);
		/* The anchor that common renderers generate for the heading: without the period. */
		for (const char *at = row->code; *at; at++)
			if (*at != '.')
				cli_putc(*at);
		cli_printf(") | %s | %s | %s | %d |\n", row->title, fw_type_name(row->type),
			   fw_retry_name(row->retry), row->status);
	}
	for (size_t i = 0; (row = fw_registry_at(registry, i)); i++)
		put_markdown_row(row);
}

/* ---- the command ---------------------------------------------------------------- */

static int run(const cli_args *args)
{
	fw_registry *registry = NULL;
	int forms = 0;

	for (size_t i = JSON; i <= PROMETHEUS_RULES; i++)
		forms += cli_given(args, i);
	if (forms > 1)
		return cli_fail(
			cli_usage("only one of --json, --markdown, --schema, --examples "
				  "and --prometheus-rules can be given"));
	if (args->operand_count > 0)
		return cli_fail(cli_usage("faultwire registry takes no operand; found \"%s\"",
					  args->operands[0]));
	if (!cli_registry_load(args->values[REGISTRY], &registry))
		return CLI_FAILED;
	if (cli_given(args, JSON))
		put_json(registry);
	else if (cli_given(args, MARKDOWN))
		put_markdown(registry);
	else if (cli_given(args, SCHEMA))
		put_schema(args->values[SCHEMA]);
	else if (cli_given(args, EXAMPLES))
		put_examples(registry);
	else if (cli_given(args, PROMETHEUS_RULES))
		cli_put_prometheus_rules(registry);
	else
		put_table(registry);
	fw_registry_free(registry);
	return CLI_DONE;
}

static const cli_example examples[] = {
	{ "Codes about files:", "faultwire registry | grep '^file'" },
	{ "As JSON:", "faultwire registry --json" },
	{ "The JSON Schema of a contract:", "faultwire registry --schema kaiza" },
	{ "The JSON Schema of a tool's result in codeintel:",
	  "faultwire registry --schema open_file" },
	{ "Alerting rules for Prometheus:",
	  "faultwire registry --prometheus-rules | grep alert:" },
	{ NULL, NULL },
};

const cli_command cli_command_registry = {
	.name = "registry",
	.summary = "list all codes as a table, JSON, Markdown, schemas or examples",
	.synopsis = "[--json|--markdown|--schema NAME|--examples|--prometheus-rules] "
		    "[--registry FILE]",
	.description = "Prints all codes, as a table or in the format that an option selects. "
		       "With --registry it includes your own codes.",
	CLI_OPTIONS(options),
	.operands = CLI_NOTHING,
	.examples = examples,
	.run = run,
};
