/*
 * queue_thread_test.c - items arrive in order, a wait ends in time, a stop finishes
 * what is queued, and a thread that does not end in time cleans up by itself.
 */
#include "base/queue_thread.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"

struct number {
	struct fw_queue_item item;
	int value;
};

struct owner {
	struct fw_queue_thread queue;
	int seen[64];
	size_t seen_count;
	atomic_bool is_blocked; /* the thread is to wait before it works */
	atomic_bool is_freed;
	bool had_signals_blocked;
	bool is_tried;
};

static void consume(struct owner *owner, struct fw_queue_item *item)
{
	while (item) {
		struct number *number = (struct number *)item;

		item = item->next;
		owner->seen[owner->seen_count++] = number->value;
		free(number);
	}
}

static void run(void *ctx)
{
	struct owner *owner = ctx;
	bool is_last;
	sigset_t now;

	(void)pthread_sigmask(SIG_SETMASK, NULL, &now);
	owner->had_signals_blocked = sigismember(&now, SIGTERM) == 1;
	fw_queue_thread_lock(&owner->queue);
	owner->is_tried = true;
	fw_queue_thread_announce(&owner->queue);
	do {
		struct fw_queue_item *first;

		while (!owner->queue.first && !owner->queue.is_stopping)
			(void)fw_queue_thread_wait(&owner->queue, INT64_MAX);
		first = fw_queue_thread_take(&owner->queue);
		is_last = owner->queue.is_stopping && !first;
		fw_queue_thread_unlock(&owner->queue);
		while (atomic_load(&owner->is_blocked))
			(void)usleep(1000);
		consume(owner, first);
		fw_queue_thread_lock(&owner->queue);
	} while (!is_last);
	fw_queue_thread_unlock(&owner->queue);
}

static void put(struct owner *owner, int value)
{
	struct number *number = calloc(1, sizeof *number);

	assert_non_null(number);
	number->value = value;
	fw_queue_thread_lock(&owner->queue);
	fw_queue_thread_push(&owner->queue, &number->item);
	fw_queue_thread_unlock(&owner->queue);
	fw_queue_thread_wake(&owner->queue);
}

static void clean_up(void *ctx)
{
	struct owner *owner = ctx;

	fw_queue_thread_clear(&owner->queue);
	atomic_store(&owner->is_freed, true);
}

static void items_arrive_in_order(void **state)
{
	struct owner owner = { .is_tried = false };

	(void)state;
	fw_queue_thread_init(&owner.queue);
	assert_int_equal(fw_queue_thread_start(&owner.queue, run, NULL, &owner), 0);
	for (int i = 0; i < 50; i++)
		put(&owner, i);
	assert_true(fw_queue_thread_stop(&owner.queue, INT64_MAX));
	assert_int_equal(owner.seen_count, 50);
	for (int i = 0; i < 50; i++)
		assert_int_equal(owner.seen[i], i);
	assert_true(owner.had_signals_blocked);
	fw_queue_thread_clear(&owner.queue);
}

static void an_announcement_reaches_the_caller(void **state)
{
	struct owner owner = { .is_tried = false };

	(void)state;
	fw_queue_thread_init(&owner.queue);
	assert_int_equal(fw_queue_thread_start(&owner.queue, run, NULL, &owner), 0);
	fw_queue_thread_lock(&owner.queue);
	while (!owner.is_tried)
		fw_queue_thread_await(&owner.queue);
	fw_queue_thread_unlock(&owner.queue);
	assert_true(fw_queue_thread_stop(&owner.queue, 5000));
	fw_queue_thread_clear(&owner.queue);
}

static void a_wait_ends_in_time(void **state)
{
	struct owner owner = { .is_tried = false };
	int64_t start_ns = fw_steady_ns();
	bool is_woken = true;

	(void)state;
	fw_queue_thread_init(&owner.queue);
	fw_queue_thread_lock(&owner.queue);
	for (int i = 0; i < 100 && is_woken; i++)
		is_woken = fw_queue_thread_wait(&owner.queue, start_ns + 5000000);
	fw_queue_thread_unlock(&owner.queue);
	assert_false(is_woken);
	assert_true(fw_steady_ns() - start_ns >= 5000000);
	fw_queue_thread_clear(&owner.queue);
}

static void a_stop_that_times_out_leaves_the_cleanup_to_the_thread(void **state)
{
	static struct owner owner;

	(void)state;
	fw_queue_thread_init(&owner.queue);
	atomic_store(&owner.is_blocked, true);
	assert_int_equal(fw_queue_thread_start(&owner.queue, run, clean_up, &owner), 0);
	put(&owner, 1);
	assert_false(fw_queue_thread_stop(&owner.queue, 10));
	assert_false(atomic_load(&owner.is_freed));
	atomic_store(&owner.is_blocked, false);
	for (int i = 0; i < 5000 && !atomic_load(&owner.is_freed); i++)
		(void)usleep(1000);
	assert_true(atomic_load(&owner.is_freed));
	assert_int_equal(owner.seen_count, 1);
}

static void a_forked_child_has_no_thread_to_stop(void **state)
{
	struct owner owner = { .is_tried = false };
	int status = 0;
	pid_t child;

	(void)state;
	fw_queue_thread_init(&owner.queue);
	assert_int_equal(fw_queue_thread_start(&owner.queue, run, NULL, &owner), 0);
	child = fork();
	if (child == 0)
		_exit(!fw_queue_thread_is_here(&owner.queue) &&
				      fw_queue_thread_stop(&owner.queue, INT64_MAX)
			      ? 0
			      : 1);
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(fw_queue_thread_is_here(&owner.queue));
	assert_true(fw_queue_thread_stop(&owner.queue, INT64_MAX));
	fw_queue_thread_clear(&owner.queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_arrive_in_order),
		cmocka_unit_test(an_announcement_reaches_the_caller),
		cmocka_unit_test(a_wait_ends_in_time),
		cmocka_unit_test(a_stop_that_times_out_leaves_the_cleanup_to_the_thread),
		cmocka_unit_test(a_forked_child_has_no_thread_to_stop),
	};

	return cmocka_run_group_tests_name("queue_thread", tests, NULL, NULL);
}
