/*
 * choose.h - choosing the documents of a result.
 */
#ifndef FW_TOOLS_CONTEXT_CHOOSE_H
#define FW_TOOLS_CONTEXT_CHOOSE_H

#include "tools/context/cache.h"

/* Builds the tree that finds the next document that fits. False: out of memory. */
bool fw_context_fit_tree_build(struct fw_context_cache *cache);

/*
 * Appends the documents of the result, in order, to `chosen`, with their scores.
 * `matches` are the documents that contain a word of the query; entries for one
 * document are merged, and the order changes. `exhaustive`: consider each document
 * in turn, literally as the contract describes it, without the tree.
 */
FW_NODISCARD fw_error *fw_context_choose(const struct fw_context_cache *cache,
					 struct fw_context_matches *matches, uint64_t budget,
					 bool exhaustive, struct fw_context_matches *chosen);

#endif
