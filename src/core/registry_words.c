/*
 * registry_words.c - checks the wording of a row.
 *
 * The rules are those of fwgen_words.c for the built-in rows, so that messages of a
 * user's codes are consistent with ours. They are implemented twice because fwgen
 * must not use the library that it generates.
 */
#include "core/registry_row.h"

#include <string.h>
#include <strings.h>

enum { TITLE_MAX = 40, MESSAGE_MAX = 120, HINT_MAX = 200, EXPLANATION_MAX = 2000 };

static bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_letter(char c)
{
	return is_lower(c) || is_upper(c);
}

static bool is_word_char(char c)
{
	return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
}

static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = text; *at; at++)
		if (strncasecmp(at, word, len) == 0 && !is_word_char(at[len]) &&
		    (at == text || !is_word_char(at[-1])))
			return true;
	return false;
}

static bool is_one_of(const char *text, size_t len, const char *const *list)
{
	for (; *list; list++)
		if (strlen(*list) == len && strncasecmp(text, *list, len) == 0)
			return true;
	return false;
}

/* "can't", "it's", but not a possessive such as "caller's". */
static bool is_contraction(const char *text, const char *apostrophe)
{
	static const char *const endings[] = { "t", "re", "ll", "ve", "d", "m", NULL };
	static const char *const with_is[] = { "it",   "that", "there", "here",
					       "what", "let",  NULL };
	const char *start = apostrophe;
	size_t after = 0;

	while (start > text && is_letter(start[-1]))
		start--;
	while (is_lower(apostrophe[1 + after]))
		after++;
	if (start == apostrophe)
		return false;
	if (after == 1 && apostrophe[1] == 's')
		return is_one_of(start, (size_t)(apostrophe - start), with_is);
	return is_one_of(apostrophe + 1, after, endings);
}

static void check_banned(struct fw_row_reader *reader, const char *what, const char *text,
			 bool may_say_unknown)
{
	static const char *const banned[] = { "unable", "bad", "illegal", "unknown" };

	for (size_t i = 0; i < sizeof(banned) / sizeof(banned[0]); i++) {
		if (may_say_unknown && strcmp(banned[i], "unknown") == 0)
			continue;
		if (has_word(text, banned[i]))
			fw__row_fault(reader, "%s uses the word \"%s\": say what is the case",
				      what, banned[i]);
	}
	if (strstr(text, "error occurred"))
		fw__row_fault(reader, "%s says \"error occurred\": say which", what);
	if (strstr(text, "()"))
		fw__row_fault(reader, "%s names a function: say what it was to do", what);
	for (const char *at = text; (at = strchr(at, '\'')); at++) {
		if (is_contraction(text, at)) {
			fw__row_fault(reader, "%s has a contraction: write it out", what);
			break;
		}
	}
}

static void check_length(struct fw_row_reader *reader, const char *what, const char *text,
			 size_t most)
{
	if (strlen(text) > most)
		fw__row_fault(reader, "%s is longer than %zu bytes", what, most);
}

static bool ends_in_period(const char *text)
{
	return *text && text[strlen(text) - 1] == '.';
}

static bool begins_in_lower_case(const char *message)
{
	static const char *const proper_nouns[] = { "HTTP", "JSON", "Rust", "TLS", NULL };
	size_t first = strcspn(message, " ");

	if (is_lower(*message) || *message == '{')
		return true;
	for (int i = 0; proper_nouns[i]; i++)
		if (strlen(proper_nouns[i]) == first &&
		    strncmp(message, proper_nouns[i], first) == 0)
			return true;
	return false;
}

void fw__row_check_words(struct fw_row_reader *reader, const fw_row *row)
{
	if (*row->title) {
		check_length(reader, "title", row->title, TITLE_MAX);
		if (!is_upper(*row->title))
			fw__row_fault(reader, "title does not begin in upper case");
	}
	if (*row->message) {
		check_length(reader, "message", row->message, MESSAGE_MAX);
		if (ends_in_period(row->message))
			fw__row_fault(reader, "message ends in a period: leave it out");
		if (!begins_in_lower_case(row->message))
			fw__row_fault(reader, "message does not begin in lower case");
		check_banned(reader, "message", row->message, false);
	}
	if (*row->hint) {
		check_length(reader, "hint", row->hint, HINT_MAX);
		if (!is_upper(*row->hint))
			fw__row_fault(reader, "hint does not begin in upper case");
		if (!ends_in_period(row->hint))
			fw__row_fault(reader, "hint does not end in a period");
		check_banned(reader, "hint", row->hint, false);
	}
	check_length(reader, "explanation", row->explanation, EXPLANATION_MAX);
	check_banned(reader, "explanation", row->explanation, true);
}
