/*
 * space.c - see space.h.
 *
 * The terms of the basis are those in the most chunks, without those in almost all of them: rare
 * terms are what the lists of documents find anyway.
 */
#include "tools/code/semantic/space.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tools/code/semantic/limits.h"
#include "tools/code/semantic/lsa.h"
#include "tools/code/semantic/record.h"
#include "tools/code/semantic/snapshot_format.h"
#include "tools/code/semantic/vector.h"
#include "tools/common/crew.h"

#include <faultwire/raise.h>

enum { DF_MIN = 3, TERMS_MIN = 48, SHARES = 128, CHUNK_TERMS = 8192, SLOTS = 1 << 14 };

_Static_assert(2 * FW_SEMANTIC_LIMIT_COLUMNS < SLOTS, "the table must not be full");

size_t fw_semantic_basis_find(const struct fw_semantic_basis_row *terms, size_t count,
			      uint32_t key)
{
	size_t from = 0, to = count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (terms[middle].key == key)
			return middle;
		if (terms[middle].key < key)
			from = middle + 1;
		else
			to = middle;
	}
	return SIZE_MAX;
}

float fw_semantic_basis_weight(const struct fw_semantic_basis_row *row, unsigned tf)
{
	static const float logs[16] = { 0,      1,      1.585F, 2,      2.322F, 2.585F,
					2.807F, 3,      3.17F,  3.322F, 3.459F, 3.585F,
					3.7F,   3.807F, 3.907F, 4 };

	return row->weight * logs[tf < 16 ? tf : 15];
}

/* ---- terms ---- */

struct counted {
	uint32_t key;
	uint32_t df;
};

static int by_count(const void *a, const void *b)
{
	const struct counted *left = a, *right = b;

	if (left->df != right->df)
		return left->df > right->df ? -1 : 1;
	return left->key < right->key ? -1 : left->key > right->key;
}

static int by_key(const void *a, const void *b)
{
	const struct counted *left = a, *right = b;

	return left->key < right->key ? -1 : left->key > right->key;
}

static size_t count_terms(const struct fw_semantic_postings *body, struct counted *ret_counted,
			  size_t chunks)
{
	size_t count = 0;

	for (size_t i = 0; i < body->count;) {
		size_t start = i;
		uint32_t key = (uint32_t)(body->list[i] >> FW_SEMANTIC_KEY_SHIFT);

		while (i < body->count &&
		       (uint32_t)(body->list[i] >> FW_SEMANTIC_KEY_SHIFT) == key)
			i++;
		if (i - start < DF_MIN || (i - start) * 5 > chunks)
			continue;
		if (ret_counted)
			ret_counted[count] = (struct counted){ key, (uint32_t)(i - start) };
		count++;
	}
	return count;
}

static fw_error *choose_terms(struct fw_semantic_space *space,
			      const struct fw_semantic_spacing *how)
{
	size_t chunks = how->corpus->chunk_count;
	size_t count = count_terms(how->body, NULL, chunks);
	/* The basis of a small repository must be small. */
	size_t most = chunks / 4 + TERMS_MIN;
	struct counted *counted = fw__allocate((count + 1) * sizeof *counted);

	if (!counted)
		return fw_raise_internal_out_of_memory();
	(void)count_terms(how->body, counted, chunks);
	qsort(counted, count, sizeof *counted, by_count);
	if (most > FW_SEMANTIC_LIMIT_COLUMNS)
		most = FW_SEMANTIC_LIMIT_COLUMNS;
	if (count > most)
		count = most;
	qsort(counted, count, sizeof *counted, by_key);
	space->terms = fw__allocate((count + 1) * sizeof *space->terms);
	if (!space->terms) {
		fw__release(counted);
		return fw_raise_internal_out_of_memory();
	}
	for (size_t i = 0; i < count; i++)
		space->terms[i] = (struct fw_semantic_basis_row){
			counted[i].key, logf((float)chunks / (float)counted[i].df)
		};
	space->term_count = count;
	fw__release(counted);
	return NULL;
}

/* ---- the matrix ---- */

struct rows {
	size_t *start;
	uint32_t *column;
	float *value;
	size_t count, used, cap;
};

/* Every term of every chunk is looked up, and most are not in the basis: the search by halves
 * of a query would take half of the time. */
static fw_error *index_terms(struct fw_semantic_space *space)
{
	if (space->slots || !space->term_count)
		return NULL;
	space->slots = fw__allocate(SLOTS * sizeof *space->slots);
	if (!space->slots)
		return fw_raise_internal_out_of_memory();
	fw__zero(space->slots, SLOTS * sizeof *space->slots);
	for (size_t i = 0; i < space->term_count; i++) {
		uint32_t at = space->terms[i].key & (SLOTS - 1);

		while (space->slots[at])
			at = (at + 1) & (SLOTS - 1);
		space->slots[at] = (uint16_t)(i + 1);
	}
	return NULL;
}

