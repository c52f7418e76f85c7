/*
 * audit_down_test.c - many writers at once, and what happens when nothing can be
 * written.
 */
#include "observe/audit/audit_test.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* ---- many at once ------------------------------------------------------- */

static void *append_many(void *ctx)
{
	struct fw_audit *audit = ctx;

	for (int i = 0; i < 20; i++)
		must(record(audit, "a/b"));
	return NULL;
}

static void test_audit__concurrent_records_share_syncs(void **state)
{
	struct fw_audit *audit = opened(NULL);
	struct fw_audit_health health;
	pthread_t threads[16];

	(void)state;
	for (size_t i = 0; i < 16; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, append_many, audit), 0);
	for (size_t i = 0; i < 16; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	fw_audit_health(audit, &health);
	assert_int_equal(health.records, 320);
	assert_true(health.syncs < 320);
	assert_true(fw_audit_close(audit));
	assert_whole(320);
}

static void test_audit__processes_share_a_log_without_gaps(void **state)
{
	pid_t children[3];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		children[i] = fork();
		assert_true(children[i] >= 0);
		if (children[i] == 0) {
			const struct fw_audit_options small = { .rotate_bytes = 20000 };
			struct fw_audit *audit = NULL;
			fw_error *err = fw_audit_open(path, &small, &audit);

			for (int n = 0; n < 60 && !err; n++)
				err = record(audit, "a/b");
			_exit(!err && fw_audit_close(audit) ? 0 : 1);
		}
	}
	for (size_t i = 0; i < 3; i++) {
		int status = -1;

		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
	{
		struct fw_audit_report report = verified(false);

		assert_int_equal(report.fault, FW_AUDIT_WHOLE);
		assert_true(report.files > 3);
		assert_int_equal(report.records, 180 + report.files - 1);
	}
}

static void test_audit__records_after_a_move_go_to_the_new_file(void **state)
{
	struct fw_audit *audit = opened(NULL);
	char other[200];
	char *text;

	(void)state;
	(void)snprintf(other, sizeof other, "%s/other.jsonl", directory);
	for (int round = 0; round < 3; round++) {
		must(record(audit, "a"));
		must(fw_audit_move(audit, -1, other));
		must(record(audit, "b"));
		must(record(audit, "b"));
		must(fw_audit_move(audit, -1, path));
	}
	assert_true(fw_audit_close(audit));
	assert_whole(3);
	text = read_all(other, NULL);
	assert_non_null(strstr(text, "\"seq\":6,"));
	assert_null(strstr(text, "\"seq\":7,"));
	free(text);
}

/* With a descriptor, another directory at the same path is not used. */
static void test_audit__a_log_stays_in_its_directory_when_that_is_renamed(void **state)
{
	const struct fw_audit_options options = { .rotate_bytes = 900 };
	struct fw_audit *audit = opened(&options);
	struct fw_audit_report report;
	char inside[200];
	char outside[200];
	char name[260];
	int dir;

	(void)state;
	(void)snprintf(inside, sizeof inside, "%s/in", directory);
	(void)snprintf(outside, sizeof outside, "%s/out", directory);
	assert_int_equal(mkdir(inside, 0700), 0);
	dir = open(inside, O_PATH | O_DIRECTORY | O_CLOEXEC);
	(void)snprintf(name, sizeof name, "%s/log.jsonl", inside);
	must(fw_audit_move(audit, dir, name));
	(void)close(dir);
	must(record(audit, "a"));
	(void)snprintf(name, sizeof name, "%s/moved", directory);
	assert_int_equal(rename(inside, name), 0);
	assert_int_equal(mkdir(outside, 0700), 0);
	assert_int_equal(symlink(outside, inside), 0);
	/* Rotating, too. */
	for (int i = 0; i < 12; i++)
		must(record(audit, "b"));
	assert_true(fw_audit_close(audit));
	assert_int_equal(rmdir(outside), 0); /* nothing in there */
	(void)snprintf(name, sizeof name, "%s/moved/log.jsonl", directory);
	must(fw_audit_verify(name, NULL, &report));
	assert_int_equal(report.fault, FW_AUDIT_WHOLE);
	assert_true(report.files > 2);
	assert_int_equal(report.records, 13 + report.files - 1);
	assert_int_equal(unlink(inside), 0);
}

