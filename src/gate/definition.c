/*
 * definition.c - see definition.h.
 *
 * The text of an output schema is kept beside the compiled schema, so that listing the
 * same tools again costs one comparison per tool. An input schema is only parsed if it
 * can have annotations.
 */
#include "gate/definition.h"

#include <string.h>

#include <faultwire/raise.h>

#include "base/json.h"
#include "base/mem.h"
#include "mcp/structured.h"
#include "observe/log/log.h"

struct fw_definition {
	struct fw_definition *next;
	char *tool;
	char *text; /* of the output schema; NULL: none */
	size_t len;
	fw_schema *schema; /* NULL: not compiled yet, or it does not compile */
	bool is_broken;
	struct fw_mirrors mirrors;
	size_t bytes; /* counted towards FW_DEFINITIONS_BYTES */
};

static void definition_free(struct fw_definition *definition)
{
	if (!definition)
		return;
	fw_schema_free(definition->schema);
	fw_mirrors_clear(&definition->mirrors);
	fw__release(definition->tool);
	fw__release(definition->text);
	fw__release(definition);
}

static struct fw_definition **find(const struct fw_definitions *definitions, const char *tool)
{
	struct fw_definition *const *at = &definitions->first;

	while (*at && strcmp((*at)->tool, tool) != 0)
		at = &(*at)->next;
	return (struct fw_definition **)at;
}

static void forget(struct fw_definitions *definitions, struct fw_definition **at)
{
	struct fw_definition *definition = *at;

	*at = definition->next;
	definitions->bytes -= definition->bytes;
	definition_free(definition);
}

/* Returns what is wrong with the annotations. NULL: nothing, or there was no memory to
 * find out. */
static const char *read_mirrors(struct fw_slice schema, struct fw_mirrors *ret_mirrors)
{
	const char *fault = NULL;
	yyjson_doc *doc;

	/* A key may be written with escapes. That is rare, but valid. */
	if (!schema.p || (!memmem(schema.p, schema.n, "x-mcp-header", 12) &&
			  !memchr(schema.p, '\\', schema.n)))
		return NULL;
	doc = fw_json_read(schema.p, schema.n, (struct fw_json_limits){ schema.n, 0 }, 0, NULL,
			   NULL);
	fw_error_free(fw_mirrors_read(yyjson_doc_get_root(doc), &fault, ret_mirrors));
	yyjson_doc_free(doc);
	return fault;
}

/* Adds the definition of a new tool. If it succeeds, it consumes the mirrors. False: no
 * memory. */
static bool add(struct fw_definitions *definitions, const char *tool, struct fw_slice output,
		struct fw_mirrors mirrors, size_t bytes)
{
	struct fw_definition *definition = fw__allocate(sizeof *definition);

	if (!definition)
		return false;
	*definition = (struct fw_definition){ .next = definitions->first,
					      .tool = fw_strdup(tool),
					      .text = output.n ? fw_strdup_n(output.p, output.n)
							       : NULL,
					      .len = output.n,
					      .bytes = bytes };
	if (!definition->tool || (output.n && !definition->text)) {
		definition_free(definition);
		return false;
	}
	definition->mirrors = mirrors;
	definitions->first = definition;
	definitions->bytes += bytes;
	return true;
}

const char *fw_definitions_learn(struct fw_definitions *definitions, const char *tool,
				 struct fw_slice output, struct fw_slice input)
{
	struct fw_definition **at = find(definitions, tool);
	struct fw_mirrors mirrors = { .items = NULL };
	const char *fault = read_mirrors(input, &mirrors);
	size_t bytes;

	if (!fw_slice_is_object(output) || output.n > FW_DEFINITION_SCHEMA_BYTES)
		output = (struct fw_slice){ NULL, 0 };
	if (*at && !(*at)->mirrors.count && !mirrors.count && (*at)->len == output.n &&
	    memcmp((*at)->text, output.p, output.n) == 0)
		return fault;
	if (*at)
		forget(definitions, at);
	bytes = output.n + (mirrors.count ? input.n : 0);
	if (!bytes || bytes > FW_DEFINITIONS_BYTES - definitions->bytes ||
	    !add(definitions, tool, output, mirrors, bytes))
		fw_mirrors_clear(&mirrors);
	return fault;
}

const struct fw_mirrors *fw_definitions_mirrors(const struct fw_definitions *definitions,
						const char *tool)
{
	const struct fw_definition *definition =
		definitions->first ? *find(definitions, tool) : NULL;

	return definition && definition->mirrors.count ? &definition->mirrors : NULL;
}

void fw_definitions_clear(struct fw_definitions *definitions)
{
	while (definitions->first)
		forget(definitions, &definitions->first);
	*definitions = (struct fw_definitions){ .first = NULL };
}

/* False: there is nothing to check against. */
static bool compile(struct fw_definition *definition, const char *upstream)
{
	const fw_schema_options options = { .alc = &fw__yyjson_alc };
	fw_schema_problem problem = { .reason = NULL };

	if (definition->schema || definition->is_broken || !definition->text)
		return definition->schema != NULL;
	definition->schema =
		fw_schema_compile(definition->text, definition->len, &options, &problem);
	/* The next result tries again: there may be memory then. */
	if (!definition->schema &&
	    !(problem.reason && strcmp(problem.reason, "out of memory") == 0)) {
		const fw_field fields[] = { fw_log_text("upstream", upstream),
					    fw_log_text("tool", definition->tool),
					    fw_log_text("reason", problem.reason),
					    fw_log_text("pointer", problem.pointer) };

		definition->is_broken = true;
		fw_log_event(FW_LOG_WARNING, "gate", "output_schema_unusable", fields, 4);
	}
	return definition->schema != NULL;
}

bool fw_definitions_has_output(struct fw_definitions *definitions, const char *upstream,
			       const char *tool, struct fw_slice item)
{
	struct fw_scan_member output = { .name = "outputSchema" };
	struct fw_definition *definition = definitions->first ? *find(definitions, tool) : NULL;

	(void)fw_slice_members(item, &output, 1);
	if (output.value.p && !fw_slice_is_object(output.value))
		return false;
	return !definition || compile(definition, upstream) || !definition->is_broken;
}

static fw_error *invalid(const char *upstream, const char *tool,
			 const struct fw_structured_fault *first)
{
	fw_error *err = fw_raise_upstream_invalid_result(upstream, tool, first->pointer,
							 first->expected, first->found);

	fw_error_set_delivery(err, FW_REPLIED);
	return err;
}

static fw_error *check(const struct fw_definition *definition, const char *upstream,
		       const char *tool, const struct fw_scan *result)
{
	struct fw_structured_fault first = { "", "structured content", "none" };
	bool is_valid;

	if (!result->structured.p)
		return invalid(upstream, tool, &first);
	if (result->structured.n > FW_DEFINITION_CONTENT_BYTES)
		return NULL;
	FW_TRY(fw_structured_check(definition->schema, result->structured.p,
				   result->structured.n, FW_DEFINITION_CONTENT_BYTES, &is_valid,
				   &first));
	return is_valid ? NULL : invalid(upstream, tool, &first);
}

fw_error *fw_definitions_check(struct fw_definitions *definitions, const char *upstream,
			       const char *tool, const struct fw_scan *result)
{
	struct fw_definition *definition = definitions->first ? *find(definitions, tool) : NULL;

	if (!definition || !compile(definition, upstream))
		return NULL;
	return check(definition, upstream, tool, result);
}
