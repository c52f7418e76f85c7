/*
 * choose.c - which documents go into the result, and the result as text.
 *
 * The rule: by score, then by id; one that does not fit what is left of the
 * budget is passed over and the next is tried. Documents without a match score
 * 0 and come last, by id, and there may be a hundred thousand of them: a tree
 * over their tokens finds the next one that fits without looking at those that
 * do not. So a query costs what it matches and what it gives out.
 */
#include "tools/context/impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* ---- the tree: each node holds the least of the two below it ------------------------- */

bool fw_cache_plant(struct fw_cache *cache)
{
	size_t count = cache->manifest.count;
	size_t leaves = 1;

	while (leaves < count)
		leaves *= 2;
	cache->least = fw__allocate(2 * leaves * sizeof *cache->least);
	if (!cache->least)
		return false;
	cache->leaves = leaves;
	for (size_t i = 0; i < leaves; i++)
		cache->least[leaves + i] = i < count ? cache->facts[i].tokens : UINT32_MAX;
	for (size_t i = leaves - 1; i > 0; i--) {
		uint32_t left = cache->least[2 * i], right = cache->least[2 * i + 1];

		cache->least[i] = left < right ? left : right;
	}
	return true;
}

/* The first document from `from` on that takes at most `room` tokens; count: none. */
static size_t next_that_fits(const struct fw_cache *cache, size_t from, uint64_t room)
{
	size_t count = cache->manifest.count;
	size_t node = cache->leaves + from;

	if (from >= count)
		return count;
	/* Up while what is to the right holds none, then down to the leftmost. */
	while (cache->least[node] > room) {
		while (node & 1)
			node /= 2;
		if (node == 0)
			return count;
		node++;
	}
	while (node < cache->leaves) {
		node *= 2;
		if (cache->least[node] > room)
			node++;
	}
	return node - cache->leaves < count ? node - cache->leaves : count;
}

/* ---- order ------------------------------------------------------------------------------ */

static int by_document(const void *a, const void *b)
{
	const struct fw_match *x = a, *y = b;

	return (x->document > y->document) - (x->document < y->document);
}

/* Documents are numbered by their ids. */
static int by_score(const void *a, const void *b)
{
	const struct fw_match *x = a, *y = b;

	if (x->score > y->score)
		return -1;
	return x->score < y->score ? 1 : by_document(a, b);
}

static void sort(struct fw_matches *matches, int (*compare)(const void *, const void *))
{
	if (matches->count > 1)
		qsort(matches->items, matches->count, sizeof *matches->items, compare);
}

void fw_matches_merge(struct fw_matches *matches)
{
	size_t kept = 0;

	sort(matches, by_document);
	for (size_t i = 0; i < matches->count; i++) {
		if (kept > 0 && matches->items[kept - 1].document == matches->items[i].document)
			matches->items[kept - 1].matches += matches->items[i].matches;
		else
			matches->items[kept++] = matches->items[i];
	}
	matches->count = kept;
}

static void set_scores(const struct fw_cache *cache, struct fw_matches *matches)
{
	for (size_t i = 0; i < matches->count; i++) {
		struct fw_match *match = &matches->items[i];
		uint32_t words = cache->facts[match->document].words;

		match->score = words ? (float)match->matches / (float)words : 0;
	}
}

/* ---- choosing ----------------------------------------------------------------------------- */

static bool choose(const struct fw_cache *cache, const struct fw_match *match, uint64_t *budget,
		   struct fw_matches *chosen)
{
	uint32_t tokens = cache->facts[match->document].tokens;

	if (tokens > *budget)
		return true;
	*budget -= tokens;
	if (!fw_matches_add(chosen, match->document, match->matches))
		return false;
	chosen->items[chosen->count - 1].score = match->score;
	return true;
}

/* Those that match nothing, by id. `matched` is in the order of documents. */
static bool fill_up(const struct fw_cache *cache, const struct fw_matches *matched,
		    uint64_t budget, struct fw_matches *chosen)
{
	size_t at = 0, next = 0;

	for (;; at++) {
		struct fw_match none = { 0 };

		at = next_that_fits(cache, at, budget);
		if (at >= cache->manifest.count)
			return true;
		while (next < matched->count && matched->items[next].document < at)
			next++;
		if (next < matched->count && matched->items[next].document == at)
			continue;
		none.document = (uint32_t)at;
		if (!choose(cache, &none, &budget, chosen))
			return false;
	}
}

static bool choose_quickly(const struct fw_cache *cache, struct fw_matches *matches,
			   uint64_t budget, struct fw_matches *chosen)
{
	sort(matches, by_score);
	for (size_t i = 0; i < matches->count; i++)
		if (!choose(cache, &matches->items[i], &budget, chosen))
			return false;
	sort(matches, by_document);
	return fill_up(cache, matches, budget, chosen);
}