static void count_done(void *ctx, fw_error *err)
{
	assert_null(err);
	(void)atomic_fetch_add((atomic_uint *)ctx, 1);
}

static void test_audit__moves_and_records_in_flight_keep_their_order(void **state)
{
	const struct fw_audit_record entry = { .event = FW_AUDIT_CHANGE,
					       .tool_name = "change" };
	struct fw_audit *audit = opened(NULL);
	char other[200];
	atomic_uint done = 0;
	struct fw_audit_report report;

	(void)state;
	(void)snprintf(other, sizeof other, "%s/other.jsonl", directory);
	for (int i = 0; i < 300; i++) {
		must(fw_audit_append(audit, &entry, count_done, &done));
		if (i % 30 == 14)
			must(fw_audit_move(audit, -1, other));
		if (i % 30 == 29)
			must(fw_audit_move(audit, -1, path));
	}
	assert_true(fw_audit_close(audit));
	assert_int_equal(atomic_load(&done), 300);
	assert_whole(150);
	must(fw_audit_verify(other, NULL, &report));
	assert_int_equal(report.fault, FW_AUDIT_WHOLE);
	assert_int_equal(report.records, 150);
}

/* ---- when it cannot be written ------------------------------------------ */

static void assert_refused(const char *where, const char *cause)
{
	struct fw_audit *audit = NULL;
	fw_error *err = fw_audit_open(where, NULL, &audit);
	char text[1000];

	assert_non_null(err);
	assert_string_equal(fw_error_name(err), "audit.log_failed");
	(void)fw_error_text(err, text, sizeof text);
	if (!strstr(text, cause))
		fail_msg("no \"%s\" in: %s", cause, text);
	fw_error_free(err);
}

static void test_audit__a_path_that_cannot_be_a_log_is_refused(void **state)
{
	char name[200];
	char target[200];
	char *text;

	(void)state;
	(void)snprintf(name, sizeof name, "%s/none/audit-log.jsonl", directory);
	assert_refused(name, "no such file");
	assert_refused(directory, "is a directory");
	(void)snprintf(name, sizeof name, "%s/fifo", directory);
	assert_int_equal(mkfifo(name, 0600), 0);
	assert_refused(name, "not a regular file");
	(void)snprintf(target, sizeof target, "%s/target", directory);
	(void)snprintf(name, sizeof name, "%s/link", directory);
	assert_int_equal(symlink(target, name), 0);
	assert_refused(name, "symbolic link");
	write_all(target, "dear diary\n", 11);
	assert_refused(name, "symbolic link");
	assert_refused(target, "not an audit log");
	text = read_all(target, NULL);
	assert_string_equal(text, "dear diary\n");
	free(text);
}

static void test_audit__a_held_lock_is_waited_for_and_reported(void **state)
{
	const struct fw_audit_options hasty = { .lock_ms = 20 };
	struct fw_audit *audit;
	fw_error *err;
	int fd;

	(void)state;
	write_log(1);
	fd = open(path, O_RDWR);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	audit = opened(&hasty);
	assert_false(fw_audit_is_up(audit));
	err = record(audit, "a");
	assert_non_null(err);
	assert_string_equal(fw_error_name(err), "audit.lock_failed");
	fw_error_free(err);
	assert_int_equal(flock(fd, LOCK_UN), 0);
	must(record(audit, "b"));
	assert_true(fw_audit_is_up(audit));
	/* The thread tries again by itself. */
	assert_int_equal(flock(fd, LOCK_EX), 0);
	fw_error_free(record(audit, "c"));
	assert_false(fw_audit_is_up(audit));
	(void)close(fd);
	for (int i = 0; i < 100 && !fw_audit_is_up(audit); i++)
		(void)usleep(50000);
	assert_true(fw_audit_is_up(audit));
	assert_true(fw_audit_close(audit));
	assert_whole(4);
}

static bool has_errno(const fw_error *err, const char *name)
{
	fw_cause cause;

	for (size_t i = 0; fw_error_cause(err, i, &cause); i++)
		if (cause.code && strcmp(cause.code, name) == 0)
			return true;
	return false;
}

