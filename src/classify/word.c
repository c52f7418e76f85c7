/*
 * word.c - see word.h.
 */
#include "classify/word.h"

#include <string.h>

#include "base/ascii.h"

enum {
	NAME_BYTES = 64,   /* a longer quotation is a sentence, or data */
	SCHEME_BYTES = 12, /* of a URL */
};

static const uint32_t FNV_BASIS = 2166136261u, FNV_PRIME = 16777619u;

static bool is_word_byte(char c)
{
	return fw_is_alnum(c) || (unsigned char)c >= 0x80;
}

static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* The bytes of a character that is punctuation or a picture: U+2000 to U+2BFF (quotes,
 * dashes, arrows, bullets, marks), the selectors of variants, and all beyond U+FFFF, which
 * is where emoji are. 0: there is none. */
static size_t symbol_at(const char *p, const char *end)
{
	unsigned char first = (unsigned char)*p;

	if (first < 0xe2 || end - p < 3 || !is_continuation(p[1]) || !is_continuation(p[2]))
		return 0;
	if (first == 0xe2)
		return (unsigned char)p[1] <= 0xaf ? 3 : 0;
	if (first == 0xef)
		return (unsigned char)p[1] == 0xb8 ? 3 : 0;
	return first >= 0xf0 && end - p >= 4 && is_continuation(p[3]) ? 4 : 0;
}

/* U+2019, which is an apostrophe as well. */
static bool is_typographic_apostrophe(const char *p, const char *end)
{
	return end - p > 3 && memcmp(p, "\xe2\x80\x99", 3) == 0;
}

/* An escape of JSON in a text that was quoted: its letter is not part of a word. */
static bool is_escape(const char *p, const char *end)
{
	return end - p >= 2 && p[0] == '\\' && (p[1] == 'n' || p[1] == 'r' || p[1] == 't');
}

static char next_of(const char *p, const char *end)
{
	return p + 1 < end ? p[1] : '\0';
}

/* A period ends a sentence if no word follows it directly, as in "example.com". */
static bool ends_sentence(const char *p, const char *end)
{
	char c = *p;

	if (c == '\n')
		return true;
	return (c == '.' || c == '!' || c == '?' || c == ';') && !is_word_byte(next_of(p, end));
}

static bool is_sign(const struct fw_word_reader *reader)
{
	const char *p = reader->p;

	return *p == '-' && fw_is_digit(next_of(p, reader->end)) &&
	       (p == reader->begin || !is_word_byte(p[-1]));
}

/* "Failed to get the page - not found": a dash between spaces ends a clause. */
static bool is_dash(const struct fw_word_reader *reader, const char *p)
{
	return *p == '-' && p > reader->begin && fw_is_space(p[-1]) &&
	       fw_is_space(next_of(p, reader->end));
}

/* ---- names ---- */

static bool is_name_byte(char c)
{
	static const char others[] = "_.-/:@$#*+~[]";

	return is_word_byte(c) || memchr(others, c, sizeof others - 1) != NULL;
}

/* Whether a quoted word after this one is what the failure is called, not a name. */
static bool announces_code(const char *word, size_t len)
{
	static const char *const known[] = { "error",  "code",  "reason",  "message",
					     "status", "state", "type",    "exception",
					     "is",     "was",   "are",     "failed",
					     "errors", "got",   "received" };

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strlen(known[i]) == len && known[i][0] == (*word | 0x20) &&
		    memcmp(known[i] + 1, word + 1, len - 1) == 0)
			return true;
	return false;
}

/* Whether the quote at `p` is part of a sentence: a word is before it, not the
 * punctuation of JSON. */
static bool is_in_prose(const struct fw_word_reader *reader, const char *p)
{
	const char *last;

	if (reader->before_len == 0 || announces_code(reader->before, reader->before_len))
		return false;
	last = reader->before + reader->before_len;
	if (last < p && *last == ':')
		last++;
	return last + 1 == p && *last == ' ';
}

/* The byte after the quoted identifier that begins at `p`; NULL: it is not one. */
static const char *quoted_name(const struct fw_word_reader *reader, const char *p)
{
	char quote = *p++;
	bool has_lower = false;
	const char *first = p;

	while (p < reader->end && p - first < NAME_BYTES && is_name_byte(*p))
		has_lower |= fw_is_lower(*p++);
	return p < reader->end && *p == quote && has_lower ? p + 1 : NULL;
}

/* The end of a URL or a path without the punctuation of the sentence around it:
 * "[GET /items][404]" of go-openapi has two pairs of brackets. */
static const char *end_of_locator(const char *p, const char *end)
{
	static const char stops[] = "\"'`<>(),;{}\\";
	const char *first = p;

	while (p < end && !fw_is_space(*p) && !memchr(stops, *p, sizeof stops - 1) &&
	       !(*p == ']' && next_of(p, end) == '['))
		p++;
	while (p > first && (p[-1] == '.' || p[-1] == ':' || p[-1] == '!'))
		p--;
	return p;
}

