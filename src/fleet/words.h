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

enum { FW_WORDS_NUMBER = 24, FW_WORDS_KEY = 160 };

struct fw_words {
	struct fw_engine_word list[FW_ENGINE_WORDS];
	char numbers[FW_ENGINE_WORDS][FW_WORDS_NUMBER];
	size_t count;
};

static inline void fw_words_bytes(struct fw_words *words, const char *text, size_t len)
{
	words->list[words->count++] = (struct fw_engine_word){ text, len };
}

static inline void fw_words_text(struct fw_words *words, const char *text)
{
	fw_words_bytes(words, text, strlen(text));
}

static inline void fw_words_number(struct fw_words *words, uint64_t number)
{
	char *text = words->numbers[words->count];

	(void)snprintf(text, FW_WORDS_NUMBER, "%llu", (unsigned long long)number);
	fw_words_text(words, text);
}

/* faultwire:FLEET:KIND REST */
static inline void fw_words_make_key(const char *fleet, const char *kind, const char *rest,
				     char ret_key[FW_WORDS_KEY])
{
	(void)snprintf(ret_key, FW_WORDS_KEY, "faultwire:%s:%s%s", fleet, kind, rest);
}

#endif
