/*
 * texts.c - see texts.h.
 *
 * The table is found in rounds: a sample is coded with the table of the last round, and
 * the sequences that would have covered the most bytes, among those that were used and those that
 * two neighbours make together, are the next table.
 */
#include "tools/code/semantic/texts.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { ESCAPE = 255, ROUNDS = 5, SAMPLE = 128 * 1024, CODES = 256 };

/* ---- writing ---- */

static const struct fw_semantic_sequence *sequence(const struct fw_semantic_text_table *table,
						   size_t code)
{
	return &table->list[code];
}

void fw_semantic_texts_init(struct fw_semantic_text_writer *writer,
			    const struct fw_semantic_text_table *table)
{
	size_t used = 0;

	writer->table = table;
	for (size_t byte = 0; byte < CODES; byte++) {
		writer->first[byte] = (unsigned char)used;
		for (size_t len = FW_SEMANTIC_SEQUENCE_BYTES; len > 0; len--)
			for (size_t code = 1; code < FW_SEMANTIC_SEQUENCES; code++)
				if (sequence(table, code)->len == len &&
				    (unsigned char)sequence(table, code)->text[0] == byte)
					writer->codes[used++] = (unsigned char)code;
	}
	writer->first[CODES] = (unsigned char)used;
}

/* The code of the longest sequence that the text begins with; ESCAPE: none. */
static unsigned char longest(const struct fw_semantic_text_writer *writer, const char *text,
			     size_t len)
{
	size_t byte = (unsigned char)*text;

	for (size_t i = writer->first[byte]; i < writer->first[byte + 1]; i++) {
		const struct fw_semantic_sequence *s =
			sequence(writer->table, writer->codes[i]);

		if (s->len <= len && memcmp(s->text, text, s->len) == 0)
			return writer->codes[i];
	}
	return ESCAPE;
}

void fw_semantic_texts_put(const struct fw_semantic_text_writer *writer, const char *text,
			   size_t len, struct fw_buf *out)
{
	while (len) {
		unsigned char code = longest(writer, text, len);
		size_t step = code == ESCAPE ? 1 : sequence(writer->table, code)->len;

		fw_buf_put(out, (const char *)&code, 1);
		if (code == ESCAPE)
			fw_buf_put(out, text, 1);
		text += step;
		len -= step;
	}
	fw_buf_put(out, "", 1);
}

/* ---- choosing the table ---- */

struct candidate {
	struct fw_semantic_sequence sequence;
	uint32_t gain;
};

struct training {
	uint32_t counts[CODES][CODES]; /* of pairs; those of [0] are of single codes */
	struct candidate *candidates;
};

/* As memcmp() orders them, the shorter first. */
static int compare(const struct fw_semantic_sequence *a, const struct fw_semantic_sequence *b)
{
	int order = memcmp(a->text, b->text, a->len < b->len ? a->len : b->len);

	return order ? order : (int)a->len - (int)b->len;
}

static int by_text(const void *a, const void *b)
{
	return compare(&((const struct candidate *)a)->sequence,
		       &((const struct candidate *)b)->sequence);
}

static int by_gain(const void *a, const void *b)
{
	const struct candidate *left = a, *right = b;

	if (left->gain != right->gain)
		return left->gain > right->gain ? -1 : 1;
	return by_text(a, b);
}

/* Codes the sample and counts which sequences were used, and which two in a row. An
 * escaped byte counts as a sequence of one byte: `single` is the byte. */
static void count(struct training *t, const struct fw_semantic_text_writer *writer,
		  const char *sample, size_t len, uint32_t single[CODES])
{
	unsigned char before = 0;

	while (len) {
		unsigned char code;
		size_t step = 1;

		if (!*sample) {
			before = 0;
			sample++;
			len--;
			continue;
		}
		code = longest(writer, sample, len);
		if (code == ESCAPE) {
			single[(unsigned char)*sample]++;
			before = 0;
		} else {
			step = sequence(writer->table, code)->len;
			t->counts[0][code]++;
			if (before)
				t->counts[before][code]++;
			before = code;
		}
		sample += step;
		len -= step;
	}
}

