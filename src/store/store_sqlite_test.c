/*
 * store_sqlite_test.c - the URL of a store, and what may happen to the file of rows.
 * store_suite.c has the rules for all backends, incident_test.c what happens to the
 * file of incidents.
 */
#include "store/store.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <faultwire/faultwire.h>

#include "store/sqlite.h"
#include "test/memory.h"

#define SCRATCH_FORM "%s/store.db"
#include "test/scratch.h"

static struct fw_store *open_store(void)
{
	const struct fw_store_options options = { .is_durable = true };
	struct fw_store *store = NULL;

	assert_null(fw_store_open(path, &options, &store));
	return store;
}

static fw_error *put(struct fw_store *store, const char *key, const char *value)
{
	const struct fw_store_change change = {
		.action = FW_STORE_PUT, .kind = "k", .key = key, .value = value
	};
	struct fw_store_result result;

	return fw_store_apply(store, &change, 1, &result);
}

static void count_row(void *ctx, const struct fw_store_row *row)
{
	assert_string_equal(row->kind, "k");
	++*(size_t *)ctx;
}

static size_t count(struct fw_store *store)
{
	size_t rows = 0;

	assert_null(fw_store_list(store, "k", NULL, NULL, 1000, count_row, &rows));
	return rows;
}

static void assert_fails(fw_error *err, int code)
{
	assert_int_equal(fw_error_code(err), code);
	fw_error_free(err);
}

/* ---- URLs --------------------------------------------------------------- */

static void test_store__a_url_without_a_backend_is_a_clear_error(void **state)
{
	struct fw_store *store = NULL;

	(void)state;
	assert_fails(fw_store_open("mysql://db/x", NULL, &store), FW_INPUT_INVALID_VALUE);
	assert_fails(fw_store_open("sqlite:", NULL, &store), FW_INPUT_INVALID_VALUE);
	assert_fails(fw_store_open("", NULL, &store), FW_INPUT_INVALID_VALUE);
	assert_null(store);
}

static void test_store__a_path_and_a_url_name_the_same_file(void **state)
{
	struct fw_store *store = open_store();
	char url[160];

	(void)state;
	assert_null(put(store, "a", "1"));
	fw_store_free(store);
	(void)snprintf(url, sizeof url, "sqlite:%s", path);
	store = NULL;
	assert_null(fw_store_open(url, NULL, &store));
	assert_int_equal(count(store), 1);
	fw_store_free(store);
}

static void test_store__a_store_that_is_never_used_makes_no_file(void **state)
{
	(void)state;
	fw_store_free(open_store());
	assert_int_equal(access(path, F_OK), -1);
}

/* ---- the file ----------------------------------------------------------- */

static void run_sql(const char *sql)
{
	sqlite3 *db = NULL;

	assert_null(fw_sqlite_load());
	assert_int_equal(
		sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	(void)sqlite3_close_v2(db);
}

static void test_store__a_file_with_incidents_gets_rows_and_keeps_its_version(void **state)
{
	struct fw_store *store = open_store();
	char remark[256] = "";

	(void)state;
	assert_null(fw_store_prepare(store, remark, sizeof remark));
	fw_store_free(store);
	/* Fails if the table exists: it is made with the first row. */
	run_sql("CREATE TABLE store_row(x); DROP TABLE store_row");
	store = open_store();
	assert_null(put(store, "a", "1"));
	assert_int_equal(count(store), 1);
	fw_store_free(store);
	/* Fails if an older version would not read it. */
	run_sql("CREATE TEMP TABLE t(v CHECK(v=1));"
		"INSERT INTO t SELECT user_version FROM pragma_user_version");
}

static void overwrite(void)
{
	static const char garbage[] =
		"this is not a database, it is only long enough to be one";
	int fd = open(path, O_WRONLY);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, garbage, sizeof garbage), sizeof garbage);
	(void)close(fd);
}

static void test_store__rows_of_a_corrupt_file_are_not_discarded(void **state)
{
	struct fw_store *store = open_store();
	struct stat before, after;
	size_t deleted = 0;

	(void)state;
	assert_null(put(store, "a", "1"));
	fw_store_free(store);
	assert_int_equal(stat(path, &before), 0);
	overwrite();
	store = open_store();
	assert_fails(put(store, "b", "1"), FW_DEPENDENCY_UNAVAILABLE);
	assert_fails(put(store, "b", "1"), FW_DEPENDENCY_UNAVAILABLE);
	assert_fails(fw_store_expire(store, 1, &deleted), FW_DEPENDENCY_UNAVAILABLE);
	fw_store_free(store);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(before.st_size, after.st_size);
}

static void test_store__a_file_that_is_overwritten_while_open_is_noticed(void **state)
{
	struct fw_store *store = open_store();

	(void)state;
	assert_null(put(store, "a", "1"));
	overwrite();
	assert_fails(put(store, "b", "1"), FW_DEPENDENCY_UNAVAILABLE);
	assert_fails(put(store, "b", "1"), FW_DEPENDENCY_UNAVAILABLE);
	fw_store_free(store);
}