static inline size_t find_term(const struct fw_semantic_space *space, uint32_t key)
{
	for (uint32_t at = key & (SLOTS - 1); space->slots[at]; at = (at + 1) & (SLOTS - 1))
		if (space->terms[space->slots[at] - 1].key == key)
			return space->slots[at] - 1u;
	return SIZE_MAX;
}

/* The terms of a chunk that the basis has, with weights of length 1 together. */
static size_t weigh(const struct fw_semantic_space *space,
		    const struct fw_semantic_chunk *chunk, uint32_t *ret_columns,
		    float *ret_values)
{
	size_t used = 0;
	float square = 0;

	for (size_t i = 0; i < chunk->term_count && used < CHUNK_TERMS; i++) {
		struct fw_semantic_posting posting = fw_semantic_chunk_term(chunk, i);
		size_t at =
			posting.tf ? find_term(space, fw_semantic_key(posting.hash)) : SIZE_MAX;

		if (at == SIZE_MAX)
			continue;
		ret_columns[used] = (uint32_t)at;
		ret_values[used] = fw_semantic_basis_weight(&space->terms[at], posting.tf);
		square += ret_values[used] * ret_values[used];
		used++;
	}
	for (size_t i = 0; i < used && square > 0; i++)
		ret_values[i] /= sqrtf(square);
	return used;
}

static bool add_row(struct rows *rows, const struct fw_semantic_space *space,
		    const struct fw_semantic_chunk *chunk)
{
	if (rows->used + CHUNK_TERMS > rows->cap) {
		size_t cap = 2 * rows->cap + CHUNK_TERMS;
		uint32_t *column = fw__reallocate(rows->column, cap * sizeof *column);
		float *value;

		if (!column)
			return false;
		rows->column = column;
		value = fw__reallocate(rows->value, cap * sizeof *value);
		if (!value)
			return false;
		rows->value = value;
		rows->cap = cap;
	}
	rows->used += weigh(space, chunk, rows->column + rows->used, rows->value + rows->used);
	rows->start[++rows->count] = rows->used;
	return true;
}

/* One chunk in `step` is a row. */
static bool add_rows(struct rows *rows, const struct fw_semantic_space *space,
		     const struct fw_semantic_corpus *corpus)
{
	size_t step = corpus->chunk_count / FW_SEMANTIC_LIMIT_ROWS + 1, number = 0;

	rows->start = fw__allocate((corpus->chunk_count / step + 2) * sizeof *rows->start);
	if (!rows->start)
		return false;
	rows->start[0] = 0;
	for (size_t i = 0; i < corpus->source_count; i++) {
		struct fw_semantic_reader reader;
		struct fw_semantic_chunk chunk;

		if (!corpus->sources[i].record_len)
			continue;
		fw_semantic_reader_init(&reader,
					corpus->records.text + corpus->sources[i].record,
					corpus->sources[i].record_len);
		while (fw_semantic_reader_next(&reader, &chunk))
			if (number++ % step == 0 && !add_row(rows, space, &chunk))
				return false;
	}
	return true;
}

/* ---- the basis ---- */

static fw_error *pack_basis(struct fw_semantic_space *space, float *basis)
{
	space->basis = fw__allocate(space->term_count * space->dims);
	space->basis_scales = fw__allocate(space->term_count * sizeof *space->basis_scales);
	if (!space->basis || !space->basis_scales)
		return fw_raise_internal_out_of_memory();
	for (size_t i = 0; i < space->term_count; i++) {
		float *row = basis + i * space->dims;
		float square = 0;

		for (size_t j = 0; j < space->dims; j++)
			square += row[j] * row[j];
		/* Its length counts, unlike that of a chunk's vector. */
		space->basis_scales[i] =
			fw_semantic_pack(row, space->dims, space->basis + i * space->dims) *
			sqrtf(square);
	}
	return NULL;
}

static fw_error *train(struct fw_semantic_space *space, const struct fw_semantic_spacing *how,
		       struct rows *rows)
{
	struct fw_semantic_matrix matrix;
	fw_error *err;
	float *basis;

	if (!add_rows(rows, space, how->corpus))
		return fw_raise_internal_out_of_memory();
	space->dims = FW_SEMANTIC_LSA_DIMS;
	if (space->dims > rows->count / 2)
		space->dims = rows->count / 2;
	if (space->dims > space->term_count / 2)
		space->dims = space->term_count / 2;
	if (!space->dims)
		return NULL;
	basis = fw__allocate(space->term_count * space->dims * sizeof *basis);
	if (!basis)
		return fw_raise_internal_out_of_memory();
	matrix = (struct fw_semantic_matrix){ rows->count, space->term_count, rows->start,
					      rows->column, rows->value };
	err = fw_semantic_lsa(&matrix, space->dims, how->threads, how->is_cancelled, how->ctx,
			      basis);
	if (!err)
		err = pack_basis(space, basis);
	fw__release(basis);
	return err;
}

