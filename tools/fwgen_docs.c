/*
 * fwgen_docs.c - generates the registry for people (codes.md) and for other programs
 * (registry.json, schemas/). These files are committed, so that a review shows their
 * changes.
 */
#include <stdlib.h>
#include <string.h>

#include "fwgen.h"

/* ---- codes.md ---- */

static const char *const retry_advice[] = {
	"Do not send the same call again: it will fail again.",
	"Send the call again once what is wrong has been changed.",
	"Send the same call again after `retry_after` seconds, or with growing delays where "
	"none "
	"is given.",
};

static size_t domain_len(const struct row *row)
{
	return strcspn(row->code, ".");
}

static bool starts_domain(const struct registry *registry, size_t i)
{
	size_t len = domain_len(registry->rows[i]);

	return i == 0 || domain_len(registry->rows[i - 1]) != len ||
	       memcmp(registry->rows[i - 1]->code, registry->rows[i]->code, len) != 0;
}

/* Escapes characters that are markup in Markdown, except `code`. */
static void put_markdown_text(struct text *out, const char *text)
{
	bool in_code = false;

	for (; *text; text++) {
		if (*text == '`')
			in_code = !in_code;
		if (!in_code && strchr("|<>*_", *text))
			text_puts(out, "\\");
		text_put(out, text, 1);
	}
}

/* "file.not_found" links to the heading "2511 file.not_found". */
static void put_code_link(struct text *out, const struct row *row)
{
	text_putf(out, "[`%s`](#%d-", row->code, row->number);
	for (const char *at = row->code; *at; at++) {
		if (*at != '.')
			text_put(out, at, 1);
	}
	text_puts(out, ")");
}

static void put_index(struct text *out, const struct registry *registry)
{
	for (size_t i = 0; i < registry->row_count; i++) {
		const struct row *row = registry->rows[i];

		if (starts_domain(registry, i))
			text_putf(out,
				  "\n### %.*s\n\n"
				  "| number | code | type | retry | status | message |\n"
				  "|---|---|---|---|---|---|\n",
				  (int)domain_len(row), row->code);
		text_putf(out, "| %d | ", row->number);
		put_code_link(out, row);
		text_putf(out, " | %s | %s | %d | `%s` |\n", type_names[row->type],
			  retry_names[row->retry], row->status, row->text[KEY_MESSAGE]);
	}
}

static void put_projections(struct text *out, const struct row *row)
{
	const char *retryable =
		row->retry == name_index(retry_names, "backoff") ? "true" : "false";
	bool is_version = strcmp(row->code, "protocol.unsupported_version") == 0;

	text_puts(out, "| in | it is |\n|---|---|\n");
	text_putf(
		out,
		"| canonical | `%s`, category `%s`, type `%s`, severity `%s`, origin `%s` |\n",
		row->code, category_names[row->category], type_names[row->type],
		severity_names[row->severity], origin_names[row->origin]);
	text_putf(out, "| kaiza | `%s` |\n", row->code_in[KAIZA]);
	text_putf(out, "| context-v0 | `%s` |\n", row->code_in[CONTEXT_V0]);
	text_putf(out, "| codeintel | `%s`, status %d |\n", row->code_in[CODEINTEL],
		  row->status);
	text_putf(out, "| toolerror | `%s`, recoverable `%s` |\n", row->code_in[TOOLERROR],
		  row->recoverable ? "true" : "false");
	text_putf(out, "| owlclaw | `%s`, category `%s`, retryable `%s` |\n", row->code,
		  category_names[row->category], retryable);
	text_putf(out, "| owlclaw-api | status %d, type `https://owlclaw.dev/problems/",
		  row->status);
	/* The only type that the contract itself defines, with another name. */
	if (is_version)
		text_puts(out, "protocol-version");
	else
		text_put_kebab(out, row->code);
	text_putf(out, "` |\n| JSON-RPC | `%d`%s |\n", row->jsonrpc,
		  row->is_protocol_error ? ", never the result of a tool" : "");
}

static void put_reads(struct text *out, const struct row *row)
{
	const char *joint = "\nRead back from: ";

	for (int contract = 0; contract < CONTRACT_COUNT; contract++) {
		if (!(row->reads & 1u << contract))
			continue;
		text_putf(out, "%s%s `%s`", joint, contract_names[contract],
			  row->code_in[contract]);
		joint = ", ";
	}
	if (*joint == ',')
		text_puts(out, ".\n");
}

static void put_param_table(struct text *out, const struct row *row)
{
	if (row->param_count == 0)
		return;
	text_puts(out, "\n| parameter | type | note | example |\n|---|---|---|---|\n");
	for (size_t i = 0; i < row->param_count; i++) {
		const struct param *param = &row->params[i];

		text_putf(out, "| `%s` | %s | %s | `%s` |\n", param->name,
			  param_type_names[param->type],
			  param->optional       ? "optional"
			  : param->message_only ? "in the message only"
						: "",
			  param->example);
	}
}

