/*
 * suggest.h - "did you mean": known words that are similar to an unknown one.
 */
#ifndef FW_CLI_TERMINAL_SUGGEST_H
#define FW_CLI_TERMINAL_SUGGEST_H

#include <stddef.h>

#include <faultwire/error.h>

#include "base/distance.h"

enum { CLI_SUGGESTIONS_MAX = 3 };

/* Set `wanted` and zero the rest. */
typedef struct cli_suggestions {
	const char *wanted;
	size_t wanted_len;
	char words[CLI_SUGGESTIONS_MAX][FW_DISTANCE_WORD_MAX]; /* nearest first */
	size_t distances[CLI_SUGGESTIONS_MAX];
	size_t count;
} cli_suggestions;

/** Adds a copy of `word` if it is similar enough, and more similar than those kept. */
void cli_suggest(cli_suggestions *list, const char *word);

/** Sets the hint of `err` to the list, unless it is empty. */
void cli_suggestions_hint(const cli_suggestions *list, fw_error *err);

#endif
