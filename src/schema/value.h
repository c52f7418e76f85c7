/*
 * value.h - equality and hashes of JSON values, for const, enum and uniqueItems.
 */
#ifndef FW_SCHEMA_VALUE_H
#define FW_SCHEMA_VALUE_H

#include "schema/run.h"

/* Equality as JSON Schema defines it. Values that are nested too deeply end the
 * run with a "limit" violation; the functions then return false. */
bool fw_schema__equal(struct fw_schema__run *r, yyjson_val *a, yyjson_val *b,
		      const struct fw_schema__at *at);
bool fw_schema__in_enum(struct fw_schema__run *r, const struct fw_schema__enum *e,
			const struct fw_schema__at *at);
bool fw_schema__unique(struct fw_schema__run *r, const struct fw_schema__at *at,
		       size_t *ret_first, size_t *ret_second);

#endif
