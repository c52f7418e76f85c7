/*
 * word.h - splits a text into words, so that spelling does not matter: "NotFoundError",
 * "not_found", "not-found" and "Not found" begin with the same two words.
 *
 * A word is a run of ASCII letters and digits, in lower case, and of bytes that are not
 * ASCII. A capital after a small letter begins a new word. Quotes and backslashes are
 * dropped. "Don't" is "do not", "cannot" is "can not".
 *
 * Names are data, and their words say nothing about a failure: the parameter 'role_name' is
 * not about roles. A quoted identifier in a sentence, a URL and an absolute path are one
 * word each, FW_WORD_NAME. Values of JSON, codes in capitals and what follows a word such
 * as "status" or "reason" are not names: they are what the failure is called.
 */
#ifndef FW_CLASSIFY_WORD_H
#define FW_CLASSIFY_WORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Longer words are cut: no rule contains one. */
enum { FW_WORD_BYTES = 40 };

/* What a name is read as, and how a pattern refers to it. */
#define FW_WORD_NAME "@name"

struct fw_word {
	char text[FW_WORD_BYTES]; /* lower case, without a NUL */
	uint32_t len;
	uint32_t hash;     /* of the text */
	uint32_t sentence; /* number of the sentence */
	uint32_t clause;   /* the same, but a colon ends a clause as well */
	bool is_capital;   /* written like a title: "Not", not "NOT" nor within "isNot" */
	bool is_number;    /* digits, perhaps with a sign or a decimal point */
	bool is_enclosed;  /* in parentheses: "(404)" */
	bool is_value;     /* a colon or an equals sign is before it */
	char lead;         /* the last byte before it that is not a space; NUL: none */
	char after;        /* the byte after it; NUL at the end of the text */
};

struct fw_word_reader {
	const char *begin, *p, *end;
	uint32_t sentence, clause;
	bool has_not;        /* the next word is the "not" of a contraction */
	const char *before;  /* the word read last */
	uint32_t before_len; /* 0: none yet */
};

/* The next word; false at the end of the text. */
bool fw_word_next(struct fw_word_reader *reader, struct fw_word *ret_word);

uint32_t fw_word_hash(const char *text, size_t len);
/* Inline, since facts.c asks it some 50 times per word: almost always the first letter
 * decides. */
static inline bool fw_word_is(const struct fw_word *word, const char *known)
{
	return word->len > 0 && word->text[0] == known[0] && strlen(known) == word->len &&
	       memcmp(word->text, known, word->len) == 0;
}
/* The value of a number. */
double fw_word_value(const struct fw_word *word);

#endif
