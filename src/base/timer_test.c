/*
 * timer_test.c - timers ring once, at their time, with a descriptor and without.
 */
#include "base/timer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>

#include <cmocka.h>

struct counted {
	struct fw_timer timer;
	unsigned rings;
	unsigned closed;
};

static void count(void *ctx)
{
	struct counted *counted = ctx;

	counted->rings++;
}

static void on_closed(uv_handle_t *handle)
{
	struct counted *counted = (struct counted *)handle;

	counted->closed++;
}

static void close_all(uv_loop_t *loop, struct counted *counted)
{
	fw_timer_close(&counted->timer, on_closed);
	(void)uv_run(loop, UV_RUN_DEFAULT);
	assert_int_equal(counted->closed, 1);
	assert_int_equal(uv_loop_close(loop), 0);
}

/* The loop runs until nothing is set any more. Returns the milliseconds from the setting on. */
static uint64_t set_and_run(struct fw_timer *timer, uint64_t delay_ms, uv_loop_t *loop)
{
	const uint64_t start = uv_hrtime();

	/* libuv counts from the time of the loop. */
	uv_update_time(loop);
	fw_timer_set(timer, delay_ms);
	(void)uv_run(loop, UV_RUN_DEFAULT);
	return (uv_hrtime() - start) / 1000000;
}

static void run(uv_loop_t *loop)
{
	(void)uv_run(loop, UV_RUN_DEFAULT);
}

static void check_rings(void)
{
	struct counted counted = { .rings = 0 };
	uv_loop_t loop;

	assert_int_equal(uv_loop_init(&loop), 0);
	fw_timer_init(&loop, &counted.timer, count, &counted);
	assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(counted.rings, 0);

	assert_true(set_and_run(&counted.timer, 20, &loop) >= 19);
	assert_int_equal(counted.rings, 1);

	fw_timer_set(&counted.timer, 0);
	run(&loop);
	assert_int_equal(counted.rings, 2);

	/* The last setting counts. */
	fw_timer_set(&counted.timer, 600000);
	fw_timer_set(&counted.timer, 5);
	run(&loop);
	assert_int_equal(counted.rings, 3);

	/* One that has expired, but was stopped before the loop saw it. */
	fw_timer_set(&counted.timer, 0);
	uv_sleep(2);
	fw_timer_stop(&counted.timer);
	run(&loop);
	assert_int_equal(counted.rings, 3);

	/* One that has expired, and was set again before the loop saw it. */
	fw_timer_set(&counted.timer, 0);
	uv_sleep(2);
	assert_true(set_and_run(&counted.timer, 20, &loop) >= 15);
	assert_int_equal(counted.rings, 4);
	close_all(&loop, &counted);
}

static void test_timer__rings_once_at_its_time(void **state)
{
	(void)state;
	check_rings();
}

/* The loop's own descriptors are open already. */
static void test_timer__rings_without_a_free_descriptor(void **state)
{
	struct counted counted = { .rings = 0 };
	struct rlimit before, none;
	uv_loop_t loop;

	(void)state;
	assert_int_equal(uv_loop_init(&loop), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	fw_timer_init(&loop, &counted.timer, count, &counted);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(counted.timer.fd, -1);
	assert_true(set_and_run(&counted.timer, 10, &loop) >= 9);
	assert_int_equal(counted.rings, 1);
	fw_timer_set(&counted.timer, 600000);
	fw_timer_stop(&counted.timer);
	run(&loop);
	assert_int_equal(counted.rings, 1);
	close_all(&loop, &counted);
}

/* What it is for: the loop waits without a time limit. */
static void test_timer__does_not_limit_the_wait_of_the_loop(void **state)
{
	struct counted counted = { .rings = 0 };
	uv_loop_t loop;

	(void)state;
	assert_int_equal(uv_loop_init(&loop), 0);
	fw_timer_init(&loop, &counted.timer, count, &counted);
	fw_timer_set(&counted.timer, 600000);
	/* The first iteration begins to watch the descriptor. */
	assert_int_equal(uv_run(&loop, UV_RUN_NOWAIT), 1);
	assert_int_equal(uv_backend_timeout(&loop), -1);
	close_all(&loop, &counted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_timer__rings_once_at_its_time),
		cmocka_unit_test(test_timer__rings_without_a_free_descriptor),
		cmocka_unit_test(test_timer__does_not_limit_the_wait_of_the_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
