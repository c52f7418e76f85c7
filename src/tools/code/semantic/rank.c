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
#include "tools/code/semantic/bits.h"
#include "tools/code/semantic/rank_impl.h"
#include "tools/code/semantic/snapshot_format.h"
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

/* The documents of a term, in r->list and r->classes; their number. */
static size_t find(struct fw_semantic_rank_state *r, enum fw_semantic_field field,
		   uint32_t hash)
{
	return fw_semantic_snapshot_find(r->snapshot, field, hash, r->list, r->classes);
}

/* The file of a chunk: `file` or one behind it. Steps are doubled, since the chunks of a term
 * are in neighbouring files, or far apart. */
static uint32_t file_of(const struct fw_semantic_snapshot *s, uint32_t file, uint32_t chunk)
{
	size_t from = file, step = 1, to;

	while (from + step < s->file_count && s->files[from + step].first_chunk <= chunk) {
		from += step;
		step *= 2;
	}
	to = from + step < s->file_count ? from + step : s->file_count;
	while (to - from > 1) {
		size_t middle = from + (to - from) / 2;

		if (s->files[middle].first_chunk <= chunk)
			from = middle;
		else
			to = middle;
	}
	return (uint32_t)from;
}

static void touch(struct fw_semantic_rank_state *r, uint32_t file, float tf)
{
	if (r->file_tf[file] == 0)
		r->touched[r->touched_count++] = file;
	r->file_tf[file] += tf;
}

/* The chunks of a term: their own score, and the counts of their files. */
static void add_chunks(struct fw_semantic_rank_state *r, uint32_t hash)
{
	const struct fw_semantic_snapshot *s = r->snapshot;
	size_t count = find(r, FW_SEMANTIC_BODY, hash);
	float idf = idf_of(s->chunk_count, count);
	uint32_t file = 0, end = 0;

	r->touched_count = 0;
	for (size_t i = 0; i < count; i++) {
		uint32_t chunk = r->list[i];
		float tf = fw_semantic_tf_of[r->classes[i]];
		float in = tf * r->shortness[s->lengths[chunk]];

		if (chunk >= end) {
			file = file_of(s, file, chunk);
			end = fw_semantic_chunks_end(s, file);
		}
		touch(r, file, tf);
		r->chunk_score[chunk] += idf * in / (in + FW_RANK_K1);
	}
	/* Lengths of files: one division for each file, not for each chunk. */
	for (size_t i = 0; i < r->touched_count; i++)
		r->file_tf[r->touched[i]] /=
			length_norm((float)s->files[r->touched[i]].body_length,
				    r->mean_file_length, FW_RANK_FILE_B);
}

static void add_files(struct fw_semantic_rank_state *r, enum fw_semantic_field field,
		      uint32_t hash, float weight, float b)
{
	const struct fw_semantic_snapshot *s = r->snapshot;
	size_t count = weight > 0 ? find(r, field, hash) : 0;

	for (size_t i = 0; i < count; i++) {
		const struct fw_semantic_file_row *file = &s->files[r->list[i]];
		float length = (float)(field == FW_SEMANTIC_PATH ? file->path_length
								 : file->history_length);

		touch(r, r->list[i],
		      weight * fw_semantic_tf_of[r->classes[i]] /
			      length_norm(length, s->head->mean_length[field], b));
	}
}

static void add_term(struct fw_semantic_rank_state *r, size_t number)
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

static void score_commits(struct fw_semantic_rank_state *r)
{
	const struct fw_semantic_snapshot *s = r->snapshot;

	for (size_t i = 0; i < r->query->term_count; i++) {
		size_t count = find(r, FW_SEMANTIC_COMMIT, r->query->terms[i].hash);
		float idf = idf_of(s->commit_count, count);

		for (size_t j = 0; j < count; j++) {
			float length = (float)s->commits[r->list[j]].length;
			float tf = fw_semantic_tf_of[r->classes[j]] /
				   length_norm(length, s->head->mean_length[FW_SEMANTIC_COMMIT],
					       FW_RANK_COMMIT_B);

			r->commit_score[r->list[j]] += idf * tf / (tf + FW_RANK_K1);
		}
	}
}

/* Keeps the FW_RANK_VOTERS best, the best first. */
static size_t choose_voters(const struct fw_semantic_rank_state *r, uint32_t *ret_voters)
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

struct ballot {
	struct fw_semantic_rank_state *r;
	float score;
};

static bool vote_for(void *ctx, uint32_t file)
{
	const struct ballot *ballot = ctx;
	const struct fw_semantic_snapshot *s = ballot->r->snapshot;

	/* A file that most commits change is no evidence of anything. */
	ballot->r->votes[file] +=
		ballot->score / logf(FW_RANK_BUSY + (float)s->files[file].history_length);
	return true;
}

