#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
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

/* One byte at a time, as the standard's table has it. */
static size_t valid_slowly(const char *text, size_t len)
{
	size_t at = 0;

	while (at < len) {
		size_t step = 0;

		/* Too short for the fast way. */
		for (size_t n = 1; n <= 4 && n <= len - at && !step; n++)
			if (fw_utf8_valid(text + at, n) == n)
				step = n;
		if (!step)
			break;
		at += step;
	}
	return at;
}

static void test_utf8__long_text_is_checked_as_short_text_is(void **state)
{
	static const char *const pieces[] = {
		"a",
		"plain text",
		"\xc3\xa4",
		"\xe2\x82\xac",
		"\xf0\x9f\x98\x80",
		"\xed\x9f\xbf",
		"\xee\x80\x80",
		"\xf4\x8f\xbf\xbf",
		"\xe0\xa0\x80",
		"\xf0\x90\x80\x80",
		"\xc2\x80",
	};
	static const char *const faults[] = {
		"\x80",
		"\xc3",
		"\xc0\xaf",
		"\xc1\xbf",
		"\xe0\x80\x80",
		"\xe0\x9f\xbf",
		"\xed\xa0\x80",
		"\xed\xbf\xbf",
		"\xf0\x80\x80\x80",
		"\xf0\x8f\xbf\xbf",
		"\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80",
		"\xff",
		"\xe2\x82",
		"\xf0\x9f\x98",
		"\xc3\xa4\xa4",
		"\xe2\x82\xac\x80",
	};
	uint32_t random = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		char text[400];
		size_t len = 0;
		size_t at;

		random = random * 1664525 + 1013904223;
		at = (random >> 8) % 300; /* where a fault is put, in half of the rounds */
		while (len < 300) {
			bool is_fault = (random & 0x80000000) && len >= at;
			const char *piece;

			random = random * 1664525 + 1013904223;
			piece = is_fault ? faults[(random >> 16) %
						  (sizeof faults / sizeof *faults)]
					 : pieces[(random >> 16) %
						  (sizeof pieces / sizeof *pieces)];
			memcpy(text + len, piece, strlen(piece));
			len += strlen(piece);
			if (is_fault)
				at = sizeof text;
		}
		if (random & 0x100)
			text[(random >> 16) % len] = '\0';
		/* Also with the end at every place of a block. */
		len -= random % 17;
		assert_int_equal(fw_utf8_valid(text, len), valid_slowly(text, len));
	}
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
		cmocka_unit_test(test_utf8__long_text_is_checked_as_short_text_is),
		cmocka_unit_test(test_utf8__repairs_each_broken_byte),
		cmocka_unit_test(test_utf8__repair_never_writes_past_its_room),
		cmocka_unit_test(test_utf8__cut_keeps_characters_whole),
		cmocka_unit_test(test_utf8__says_what_is_wrong_and_where),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
