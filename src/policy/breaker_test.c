/*
 * breaker_test.c - the rules of the circuit breaker, with a simulated clock.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy/breaker.h"

enum { LIMIT = 3, PAUSE_MS = 1000 };

static int a, b;

static void crash(struct fw_breaker *breaker, uint64_t now_ms)
{
	uint64_t wait_ms;

	assert_true(fw_breaker_admit(breaker, now_ms, &a, &wait_ms));
	fw_breaker_crashed(breaker, now_ms, &a, LIMIT, PAUSE_MS);
}

static void test_breaker__crashes_in_a_row_open_it(void **state)
{
	struct fw_breaker breaker = { 0 };
	uint64_t wait_ms = 0;

	(void)state;
	crash(&breaker, 10);
	crash(&breaker, 11);
	assert_true(fw_breaker_admit(&breaker, 12, &b, &wait_ms));
	crash(&breaker, 13);
	assert_false(fw_breaker_admit(&breaker, 13, &b, &wait_ms));
	assert_int_equal(wait_ms, PAUSE_MS);
	assert_false(fw_breaker_admit(&breaker, 1012, &b, &wait_ms));
	assert_int_equal(wait_ms, 1);
	assert_int_equal(breaker.crashes, LIMIT);
}

static void test_breaker__a_success_resets_the_count(void **state)
{
	struct fw_breaker breaker = { 0 };
	uint64_t wait_ms;

	(void)state;
	for (uint64_t i = 0; i < 10; i++) {
		crash(&breaker, i);
		crash(&breaker, i);
		fw_breaker_worked(&breaker);
	}
	assert_true(fw_breaker_admit(&breaker, 20, &a, &wait_ms));
}

static void open_it(struct fw_breaker *breaker)
{
	for (int i = 0; i < LIMIT; i++)
		crash(breaker, 0);
}

static void test_breaker__after_the_pause_one_trial_call_decides(void **state)
{
	struct fw_breaker breaker = { 0 };
	uint64_t wait_ms = 0;

	(void)state;
	open_it(&breaker);
	assert_true(fw_breaker_admit(&breaker, PAUSE_MS, &a, &wait_ms));
	assert_false(fw_breaker_admit(&breaker, PAUSE_MS, &b, &wait_ms));
	assert_true(wait_ms > 0);
	/* The trial crashes: another pause. */
	fw_breaker_crashed(&breaker, PAUSE_MS, &a, LIMIT, PAUSE_MS);
	assert_false(fw_breaker_admit(&breaker, 2 * PAUSE_MS - 1, &b, &wait_ms));
	/* The next one works: all calls may run. */
	assert_true(fw_breaker_admit(&breaker, 2 * PAUSE_MS, &b, &wait_ms));
	fw_breaker_worked(&breaker);
	assert_true(fw_breaker_admit(&breaker, 2 * PAUSE_MS, &a, &wait_ms));
	assert_true(fw_breaker_admit(&breaker, 2 * PAUSE_MS, &b, &wait_ms));
}

static void test_breaker__a_trial_that_decides_nothing_leaves_room_for_another(void **state)
{
	struct fw_breaker breaker = { 0 };
	uint64_t wait_ms;

	(void)state;
	open_it(&breaker);
	assert_true(fw_breaker_admit(&breaker, PAUSE_MS, &a, &wait_ms));
	fw_breaker_let_go(&breaker, &b);
	assert_false(fw_breaker_admit(&breaker, PAUSE_MS, &b, &wait_ms));
	fw_breaker_let_go(&breaker, &a);
	assert_true(fw_breaker_admit(&breaker, PAUSE_MS, &b, &wait_ms));
	assert_false(fw_breaker_admit(&breaker, PAUSE_MS, &a, &wait_ms));
}

static void test_breaker__no_limit_never_opens(void **state)
{
	struct fw_breaker breaker = { 0 };
	uint64_t wait_ms;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		assert_true(fw_breaker_admit(&breaker, 0, &a, &wait_ms));
		fw_breaker_crashed(&breaker, 0, &a, UINT32_MAX, PAUSE_MS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_breaker__crashes_in_a_row_open_it),
		cmocka_unit_test(test_breaker__a_success_resets_the_count),
		cmocka_unit_test(test_breaker__after_the_pause_one_trial_call_decides),
		cmocka_unit_test(
			test_breaker__a_trial_that_decides_nothing_leaves_room_for_another),
		cmocka_unit_test(test_breaker__no_limit_never_opens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
