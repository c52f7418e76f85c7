/*
 * linear_test.c - an automaton finds what PCRE2 finds by backtracking, also with expressions and
 * lines on which backtracking takes too many steps.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/memory.h"
#include "test/rounds.h"
#include "tools/code/limits.h"
#include "tools/code/linear.h"

enum { ROUNDS = 20000, EXPRESSION_BYTES = 256, LINE_CHARACTERS = 16, STEPS = 100000 };

static void test_linear__expressions_that_need_recursion_are_refused(void **state)
{
	static const char *const possible[] = {
		"a+b", "^a$", "(?:a|b)*c", "(a)\\.[^]x+]", "(?i)a", "\\bfoo\\b", ""
	};
	static const char *const refused[] = { "(a)\\1",  "(?=a)", "(?<!a)b", "(?>a)",  "a++",
					       "a?+",     "a{2}+", "(?R)",    "\\K",    "\\Qa",
					       "(*UCP)a", "(?x)a", "a\\",     "(?<n>a)" };

	(void)state;
	for (size_t i = 0; i < sizeof possible / sizeof *possible; i++)
		if (!fw_linear_is_possible(possible[i], strlen(possible[i])))
			fail_msg("%s", possible[i]);
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		if (fw_linear_is_possible(refused[i], strlen(refused[i])))
			fail_msg("%s", refused[i]);
	assert_true(fw_linear_is_plain("a+b", 3));
	assert_false(fw_linear_is_plain("^a", 2));
	assert_false(fw_linear_is_plain("a$", 2));
}

static enum fw_linear_answer match(const char *expression, bool ignores_case, const char *line,
				   size_t len, size_t *ret_start)
{
	struct fw_linear *linear = fw_linear_new(expression, strlen(expression), ignores_case);
	enum fw_linear_answer answer;

	if (!linear)
		fail_msg("no automaton: %s", expression);
	answer = fw_linear_match(linear, line, len, ret_start);
	fw_linear_free(linear);
	return answer;
}

/* ---- as by backtracking ---- */

static size_t random_below(size_t limit)
{
	static uint64_t number = 7;

	number = number * 6364136223846793005U + 1442695040888963407U;
	return (size_t)(number >> 33) % limit;
}

struct text {
	char bytes[EXPRESSION_BYTES];
	size_t len;
};

static void put(struct text *to, const char *part)
{
	to->len +=
		(size_t)snprintf(to->bytes + to->len, sizeof to->bytes - to->len, "%s", part);
	assert_true(to->len < sizeof to->bytes);
}

/* Up to three items, of which some are groups of others. */
static void put_items(struct text *to, unsigned depth)
{
	static const char *const items[] = {
		"a",        "b",    "c",    ".",     "\\.",   "\\w",    "\\s",
		"\xc3\xa9", "[ab]", "[^a]", "[]+a]", "[^]+]", "[+\\]]", "[[:digit:]b+]"
	};
	static const char *const often[] = { "",   "",   "",   "+",   "*",     "?",
					     "+?", "*?", "??", "{2}", "{1,3}", "{2,}" };

	for (size_t i = random_below(4); i > 0; i--) {
		if (depth && random_below(3) == 0) {
			put(to, random_below(2) ? "(" : "(?:");
			put_items(to, depth - 1);
			put(to, random_below(3) ? "" : "|b");
			put(to, ")");
		} else {
			put(to, items[random_below(sizeof items / sizeof *items)]);
		}
		put(to, often[random_below(sizeof often / sizeof *often)]);
	}
	if (random_below(8) == 0)
		put(to, random_below(2) ? "\\b" : "\\B");
}

static void make_expression(struct text *to)
{
	static const char *const starts[] = { "", "", "", "^", "\\b", "(?i)" };

	to->len = 0;
	put(to, starts[random_below(sizeof starts / sizeof *starts)]);
	put_items(to, 2);
	if (random_below(5) == 0) {
		put(to, "|");
		put_items(to, 1);
	}
	put(to, random_below(6) ? "" : "$");
}

static void make_line(struct text *to)
{
	static const char *const characters[] = { "a",        "a",        "b",    "c",
						  "A",        "B",        ".",    " ",
						  "+",        "]",        "7",    "x",
						  "\xc3\xa9", "\xc3\xbc", "\xff", "\xc3" };

	to->len = 0;
	put(to, "");
	for (size_t i = random_below(LINE_CHARACTERS); i > 0; i--)
		put(to, characters[random_below(sizeof characters / sizeof *characters)]);
}

/* By backtracking. False: the expression is not valid, or it takes too many steps. */
static bool judge(const struct text *expression, bool ignores_case, const struct text *line,
		  enum fw_linear_answer *ret_answer, size_t *ret_start)
{
	pcre2_match_context *context = pcre2_match_context_create(NULL);
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	size_t at;
	int error, result;
	pcre2_code *code = pcre2_compile((PCRE2_SPTR)expression->bytes, expression->len,
					 PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF |
						 PCRE2_NO_DOTSTAR_ANCHOR |
						 (ignores_case ? PCRE2_CASELESS : 0),
					 &error, &at, NULL);

