/*
 * decimal_test.c - which texts are numbers, and the edges of their range.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/decimal.h"

static void test_decimal__reads_digits_alone(void **state)
{
	static const char *const wrong[] = {
		"", " 1", "1 ", "+1", "-1", "0x1", "1e3", "1.0", "one", "18446744073709551616"
	};
	uint64_t number = 7;

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_false(fw_decimal_read(wrong[i], 0, UINT64_MAX, &number));
	assert_int_equal(number, 7);
	assert_true(fw_decimal_read("18446744073709551615", 0, UINT64_MAX, &number));
	assert_true(number == UINT64_MAX);
	assert_true(fw_decimal_read("007", 0, 10, &number));
	assert_int_equal(number, 7);
}

static void test_decimal__includes_the_ends_of_its_range(void **state)
{
	uint64_t number;

	(void)state;
	assert_true(fw_decimal_read("1", 1, 60, &number));
	assert_true(fw_decimal_read("60", 1, 60, &number));
	assert_false(fw_decimal_read("0", 1, 60, &number));
	assert_false(fw_decimal_read("61", 1, 60, &number));
}

static void test_decimal__stops_at_a_unit(void **state)
{
	const char *text = "90s";
	uint64_t number;

	(void)state;
	assert_true(fw_decimal_take(&text, &number));
	assert_int_equal(number, 90);
	assert_string_equal(text, "s");
	assert_false(fw_decimal_take(&text, &number));
	assert_string_equal(text, "s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decimal__reads_digits_alone),
		cmocka_unit_test(test_decimal__includes_the_ends_of_its_range),
		cmocka_unit_test(test_decimal__stops_at_a_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
