/*
 * literal.h - finds texts such that every match of a regular expression contains at least
 * one of them.
 *
 * A search looks for them first, and runs the regular expression only on the lines that
 * have one. So a text must never be required if a match without it is possible. If in
 * doubt, none is returned. search_test.c checks that with random expressions.
 */
#ifndef FW_TOOLS_CODE_LITERAL_H
#define FW_TOOLS_CODE_LITERAL_H

#include <stdbool.h>
#include <stddef.h>

enum { FW_LITERALS_MAX = 8, FW_LITERAL_BYTES = 64 };

struct fw_literal {
	char text[FW_LITERAL_BYTES];
	size_t len;
};

struct fw_literals {
	struct fw_literal list[FW_LITERALS_MAX];
	size_t count; /* 0: none are known */
	/* Every match also contains this text; the length is 0 if there is none. Two
	 * separate texts exclude more files than one of them. */
	struct fw_literal also;
};

/* Finds the texts of a PCRE2 regular expression in UTF-8. It may be invalid. With
 * `ignores_case` the texts are ASCII in lower case, without letters that also match a
 * non-ASCII character. */
void fw_literals_of_regex(const char *pattern, size_t len, bool ignores_case,
			  struct fw_literals *ret_literals);
/* The same for a search of a fixed text. */
void fw_literals_of_text(const char *text, size_t len, bool ignores_case,
			 struct fw_literals *ret_literals);

#endif
