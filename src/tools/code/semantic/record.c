/*
 * record.c - see record.h.
 *
 * Layout, in the byte order of the machine: version, number of chunks; for each chunk its two
 * lines, its length, the lengths of the symbol and of the list of terms, the symbol, the
 * terms: hash, and the two counts in four bits each.
 */
#include "tools/code/semantic/record.h"

#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "tools/code/semantic/token.h"

enum {
	TABLE = 32 * 1024, /* places: more than a chunk can have terms */
	TERMS_MAX = 3 * FW_SEMANTIC_CHUNK_BYTES,
	HEAD = 16,
	LISTED_MAX = 8000
};

static bool prepare(struct fw_semantic_maker *maker)
{
	if (maker->table)
		return true;
	maker->terms = fw__allocate(TERMS_MAX * sizeof *maker->terms);
	maker->used = fw__allocate(TABLE * sizeof *maker->used);
	maker->table = fw__allocate(TABLE * sizeof *maker->table);
	if (!maker->terms || !maker->used || !maker->table)
		return false;
	fw__zero(maker->table, TABLE * sizeof *maker->table);
	return true;
}

void fw_semantic_maker_clear(struct fw_semantic_maker *maker)
{
	fw_outline_clear(&maker->outline);
	fw__release(maker->terms);
	fw__release(maker->used);
	fw__release(maker->table);
	*maker = (struct fw_semantic_maker){ .terms = NULL };
}

static void count(struct fw_semantic_maker *maker, uint32_t hash, bool is_symbol)
{
	uint32_t at = hash & (TABLE - 1);
	struct fw_semantic_posting *place;

	for (;; at = (at + 1) & (TABLE - 1)) {
		place = &maker->table[at];
		if (!place->tf && !place->symbol_tf)
			break;
		if (place->hash == hash)
			goto found;
	}
	if (maker->used_count == LISTED_MAX)
		return;
	maker->used[maker->used_count++] = at;
	place->hash = hash;
found:
	if (is_symbol)
		place->symbol_tf =
			(uint8_t)(place->symbol_tf + (place->symbol_tf < FW_SEMANTIC_TF_MAX));
	else
		place->tf = (uint8_t)(place->tf + (place->tf < FW_SEMANTIC_TF_MAX));
}

struct piece {
	const char *text;
	size_t len;
	uint32_t start_line;
	uint32_t end_line;
	size_t first_symbol; /* the first that begins in it */
	size_t end_symbol;
	const struct fw_outline_symbol *around;
};

static void put_u32(struct fw_buf *out, uint32_t value)
{
	fw_buf_put(out, (const char *)&value, sizeof value);
}

static void put_u16(struct fw_buf *out, size_t value)
{
	uint16_t small = (uint16_t)value;

	fw_buf_put(out, (const char *)&small, sizeof small);
}

static void put_terms(struct fw_semantic_maker *maker, struct fw_buf *out)
{
	if (!fw_buf_reserve(out, 5 * maker->used_count))
		return;
	for (size_t i = 0; i < maker->used_count; i++) {
		struct fw_semantic_posting *place = &maker->table[maker->used[i]];
		char *at = out->text + out->len;

		memcpy(at, &place->hash, 4);
		at[4] = (char)(place->tf | place->symbol_tf << 4);
		out->len += 5;
		place->tf = place->symbol_tf = 0;
	}
}

static void put_chunk(struct fw_semantic_maker *maker, const struct piece *piece,
		      struct fw_buf *out)
{
	const struct fw_outline_symbol *shown = piece->around;
	size_t length, symbol_len = 0;

	maker->used_count = 0;
	length = fw_semantic_terms(piece->text, piece->len, maker->terms);
	for (size_t i = 0; i < length; i++)
		count(maker, maker->terms[i], false);
	for (size_t i = piece->first_symbol; i < piece->end_symbol; i++) {
		const struct fw_outline_symbol *symbol = &maker->outline.list[i];
		size_t n = symbol->name_len < FW_SEMANTIC_SYMBOL_BYTES
				   ? symbol->name_len
				   : FW_SEMANTIC_SYMBOL_BYTES;
		size_t terms = fw_semantic_terms(symbol->name, n, maker->terms);

		if (i == piece->first_symbol)
			shown = symbol;
		for (size_t j = 0; j < terms; j++)
			count(maker, maker->terms[j], true);
	}
	if (shown)
		symbol_len =
			fw_utf8_cut(shown->name, shown->name_len, FW_SEMANTIC_SYMBOL_BYTES);
	put_u32(out, piece->start_line);
	put_u32(out, piece->end_line);
	put_u32(out, (uint32_t)length);
	put_u16(out, symbol_len);
	put_u16(out, maker->used_count);
	if (symbol_len)
		fw_buf_put(out, shown->name, symbol_len);
	put_terms(maker, out);
}

/* ---- cutting ---- */

