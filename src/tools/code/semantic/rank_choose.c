/*
 * rank_choose.c - see rank_impl.h.
 *
 * Files are ranked first, then the best chunk of each is shown, and of the best files a
 * second and a third one, at lower scores.
 */
#include "tools/code/semantic/rank_impl.h"

#include <stdlib.h>
#include <string.h>

enum { MORE_CHUNKS = 2 };

static float larger(float a, float b)
{
	return a > b ? a : b;
}

/* Four at a time, so that a comparison need not wait for the one before it. */
static float most_of(const float *list, size_t count)
{
	float most[4] = { 0 };
	size_t i = 0;

	for (; i + 4 <= count; i += 4)
		for (size_t j = 0; j < 4; j++)
			most[j] = larger(list[i + j], most[j]);
	for (; i < count; i++)
		most[0] = larger(list[i], most[0]);
	return larger(larger(most[0], most[1]), larger(most[2], most[3]));
}

static float share(float value, float most)
{
	return most > 0 && value > 0 ? value / most : 0;
}

struct scale {
	float file, chunk, vote, cosine;
};

/* The best chunk of a file that is not among `before`. */
static uint32_t best_chunk(const struct fw_semantic_rank_state *r, uint32_t file,
			   const struct scale *scale, const uint32_t *before, size_t count,
			   float *ret_score)
{
	uint32_t end = fw_semantic_chunks_end(r->snapshot, file);
	uint32_t best = UINT32_MAX;
	float most = -1;

	for (uint32_t i = r->snapshot->files[file].first_chunk; i < end; i++) {
		float score = r->weights->chunk * share(r->chunk_score[i], scale->chunk) +
			      r->weights->dense * share(r->cosine[i], scale->cosine);
		bool is_taken = false;

		for (size_t j = 0; j < count; j++)
			is_taken = is_taken || before[j] == i;
		if (!is_taken && score > most) {
			most = score;
			best = i;
		}
	}
	*ret_score = most;
	return best;
}

struct match {
	uint32_t file;
	bool is_found;
};

static bool is_match(void *ctx, uint32_t file)
{
	struct match *match = ctx;

	match->is_found = file == match->file;
	return !match->is_found;
}

static void name_commits(const struct fw_semantic_rank_state *r, struct fw_semantic_hit *hit)
{
	const struct fw_semantic_snapshot *s = r->snapshot;
	size_t count = 0;

	for (size_t i = 0; i < 3; i++)
		hit->commits[i] = UINT32_MAX;
	for (size_t i = 0; i < r->voter_count && count < 3; i++) {
		struct match match = { .file = hit->file };

		if (s->commits[r->voters[i]].touch_count <= FW_SEMANTIC_LIMIT_TOUCHES)
			fw_semantic_snapshot_touched(s, r->voters[i], is_match, &match);
		if (match.is_found)
			hit->commits[count++] = r->voters[i];
	}
}

static void put_hit(const struct fw_semantic_rank_state *r, const struct scale *scale,
		    struct fw_semantic_hit hit, size_t most, struct fw_semantic_hits *hits)
{
	size_t at;

	if (hits->count == most && hit.score <= hits->list[most - 1].score)
		return;
	hits->count += hits->count < most;
	for (at = hits->count - 1; at && hits->list[at - 1].score < hit.score; at--)
		hits->list[at] = hits->list[at - 1];
	hit.lexical = share(r->file_score[hit.file], scale->file);
	hit.vote = share(r->votes[hit.file], scale->vote);
	hit.cosine = r->cosine[hit.chunk];
	hit.dense = share(r->cosine[hit.chunk], scale->cosine);
	hit.matched = r->matched[hit.file];
	hits->list[at] = hit;
}

static float whole_weight(const struct fw_semantic_weights *w)
{
	return w->file + w->chunk + w->vote + w->dense;
}

static void put_file(const struct fw_semantic_rank_state *r, const struct scale *scale,
		     uint32_t file, size_t most, struct fw_semantic_hits *hits)
{
	const struct fw_semantic_weights *w = r->weights;
	float base = w->file * share(r->file_score[file], scale->file) +
		     w->vote * share(r->votes[file], scale->vote);
	uint32_t chunks[MORE_CHUNKS + 1];
	float first = 0;

	/* Even with the best chunk of all it would not be among the best. */
	if (hits->count == most &&
	    (base + (w->chunk + w->dense)) / whole_weight(w) <= hits->list[most - 1].score)
		return;
	for (size_t i = 0; i <= MORE_CHUNKS; i++) {
		struct fw_semantic_hit hit = { .file = file };
		float score;

		chunks[i] = best_chunk(r, file, scale, chunks, i, &score);
		if (chunks[i] == UINT32_MAX || (i && score <= 0))
			return;
		first = i ? first : score;
		hit.chunk = chunks[i];
		hit.score = (base + score) / whole_weight(w);
		/* A further chunk competes with its own score against other files. */
		if (i)
			hit.score *= first > 0 ? 0.8F * score / first / (float)i : 0;
		if (hit.score <= 0 ||
		    (hits->count == most && hit.score <= hits->list[most - 1].score))
			return;
		put_hit(r, scale, hit, most, hits);
	}
}

void fw_semantic_rank_choose(struct fw_semantic_rank_state *r, size_t most,
			     struct fw_semantic_hits *ret_hits)
{
	const struct fw_semantic_snapshot *s = r->snapshot;
	struct scale scale = { .file = most_of(r->file_score, s->file_count),
			       .chunk = most_of(r->chunk_score, s->chunk_count),
			       .vote = most_of(r->votes, s->file_count),
			       .cosine = most_of(r->cosine, s->chunk_count) };
	float covered = 0;

	if (most > FW_SEMANTIC_LIMIT_FINDINGS)
		most = FW_SEMANTIC_LIMIT_FINDINGS;
	ret_hits->count = 0;
	for (size_t i = 0; i < s->file_count; i++)
		if (fw_semantic_chunks_end(s, i) > s->files[i].first_chunk)
			put_file(r, &scale, (uint32_t)i, most, ret_hits);
	for (size_t i = 0; i < ret_hits->count; i++)
		name_commits(r, &ret_hits->list[i]);
	if (ret_hits->count)
		for (size_t i = 0; i < r->query->term_count; i++)
			if (ret_hits->list[0].matched >> i & 1)
				covered += r->idf[i];
	ret_hits->coverage = r->possible > 0 ? covered / r->possible : 0;
	ret_hits->best_lexical = r->possible > 0 ? scale.file / r->possible : 0;
	ret_hits->best_cosine = scale.cosine;
	/* With few findings there is little to be distinguished from. */
	ret_hits->margin = ret_hits->count > 9
				   ? ret_hits->list[0].score - ret_hits->list[9].score
			   : ret_hits->count ? ret_hits->list[0].score / 2
					     : 0;
}
