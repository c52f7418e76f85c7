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

/* Eight bytes, the first lowest on every machine: the generator may run on another one. */
static inline uint64_t fw_index_word(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;

	return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 |
	       (uint64_t)p[3] << 24 | (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 |
	       (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}

/* Eight bytes at a time, the last eight of which may overlap: codes are short, and tables
 * are at most half full. */
static inline uint32_t fw_index_hash(const char *text, size_t len)
{
	const uint64_t mix = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t hash = len;

	if (len < 8) {
		for (size_t i = 0; i < len; i++)
			hash = hash << 8 | (unsigned char)text[i];
		return (uint32_t)(hash * mix >> 32);
	}
	for (size_t i = 0; i + 8 < len; i += 8)
		hash = (hash ^ fw_index_word(text + i)) * mix;
	hash = ((hash ^ hash >> 32) ^ fw_index_word(text + len - 8)) * mix;
	return (uint32_t)(hash >> 32);
}

#endif
