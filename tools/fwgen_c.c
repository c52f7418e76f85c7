/*
 * fwgen_c.c - generates the C files: codes.h and raise.h for users, and the tables
 * and constructors for the library.
 *
 * The constructors are ordinary functions, not inline. So the ABI consists of their
 * names and parameters, and a row can change without recompiling callers.
 */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../src/core/row_index.h"
#include "fwgen.h"

static const char made_by[] = "Made by tools/fwgen from registry/. Do not edit.";

/* ---- codes.h ---- */

static void put_codes_header(struct text *out, const struct registry *registry)
{
	text_putf(out,
		  "/*\n"
		  " * codes.h - the number of every built-in code. %s\n"
		  " *\n"
		  " * The one rule to remember: numbers and names never change.\n"
		  " */\n"
		  "#ifndef FAULTWIRE_CODES_H\n"
		  "#define FAULTWIRE_CODES_H\n"
		  "\n"
		  "typedef enum fw_code {\n",
		  made_by);
	for (size_t i = 0; i < registry->row_count; i++) {
		const struct row *row = registry->rows[i];

		text_puts(out, "\tFW_");
		text_put_upper(out, row->code);
		text_putf(out, " = %d%s /**< %s: %s */\n", row->number,
			  i + 1 < registry->row_count ? "," : "", row->code,
			  row->text[KEY_MESSAGE]);
	}
	text_puts(out, "} fw_code;\n\n#endif\n");
}

/* ---- raise.h ---- */

static const char *const retry_words[] = {
	"Retry: never.",
	"Retry: once fixed.",
	"Retry: unchanged, after a delay.",
};

static void put_param_type(struct text *out, const struct param *param)
{
	static const char *const types[PARAM_TYPE_COUNT] = { "const char *", "int64_t",
							     "uint64_t",     "double",
							     "bool",         "const char *" };

	/* A missing string is a NULL pointer; other types need a pointer. */
	if (param->type == STRING || param->type == JSON)
		text_puts(out, types[param->type]);
	else if (param->optional)
		text_putf(out, "const %s *", types[param->type]);
	else
		text_putf(out, "%s ", types[param->type]);
}

static void put_signature(struct text *out, const struct row *row)
{
	text_puts(out, "fw_raise_");
	text_put_snake(out, row->code);
	text_puts(out, "_at(fw_src at");
	for (size_t i = 0; i < row->param_count; i++) {
		text_puts(out, ", ");
		put_param_type(out, &row->params[i]);
		text_puts(out, row->params[i].name);
	}
	text_puts(out, ")");
}

static void put_param_names(struct text *out, const struct row *row, const char *before,
			    const char *after)
{
	for (size_t i = 0; i < row->param_count; i++)
		text_putf(out, "%s%s%s%s", i ? ", " : "", before, row->params[i].name, after);
}

static void put_raise_comment(struct text *out, const struct row *row)
{
	text_putf(out,
		  "/**\n"
		  " * %s: \"%s\"\n"
		  " *\n"
		  " * %s %s\n",
		  row->code, row->text[KEY_MESSAGE], retry_words[row->retry],
		  row->text[KEY_HINT]);
	for (size_t i = 0; i < row->param_count; i++) {
		const struct param *param = &row->params[i];
		const char *type = param->type == JSON ? "compact JSON" : "";

		if (*type || param->optional)
			text_putf(out, " * @param %s  %s%s%s\n", param->name, type,
				  *type && param->optional ? ", " : "",
				  param->optional ? "NULL: omitted" : "");
	}
	if (row->retired)
		text_putf(out, " *\n * Retired in %s%s%s.\n", row->retired,
			  row->replaced_by ? "; use " : "",
			  row->replaced_by ? row->replaced_by : "");
	text_puts(out, " */\n");
}