static void vote(struct fw_semantic_rank_state *r)
{
	const struct fw_semantic_snapshot *s = r->snapshot;

	score_commits(r);
	r->voter_count = choose_voters(r, r->voters);
	for (size_t i = 0; i < r->voter_count; i++) {
		size_t count = s->commits[r->voters[i]].touch_count;
		float score = r->commit_score[r->voters[i]];
		/* The nearest ones count, not the many that share one common word. */
		struct ballot ballot = { r, score * score / sqrtf((float)count) };

		if (count <= FW_SEMANTIC_LIMIT_TOUCHES)
			fw_semantic_snapshot_touched(s, r->voters[i], vote_for, &ballot);
	}
}

/* ---- vectors ---- */

static bool place_query(struct fw_semantic_rank_state *r, int8_t *ret_vector, float *ret_scale)
{
	const struct fw_semantic_snapshot *s = r->snapshot;
	size_t dims = s->head->dims;
	float *sum = r->sum;

	memset(sum, 0, dims * sizeof *sum);
	for (size_t i = 0; i < r->query->term_count; i++) {
		size_t at = fw_semantic_basis_find(s->basis_terms, s->basis_count,
						   fw_semantic_key(r->query->terms[i].hash));
		float weight;

		if (at == SIZE_MAX)
			continue;
		weight =
			fw_semantic_basis_weight(&s->basis_terms[at], r->query->terms[i].count);
		fw_semantic_nibbles_add(sum, s->basis + at * fw_semantic_nibble_bytes(dims),
					dims, weight);
	}
	*ret_scale = fw_semantic_pack(sum, dims, ret_vector);
	return *ret_scale > 0;
}

static void compare_vectors(struct fw_semantic_rank_state *r)
{
	const struct fw_semantic_snapshot *s = r->snapshot;
	int8_t own[FW_SEMANTIC_DIMS_MAX] = { 0 };
	const int8_t *vector = r->query->vector;
	float scale = r->query->vector_scale;

	if (!s->head->dims || r->weights->dense <= 0)
		return;
	if (!vector) {
		if (!s->basis_count || !place_query(r, own, &scale))
			return;
		vector = own;
	}
	fw_semantic_cosines(vector, scale, s->vectors, s->factors, s->chunk_count,
			    s->head->dims, r->cosine);
}

/* ---- running ---- */

static size_t largest(size_t a, size_t b, size_t c)
{
	size_t most = a > b ? a : b;

	return most > c ? most : c;
}

static bool prepare(struct fw_semantic_rank_state *r)
{
	const struct fw_semantic_snapshot *s = r->snapshot;
	size_t files = s->file_count + 1, chunks = s->chunk_count + 1;
	size_t commits = s->commit_count + 1, most = largest(files, chunks, commits);
	size_t floats = 3 * files + 2 * chunks + commits + FW_SEMANTIC_DIMS_MAX;
	size_t cleared = files * sizeof *r->matched + floats * sizeof(float);
	float *at;

	r->memory = fw__allocate(cleared + (files + most) * sizeof(uint32_t) + most);
	if (!r->memory)
		return false;
	memset(r->memory, 0, cleared);
	r->matched = r->memory;
	at = (float *)(void *)(r->matched + files);
	r->file_tf = at;
	r->file_score = at += files;
	r->votes = at += files;
	r->chunk_score = at += files;
	r->cosine = at += chunks;
	r->commit_score = at += chunks;
	r->sum = at += commits;
	r->touched = (uint32_t *)(void *)(at + FW_SEMANTIC_DIMS_MAX);
	r->list = r->touched + files;
	r->classes = (uint8_t *)(r->list + most);
	for (size_t i = 0; i < s->file_count; i++)
		r->mean_file_length += (double)s->files[i].body_length;
	r->mean_file_length /= s->file_count ? (double)s->file_count : 1;
	for (size_t i = 0; i < FW_RANK_LENGTHS; i++)
		r->shortness[i] = 1 / length_norm(fw_semantic_length_of((uint8_t)i),
						  s->head->mean_length[FW_SEMANTIC_BODY],
						  FW_RANK_CHUNK_B);
	return true;
}

fw_error *fw_semantic_rank(const struct fw_semantic_snapshot *snapshot,
			   const struct fw_semantic_query *query,
			   const struct fw_semantic_weights *weights, size_t most,
			   struct fw_semantic_hits *ret_hits)
{
	struct fw_semantic_rank_state r = { .snapshot = snapshot,
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
