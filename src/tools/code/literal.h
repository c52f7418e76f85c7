/*
 * literal.h - texts of which every match of a regular expression contains at least one.
 *
 * A search looks for them first, and runs the regular expression only on the lines that
 * have one. So it must never name a text that a match can do without; if in doubt,
 * there is none. literal_test.c checks that with random expressions.
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
	/* Every match contains this one, too; the length is 0 if there is none. Two texts
	 * that are not next to each other exclude more files than one of them. */
	struct fw_literal also;
};

/* Of a regular expression of PCRE2 in UTF-8, valid or not. With `ignores_case` the texts are
 * ASCII in lower case, without letters that also match one beyond ASCII. */
void fw_literals_of_regex(const char *pattern, size_t len, bool ignores_case,
			  struct fw_literals *ret_literals);
/* Of a text that is to be found as it is. */
void fw_literals_of_text(const char *text, size_t len, bool ignores_case,
			 struct fw_literals *ret_literals);

#endif
