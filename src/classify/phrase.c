/*
 * phrase.c - see phrase.h.
 */
#include "classify/phrase.h"

#include <string.h>

#include "base/ascii.h"
#include "base/mem.h"

enum { SLOTS_MIN = 64, ITEMS_MIN = 64 };

static const char number_set[] = "@number";

void fw_phrases_free(struct fw_phrases *set)
{
	fw__release(set->words);
	fw__release(set->edges);
	fw__release(set->ends);
	fw__release(set->end_list);
	fw__release(set->members);
	fw__release(set->texts);
	*set = (struct fw_phrases){ 0 };
}

/* Grows an array to hold one more item; the new items are zero. */
static bool grow(void **items, size_t *cap, size_t needed, size_t size)
{
	size_t more = *cap ? *cap : ITEMS_MIN;
	char *grown;

	if (needed <= *cap)
		return true;
	while (more < needed)
		more *= 2;
	grown = fw__reallocate(*items, more * size);
	if (!grown)
		return false;
	memset(grown + *cap * size, 0, (more - *cap) * size);
	*items = grown;
	*cap = more;
	return true;
}

/* ---- words ---- */

static size_t word_slot(const struct fw_phrases *set, const char *text, size_t len,
			uint32_t hash)
{
	size_t at = hash & (set->word_slots - 1);

	for (;; at = (at + 1) & (set->word_slots - 1)) {
		const struct fw_phrase_word *word = &set->words[at];

		if (!word->len)
			return at;
		if (word->hash == hash && word->len == len &&
		    memcmp(set->texts + word->text, text, len) == 0)
			return at;
	}
}

/* NULL: no phrase and no set has this word. */
static const struct fw_phrase_word *find_word(const struct fw_phrases *set, const char *text,
					      size_t len, uint32_t hash)
{
	const struct fw_phrase_word *word =
		set->word_slots ? &set->words[word_slot(set, text, len, hash)] : NULL;

	return word && word->len ? word : NULL;
}

static uint32_t word_id(const struct fw_phrases *set, const char *text, size_t len,
			uint32_t hash)
{
	const struct fw_phrase_word *word = find_word(set, text, len, hash);

	return word ? word->id : FW_PHRASE_NONE;
}

bool fw_phrases_knows(const struct fw_phrases *set, const char *word, size_t len)
{
	return find_word(set, word, len, fw_word_hash(word, len)) != NULL;
}

static bool grow_words(struct fw_phrases *set)
{
	struct fw_phrases old = *set;
	size_t slots = old.word_slots ? 2 * old.word_slots : SLOTS_MIN;

	if (2 * (old.word_count + 1) <= old.word_slots)
		return true;
	set->words = fw__allocate(slots * sizeof *set->words);
	if (!set->words) {
		set->words = old.words;
		return false;
	}
	memset(set->words, 0, slots * sizeof *set->words);
	set->word_slots = slots;
	for (size_t i = 0; i < old.word_slots; i++) {
		const struct fw_phrase_word *word = &old.words[i];

		if (word->len)
			set->words[word_slot(set, set->texts + word->text, word->len,
					     word->hash)] = *word;
	}
	fw__release(old.words);
	return true;
}

static uint32_t add_word(struct fw_phrases *set, const char *text, size_t len)
{
	uint32_t hash = fw_word_hash(text, len);
	struct fw_phrase_word *word;

	if (!grow_words(set))
		return FW_PHRASE_NONE;
	word = &set->words[word_slot(set, text, len, hash)];
	if (word->len)
		return word->id;
	if (!grow((void **)&set->texts, &set->text_cap, set->text_len + len, 1))
		return FW_PHRASE_NONE;
	memcpy(set->texts + set->text_len, text, len);
	*word = (struct fw_phrase_word){ .hash = hash,
					 .text = (uint32_t)set->text_len,
					 .len = (uint32_t)len,
					 .id = (uint32_t)++set->word_count };
	set->text_len += len;
	return word->id;
}

/* Notes at the word in small letters that a phrase has it with a capital. */
static bool add_capital(struct fw_phrases *set, const char *text, size_t len, uint32_t id)
{
	char small[FW_WORD_BYTES];

	if (!fw_is_upper(text[0]))
		return true;
	memcpy(small, text, len);
	small[0] = (char)(small[0] | 0x20);
	if (!add_word(set, small, len))
		return false;
	set->words[word_slot(set, small, len, fw_word_hash(small, len))].capital = id;
	return true;
}

bool fw_phrases_join(struct fw_phrases *set, const char *name, size_t name_len,
		     const char *text, size_t len)
{
	uint32_t joined = add_word(set, name, name_len);
	struct fw_phrase_word *word;

	if (!joined || !add_word(set, text, len) ||
	    !grow((void **)&set->members, &set->member_cap, set->member_count + 2,
		  sizeof *set->members))
		return false;
	word = &set->words[word_slot(set, text, len, fw_word_hash(text, len))];
	set->members[++set->member_count] = (struct fw_phrase_member){ word->sets, joined };
	word->sets = (uint32_t)set->member_count;
	return true;
}

/* ---- nodes and edges ---- */

static size_t edge_slot(const struct fw_phrases *set, uint32_t from, uint32_t word)
{
	size_t at = (from * 2654435761u ^ word * 40503u) & (set->edge_slots - 1);

	for (;; at = (at + 1) & (set->edge_slots - 1)) {
		const struct fw_phrase_edge *edge = &set->edges[at];

		if (!edge->from || (edge->from == from && edge->word == word))
			return at;
	}
}