	(void)pcre2_set_match_limit(context, STEPS);
	result = code ? pcre2_match(code, (PCRE2_SPTR)line->bytes, line->len, 0, 0, data,
				    context)
		      : PCRE2_ERROR_INTERNAL;
	*ret_answer = result >= 0 ? FW_LINEAR_MATCH : FW_LINEAR_NO_MATCH;
	*ret_start = result >= 0 ? pcre2_get_ovector_pointer(data)[0] : SIZE_MAX;
	pcre2_code_free(code);
	pcre2_match_data_free(data);
	pcre2_match_context_free(context);
	return result >= 0 || result == PCRE2_ERROR_NOMATCH;
}

static void test_linear__finds_what_backtracking_finds(void **state)
{
	size_t judged = 0, matches = 0;
	int rounds = test_rounds(ROUNDS);

	(void)state;
	for (int i = 0; i < rounds; i++) {
		bool ignores_case = random_below(3) == 0;
		struct text expression, line;
		enum fw_linear_answer expected, found;
		size_t at = SIZE_MAX, start = SIZE_MAX;

		make_expression(&expression);
		make_line(&line);
		if (!fw_linear_is_possible(expression.bytes, expression.len) ||
		    !judge(&expression, ignores_case, &line, &expected, &at))
			continue;
		found = match(expression.bytes, ignores_case, line.bytes, line.len, &start);
		if (found != expected || start != at)
			fail_msg("%s in \"%s\"%s: %d at %zu, not %d at %zu", expression.bytes,
				 line.bytes, ignores_case ? ", any case" : "", found, start,
				 expected, at);
		judged++;
		matches += found == FW_LINEAR_MATCH;
	}
	assert_true(judged > (size_t)rounds / 2);
	assert_true(matches > judged / 4 && matches < judged);
}

/* ---- where backtracking takes too many steps ---- */

static void test_linear__nested_repetition_ends(void **state)
{
	static const char *const expressions[] = { "(a+)+$",          "(a|a)*[cd]",
						   "(a|aa)+$",        "((a*)*)*[cd]",
						   "a*a*a*a*a*a*a*c", "(?:a+a+)+c",
						   ".*.*.*.*=.*" };
	enum { LEN = 100000 };
	char *line = malloc(LEN);
	size_t start = SIZE_MAX;

	(void)state;
	assert_non_null(line);
	memset(line, 'a', LEN);
	line[LEN - 1] = 'b';
	for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++)
		assert_int_equal(match(expressions[i], false, line, LEN, &start),
				 FW_LINEAR_NO_MATCH);
	assert_int_equal(match("(a+)+b$", false, line, LEN, &start), FW_LINEAR_MATCH);
	assert_int_equal(start, 0);
	free(line);
}

static void test_linear__there_may_be_no_answer(void **state)
{
	static char line[FW_LIMIT_CODE_LINEAR_BYTES + 1];
	size_t start = 7;

	(void)state;
	memset(line, 'a', sizeof line);
	assert_int_equal(match("b", false, line, sizeof line - 1, &start), FW_LINEAR_NO_MATCH);
	assert_int_equal(match("b", false, line, sizeof line, &start), FW_LINEAR_NO_ANSWER);
	/* The match begins behind many places where none does. */
	line[sizeof line - 3] = line[sizeof line - 2] = 'b';
	assert_int_equal(match("a.*?bb|bb", false, line, sizeof line - 1, &start),
			 FW_LINEAR_MATCH);
	assert_int_equal(start, 0);
	start = 7;
	assert_int_equal(match("ac*[^b]*x|bb", false, line, sizeof line - 1, &start),
			 FW_LINEAR_NO_ANSWER);
	assert_int_equal(start, 7);
	assert_null(fw_linear_new("(", 1, false));
}

/* PCRE2 has an allocator of its own. */
static void match_once(void)
{
	struct fw_linear *linear = fw_linear_new("(a+)+$", 6, false);
	size_t start;

	if (linear)
		assert_int_equal(fw_linear_match(linear, "xa", 2, &start), FW_LINEAR_MATCH);
	fw_linear_free(linear);
}

static void test_linear__each_allocation_fails(void **state)
{
	(void)state;
	each_allocation_fails(match_once);
	fw_linear_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_linear__expressions_that_need_recursion_are_refused),
		cmocka_unit_test(test_linear__finds_what_backtracking_finds),
		cmocka_unit_test(test_linear__nested_repetition_ends),
		cmocka_unit_test(test_linear__there_may_be_no_answer),
		cmocka_unit_test(test_linear__each_allocation_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
