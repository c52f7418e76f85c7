/*
 * regex.h - regular expressions: translated from ECMA-262, run by PCRE2.
 */
#ifndef FW_SCHEMA_REGEX_H
#define FW_SCHEMA_REGEX_H

#include "schema/compiler.h"
#include "schema/run.h"

/** Translate an ECMA-262 regular expression for PCRE2. With `out` NULL only the
 * length of the result is computed. Returns false on a syntax error. */
bool fw_schema__ecma(const char *text, size_t len, char *out, size_t *ret_len);

/** Index of the compiled pattern, or NONE after fw_schema__fail. */
uint32_t fw_schema__regex_add(struct fw_schema__compiler *c, const char *text, size_t len,
			      uint32_t node, unsigned kw);
bool fw_schema__regex_init(struct fw_schema__compiler *c);
/** 1: match; 0: no match; -1: a limit was reached, which has ended the run. */
int fw_schema__regex_match(struct fw_schema__run *r, uint32_t regex, const char *text,
			   size_t len, const struct fw_schema__at *at);
/** Is it an ECMA-262 regular expression (`format: regex`)? 1: yes; 0: no; -1: out
 * of memory. */
int fw_schema__regex_valid(const fw_schema *s, const char *text, size_t len);

#endif
