/*
 * row_index.h - from the text of a code to its row, in one probe or two.
 *
 * Header only, because the generator builds the same tables at build time that
 * a loaded registry builds at run time, and must not link the library.
 *
 * A table has FW_INDEX_SLOTS (generated) or any larger power of two of slots;
 * a slot holds a row's position + 1, 0 is empty; linear probing.
 */
#ifndef FW_CORE_ROW_INDEX_H
#define FW_CORE_ROW_INDEX_H

#include <stddef.h>
#include <stdint.h>

/* Which text a table is keyed by. */
enum fw_index_key {
	FW_INDEX_CODE,  /* canonical: every row */
	FW_INDEX_KAIZA, /* the others: the rows that read that contract's code */
	FW_INDEX_CONTEXT_V0,
	FW_INDEX_CODEINTEL,
	FW_INDEX_TOOLERROR,
	FW_INDEX_COUNT
};

enum { FW_INDEX_SLOTS = 512 };

/* FNV-1a: codes are short, and the tables at most half full. */
static inline uint32_t fw_index_hash(const char *text, size_t len)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * 16777619u;
	return hash;
}

#endif