struct cutting {
	struct fw_semantic_maker *maker;
	struct fw_buf *out;
	struct piece piece;
	size_t next_symbol;
	uint32_t chunks;
};

static void cut(struct cutting *c, const char *end, uint32_t last_line)
{
	struct piece *piece = &c->piece;
	const struct fw_outline *outline = &c->maker->outline;

	piece->len = (size_t)(end - piece->text);
	piece->end_line = last_line;
	piece->end_symbol = c->next_symbol;
	if (piece->len > FW_SEMANTIC_CHUNK_BYTES)
		piece->len = FW_SEMANTIC_CHUNK_BYTES;
	put_chunk(c->maker, piece, c->out);
	c->chunks++;
	piece->text = end;
	piece->start_line = last_line + 1;
	piece->first_symbol = c->next_symbol;
	piece->around = NULL;
	/* The innermost definition that goes on. */
	for (size_t i = c->next_symbol; i-- > 0 && c->next_symbol - i < 64;)
		if (outline->list[i].end_line > last_line) {
			piece->around = &outline->list[i];
			break;
		}
}

/* Called before line `number`, which is at `line` and ends at `end`. */
static void consider(struct cutting *c, const char *line, const char *end, uint32_t number)
{
	const struct fw_outline *outline = &c->maker->outline;
	uint32_t lines = number - c->piece.start_line;
	bool is_start = false;

	if (lines &&
	    (lines >= FW_SEMANTIC_CHUNK_LINES || end - c->piece.text > FW_SEMANTIC_CHUNK_BYTES))
		cut(c, line, number - 1);
	else if (lines >= FW_SEMANTIC_CHUNK_MIN && c->next_symbol < outline->count &&
		 outline->list[c->next_symbol].start_line == number)
		is_start = true;
	if (is_start)
		cut(c, line, number - 1);
	while (c->next_symbol < outline->count &&
	       outline->list[c->next_symbol].start_line <= number)
		c->next_symbol++;
}

bool fw_semantic_record_make(struct fw_semantic_maker *maker, enum fw_outline_language language,
			     const char *text, size_t len, struct fw_buf *out)
{
	struct cutting c = { .maker = maker, .out = out };
	const char *stop = text + len;
	size_t at = out->len;
	uint32_t number = 0;

	if (!prepare(maker))
		return false;
	fw_outline_read(&maker->outline, language, text, len);
	c.piece.text = text;
	c.piece.start_line = 1;
	put_u32(out, FW_SEMANTIC_RECORD_VERSION);
	put_u32(out, 0);
	while (text < stop) {
		const char *end = memchr(text, '\n', (size_t)(stop - text));

		end = end ? end + 1 : stop;
		consider(&c, text, end, ++number);
		text = end;
	}
	if (c.piece.text < stop)
		cut(&c, stop, number);
	if (out->state == FW_BUF_OK)
		memcpy(out->text + at + 4, &c.chunks, sizeof c.chunks);
	return out->state == FW_BUF_OK;
}

/* ---- reading ---- */

static uint32_t take_u32(struct fw_semantic_reader *reader)
{
	uint32_t value;

	memcpy(&value, reader->at, sizeof value);
	reader->at += sizeof value;
	return value;
}

static uint16_t take_u16(struct fw_semantic_reader *reader)
{
	uint16_t value;

	memcpy(&value, reader->at, sizeof value);
	reader->at += sizeof value;
	return value;
}

void fw_semantic_reader_init(struct fw_semantic_reader *reader, const void *bytes, size_t len)
{
	*reader = (struct fw_semantic_reader){ .at = bytes };
	if (len < 8) {
		reader->is_broken = true;
		return;
	}
	reader->end = reader->at + len;
	reader->is_broken = take_u32(reader) != FW_SEMANTIC_RECORD_VERSION;
	reader->chunks = take_u32(reader);
}

bool fw_semantic_reader_next(struct fw_semantic_reader *reader,
			     struct fw_semantic_chunk *ret_chunk)
{
	if (reader->is_broken || !reader->chunks)
		return false;
	if (reader->end - reader->at < HEAD)
		goto broken;
	ret_chunk->start_line = take_u32(reader);
	ret_chunk->end_line = take_u32(reader);
	ret_chunk->length = take_u32(reader);
	ret_chunk->symbol_len = take_u16(reader);
	ret_chunk->term_count = take_u16(reader);
	if ((size_t)(reader->end - reader->at) <
		    ret_chunk->symbol_len + 5 * (size_t)ret_chunk->term_count ||
	    ret_chunk->start_line > ret_chunk->end_line)
		goto broken;
	ret_chunk->symbol = (const char *)reader->at;
	ret_chunk->terms = reader->at + ret_chunk->symbol_len;
	reader->at = ret_chunk->terms + 5 * (size_t)ret_chunk->term_count;
	reader->chunks--;
	return true;
broken:
	reader->is_broken = true;
	return false;
}
