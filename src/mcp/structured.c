/*
 * structured.c - see structured.h. Numbers stay text, so that a schema sees them as they were
 * written.
 */
#include "mcp/structured.h"

#include <stdio.h>

#include <yyjson.h>

#include <faultwire/raise.h>

#include "base/json.h"
#include "core/redact.h"

static bool on_violation(void *ctx, const struct fw_violation *v)
{
	struct fw_structured_fault *fault = ctx;

	(void)snprintf(fault->pointer, sizeof fault->pointer, "%s", v->instance_pointer);
	(void)snprintf(fault->expected, sizeof fault->expected, "%s", v->expected);
	(void)snprintf(fault->found, sizeof fault->found, "%s",
		       fw_redact_pointer_is_secret(v->instance_pointer) ? FW_REDACTED
									: v->found);
	return false;
}

bool fw_structured_check_value(const fw_schema *schema, yyjson_val *value,
			       struct fw_structured_fault *ret_fault)
{
	const fw_schema_run run = { .on_violation = on_violation, .ctx = ret_fault };

	*ret_fault = (struct fw_structured_fault){ "", "", "" };
	return fw_schema_check(schema, value, &run);
}

fw_error *fw_structured_check(const fw_schema *schema, const char *text, size_t len,
			      size_t most, bool *ret_is_valid,
			      struct fw_structured_fault *ret_fault)
{
	yyjson_doc *doc = fw_json_read(text, len, (struct fw_json_limits){ most, 0 },
				       YYJSON_READ_NUMBER_AS_RAW, NULL, NULL);

	if (!doc)
		return fw_raise_internal_out_of_memory();
	*ret_is_valid = fw_structured_check_value(schema, yyjson_doc_get_root(doc), ret_fault);
	yyjson_doc_free(doc);
	return NULL;
}
