/*
 * audit_sync_test.c - a batch that a second thread syncs while the next one is made.
 *
 * fdatasync() and flock() are replaced: the test decides when a sync ends and whether it
 * fails, and what happens while the log is not locked.
 */
#include "audit_test.h"

#include <errno.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/syscall.h>

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_closed; /* a sync waits until it is open */
	unsigned entered;
	int errnum; /* of the next sync */
	void (*on_unlock)(void);
} disk = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

int fdatasync(int fd)
{
	int errnum;

	(void)fd;
	(void)pthread_mutex_lock(&disk.lock);
	disk.entered++;
	(void)pthread_cond_broadcast(&disk.changed);
	while (disk.is_closed)
		(void)pthread_cond_wait(&disk.changed, &disk.lock);
	errnum = disk.errnum;
	disk.errnum = 0;
	(void)pthread_mutex_unlock(&disk.lock);
	errno = errnum;
	return errnum ? -1 : 0;
}

int flock(int fd, int operation)
{
	void (*on_unlock)(void) = disk.on_unlock;
	long result = syscall(SYS_flock, fd, operation);

	if (operation == LOCK_UN && on_unlock) {
		disk.on_unlock = NULL;
		on_unlock();
	}
	return (int)result;
}

static void set_disk(bool is_closed, int errnum)
{
	(void)pthread_mutex_lock(&disk.lock);
	disk.is_closed = is_closed;
	disk.errnum = errnum;
	(void)pthread_cond_broadcast(&disk.changed);
	(void)pthread_mutex_unlock(&disk.lock);
}

/* Until that many syncs were begun. */
static void await_syncs(unsigned count)
{
	(void)pthread_mutex_lock(&disk.lock);
	while (disk.entered < count)
		(void)pthread_cond_wait(&disk.changed, &disk.lock);
	(void)pthread_mutex_unlock(&disk.lock);
}

/* ---- many callers ------------------------------------------------------- */

struct results {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned done, failed;
};

static void note_result(void *ctx, fw_error *err)
{
	struct results *results = ctx;

	(void)pthread_mutex_lock(&results->lock);
	results->done++;
	results->failed += err != NULL;
	(void)pthread_cond_broadcast(&results->changed);
	(void)pthread_mutex_unlock(&results->lock);
	fw_error_free(err);
}

static void await_results(struct results *results, unsigned count)
{
	(void)pthread_mutex_lock(&results->lock);
	while (results->done < count)
		(void)pthread_cond_wait(&results->changed, &results->lock);
	(void)pthread_mutex_unlock(&results->lock);
}

static void append(struct fw_audit *audit, unsigned count, struct results *results)
{
	fw_error *failed = fw_raise_file_not_found("a/b");
	struct fw_audit_record entry = { .error = failed, .tool_name = "read_file" };

	entry.args = "{\"path\":\"a\"}";
	entry.args_len = strlen(entry.args);
	for (unsigned i = 0; i < count; i++)
		must(fw_audit_append(audit, &entry, note_result, results));
	fw_error_free(failed);
}

/* A log whose thread believes that it has many callers, which are slower than the disk. */
static struct fw_audit *opened_busy(void)
{
	struct fw_audit *audit = opened(NULL);

	fw_queue_thread_lock(&audit->queue);
	audit->writer.sync_ns = INT64_C(3600) * 1000000000;
	audit->writer.arrival_ns = INT64_C(3600) * 1000000000;
	audit->writer.expected = 16;
	fw_queue_thread_unlock(&audit->queue);
	disk.entered = 0;
	return audit;
}

static unsigned behind; /* records in the second batch */

/* Some of 8 records are with the disk, and lines of those behind them are made. */
static struct fw_audit *opened_overlapping(struct results *first, struct results *second)
{
	struct fw_audit *audit = opened_busy();
	uint64_t made = 0;

	set_disk(true, 0);
	append(audit, 8, first);
	await_syncs(1);
	/* One wakes the thread, whatever it took before. */
	for (behind = 0; made < 16; behind++) {
		assert_true(behind < 1000);
		append(audit, 1, second);
		(void)usleep(100);
		fw_queue_thread_lock(&audit->queue);
		made = audit->writer.ahead.count;
		fw_queue_thread_unlock(&audit->queue);
	}
	assert_int_equal(first->done + second->done, 0);
	return audit;
}

#define RESULTS                                                                        \
	{                                                                              \
		.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER \
	}

static void test_audit__lines_are_made_while_the_disk_syncs(void **state)
{
	struct results first = RESULTS, second = RESULTS;
	struct fw_audit *audit = opened_overlapping(&first, &second);
	struct fw_audit_health health;

	(void)state;
	set_disk(false, 0);
	await_results(&first, 8);
	await_results(&second, behind);
	fw_audit_health(audit, &health);
	assert_int_equal(health.records, 8 + behind);
	assert_true(health.syncs <= 3);
	assert_int_equal(first.failed + second.failed, 0);
	assert_true(fw_audit_close(audit));
	assert_whole(8 + behind);
}

static void test_audit__a_failed_sync_fails_its_own_records_only(void **state)
{
	struct results first = RESULTS, second = RESULTS;
	struct fw_audit *audit = opened_overlapping(&first, &second);

	(void)state;
	set_disk(false, EIO);
	await_results(&first, 8);
	await_results(&second, behind);
	assert_in_range(first.failed, 1, 8);
	assert_int_equal(second.failed, 0);
	assert_true(fw_audit_is_up(audit));
	assert_true(fw_audit_close(audit));
	/* With a note that says what was lost. */
	assert_whole(8 + behind - first.failed + 1);
}

static void write_as_another(void)
{
	write_log(3);
}

static void test_audit__lines_made_too_early_are_made_again(void **state)
{
	struct results first = RESULTS, second = RESULTS;
	struct fw_audit *audit = opened_overlapping(&first, &second);

	(void)state;
	disk.on_unlock = write_as_another;
	set_disk(false, 0);
	await_results(&first, 8);
	await_results(&second, behind);
	assert_int_equal(first.failed + second.failed, 0);
	assert_true(fw_audit_close(audit));
	assert_whole(8 + 3 + behind);
}

static void *close_audit(void *ctx)
{
	return fw_audit_close(ctx) ? ctx : NULL;
}

static void test_audit__a_stop_waits_for_the_sync_and_the_next_batch(void **state)
{
	struct results first = RESULTS, second = RESULTS;
	struct fw_audit *audit = opened_overlapping(&first, &second);
	bool is_stopping = false;
	pthread_t closer;
	void *closed;

	(void)state;
	assert_int_equal(pthread_create(&closer, NULL, close_audit, audit), 0);
	while (!is_stopping) {
		fw_queue_thread_lock(&audit->queue);
		is_stopping = audit->queue.is_stopping;
		fw_queue_thread_unlock(&audit->queue);
		(void)usleep(100);
	}
	set_disk(false, 0);
	assert_int_equal(pthread_join(closer, &closed), 0);
	assert_ptr_equal(closed, audit);
	assert_int_equal(first.done + second.done, 8 + behind);
	assert_int_equal(first.failed + second.failed, 0);
	assert_whole(8 + behind);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_audit__##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lines_are_made_while_the_disk_syncs),
		TEST(a_failed_sync_fails_its_own_records_only),
		TEST(lines_made_too_early_are_made_again),
		TEST(a_stop_waits_for_the_sync_and_the_next_batch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
