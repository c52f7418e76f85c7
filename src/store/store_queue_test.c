/*
 * store_queue_test.c - calls run in order on the store's thread, are completed on the
 * loop, and each is completed exactly once, also when the loop closes.
 */
#include "store/store_queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <faultwire/faultwire.h>

#include "base/limits.h"
#include "test/memory.h"

static char directory[64];
static char path[128];
static struct fw_loop loop;

static int set_up(void **state)
{
	(void)state;
	(void)snprintf(directory, sizeof directory, "/tmp/fw-store-XXXXXX");
	assert_non_null(mkdtemp(directory));
	(void)snprintf(path, sizeof path, "sqlite:%s/store.db", directory);
	assert_int_equal(fw_loop_init(&loop), 0);
	return 0;
}

static int tear_down(void **state)
{
	char command[160];

	(void)state;
	fw_loop_close(&loop);
	(void)snprintf(command, sizeof command, "rm -rf %s", directory);
	assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
	return fw_error_live() == 0 ? 0 : -1;
}

static struct fw_store_queue *open_queue(void)
{
	struct fw_store_queue *queue = NULL;
	struct fw_store *store = NULL;

	assert_null(fw_store_open(path, NULL, &store));
	assert_null(fw_store_queue_new(store, &loop, &queue));
	return queue;
}

struct addition {
	struct fw_store_call call;
	struct fw_store_result result;
	pthread_t worked_on;
};

static struct {
	size_t done;
	size_t over;
	size_t wanted;
	int64_t last;
	pthread_t thread;
	atomic_bool is_blocked;
} seen;

static fw_error *add_one(struct fw_store_call *call, struct fw_store *store)
{
	struct addition *addition = (struct addition *)(void *)call;
	const struct fw_store_change change = {
		.action = FW_STORE_ADD, .kind = "k", .key = "n", .number = 1
	};

	addition->worked_on = pthread_self();
	return fw_store_apply(store, &change, 1, &addition->result);
}

static void added(struct fw_store_call *call, fw_error *err, bool is_over)
{
	struct addition *addition = (struct addition *)(void *)call;

	assert_null(err);
	assert_true(pthread_equal(pthread_self(), seen.thread));
	assert_false(pthread_equal(addition->worked_on, seen.thread));
	assert_int_equal(addition->result.number, seen.last + 1);
	seen.last = addition->result.number;
	seen.done++;
	seen.over += is_over;
	free(addition);
	if (seen.done == seen.wanted)
		fw_loop_stop(&loop);
}

static void submit(struct fw_store_queue *queue)
{
	struct addition *addition = calloc(1, sizeof *addition);

	assert_non_null(addition);
	addition->call.work = add_one;
	addition->call.done = added;
	assert_null(fw_store_queue_submit(queue, &addition->call));
}

static void begin(size_t wanted)
{
	memset(&seen, 0, sizeof seen);
	seen.wanted = wanted;
	seen.thread = pthread_self();
}

static void on_timeout(uv_timer_t *timer)
{
	(void)timer;
	fail_msg("the calls were not completed in time");
}

/* Keeps the loop running until it is stopped. */
static void run_loop(void)
{
	uv_timer_t timer;

	assert_int_equal(uv_timer_init(&loop.uv, &timer), 0);
	assert_int_equal(uv_timer_start(&timer, on_timeout, 20000, 0), 0);
	fw_loop_run(&loop);
	uv_close((uv_handle_t *)&timer, NULL);
	(void)uv_run(&loop.uv, UV_RUN_NOWAIT);
}

static void test_queue__calls_are_completed_in_order_on_the_loop(void **state)
{
	struct fw_store_queue *queue = open_queue();

	(void)state;
	begin(20);
	for (int i = 0; i < 20; i++)
		submit(queue);
	run_loop();
	assert_int_equal(seen.done, 20);
	assert_int_equal(seen.over, 0);
	fw_store_queue_free(queue);
}

static void test_queue__calls_that_wait_are_completed_when_the_loop_closes(void **state)
{
	struct fw_store_queue *queue = open_queue();

	(void)state;
	begin(0);
	for (int i = 0; i < 10; i++)
		submit(queue);
	fw_store_queue_free(queue);
	fw_loop_close(&loop);
	assert_int_equal(seen.done, 10);
	assert_int_equal(seen.over, 10);
}

static fw_error *refuse(struct fw_store_call *call, struct fw_store *store)
{
	(void)call;
	(void)store;
	return fw_raise_internal_out_of_memory();
}

static void failed(struct fw_store_call *call, fw_error *err, bool is_over)
{
	(void)call;
	(void)is_over;
	assert_int_equal(fw_error_code(err), FW_INTERNAL_OUT_OF_MEMORY);
	fw_error_free(err);
	seen.done++;
	fw_loop_stop(&loop);
}

static void test_queue__an_error_of_the_store_reaches_the_caller(void **state)
{
	struct fw_store_queue *queue = open_queue();
	struct fw_store_call call = { .work = refuse, .done = failed };

	(void)state;
	begin(1);
	assert_null(fw_store_queue_submit(queue, &call));
	run_loop();
	assert_int_equal(seen.done, 1);
	fw_store_queue_free(queue);
}

static fw_error *block(struct fw_store_call *call, struct fw_store *store)
{
	(void)call;
	(void)store;
	while (atomic_load(&seen.is_blocked))
		(void)usleep(1000);
	return NULL;
}

static void completed(struct fw_store_call *call, fw_error *err, bool is_over)
{
	(void)call;
	(void)is_over;
	assert_null(err);
	seen.done++;
}

static void test_queue__a_store_that_hangs_does_not_grow_its_queue(void **state)
{
	enum { MANY = 2 * FW_LIMIT_STORE_QUEUE };
	struct fw_store_queue *queue = open_queue();
	struct fw_store_call *calls = calloc(MANY, sizeof *calls);
	size_t accepted = 0;

	(void)state;
	assert_non_null(calls);
	begin(0);
	atomic_store(&seen.is_blocked, true);
	for (size_t i = 0; i < MANY; i++) {
		fw_error *err;

		calls[i].work = block;
		calls[i].done = completed;
		err = fw_store_queue_submit(queue, &calls[i]);
		assert_true(!err || fw_error_code(err) == FW_SERVER_OVERLOADED);
		accepted += !err;
		fw_error_free(err);
	}
	/* Those in the queue, and those that the thread had taken before. */
	assert_true(accepted >= FW_LIMIT_STORE_QUEUE && accepted < MANY);
	atomic_store(&seen.is_blocked, false);
	fw_store_queue_free(queue);
	fw_loop_close(&loop);
	assert_int_equal(seen.done, accepted);
	free(calls);
}

static void make_and_free(void)
{
	struct fw_store_queue *queue = NULL;
	struct fw_store *store = NULL;
	fw_error *err = fw_store_open(path, NULL, &store);

	if (!err)
		err = fw_store_queue_new(store, &loop, &queue);
	fw_store_queue_free(queue);
	fw_error_free(err);
}

static void test_queue__each_allocation_may_fail(void **state)
{
	(void)state;
	each_allocation_fails(make_and_free);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_queue__##name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(calls_are_completed_in_order_on_the_loop),
		TEST(calls_that_wait_are_completed_when_the_loop_closes),
		TEST(an_error_of_the_store_reaches_the_caller),
		TEST(a_store_that_hangs_does_not_grow_its_queue),
		TEST(each_allocation_may_fail),
	};

	return cmocka_run_group_tests_name("store_queue", tests, NULL, NULL);
}
