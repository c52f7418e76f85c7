/*
 * format.h - the formats that the keyword `format` can assert.
 */
#ifndef FW_SCHEMA_FORMAT_H
#define FW_SCHEMA_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef bool fw_schema__format_fn(const char *s, size_t n);
struct fw_schema__format {
	const char *name;
	fw_schema__format_fn *check; /* NULL: regex, which needs the schema */
};
extern const struct fw_schema__format fw_schema__formats[];
/** Index in fw_schema__formats; NONE if unknown. */
uint32_t fw_schema__format_find(const char *name, size_t len);
fw_schema__format_fn fw_schema__is_email, fw_schema__is_idn_email, fw_schema__is_hostname,
	fw_schema__is_ipv4, fw_schema__is_ipv6, fw_schema__is_uri, fw_schema__is_uri_reference,
	fw_schema__is_iri, fw_schema__is_iri_reference, fw_schema__is_uri_template;

#endif