static void put_raise_header(struct text *out, const struct registry *registry)
{
	text_putf(
		out,
		"/*\n"
		" * raise.h - a constructor for every built-in code. %s\n"
		" *\n"
		" * Each takes the parameters of the code and returns an error that you own,\n"
		" * with the source location of the call. None can fail. Strings are copied.\n"
		" * The forms that end in _at take the location as a parameter.\n"
		" */\n"
		"#ifndef FAULTWIRE_RAISE_H\n"
		"#define FAULTWIRE_RAISE_H\n"
		"\n"
		"#include <faultwire/error.h>\n"
		"\n"
		"FW_EXTERN_C_BEGIN\n",
		made_by);
	for (size_t i = 0; i < registry->row_count; i++) {
		const struct row *row = registry->rows[i];

		text_puts(out, "\n");
		put_raise_comment(out, row);
		text_puts(out, "FW_API FW_NODISCARD fw_error *\n");
		put_signature(out, row);
		text_puts(out, ";\n#define fw_raise_");
		text_put_snake(out, row->code);
		text_puts(out, "(");
		put_param_names(out, row, "", "");
		text_puts(out, ") \\\n\tfw_raise_");
		text_put_snake(out, row->code);
		text_puts(out, row->param_count ? "_at(FW_HERE, " : "_at(FW_HERE");
		put_param_names(out, row, "(", ")");
		text_puts(out, ")\n");
	}
	text_puts(out, "\nFW_EXTERN_C_END\n\n#endif\n");
}

/* ---- raise.c ---- */

/* How each type of parameter becomes a field. Only those in use are written,
 * because an unused static function is a warning. */
static const char *const field_functions[PARAM_TYPE_COUNT] = {
	[STRING] = "static fw_field string_field(const char *key, const char *value)\n"
		   "{\n"
		   "\treturn (fw_field){\n"
		   "\t\t.key = key,\n"
		   "\t\t.key_len = strlen(key),\n"
		   "\t\t.type = FW_FIELD_STRING,\n"
		   "\t\t.string = value ? value : \"(null)\",\n"
		   "\t\t.string_len = strlen(value ? value : \"(null)\"),\n"
		   "\t};\n"
		   "}\n",
	[I64] = "static fw_field i64_field(const char *key, int64_t value)\n"
		"{\n"
		"\treturn (fw_field){\n"
		"\t\t.key = key, .key_len = strlen(key), .type = FW_FIELD_I64, .i64 = value\n"
		"\t};\n"
		"}\n",
	[U64] = "static fw_field u64_field(const char *key, uint64_t value)\n"
		"{\n"
		"\treturn (fw_field){\n"
		"\t\t.key = key, .key_len = strlen(key), .type = FW_FIELD_U64, .u64 = value\n"
		"\t};\n"
		"}\n",
	[F64] = "static fw_field f64_field(const char *key, double value)\n"
		"{\n"
		"\treturn (fw_field){\n"
		"\t\t.key = key, .key_len = strlen(key), .type = FW_FIELD_F64, .f64 = value\n"
		"\t};\n"
		"}\n",
	[BOOL] = "static fw_field bool_field(const char *key, bool value)\n"
		 "{\n"
		 "\treturn (fw_field){\n"
		 "\t\t.key = key, .key_len = strlen(key), .type = FW_FIELD_BOOL,\n"
		 "\t\t.boolean = value\n"
		 "\t};\n"
		 "}\n",
	[JSON] = "static fw_field json_field(const char *key, const char *value)\n"
		 "{\n"
		 "\treturn (fw_field){\n"
		 "\t\t.key = key,\n"
		 "\t\t.key_len = strlen(key),\n"
		 "\t\t.type = FW_FIELD_JSON,\n"
		 "\t\t.string = value ? value : \"null\",\n"
		 "\t\t.string_len = strlen(value ? value : \"null\"),\n"
		 "\t};\n"
		 "}\n",
};

