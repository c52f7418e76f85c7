/*
 * circuits_test.c - breakers compared with an engine that fails, lies and forgets. Replicas
 * with a real one are in test/wire/fleet_breakers.mjs.
 */
#include "fleet/circuits.h"

#include "fleet/engine_fake.h"

static struct fw_loop loop;
static struct fw_breaker breaker;
static struct fw_circuits *circuits;

static int setup(void **state)
{
	(void)state;
	fake_engine_begin();
	breaker = (struct fw_breaker){ .crashes = 0 };
	assert_int_equal(fw_loop_init(&loop), 0);
	assert_null(fw_circuits_new(&loop, "f", &fake_engine.first, &circuits));
	assert_null(fw_circuits_add(circuits, "http://upstream", &breaker));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fw_circuits_close(circuits);
	fake_engine_lose();
	fw_circuits_free(circuits);
	fw_loop_close(&loop);
	return 0;
}

static void open_here(void)
{
	fw_breaker_crashed(&breaker, uv_now(&loop.uv), NULL, 1, 10000);
	assert_true(breaker.is_open);
}

static void expect(const char *word)
{
	fw_circuits_beat(circuits);
	assert_memory_equal(fake_engine_next(), "faultwire:f:breaker:", 20);
	assert_non_null(strstr(fake_engine_next(), word));
}

static void test_circuits__an_opening_that_the_engine_missed_is_said_again(void **state)
{
	(void)state;
	open_here();
	expect(" open ");
	fake_engine_lose();
	fake_engine.first.is_up = true;
	expect(" open ");
	fake_engine_fail(false);
	expect(" open ");
	fake_engine_json("[1,10000,1,0]");
	expect(" ask ");
	fake_engine_json("[1,9000,1,0]");
	assert_true(breaker.is_open);
	assert_int_equal(fw_circuits_applied(circuits), 0);
}

static void test_circuits__a_closing_that_the_engine_missed_is_said_again(void **state)
{
	(void)state;
	open_here();
	expect(" open ");
	fake_engine_json("[1,10000,1,0]");
	fw_breaker_worked(&breaker);
	expect(" close ");
	fake_engine_fail(false);
	expect(" close ");
	fake_engine_json("[0,0,0,0]");
	expect(" ask ");
	fake_engine_json("[0,0,0,0]");
	assert_false(breaker.is_open);
}

static void test_circuits__what_another_replica_says_is_applied(void **state)
{
	(void)state;
	expect(" ask ");
	fake_engine_json("[1,60000,7,0]");
	assert_true(breaker.is_open);
	assert_int_equal(breaker.crashes, 7);
	assert_true(breaker.until_ms >= uv_now(&loop.uv) + 60000);
	/* The pause is over, and another one tries the upstream. */
	expect(" ask ");
	fake_engine_json("[1,0,7,0]");
	assert_true(breaker.until_ms > uv_now(&loop.uv));
	/* This one is to try it. */
	expect(" ask ");
	fake_engine_json("[1,0,7,1]");
	assert_true(breaker.until_ms <= uv_now(&loop.uv));
	expect(" ask ");
	fake_engine_json("[0,0,0,0]");
	assert_false(breaker.is_open);
	assert_int_equal(fw_circuits_applied(circuits), 2);
}

static void test_circuits__a_trial_in_progress_decides(void **state)
{
	(void)state;
	expect(" ask ");
	fake_engine_json("[1,0,3,1]");
	breaker.trial = &breaker;
	expect(" ask ");
	fake_engine_json("[0,0,0,0]");
	assert_true(breaker.is_open);
}

static void test_circuits__a_change_during_the_question_is_not_overwritten(void **state)
{
	(void)state;
	expect(" ask ");
	open_here();
	fake_engine_json("[0,0,0,0]");
	assert_true(breaker.is_open);
	expect(" open ");
	fake_engine_json("[1,10000,1,0]");
}

static void test_circuits__replies_that_are_none_change_nothing(void **state)
{
	static const char *const wrong[] = {
		"[1,-1,1,0]", "[1,2147483648,1,0]", "[1,1,-1,0]", "[1,1,1]",
		"[]",         "[\"1\",1,1,1]",      "null",       "1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		expect(" ask ");
		fake_engine_json(wrong[i]);
	}
	assert_false(breaker.is_open);
	/* One question at a time. */
	expect(" ask ");
	fw_circuits_beat(circuits);
	assert_int_equal(fake_engine.sent, fake_engine.answered + 1);
}

static void use(void)
{
	struct fw_circuits *made = NULL;
	fw_error *err;

	fake_engine_begin();
	err = fw_circuits_new(&loop, "f", &fake_engine.first, &made);
	if (!err)
		err = fw_circuits_add(made, "http://upstream", &breaker);
	if (!err)
		fw_circuits_beat(made);
	fw_error_free(err);
	fw_circuits_close(made);
	fake_engine_lose();
	fw_circuits_free(made);
}

static void test_circuits__each_allocation_may_fail(void **state)
{
	(void)state;
	each_allocation_fails(use);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_circuits__##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_opening_that_the_engine_missed_is_said_again),
		TEST(a_closing_that_the_engine_missed_is_said_again),
		TEST(what_another_replica_says_is_applied),
		TEST(a_trial_in_progress_decides),
		TEST(a_change_during_the_question_is_not_overwritten),
		TEST(replies_that_are_none_change_nothing),
		TEST(each_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
