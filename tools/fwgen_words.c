/*
 * fwgen_words.c - checks the wording of a row.
 *
 * People and models read messages next to each other in one log, so they follow the
 * same rules, those of docs/registry.md.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "fwgen.h"

enum {
	TITLE_MAX = 40,
	MESSAGE_MAX = 120,
	HINT_MAX = 200,
	PROSE_COLUMNS_MAX = 80,
	PROSE_MAX = 2000
};

/* A message may begin with these although they are upper case. */
static const char *const proper_nouns[] = { "HTTP", "JSON", "Rust", "TLS", NULL };

static const char *const banned_words[] = { "unable", "bad", "illegal", "unknown", NULL };

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = text; *at; at++) {
		if (strncasecmp(at, word, len) == 0 && !is_word_char(at[len]) &&
		    (at == text || !is_word_char(at[-1])))
			return true;
	}
	return false;
}

/* "can't", "it's", but not a possessive such as "caller's". */
static bool is_contraction(const char *text, const char *apostrophe)
{
	static const char *const endings[] = { "t", "re", "ll", "ve", "d", "m", NULL };
	static const char *const with_is[] = { "it",   "that", "there", "here",
					       "what", "let",  NULL };
	size_t after = strspn(apostrophe + 1, "abcdefghijklmnopqrstuvwxyz");
	size_t before = 0;

	while (apostrophe - before > text &&
	       isalpha((unsigned char)apostrophe[-1 - (long)before]))
		before++;
	if (before == 0)
		return false;
	for (int i = 0; endings[i]; i++) {
		if (after == strlen(endings[i]) &&
		    strncmp(apostrophe + 1, endings[i], after) == 0)
			return true;
	}
	for (int i = 0; with_is[i]; i++) {
		if (after == 1 && apostrophe[1] == 's' && before == strlen(with_is[i]) &&
		    strncasecmp(apostrophe - before, with_is[i], before) == 0)
			return true;
	}
	return false;
}

static void check_banned(const struct row *row, enum key key, const char *what,
			 bool may_say_unknown)
{
	const char *text = row->text[key];
	unsigned line = row->line[key];

	for (int i = 0; banned_words[i]; i++) {
		if (may_say_unknown && strcmp(banned_words[i], "unknown") == 0)
			continue;
		if (has_word(text, banned_words[i]))
			complain(row->file, line, "%s uses the banned word \"%s\"", what,
				 banned_words[i]);
	}
	if (strstr(text, "error occurred"))
		complain(row->file, line, "%s says \"error occurred\": say which", what);
	if (strstr(text, "()"))
		complain(row->file, line, "%s names a function", what);
	if (strstr(text, "/*") || strstr(text, "*/"))
		complain(row->file, line, "%s cannot stand in a C comment", what);
	for (const char *at = text; (at = strchr(at, '\'')); at++) {
		if (is_contraction(text, at))
			complain(row->file, line, "%s has a contraction", what);
	}
}

static void check_length(const struct row *row, enum key key, const char *what, size_t most)
{
	if (strlen(row->text[key]) > most)
		complain(row->file, row->line[key], "%s is longer than %zu characters", what,
			 most);
}

static bool ends_in_period(const char *text)
{
	return *text && text[strlen(text) - 1] == '.';
}

static void check_message(const struct row *row)
{
	const char *message = row->text[KEY_MESSAGE];
	unsigned line = row->line[KEY_MESSAGE];
	size_t first_word = strcspn(message, " ");
	bool may_begin_so = islower((unsigned char)*message) || *message == '{';

	check_length(row, KEY_MESSAGE, "message", MESSAGE_MAX);
	if (ends_in_period(message))
		complain(row->file, line, "message ends in a period");
	if (row->contract_style)
		return;
	for (int i = 0; proper_nouns[i]; i++) {
		if (strlen(proper_nouns[i]) == first_word &&
		    strncmp(message, proper_nouns[i], first_word) == 0)
			may_begin_so = true;
	}
	if (!may_begin_so)
		complain(row->file, line, "message does not begin in lower case");
	check_banned(row, KEY_MESSAGE, "message", false);
}

static void check_prose(const struct row *row)
{
	const char *prose = row->text[KEY_PROSE];
	unsigned sentences = 0;

	check_length(row, KEY_PROSE, "explanation", PROSE_MAX);
	for (const char *at = prose; *at; at++)
		sentences += *at == '.' && isspace((unsigned char)at[1]);
	if (sentences < 2)
		complain(row->file, row->line[KEY_PROSE],
			 "explanation has fewer than two sentences");
	for (const char *at = prose; *at; at += strcspn(at, "\n") + 1) {
		if (strcspn(at, "\n") > PROSE_COLUMNS_MAX) {
			complain(row->file, row->line[KEY_PROSE],
				 "explanation has a line longer than %d columns",
				 PROSE_COLUMNS_MAX);
			break;
		}
	}
	check_banned(row, KEY_PROSE, "explanation", true);
}

void row_check_words(const struct row *row)
{
	check_length(row, KEY_TITLE, "title", TITLE_MAX);
	if (!isupper((unsigned char)*row->text[KEY_TITLE]))
		complain(row->file, row->line[KEY_TITLE], "title does not begin in upper case");

	check_message(row);

	check_length(row, KEY_HINT, "hint", HINT_MAX);
	if (!isupper((unsigned char)*row->text[KEY_HINT]))
		complain(row->file, row->line[KEY_HINT], "hint does not begin in upper case");
	if (!ends_in_period(row->text[KEY_HINT]))
		complain(row->file, row->line[KEY_HINT], "hint does not end in a period");
	check_banned(row, KEY_HINT, "hint", false);

	check_prose(row);
}