/* Whether the message is its only parameter, which is not a field: "{text}". */
static bool is_text_only(const struct row *row)
{
	const char *message = row->text[KEY_MESSAGE];
	const struct param *param = row->params;

	return row->param_count == 1 && param->type == STRING && param->message_only &&
	       !param->optional && message[0] == '{' &&
	       strncmp(message + 1, param->name, strlen(param->name)) == 0 &&
	       strcmp(message + 1 + strlen(param->name), "}") == 0;
}

static void put_constructor(struct text *out, const struct row *row, size_t position)
{
	unsigned always = 0;

	text_puts(out, "\nfw_error *");
	put_signature(out, row);
	if (row->param_count == 0) {
		text_putf(out, "\n{\n\treturn fw__row_raise(at, &fw__rows[%zu], NULL, 0);\n}\n",
			  position);
		return;
	}
	if (is_text_only(row)) {
		text_putf(out, "\n{\n\treturn fw__row_raise_text(at, &fw__rows[%zu], %s);\n}\n",
			  position, row->params[0].name);
		return;
	}
	for (size_t i = 0; i < row->param_count; i++)
		if (!row->params[i].optional)
			always |= 1u << i;
	text_putf(out,
		  "\n{\n\tfw_field fields[%zu];\n\tsize_t filled = 0;\n\tunsigned given = "
		  "%u;\n\n",
		  row->param_count, always);
	for (size_t i = 0; i < row->param_count; i++) {
		const struct param *param = &row->params[i];
		bool is_pointed_to =
			param->optional && param->type != STRING && param->type != JSON;

		if (param->optional)
			text_putf(out, "\tif (%s) {\n\t\tgiven |= %uu;\n\t", param->name,
				  1u << i);
		text_putf(out, "\tfields[filled++] = %s_field(\"%s\", %s%s);\n",
			  param_type_names[param->type], param->name, is_pointed_to ? "*" : "",
			  param->name);
		if (param->optional)
			text_puts(out, "\t}\n");
	}
	text_putf(out, "\treturn fw__row_raise(at, &fw__rows[%zu], fields, given);\n}\n",
		  position);
}

static void put_raise_source(struct text *out, const struct registry *registry)
{
	bool used[PARAM_TYPE_COUNT] = { false };

	text_putf(out,
		  "/*\n"
		  " * raise.c - the constructors of raise.h. %s\n"
		  " */\n"
		  "#include <string.h>\n"
		  "\n"
		  "#include <faultwire/raise.h>\n"
		  "\n"
		  "#include \"core/registry_table.h\"\n",
		  made_by);
	for (size_t i = 0; i < registry->row_count; i++) {
		for (size_t j = 0; j < registry->rows[i]->param_count; j++)
			used[registry->rows[i]->params[j].type] = true;
	}
	for (int type = 0; type < PARAM_TYPE_COUNT; type++) {
		if (used[type])
			text_putf(out, "\n%s", field_functions[type]);
	}
	for (size_t i = 0; i < registry->row_count; i++)
		put_constructor(out, registry->rows[i], i);
}

/* ---- registry_table.c ---- */

static void put_params(struct text *out, const struct row *row)
{
	if (row->param_count == 0)
		return;
	text_putf(out, "\nstatic const fw_param params_%d[] = {\n", row->number);
	for (size_t i = 0; i < row->param_count; i++) {
		const struct param *param = &row->params[i];

		text_putf(out, "\t{ \"%s\", FW_PARAM_", param->name);
		text_put_upper(out, param_type_names[param->type]);
		text_putf(out, ", %s, %s },\n", param->optional ? "true" : "false",
			  param->message_only ? "true" : "false");
	}
	text_puts(out, "};\n");
}

static void put_constant(struct text *out, const char *member, const char *prefix,
			 const char *name)
{
	text_putf(out, "\t\t.%s = %s", member, prefix);
	text_put_upper(out, name);
	text_puts(out, ",\n");
}

static void put_string(struct text *out, const char *member, const char *string)
{
	text_putf(out, "\t\t.%s = ", member);
	text_put_c_string(out, string, "\t\t\t");
	text_puts(out, ",\n");
}

