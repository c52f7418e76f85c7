/*
 * decide_test.c - the decision by itself: delays, limits, and clients that do not return
 * in step. test/contract/decide_table_test.c walks all codes in all contracts.
 */
#include <faultwire/decide.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <faultwire/raise.h>

#include "policy/backoff.h"

static fw_decision decide(fw_error *err, fw_decide_options how)
{
	fw_decision decision = { .action = FW_ACTION_COUNT };

	assert_null(fw_decide(err, &how, &decision));
	fw_error_free(err);
	assert_non_null(decision.reason);
	return decision;
}

static fw_decide_options attempt(unsigned number)
{
	fw_decide_options how = FW_DECIDE_OPTIONS_INIT;

	how.attempt = number;
	how.random = 0.5;
	return how;
}

static fw_error *temporary(double retry_after)
{
	fw_error *err = fw_raise_dependency_unavailable("issue tracker");

	if (retry_after >= 0)
		fw_error_set_retry_after(err, retry_after);
	return err;
}

static void test_decide__the_delay_of_the_server_is_used(void **state)
{
	fw_decision decision = decide(temporary(7.5), attempt(1));

	(void)state;
	assert_int_equal(decision.action, FW_ACTION_RETRY);
	assert_true(decision.delay == 7.5);
}

static void test_decide__without_one_the_range_doubles_up_to_the_limit(void **state)
{
	static const double limits[] = { 1, 2, 4, 8, 16, 30, 30, 30 };

	(void)state;
	for (unsigned i = 0; i < sizeof limits / sizeof *limits; i++) {
		fw_decide_options how = attempt(i + 1);

		how.attempts_max = 100;
		assert_true(decide(temporary(-1), how).delay == limits[i] / 2);
	}
	assert_true(fw_backoff(UINT32_MAX, 1, 30, 0) == 0);
	assert_true(fw_backoff(UINT32_MAX, 1, 30, 0.999) < 30);
	assert_true(fw_backoff(1, 1, 30, 17) == 0.5);
}

static void test_decide__three_attempts_are_made(void **state)
{
	(void)state;
	assert_int_equal(decide(temporary(-1), attempt(1)).action, FW_ACTION_RETRY);
	assert_int_equal(decide(temporary(-1), attempt(2)).action, FW_ACTION_RETRY);
	assert_int_equal(decide(temporary(-1), attempt(3)).action, FW_ACTION_LATER);
}

static void test_decide__a_delay_beyond_the_deadline_is_not_begun(void **state)
{
	fw_decide_options how = attempt(1);

	(void)state;
	how.has_deadline = true;
	how.left = 5;
	assert_int_equal(decide(temporary(4), how).action, FW_ACTION_RETRY);
	assert_int_equal(decide(temporary(6), how).action, FW_ACTION_LATER);
	assert_true(decide(temporary(6), how).delay == 6);
	assert_int_equal(decide(temporary(301), attempt(1)).action, FW_ACTION_LATER);
}

static void test_decide__input_is_corrected_once(void **state)
{
	fw_decide_options how = attempt(2);

	(void)state;
	assert_int_equal(decide(fw_raise_input_missing_field("path"), how).action,
			 FW_ACTION_FIX);
	how.fixes_made = 1;
	assert_int_equal(decide(fw_raise_input_missing_field("path"), how).action,
			 FW_ACTION_GIVE_UP);
}

static void test_decide__what_was_sent_is_repeated_only_if_idempotent(void **state)
{
	fw_decide_options how = attempt(1);
	fw_error *err = temporary(1);

	(void)state;
	fw_error_set_delivery(err, FW_SENT);
	assert_int_equal(decide(err, how).action, FW_ACTION_CHECK);
	how.is_idempotent = true;
	err = temporary(1);
	fw_error_set_delivery(err, FW_SENT);
	assert_int_equal(decide(err, how).action, FW_ACTION_RETRY);
	how.is_idempotent = false;
	err = temporary(1);
	fw_error_set_delivery(err, FW_NOT_SENT);
	assert_int_equal(decide(err, how).action, FW_ACTION_RETRY);
}

