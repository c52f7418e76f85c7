/*
 * output.c - see output.h.
 *
 * The text of a schema is kept beside what was compiled from it, so that a list that
 * comes again costs one comparison per tool.
 */
#include "gate/output.h"

#include <string.h>

#include <faultwire/raise.h>

#include "base/mem.h"
#include "mcp/structured.h"
#include "observe/log/log.h"

struct fw_output {
	struct fw_output *next;
	char *tool;
	char *text; /* of the schema */
	size_t len;
	fw_schema *schema; /* NULL: not compiled yet, or it cannot be */
	bool is_broken;
};

static void output_free(struct fw_output *output)
{
	if (!output)
		return;
	fw_schema_free(output->schema);
	fw__release(output->tool);
	fw__release(output->text);
	fw__release(output);
}

static struct fw_output **find(struct fw_outputs *outputs, const char *tool)
{
	struct fw_output **at = &outputs->first;

	while (*at && strcmp((*at)->tool, tool) != 0)
		at = &(*at)->next;
	return at;
}

static void forget(struct fw_outputs *outputs, struct fw_output **at)
{
	struct fw_output *output = *at;

	*at = output->next;
	outputs->bytes -= output->len;
	output_free(output);
}

void fw_outputs_learn(struct fw_outputs *outputs, const char *tool, struct fw_slice schema)
{
	struct fw_output **at = find(outputs, tool);
	struct fw_output *output;

	if (*at && fw_slice_is_object(schema) && (*at)->len == schema.n &&
	    memcmp((*at)->text, schema.p, schema.n) == 0)
		return;
	if (*at)
		forget(outputs, at);
	if (!fw_slice_is_object(schema) || schema.n > FW_OUTPUT_SCHEMA_BYTES ||
	    schema.n > FW_OUTPUTS_BYTES - outputs->bytes)
		return;
	output = fw__allocate(sizeof *output);
	if (!output)
		return;
	*output = (struct fw_output){ .next = outputs->first,
				      .tool = fw_strdup(tool),
				      .text = fw_strdup_n(schema.p, schema.n),
				      .len = schema.n };
	if (!output->tool || !output->text) {
		output_free(output);
		return;
	}
	outputs->first = output;
	outputs->bytes += output->len;
}

void fw_outputs_clear(struct fw_outputs *outputs)
{
	while (outputs->first)
		forget(outputs, &outputs->first);
	*outputs = (struct fw_outputs){ .first = NULL };
}

/* False: there is nothing to check against. */
static bool compile(struct fw_output *output, const char *upstream)
{
	const fw_schema_options options = { .alc = &fw__yyjson_alc };
	fw_schema_problem problem = { .reason = NULL };

	if (output->schema || output->is_broken)
		return output->schema != NULL;
	output->schema = fw_schema_compile(output->text, output->len, &options, &problem);
	if (!output->schema) {
		const fw_field fields[] = { fw_log_text("upstream", upstream),
					    fw_log_text("tool", output->tool),
					    fw_log_text("reason", problem.reason),
					    fw_log_text("pointer", problem.pointer) };

		output->is_broken = true;
		fw_log_event(FW_LOG_WARNING, "gate", "output_schema_unusable", fields, 4);
	}
	return output->schema != NULL;
}

static fw_error *invalid(const char *upstream, const char *tool,
			 const struct fw_structured_fault *first)
{
	fw_error *err = fw_raise_upstream_invalid_result(upstream, tool, first->pointer,
							 first->expected, first->found);

	fw_error_set_delivery(err, FW_REPLIED);
	return err;
}

fw_error *fw_outputs_check(struct fw_outputs *outputs, const char *upstream, const char *tool,
			   const struct fw_scan *result)
{
	struct fw_structured_fault first = { "", "structured content", "none" };
	struct fw_output *output = outputs->first ? *find(outputs, tool) : NULL;
	bool is_valid;

	if (!output || !compile(output, upstream))
		return NULL;
	if (!result->structured.p)
		return invalid(upstream, tool, &first);
	if (result->structured.n > FW_OUTPUT_CONTENT_BYTES)
		return NULL;
	FW_TRY(fw_structured_check(output->schema, result->structured.p, result->structured.n,
				   FW_OUTPUT_CONTENT_BYTES, &is_valid, &first));
	return is_valid ? NULL : invalid(upstream, tool, &first);
}
