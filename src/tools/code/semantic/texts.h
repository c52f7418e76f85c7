/*
 * texts.h - short texts in little memory: paths, names and subjects, each readable by itself.
 *
 * A table has up to 254 sequences of up to eight bytes that are frequent in the texts; a
 * text is the numbers of its sequences, one byte each, and a NUL. Bytes that are in no sequence
 * follow an escape. It is the method of FSST (Boncz, Neumann, Leis 2020), without
 * its speed.
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_TEXTS_H
#define FW_TOOLS_CODE_SEMANTIC_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { FW_SEMANTIC_SEQUENCE_BYTES = 8, FW_SEMANTIC_SEQUENCES = 255 };

struct fw_semantic_sequence {
	unsigned char len; /* 0: unused */
	char text[FW_SEMANTIC_SEQUENCE_BYTES];
};

/* The sequence of code i is list[i]; code 0 ends a text. */
struct fw_semantic_text_table {
	struct fw_semantic_sequence list[FW_SEMANTIC_SEQUENCES];
};

/* Chooses the sequences for `sample`, texts with a NUL behind each. False: out of memory. */
bool fw_semantic_texts_train(struct fw_semantic_text_table *table, const char *sample,
			     size_t len);

/* What writing needs: the sequences by their first byte, the longest first. */
struct fw_semantic_text_writer {
	const struct fw_semantic_text_table *table;
	unsigned char codes[FW_SEMANTIC_SEQUENCES];
	unsigned char first[257]; /* in `codes`, by first byte */
};
void fw_semantic_texts_init(struct fw_semantic_text_writer *writer,
			    const struct fw_semantic_text_table *table);
/* Appends a text, which has no NUL, and the NUL behind it. */
void fw_semantic_texts_put(const struct fw_semantic_text_writer *writer, const char *text,
			   size_t len, struct fw_buf *out);

/* Reads a text that ends at its NUL, or at `end`; cut if it is longer than `size` - 1. Returns
 * the length of what is in `ret_text`. */
size_t fw_semantic_texts_get(const struct fw_semantic_text_table *table, const char *at,
			     const char *end, char *ret_text, size_t size);

#endif
