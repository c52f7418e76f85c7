#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void check_valid(const char *text, size_t expected)
{
	assert_int_equal(fw_utf8_valid(text, strlen(text)), expected);
}

static void test_utf8__accepts_every_length(void **state)
{
	(void)state;
	check_valid("", 0);
	check_valid("plain ascii, longer than a word", 31);
	check_valid("\xc3\xa9", 2);
	check_valid("\xe2\x82\xac", 3);
	check_valid("\xf0\x9f\x98\x80", 4);
	check_valid("aaaaaaaa\xf4\x8f\xbf\xbf", 12);
}

static void test_utf8__stops_at_what_the_standard_forbids(void **state)
{
	(void)state;
	check_valid("ab\x80", 2);             /* continuation alone */
	check_valid("ab\xc0\xaf", 2);         /* overlong */
	check_valid("ab\xe0\x9f\xbf", 2);     /* overlong */
	check_valid("ab\xed\xa0\x80", 2);     /* surrogate */
	check_valid("ab\xf4\x90\x80\x80", 2); /* beyond U+10FFFF */
	check_valid("ab\xf5\x80\x80\x80", 2); /* no such lead byte */
	check_valid("ab\xe2\x82", 2);         /* cut short */
	check_valid("12345678\xff"
		    "12345678",
		    8); /* at a word's start */
}

static void test_utf8__repairs_each_broken_byte(void **state)
{
	char out[64];
	size_t len;

	(void)state;
	len = fw_utf8_repair(out, sizeof(out),
			     "a\xff\xfe"
			     "b",
			     4);
	assert_int_equal(len, 8);
	assert_memory_equal(out,
			    "a\xef\xbf\xbd\xef\xbf\xbd"
			    "b",
			    8);
	assert_int_equal(fw_utf8_valid(out, len), len);
	assert_int_equal(fw_utf8_valid("12345678\0abcdefgh", 17), 8);
	assert_int_equal(fw_utf8_repair(out, sizeof(out), "a\0b", 3), 5);
}

static void test_utf8__repair_never_writes_past_its_room(void **state)
{
	static const char text[] = "\xff\xc3\xa9\xff\xe2\x82\xac";
	char out[32];

	(void)state;
	for (size_t cap = 0; cap < sizeof(out); cap++) {
		memset(out, '#', sizeof(out));
		assert_int_equal(fw_utf8_repair(out, cap, text, sizeof(text) - 1), 11);
		for (size_t i = cap; i < sizeof(out); i++)
			assert_int_equal(out[i], '#');
	}
}

static void test_utf8__cut_keeps_characters_whole(void **state)
{
	(void)state;
	assert_int_equal(fw_utf8_cut("a\xe2\x82\xac", 4, 4), 4);
	assert_int_equal(fw_utf8_cut("a\xe2\x82\xac", 4, 3), 1);
	assert_int_equal(fw_utf8_cut("a\xe2\x82\xac", 4, 2), 1);
	assert_int_equal(fw_utf8_cut("a\xe2\x82\xac", 4, 1), 1);
	assert_int_equal(fw_utf8_cut("a\xe2\x82\xac", 4, 0), 0);
}

static void test_utf8__says_what_is_wrong_and_where(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		const char *fault;
		size_t at;
	} cases[] = {
		{ "ab", 2, NULL, 2 },
		{ "a\0b", 3, "NUL byte", 1 },
		{ "\x89PNG", 4, "invalid start byte", 0 },
		{ "abc\xc0\xaf", 5, "invalid start byte", 3 },
		{ "caf\xe9 au", 7, "invalid continuation byte", 3 },
		{ "\xed\xa0\x80", 3, "invalid continuation byte", 0 },
		{ "\xed\xa0", 2, "invalid continuation byte", 0 },
		{ "a\xe2\x82", 3, "unexpected end of data", 1 },
		{ "\xf4", 1, "unexpected end of data", 0 },
		{ "\xf0\x9f\x98", 3, "unexpected end of data", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t at = 99;
		const char *fault = fw_utf8_fault(cases[i].text, cases[i].len, &at);

		assert_int_equal(at, cases[i].at);
		if (cases[i].fault)
			assert_string_equal(fault, cases[i].fault);
		else
			assert_null(fault);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_utf8__accepts_every_length),
		cmocka_unit_test(test_utf8__stops_at_what_the_standard_forbids),
		cmocka_unit_test(test_utf8__repairs_each_broken_byte),
		cmocka_unit_test(test_utf8__repair_never_writes_past_its_room),
		cmocka_unit_test(test_utf8__cut_keeps_characters_whole),
		cmocka_unit_test(test_utf8__says_what_is_wrong_and_where),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