static void put_section(struct text *out, const struct row *row)
{
	text_putf(out, "\n### %d %s\n\n**%s.**\n", row->number, row->code,
		  row->text[KEY_TITLE]);
	put_markdown_text(out, row->text[KEY_PROSE]);
	if (row->retired)
		text_putf(out, "\nRetired in %s%s%s.\n", row->retired,
			  row->replaced_by ? "; use " : "",
			  row->replaced_by ? row->replaced_by : "");
	text_putf(out, "\n- Message: `%s`\n- Hint: ", row->text[KEY_MESSAGE]);
	put_markdown_text(out, row->text[KEY_HINT]);
	text_putf(out, "\n- Retry: %s\n- Since: %s\n\n", retry_advice[row->retry],
		  row->text[KEY_SINCE]);
	put_projections(out, row);
	put_reads(out, row);
	put_param_table(out, row);
}

void put_markdown(struct text *out, const struct registry *registry)
{
	text_putf(out,
		  "<!-- Made by tools/fwgen from registry/. Do not edit. -->\n"
		  "# Error codes\n"
		  "\n"
		  "The %zu built-in codes of faultwire: what each means, what to do about it, "
		  "and\n"
		  "what it is called in each contract. How the registry works, and how to add "
		  "codes\n"
		  "of your own: [registry.md](registry.md). The same as data:\n"
		  "[registry.json](registry.json).\n"
		  "\n"
		  "## Index\n",
		  registry->row_count);
	put_index(out, registry);
	text_puts(out, "\n## Codes\n");
	for (size_t i = 0; i < registry->row_count; i++)
		put_section(out, registry->rows[i]);
}

/* ---- registry.json ---- */

static void put_member(struct text *out, const char *name, const char *value)
{
	text_putf(out, ",\n    \"%s\": ", name);
	text_put_json_string(out, value);
}

static void put_json_params(struct text *out, const struct row *row)
{
	text_puts(out, ",\n    \"params\": [");
	for (size_t i = 0; i < row->param_count; i++) {
		const struct param *param = &row->params[i];

		text_putf(out, "%s\n      { \"name\": \"%s\", \"type\": \"%s\"%s%s }",
			  i ? "," : "", param->name, param_type_names[param->type],
			  param->optional ? ", \"optional\": true" : "",
			  param->message_only ? ", \"message_only\": true" : "");
	}
	text_puts(out, row->param_count ? "\n    ]" : "]");
}

static void put_json_example(struct text *out, const struct row *row)
{
	text_puts(out, ",\n    \"example\": {");
	for (size_t i = 0; i < row->param_count; i++)
		text_putf(out, "%s\n      \"%s\": %s", i ? "," : "", row->params[i].name,
			  row->params[i].example);
	text_puts(out, row->param_count ? "\n    }" : "}");
}

static void put_json_reads(struct text *out, const struct row *row)
{
	const char *joint = "";

	text_puts(out, ",\n    \"reads\": [");
	for (int contract = 0; contract < CONTRACT_COUNT; contract++) {
		if (row->reads & 1u << contract) {
			text_putf(out, "%s\"%s\"", joint, contract_names[contract]);
			joint = ", ";
		}
	}
	text_puts(out, "]");
}

static void put_json_row(struct text *out, const struct row *row)
{
	text_putf(out, "  {\n    \"number\": %d", row->number);
	put_member(out, "code", row->code);
	put_member(out, "since", row->text[KEY_SINCE]);
	if (row->retired)
		put_member(out, "retired", row->retired);
	if (row->replaced_by)
		put_member(out, "replaced_by", row->replaced_by);
	put_member(out, "title", row->text[KEY_TITLE]);
	put_member(out, "category", category_names[row->category]);
	put_member(out, "type", type_names[row->type]);
	put_member(out, "retry", retry_names[row->retry]);
	text_putf(out, ",\n    \"recoverable\": %s", row->recoverable ? "true" : "false");
	text_putf(out, ",\n    \"status\": %d", row->status);
	put_member(out, "severity", severity_names[row->severity]);
	text_putf(out, ",\n    \"jsonrpc\": %d", row->jsonrpc);
	put_member(out, "origin", origin_names[row->origin]);
	put_member(out, "kaiza", row->code_in[KAIZA]);
	put_member(out, "context_v0", row->code_in[CONTEXT_V0]);
	put_member(out, "codeintel", row->code_in[CODEINTEL]);
	put_json_reads(out, row);
	put_json_params(out, row);
	put_member(out, "message", row->text[KEY_MESSAGE]);
	put_member(out, "hint", row->text[KEY_HINT]);
	put_member(out, "explanation", row->text[KEY_PROSE]);
	put_json_example(out, row);
	text_puts(out, "\n  }");
}

void put_registry_json(struct text *out, const struct registry *registry)
{
	text_puts(out, "[\n");
	for (size_t i = 0; i < registry->row_count; i++) {
		if (i)
			text_puts(out, ",\n");
		put_json_row(out, registry->rows[i]);
	}
	text_puts(out, "\n]\n");
}

void write_docs(const struct registry *registry, const char *dir)
{
	struct text out = { 0 };

	put_markdown(&out, registry);
	text_write(&out, dir, "codes.md");
	put_registry_json(&out, registry);
	text_write(&out, dir, "registry.json");
	write_lost(registry, dir);
	for (size_t i = 0; i < schema_count; i++) {
		put_schema(&out, registry, schemas[i].name);
		text_write(&out, dir, keep_format("schemas/%s.schema.json", schemas[i].name));
	}
	for (size_t i = 0; more_schemas[i]; i++) {
		put_schema(&out, registry, more_schemas[i]);
		text_write(&out, dir, keep_format("schemas/%s.schema.json", more_schemas[i]));
	}
}
