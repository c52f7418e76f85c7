/*
 * loop_test.c - tasks from other threads, in order, none lost.
 */
#include "base/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { TASKS = 1000 };

struct counted {
	struct fw_task task; /* first: the loop hands it back */
	struct fw_loop *loop;
	unsigned number;
	unsigned *next; /* the number that is expected to run now */
	unsigned *over;
};

static void count(struct fw_task *task, bool is_over)
{
	struct counted *counted = (struct counted *)task;

	if (is_over) {
		++*counted->over;
		return;
	}
	assert_int_equal(counted->number, *counted->next);
	if (++*counted->next == TASKS)
		fw_loop_stop(counted->loop);
}

static void make(struct counted tasks[TASKS], struct fw_loop *loop, unsigned *next,
		 unsigned *over)
{
	for (unsigned i = 0; i < TASKS; i++)
		tasks[i] = (struct counted){
			.task.run = count, .loop = loop, .number = i, .next = next, .over = over
		};
}

static void post_all(void *ctx)
{
	struct counted *tasks = ctx;

	for (unsigned i = 0; i < TASKS; i++)
		(void)fw_loop_post(tasks->loop, &tasks[i].task);
}

/* Keeps the loop running until it is stopped. */
static void keep(uv_timer_t *timer)
{
	(void)timer;
}

static void test_loop__tasks_of_another_thread_run_in_order(void **state)
{
	static struct counted tasks[TASKS];
	unsigned next = 0, over = 0;
	struct fw_loop loop;
	uv_thread_t thread;
	uv_timer_t timer;

	(void)state;
	assert_int_equal(fw_loop_init(&loop), 0);
	uv_timer_init(&loop.uv, &timer);
	uv_timer_start(&timer, keep, 60000, 0);
	make(tasks, &loop, &next, &over);
	assert_int_equal(uv_thread_create(&thread, post_all, tasks), 0);
	fw_loop_run(&loop);
	uv_thread_join(&thread);
	assert_int_equal(next, TASKS);
	uv_close((uv_handle_t *)&timer, NULL);
	fw_loop_close(&loop);
	assert_int_equal(over, 0);
}

static void test_loop__tasks_left_at_the_end_run_with_is_over(void **state)
{
	static struct counted tasks[TASKS];
	unsigned next = 0, over = 0;
	struct fw_loop loop;

	(void)state;
	assert_int_equal(fw_loop_init(&loop), 0);
	make(tasks, &loop, &next, &over);
	post_all(tasks);
	fw_loop_close(&loop);
	assert_int_equal(next, 0);
	assert_int_equal(over, TASKS);
}

static struct fw_loop *closing;
static bool was_taken;

static void post_while_closing(struct fw_task *task, bool is_over)
{
	static struct fw_task second = { .run = post_while_closing };

	(void)task;
	assert_true(is_over);
	was_taken = fw_loop_post(closing, &second);
}

static void test_loop__a_closing_loop_takes_no_task(void **state)
{
	struct fw_task task = { .run = post_while_closing };
	struct fw_loop loop;

	(void)state;
	closing = &loop;
	was_taken = true;
	assert_int_equal(fw_loop_init(&loop), 0);
	assert_true(fw_loop_post(&loop, &task));
	fw_loop_close(&loop);
	assert_false(was_taken);
}

static void test_loop__a_stop_before_the_run_ends_it(void **state)
{
	struct fw_loop loop;
	uv_timer_t timer;

	(void)state;
	assert_int_equal(fw_loop_init(&loop), 0);
	uv_timer_init(&loop.uv, &timer);
	uv_timer_start(&timer, keep, 60000, 0);
	fw_loop_stop(&loop);
	fw_loop_run(&loop);
	uv_close((uv_handle_t *)&timer, NULL);
	fw_loop_close(&loop);
}

static void test_loop__closing_what_never_began_does_nothing(void **state)
{
	struct fw_loop loop = { .is_closed = false };

	(void)state;
	fw_loop_close(&loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loop__tasks_of_another_thread_run_in_order),
		cmocka_unit_test(test_loop__tasks_left_at_the_end_run_with_is_over),
		cmocka_unit_test(test_loop__a_closing_loop_takes_no_task),
		cmocka_unit_test(test_loop__a_stop_before_the_run_ends_it),
		cmocka_unit_test(test_loop__closing_what_never_began_does_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