/* The byte after the absolute path that begins at `p`; NULL: there is none. */
static const char *absolute_path(const struct fw_word_reader *reader, const char *p)
{
	bool begins = p == reader->begin || fw_is_space(p[-1]) || fw_is_quote(p[-1]) ||
		      p[-1] == '(' || p[-1] == '=';

	return begins && is_word_byte(next_of(p, reader->end)) ? end_of_locator(p, reader->end)
							       : NULL;
}

/* The byte after the URL "scheme://host/..." that begins at `p`; NULL: there is none. */
static const char *url(const char *p, const char *end)
{
	const char *q = p;

	while (q < end && q - p < SCHEME_BYTES && (fw_is_lower(*q) || *q == '+'))
		q++;
	if (q == p || end - q < 4 || memcmp(q, "://", 3) != 0 || !is_word_byte(q[3]))
		return NULL;
	return end_of_locator(q, end);
}

/* The same for the quote with which the text begins: a name if a sentence goes on after
 * it, as in "'b.txt' was not found". */
static const char *first_name(const struct fw_word_reader *reader, const char *p)
{
	const char *name = quoted_name(reader, p);

	return name && reader->end - name > 2 && *name == ' ' && fw_is_lower(name[1]) ? name
										      : NULL;
}

/* The byte after the quoted name or the path that begins at `p`; NULL: there is none. */
static const char *end_of_name(const struct fw_word_reader *reader, const char *p)
{
	if (fw_is_quote(*p) && p == reader->begin)
		return first_name(reader, p);
	if (fw_is_quote(*p))
		return is_in_prose(reader, p) ? quoted_name(reader, p) : NULL;
	return *p == '/' ? absolute_path(reader, p) : NULL;
}

/* ---- words ---- */

/* Adds a byte that is not a capital. */
static void put_small(struct fw_word *word, char c)
{
	if (word->len == FW_WORD_BYTES)
		return;
	word->text[word->len++] = c;
	word->hash = (word->hash ^ (unsigned char)c) * FNV_PRIME;
}

static void put(struct fw_word *word, char c)
{
	put_small(word, fw_is_upper(c) ? (char)(c | 0x20) : c);
}

static void put_all(struct fw_word *word, const char *text)
{
	word->len = 0;
	word->hash = FNV_BASIS;
	while (*text)
		put(word, *text++);
}

/* The word is the name that ends before `end`. */
static void put_name(struct fw_word_reader *reader, struct fw_word *word, const char *end)
{
	put_all(word, FW_WORD_NAME);
	word->is_capital = word->is_number = false;
	word->after = end < reader->end ? *end : '\0';
	reader->p = end;
}

/* Goes to the first byte of the next word, or to the end of a name, which is then read. */
static bool skip_to_word(struct fw_word_reader *reader, struct fw_word *word)
{
	for (; reader->p < reader->end; reader->p++) {
		const char *p = reader->p, *name;
		size_t symbol;

		if (fw_is_alnum(*p))
			return true;
		name = end_of_name(reader, p);
		if (name) {
			put_name(reader, word, name);
			return true;
		}
		symbol = symbol_at(p, reader->end);
		if (symbol) {
			reader->p += symbol - 1;
		} else if (is_escape(p, reader->end)) {
			reader->sentence += p[1] == 'n';
			reader->clause += p[1] == 'n';
			reader->p++;
		} else if (is_word_byte(*p) || is_sign(reader)) {
			return true;
		} else if (ends_sentence(p, reader->end)) {
			reader->sentence++;
			reader->clause++;
		} else if (*p == '(') {
			word->is_enclosed = true;
		} else if (is_dash(reader, p)) {
			reader->clause++;
		} else if (*p == ':' || *p == '=') {
			word->is_value = true;
			reader->clause += fw_is_space(next_of(p, reader->end)) ||
					  fw_is_quote(next_of(p, reader->end));
		}
		if (!fw_is_space(*p))
			word->lead = *p;
	}
	return false;
}

/* "HTTPError" is two words, the second begins at the last capital; "IDs" is one. */
static bool ends_acronym(const char *p, const char *end)
{
	if (!fw_is_upper(p[-1]) || !fw_is_upper(*p) || !fw_is_lower(next_of(p, end)))
		return false;
	return p[1] != 's' || (end - p > 2 && fw_is_lower(p[2]));
}

static bool begins_word(const char *p, const char *end)
{
	return (fw_is_lower(p[-1]) && fw_is_upper(*p)) || ends_acronym(p, end);
}

/* Whether the byte at `p` joins two parts of a word: "don't", "1.5". */
static bool is_joint(const char *p, const char *end, bool is_number)
{
	char next = next_of(p, end);

	return (*p == '\'' && fw_is_lower(p[-1]) && fw_is_lower(next)) ||
	       (*p == '.' && is_number && fw_is_digit(next));
}

