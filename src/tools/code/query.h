/*
 * query.h - the compiled query of search_text, and matching it against a block of lines.
 *
 * A query is compiled once and shared; each thread has a matcher of its own.
 *
 * The one rule to remember: each line is matched alone, without its line end (LF or CR
 * LF). So `^` and `$` match at its ends, and no match spans several lines.
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

/* Raises input.invalid_value if the query is empty, has a line break, or is not a valid
 * regular expression (then with the offset); internal.out_of_memory. */
FW_NODISCARD fw_error *fw_query_new(const struct fw_query_options *options,
				    struct fw_query **ret_query);
void fw_query_free(struct fw_query *query);

/* Every matching line has at least one of them. None: nothing is required. */
const struct fw_literals *fw_query_literals(const struct fw_query *query);
/* Every matching line has one of them; see byte_runs.h. */
const struct fw_byte_runs *fw_query_runs(const struct fw_query *query);
bool fw_query_ignores_case(const struct fw_query *query);

/* ---- matching ---- */

struct fw_matcher;

/* Up to where the lines of a block have been counted. */
struct fw_matcher_lines {
	const char *at; /* the start of a line */
	uint64_t number;
};

struct fw_match {
	const char *line; /* without its line end */
	size_t len;
	size_t start; /* where the match begins, in bytes */
	struct fw_matcher_lines *lines;
};

/* The number of the line in the block, from 0. Lines are counted only when this is
 * called, because for most matches of a large result the number is not needed. */
uint64_t fw_matcher_line(const struct fw_match *match);

FW_NODISCARD fw_error *fw_matcher_new(const struct fw_query *query,
				      struct fw_matcher **ret_matcher);
void fw_matcher_free(struct fw_matcher *matcher);

/*
 * Calls `found` for each matching line of a block, until it returns false. The block
 * begins at the start of a line. `is_stopped` is called now and then. Raises
 * input.invalid_value if the expression takes too many steps.
 */
struct fw_matching {
	bool (*found)(void *ctx, const struct fw_match *match);
	bool (*is_stopped)(void *ctx);
	void *ctx;
	/* May be NULL. Once `only_counts` returns true, it must stay true, and matching
	 * lines may be reported to `counted` as a number instead of calling `found` for
	 * each. */
	bool (*only_counts)(void *ctx);
	void (*counted)(void *ctx, uint64_t lines);
};
FW_NODISCARD fw_error *fw_matcher_run(struct fw_matcher *matcher,
				      const struct fw_matching *matching, const char *text,
				      size_t len);

/* True: the block may have a match. False: it has none. */
bool fw_query_may_match(const struct fw_query *query, const char *text, size_t len);

#endif