static uint32_t follow(const struct fw_phrases *set, uint32_t from, uint32_t word)
{
	return set->edge_slots ? set->edges[edge_slot(set, from, word)].to : FW_PHRASE_NONE;
}

static bool grow_edges(struct fw_phrases *set)
{
	struct fw_phrases old = *set;
	size_t slots = old.edge_slots ? 2 * old.edge_slots : SLOTS_MIN;

	if (2 * (old.edge_count + 1) <= old.edge_slots)
		return true;
	set->edges = fw__allocate(slots * sizeof *set->edges);
	if (!set->edges) {
		set->edges = old.edges;
		return false;
	}
	memset(set->edges, 0, slots * sizeof *set->edges);
	set->edge_slots = slots;
	for (size_t i = 0; i < old.edge_slots; i++)
		if (old.edges[i].from)
			set->edges[edge_slot(set, old.edges[i].from, old.edges[i].word)] =
				old.edges[i];
	fw__release(old.edges);
	return true;
}

bool fw_phrases_extend(struct fw_phrases *set, uint32_t *node, const char *text, size_t len)
{
	uint32_t word = add_word(set, text, len);
	struct fw_phrase_edge *edge;

	if (set->node_count < FW_PHRASE_ROOT)
		set->node_count = FW_PHRASE_ROOT;
	if (len == sizeof number_set - 1 && memcmp(text, number_set, len) == 0)
		set->number_set = word;
	if (!word || !add_capital(set, text, len, word) || !grow_edges(set) ||
	    !grow((void **)&set->ends, &set->node_cap, set->node_count + 2, sizeof *set->ends))
		return false;
	edge = &set->edges[edge_slot(set, *node, word)];
	if (!edge->from) {
		*edge = (struct fw_phrase_edge){ *node, word, (uint32_t)++set->node_count };
		set->edge_count++;
	}
	*node = edge->to;
	return true;
}

bool fw_phrases_end(struct fw_phrases *set, uint32_t node, uint32_t owner)
{
	if (!grow((void **)&set->end_list, &set->end_cap, set->end_count + 2,
		  sizeof *set->end_list))
		return false;
	set->end_list[++set->end_count] = (struct fw_phrase_end){ set->ends[node], owner };
	set->ends[node] = (uint32_t)set->end_count;
	return true;
}

bool fw_phrases_is_end(const struct fw_phrases *set, uint32_t node, uint32_t owner)
{
	for (uint32_t end = set->ends[node]; end; end = set->end_list[end].next)
		if (set->end_list[end].owner == owner)
			return true;
	return false;
}

/* ---- the scan ---- */

/* What one step needs: the phrases that were active before it, and whom to tell. */
struct step {
	struct fw_phrase_scan *scan;
	const struct fw_phrase_active *active;
	uint32_t count;
	fw_phrase_fn *found;
	void *ctx;
};

static void report(const struct fw_phrase_scan *scan, uint32_t node, uint32_t first,
		   fw_phrase_fn *found, void *ctx)
{
	for (uint32_t end = scan->set->ends[node]; end; end = scan->set->end_list[end].next)
		found(ctx, scan->set->end_list[end].owner, first, scan->index);
}

static void reach(struct step *step, uint32_t from, uint32_t first, uint32_t word)
{
	struct fw_phrase_scan *scan = step->scan;
	uint32_t node = follow(scan->set, from, word);

	if (!node)
		return;
	report(scan, node, first, step->found, step->ctx);
	if (scan->count == FW_PHRASE_ACTIVE)
		return;
	scan->active[scan->current][scan->count++] = (struct fw_phrase_active){ node, first };
}

/* Continues every phrase by a word or by a set that the word is in. */
static void reach_all(struct step *step, uint32_t word)
{
	if (!word)
		return;
	reach(step, FW_PHRASE_ROOT, step->scan->index, word);
	for (uint32_t i = 0; i < step->count; i++)
		reach(step, step->active[i].node, step->active[i].first, word);
}

void fw_phrase_step(struct fw_phrase_scan *scan, const struct fw_word *word,
		    fw_phrase_fn *found, void *ctx)
{
	const struct fw_phrases *set = scan->set;
	const struct fw_phrase_word *known = find_word(set, word->text, word->len, word->hash);
	struct step step = { .scan = scan,
			     .active = scan->active[scan->current],
			     .count = word->sentence == scan->sentence ? scan->count : 0,
			     .found = found,
			     .ctx = ctx };

	scan->current = !scan->current;
	scan->sentence = word->sentence;
	scan->count = 0;
	scan->index++;
	reach_all(&step, known ? known->id : FW_PHRASE_NONE);
	for (uint32_t in = known ? known->sets : 0; in; in = set->members[in].next)
		reach_all(&step, set->members[in].set);
	if (fw_is_digit(word->text[0]))
		reach_all(&step, set->number_set);
	if (known && word->is_capital)
		reach_all(&step, known->capital);
}

void fw_phrase_fact(const struct fw_phrase_scan *scan, const char *word, fw_phrase_fn *found,
		    void *ctx)
{
	uint32_t id = word_id(scan->set, word, strlen(word), fw_word_hash(word, strlen(word)));
	uint32_t node = id ? follow(scan->set, FW_PHRASE_ROOT, id) : FW_PHRASE_NONE;

	if (node)
		report(scan, node, scan->index, found, ctx);
}
