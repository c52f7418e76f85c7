/*
 * spool_test.c - records arrive in order and complete, those that do not fit are
 * counted, and a failed batch is passed again.
 */
#include "observe/spool/spool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "test/memory.h"

struct seen {
	char text[4096];
	size_t len;
	atomic_uint batches;
	atomic_uint records;
	atomic_uint_least64_t lost;
	atomic_bool refuses;
	bool saw_last;
};

static bool keep(void *ctx, const struct fw_spool_batch *batch)
{
	struct seen *seen = ctx;
	size_t at = 0, len;
	const char *record;

	atomic_fetch_add(&seen->batches, 1);
	if (atomic_load(&seen->refuses))
		return false;
	while ((record = fw_spool_next(batch, &at, &len))) {
		if (seen->len + len < sizeof seen->text) {
			memcpy(seen->text + seen->len, record, len);
			seen->len += len;
		}
		atomic_fetch_add(&seen->records, 1);
	}
	atomic_fetch_add(&seen->lost, batch->lost);
	seen->saw_last |= batch->is_last;
	return true;
}

static struct fw_spool *open_spool(struct seen *seen, size_t max_bytes)
{
	const struct fw_spool_options options = {
		.max_bytes = max_bytes, .retry_ms = 5, .tick_ms = 5, .work = keep, .ctx = seen
	};
	struct fw_spool *spool = NULL;

	assert_null(fw_spool_new(&options, &spool));
	return spool;
}

static void put(struct fw_spool *spool, const char *text)
{
	struct fw_buf *buf = fw_spool_begin(spool);

	assert_non_null(buf);
	fw_buf_str(buf, text);
	fw_spool_end(spool);
}

static void test_spool__records_arrive_in_order(void **state)
{
	static struct seen seen;
	struct fw_spool *spool = open_spool(&seen, 1 << 20);

	(void)state;
	put(spool, "one ");
	put(spool, "");
	put(spool, "two ");
	assert_non_null(fw_spool_begin(spool));
	fw_spool_cancel(spool);
	put(spool, "three");
	fw_spool_free(spool);
	assert_int_equal(seen.len, strlen("one two three"));
	assert_memory_equal(seen.text, "one two three", seen.len);
	assert_int_equal(seen.records, 4);
	assert_true(seen.saw_last);
	fw_spool_free(NULL);
}

static void test_spool__records_that_do_not_fit_are_counted(void **state)
{
	static struct seen seen;
	struct fw_spool *spool;
	uint64_t lost;

	(void)state;
	atomic_store(&seen.refuses, true);
	spool = open_spool(&seen, 256);
	for (int i = 0; i < 100; i++)
		put(spool, "0123456789");
	lost = fw_spool_lost(spool);
	assert_true(lost > 0 && lost < 100);
	assert_true(fw_spool_waiting(spool) <= 512);
	atomic_store(&seen.refuses, false);
	fw_spool_free(spool);
	assert_int_equal(seen.records + seen.lost, 100);
	assert_int_equal(seen.lost, lost);
}

static void test_spool__a_failed_batch_is_passed_again(void **state)
{
	static struct seen seen;
	struct fw_spool *spool;

	(void)state;
	atomic_store(&seen.refuses, true);
	spool = open_spool(&seen, 1 << 20);
	put(spool, "a");
	while (atomic_load(&seen.batches) < 3)
		(void)usleep(1000);
	put(spool, "b");
	atomic_store(&seen.refuses, false);
	fw_spool_free(spool);
	assert_memory_equal(seen.text, "ab", 2);
	assert_int_equal(seen.len, 2);
}

static void test_spool__a_batch_that_fails_at_the_end_is_lost(void **state)
{
	static struct seen seen;
	struct fw_spool *spool;

	(void)state;
	atomic_store(&seen.refuses, true);
	spool = open_spool(&seen, 1 << 20);
	put(spool, "a");
	fw_spool_free(spool);
	assert_int_equal(seen.records, 0);
}

static void test_spool__a_reminder_is_an_empty_batch(void **state)
{
	static struct seen seen;
	struct fw_spool *spool = open_spool(&seen, 1 << 20);

	(void)state;
	assert_non_null(fw_spool_begin(spool));
	fw_spool_remind(spool);
	fw_spool_cancel(spool);
	while (!atomic_load(&seen.batches))
		(void)usleep(1000);
	assert_int_equal(atomic_load(&seen.records), 0);
	fw_spool_free(spool);
}

/* The child has no thread, and the lock may have been held during the fork. */
static void test_spool__a_forked_process_adds_nothing_and_does_not_hang(void **state)
{
	static struct seen seen;
	struct fw_spool *spool = open_spool(&seen, 1 << 20);
	int status = -1;
	pid_t child;

	(void)state;
	fw_spool_lock(spool);
	child = fork();
	if (child == 0)
		_exit(fw_spool_begin(spool) == NULL ? 0 : 1);
	fw_spool_unlock(spool);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	fw_spool_free(spool);
}

static void put_without_memory(void)
{
	static struct seen seen;
	const struct fw_spool_options options = {
		.max_bytes = 1 << 20, .retry_ms = 5, .tick_ms = 5, .work = keep, .ctx = &seen
	};
	struct fw_spool *spool = NULL;
	fw_error *err = fw_spool_new(&options, &spool);
	uint64_t before = atomic_load(&seen.records);

	assert_true(!err == !!spool);
	fw_error_free(err);
	for (int i = 0; spool && i < 20; i++) {
		struct fw_buf *out = fw_spool_begin(spool);

		for (int k = 0; out && k < 200; k++)
			fw_buf_put(out, "0123456789", 10);
		fw_spool_end(spool);
	}
	if (spool) {
		uint64_t lost = fw_spool_lost(spool);

		fw_spool_free(spool);
		assert_int_equal(atomic_load(&seen.records) - before + lost, 20);
	}
}

static void test_spool__each_allocation_may_fail_and_lost_records_are_counted(void **state)
{
	(void)state;
	each_allocation_fails(put_without_memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spool__records_arrive_in_order),
		cmocka_unit_test(test_spool__records_that_do_not_fit_are_counted),
		cmocka_unit_test(test_spool__a_failed_batch_is_passed_again),
		cmocka_unit_test(test_spool__a_batch_that_fails_at_the_end_is_lost),
		cmocka_unit_test(test_spool__a_reminder_is_an_empty_batch),
		cmocka_unit_test(test_spool__a_forked_process_adds_nothing_and_does_not_hang),
		cmocka_unit_test(
			test_spool__each_allocation_may_fail_and_lost_records_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
