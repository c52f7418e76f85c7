/*
 * report.h - reporting a violation of a check.
 */
#ifndef FW_SCHEMA_REPORT_H
#define FW_SCHEMA_REPORT_H

#include "schema/run.h"

/* Each reports a violation if the run collects them, and returns false. */
bool fw_schema__refuse(struct fw_schema__run *r, uint32_t node, const struct fw_schema__op *op,
		       const struct fw_schema__at *at);
bool fw_schema__refuse_type(struct fw_schema__run *r, uint32_t node,
			    const struct fw_schema__at *at);
bool fw_schema__refuse_false(struct fw_schema__run *r, uint32_t node,
			     const struct fw_schema__at *at);
bool fw_schema__refuse_missing(struct fw_schema__run *r, uint32_t node, unsigned kw,
			       const char *key, size_t len, const struct fw_schema__at *at);
bool fw_schema__refuse_count(struct fw_schema__run *r, uint32_t node, unsigned kw,
			     const char *word, uint64_t limit, size_t count,
			     const struct fw_schema__at *at);
bool fw_schema__refuse_same(struct fw_schema__run *r, uint32_t node, size_t first,
			    size_t second, const struct fw_schema__at *at);
bool fw_schema__refuse_limit(struct fw_schema__run *r, const char *what,
			     const struct fw_schema__at *at);

#endif
