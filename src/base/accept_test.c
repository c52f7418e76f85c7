/*
 * Which form a client wants.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/accept.h"

static const char *const types[] = { "text/html", "text/plain", "application/json" };

static size_t choose(const char *accept)
{
	return fw_accept_choose(accept, types, 3);
}

static void test_accept__the_highest_weight_wins_then_the_first(void **state)
{
	(void)state;
	assert_int_equal(choose("text/html;q=0.5, application/json;q=0.9, text/plain;q=0.1"),
			 2);
	assert_int_equal(choose("application/json, text/plain"), 1);
	assert_int_equal(choose("application/json;q=0.123,text/plain;q=0.122"), 2);
	assert_int_equal(choose("TEXT/PLAIN ; charset=utf-8 ; q=1.000"), 1);
	assert_int_equal(choose("text/*"), 0);
}

static void test_accept__the_most_exact_range_decides(void **state)
{
	(void)state;
	assert_int_equal(choose("*/*, text/html;q=0"), 1);
	assert_int_equal(choose("text/*;q=0.1, */*;q=0.9"), 2);
	assert_int_equal(choose("text/html;q=0.3, text/*;q=0.8, */*;q=0.2"), 1);
}

static void test_accept__defaults_to_the_first_if_none_is_accepted(void **state)
{
	static const char *const odd[] = { "",        ",",         ";",
					   "*",       "image/png", "text/htm",
					   "*/*;q=0", "a;q=",      "text/plain;q=0.000",
					   ", ,;q" };

	(void)state;
	assert_int_equal(choose(NULL), 0);
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
		assert_int_equal(choose(odd[i]), 0);
	assert_int_equal(choose("text/plain;q=9"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accept__the_highest_weight_wins_then_the_first),
		cmocka_unit_test(test_accept__the_most_exact_range_decides),
		cmocka_unit_test(test_accept__defaults_to_the_first_if_none_is_accepted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