/* The first part of a word, if it is in small letters; most words have nothing else. */
static const char *read_small(const char *p, const char *end, struct fw_word *word)
{
	while (p < end && fw_is_lower(*p))
		put_small(word, *p++);
	return p;
}

/* True if an apostrophe is within the word. */
static bool read_word(struct fw_word_reader *reader, struct fw_word *word)
{
	bool is_joined = false;
	const char *p = reader->p, *end = reader->end, *first;

	word->is_capital = fw_is_upper(*p) && fw_is_lower(next_of(p, end)) &&
			   (p == reader->begin || !is_word_byte(p[-1]));
	word->is_number = !fw_is_lower(*p);
	if (*p == '-')
		put(word, *p++);
	first = p;
	for (p = read_small(p, end, word); p < end; p++) {
		if (p > first && is_joint(p, end, word->is_number)) {
			if (*p == '.')
				put(word, *p);
			else
				is_joined = true;
			continue;
		}
		if (p > first && is_typographic_apostrophe(p, end) && fw_is_lower(p[-1]) &&
		    fw_is_lower(p[3])) {
			is_joined = true;
			p += 2;
			continue;
		}
		if (!is_word_byte(*p) || symbol_at(p, end) ||
		    (p > first && begins_word(p, end)))
			break;
		word->is_number &= fw_is_digit(*p);
		put(word, *p);
	}
	word->after = p < end ? *p : '\0';
	reader->p = p;
	return is_joined;
}

static bool ends_with(const struct fw_word *word, const char *end)
{
	size_t len = strlen(end);

	return word->len > len && memcmp(word->text + word->len - len, end, len) == 0;
}

/* Contractions in names, such as "user_doesnt_exist". */
static bool lacks_apostrophe(const struct fw_word *word)
{
	static const char *const known[] = { "dont",  "doesnt", "didnt",   "isnt",  "arent",
					     "wasnt", "hasnt",  "couldnt", "havent" };

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (fw_word_is(word, known[i]))
			return true;
	return false;
}

/* "doesn't" is read as "doesnt": the word is "does", and the next one "not". */
static void split_contraction(struct fw_word_reader *reader, struct fw_word *word,
			      bool is_joined)
{
	char text[FW_WORD_BYTES + 1];

	if (fw_word_is(word, "cannot") || fw_word_is(word, "cant")) {
		put_all(word, "can");
	} else if (ends_with(word, "nt") && (is_joined || lacks_apostrophe(word))) {
		memcpy(text, word->text, word->len - 2);
		text[word->len - 2] = '\0';
		put_all(word, strcmp(text, "wo") == 0 ? "will" : text);
	} else {
		return;
	}
	reader->has_not = true;
}

static bool next_not(struct fw_word_reader *reader, struct fw_word *ret_word)
{
	reader->has_not = false;
	put_all(ret_word, "not");
	ret_word->is_capital = ret_word->is_number = false;
	ret_word->lead = '\0';
	ret_word->after = reader->p < reader->end ? *reader->p : '\0';
	return true;
}

bool fw_word_next(struct fw_word_reader *reader, struct fw_word *ret_word)
{
	const char *name;
	bool is_joined;

	if (reader->has_not)
		return next_not(reader, ret_word);
	ret_word->len = 0;
	ret_word->hash = FNV_BASIS;
	ret_word->is_enclosed = ret_word->is_value = false;
	ret_word->lead = '\0';
	if (!skip_to_word(reader, ret_word))
		return false;
	ret_word->sentence = reader->sentence;
	ret_word->clause = reader->clause;
	reader->before = reader->p;
	reader->before_len = 0;
	if (ret_word->len)
		return true; /* a name */
	is_joined = read_word(reader, ret_word);
	name = ret_word->after == ':' || ret_word->after == '+'
		       ? url(reader->before, reader->end)
		       : NULL;
	if (name) {
		reader->before = reader->p;
		put_name(reader, ret_word, name);
		return true;
	}
	reader->before_len = (uint32_t)(reader->p - reader->before);
	split_contraction(reader, ret_word, is_joined);
	return true;
}

uint32_t fw_word_hash(const char *text, size_t len)
{
	uint32_t hash = FNV_BASIS;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * FNV_PRIME;
	return hash;
}

double fw_word_value(const struct fw_word *word)
{
	double value = 0, scale = 0;

	for (uint32_t i = 0;
	     i < word->len && (fw_is_digit(word->text[i]) || word->text[i] == '.'); i++) {
		if (word->text[i] == '.') {
			if (scale != 0)
				break;
			scale = 1;
			continue;
		}
		value = value * 10 + (word->text[i] - '0');
		scale *= 10;
	}
	return scale > 1 ? value / scale : value;
}
