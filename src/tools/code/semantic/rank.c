/*
 * rank.c - see rank.h.
 *
 * Term by term: the lists of documents of all fields are added up in arrays with one number
 * per chunk and per file, so nothing is sorted or merged before the end.
 */
#include "tools/code/semantic/rank.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "tools/code/semantic/rank_impl.h"
#include "tools/code/semantic/space.h"
#include "tools/code/semantic/vector.h"

#include <faultwire/raise.h>

/* Chosen by bench/retrieval on the histories of git, django and prometheus. */
const struct fw_semantic_weights fw_semantic_weights = {
	.file = 1.0F,
	.chunk = 0.3F,
	.vote = 0.8F,
	.dense = 0.2F,
	.path = 5.0F,
	.symbol = 1.0F,
	.history = 1.5F,
};

/* ---- lists of documents ---- */

static float idf_of(size_t documents, size_t with)
{
	return logf(1 + ((float)documents - (float)with + 0.5F) / ((float)with + 0.5F));
}

static float length_norm(float length, double mean, float b)
{
	return 1 - b + b * length / (float)(mean > 0 ? mean : 1);
}

/* The chunks of a term: their own score, and the counts of their files. */
static void add_chunks(struct fw_semantic_ranking *r, uint32_t hash)
{
	const struct fw_semantic_snapshot *s = r->snapshot;
	const struct fw_semantic_term_row *body =
		fw_semantic_snapshot_term(s, FW_SEMANTIC_BODY, hash);
	const struct fw_semantic_term_row *symbol =
		fw_semantic_snapshot_term(s, FW_SEMANTIC_SYMBOL, hash);
	struct fw_semantic_cursor cursor;
	float idf = idf_of(s->chunk_count, body ? body->count : symbol ? symbol->count : 0);

	r->touched_count = 0;
	if (symbol) {
		fw_semantic_cursor_init(&cursor, s, FW_SEMANTIC_SYMBOL, symbol);
		while (fw_semantic_cursor_next(&cursor) && cursor.document < s->chunk_count)
			r->extra[cursor.document] = r->weights->symbol * (float)cursor.tf;
	}
	if (body) {
		fw_semantic_cursor_init(&cursor, s, FW_SEMANTIC_BODY, body);
		while (fw_semantic_cursor_next(&cursor) && cursor.document < s->chunk_count) {
			const struct fw_semantic_chunk_row *chunk = &s->chunks[cursor.document];
			float tf = (float)cursor.tf + r->extra[cursor.document];
			float in = tf / length_norm((float)chunk->length,
						    s->head->mean_length[FW_SEMANTIC_BODY],
						    FW_RANK_CHUNK_B);

			if (r->file_tf[chunk->file] == 0)
				r->touched[r->touched_count++] = chunk->file;
			r->file_tf[chunk->file] += tf;
			r->chunk_score[cursor.document] += idf * in / (in + FW_RANK_K1);
		}
	}
	if (symbol) {
		fw_semantic_cursor_init(&cursor, s, FW_SEMANTIC_SYMBOL, symbol);
		while (fw_semantic_cursor_next(&cursor) && cursor.document < s->chunk_count)
			r->extra[cursor.document] = 0;
	}
	/* Lengths of files: one division for each file, not for each chunk. */
	for (size_t i = 0; i < r->touched_count; i++) {
		uint32_t file = r->touched[i];

		r->file_tf[file] /= length_norm((float)s->files[file].body_length,
						r->mean_file_length, FW_RANK_FILE_B);
	}
}

