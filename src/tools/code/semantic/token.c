/*
 * token.c - see token.h.
 *
 * One pass over the bytes. Bytes of UTF-8 beyond ASCII count as lower-case letters: words of
 * other scripts are terms as they are.
 */
#include "tools/code/semantic/token.h"

#include <stdbool.h>
#include <string.h>

enum kind { OTHER, LOWER, UPPER, DIGIT, JOINT };

enum { PART_MAX = 48, WORD_MAX = 200 };

#define FNV_START 0x811c9dc5u
#define FNV_PRIME 16777619u

static inline enum kind kind_of(unsigned char c)
{
	if ((c >= 'a' && c <= 'z') || c >= 0x80)
		return LOWER;
	if (c >= 'A' && c <= 'Z')
		return UPPER;
	if (c >= '0' && c <= '9')
		return DIGIT;
	return c == '_' ? JOINT : OTHER;
}

static inline uint32_t hash_of(const char *text, size_t len)
{
	uint32_t hash = FNV_START;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * FNV_PRIME;
	/* The low bits choose places in tables. */
	hash ^= hash >> 15;
	return hash * 0x2c1b3c6du;
}

/* ---- endings ---- */

static bool has_vowel(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (strchr("aeiouy", text[i]) && text[i])
			return true;
	return false;
}

static bool ends_with(const char *text, size_t len, const char *end, size_t end_len)
{
	return len > end_len && memcmp(text + len - end_len, end, end_len) == 0;
}

/* The length of a word without "s", "ed", "ing", "e": as crude as it looks, and the same for
 * the texts and the queries. */
static size_t stem(const char *text, size_t len)
{
	size_t before = len;

	if (len < 4 || (text[len - 1] != 's' && text[len - 1] != 'd' && text[len - 1] != 'g' &&
			text[len - 1] != 'e'))
		return len;
	if (text[len - 1] == 's' && !strchr("sui", text[len - 2]))
		len -= ends_with(text, len, "xes", 3) || ends_with(text, len, "shes", 4) ||
				       ends_with(text, len, "ches", 4)
			       ? 2
			       : 1;
	if (len > 5 && ends_with(text, len, "ing", 3) && has_vowel(text, len - 3))
		len -= 3;
	else if (len > 4 && ends_with(text, len, "ed", 2) && has_vowel(text, len - 2))
		len -= 2;
	if (len + 1 < before && len > 3 && text[len - 1] == text[len - 2] &&
	    !strchr("lsz", text[len - 1]))
		len--;
	if (len > 3 && text[len - 1] == 'e')
		len--;
	return len;
}

/* ---- splitting ---- */

struct sink {
	uint32_t *terms;               /* either */
	struct fw_semantic_term *full; /* or */
	size_t count;
	size_t most;
};

static void put_full(struct sink *sink, uint32_t hash, const char *text, size_t len)
{
	struct fw_semantic_term *term;

	for (size_t i = 0; i < sink->count; i++)
		if (sink->full[i].hash == hash) {
			sink->full[i].count++;
			return;
		}
	if (sink->count == sink->most)
		return;
	term = &sink->full[sink->count++];
	len = len < sizeof term->text ? len : sizeof term->text - 1;
	*term = (struct fw_semantic_term){ .hash = hash, .count = 1 };
	memcpy(term->text, text, len);
}

/* `text` is in lower case; `shown` of its bytes are what a reader knows it by. */
static inline void put(struct sink *sink, const char *text, size_t len, size_t shown)
{
	uint32_t hash = hash_of(text, len);

	if (sink->terms)
		sink->terms[sink->count++] = hash;
	else
		put_full(sink, hash, text, shown);
}

static inline void put_part(struct sink *sink, const char *text, size_t len)
{
	if (len >= 2 && len <= PART_MAX)
		put(sink, text, stem(text, len), len);
}

static inline bool is_border(enum kind before, enum kind kind, enum kind next)
{
	if (kind == UPPER)
		return before != UPPER || next == LOWER;
	return (kind == DIGIT) != (before == DIGIT);
}

/* Splits the identifier of `len` bytes at `text`. */
static void split(struct sink *sink, const char *text, size_t len)
{
	char lower[WORD_MAX];
	size_t used = 0, part = 0, parts = 0;
	enum kind before = JOINT;

	/* Long runs are data: keys, images. */
	if (len > WORD_MAX)
		return;
	for (size_t i = 0; i < len; i++) {
		enum kind kind = kind_of((unsigned char)text[i]);

		if (kind == JOINT ||
		    (before != JOINT &&
		     is_border(before, kind,
			       i + 1 < len ? kind_of((unsigned char)text[i + 1]) : OTHER))) {
			if (used > part) {
				put_part(sink, lower + part, used - part);
				parts++;
			}
			part = used;
		}
		if (kind != JOINT)
			lower[used++] = kind == UPPER ? (char)(text[i] + 'a' - 'A') : text[i];
		before = kind;
	}
	if (used > part) {
		put_part(sink, lower + part, used - part);
		parts++;
	}
	if (parts > 1 && used >= 3)
		put(sink, lower, used, used);
}

static void scan(struct sink *sink, const char *text, size_t len)
{
	size_t at = 0;

	while (at < len) {
		size_t start;

		while (at < len && kind_of((unsigned char)text[at]) == OTHER)
			at++;
		for (start = at; at < len && kind_of((unsigned char)text[at]) != OTHER;)
			at++;
		if (at - start >= 2)
			split(sink, text + start, at - start);
	}
}

size_t fw_semantic_terms(const char *text, size_t len, uint32_t *ret_terms)
{
	struct sink sink = { .terms = ret_terms };

	scan(&sink, text, len);
	return sink.count;
}

/* ---- queries ---- */

static bool is_common(const char *word)
{
	static const char *const common[] = {
		"an",    "and",  "are",  "as",   "at",    "be",   "by",   "can",
		"do",    "does", "for",  "from", "has",   "have", "how",  "if",
		"in",    "into", "is",   "it",   "its",   "of",   "on",   "or",
		"our",   "so",   "that", "the",  "their", "them", "then", "there",
		"these", "this", "to",   "was",  "we",    "what", "when", "where",
		"which", "who",  "why",  "will", "with",  "you",
	};

	for (size_t i = 0; i < sizeof common / sizeof *common; i++)
		if (strcmp(common[i], word) == 0)
			return true;
	return false;
}

size_t fw_semantic_query_terms(const char *text, size_t len, struct fw_semantic_term *ret_terms,
			       size_t most)
{
	struct sink sink = { .full = ret_terms, .most = most };
	size_t kept = 0;

	scan(&sink, text, len);
	for (size_t i = 0; i < sink.count; i++)
		if (!is_common(ret_terms[i].text))
			ret_terms[kept++] = ret_terms[i];
	return kept ? kept : sink.count;
}
