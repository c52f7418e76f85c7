/*
 * terms.c - an inverted index in memory, from a word to the documents that contain it.
 *
 * It is a hash table of words. The documents of a word are stored as pairs of
 * variable-length integers, the difference to the previous document number and the
 * count, in slices of one large pool. The slices of a word grow in size, so that rare
 * words need little memory and common ones few slices. A slice ends with the offset
 * of the next one.
 */
#include "tools/context/terms.h"

#include <string.h>

#include "base/mem.h"

struct word {
	uint32_t hash;
	uint32_t text; /* offset in `texts` */
	uint32_t len;
	uint32_t first; /* offset of the first slice */
	uint32_t write; /* the next byte to write */
	uint32_t limit; /* end of the data of the slice */
	uint32_t slice; /* size class of the next slice */
	uint32_t last;  /* the last document stored, + 1 */
	uint32_t seen;  /* occurrences in the current document */
};

struct pool {
	char *data;
	size_t len;
	size_t cap;
};

struct fw_context_terms {
	struct word *words;
	size_t word_count;
	size_t word_room;
	uint32_t *slots; /* index + 1 */
	size_t slot_count;
	struct pool texts;
	struct pool slices;
	uint32_t *touched; /* words of the current document */
	size_t touched_count;
	size_t touched_room;
};

enum { FIRST_SLOTS = 1024, SLICE_LINK = 4, SLICE_CLASSES = 8 };

/* Data bytes of a slice: 8, 16, ... 1024. */
static uint32_t slice_size(uint32_t class)
{
	return 8u << (class < SLICE_CLASSES ? class : SLICE_CLASSES - 1);
}

/* ---- memory ---- */

/* Offsets have 32 bits, so a pool is limited to 4 GiB. */
static bool pool_take(struct pool *pool, size_t len, uint32_t *ret_at)
{
	if (len > UINT32_MAX - pool->len)
		return false;
	if (len > pool->cap - pool->len) {
		size_t cap = pool->cap ? pool->cap + pool->cap / 2 : 64 * 1024;
		char *data;

		if (cap < pool->len + len)
			cap = pool->len + len;
		data = fw__reallocate(pool->data, cap);
		if (!data)
			return false;
		pool->data = data;
		pool->cap = cap;
	}
	*ret_at = (uint32_t)pool->len;
	pool->len += len;
	return true;
}

/* Makes room for one more element. */
static bool grow(void *items, size_t count, size_t *room, size_t size)
{
	void **list = items;
	size_t more = *room ? *room * 2 : 256;
	void *larger;

	if (count < *room)
		return true;
	larger = fw__reallocate(*list, more * size);
	if (!larger)
		return false;
	*list = larger;
	*room = more;
	return true;
}

struct fw_context_terms *fw_context_terms_new(void)
{
	struct fw_context_terms *terms = fw__allocate(sizeof *terms);

	if (!terms)
		return NULL;
	*terms = (struct fw_context_terms){ .slot_count = FIRST_SLOTS };
	terms->slots = fw__allocate(FIRST_SLOTS * sizeof *terms->slots);
	if (!terms->slots) {
		fw__release(terms);
		return NULL;
	}
	memset(terms->slots, 0, FIRST_SLOTS * sizeof *terms->slots);
	return terms;
}

void fw_context_terms_free(struct fw_context_terms *terms)
{
	if (!terms)
		return;
	fw__release(terms->words);
	fw__release(terms->slots);
	fw__release(terms->texts.data);
	fw__release(terms->slices.data);
	fw__release(terms->touched);
	fw__release(terms);
}

size_t fw_context_terms_bytes(const struct fw_context_terms *terms)
{
	return terms->word_room * sizeof *terms->words +
	       terms->slot_count * sizeof *terms->slots + terms->texts.cap + terms->slices.cap +
	       terms->touched_room * sizeof *terms->touched;
}

/* ---- the table ---- */

static struct word *find(const struct fw_context_terms *terms, const char *text, size_t len,
			 uint64_t hash, size_t *ret_slot)
{
	size_t slot = hash & (terms->slot_count - 1);

	for (; terms->slots[slot]; slot = (slot + 1) & (terms->slot_count - 1)) {
		struct word *word = &terms->words[terms->slots[slot] - 1];

		if (word->hash == (uint32_t)(hash >> 32) && word->len == len &&
		    memcmp(terms->texts.data + word->text, text, len) == 0)
			return word;
	}
	*ret_slot = slot;
	return NULL;
}

static bool widen(struct fw_context_terms *terms)
{
	size_t count = terms->slot_count * 2;
	uint32_t *slots = fw__allocate(count * sizeof *slots);

	if (!slots)
		return false;
	memset(slots, 0, count * sizeof *slots);
	for (size_t i = 0; i < terms->word_count; i++) {
		const struct word *word = &terms->words[i];
		size_t slot = fw_context_word_hash(terms->texts.data + word->text, word->len) &
			      (count - 1);

		while (slots[slot])
			slot = (slot + 1) & (count - 1);
		slots[slot] = (uint32_t)i + 1;
	}
	fw__release(terms->slots);
	terms->slots = slots;
	terms->slot_count = count;
	return true;
}

