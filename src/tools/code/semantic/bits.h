/*
 * bits.h - lists of documents as bits: the postings of an index, in little memory.
 *
 * A list is coded by halves (binary interpolative coding): the document in the middle first, as
 * a number between the smallest and the largest that it can be, then the two halves between
 * narrower borders. Documents that are near each other, as the chunks of one file are, take few
 * bits, and a run of neighbours none at all. Behind the documents come their counts, in
 * four classes.
 *
 * The one rule to remember: what is read lies between the borders by construction, so a list
 * of damaged bytes is wrong but never out of range.
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_BITS_H
#define FW_TOOLS_CODE_SEMANTIC_BITS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "tools/code/bits.h"

struct fw_semantic_bit_writer {
	struct fw_buf *out; /* the caller checks its state */
	uint64_t held;
	unsigned count; /* of bits in `held` */
};

/* `width` is at most 32; the lowest bits of `value` are written. */
void fw_semantic_bits_put(struct fw_semantic_bit_writer *writer, uint32_t value,
			  unsigned width);
/* A number from 1; small ones are short. */
void fw_semantic_bits_put_number(struct fw_semantic_bit_writer *writer, uint32_t value);
/* Fills up the last byte with zeros. */
void fw_semantic_bits_end(struct fw_semantic_bit_writer *writer);

void fw_semantic_bits_init(struct fw_code_bits *reader, const unsigned char *bytes, size_t len);
static inline size_t fw_semantic_bits_left(const struct fw_code_bits *reader)
{
	return 8 * (size_t)(reader->end - reader->at) + reader->count;
}
/* Bits behind the end are zeros. */
uint32_t fw_semantic_bits_take(struct fw_code_bits *reader, unsigned width);
/* 0: it is larger than 32 bits, so the bytes are damaged. */
uint32_t fw_semantic_bits_take_number(struct fw_code_bits *reader);

/* How often a term is in a document: 1, 2, 3 or 4, more. */
enum { FW_SEMANTIC_TF_CLASSES = 4 };
extern const float fw_semantic_tf_of[FW_SEMANTIC_TF_CLASSES];
uint8_t fw_semantic_tf_class(uint32_t tf);

/* `list` ascends and is below `documents`; `classes` are those of fw_semantic_tf_class(). */
void fw_semantic_list_put(struct fw_semantic_bit_writer *writer, const uint32_t *list,
			  const uint8_t *classes, size_t count, uint32_t documents);
/* `count` must not be above `documents`. */
void fw_semantic_list_take(struct fw_code_bits *reader, size_t count, uint32_t documents,
			   uint32_t *ret_list, uint8_t *ret_classes);

#endif
