/*
 * result.c - the result of resolve as text, and its scores as decimal numbers.
 */
#include "tools/context/result.h"

#include <stdio.h>
#include <stdlib.h>

#include <faultwire/raise.h>

/* ---- scores ---- */

/* Does digits * 10^exponent read as `score`? */
static bool reads_as(uint64_t digits, int exponent, float score)
{
	char text[48];

	/* Without a point, so that no locale matters. */
	(void)snprintf(text, sizeof text, "%llue%d", (unsigned long long)digits, exponent);
	return strtof(text, NULL) == score;
}

/* The fewest digits that do, and of those the nearest. */
static uint64_t shortest(float score, int *ret_exponent)
{
	for (int places = 0; places < 9; places++) {
		char text[48];
		uint64_t digits = 0;
		const char *at;
		int exponent;

		(void)snprintf(text, sizeof text, "%.*e", places, (double)score);
		for (at = text; *at != 'e'; at++)
			if (*at >= '0' && *at <= '9')
				digits = digits * 10 + (uint64_t)(*at - '0');
		exponent = (int)strtol(at + 1, NULL, 10) - places;
		*ret_exponent = exponent;
		if (reads_as(digits, exponent, score))
			return digits;
		/* Below a power of two floats lie closer than above it: the next
		 * decimal up may fit where the nearest does not. */
		if (reads_as(digits + 1, exponent, score))
			return digits + 1;
	}
	return 0;
}

/* As most JSON writers lay a number out: 0.000012 in full, 1.2e-7 not. */
size_t fw_context_score_text(float score, char ret_text[FW_CONTEXT_SCORE_SIZE])
{
	char digits[24];
	int exponent = 0, count, point;
	uint64_t value;
	int len;

	if (score <= 0 || score >= 1)
		return (size_t)snprintf(ret_text, FW_CONTEXT_SCORE_SIZE, "%s",
					score >= 1 ? "1.0" : "0.0");
	value = shortest(score, &exponent);
	while (value && value % 10 == 0) {
		value /= 10;
		exponent++;
	}
	count = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
	point = count + exponent; /* how many digits stand before the point */
	if (point > -6)
		len = snprintf(ret_text, FW_CONTEXT_SCORE_SIZE, "0.%.*s%s", -point, "00000",
			       digits);
	else
		len = snprintf(ret_text, FW_CONTEXT_SCORE_SIZE, "%c%s%se%d", digits[0],
			       count > 1 ? "." : "", digits + 1, point - 1);
	return (size_t)len;
}

/* ---- the result ---- */

static void put_number(struct fw_buf *out, const char *name, uint64_t value)
{
	fw_buf_str(out, name);
	fw_buf_i64(out, (int64_t)value);
}

static void put_document(struct fw_buf *out, const struct fw_context_cache *cache,
			 const struct fw_context_match *match,
			 const struct fw_context_document *document, const struct fw_buf *terms)
{
	const struct fw_context_entry *entry = &cache->manifest.entries[match->document];
	const struct fw_context_document_facts *facts = &cache->facts[match->document];
	char score[FW_CONTEXT_SCORE_SIZE];
	size_t score_len = fw_context_score_text(match->score, score);

	FW_BUF(out, "{\"id\":");
	fw_buf_json(out, entry->id, entry->id_len);
	FW_BUF(out, ",\"version\":");
	fw_buf_json(out, entry->version, FW_CONTEXT_VERSION_LEN);
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

static void put_terms(struct fw_buf *out, const struct fw_context_query *query)
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

static fw_error *put_documents(const struct fw_context_cache *cache,
			       const struct fw_context_matches *chosen,
			       const struct fw_buf *terms, struct fw_buf *out,
			       uint64_t *ret_tokens)
{
	struct fw_context_reader reader;
	fw_error *err = fw_context_reader_init(&reader);

	for (size_t i = 0; !err && i < chosen->count; i++) {
		const struct fw_context_match *match = &chosen->items[i];
		struct fw_context_document document;

		err = fw_context_reader_open(&reader, cache, match->document, NULL, &document);
		if (err)
			break;
		if (i)
			FW_BUF(out, ",");
		put_document(out, cache, match, &document, terms);
		*ret_tokens += cache->facts[match->document].tokens;
		fw_context_document_clear(&document);
		err = state_of(out);
	}
	fw_context_reader_clear(&reader);
	return err;
}

fw_error *fw_context_result_write(const struct fw_context_cache *cache,
				  const struct fw_context_query *query, uint64_t budget,
				  const struct fw_context_matches *chosen, size_t max_bytes,
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