static void put_reads(struct text *out, const struct row *row)
{
	const char *joint = "";

	text_puts(out, "\t\t.reads = ");
	for (int contract = 0; contract < CONTRACT_COUNT; contract++) {
		if (!(row->reads & 1u << contract))
			continue;
		text_putf(out, "%s1u << FW_", joint);
		text_put_upper(out, contract_names[contract]);
		joint = " | ";
	}
	text_puts(out, *joint ? ",\n" : "0,\n");
}

static void put_read_retry(struct text *out, const struct row *row)
{
	const char *joint = "";

	text_puts(out, "\t\t.read_retry = ");
	for (int contract = 0; contract < OWLCLAW; contract++) {
		if (!(row->reads & 1u << contract))
			continue;
		text_putf(out, "%s(unsigned)FW_RETRY_", joint);
		text_put_upper(out, retry_names[row->read_retry[contract]]);
		text_puts(out, " << 2 * FW_");
		text_put_upper(out, contract_names[contract]);
		joint = " |\n\t\t\t";
	}
	text_puts(out, *joint ? ",\n" : "0,\n");
}

static void put_length(struct text *out, const char *member, const char *value)
{
	text_putf(out, "\t\t.%s_len = %zu,\n", member, strlen(value));
}

static void put_example(struct text *out, const struct row *row)
{
	struct text example = { 0 };

	text_puts(&example, "{");
	for (size_t i = 0; i < row->param_count; i++)
		text_putf(&example, "%s\"%s\":%s", i ? "," : "", row->params[i].name,
			  row->params[i].example);
	text_puts(&example, "}");
	put_string(out, "example", example.bytes);
	free(example.bytes);
}

static void put_row(struct text *out, const struct row *row)
{
	text_putf(out, "\t{\n\t\t.number = %d,\n", row->number);
	put_string(out, "code", row->code);
	put_string(out, "title", row->text[KEY_TITLE]);
	put_constant(out, "category", "FW_", category_names[row->category]);
	put_constant(out, "type", "FW_TYPE_", type_names[row->type]);
	put_constant(out, "retry", "FW_RETRY_", retry_names[row->retry]);
	text_putf(out, "\t\t.recoverable = %s,\n", row->recoverable ? "true" : "false");
	text_putf(out, "\t\t.status = %d,\n", row->status);
	put_constant(out, "severity", "FW_", severity_names[row->severity]);
	text_putf(out, "\t\t.jsonrpc = %d,\n", row->jsonrpc);
	put_constant(out, "origin", "FW_ORIGIN_", origin_names[row->origin]);
	put_string(out, "kaiza", row->code_in[KAIZA]);
	put_string(out, "context_v0", row->code_in[CONTEXT_V0]);
	put_string(out, "codeintel", row->code_in[CODEINTEL]);
	put_reads(out, row);
	put_read_retry(out, row);
	if (row->param_count)
		text_putf(out, "\t\t.params = params_%d,\n", row->number);
	else
		text_puts(out, "\t\t.params = no_params,\n");
	text_putf(out, "\t\t.param_count = %zu,\n", row->param_count);
	put_string(out, "message", row->text[KEY_MESSAGE]);
	put_string(out, "hint", row->text[KEY_HINT]);
	put_string(out, "explanation", row->text[KEY_PROSE]);
	if (row->is_protocol_error)
		text_puts(out, "\t\t.is_protocol_error = true,\n");
	put_string(out, "since", row->text[KEY_SINCE]);
	put_example(out, row);
	put_length(out, "code", row->code);
	put_length(out, "title", row->text[KEY_TITLE]);
	put_length(out, "kaiza", row->code_in[KAIZA]);
	put_length(out, "context_v0", row->code_in[CONTEXT_V0]);
	put_length(out, "codeintel", row->code_in[CODEINTEL]);
	put_length(out, "hint", row->text[KEY_HINT]);
	text_puts(out, "\t},\n");
}