static struct word *take(struct fw_context_terms *terms, const char *text, size_t len)
{
	uint64_t hash = fw_context_word_hash(text, len);
	size_t slot;
	struct word *word = find(terms, text, len, hash, &slot);
	uint32_t at;

	if (word)
		return word;
	if (terms->word_count >= terms->slot_count / 2) {
		if (!widen(terms))
			return NULL;
		(void)find(terms, text, len, hash, &slot);
	}
	if (terms->word_count == UINT32_MAX - 1 ||
	    !grow(&terms->words, terms->word_count, &terms->word_room, sizeof *terms->words) ||
	    !pool_take(&terms->texts, len, &at))
		return NULL;
	memcpy(terms->texts.data + at, text, len);
	word = &terms->words[terms->word_count++];
	*word = (struct word){ .hash = (uint32_t)(hash >> 32),
			       .text = at,
			       .len = (uint32_t)len };
	terms->slots[slot] = (uint32_t)terms->word_count;
	return word;
}

/* ---- documents of a word ---- */

static bool put_byte(struct fw_context_terms *terms, struct word *word, unsigned char byte)
{
	if (word->write == word->limit) {
		uint32_t size = slice_size(word->slice);
		uint32_t at;

		if (!pool_take(&terms->slices, size + SLICE_LINK, &at))
			return false;
		/* A limit of 0 means that the word has no slice yet. */
		if (word->limit)
			memcpy(terms->slices.data + word->limit, &at, SLICE_LINK);
		else
			word->first = at;
		word->write = at;
		word->limit = at + size;
		word->slice++;
	}
	terms->slices.data[word->write++] = (char)byte;
	return true;
}

static bool put_number(struct fw_context_terms *terms, struct word *word, uint32_t number)
{
	for (; number >= 0x80; number >>= 7)
		if (!put_byte(terms, word, (unsigned char)(number | 0x80)))
			return false;
	return put_byte(terms, word, (unsigned char)number);
}

struct cursor {
	const struct fw_context_terms *terms;
	uint32_t at;
	uint32_t limit;
	uint32_t slice;
};

static uint32_t take_number(struct cursor *cursor)
{
	uint32_t number = 0;

	for (unsigned shift = 0;; shift += 7) {
		unsigned char byte;

		if (cursor->at == cursor->limit) {
			memcpy(&cursor->at, cursor->terms->slices.data + cursor->limit,
			       SLICE_LINK);
			cursor->limit = cursor->at + slice_size(++cursor->slice);
		}
		byte = (unsigned char)cursor->terms->slices.data[cursor->at++];
		number |= (uint32_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return number;
	}
}

/* ---- adding and finding ---- */

static bool count_word(struct fw_context_terms *terms, const char *text, size_t len)
{
	struct word *word = take(terms, text, len);

	if (!word)
		return false;
	if (word->seen++)
		return true;
	if (!grow(&terms->touched, terms->touched_count, &terms->touched_room,
		  sizeof *terms->touched))
		return false;
	terms->touched[terms->touched_count++] = (uint32_t)(word - terms->words);
	return true;
}

bool fw_context_terms_add(struct fw_context_terms *terms, uint32_t document,
			  struct fw_context_words *words, uint32_t *ret_count)
{
	const char *text;
	size_t len;
	uint32_t count = 0;

	terms->touched_count = 0;
	for (; fw_context_words_next(words, &text, &len); count++)
		if (!count_word(terms, text, len))
			return false;
	for (size_t i = 0; i < terms->touched_count; i++) {
		struct word *word = &terms->words[terms->touched[i]];

		if (!put_number(terms, word, document + 1 - word->last) ||
		    !put_number(terms, word, word->seen))
			return false;
		word->last = document + 1;
		word->seen = 0;
	}
	*ret_count = count;
	return !words->failed;
}

bool fw_context_matches_add(struct fw_context_matches *matches, uint32_t document,
			    uint32_t count)
{
	if (!grow(&matches->items, matches->count, &matches->room, sizeof *matches->items))
		return false;
	matches->items[matches->count++] =
		(struct fw_context_match){ .document = document, .matches = count };
	return true;
}

bool fw_context_terms_find(const struct fw_context_terms *terms, const char *text, size_t len,
			   struct fw_context_matches *matches)
{
	size_t slot;
	const struct word *word =
		find(terms, text, len, fw_context_word_hash(text, len), &slot);
	struct cursor cursor;
	uint32_t document = 0;

	if (!word || !word->last)
		return true;
	cursor = (struct cursor){ terms, word->first, word->first + slice_size(0), 0 };
	while (document < word->last) {
		document += take_number(&cursor);
		if (!fw_context_matches_add(matches, document - 1, take_number(&cursor)))
			return false;
	}
	return true;
}
