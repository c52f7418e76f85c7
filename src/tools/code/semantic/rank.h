/*
 * rank.h - what of an index fits a query best.
 *
 * Scores are sums, each divided by its largest value: BM25F of files (text, path, names,
 * subjects of past commits), BM25 of the best chunk, votes of past commits whose subjects are
 * like the query, and the cosine of vectors. Fusing ranks instead makes it worse
 * (measured).
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_RANK_H
#define FW_TOOLS_CODE_SEMANTIC_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

#include "tools/code/semantic/limits.h"
#include "tools/code/semantic/snapshot.h"
#include "tools/code/semantic/token.h"

/* What each part weighs. */
struct fw_semantic_weights {
	float file;
	float chunk;
	float vote;
	float dense;
	float path;    /* a term in the path, against one in the text */
	float history; /* in the subject of a past commit */
};
extern const struct fw_semantic_weights fw_semantic_weights;

struct fw_semantic_query {
	struct fw_semantic_term terms[FW_SEMANTIC_LIMIT_QUERY_TERMS];
	size_t term_count;
	/* A vector of a service, of the snapshot's dimensions and padded as vector.h says;
	 * NULL: that of the terms. */
	const int8_t *vector;
	float vector_scale;
};

/* What speaks for a finding. */
struct fw_semantic_hit {
	uint32_t file;
	uint32_t chunk;
	float score;                /* at most 1: of the sum of all weights */
	float lexical, vote, dense; /* each of its own largest value */
	float cosine;
	uint64_t matched;    /* terms of the query in the file, by number */
	uint32_t commits[3]; /* that voted for it the most; UINT32_MAX: none */
};

struct fw_semantic_hits {
	struct fw_semantic_hit list[FW_SEMANTIC_LIMIT_FINDINGS];
	size_t count;
	float coverage;     /* share of the query's weight that the best file has */
	float best_lexical; /* BM25F of the best file, by the largest possible */
	float best_cosine;
	float margin; /* of the first over the tenth */
};

/* Finds at most `most` chunks, the best first; most files with one. Raises
 * internal.out_of_memory. */
FW_NODISCARD fw_error *fw_semantic_rank(const struct fw_semantic_snapshot *snapshot,
					const struct fw_semantic_query *query,
					const struct fw_semantic_weights *weights, size_t most,
					struct fw_semantic_hits *ret_hits);

#endif
