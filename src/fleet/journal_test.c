/*
 * journal_test.c - parts of the engine's replies, which may be anything, and the words of
 * commands. What needs an engine is in test/wire/fleet_streams.mjs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "fleet/journal_impl.h"

static redisReply text_of(char *bytes, size_t len)
{
	return (redisReply){ .type = REDIS_REPLY_STRING, .str = bytes, .len = len };
}

static redisReply text(char *bytes)
{
	return text_of(bytes, strlen(bytes));
}

static void test_journal__a_number_is_read_up_to_the_first_other_character(void **state)
{
	static const struct {
		const char *text;
		bool is_number;
		uint64_t number;
	} cases[] = {
		{ "0", true, 0 },
		{ "12-0", true, 12 },
		{ "999999999999999999", true, 999999999999999999U },
		{ "1000000000000000000", false, 0 },
		{ "", false, 0 },
		{ "-1", false, 0 },
		{ "x1", false, 0 },
	};
	redisReply other = { .type = REDIS_REPLY_INTEGER, .integer = 1 };
	uint64_t number = 0;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char bytes[32];
		redisReply reply;

		memcpy(bytes, cases[i].text, strlen(cases[i].text) + 1);
		reply = text(bytes);
		assert_int_equal(fw_journal_read_number(&reply, &number), cases[i].is_number);
		if (cases[i].is_number)
			assert_int_equal(number, cases[i].number);
	}
	assert_false(fw_journal_read_number(&other, &number));
	assert_false(fw_journal_read_number(NULL, &number));
}

static void test_journal__a_change_is_of_a_known_kind_and_only_a_resource_has_a_uri(
	void **state)
{
	static const struct {
		const char kind[3], *uri;
		size_t kind_len, uri_len;
		int change; /* -1: not one */
	} cases[] = {
		{ "t", "", 1, 0, FW_CHANGE_TOOLS },
		{ "p", "", 1, 0, FW_CHANGE_PROMPTS },
		{ "r", "", 1, 0, FW_CHANGE_RESOURCES },
		{ "u", "file:///a", 1, 9, FW_CHANGE_RESOURCE },
		{ "u", "", 1, 0, -1 },
		{ "t", "file:///a", 1, 9, -1 },
		{ "x", "", 1, 0, -1 },
		{ "tp", "", 2, 0, -1 },
		{ "", "", 0, 0, -1 },
		{ "", "", 1, 0, -1 }, /* a NUL */
		{ "u", "a\0b", 1, 3, -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char kind_bytes[3], uri_bytes[16] = "";
		redisReply kind = text_of(kind_bytes, cases[i].kind_len);
		redisReply uri = text_of(uri_bytes, cases[i].uri_len);
		enum fw_change change = FW_CHANGE_TOOLS;
		bool is_change;

		memcpy(kind_bytes, cases[i].kind, sizeof kind_bytes);
		memcpy(uri_bytes, cases[i].uri, cases[i].uri_len);
		is_change = fw_journal_read_change(&kind, &uri, &change);
		assert_int_equal(is_change, cases[i].change >= 0);
		if (is_change)
			assert_int_equal(change, cases[i].change);
	}
}

static void test_words__texts_numbers_and_keys_are_in_order(void **state)
{
	static const char *const expected[] = { "SET", "faultwire:f:alive:me", "PX", "1",
						"0",   "18446744073709551615" };
	struct fw_words words;

	(void)state;
	fw_words_clear(&words);
	fw_words_text(&words, "SET");
	fw_words_key(&words, "f", "alive:", "me");
	FW_WORDS_TEXTS(&words, "PX", "1");
	fw_words_number(&words, 0);
	fw_words_number(&words, UINT64_MAX);
	assert_int_equal(words.count, sizeof expected / sizeof *expected);
	for (size_t i = 0; i < words.count; i++) {
		assert_int_equal(words.list[i].len, strlen(expected[i]));
		assert_memory_equal(words.list[i].text, expected[i], words.list[i].len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_journal__a_number_is_read_up_to_the_first_other_character),
		cmocka_unit_test(
			test_journal__a_change_is_of_a_known_kind_and_only_a_resource_has_a_uri),
		cmocka_unit_test(test_words__texts_numbers_and_keys_are_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
