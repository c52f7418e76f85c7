/*
 * fleet_test.c - where an engine is, and what a fleet does without one. Everything that
 * needs an engine is in test/wire/fleet_*.mjs.
 */
#include "fleet/fleet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <faultwire/codes.h>

#include "base/loop.h"
#include "fleet/quota.h"
#include "test/memory.h"

static void test_fleet__a_url_names_host_port_database_and_login(void **state)
{
	struct fw_engine_url url;

	(void)state;
	assert_null(fw_engine_url_read("x", "redis://limits:a%40b%3Ac@engine.example:7000/3",
				       &url));
	assert_string_equal(url.places[0].host, "engine.example");
	assert_int_equal(url.places[0].port, 7000);
	assert_int_equal(url.db, 3);
	assert_string_equal(url.user, "limits");
	assert_string_equal(url.password, "a@b:c");
	assert_string_equal(url.places[0].name, "engine.example:7000");
	assert_null(fw_engine_url_read("x", "valkey://[::1]", &url));
	assert_string_equal(url.places[0].host, "::1");
	assert_int_equal(url.places[0].port, FW_ENGINE_PORT);
	assert_int_equal(url.db, 0);
	assert_string_equal(url.password, "");
	assert_null(fw_engine_url_read("x", "redis://:secret@h/", &url));
	assert_string_equal(url.user, "");
	assert_string_equal(url.password, "secret");
	assert_int_equal(url.place_count, 1);
	assert_null(fw_engine_url_read("x", "redis://:p@one:1,[::2]:2,three/4", &url));
	assert_int_equal(url.place_count, 3);
	assert_string_equal(url.places[1].host, "::2");
	assert_string_equal(url.places[2].name, "three:6379");
	assert_int_equal(url.db, 4);
}

static void test_fleet__a_url_that_is_not_valid_is_not_repeated(void **state)
{
	static const char *const texts[] = {
		"",
		"redis://",
		"redis:///0",
		"http://u:secretword@h/",
		"redis://secretword@h",
		"redis://u:secretword@h:0",
		"redis://u:secretword@h:65536",
		"redis://u:secretword@h:1x",
		"redis://u:secretword@h:1/a",
		"redis://u:secretword@h:1/99999999",
		"redis://u:secretword%@h:1",
		"redis://u:secretword%0g@h:1",
		"redis://u:secretword%00@h:1",
		"redis://u:secretword@[::1",
		"redis://u:secretword@[::1]x",
		"redis://u:secretword@h:1/0?x=1",
		"redis://u:secret word@h:1/0",
		"redis://u:@h:1/0",
		"redis://u:secretword@h:1,/0",
		"redis://u:secretword@,h:1/0",
		"redis://u:secretword@a,b,c,d,e,f,g,h,i/0",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct fw_engine_url url = { .places = { { .port = 7 } } };
		fw_error *err = fw_engine_url_read("--limits-store", texts[i], &url);

		assert_non_null(err);
		assert_int_equal(fw_error_code(err), FW_INPUT_INVALID_VALUE);
		assert_null(strstr(fw_error_message(err), "secret"));
		assert_int_equal(url.places[0].port, 7);
		fw_error_free(err);
	}
}

static void test_fleet__names_are_parts_of_keys(void **state)
{
	char name[FW_FLEET_NAME_MAX + 2];

	(void)state;
	assert_true(fw_fleet_name_is_valid("prod-eu.1_a"));
	assert_false(fw_fleet_name_is_valid(""));
	assert_false(fw_fleet_name_is_valid("a:b"));
	assert_false(fw_fleet_name_is_valid("a b"));
	memset(name, 'a', sizeof name);
	name[FW_FLEET_NAME_MAX + 1] = '\0';
	assert_false(fw_fleet_name_is_valid(name));
	name[FW_FLEET_NAME_MAX] = '\0';
	assert_true(fw_fleet_name_is_valid(name));
}

static fw_error *make(struct fw_loop *loop, uint32_t lease_ms, struct fw_fleet **ret_fleet)
{
	struct fw_engine_url url;
	const struct fw_fleet_options options = {
		.loop = loop, .url = &url, .name = "test", .wait_ms = 50, .lease_ms = lease_ms
	};

	/* Nobody listens there. */
	FW_TRY(fw_engine_url_read("x", "redis://127.0.0.1:1", &url));
	return fw_fleet_new(&options, ret_fleet);
}

static void test_fleet__without_an_engine_a_replica_decides_alone(void **state)
{
	const struct fw_quota_limits limits = { .every_ns = UINT64_C(1000000000000),
						.burst = 3,
						.concurrent = 2 };
	struct fw_quota quota = { .quotas = NULL };
	struct fw_quota_answer answer;
	struct fw_fleet *fleet = NULL;
	struct fw_quotas *quotas;
	struct fw_loop loop;

	(void)state;
	assert_int_equal(fw_loop_init(&loop), 0);
	assert_null(make(&loop, 0, &fleet));
	quotas = fw_fleet_quotas(fleet);
	for (int i = 0; i < 2; i++) {
		assert_true(fw_quota_take(quotas, &quota, "ada", &limits, &answer));
		assert_int_equal(answer.count, 1);
		assert_int_equal(answer.granted, 1);
	}
	assert_true(fw_quota_take(quotas, &quota, "ada", &limits, &answer));
	assert_int_equal(answer.granted, 0);
	assert_int_equal(answer.reason, FW_QUOTA_TOO_MANY);
	assert_true(fw_quota_is_busy(&quota));
	fw_quota_end(&quota);
	fw_quota_end(&quota);
	assert_true(fw_quota_take(quotas, &quota, "ada", &limits, &answer));
	assert_int_equal(answer.granted, 1);
	assert_true(fw_quota_take(quotas, &quota, "ada", &limits, &answer));
	assert_int_equal(answer.granted, 0);
	assert_int_equal(answer.reason, FW_QUOTA_TOO_FAST);
	assert_true(answer.wait_ns > 0);
	fw_quota_end(&quota);
	assert_false(fw_quota_is_busy(&quota));
	assert_int_equal(fw_quotas_decisions(quotas, FW_QUOTA_LOCAL), 5);
	fw_quota_clear(&quota);
	fw_fleet_close(fleet);
	fw_loop_close(&loop);
	fw_fleet_free(fleet);
}

static void make_and_free(void)
{
	struct fw_fleet *fleet = NULL;
	struct fw_loop loop;
	fw_error *err;

	assert_int_equal(fw_loop_init(&loop), 0);
	err = make(&loop, 10, &fleet);
	assert_true(!err == !!fleet);
	fw_error_free(err);
	fw_fleet_close(fleet);
	fw_loop_close(&loop);
	fw_fleet_free(fleet);
}

static void test_fleet__each_allocation_may_fail(void **state)
{
	(void)state;
	each_allocation_fails(make_and_free);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fleet__a_url_names_host_port_database_and_login),
		cmocka_unit_test(test_fleet__a_url_that_is_not_valid_is_not_repeated),
		cmocka_unit_test(test_fleet__names_are_parts_of_keys),
		cmocka_unit_test(test_fleet__without_an_engine_a_replica_decides_alone),
		cmocka_unit_test(test_fleet__each_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
