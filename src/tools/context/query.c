/*
 * query.c - what is asked for: a query, a budget; and how a score is written.
 */
#include "tools/context/impl.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/mem.h"

/* ---- hashing words ------------------------------------------------------------------ */

static uint64_t seed;
static pthread_once_t seeded = PTHREAD_ONCE_INIT;

static void make_seed(void)
{
	if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed)
		seed = (uint64_t)(uintptr_t)&seed;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	__extension__ typedef unsigned __int128 wide;
	wide product = (wide)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t fw_context_hash(const char *text, size_t len)
{
	uint64_t hash;
	uint64_t part;

	(void)pthread_once(&seeded, make_seed);
	hash = seed ^ len;
	for (; len >= 8; text += 8, len -= 8) {
		memcpy(&part, text, 8);
		hash = mix(hash ^ part, 0x9e3779b97f4a7c15u);
	}
	part = 0;
	memcpy(&part, text, len);
	return mix(hash ^ part, 0xd6e8feb86659fd93u);
}

/* ---- the query ------------------------------------------------------------------------ */

static const struct fw_term *find(const struct fw_query *query, const char *word, size_t len,
				  size_t *ret_slot)
{
	size_t slot = fw_context_hash(word, len) & (query->slot_count - 1);

	for (; query->slots[slot]; slot = (slot + 1) & (query->slot_count - 1)) {
		const struct fw_term *term = &query->terms[query->slots[slot] - 1];

		if (term->len == len && memcmp(term->text, word, len) == 0)
			return term;
	}
	*ret_slot = slot;
	return NULL;
}

bool fw_query_has(const struct fw_query *query, const char *word, size_t len)
{
	size_t slot;

	return query->term_count && find(query, word, len, &slot);
}

void fw_query_clear(struct fw_query *query)
{
	fw__release(query->terms);
	fw__release(query->text);
	fw__release(query->slots);
	*query = (struct fw_query){ 0 };
}

/* One pass over the words to count them, one to keep them. */
static fw_error *read_terms(struct fw_query *query)
{
	struct fw_words words = { 0 };
	const char *word;
	size_t len, bytes = 0, count = 0, slot;

	fw_words_start(&words, query->raw, query->raw_len);
	while (fw_words_next(&words, &word, &len)) {
		bytes += len;
		count++;
	}
	for (query->slot_count = 8; query->slot_count < 2 * count;)
		query->slot_count *= 2;
	query->terms = fw__allocate((count + 1) * sizeof *query->terms);
	query->text = fw__allocate(bytes + 1);
	query->slots = fw__allocate(query->slot_count * sizeof *query->slots);
	if (words.failed || !query->terms || !query->text || !query->slots) {
		fw_words_clear(&words);
		return fw_raise_internal_out_of_memory();
	}
	memset(query->slots, 0, query->slot_count * sizeof *query->slots);
	bytes = 0;
	fw_words_start(&words, query->raw, query->raw_len);
	while (fw_words_next(&words, &word, &len)) {
		struct fw_term *term = &query->terms[query->term_count];

		if (find(query, word, len, &slot))
			continue;
		memcpy(query->text + bytes, word, len);
		*term = (struct fw_term){ query->text + bytes, len };
		bytes += len;
		query->slots[slot] = (uint32_t)++query->term_count;
	}
	fw_words_clear(&words);
	return words.failed ? fw_raise_internal_out_of_memory() : NULL;
}

fw_error *fw_query_read(const char *text, size_t len, struct fw_query *ret_query)
{
	struct fw_query query = { .raw = text, .raw_len = len };
	fw_error *err;

	if (!text || len > FW_LIMIT_CONTEXT_QUERY_BYTES || !fw_context_is_utf8(text, len))
		return fw_raise_input_invalid_query();
	err = read_terms(&query);
	if (err)
		fw_query_clear(&query);
	else
		*ret_query = query;
	return err;
}

/* ---- the budget ------------------------------------------------------------------------- */

/* digits [. digits] [e [sign] digits], as JSON has it; the value is whole. */
bool fw_context_budget_read(const char *text, size_t len, int64_t *ret_budget)
{
	char digits[32];
	size_t kept = 0, whole = 0, at = 0;
	long exponent = 0;
	bool is_negative = at < len && text[at] == '-';
	uint64_t value = 0;

	at += is_negative;
	if (at == len ||
	    (text[at] == '0' && at + 1 < len && text[at + 1] >= '0' && text[at + 1] <= '9'))
		return false;
	for (int part = 0; part < 2; part++) {
		size_t start = at;

		for (; at < len && text[at] >= '0' && text[at] <= '9'; at++) {
			if (kept == 0 && text[at] == '0') {
				/* Leading zeros of a fraction move the point. */
				if (part)
					exponent--;
				continue;
			}
			if (kept == sizeof digits)
				return false;
			digits[kept++] = text[at];
			whole += !part;
		}
		if (at == start)
			return false;
		if (part == 0 && (at == len || text[at] != '.'))
			break;
		at += part == 0;
	}
	if (at < len && (text[at] == 'e' || text[at] == 'E')) {
		bool is_down = false;
		long given = 0;
		size_t start;

		if (++at < len && (text[at] == '+' || text[at] == '-'))
			is_down = text[at++] == '-';
		for (start = at; at < len && text[at] >= '0' && text[at] <= '9'; at++)
			given = given < 1000 ? given * 10 + (text[at] - '0') : given;
		if (at == start)
			return false;
		exponent += is_down ? -given : given;
	}
	if (at != len)
		return false;
	/* 0.digits times ten to the power of whole + exponent. */
	while (kept > 0 && digits[kept - 1] == '0')
		kept--;
	if (kept == 0) {
		*ret_budget = 0;
		return true;
	}
	if (is_negative || (long)whole + exponent < (long)kept || (long)whole + exponent > 19)
		return false;
	for (long i = 0; i < (long)whole + exponent; i++) {
		unsigned digit = i < (long)kept ? (unsigned)(digits[i] - '0') : 0;

		if (value > ((uint64_t)INT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*ret_budget = (int64_t)value;
	return true;
}

/* ---- a score ------------------------------------------------------------------------------- */

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
size_t fw_context_score_text(float score, char ret_text[FW_SCORE_SIZE])
{
	char digits[24];
	int exponent = 0, count, point;
	uint64_t value;
	int len;

	if (score <= 0 || score >= 1)
		return (size_t)snprintf(ret_text, FW_SCORE_SIZE, "%s",
					score >= 1 ? "1.0" : "0.0");
	value = shortest(score, &exponent);
	while (value && value % 10 == 0) {
		value /= 10;
		exponent++;
	}
	count = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
	point = count + exponent; /* how many digits stand before the point */
	if (point > -6)
		len = snprintf(ret_text, FW_SCORE_SIZE, "0.%.*s%s", -point, "00000", digits);
	else
		len = snprintf(ret_text, FW_SCORE_SIZE, "%c%s%se%d", digits[0],
			       count > 1 ? "." : "", digits + 1, point - 1);
	return (size_t)len;
}