static void set_file_limit(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_audit__a_full_disk_leaves_no_incomplete_line_and_is_recovered_from(
	void **state)
{
	struct fw_audit *audit;
	struct fw_audit_health health;
	uint64_t written = 0;
	fw_error *err = NULL;
	struct stat info;
	char *text;

	(void)state;
	audit = opened(NULL);
	set_file_limit(3000);
	while (!(err = record(audit, "a/b")))
		written++;
	assert_string_equal(fw_error_name(err), "audit.log_failed");
	assert_true(fw_error_has_code(err, "file.write_failed"));
	assert_true(has_errno(err, "EFBIG"));
	fw_error_free(err);
	assert_true(written >= 3);
	assert_false(fw_audit_is_up(audit));
	assert_whole(written);
	fw_audit_health(audit, &health);
	assert_string_equal(health.failure, "EFBIG");
	assert_int_equal(health.lost, 1);
	fw_error_free(record(audit, "c"));
	set_file_limit(RLIM_INFINITY);
	must(record(audit, "d"));
	assert_true(fw_audit_is_up(audit));
	assert_true(fw_audit_close(audit));
	assert_whole(written + 2);
	text = read_all(path, NULL);
	assert_non_null(strstr(text, "\"reason\":\"writing resumed\",\"since\":\"2"));
	assert_non_null(strstr(text, "\"lost\":2,\"failure\":\"EFBIG\""));
	free(text);
	assert_int_equal(stat(path, &info), 0);
}

static void test_audit__a_missing_directory_is_down_until_it_is_back(void **state)
{
	struct fw_audit *audit = opened(NULL);
	char moved[200];
	fw_error *err;

	(void)state;
	must(record(audit, "a"));
	(void)snprintf(moved, sizeof moved, "%s-moved", directory);
	assert_int_equal(rename(directory, moved), 0);
	err = record(audit, "b");
	assert_non_null(err);
	assert_true(has_errno(err, "ENOENT"));
	fw_error_free(err);
	assert_int_equal(rename(moved, directory), 0);
	must(record(audit, "c"));
	assert_true(fw_audit_close(audit));
	assert_whole(3);
}

/* ---- memory ------------------------------------------------------------- */

/* The thread allocates as well, but never at the same time. */
static void open_append_and_verify(void)
{
	struct fw_audit *audit = NULL;
	struct fw_audit_report report;
	fw_error *err = fw_audit_open(path, NULL, &audit);

	assert_true(!err == !!audit);
	if (!err) {
		fw_error_free(record(audit, "a/b"));
		fw_error_free(fw_audit_move(audit, -1, path));
		assert_true(fw_audit_close(audit));
	}
	fw_error_free(err);
	fw_error_free(fw_audit_verify(path, NULL, &report));
}

static void test_audit__survives_every_allocation_failure(void **state)
{
	size_t at = 1;

	(void)memory_setup(state);
	for (int on = 0; on < 2; on++)
		for (at = 1;; at++) {
			long live = fw_error_live();

			memory.calls = 0;
			memory.failed = false;
			memory.fail_on = on;
			memory.fail_at = at;
			open_append_and_verify();
			memory.fail_at = 0;
			assert_int_equal(memory.blocks, 0);
			assert_int_equal(fw_error_live(), live);
			if (!memory.failed)
				break;
			assert_true(at < 1000);
		}
	assert_int_equal(memory_teardown(state), 0);
	/* The chain is intact, whatever was refused. */
	assert_int_equal(verified(false).fault, FW_AUDIT_WHOLE);
	print_message("# %zu allocations\n", at - 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_audit__##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(concurrent_records_share_syncs),
		TEST(processes_share_a_log_without_gaps),
		TEST(records_after_a_move_go_to_the_new_file),
		TEST(a_log_stays_in_its_directory_when_that_is_renamed),
		TEST(moves_and_records_in_flight_keep_their_order),
		TEST(a_path_that_cannot_be_a_log_is_refused),
		TEST(a_held_lock_is_waited_for_and_reported),
		TEST(a_full_disk_leaves_no_incomplete_line_and_is_recovered_from),
		TEST(a_missing_directory_is_down_until_it_is_back),
		TEST(survives_every_allocation_failure),
	};

	/* SIGXFSZ must not end the process: the write fails instead. */
	(void)signal(SIGXFSZ, SIG_DFL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
