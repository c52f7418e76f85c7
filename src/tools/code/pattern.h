/*
 * pattern.h - the syntax of regular expressions that literal.c and byte_runs.c parse in the
 * same way.
 *
 * The one rule to remember: syntax that is not known here sets `has_failed`, and then nothing
 * may be concluded from the expression.
 */
#ifndef FW_TOOLS_CODE_PATTERN_H
#define FW_TOOLS_CODE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* An expression that is being parsed. */
struct fw_code_pattern {
	const char *at;
	const char *end;
	bool ignores_case;
	bool has_failed;
	unsigned depth; /* of groups */
};

/* How often an element must occur. */
struct fw_code_pattern_times {
	unsigned least;
	bool is_exact; /* `least` times, not more */
	bool is_given; /* there is a quantifier */
};

/* Parses the quantifier that follows an element, if there is one. */
struct fw_code_pattern_times fw_code_pattern_times(struct fw_code_pattern *p);

/* Parses the beginning of a group: "(" or "(?:". */
void fw_code_pattern_open(struct fw_code_pattern *p);

/* Parses [:digit:] and the like, from the inner bracket. `*ret_is_digit`: it was [:digit:].
 * False: it is something else, and nothing was parsed. */
bool fw_code_pattern_posix(struct fw_code_pattern *p, bool *ret_is_digit);

#endif