/* The first members of the canonical form; see contract/canonical.c. */
static void put_row_text(struct text *out, const struct registry *registry,
			 const struct row *row)
{
	size_t reader = 0;
	struct text head = { 0 }, hint = { 0 };

	text_putf(&head,
		  "{\"code\":\"%s\",\"category\":\"%s\",\"type\":\"%s\",\"retry\":\"%s\","
		  "\"recoverable\":%s,\"status\":%d,\"severity\":\"%s\",\"title\":",
		  row->code, category_names[row->category], type_names[row->type],
		  retry_names[row->retry], row->recoverable ? "true" : "false", row->status,
		  severity_names[row->severity]);
	if (strpbrk(row->text[KEY_TITLE], "\"\\"))
		give_up("%s: a title has no quotes and no backslashes", row->code);
	text_put_json_string(&head, row->text[KEY_TITLE]);
	text_puts(&hint, ",\"hint\":");
	text_put_json_string(&hint, row->text[KEY_HINT]);
	text_puts(out, "\t{\n");
	put_string(out, "head", head.bytes);
	put_string(out, "hint", hint.bytes);
	put_length(out, "head", head.bytes);
	put_length(out, "hint", hint.bytes);
	for (size_t i = 0; i < registry->row_count; i++)
		if (registry->rows[i]->reads & 1u << CODEINTEL &&
		    strcmp(registry->rows[i]->code_in[CODEINTEL], row->code_in[CODEINTEL]) == 0)
			reader = i + 1;
	text_putf(out, "\t\t.codeintel_reader = %zu,\n", reader);
	text_puts(out, "\t},\n");
	free(head.bytes);
	free(hint.bytes);
}

static void put_slots(struct text *out, const struct registry *registry,
		      enum fw_index_key index)
{
	static const char *const names[FW_INDEX_COUNT] = { "FW_INDEX_CODE", "FW_INDEX_KAIZA",
							   "FW_INDEX_CONTEXT_V0",
							   "FW_INDEX_CODEINTEL",
							   "FW_INDEX_TOOLERROR" };
	static const enum contract contracts[FW_INDEX_COUNT] = { OWLCLAW, KAIZA, CONTEXT_V0,
								 CODEINTEL, TOOLERROR };
	uint16_t slots[FW_INDEX_SLOTS] = { 0 };
	enum contract contract = contracts[index];

	for (size_t i = 0; i < registry->row_count; i++) {
		const struct row *row = registry->rows[i];
		const char *code = row->code_in[contract];
		uint32_t slot = fw_index_hash(code, strlen(code)) % FW_INDEX_SLOTS;

		if (index != FW_INDEX_CODE && !(row->reads & 1u << contract))
			continue;
		while (slots[slot])
			slot = (slot + 1) % FW_INDEX_SLOTS;
		slots[slot] = (uint16_t)(i + 1);
	}

	text_putf(out, "\t[%s] = {", names[index]);
	for (size_t slot = 0, on_line = 0; slot < FW_INDEX_SLOTS; slot++) {
		if (!slots[slot])
			continue;
		text_putf(out, "%s[%zu] = %u,", on_line++ % 6 ? " " : "\n\t\t", slot,
			  (unsigned)slots[slot]);
	}
	text_puts(out, "\n\t},\n");
}

