/*
 * quota_test.c - limits with an engine that refuses, forgets and lies. Replicas with a real
 * one are in test/wire/fleet_limits.mjs, one without any in fleet_test.c.
 */
#include "fleet/quota.h"

#include "fleet/engine_fake.h"

static const struct fw_quota_limits two_at_once = { .concurrent = 2 };
static const struct fw_quota_limits slow = { .every_ns = UINT64_C(1000000000000), .burst = 3 };

static struct fw_loop loop;
static struct fw_quotas *quotas;
static struct fw_quota quota;
static size_t granted, refused;

static void on_decided(void *ctx, struct fw_quota *of, const struct fw_quota_answer *answer)
{
	(void)ctx;
	(void)of;
	granted += answer->granted;
	refused += answer->count - answer->granted;
}

static fw_error *make(uint32_t lease_ms)
{
	const struct fw_quotas_options options = { .loop = &loop,
						   .fleet = "f",
						   .engine = &fake_engine.first,
						   .lease_ms = lease_ms,
						   .decided = on_decided };

	granted = refused = 0;
	quota = (struct fw_quota){ .quotas = NULL };
	fake_engine_begin();
	return fw_quotas_new(&options, &quotas);
}

static void end(void)
{
	fake_engine_lose();
	fw_quota_clear(&quota);
	fw_quotas_close(quotas);
	(void)uv_run(&loop.uv, UV_RUN_NOWAIT);
	fw_quotas_free(quotas);
	quotas = NULL;
}

static int setup(void **state)
{
	(void)state;
	assert_int_equal(fw_loop_init(&loop), 0);
	assert_null(make(0));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	end();
	fw_loop_close(&loop);
	return 0;
}

/* True: it was decided at once. */
static bool take(const struct fw_quota_limits *limits)
{
	struct fw_quota_answer answer = { .count = 0 };

	if (!fw_quota_take(quotas, &quota, "ada", limits, &answer))
		return false;
	on_decided(NULL, &quota, &answer);
	return true;
}

static void expect_given(const char *tokens_and_calls)
{
	char text[64];

	(void)snprintf(text, sizeof text, " 0 %s ", tokens_and_calls);
	assert_memory_equal(fake_engine_next(), "faultwire:f:bucket:", 19);
	assert_non_null(strstr(fake_engine_next(), "faultwire:f:calls:"));
	assert_non_null(strstr(fake_engine_next(), text));
}

static void run_one(void)
{
	assert_false(take(&two_at_once));
	fake_engine_json("[1,1,0]");
	assert_int_equal(quota.running, 1);
}

/* An engine without memory refuses writes, and the call was counted from then on. */
static void test_quota__an_end_that_the_engine_refused_is_reported_again(void **state)
{
	(void)state;
	run_one();
	fw_quota_end(&quota);
	expect_given("0 1");
	fake_engine_fail(false);
	/* Not at once, which would be a busy loop. */
	assert_string_equal(fake_engine_next(), "");
	fw_quotas_beat(quotas);
	fake_engine_json("[1]");
	expect_given("0 1");
	fake_engine_json("[0]");
	fw_quotas_beat(quotas);
	fake_engine_json("[1]");
	assert_string_equal(fake_engine_next(), "");
	assert_false(fw_quota_is_busy(&quota));
}

static void test_quota__an_end_without_its_script_is_sent_again(void **state)
{
	(void)state;
	run_one();
	fw_quota_end(&quota);
	expect_given("0 1");
	fake_engine_fail(true);
	expect_given("0 1");
	fake_engine_json("[0]");
	assert_string_equal(fake_engine_next(), "");
}

static void test_quota__a_call_without_its_script_is_asked_about_again(void **state)
{
	(void)state;
	assert_false(take(&two_at_once));
	fake_engine_fail(true);
	assert_int_equal(granted + refused, 0);
	fake_engine_json("[1,1,0]");
	assert_int_equal(granted, 1);
	fw_quota_end(&quota);
}

static void test_quota__a_reply_that_was_not_asked_for_is_not_used(void **state)
{
	static const char *const wrong[] = { "[2,1,0]", "[1,2,0]", "[-1,1,0]", "-1", "\"OK\"" };

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		assert_false(take(&slow));
		fake_engine_json(wrong[i]);
	}
	/* This replica alone has decided. */
	assert_int_equal(granted, 3);
	assert_int_equal(refused, 2);
	assert_int_equal(fw_quotas_decisions(quotas, FW_QUOTA_LOCAL), 5);
	assert_int_equal(fw_quotas_decisions(quotas, FW_QUOTA_SHARED), 0);
	while (granted--)
		fw_quota_end(&quota);
	granted = 0;
}

static void test_quota__calls_that_wait_are_decided_when_the_engine_goes(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++)
		assert_false(take(&slow));
	assert_int_equal(fake_engine.sent, FW_QUOTA_ASKS);
	fake_engine_lose();
	assert_int_equal(granted, 3);
	assert_int_equal(refused, 7);
	assert_false(take(&slow) && granted > 3);
	while (granted--)
		fw_quota_end(&quota);
	granted = 0;
	assert_false(fw_quota_is_busy(&quota));
}

static void test_quota__an_empty_bucket_is_not_asked_about_again(void **state)
{
	(void)state;
	assert_false(take(&slow));
	fake_engine_json("[0,1,10000000]");
	assert_int_equal(refused, 1);
	assert_true(take(&slow));
	assert_int_equal(refused, 2);
	assert_int_equal(fake_engine.sent, 1);
}

static void lease_and_return(void)
{
	assert_int_equal(fw_loop_init(&loop), 0);
	fw_error_free(make(10));
	if (quotas) {
		if (!take(&two_at_once) && fake_engine_next()[0])
			fake_engine_json("[1,1,0]");
		while (granted) {
			fw_quota_end(&quota);
			granted--;
		}
		fw_quotas_beat(quotas);
		fw_quotas_return(quotas);
		end();
	}
	fw_loop_close(&loop);
}

static void test_quota__each_allocation_may_fail(void **state)
{
	(void)state;
	each_allocation_fails(lease_and_return);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_quota__##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_end_that_the_engine_refused_is_reported_again),
		TEST(an_end_without_its_script_is_sent_again),
		TEST(a_call_without_its_script_is_asked_about_again),
		TEST(a_reply_that_was_not_asked_for_is_not_used),
		TEST(calls_that_wait_are_decided_when_the_engine_goes),
		TEST(an_empty_bucket_is_not_asked_about_again),
		cmocka_unit_test(test_quota__each_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
