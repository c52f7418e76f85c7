/*
 * record.h - what the index keeps of a file's content: its chunks, and their terms.
 *
 * A record depends on nothing but the bytes of the file and its language, so it is made once
 * for each content, by any thread, and kept in the database under the content's hash.
 *
 * A chunk begins where a definition begins, unless the one before is too short, and has at most
 * 50 lines.
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_RECORD_H
#define FW_TOOLS_CODE_SEMANTIC_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "tools/code/semantic/outline.h"

enum {
	FW_SEMANTIC_CHUNK_LINES = 50,
	FW_SEMANTIC_CHUNK_MIN = 20,
	FW_SEMANTIC_CHUNK_BYTES = 8 * 1024,
	FW_SEMANTIC_TF_MAX = 15,
	FW_SEMANTIC_SYMBOL_BYTES = 120,
	FW_SEMANTIC_RECORD_BYTES = 64 * 1024 * 1024,
	FW_SEMANTIC_RECORD_VERSION = 1
};

/* A term of a chunk: how often in the text, and in the names that it defines. */
struct fw_semantic_posting {
	uint32_t hash;
	uint8_t tf;
	uint8_t symbol_tf;
};

struct fw_semantic_chunk {
	uint32_t start_line;
	uint32_t end_line;
	uint32_t length; /* terms, with repetitions */
	uint16_t symbol_len;
	uint16_t term_count;
	const char *symbol; /* the first definition that begins in it, else the one around it;
			     * "": none */
	const unsigned char *terms; /* term_count of 5 bytes */
};

/* What a thread needs to make records; zero it, and free it with _clear(). */
struct fw_semantic_maker {
	struct fw_outline outline;
	uint32_t *terms;
	struct fw_semantic_posting *table;
	uint32_t *used; /* places of the table */
	size_t used_count;
};

/* Appends the record of a text to `out`; the caller checks its state. False: out of
 * memory. */
bool fw_semantic_record_make(struct fw_semantic_maker *maker, enum fw_outline_language language,
			     const char *text, size_t len, struct fw_buf *out);
void fw_semantic_maker_clear(struct fw_semantic_maker *maker);

/* Reads a record from one chunk to the next. */
struct fw_semantic_reader {
	const unsigned char *at;
	const unsigned char *end;
	uint32_t chunks; /* that are left */
	bool is_broken;
};
/* Sets is_broken for bytes that are not a record. */
void fw_semantic_reader_init(struct fw_semantic_reader *reader, const void *bytes, size_t len);
/* False at the end, or if the record is broken. */
bool fw_semantic_reader_next(struct fw_semantic_reader *reader,
			     struct fw_semantic_chunk *ret_chunk);

static inline struct fw_semantic_posting fw_semantic_chunk_term(
	const struct fw_semantic_chunk *chunk, size_t index)
{
	const unsigned char *at = chunk->terms + 5 * index;
	struct fw_semantic_posting posting = { .tf = at[4] & 15,
					       .symbol_tf = (uint8_t)(at[4] >> 4) };

	__builtin_memcpy(&posting.hash, at, 4);
	return posting;
}

#endif
