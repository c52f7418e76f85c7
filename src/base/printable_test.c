/* printable_test.c - which characters of others are shown on a terminal. */
#include "base/printable.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_printable__controls_and_invisible_characters_are_not_shown(void **state)
{
	static const char *const hidden[] = {
		"\033",         "\n",
		"\x7f",         "\xc2\x80",
		"\xc2\x9b",     "\xc2\x9f",
		"\xc2\xad",     "\xd8\x9c",
		"\xe2\x80\x8b", "\xe2\x80\x8d",
		"\xe2\x80\x8e", "\xe2\x80\x8f",
		"\xe2\x80\xa8", "\xe2\x80\xa9",
		"\xe2\x80\xaa", "\xe2\x80\xae",
		"\xe2\x81\xa0", "\xe2\x81\xa6",
		"\xe2\x81\xa9", "\xef\xbb\xbf",
		"\xef\xbf\xb9", "\xf3\xa0\x81\x81",
		"\xe1\xa0\x8e", "\xc0\x80",
		"\xff",         "\xed\xa0\x80",
		"\xe2\x80",
	};

	(void)state;
	for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
		assert_int_equal(fw_printable(hidden[i], strlen(hidden[i])), 0);
		assert_true(fw_printable_step(hidden[i], strlen(hidden[i])) >= 1);
	}
	assert_int_equal(fw_printable("", 0), 0);
	assert_int_equal(fw_printable_step("", 0), 0);
	assert_int_equal(fw_printable("\0x", 2), 0);
	assert_int_equal(fw_printable_step("\xe2\x80\xae!", 4), 3);
}

static void test_printable__text_of_any_language_is_shown(void **state)
{
	static const char *const shown[] = {
		"a",
		" ",
		"~",
		"\xc2\xa0",
		"\xc3\xa9",
		"\xd7\x90",
		"\xd8\xa7",
		"\xe0\xa4\x95",
		"\xe3\x81\x82",
		"\xe6\xbc\xa2",
		"\xf0\x9f\x94\x91",
		"\xe2\x80\x93",
		"\xef\xbf\xbd",
	};

	(void)state;
	for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
		assert_int_equal(fw_printable(shown[i], strlen(shown[i])), strlen(shown[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_printable__controls_and_invisible_characters_are_not_shown),
		cmocka_unit_test(test_printable__text_of_any_language_is_shown),
	};

	return cmocka_run_group_tests_name("printable", tests, NULL, NULL);
}
