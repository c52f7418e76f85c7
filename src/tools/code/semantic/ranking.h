/*
 * ranking.h - what find_symbol and find_references have found: JSON objects with a grade,
 * shown from the best grade to the worst, and within a grade in the order of the files.
 *
 * It is bounded: what comes after FW_SEMANTIC_RANKING_MOST objects is only counted, unless
 * its grade is one of the best.
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_RANKING_H
#define FW_TOOLS_CODE_SEMANTIC_RANKING_H

#include <faultwire/faultwire.h>

#include "base/buf.h"

enum { FW_SEMANTIC_RANKING_MOST = 20000 };

struct fw_semantic_rank;

struct fw_semantic_ranking {
	unsigned best; /* grades up to this one are always kept */
	struct fw_buf texts;
	struct fw_semantic_rank *list;
	size_t count, cap;
	size_t total;
	bool is_cut; /* there may be more than `total` */
};

void fw_semantic_ranking_init(struct fw_semantic_ranking *ranking, unsigned best);
void fw_semantic_ranking_clear(struct fw_semantic_ranking *ranking);

/*
 * Adds one; 0 is the best grade. `*ret_text` takes its JSON object, followed by
 * fw_semantic_ranking_end(); NULL: it is only counted. False: out of memory.
 */
bool fw_semantic_ranking_add(struct fw_semantic_ranking *ranking, unsigned grade,
			     struct fw_buf **ret_text);
/* False: out of memory. */
bool fw_semantic_ranking_end(struct fw_semantic_ranking *ranking);

/* The result of the tool: at most `limit` objects as the member `key`, with total,
 * truncated and method. Raises internal.out_of_memory. */
FW_NODISCARD fw_error *fw_semantic_ranking_answer(struct fw_semantic_ranking *ranking,
						  fw_call *call, const char *key,
						  const char *method, size_t limit);

#endif