static void test_decide__holders_of_a_conflict_are_asked(void **state)
{
	fw_error *err = fw_row_raise_example(fw_registry_find(NULL, "resource.conflict"));

	(void)state;
	fw_error_set_retry(err, FW_RETRY_BACKOFF);
	fw_error_add_json(err, "conflicts", "[{\"held_by\":\"a\"}]", 17);
	assert_int_equal(decide(err, attempt(1)).action, FW_ACTION_RESOLVE);
}

static void test_decide__a_struct_of_another_size_is_refused(void **state)
{
	fw_decide_options how = FW_DECIDE_OPTIONS_INIT;
	fw_error *err = temporary(-1), *misuse;
	fw_decision decision;

	(void)state;
	how.struct_size = 3;
	misuse = fw_decide(err, &how, &decision);
	assert_int_equal(fw_error_code(misuse), FW_INTERNAL_API_MISUSE);
	fw_error_free(misuse);
	assert_null(fw_decide(err, NULL, &decision));
	assert_int_equal(decision.action, FW_ACTION_RETRY);
	fw_error_free(err);
}

static void test_action__each_has_a_name(void **state)
{
	(void)state;
	for (int i = 0; i < FW_ACTION_COUNT; i++)
		assert_non_null(fw_action_name((fw_action)i));
	assert_null(fw_action_name(FW_ACTION_COUNT));
}

/* ---- a virtual clock ---- */

enum { CLIENTS = 1000, MILLISECONDS = 30000, STEP_MS = 10 };

static uint32_t random_state = 1;

static double next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state / 4294967296.0;
}

/* The most clients that return within the same 10 ms, after `attempts` failures. */
static unsigned busiest_step(unsigned attempts, bool with_jitter)
{
	static unsigned returned[MILLISECONDS / STEP_MS + 1];
	unsigned most = 0;

	memset(returned, 0, sizeof returned);
	for (int client = 0; client < CLIENTS; client++) {
		double now = 0;

		for (unsigned i = 1; i <= attempts; i++) {
			fw_decide_options how = attempt(i);
			fw_decision decision;

			how.attempts_max = attempts + 1;
			how.random = with_jitter ? next_random() : 0.5;
			decision = decide(temporary(-1), how);
			assert_int_equal(decision.action, FW_ACTION_RETRY);
			now += decision.delay;
		}
		assert_true(now * 1000 < MILLISECONDS);
		returned[(size_t)(now * 1000 / STEP_MS)]++;
	}
	for (size_t i = 0; i < sizeof returned / sizeof *returned; i++)
		if (returned[i] > most)
			most = returned[i];
	return most;
}

static void test_decide__a_thousand_clients_do_not_return_in_step(void **state)
{
	(void)state;
	/* Without jitter they would. */
	assert_int_equal(busiest_step(1, false), CLIENTS);
	/* A second has 100 steps: 10 clients each on average, and never three times that. */
	assert_true(busiest_step(1, true) <= 30);
	assert_true(busiest_step(2, true) <= 20);
	assert_true(busiest_step(3, true) <= 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decide__the_delay_of_the_server_is_used),
		cmocka_unit_test(test_decide__without_one_the_range_doubles_up_to_the_limit),
		cmocka_unit_test(test_decide__three_attempts_are_made),
		cmocka_unit_test(test_decide__a_delay_beyond_the_deadline_is_not_begun),
		cmocka_unit_test(test_decide__input_is_corrected_once),
		cmocka_unit_test(test_decide__what_was_sent_is_repeated_only_if_idempotent),
		cmocka_unit_test(test_decide__holders_of_a_conflict_are_asked),
		cmocka_unit_test(test_decide__a_struct_of_another_size_is_refused),
		cmocka_unit_test(test_action__each_has_a_name),
		cmocka_unit_test(test_decide__a_thousand_clients_do_not_return_in_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
