/*
 * rate_test.c - the rules of the token bucket, at exact times.
 */
#include "policy/rate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const uint64_t S = 1000000000;

static void test_rate__a_new_bucket_is_full(void **state)
{
	struct fw_rate rate = { 0 };

	(void)state;
	for (int i = 0; i < 5; i++)
		assert_true(fw_rate_take(&rate, 10, 5, 7 * S));
	assert_false(fw_rate_take(&rate, 10, 5, 7 * S));
}

static void test_rate__a_token_is_refilled_exactly_after_its_time(void **state)
{
	struct fw_rate rate = { 0 };

	(void)state;
	assert_true(fw_rate_take(&rate, 10, 1, S));
	assert_int_equal(fw_rate_wait_ns(&rate, 10, 1, S), S / 10);
	assert_false(fw_rate_take(&rate, 10, 1, S + S / 10 - 1));
	assert_int_equal(fw_rate_wait_ns(&rate, 10, 1, S + S / 10 - 1), 1);
	assert_int_equal(fw_rate_wait_ns(&rate, 10, 1, S + S / 10), 0);
	assert_true(fw_rate_take(&rate, 10, 1, S + S / 10));
	assert_false(fw_rate_take(&rate, 10, 1, S + S / 10));
}

static void test_rate__a_refusal_takes_no_token(void **state)
{
	struct fw_rate rate = { 0 };

	(void)state;
	assert_true(fw_rate_take(&rate, 1, 1, S));
	for (uint64_t at = S; at < 2 * S; at += S / 100)
		assert_false(fw_rate_take(&rate, 1, 1, at));
	assert_true(fw_rate_take(&rate, 1, 1, 2 * S));
}

static void test_rate__a_token_that_is_put_back_can_be_taken_again(void **state)
{
	struct fw_rate rate = { 0 };

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_true(fw_rate_take_each(&rate, S, 3, 10 * S));
	assert_false(fw_rate_take_each(&rate, S, 3, 10 * S));
	fw_rate_untake_each(&rate, S);
	assert_true(fw_rate_take_each(&rate, S, 3, 10 * S));
	assert_false(fw_rate_take_each(&rate, S, 3, 10 * S));
}

static void test_rate__idle_time_refills_up_to_the_burst(void **state)
{
	struct fw_rate rate = { 0 };
	int taken = 0;

	(void)state;
	while (fw_rate_take(&rate, 100, 3, S))
		;
	while (fw_rate_take(&rate, 100, 3, 100 * S))
		taken++;
	assert_int_equal(taken, 3);
}

/* At any time, a window of t seconds has at most rate * t + burst. */
static void test_rate__no_window_has_more_than_rate_and_burst(void **state)
{
	enum { COUNT = 20000 };
	static uint64_t moments[COUNT];
	uint64_t seed = 42, now = S;
	struct fw_rate rate = { 0 };
	int taken = 0;

	(void)state;
	for (int i = 0; i < COUNT; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		now += (seed >> 33) % (S / 200);
		if (fw_rate_take(&rate, 50, 7, now))
			moments[taken++] = now;
	}
	assert_true(taken > 1000);
	for (int from = 0; from + 50 < taken; from++)
		assert_true(moments[from + 50] - moments[from] >= (50 - 7) * (S / 50));
}

static void test_rate__extremes_do_not_overflow(void **state)
{
	struct fw_rate rate = { 0 };
	uint64_t now = UINT64_MAX / 4;

	(void)state;
	assert_true(fw_rate_take(&rate, 1000000, 1000000, now));
	assert_true(fw_rate_take(&rate, 1, 1000000, now));
	assert_true(fw_rate_take(&rate, 1000000, 1000000, now + S));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rate__a_new_bucket_is_full),
		cmocka_unit_test(test_rate__a_token_is_refilled_exactly_after_its_time),
		cmocka_unit_test(test_rate__a_refusal_takes_no_token),
		cmocka_unit_test(test_rate__a_token_that_is_put_back_can_be_taken_again),
		cmocka_unit_test(test_rate__idle_time_refills_up_to_the_burst),
		cmocka_unit_test(test_rate__no_window_has_more_than_rate_and_burst),
		cmocka_unit_test(test_rate__extremes_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
