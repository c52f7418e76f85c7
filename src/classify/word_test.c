/*
 * word_test.c - how a text is split into words.
 */
#include "classify/word.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The words of `text`, joined by spaces; "|" ends a sentence and ":" a clause. */
static const char *words_of(const char *text)
{
	static char joined[512];
	struct fw_word_reader reader = { .begin = text, .p = text, .end = text + strlen(text) };
	struct fw_word word;
	size_t len = 0;
	uint32_t sentence = 0, clause = 0;

	joined[0] = '\0';
	while (fw_word_next(&reader, &word)) {
		const char *gap = word.sentence != sentence ? "| "
				  : word.clause != clause   ? ": "
							    : "";

		len += (size_t)snprintf(joined + len, sizeof joined - len, "%s%s%.*s",
					len ? " " : "", gap, (int)word.len, word.text);
		sentence = word.sentence;
		clause = word.clause;
	}
	return joined;
}

static void test_word__a_name_is_the_same_words_in_every_style(void **state)
{
	(void)state;
	assert_string_equal(words_of("NotFoundError"), "not found error");
	assert_string_equal(words_of("not_found-error"), "not found error");
	assert_string_equal(words_of("NOT_FOUND_ERROR"), "not found error");
	assert_string_equal(words_of("HTTPError"), "http error");
	assert_string_equal(words_of("the IDs of URLs"), "the ids of urls");
	assert_string_equal(words_of("ECONNREFUSED"), "econnrefused");
}

static void test_word__quotes_do_not_matter(void **state)
{
	(void)state;
	assert_string_equal(words_of("relation (\"orders\") doesn't exist"),
			    "relation orders does not exist");
	assert_string_equal(words_of("can't, cannot, won't"), "can not can not will not");
	assert_string_equal(words_of("\xe2\x80\x98x\xe2\x80\x99 is `y`"), "x is y");
	assert_string_equal(words_of("{\"code\":\"23505\"}"), "code : 23505");
}

static void test_word__pictures_and_dashes_are_not_words(void **state)
{
	(void)state;
	assert_string_equal(words_of("\xe2\x9d\x8c Failed: gone"), "failed : gone");
	assert_string_equal(words_of("\xf0\x9f\x9a\xab Denied"), "denied");
	assert_string_equal(words_of("\xe2\x9a\xa0\xef\xb8\x8f no key"), "no key");
	assert_string_equal(words_of("locked\xe2\x80\x94retry"), "locked retry");
	assert_string_equal(words_of("doesn\xe2\x80\x99t exist"), "does not exist");
	assert_string_equal(words_of("caf\xc3\xa9 \xe6\x9c\xaa found"),
			    "caf\xc3\xa9 \xe6\x9c\xaa found");
	assert_string_equal(words_of("a\xe2"), "a\xe2");
	assert_string_equal(words_of("\xe2\x80"
				     "b"),
			    "\xe2\x80"
			    "b");
}

static void test_word__a_name_in_a_sentence_is_one_word(void **state)
{
	(void)state;
	assert_string_equal(words_of("'key_file' was denied"), "@name was denied");
	assert_string_equal(words_of("\"not_found\""), "not found");
	assert_string_equal(words_of("Missing 'role_name' parameter"),
			    "missing @name parameter");
	assert_string_equal(words_of("Tool not found: \"rate_limit.get\""),
			    "tool not found : @name");
	assert_string_equal(words_of("fetch https://example.com/denied?x=1: 404"),
			    "fetch @name : 404");
	assert_string_equal(words_of("open /srv/locked/a.txt, then"), "open @name then");
	assert_string_equal(words_of("(path=/srv/denied)"), "path @name");
}

static void test_word__what_the_failure_is_called_is_not_a_name(void **state)
{
	(void)state;
	assert_string_equal(words_of("{\"code\": \"not_found\"}"), "code : not found");
	assert_string_equal(words_of("in state 'locked'"), "in state locked");
	assert_string_equal(words_of("Error: 'invalid_grant'"), "error : invalid grant");
	assert_string_equal(words_of("variable 'API_TOKEN' is"), "variable api token is");
	assert_string_equal(words_of("server said 'no such host'"), "server said no such host");
	assert_string_equal(words_of("read/write and/or http:// urls"),
			    "read write and or http urls");
	assert_string_equal(words_of("open 'a"), "open a");
}

static void test_word__contractions_of_names(void **state)
{
	(void)state;
	assert_string_equal(words_of("cant_update user_doesnt_exist"),
			    "can not update user does not exist");
}

static void test_word__a_title_within_a_name_is_not_a_capital(void **state)
{
	const char *text = "Not FileFound";
	struct fw_word_reader reader = { .begin = text, .p = text, .end = text + strlen(text) };
	struct fw_word word;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_true(fw_word_next(&reader, &word));
		assert_int_equal(word.is_capital, i < 2);
	}
}

static void test_word__numbers_keep_sign_and_decimals(void **state)
{
	(void)state;
	assert_string_equal(words_of("MCP error -32602: x"), "mcp error -32602 : x");
	assert_string_equal(words_of("wait 1.5s, or 2.5 s"), "wait 1.5s or 2.5 s");
	assert_string_equal(words_of("a-1 SQLSTATE 42P01"), "a 1 sqlstate 42p01");
}

static void test_word__sentences_end_at_periods_and_lines(void **state)
{
	(void)state;
	assert_string_equal(words_of("Not found. Try example.com"),
			    "not found | try example com");
	assert_string_equal(words_of("a\nb"), "a | b");
	assert_string_equal(words_of("a\\nb\\tc"), "a | b c");
	assert_string_equal(words_of("Error: gone"), "error : gone");
	assert_string_equal(words_of("Failed to get it - not found"),
			    "failed to get it : not found");
	assert_string_equal(words_of("read-only"), "read only");
}

static void test_word__a_long_word_is_cut(void **state)
{
	char text[200];
	struct fw_word_reader reader = { .begin = text, .p = text, .end = text + sizeof text };
	struct fw_word word;

	(void)state;
	memset(text, 'x', sizeof text);
	assert_true(fw_word_next(&reader, &word));
	assert_int_equal(word.len, FW_WORD_BYTES);
	assert_false(fw_word_next(&reader, &word));
}

static void test_word__values(void **state)
{
	const char *text = "1.5";
	struct fw_word_reader reader = { .begin = text, .p = text, .end = text + 3 };
	struct fw_word word;

	(void)state;
	assert_true(fw_word_next(&reader, &word));
	assert_true(word.is_number);
	assert_true(fw_word_value(&word) == 1.5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_word__a_name_is_the_same_words_in_every_style),
		cmocka_unit_test(test_word__quotes_do_not_matter),
		cmocka_unit_test(test_word__pictures_and_dashes_are_not_words),
		cmocka_unit_test(test_word__a_name_in_a_sentence_is_one_word),
		cmocka_unit_test(test_word__what_the_failure_is_called_is_not_a_name),
		cmocka_unit_test(test_word__contractions_of_names),
		cmocka_unit_test(test_word__a_title_within_a_name_is_not_a_capital),
		cmocka_unit_test(test_word__numbers_keep_sign_and_decimals),
		cmocka_unit_test(test_word__sentences_end_at_periods_and_lines),
		cmocka_unit_test(test_word__a_long_word_is_cut),
		cmocka_unit_test(test_word__values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