static void add_files(struct fw_semantic_ranking *r, enum fw_semantic_field field,
		      uint32_t hash, float weight, float b)
{
	const struct fw_semantic_snapshot *s = r->snapshot;
	const struct fw_semantic_term_row *term = fw_semantic_snapshot_term(s, field, hash);
	struct fw_semantic_cursor cursor;

	if (!term || weight <= 0)
		return;
	fw_semantic_cursor_init(&cursor, s, field, term);
	while (fw_semantic_cursor_next(&cursor) && cursor.document < s->file_count) {
		const struct fw_semantic_file_row *file = &s->files[cursor.document];
		float length = (float)(field == FW_SEMANTIC_PATH ? file->path_length
								 : file->history_length);

		if (r->file_tf[cursor.document] == 0)
			r->touched[r->touched_count++] = cursor.document;
		r->file_tf[cursor.document] +=
			weight * (float)cursor.tf /
			length_norm(length, s->head->mean_length[field], b);
	}
}

static void add_term(struct fw_semantic_ranking *r, size_t number)
{
	const struct fw_semantic_snapshot *s = r->snapshot;
	const struct fw_semantic_term *term = &r->query->terms[number];
	float idf;

	add_chunks(r, term->hash);
	add_files(r, FW_SEMANTIC_PATH, term->hash, r->weights->path, FW_RANK_PATH_B);
	add_files(r, FW_SEMANTIC_HISTORY, term->hash, r->weights->history, FW_RANK_HISTORY_B);
	idf = idf_of(s->file_count, r->touched_count);
	r->possible += r->touched_count ? idf : idf_of(s->file_count, 0);
	for (size_t i = 0; i < r->touched_count; i++) {
		uint32_t file = r->touched[i];

		r->file_score[file] += idf * r->file_tf[file] / (r->file_tf[file] + FW_RANK_K1);
		r->matched[file] |= (uint64_t)1 << number;
		r->file_tf[file] = 0;
	}
	r->idf[number] = idf;
}

/* ---- past commits ---- */

static void score_commits(struct fw_semantic_ranking *r)
{
	const struct fw_semantic_snapshot *s = r->snapshot;

	for (size_t i = 0; i < r->query->term_count; i++) {
		const struct fw_semantic_term_row *term = fw_semantic_snapshot_term(
			s, FW_SEMANTIC_COMMIT, r->query->terms[i].hash);
		struct fw_semantic_cursor cursor;
		float idf;

		if (!term)
			continue;
		idf = idf_of(s->commit_count, term->count);
		fw_semantic_cursor_init(&cursor, s, FW_SEMANTIC_COMMIT, term);
		while (fw_semantic_cursor_next(&cursor) && cursor.document < s->commit_count) {
			float tf = (float)cursor.tf /
				   length_norm((float)s->commits[cursor.document].length,
					       s->head->mean_length[FW_SEMANTIC_COMMIT],
					       FW_RANK_COMMIT_B);

			r->commit_score[cursor.document] += idf * tf / (tf + FW_RANK_K1);
		}
	}
}

/* Keeps the FW_RANK_VOTERS best, the best first. */
static size_t choose_voters(const struct fw_semantic_ranking *r, uint32_t *ret_voters)
{
	size_t count = 0;

	for (size_t i = 0; i < r->snapshot->commit_count; i++) {
		float score = r->commit_score[i];
		size_t at;

		if (score <= 0 || (count == FW_RANK_VOTERS &&
				   score <= r->commit_score[ret_voters[count - 1]]))
			continue;
		count += count < FW_RANK_VOTERS;
		for (at = count - 1; at && r->commit_score[ret_voters[at - 1]] < score; at--)
			ret_voters[at] = ret_voters[at - 1];
		ret_voters[at] = (uint32_t)i;
	}
	return count;
}

static void vote(struct fw_semantic_ranking *r)
{
	const struct fw_semantic_snapshot *s = r->snapshot;

	score_commits(r);
	r->voter_count = choose_voters(r, r->voters);
	for (size_t i = 0; i < r->voter_count; i++) {
		const struct fw_semantic_commit_row *commit = &s->commits[r->voters[i]];
		float score = r->commit_score[r->voters[i]];

		if (commit->touch_count > FW_SEMANTIC_LIMIT_TOUCHES)
			continue;
		/* The nearest ones count, not the many that share one common word. */
		score = score * score / sqrtf((float)commit->touch_count);
		for (size_t j = 0; j < commit->touch_count; j++) {
			uint32_t file = s->touches[commit->first_touch + j];

			/* A file that most commits change is no evidence of anything. */
			r->votes[file] += score / logf(FW_RANK_BUSY +
						       (float)s->files[file].history_length);
		}
	}
}

