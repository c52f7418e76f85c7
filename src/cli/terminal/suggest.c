/*
 * suggest.c - see suggest.h.
 */
#include "cli/terminal/suggest.h"

#include <stdio.h>
#include <string.h>

/* Length of the common prefix of `word` and the wanted one. */
static size_t alike(const cli_suggestions *list, const char *word)
{
	size_t n = 0;

	while (n < list->wanted_len && word[n] && word[n] == list->wanted[n])
		n++;
	return n;
}

void cli_suggest(cli_suggestions *list, const char *word)
{
	size_t len = strlen(word);
	size_t distance = fw_distance(list->wanted, list->wanted_len, word, len);
	size_t at = list->count;

	/* A third of the letters may differ; in short words one or two. */
	if (len >= FW_DISTANCE_WORD_MAX ||
	    distance > (list->wanted_len < 6 ? 2 : list->wanted_len / 3) || distance >= len)
		return;
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->words[i], word) == 0)
			return;
	/* At equal distance, the longer common prefix wins. */
	while (at > 0 && (list->distances[at - 1] > distance ||
			  (list->distances[at - 1] == distance &&
			   alike(list, list->words[at - 1]) < alike(list, word))))
		at--;
	if (at == CLI_SUGGESTIONS_MAX)
		return;
	if (list->count < CLI_SUGGESTIONS_MAX)
		list->count++;
	for (size_t i = list->count - 1; i > at; i--) {
		memcpy(list->words[i], list->words[i - 1], FW_DISTANCE_WORD_MAX);
		list->distances[i] = list->distances[i - 1];
	}
	memcpy(list->words[at], word, len + 1);
	list->distances[at] = distance;
}

void cli_suggestions_hint(const cli_suggestions *list, fw_error *err)
{
	char hint[sizeof "Did you mean ,  or ?" + 3 * FW_DISTANCE_WORD_MAX];

	switch (list->count) {
	case 0: return;
	case 1: (void)snprintf(hint, sizeof hint, "Did you mean %s?", list->words[0]); break;
	case 2:
		(void)snprintf(hint, sizeof hint, "Did you mean %s or %s?", list->words[0],
			       list->words[1]);
		break;
	default:
		(void)snprintf(hint, sizeof hint, "Did you mean %s, %s or %s?", list->words[0],
			       list->words[1], list->words[2]);
	}
	fw_error_set_hint(err, hint);
}
