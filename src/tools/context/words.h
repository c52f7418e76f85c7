/*
 * words.h - a text split into words in lower case, by the rules of Unicode and
 * independent of the locale.
 */
#ifndef FW_TOOLS_CONTEXT_WORDS_H
#define FW_TOOLS_CONTEXT_WORDS_H

#include "tools/context/files.h"

/* Is it valid UTF-8? NUL is allowed. */
bool fw_context_is_utf8(const char *text, size_t len);
/* Converts to lower case by Unicode's full rules. Release with free(). NULL: out of
 * memory. */
char *fw_context_lower(const char *text, size_t len, size_t *ret_len);

/* Iterates over the words of a text: split at White_Space, in lower case. */
struct fw_context_words {
	const char *at;
	const char *end;
	struct fw_context_bytes word; /* the last one returned */
	bool failed;                  /* out of memory */
};
/* `text` is UTF-8. `words` must be zeroed before its first use and can be reused. */
void fw_context_words_start(struct fw_context_words *words, const char *text, size_t len);
/* False at the end. The word is valid until the next call. */
bool fw_context_words_next(struct fw_context_words *words, const char **ret_word,
			   size_t *ret_len);
void fw_context_words_clear(struct fw_context_words *words);

/* Hash of a word, seeded at random so that a peer cannot prepare collisions. */
uint64_t fw_context_word_hash(const char *text, size_t len);

#endif
