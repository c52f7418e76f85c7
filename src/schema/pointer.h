/*
 * pointer.h - JSON Pointers for reports: into the schema and into the instance.
 * Both are cut to fit the buffer and safe to print.
 */
#ifndef FW_SCHEMA_POINTER_H
#define FW_SCHEMA_POINTER_H

#include "schema/run.h"

/** Location of a keyword of a node: "/..." or, in another document, "uri#/...". */
void fw_schema__pointer(const fw_schema *s, uint32_t node, unsigned kw, char *buf, size_t cap);

/** Location in the instance. */
void fw_schema__path(const struct fw_schema__frame *f, char *buf, size_t cap);

#endif
