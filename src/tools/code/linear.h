/*
 * linear.h - matches a line by an automaton, in a time that is proportional to its length. It is
 * used for lines on which backtracking takes too many steps.
 *
 * PCRE2 backtracks: `a.*b.*c` can take billions of steps on a line of 100 kB, as generated files
 * have them, and the steps of `(a+)+$` double with each character. An automaton follows all
 * alternatives at the same time. It is slower on other lines, and has no back references.
 *
 * The one rule to remember: an answer is exact, but there may be no answer.
 */
#ifndef FW_TOOLS_CODE_LINEAR_H
#define FW_TOOLS_CODE_LINEAR_H

#include <stdbool.h>
#include <stddef.h>

enum fw_linear_answer { FW_LINEAR_NO_MATCH, FW_LINEAR_MATCH, FW_LINEAR_NO_ANSWER };

struct fw_linear;

/* Is the expression one of those that an automaton can match: no assertions but ^ and $, no
 * atomic groups, no back references? In doubt: no. */
bool fw_linear_is_possible(const char *text, size_t len);
/* The same without ^ and $: it matches in a block wherever it matches in a line of it. */
bool fw_linear_is_plain(const char *text, size_t len);

/* For an expression that is possible. NULL: no memory, or it is too large. Belongs to one
 * thread. */
struct fw_linear *fw_linear_new(const char *text, size_t len, bool ignores_case);
void fw_linear_free(struct fw_linear *linear);

/* `ret_start` is where the first match begins. No answer: the line is too long (limits.h), there
 * are too many states, or the match is far behind other places where one could begin. */
enum fw_linear_answer fw_linear_match(struct fw_linear *linear, const char *line, size_t len,
				      size_t *ret_start);

#endif
