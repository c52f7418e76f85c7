/*
 * suggest.c - see suggest.h. Words are short, so the table of distances is on the stack.
 */
#include "cli/terminal/suggest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static int folded(char c)
{
	if (c == '-' || c == '.')
		return '_';
	return tolower((unsigned char)c);
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t cli_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	/* Rows i - 2, i - 1 and i of the table, by i modulo 3. */
	size_t rows[3][CLI_WORD_MAX + 1];

	if (a_len > CLI_WORD_MAX || b_len > CLI_WORD_MAX)
		return a_len > b_len ? a_len : b_len;

	for (size_t j = 0; j <= b_len; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		const size_t *above = rows[(i - 1) % 3];
		size_t *row = rows[i % 3];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t differs = folded(a[i - 1]) != folded(b[j - 1]);

			row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + differs);
			if (i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) &&
			    folded(a[i - 2]) == folded(b[j - 1]))
				row[j] = least(row[j], rows[(i - 2) % 3][j - 2] + 1);
		}
	}
	return rows[a_len % 3][b_len];
}

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
	size_t distance = cli_distance(list->wanted, list->wanted_len, word, len);
	size_t at = list->count;

	/* A third of the letters may differ; in short words one or two. */
	if (len >= CLI_WORD_MAX ||
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
		memcpy(list->words[i], list->words[i - 1], CLI_WORD_MAX);
		list->distances[i] = list->distances[i - 1];
	}
	memcpy(list->words[at], word, len + 1);
	list->distances[at] = distance;
}

void cli_suggestions_hint(const cli_suggestions *list, fw_error *err)
{
	char hint[sizeof "Did you mean ,  or ?" + 3 * CLI_WORD_MAX];

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
