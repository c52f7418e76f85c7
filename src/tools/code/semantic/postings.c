/*
 * postings.c - see postings.h.
 */
#include "tools/code/semantic/postings.h"

#include <string.h>

#include "base/mem.h"
#include "tools/code/semantic/bits.h"
#include "tools/code/semantic/snapshot_format.h"

enum { COUNT_MOST = 255, DIGIT_BITS = 10, DIGITS = 1 << DIGIT_BITS };

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
		(uint64_t)fw_semantic_key(hash) << FW_SEMANTIC_KEY_SHIFT |
		document << FW_SEMANTIC_COUNT_BITS | (tf < COUNT_MOST ? tf : COUNT_MOST);
	return true;
}

/* Radix sort by the key, 10 bits at a time: stable, and documents are in order already. */
bool fw_semantic_postings_sort(struct fw_semantic_postings *postings)
{
	size_t size = (postings->count ? postings->count : 1) * sizeof(uint64_t);
	uint64_t *from = postings->list, *to = fw__allocate(size);
	size_t counts[DIGITS];

	if (!to)
		return false;
	for (unsigned shift = FW_SEMANTIC_KEY_SHIFT;
	     shift < FW_SEMANTIC_KEY_SHIFT + FW_SEMANTIC_KEY_BITS; shift += DIGIT_BITS) {
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

static uint32_t key_of(const struct fw_semantic_postings *postings, size_t number)
{
	return (uint32_t)(postings->list[number] >> FW_SEMANTIC_KEY_SHIFT);
}

/* How many bits of a key choose the bucket. */
static unsigned choose_bits(const struct fw_semantic_postings *postings)
{
	size_t terms = 0;
	unsigned bits = 0;

	for (size_t i = 0; i < postings->count; i++)
		terms += !i || key_of(postings, i) != key_of(postings, i - 1);
	while (bits < FW_SEMANTIC_KEY_BITS - 8 && terms >> bits > FW_SEMANTIC_BUCKET_TERMS)
		bits++;
	return bits;
}

struct writing {
	const struct fw_semantic_postings *postings;
	uint32_t documents;
	unsigned rest; /* bits of a key within its bucket */
	struct fw_semantic_bit_writer bits;
	uint32_t *list;
	uint8_t *classes;
};

/* Writes one term; returns where the next one begins. */
static size_t put_term(struct writing *w, size_t at)
{
	uint32_t key = key_of(w->postings, at);
	size_t count = 0;

	for (; at < w->postings->count && key_of(w->postings, at) == key; at++) {
		uint32_t posting = (uint32_t)w->postings->list[at];
		uint32_t document = posting >> FW_SEMANTIC_COUNT_BITS;

		/* Two terms with one key, or an identifier in two ways. */
		if (count && document == w->list[count - 1])
			continue;
		w->list[count] = document;
		w->classes[count++] = fw_semantic_tf_class(posting & COUNT_MOST);
	}
	fw_semantic_bits_put(&w->bits, key, w->rest);
	fw_semantic_bits_put_number(&w->bits, (uint32_t)count);
	fw_semantic_list_put(&w->bits, w->list, w->classes, count, w->documents);
	return at;
}

static void put_buckets(struct writing *w, struct fw_buf *buckets)
{
	struct fw_buf *lists = w->bits.out;
	uint32_t count = (uint32_t)1 << (FW_SEMANTIC_KEY_BITS - w->rest);
	uint32_t start = 0;
	size_t at = 0;

	for (uint32_t i = 0; i < count; i++) {
		fw_buf_put(buckets, (const char *)&start, sizeof start);
		while (at < w->postings->count && key_of(w->postings, at) >> w->rest == i)
			at = put_term(w, at);
		fw_semantic_bits_end(&w->bits);
		start = (uint32_t)lists->len;
	}
	fw_buf_put(buckets, (const char *)&start, sizeof start);
}

bool fw_semantic_postings_write(const struct fw_semantic_postings *postings, uint32_t documents,
				struct fw_buf *buckets, struct fw_buf *lists)
{
	struct writing w = { .postings = postings, .documents = documents };

	w.rest = FW_SEMANTIC_KEY_BITS - choose_bits(postings);
	w.bits.out = lists;
	w.list = fw__allocate((documents + (size_t)1) * sizeof *w.list);
	w.classes = fw__allocate(documents + (size_t)1);
	if (w.list && w.classes)
		put_buckets(&w, buckets);
	fw__release(w.list);
	fw__release(w.classes);
	return w.list && w.classes;
}

void fw_semantic_postings_clear(struct fw_semantic_postings *postings)
{
	fw__release(postings->list);
	*postings = (struct fw_semantic_postings){ .list = NULL };
}
