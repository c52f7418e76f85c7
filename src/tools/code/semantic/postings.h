/*
 * postings.h - the lists of documents of each term of a field, while an index is built.
 *
 * A posting is one number: term, document and count, from the highest bits to the lowest, so
 * that sorting by term is sorting numbers. A term is its key (snapshot_format.h).
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_POSTINGS_H
#define FW_TOOLS_CODE_SEMANTIC_POSTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* The parts of a posting. */
enum { FW_SEMANTIC_KEY_SHIFT = 32, FW_SEMANTIC_COUNT_BITS = 8 };

struct fw_semantic_postings {
	uint64_t *list;
	size_t count;
	size_t cap;
};

/* Documents must come in ascending order. False: out of memory. */
bool fw_semantic_postings_add(struct fw_semantic_postings *postings, uint32_t hash,
			      uint32_t document, uint32_t tf);
/* Sorts by term; documents stay in their order. False: out of memory. */
bool fw_semantic_postings_sort(struct fw_semantic_postings *postings);
/* Writes where the buckets begin, and the lists; the caller checks the state of both.
 * `documents` is how many there are. False: out of memory. */
bool fw_semantic_postings_write(const struct fw_semantic_postings *postings, uint32_t documents,
				struct fw_buf *buckets, struct fw_buf *lists);
void fw_semantic_postings_clear(struct fw_semantic_postings *postings);

#endif