static size_t collect(struct training *t, const struct fw_semantic_text_table *table,
		      const uint32_t single[CODES])
{
	struct candidate *to = t->candidates;

	for (size_t i = 1; i < CODES; i++)
		if (single[i])
			*to++ = (struct candidate){ { 1, { (char)i } }, 2 * single[i] };
	for (size_t a = 0; a < ESCAPE; a++)
		for (size_t b = 1; b < ESCAPE; b++) {
			struct candidate made = { .gain = 0 };
			size_t first = a ? sequence(table, a)->len : 0;
			size_t len = first + sequence(table, b)->len;

			if (!t->counts[a][b] || len > FW_SEMANTIC_SEQUENCE_BYTES)
				continue;
			if (a)
				memcpy(made.sequence.text, sequence(table, a)->text, first);
			memcpy(made.sequence.text + first, sequence(table, b)->text,
			       len - first);
			made.sequence.len = (unsigned char)len;
			made.gain = t->counts[a][b] * (uint32_t)len;
			*to++ = made;
		}
	return (size_t)(to - t->candidates);
}

/* The same sequence can be made in several ways: their gains together. */
static size_t merge(struct candidate *list, size_t count)
{
	size_t kept = 0;

	qsort(list, count, sizeof *list, by_text);
	for (size_t i = 0; i < count; i++)
		if (kept && compare(&list[kept - 1].sequence, &list[i].sequence) == 0)
			list[kept - 1].gain += list[i].gain;
		else
			list[kept++] = list[i];
	return kept;
}

static void train_once(struct training *t, struct fw_semantic_text_table *table,
		       const char *sample, size_t len)
{
	struct fw_semantic_text_writer writer;
	uint32_t single[CODES] = { 0 };
	size_t found;

	memset(t->counts, 0, sizeof t->counts);
	fw_semantic_texts_init(&writer, table);
	count(t, &writer, sample, len, single);
	found = merge(t->candidates, collect(t, table, single));
	qsort(t->candidates, found, sizeof *t->candidates, by_gain);
	memset(table, 0, sizeof *table);
	for (size_t i = 0; i < found && i + 1 < FW_SEMANTIC_SEQUENCES; i++)
		table->list[i + 1] = t->candidates[i].sequence;
}

bool fw_semantic_texts_train(struct fw_semantic_text_table *table, const char *sample,
			     size_t len)
{
	struct training *t = fw__allocate(sizeof *t);
	/* Parts of the whole, so that every kind of text is in the sample. */
	size_t parts = len / SAMPLE + 1, part = len / parts / 16 + 1, used = 0;
	char *chosen = fw__allocate(len / parts + 16 * part + 1);

	memset(table, 0, sizeof *table);
	if (t)
		t->candidates = fw__allocate((CODES + 1) * CODES * sizeof *t->candidates);
	if (t && t->candidates && chosen) {
		for (size_t at = 0; at < len; at += part * parts) {
			size_t size = len - at < part ? len - at : part;

			memcpy(chosen + used, sample + at, size);
			used += size;
		}
		for (int i = 0; i < ROUNDS; i++)
			train_once(t, table, chosen, used);
	}
	fw__release(chosen);
	if (!t || !t->candidates || !chosen) {
		if (t)
			fw__release(t->candidates);
		fw__release(t);
		return false;
	}
	fw__release(t->candidates);
	fw__release(t);
	return true;
}

/* ---- reading ---- */

size_t fw_semantic_texts_get(const struct fw_semantic_text_table *table, const char *at,
			     const char *end, char *ret_text, size_t size)
{
	size_t used = 0;

	while (at < end && *at && used + 1 < size) {
		unsigned char code = (unsigned char)*at++;
		const struct fw_semantic_sequence *s;
		size_t len;

		if (code == ESCAPE) {
			if (at < end)
				ret_text[used++] = *at++;
			continue;
		}
		s = sequence(table, code);
		len = s->len < FW_SEMANTIC_SEQUENCE_BYTES ? s->len : FW_SEMANTIC_SEQUENCE_BYTES;
		if (len > size - 1 - used)
			len = size - 1 - used;
		memcpy(ret_text + used, s->text, len);
		used += len;
	}
	ret_text[used] = '\0';
	return used;
}
