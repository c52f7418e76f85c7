/*
 * postings.c - see postings.h.
 */
#include "tools/code/semantic/postings.h"

#include <string.h>

#include "base/mem.h"
#include "tools/code/semantic/snapshot.h"

enum { TF_BITS = 8, TF_MOST = 8, DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, HASH_SHIFT = 32 };

bool fw_semantic_postings_add(struct fw_semantic_postings *postings, uint32_t hash,
			      uint32_t document, uint32_t tf)
{
	if (postings->count == postings->cap) {
		size_t cap = postings->cap ? 2 * postings->cap : 4096;
		uint64_t *list = fw__reallocate(postings->list, cap * sizeof *list);

		if (!list)
			return false;
		postings->list = list;
		postings->cap = cap;
	}
	postings->list[postings->count++] =
		(uint64_t)hash << HASH_SHIFT | document << TF_BITS | (tf < 255 ? tf : 255);
	return true;
}

/* Radix sort by the term, 11 bits at a time: stable, and documents are in order already. */
bool fw_semantic_postings_sort(struct fw_semantic_postings *postings)
{
	size_t size = (postings->count ? postings->count : 1) * sizeof(uint64_t);
	uint64_t *from = postings->list, *to = fw__allocate(size);
	size_t counts[DIGITS];

	if (!to)
		return false;
	for (unsigned shift = HASH_SHIFT; shift < 64; shift += DIGIT_BITS) {
		size_t sum = 0;
		uint64_t *swap = from;

		memset(counts, 0, sizeof counts);
		for (size_t i = 0; i < postings->count; i++)
			counts[from[i] >> shift & (DIGITS - 1)]++;
		for (size_t i = 0; i < DIGITS; i++) {
			size_t here = counts[i];

			counts[i] = sum;
			sum += here;
		}
		for (size_t i = 0; i < postings->count; i++)
			to[counts[from[i] >> shift & (DIGITS - 1)]++] = from[i];
		from = to;
		to = swap;
	}
	fw__release(to);
	postings->list = from;
	postings->cap = postings->count;
	return true;
}

static void put_varint(struct fw_buf *out, uint32_t value)
{
	char bytes[5];
	size_t len = 0;

	for (; value >= 128; value >>= 7)
		bytes[len++] = (char)(value | 128);
	bytes[len++] = (char)value;
	fw_buf_put(out, bytes, len);
}

void fw_semantic_postings_write(const struct fw_semantic_postings *postings,
				struct fw_buf *terms, struct fw_buf *lists)
{
	for (size_t i = 0; i < postings->count;) {
		struct fw_semantic_term_row row = {
			.hash = (uint32_t)(postings->list[i] >> HASH_SHIFT),
			.offset = (uint32_t)lists->len,
		};
		uint32_t before = 0;

		for (; i < postings->count &&
		       (uint32_t)(postings->list[i] >> HASH_SHIFT) == row.hash;
		     i++) {
			uint32_t document = (uint32_t)postings->list[i] >> TF_BITS;
			uint32_t tf = (uint32_t)postings->list[i] & 255;

			/* A collision of hashes, or an identifier in two ways. */
			if (row.count && document == before)
				continue;
			put_varint(lists, (document - before) << 3 |
						  ((tf < TF_MOST ? tf : TF_MOST) - 1));
			before = document;
			row.count++;
		}
		fw_buf_put(terms, (const char *)&row, sizeof row);
	}
}

void fw_semantic_postings_clear(struct fw_semantic_postings *postings)
{
	fw__release(postings->list);
	*postings = (struct fw_semantic_postings){ .list = NULL };
}
