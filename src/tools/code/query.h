/*
 * query.h - what search_text looks for in a line, and looking for it in a block of lines.
 *
 * A query is compiled once and shared; each thread has a matcher of its own.
 *
 * The one rule to remember: a line is matched alone, without its line end (LF or CR LF).
 * So `^` and `$` are its ends, and no match crosses lines.
 */
#ifndef FW_TOOLS_CODE_QUERY_H
#define FW_TOOLS_CODE_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

#include "tools/code/literal.h"
#include "tools/code/byte_runs.h"

struct fw_query;

struct fw_query_options {
	const char *text;
	size_t len;
	bool is_regex;
	bool is_case_sensitive;
};

/* Raises input.invalid_value: empty, with a line break, or not a regular expression, then
 * with the offset. internal.out_of_memory. */
FW_NODISCARD fw_error *fw_query_new(const struct fw_query_options *options,
				    struct fw_query **ret_query);
void fw_query_free(struct fw_query *query);

/* A matching line has at least one of them; none: nothing is known. */
const struct fw_literals *fw_query_literals(const struct fw_query *query);
/* A matching line has one of them; see byte_runs.h. */
const struct fw_byte_runs *fw_query_runs(const struct fw_query *query);
bool fw_query_ignores_case(const struct fw_query *query);

/* ---- matching ---- */

struct fw_matcher;

/* How far the lines of a block are counted. */
struct fw_matcher_lines {
	const char *at; /* the start of a line */
	uint64_t number;
};

struct fw_match {
	const char *line; /* without its end */
	size_t len;
	size_t start; /* where the match begins, in bytes */
	struct fw_matcher_lines *lines;
};

/* The number of the line in the block, from 0. Lines are counted when this is called: most
 * matches of a search with many are only counted themselves. */
uint64_t fw_matcher_line(const struct fw_match *match);

FW_NODISCARD fw_error *fw_matcher_new(const struct fw_query *query,
				      struct fw_matcher **ret_matcher);
void fw_matcher_free(struct fw_matcher *matcher);

/*
 * Calls `found` for each matching line of a block, which begins at the start of a line;
 * false ends it. `is_stopped` is asked now and then. Raises input.invalid_value if
 * the expression takes too many steps.
 */
struct fw_matching {
	bool (*found)(void *ctx, const struct fw_match *match);
	bool (*is_stopped)(void *ctx);
	void *ctx;
	/* May be NULL. If `only_counts` is true, which stays so, matching lines may be counted
	 * with `counted` instead of calling `found` for each. */
	bool (*only_counts)(void *ctx);
	void (*counted)(void *ctx, uint64_t lines);
};
FW_NODISCARD fw_error *fw_matcher_run(struct fw_matcher *matcher,
				      const struct fw_matching *matching, const char *text,
				      size_t len);

/* Can the block have a match? False is certain. */
bool fw_query_may_match(const struct fw_query *query, const char *text, size_t len);

#endif