static void put_table(struct text *out, const struct registry *registry)
{
	text_putf(out,
		  "/*\n"
		  " * registry_table.c - the built-in rows. %s\n"
		  " */\n"
		  "#include \"core/registry_table.h\"\n"
		  "\n"
		  "static const fw_param no_params[1] = { { \"\", FW_PARAM_STRING, true, true "
		  "} };\n",
		  made_by);
	for (size_t i = 0; i < registry->row_count; i++)
		put_params(out, registry->rows[i]);
	text_puts(out, "\nconst fw_row fw__rows[] = {\n");
	for (size_t i = 0; i < registry->row_count; i++)
		put_row(out, registry->rows[i]);
	text_puts(out, "};\n\nconst struct fw_row_text fw__row_texts[] = {\n");
	for (size_t i = 0; i < registry->row_count; i++)
		put_row_text(out, registry, registry->rows[i]);
	text_puts(out,
		  "};\n\nconst size_t fw__row_count = sizeof fw__rows / sizeof *fw__rows;\n\n"
		  "const uint16_t fw__row_slots[FW_INDEX_COUNT][FW_INDEX_SLOTS] = {\n");
	for (int index = 0; index < FW_INDEX_COUNT; index++)
		put_slots(out, registry, (enum fw_index_key)index);
	text_puts(out, "};\n");
}

/* ---- schemas.c, registry_json.c ---- */

static void put_bytes(struct text *out, const char *declaration, struct text *bytes)
{
	text_putf(out, "\n%s = {\n", declaration);
	text_put_c_bytes(out, bytes);
	text_puts(out, "};\n");
	free(bytes->bytes);
}

static void put_schemas_source(struct text *out, const struct registry *registry)
{
	text_putf(out,
		  "/*\n"
		  " * schemas.c - the contracts' JSON Schemas. %s\n"
		  " * Readable form: docs/schemas/.\n"
		  " */\n"
		  "#include \"core/registry_table.h\"\n",
		  made_by);
	for (size_t i = 0; i < schema_count; i++) {
		struct text schema = { 0 };

		put_schema(&schema, registry, schemas[i].name);
		put_bytes(out, keep_format("static const char schema_%zu[]", i), &schema);
	}
	text_puts(out, "\nconst char *const fw__schemas[FW_CONTRACT_COUNT] = {\n");
	for (size_t i = 0; i < schema_count; i++)
		text_putf(out, "\t[%s] = schema_%zu,\n", schemas[i].constant, i);
	text_puts(out, "};\n");
	for (size_t i = 0; more_schemas[i]; i++) {
		struct text schema = { 0 };

		put_schema(&schema, registry, more_schemas[i]);
		put_bytes(out, keep_format("static const char more_%zu[]", i), &schema);
	}
	text_puts(out, "\nconst struct fw_named_schema fw__more_schemas[] = {\n");
	for (size_t i = 0; more_schemas[i]; i++)
		text_putf(out, "\t{ \"%s\", more_%zu },\n", more_schemas[i], i);
	text_puts(out, "\t{ NULL, NULL },\n};\n");
}

static void put_export_source(struct text *out, const struct registry *registry)
{
	struct text json = { 0 }, markdown = { 0 };

	put_registry_json(&json, registry);
	put_markdown(&markdown, registry);
	text_putf(out,
		  "/*\n"
		  " * registry_json.c - the registry as JSON and as Markdown. %s\n"
		  " * Readable form: docs/registry.json and docs/codes.md.\n"
		  " */\n"
		  "#include \"core/registry_table.h\"\n",
		  made_by);
	put_bytes(out, "const char fw__registry_json[]", &json);
	put_bytes(out, "const char fw__codes_markdown[]", &markdown);
}

void write_c(const struct registry *registry, const char *dir)
{
	static const struct {
		const char *name;
		void (*put)(struct text *out, const struct registry *registry);
	} files[] = {
		{ "faultwire/codes.h", put_codes_header },
		{ "faultwire/raise.h", put_raise_header },
		{ "registry_table.c", put_table },
		{ "raise.c", put_raise_source },
		{ "schemas.c", put_schemas_source },
		{ "registry_json.c", put_export_source },
	};

	if (registry->row_count * 2 > FW_INDEX_SLOTS)
		give_up("%zu rows: raise FW_INDEX_SLOTS in src/core/row_index.h",
			registry->row_count);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		struct text out = { 0 };

		files[i].put(&out, registry);
		text_write(&out, dir, files[i].name);
	}
}
