/*
 * words.h - the words of a command to the engine, gathered one by one.
 *
 * The one rule to remember: texts are borrowed until the command is sent.
 */
#ifndef FW_FLEET_WORDS_H
#define FW_FLEET_WORDS_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "fleet/engine.h"

enum { FW_WORDS_NUMBER = 24, FW_WORDS_KEY = 160, FW_WORDS_KEYS = 4 };

/* Begin with fw_words_clear(). */
struct fw_words {
	struct fw_engine_word list[FW_ENGINE_WORDS];
	char numbers[FW_ENGINE_WORDS][FW_WORDS_NUMBER];
	char keys[FW_WORDS_KEYS][FW_WORDS_KEY];
	size_t count;
	size_t key_count;
};

static inline void fw_words_clear(struct fw_words *words)
{
	words->count = 0;
	words->key_count = 0;
}

static inline void fw_words_bytes(struct fw_words *words, const char *text, size_t len)
{
	words->list[words->count++] = (struct fw_engine_word){ text, len };
}

static inline void fw_words_text(struct fw_words *words, const char *text)
{
	fw_words_bytes(words, text, strlen(text));
}

static inline void fw_words_texts(struct fw_words *words, const char *const *texts,
				  size_t count)
{
	for (size_t i = 0; i < count; i++)
		fw_words_text(words, texts[i]);
}
#define FW_WORDS_TEXTS(words, ...)                                  \
	fw_words_texts(words, (const char *const[]){ __VA_ARGS__ }, \
		       sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

/* Not by snprintf(): every call of a limited client sends several. */
static inline void fw_words_number(struct fw_words *words, uint64_t number)
{
	char *end = words->numbers[words->count] + FW_WORDS_NUMBER;
	char *at = end;

	do
		*--at = (char)('0' + number % 10);
	while (number /= 10);
	fw_words_bytes(words, at, (size_t)(end - at));
}

/* faultwire:FLEET:KIND REST */
static inline void fw_words_make_key(const char *fleet, const char *kind, const char *rest,
				     char ret_key[FW_WORDS_KEY])
{
	(void)snprintf(ret_key, FW_WORDS_KEY, "faultwire:%s:%s%s", fleet, kind, rest);
}

/* At most FW_WORDS_KEYS. */
static inline void fw_words_key(struct fw_words *words, const char *fleet, const char *kind,
				const char *rest)
{
	char *key = words->keys[words->key_count++];

	fw_words_make_key(fleet, kind, rest, key);
	fw_words_text(words, key);
}

#endif
