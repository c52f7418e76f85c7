/*
 * suggest.h - "did you mean": the words nearest to one that nobody knows.
 */
#ifndef FW_CLI_TERMINAL_SUGGEST_H
#define FW_CLI_TERMINAL_SUGGEST_H

#include <stddef.h>

#include <faultwire/error.h>

enum { CLI_SUGGESTIONS_MAX = 3, CLI_WORD_MAX = 64 };

/* Set `wanted` and zero the rest. */
typedef struct cli_suggestions {
	const char *wanted;
	size_t wanted_len;
	char words[CLI_SUGGESTIONS_MAX][CLI_WORD_MAX]; /* nearest first */
	size_t distances[CLI_SUGGESTIONS_MAX];
	size_t count;
} cli_suggestions;

/**
 * How many letters must be put in, taken out, replaced or swapped with their
 * neighbour to make `b` of `a`. Case, and which of . _ - parts the words, is
 * not counted. Words over CLI_WORD_MAX are as far apart as they are long.
 */
size_t cli_distance(const char *a, size_t a_len, const char *b, size_t b_len);

/** Keep `word` (copied) if it is near enough, and nearer than those kept. */
void cli_suggest(cli_suggestions *list, const char *word);

/** Make the list the hint of `err`; with nothing in it the hint stays. */
void cli_suggestions_hint(const cli_suggestions *list, fw_error *err);

#endif
