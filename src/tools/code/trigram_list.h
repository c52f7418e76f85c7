/*
 * trigram_list.h - a list of ascending numbers as bits: the files that contain a trigram.
 *
 * The format is Rice coding. Each number is stored as its difference to the smallest
 * possible number: the bits above a certain width in unary (that many zeros and a one),
 * then the bits below it. The first five bits of a list are its width, which is chosen to
 * make the list shortest. With a width of 0 the list is a bitmap, and a number can be
 * looked up without decoding. That is the shortest form if more than every second number
 * is in the list.
 *
 * The one rule to remember: even if the bytes of a list are damaged, the numbers that are
 * read ascend, and nothing outside of the list is read.
 */
#ifndef FW_TOOLS_CODE_TRIGRAM_LIST_H
#define FW_TOOLS_CODE_TRIGRAM_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/code/bits.h"

enum { FW_TRIGRAM_WIDTH_BITS = 5 };

/* The largest size of a list in bytes. */
#define FW_TRIGRAM_LIST_ROOM(count) (5 * (count) + 2)

/* Writes the list. Returns its size in bytes, 0 if `count` is 0. */
size_t fw_trigram__put(unsigned char *to, const uint32_t *files, size_t count);

/* A list in the postings. */
struct fw_trigram_span {
	const unsigned char *bytes;
	size_t len;
};

/* A list that is being read. */
struct fw_trigram_list {
	struct fw_code_bits bits;
	unsigned width;
	uint32_t mask; /* `width` ones */
	uint64_t next; /* the smallest number that can follow */
};

static inline void fw_trigram__begin(struct fw_trigram_list *list, struct fw_trigram_span span)
{
	*list = (struct fw_trigram_list){ .bits = { span.bytes, span.bytes + span.len, 0, 0 } };
	fw_code_bits_fill(&list->bits);
	if (!list->bits.count)
		return;
	list->width = (unsigned)list->bits.held & ((1u << FW_TRIGRAM_WIDTH_BITS) - 1);
	list->mask = (UINT32_C(1) << list->width) - 1;
	list->bits.held >>= FW_TRIGRAM_WIDTH_BITS;
	list->bits.count -= FW_TRIGRAM_WIDTH_BITS;
}

/* Reads the next number. False: the end. */
static inline bool fw_trigram__next(struct fw_trigram_list *list, uint32_t *ret_file)
{
	uint64_t high = 0;
	unsigned zeros;

	while (!list->bits.held ||
	       (zeros = (unsigned)__builtin_ctzll(list->bits.held)) >= list->bits.count) {
		high += list->bits.count;
		list->bits.held = 0;
		list->bits.count = 0;
		if (list->bits.at == list->bits.end || high > UINT32_MAX)
			return false;
		fw_code_bits_fill(&list->bits);
	}
	list->bits.held = list->bits.held >> zeros >> 1;
	list->bits.count -= zeros + 1;
	if (list->bits.count < list->width) {
		fw_code_bits_fill(&list->bits);
		if (list->bits.count < list->width)
			return false;
	}
	list->next += ((high + zeros) << list->width) + (list->bits.held & list->mask);
	list->bits.held >>= list->width;
	list->bits.count -= list->width;
	*ret_file = (uint32_t)list->next;
	return list->next++ < UINT32_MAX;
}

/* True: fw_trigram__has() can be used. */
static inline bool fw_trigram__is_bitmap(struct fw_trigram_span span)
{
	return span.len && !(span.bytes[0] & ((1u << FW_TRIGRAM_WIDTH_BITS) - 1));
}

static inline bool fw_trigram__has(struct fw_trigram_span span, uint32_t file)
{
	uint64_t bit = (uint64_t)file + FW_TRIGRAM_WIDTH_BITS;

	return bit / 8 < span.len && span.bytes[bit / 8] >> (bit % 8) & 1;
}

#endif
