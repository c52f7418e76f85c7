/*
 * fwgen_schema.c - generates the JSON Schemas of the contracts from
 * registry/schemas/.
 *
 * A template is the schema itself; only a member "enum": "@name@" is replaced by the
 * list of that name: the codes of a contract, or the names of a class. So a schema is
 * written and reviewed as JSON, and no list of codes exists twice.
 */
#include <string.h>

#include "fwgen.h"

const struct schema schemas[] = {
	{ "canonical", "FW_CANONICAL" },     { "kaiza", "FW_KAIZA" },
	{ "context-v0", "FW_CONTEXT_V0" },   { "codeintel", "FW_CODEINTEL" },
	{ "toolerror", "FW_TOOLERROR" },     { "owlclaw", "FW_OWLCLAW" },
	{ "owlclaw-api", "FW_OWLCLAW_API" },
};
const size_t schema_count = sizeof schemas / sizeof *schemas;

/* What the codeintel contract publishes beside its envelope. */
const char *const more_schemas[] = {
	"problem_details", "open_file",   "list_paths",   "search_text",
	"semantic_search", "blame_range", "file_history", NULL,
};

static const struct {
	const char *name;
	const char *const *names;
} classes[] = {
	{ "category", category_names }, { "type", type_names },     { "retry", retry_names },
	{ "severity", severity_names }, { "origin", origin_names },
};

static void put_item(struct text *out, const char *item, size_t position, size_t indent)
{
	text_putf(out, "%s\n%*s", position ? "," : "", (int)indent + 2, "");
	text_put_json_string(out, item);
}

/* The list called `name` as a JSON array, with its lines indented by `indent`. */
static bool put_list(struct text *out, const struct registry *registry, const char *name,
		     size_t indent)
{
	int contract = name_index(contract_names, name);
	size_t count = 0;

	text_puts(out, "[");
	for (size_t i = 0; i < registry->code_count; i++) {
		if ((int)registry->codes[i].contract == contract)
			put_item(out, registry->codes[i].code, count++, indent);
	}
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
		for (int j = 0; strcmp(classes[i].name, name) == 0 && classes[i].names[j]; j++)
			put_item(out, classes[i].names[j], count++, indent);
	}
	text_putf(out, "\n%*s]", (int)indent, "");
	return count > 0;
}

void put_schema(struct text *out, const struct registry *registry, const char *schema)
{
	const char *path = keep_format("%s/schemas/%s.json", registry->dir, schema);
	const char *at = file_read(path), *mark;

	if (!at)
		give_up("could not find %s", path);
	while ((mark = strstr(at, "\"@"))) {
		const char *end = strstr(mark, "@\""), *line = mark;
		const char *name;

		if (!end)
			give_up("%s: a list is named \"@name@\"", path);
		name = keep_text(mark + 2, (size_t)(end - mark - 2));
		while (line > at && line[-1] != '\n')
			line--;
		text_put(out, at, (size_t)(mark - at));
		if (!put_list(out, registry, name, strspn(line, " ")))
			give_up("%s: there is no list called \"%s\"", path, name);
		at = end + 2;
	}
	text_puts(out, at);
}
