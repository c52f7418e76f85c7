/*
 * structured.h - the structured content of a result against the output schema of its tool.
 */
#ifndef FW_MCP_STRUCTURED_H
#define FW_MCP_STRUCTURED_H

#include <stdbool.h>
#include <stddef.h>

#include <yyjson.h>

#include <faultwire/error.h>

#include "schema/schema.h"

/* The first violation, for an error: values of secret members are redacted. */
struct fw_structured_fault {
	char pointer[256];
	char expected[256];
	char found[256];
};

/* The same of a value whose numbers were read as text. */
bool fw_structured_check_value(const fw_schema *schema, yyjson_val *value,
			       struct fw_structured_fault *ret_fault);

/* Its depth was checked before; `len` is at most `most`. `ret_fault` is set if it is not
 * valid. Raises internal.out_of_memory. */
fw_error *fw_structured_check(const fw_schema *schema, const char *text, size_t len,
			      size_t most, bool *ret_is_valid,
			      struct fw_structured_fault *ret_fault);

#endif
