/*
 * rank_impl.h - the state of a search; shared by rank.c, which adds scores up, and
 * rank_choose.c, which chooses by them.
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_RANK_IMPL_H
#define FW_TOOLS_CODE_SEMANTIC_RANK_IMPL_H

#include "tools/code/semantic/rank.h"

/* The parameters of BM25: saturation, and how much the length of each field counts. */
#define FW_RANK_K1 1.2F
#define FW_RANK_CHUNK_B 0.5F
#define FW_RANK_FILE_B 0.6F
#define FW_RANK_PATH_B 0.5F
#define FW_RANK_HISTORY_B 0.7F
#define FW_RANK_COMMIT_B 0.4F
#define FW_RANK_BUSY 20

enum { FW_RANK_VOTERS = 60, FW_RANK_LENGTHS = 256 };

struct fw_semantic_rank_state {
	const struct fw_semantic_snapshot *snapshot;
	const struct fw_semantic_query *query;
	const struct fw_semantic_weights *weights;
	void *memory; /* of all arrays */
	/* Per file. */
	float *file_tf; /* of the current term */
	float *file_score;
	float *votes;
	uint64_t *matched;
	uint32_t *touched; /* files with the current term */
	size_t touched_count;
	/* Per chunk. */
	float *chunk_score;
	float shortness[FW_RANK_LENGTHS]; /* by the code of a length */
	float *cosine;
	/* Per commit. */
	float *commit_score;
	uint32_t voters[FW_RANK_VOTERS];
	size_t voter_count;
	float idf[FW_SEMANTIC_LIMIT_QUERY_TERMS];
	float possible; /* the sum of the weights of all terms */
	double mean_file_length;
	float *sum; /* the vector of the query */
	/* The documents of the current term. */
	uint32_t *list;
	uint8_t *classes;
};

void fw_semantic_rank_choose(struct fw_semantic_rank_state *r, size_t most,
			     struct fw_semantic_hits *ret_hits);

#endif