fw_error *fw_semantic_space_train(struct fw_semantic_space *space,
				  const struct fw_semantic_spacing *how)
{
	struct rows rows = { .start = NULL };
	fw_error *err;

	FW_TRY(choose_terms(space, how));
	if (space->term_count < TERMS_MIN) {
		space->term_count = 0;
		return NULL;
	}
	err = index_terms(space);
	if (!err)
		err = train(space, how, &rows);
	fw__release(rows.start);
	fw__release(rows.column);
	fw__release(rows.value);
	return err;
}

/* ---- chunks ---- */

struct placing {
	struct fw_semantic_space *space;
	const struct fw_semantic_spacing *how;
	float *unpacked; /* the basis */
	size_t *first;   /* chunk of each source */
};

static fw_error *place(void *ctx, unsigned thread, size_t item)
{
	const struct placing *p = ctx;
	const struct fw_semantic_corpus *corpus = p->how->corpus;
	struct fw_semantic_space *space = p->space;
	size_t to = corpus->source_count * (item + 1) / SHARES;
	uint32_t *columns = fw__allocate(CHUNK_TERMS * sizeof *columns);
	float *values = fw__allocate(CHUNK_TERMS * sizeof *values);
	float sum[FW_SEMANTIC_LSA_DIMS];
	fw_error *err = NULL;

	(void)thread;
	for (size_t i = corpus->source_count * item / SHARES; columns && values && i < to;
	     i++) {
		struct fw_semantic_reader reader = { .chunks = 0 };
		struct fw_semantic_chunk chunk;
		size_t at = p->first[i];

		if (corpus->sources[i].record_len)
			fw_semantic_reader_init(
				&reader, corpus->records.text + corpus->sources[i].record,
				corpus->sources[i].record_len);
		for (; fw_semantic_reader_next(&reader, &chunk); at++) {
			size_t used = weigh(space, &chunk, columns, values);

			memset(sum, 0, sizeof sum);
			for (size_t j = 0; j < used; j++)
				fw_semantic_axpy(sum, p->unpacked + columns[j] * space->dims,
						 values[j], space->dims);
			(void)fw_semantic_pack(sum, space->dims,
					       space->vectors + at * space->dims);
		}
	}
	if (!columns || !values)
		err = fw_raise_internal_out_of_memory();
	fw__release(columns);
	fw__release(values);
	return err;
}

static void number_chunks(const struct fw_semantic_corpus *corpus, size_t *first)
{
	size_t at = 0;

	for (size_t i = 0; i < corpus->source_count; i++) {
		struct fw_semantic_reader reader = { .chunks = 0 };

		first[i] = at;
		if (corpus->sources[i].record_len)
			fw_semantic_reader_init(
				&reader, corpus->records.text + corpus->sources[i].record,
				corpus->sources[i].record_len);
		at += reader.chunks;
	}
}

fw_error *fw_semantic_space_place(struct fw_semantic_space *space,
				  const struct fw_semantic_spacing *how)
{
	struct placing p = { .space = space, .how = how };
	const struct fw_crew crew = { place, &p, SHARES, how->threads };
	size_t chunks = how->corpus->chunk_count;
	fw_error *err;

	if (!space->dims)
		return NULL;
	FW_TRY(index_terms(space));
	space->vectors = fw__allocate(chunks * space->dims + 1);
	p.unpacked = fw__allocate(space->term_count * space->dims * sizeof *p.unpacked);
	p.first = fw__allocate((how->corpus->source_count + 1) * sizeof *p.first);
	if (space->vectors && p.unpacked && p.first) {
		for (size_t i = 0; i < space->term_count * space->dims; i++)
			p.unpacked[i] =
				(float)space->basis[i] * space->basis_scales[i / space->dims];
		number_chunks(how->corpus, p.first);
		err = fw_crew_run(&crew);
	} else {
		err = fw_raise_internal_out_of_memory();
	}
	fw__release(p.unpacked);
	fw__release(p.first);
	return err;
}

void fw_semantic_space_clear(struct fw_semantic_space *space)
{
	fw__release(space->terms);
	fw__release(space->slots);
	fw__release(space->basis);
	fw__release(space->basis_scales);
	fw__release(space->vectors);
	*space = (struct fw_semantic_space){ .dims = 0 };
}