static void test_store__a_file_that_another_process_has_locked_is_reported_as_such(void **state)
{
	struct fw_store *store = open_store();
	sqlite3 *other = NULL;
	char text[512];
	fw_error *err;

	(void)state;
	assert_null(put(store, "a", "1"));
	assert_int_equal(sqlite3_open_v2(path, &other, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	err = put(store, "b", "1");
	assert_int_equal(fw_error_code(err), FW_DEPENDENCY_UNAVAILABLE);
	(void)fw_error_encode(err, FW_CANONICAL, NULL, text, sizeof text);
	assert_non_null(strstr(text, "another process holds the lock of the file"));
	fw_error_free(err);
	(void)sqlite3_close_v2(other);
	assert_null(put(store, "b", "1"));
	fw_store_free(store);
}

static void test_store__a_deleted_file_is_made_again(void **state)
{
	struct fw_store *store = open_store();

	(void)state;
	assert_null(put(store, "a", "1"));
	assert_int_equal(unlink(path), 0);
	assert_null(put(store, "b", "1"));
	assert_int_equal(count(store), 1);
	fw_store_free(store);
}

static void test_store__a_path_that_cannot_be_written_is_an_error(void **state)
{
	struct fw_store *store;
	size_t rows = 0;

	(void)state;
	(void)snprintf(path, sizeof path, "%s", directory);
	store = open_store();
	assert_fails(put(store, "a", "1"), FW_DEPENDENCY_UNAVAILABLE);
	assert_fails(fw_store_get(store, "k", "a", count_row, &rows),
		     FW_DEPENDENCY_UNAVAILABLE);
	fw_store_free(store);
	(void)snprintf(path, sizeof path, "%s/no/such/store.db", directory);
	store = open_store();
	assert_fails(put(store, "a", "1"), FW_DEPENDENCY_UNAVAILABLE);
	fw_store_free(store);
}

/* Files may not grow over this size in the child. */
static void fill(void)
{
	const struct rlimit limit = { 1024 * 1024, 1024 * 1024 };
	struct fw_store *store = open_store();
	char value[4096], key[16];
	fw_error *err = NULL;

	memset(value, '1', sizeof value - 1);
	value[sizeof value - 1] = '\0';
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)setrlimit(RLIMIT_FSIZE, &limit);
	for (int i = 0; i < 1000 && !err; i++) {
		(void)snprintf(key, sizeof key, "%04d", i);
		err = put(store, key, value);
	}
	if (fw_error_code(err) != FW_DEPENDENCY_UNAVAILABLE || count(store) < 10)
		_exit(1);
	fw_error_free(err);
	/* It can be read, and written again once there is room. */
	err = put(store, "0000", "1");
	if (err && fw_error_code(err) != FW_DEPENDENCY_UNAVAILABLE)
		_exit(2);
	fw_error_free(err);
	fw_store_free(store);
	_exit(fw_error_live() == 0 ? 0 : 3);
}

static void test_store__a_full_disk_fails_the_change_and_keeps_the_rest(void **state)
{
	struct fw_store *store;
	int status = -1;
	size_t before;
	pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (child == 0)
		fill();
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	store = open_store();
	before = count(store);
	assert_true(before >= 10);
	assert_null(put(store, "new", "1"));
	assert_int_equal(count(store), before + 1);
	fw_store_free(store);
}

/* ---- without memory ----------------------------------------------------- */

static void use_once(void)
{
	const struct fw_store_options options = { .is_reader = true };
	struct fw_store *store = NULL;
	size_t rows = 0, deleted = 0;
	fw_error *err = fw_store_open(path, NULL, &store);

	if (!err)
		err = put(store, "a", "1");
	if (!err)
		err = fw_store_get(store, "k", "a", count_row, &rows);
	if (!err)
		err = fw_store_expire(store, 1, &deleted);
	fw_store_free(store);
	store = NULL;
	if (!err)
		err = fw_store_open(path, &options, &store);
	if (!err)
		err = fw_store_list(store, "k", NULL, NULL, 10, count_row, &rows);
	fw_store_free(store);
	if (!err && !test_memory.failed)
		assert_int_equal(rows, 2);
	fw_error_free(err);
}

static void test_store__each_allocation_may_fail(void **state)
{
	(void)state;
	use_once();
	each_allocation_fails(use_once);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_store__##name, set_up, tear_down)

enum { PROCESSES = 6, ROUNDS = 20 };

/* The exit status of a process that makes the store when `start` is closed. */
static int make_at(int start)
{
	struct fw_store *store = open_store();
	fw_error *err;
	char byte;

	if (read(start, &byte, 1) != 0)
		return 2;
	err = put(store, "a", "b");
	fw_store_free(store);
	return err != NULL;
}

static void test_store__processes_that_make_a_store_at_once_wait_for_each_other(void **state)
{
	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		pid_t children[PROCESSES];
		int start[2], status;

		(void)unlink(path);
		assert_int_equal(pipe(start), 0);
		for (int i = 0; i < PROCESSES; i++) {
			children[i] = fork();
			assert_true(children[i] >= 0);
			if (children[i] == 0) {
				(void)close(start[1]);
				_exit(make_at(start[0]));
			}
		}
		(void)close(start[0]);
		(void)close(start[1]);
		for (int i = 0; i < PROCESSES; i++) {
			assert_int_equal(waitpid(children[i], &status, 0), children[i]);
			assert_int_equal(status, 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_url_without_a_backend_is_a_clear_error),
		TEST(a_path_and_a_url_name_the_same_file),
		TEST(a_store_that_is_never_used_makes_no_file),
		TEST(a_file_with_incidents_gets_rows_and_keeps_its_version),
		TEST(rows_of_a_corrupt_file_are_not_discarded),
		TEST(a_file_that_is_overwritten_while_open_is_noticed),
		TEST(a_file_that_another_process_has_locked_is_reported_as_such),
		TEST(a_deleted_file_is_made_again),
		TEST(a_path_that_cannot_be_written_is_an_error),
		TEST(a_full_disk_fails_the_change_and_keeps_the_rest),
		TEST(processes_that_make_a_store_at_once_wait_for_each_other),
		TEST(each_allocation_may_fail),
	};

	return cmocka_run_group_tests_name("store_sqlite", tests, NULL, NULL);
}
