/*
 * query.c - a query as the set of its words.
 */
#include "tools/context/query.h"

#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "tools/context/words.h"

#include <faultwire/raise.h>

static const struct fw_context_term *find(const struct fw_context_query *query,
					  const char *word, size_t len, size_t *ret_slot)
{
	size_t slot = fw_context_word_hash(word, len) & (query->slot_count - 1);

	for (; query->slots[slot]; slot = (slot + 1) & (query->slot_count - 1)) {
		const struct fw_context_term *term = &query->terms[query->slots[slot] - 1];

		if (term->len == len && memcmp(term->text, word, len) == 0)
			return term;
	}
	*ret_slot = slot;
	return NULL;
}

bool fw_context_query_has(const struct fw_context_query *query, const char *word, size_t len)
{
	size_t slot;

	return query->term_count && find(query, word, len, &slot);
}

void fw_context_query_clear(struct fw_context_query *query)
{
	fw__release(query->terms);
	fw__release(query->text);
	fw__release(query->slots);
	*query = (struct fw_context_query){ 0 };
}

/* The first pass counts the words, the second keeps the distinct ones. */
static fw_error *read_terms(struct fw_context_query *query)
{
	struct fw_context_words words = { 0 };
	const char *word;
	size_t len, bytes = 0, count = 0, slot;

	fw_context_words_start(&words, query->raw, query->raw_len);
	while (fw_context_words_next(&words, &word, &len)) {
		bytes += len;
		count++;
	}
	for (query->slot_count = 8; query->slot_count < 2 * count;)
		query->slot_count *= 2;
	query->terms = fw__allocate((count + 1) * sizeof *query->terms);
	query->text = fw__allocate(bytes + 1);
	query->slots = fw__allocate(query->slot_count * sizeof *query->slots);
	if (words.failed || !query->terms || !query->text || !query->slots) {
		fw_context_words_clear(&words);
		return fw_raise_internal_out_of_memory();
	}
	memset(query->slots, 0, query->slot_count * sizeof *query->slots);
	bytes = 0;
	fw_context_words_start(&words, query->raw, query->raw_len);
	while (fw_context_words_next(&words, &word, &len)) {
		struct fw_context_term *term = &query->terms[query->term_count];

		if (find(query, word, len, &slot))
			continue;
		memcpy(query->text + bytes, word, len);
		*term = (struct fw_context_term){ query->text + bytes, len };
		bytes += len;
		query->slots[slot] = (uint32_t)++query->term_count;
	}
	fw_context_words_clear(&words);
	return words.failed ? fw_raise_internal_out_of_memory() : NULL;
}

fw_error *fw_context_query_read(const char *text, size_t len,
				struct fw_context_query *ret_query)
{
	struct fw_context_query query = { .raw = text, .raw_len = len };
	fw_error *err;

	if (!text || len > FW_LIMIT_CONTEXT_QUERY_BYTES || !fw_context_is_utf8(text, len))
		return fw_raise_input_invalid_query();
	err = read_terms(&query);
	if (err)
		fw_context_query_clear(&query);
	else
		*ret_query = query;
	return err;
}