/* As the contract says it: score all, sort all, go through all. */
static bool choose_plainly(const struct fw_cache *cache, const struct fw_matches *matches,
			   uint64_t budget, struct fw_matches *chosen)
{
	struct fw_matches all = { 0 };
	bool is_done = true;
	size_t next = 0;

	for (uint32_t i = 0; is_done && i < cache->manifest.count; i++) {
		is_done = fw_matches_add(&all, i, 0);
		if (is_done && next < matches->count && matches->items[next].document == i)
			all.items[i] = matches->items[next++];
	}
	if (is_done)
		sort(&all, by_score);
	for (size_t i = 0; is_done && i < all.count; i++)
		is_done = choose(cache, &all.items[i], &budget, chosen);
	fw__release(all.items);
	return is_done;
}

fw_error *fw_choose(const struct fw_cache *cache, struct fw_matches *matches, uint64_t budget,
		    bool plainly, struct fw_matches *chosen)
{
	bool is_done;

	fw_matches_merge(matches);
	set_scores(cache, matches);
	/* Not even a document of no tokens. */
	if (budget == 0)
		return NULL;
	is_done = plainly ? choose_plainly(cache, matches, budget, chosen)
			  : choose_quickly(cache, matches, budget, chosen);
	return is_done ? NULL : fw_raise_internal_out_of_memory();
}

/* ---- the result ------------------------------------------------------------------------------ */

static void put_number(struct fw_buf *out, const char *name, uint64_t value)
{
	fw_buf_str(out, name);
	fw_buf_i64(out, (int64_t)value);
}

static void put_document(struct fw_buf *out, const struct fw_cache *cache,
			 const struct fw_match *match, const struct fw_document *document,
			 const struct fw_buf *terms)
{
	const struct fw_entry *entry = &cache->manifest.entries[match->document];
	const struct fw_doc_facts *facts = &cache->facts[match->document];
	char score[FW_SCORE_SIZE];
	size_t score_len = fw_context_score_text(match->score, score);

	FW_BUF(out, "{\"id\":");
	fw_buf_json(out, entry->id, entry->id_len);
	FW_BUF(out, ",\"version\":");
	fw_buf_json(out, entry->version, FW_VERSION_LEN);
	FW_BUF(out, ",\"content\":");
	fw_buf_json(out, document->content, document->content_len);
	FW_BUF(out, ",\"score\":");
	fw_buf_put(out, score, score_len);
	put_number(out, ",\"tokens\":", facts->tokens);
	FW_BUF(out, ",\"why\":{\"query_terms\":");
	fw_buf_put(out, terms->text, terms->len);
	put_number(out, ",\"term_matches\":", match->matches);
	put_number(out, ",\"total_words\":", facts->words);
	FW_BUF(out, "}}");
}

static void put_terms(struct fw_buf *out, const struct fw_query *query)
{
	FW_BUF(out, "[");
	for (size_t i = 0; i < query->term_count; i++) {
		if (i)
			FW_BUF(out, ",");
		fw_buf_json(out, query->terms[i].text, query->terms[i].len);
	}
	FW_BUF(out, "]");
}

static fw_error *state_of(const struct fw_buf *out)
{
	if (out->state == FW_BUF_NO_MEMORY)
		return fw_raise_internal_out_of_memory();
	return out->state == FW_BUF_TOO_LARGE ? fw_raise_tool_result_too_large(out->max) : NULL;
}

static fw_error *put_documents(const struct fw_cache *cache, const struct fw_matches *chosen,
			       const struct fw_buf *terms, struct fw_buf *out,
			       uint64_t *ret_tokens)
{
	struct fw_reader reader;
	fw_error *err = fw_reader_init(&reader);

	for (size_t i = 0; !err && i < chosen->count; i++) {
		const struct fw_match *match = &chosen->items[i];
		struct fw_document document;

		err = fw_reader_open(&reader, cache, match->document, NULL, &document);
		if (err)
			break;
		if (i)
			FW_BUF(out, ",");
		put_document(out, cache, match, &document, terms);
		*ret_tokens += cache->facts[match->document].tokens;
		fw_document_clear(&document);
		err = state_of(out);
	}
	fw_reader_clear(&reader);
	return err;
}

fw_error *fw_result_write(const struct fw_cache *cache, const struct fw_query *query,
			  uint64_t budget, const struct fw_matches *chosen, size_t max_bytes,
			  struct fw_buf *out)
{
	size_t considered = cache->manifest.count;
	struct fw_buf terms;
	uint64_t tokens = 0;
	fw_error *err;

	fw_buf_init(&terms, max_bytes);
	put_terms(&terms, query);
	FW_BUF(out, "{\"documents\":[");
	err = state_of(&terms);
	if (!err)
		err = put_documents(cache, chosen, &terms, out, &tokens);
	fw_buf_clear(&terms);
	if (err)
		return err;
	FW_BUF(out, "],\"selection\":{\"query\":");
	fw_buf_json(out, query->raw, query->raw_len);
	put_number(out, ",\"budget\":", budget);
	put_number(out, ",\"tokens_used\":", tokens);
	put_number(out, ",\"documents_considered\":", considered);
	put_number(out, ",\"documents_selected\":", chosen->count);
	put_number(out, ",\"documents_excluded_by_budget\":", considered - chosen->count);
	FW_BUF(out, "}}\n");
	return state_of(out);
}
