/*
 * row_index.h - hash tables from the text of a code to its row.
 *
 * Header only, because the generator builds the same tables at build time as a loaded
 * registry builds at run time, and must not link the library.
 *
 * A table has FW_INDEX_SLOTS (generated) slots, or a larger power of two. A slot is a
 * row's position + 1, or 0 if empty. Collisions use linear probing.
 */
#ifndef FW_CORE_ROW_INDEX_H
#define FW_CORE_ROW_INDEX_H

#include <stddef.h>
#include <stdint.h>

/* Which text is the key of a table. */
enum fw_index_key {
	FW_INDEX_CODE,  /* canonical code: every row */
	FW_INDEX_KAIZA, /* the others: rows that read that contract's code */
	FW_INDEX_CONTEXT_V0,
	FW_INDEX_CODEINTEL,
	FW_INDEX_TOOLERROR,
	FW_INDEX_COUNT
};

enum { FW_INDEX_SLOTS = 512 };

/* FNV-1a: codes are short, and tables are at most half full. */
static inline uint32_t fw_index_hash(const char *text, size_t len)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * 16777619u;
	return hash;
}

#endif
