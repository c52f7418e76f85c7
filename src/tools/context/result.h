/*
 * result.h - the result of resolve as text.
 */
#ifndef FW_TOOLS_CONTEXT_RESULT_H
#define FW_TOOLS_CONTEXT_RESULT_H

#include "tools/context/cache.h"
#include "tools/context/query.h"

/* Writes the result. Each document is read and checked again. */
FW_NODISCARD fw_error *fw_context_result_write(const struct fw_context_cache *cache,
					       const struct fw_context_query *query,
					       uint64_t budget,
					       const struct fw_context_matches *chosen,
					       size_t max_bytes, struct fw_buf *out);

/* The shortest decimal number that reads back as the same float, from 0 to 1. */
enum { FW_CONTEXT_SCORE_SIZE = 24 };
size_t fw_context_score_text(float score, char ret_text[FW_CONTEXT_SCORE_SIZE]);

#endif
