/*
 * choose.c - choosing the documents of a result.
 *
 * Documents are taken by score, then by id; one that exceeds the rest of the budget
 * is skipped. Documents without a match have score 0 and come last, by id. There may
 * be a hundred thousand of them, so a tree over their token counts finds the next
 * one that fits without visiting the others. The cost of a query depends on the
 * number of matches and of chosen documents, not on the size of the cache.
 */
#include "tools/context/choose.h"

#include <stdlib.h>

#include "base/mem.h"

#include <faultwire/raise.h>

/* ---- the tree: each node holds the minimum of its two children ---- */

bool fw_context_fit_tree_build(struct fw_context_cache *cache)
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

/* The first document, starting with `from`, that has at most `room` tokens; the
 * number of documents if there is none. */
static size_t next_that_fits(const struct fw_context_cache *cache, size_t from, uint64_t room)
{
	size_t count = cache->manifest.count;
	size_t node = cache->leaves + from;

	if (from >= count)
		return count;
	/* Go up until a subtree to the right has one, then down to its leftmost. */
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

/* ---- order ---- */

static int by_document(const void *a, const void *b)
{
	const struct fw_context_match *x = a, *y = b;

	return (x->document > y->document) - (x->document < y->document);
}

/* Documents are numbered in the order of their ids. */
static int by_score(const void *a, const void *b)
{
	const struct fw_context_match *x = a, *y = b;

	if (x->score > y->score)
		return -1;
	return x->score < y->score ? 1 : by_document(a, b);
}

static void sort(struct fw_context_matches *matches, int (*compare)(const void *, const void *))
{
	if (matches->count > 1)
		qsort(matches->items, matches->count, sizeof *matches->items, compare);
}

/* Merges entries for the same document. */
static void merge(struct fw_context_matches *matches)
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

static void set_scores(const struct fw_context_cache *cache, struct fw_context_matches *matches)
{
	for (size_t i = 0; i < matches->count; i++) {
		struct fw_context_match *match = &matches->items[i];
		uint32_t words = cache->facts[match->document].words;

		match->score = words ? (float)match->matches / (float)words : 0;
	}
}

/* ---- choosing ---- */

static bool choose(const struct fw_context_cache *cache, const struct fw_context_match *match,
		   uint64_t *budget, struct fw_context_matches *chosen)
{
	uint32_t tokens = cache->facts[match->document].tokens;

	if (tokens > *budget)
		return true;
	*budget -= tokens;
	if (!fw_context_matches_add(chosen, match->document, match->matches))
		return false;
	chosen->items[chosen->count - 1].score = match->score;
	return true;
}

/* Chooses from the documents without a match, by id. `matched` is sorted by
 * document. */
static bool fill_up(const struct fw_context_cache *cache,
		    const struct fw_context_matches *matched, uint64_t budget,
		    struct fw_context_matches *chosen)
{
	size_t at = 0, next = 0;

	for (;; at++) {
		struct fw_context_match none = { 0 };

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

static bool choose_quickly(const struct fw_context_cache *cache,
			   struct fw_context_matches *matches, uint64_t budget,
			   struct fw_context_matches *chosen)
{
	sort(matches, by_score);
	for (size_t i = 0; i < matches->count; i++)
		if (!choose(cache, &matches->items[i], &budget, chosen))
			return false;
	sort(matches, by_document);
	return fill_up(cache, matches, budget, chosen);
}

/* Literally as the contract describes it: score all, sort all, try all. */
static bool choose_exhaustively(const struct fw_context_cache *cache,
				const struct fw_context_matches *matches, uint64_t budget,
				struct fw_context_matches *chosen)
{
	struct fw_context_matches all = { 0 };
	bool is_done = true;
	size_t next = 0;

	for (uint32_t i = 0; is_done && i < cache->manifest.count; i++) {
		is_done = fw_context_matches_add(&all, i, 0);
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

fw_error *fw_context_choose(const struct fw_context_cache *cache,
			    struct fw_context_matches *matches, uint64_t budget,
			    bool exhaustive, struct fw_context_matches *chosen)
{
	bool is_done;

	merge(matches);
	set_scores(cache, matches);
	/* A budget of 0 excludes even a document without tokens. */
	if (budget == 0)
		return NULL;
	is_done = exhaustive ? choose_exhaustively(cache, matches, budget, chosen)
			     : choose_quickly(cache, matches, budget, chosen);
	return is_done ? NULL : fw_raise_internal_out_of_memory();
}
