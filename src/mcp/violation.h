/*
 * violation.h - arguments that break the input schema, as an error.
 */
#ifndef FW_MCP_VIOLATION_H
#define FW_MCP_VIOLATION_H

#include <faultwire/error.h>
#include <yyjson.h>

#include "schema/schema.h"

/*
 * NULL if the arguments are valid by the schema. One violation decides code and message:
 * a missing argument before all others, otherwise the first. All of them, up to
 * `violations_most`, are listed in the context. Raises input.missing_field,
 * input.invalid_type, input.invalid_format, input.invalid_value.
 */
FW_NODISCARD fw_error *fw_violation_check(const fw_schema *schema, yyjson_val *arguments,
					  uint32_t violations_most);

/*
 * What the schema validator expected, in words that follow "must be": "a string", "at
 * least 1", "64 lower-case hexadecimal digits".
 */
void fw_violation_words(const char *keyword, const char *expected, char *ret_words,
			size_t size);

#endif