/* ---- vectors ---- */

static bool place_query(struct fw_semantic_ranking *r, int8_t *ret_vector, float *ret_scale)
{
	const struct fw_semantic_snapshot *s = r->snapshot;
	size_t dims = s->head->dims;
	float *sum = r->sum;

	memset(sum, 0, dims * sizeof *sum);
	for (size_t i = 0; i < r->query->term_count; i++) {
		size_t at = fw_semantic_basis_find(s->basis_terms, s->basis_count,
						   r->query->terms[i].hash);
		float weight;

		if (at == SIZE_MAX)
			continue;
		weight = fw_semantic_basis_weight(&s->basis_terms[at],
						  r->query->terms[i].count) *
			 s->basis_scales[at];
		for (size_t j = 0; j < dims; j++)
			sum[j] += weight * (float)s->basis[at * dims + j];
	}
	*ret_scale = fw_semantic_pack(sum, dims, ret_vector);
	return *ret_scale > 0;
}

static void compare_vectors(struct fw_semantic_ranking *r)
{
	const struct fw_semantic_snapshot *s = r->snapshot;
	int8_t own[FW_SEMANTIC_DIMS_MAX];
	const int8_t *vector = r->query->vector;
	float scale = r->query->vector_scale;

	if (!s->head->dims || r->weights->dense <= 0)
		return;
	if (!vector) {
		if (!s->basis_count || !place_query(r, own, &scale))
			return;
		vector = own;
	}
	fw_semantic_cosines(vector, scale, s->vectors, s->vector_scales, s->chunk_count,
			    s->head->dims, r->cosine);
}

/* ---- running ---- */

static bool prepare(struct fw_semantic_ranking *r)
{
	const struct fw_semantic_snapshot *s = r->snapshot;
	size_t files = s->file_count + 1, chunks = s->chunk_count + 1;
	size_t commits = s->commit_count + 1;
	size_t floats = 3 * files + 3 * chunks + commits + FW_SEMANTIC_DIMS_MAX;
	size_t bytes =
		files * (sizeof *r->matched + sizeof *r->touched) + floats * sizeof(float);
	float *at;

	r->memory = fw__allocate(bytes);
	if (!r->memory)
		return false;
	memset(r->memory, 0, bytes);
	r->matched = r->memory;
	at = (float *)(void *)(r->matched + files);
	r->file_tf = at;
	r->file_score = at += files;
	r->votes = at += files;
	r->chunk_score = at += files;
	r->extra = at += chunks;
	r->cosine = at += chunks;
	r->commit_score = at += chunks;
	r->sum = at += commits;
	r->touched = (uint32_t *)(void *)(at + FW_SEMANTIC_DIMS_MAX);
	for (size_t i = 0; i < s->file_count; i++)
		r->mean_file_length += (double)s->files[i].body_length;
	r->mean_file_length /= s->file_count ? (double)s->file_count : 1;
	return true;
}

fw_error *fw_semantic_rank(const struct fw_semantic_snapshot *snapshot,
			   const struct fw_semantic_query *query,
			   const struct fw_semantic_weights *weights, size_t most,
			   struct fw_semantic_hits *ret_hits)
{
	struct fw_semantic_ranking r = { .snapshot = snapshot,
					 .query = query,
					 .weights = weights };

	if (!prepare(&r))
		return fw_raise_internal_out_of_memory();
	for (size_t i = 0; i < query->term_count; i++)
		add_term(&r, i);
	if (weights->vote > 0)
		vote(&r);
	compare_vectors(&r);
	fw_semantic_rank_choose(&r, most, ret_hits);
	fw__release(r.memory);
	return NULL;
}
