/*
 * incident_test.c - incidents are stored and found, and the store recovers from
 * whatever happens to its file.
 */
#include "observe/incident/incident.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <yyjson.h>

#include "base/id.h"
#include "store/sqlite.h"

#include <faultwire/faultwire.h>

#define SCRATCH_FORM "%s/incidents.db"
#include "test/scratch.h"

/* ---- what is written ---------------------------------------------------------------- */

struct source {
	size_t left;
	const char *code;
	int64_t time_ms;
	char id[64];
	const char *error;
};

static bool give(void *ctx, struct fw_incident *ret_incident)
{
	struct source *source = ctx;

	if (!source->left)
		return false;
	source->left--;
	(void)snprintf(source->id, sizeof source->id, "inc_20260115_%s%zu", source->code,
		       source->left);
	*ret_incident = (struct fw_incident){
		.id = source->id,
		.time_ms = source->time_ms + (int64_t)source->left,
		.duration_us = 1500,
		.code = source->code,
		.severity = "warning",
		.status = 404,
		.tool = "open_file",
		.client = "test",
		.message = "File not found: a",
		.counted_as = "open_file",
		.error = source->error ? source->error : "{\"code\":\"file.not_found\"}",
	};
	return true;
}

static fw_error *add(struct fw_store *store, size_t count, const char *code, int64_t time_ms)
{
	struct source source = { .left = count, .code = code, .time_ms = time_ms };
	char remark[256] = "";

	FW_TRY(fw_store_prepare(store, remark, sizeof remark));
	/* cppcheck-suppress returnDanglingLifetime ; an error, not its ctx */
	return fw_store_add_incidents(store, give, &source);
}

static struct fw_store *writer(void)
{
	struct fw_store *store = NULL;

	assert_null(fw_store_open(path, NULL, &store));
	return store;
}

static struct fw_store *reader(void)
{
	struct fw_store *store = NULL;
	fw_error *err =
		fw_store_open(path, &(struct fw_store_options){ .is_reader = true }, &store);

	if (err)
		print_message("%s\n", fw_error_message(err));
	assert_null(err);
	return store;
}

static void count(void *ctx, const struct fw_incident *incident)
{
	assert_non_null(incident->id);
	++*(size_t *)ctx;
}

static size_t kept_with(struct fw_incident_filter filter)
{
	struct fw_store *store = reader();
	size_t found = 0;

	assert_null(fw_store_list_incidents(store, &filter, count, &found));
	fw_store_free(store);
	return found;
}

static size_t kept(void)
{
	return kept_with((struct fw_incident_filter){ 0 });
}

/* ---- tests ------------------------------------------------------------------------------ */

static void test_incident__incidents_that_were_written_are_found(void **state)
{
	struct fw_store *store = writer();
	struct stat file;

	(void)state;
	assert_null(add(store, 3, "file.not_found", 1000));
	assert_null(add(store, 2, "tool.crashed", 2000));
	/* A reader beside the writer. */
	assert_int_equal(kept(), 5);
	assert_int_equal(kept_with((struct fw_incident_filter){ .code = "tool.crashed" }), 2);
	assert_int_equal(kept_with((struct fw_incident_filter){ .tool = "open_file" }), 5);
	assert_int_equal(kept_with((struct fw_incident_filter){ .tool = "other" }), 0);
	assert_int_equal(kept_with((struct fw_incident_filter){ .client = "test" }), 5);
	assert_int_equal(kept_with((struct fw_incident_filter){ .session = "s" }), 0);
	assert_int_equal(kept_with((struct fw_incident_filter){ .since_ms = 2000 }), 2);
	assert_int_equal(kept_with((struct fw_incident_filter){ .until_ms = 1002 }), 2);
	assert_int_equal(kept_with((struct fw_incident_filter){ .limit = 4 }), 4);
	fw_store_free(store);
	assert_int_equal(stat(path, &file), 0);
	assert_int_equal(file.st_mode & 0777, 0600);
	assert_int_equal(kept(), 5);
}

static void test_incident__an_incident_is_found_by_a_prefix_of_its_id(void **state)
{
	struct fw_store *store = writer();
	struct fw_buf json;
	yyjson_doc *doc;
	fw_error *err;

	(void)state;
	assert_null(add(store, 12, "a", 1000));
	assert_null(add(store, 1, "b", 1000));
	fw_buf_init(&json, 1 << 20);
	assert_null(fw_incident_get_json(store, "inc_20260115_b", &json));
	doc = yyjson_read(json.text, json.len, 0);
	assert_non_null(doc);
	assert_string_equal(yyjson_get_str(yyjson_obj_get(yyjson_doc_get_root(doc), "time")),
			    "1970-01-01T00:00:01.000Z");
	assert_non_null(yyjson_obj_get(yyjson_doc_get_root(doc), "error"));
	yyjson_doc_free(doc);
	fw_buf_reset(&json, 0);
	/* a1 is a complete id, although a10 and a11 begin with it. */
	assert_null(fw_incident_get_json(store, "inc_20260115_a1", &json));
	assert_non_null(strstr(json.text, "\"count\":12"));
	err = fw_incident_get_json(store, "inc_20260115_a", &json);
	assert_int_equal(fw_error_code(err), FW_INPUT_INVALID_VALUE);
	fw_error_free(err);
	err = fw_incident_get_json(store, "inc_nobody", &json);
	assert_int_equal(fw_error_code(err), FW_INCIDENT_NOT_FOUND);
	fw_error_free(err);
	err = fw_incident_get_json(store, "", &json);
	assert_int_equal(fw_error_code(err), FW_INCIDENT_NOT_FOUND);
	fw_error_free(err);
	fw_buf_reset(&json, 0);
	assert_null(fw_incident_list_json(store, &(struct fw_incident_filter){ 0 }, &json));
	doc = yyjson_read(json.text, json.len, 0);
	assert_int_equal(yyjson_arr_size(yyjson_doc_get_root(doc)), 13);
	yyjson_doc_free(doc);
	fw_buf_clear(&json);
	fw_store_free(store);
}

static void test_incident__old_incidents_are_deleted_but_stay_counted(void **state)
{
	struct fw_store *store = writer();
	struct fw_buf json;

	(void)state;
	assert_null(add(store, 5, "a", 1000));
	assert_null(add(store, 3, "a", 9000));
	assert_null(fw_store_prune_incidents(store, 5000, UINT64_MAX));
	assert_int_equal(kept(), 3);
	fw_buf_init(&json, 1 << 20);
	assert_null(fw_incident_get_json(store, "inc_20260115_a0", &json));
	assert_non_null(
		strstr(json.text, "\"count\":8,\"first\":\"1970-01-01T00:00:01.004Z\""));
	fw_buf_clear(&json);
	assert_null(fw_store_prune_incidents(store, 10000, UINT64_MAX));
	assert_int_equal(kept(), 0);
	fw_store_free(store);
}

struct first {
	char id[64];
	size_t count;
};

static void keep_first(void *ctx, const struct fw_incident *incident)
{
	struct first *first = ctx;

	if (first->count++ == 0)
		(void)snprintf(first->id, sizeof first->id, "%s", incident->id);
}

static void test_incident__a_clock_that_jumps_back_does_not_hide_new_ones(void **state)
{
	const struct fw_incident_filter filter = { .limit = 5 };
	struct fw_store *store = writer();
	struct first first = { .count = 0 };

	(void)state;
	assert_null(add(store, 20, "old", 9000000));
	/* Two hours earlier by the clock, and even before 1970. */
	assert_null(add(store, 1, "new", 1800000));
	assert_null(add(store, 1, "newest", -5000));
	assert_null(fw_store_list_incidents(store, &filter, keep_first, &first));
	assert_string_equal(first.id, "inc_20260115_newest0");
	assert_int_equal(first.count, 5);
	/* The clock is right again: the newest are not evicted. */
	assert_null(fw_store_prune_incidents(store, 8000000, UINT64_MAX));
	assert_int_equal(kept(), 22);
	assert_null(add(store, 1, "later", 20000000));
	assert_null(fw_store_prune_incidents(store, 10000000, UINT64_MAX));
	assert_int_equal(kept(), 1);
	fw_store_free(store);
}

static void test_incident__the_oldest_are_deleted_when_the_store_is_too_large(void **state)
{
	struct fw_store *store = writer();
	char text[2048];
	struct source source = { .left = 4000, .code = "a", .time_ms = 1000, .error = text };
	char remark[8] = "";
	struct stat file;
	size_t left;

	(void)state;
	memset(text, 'x', sizeof text);
	text[sizeof text - 1] = '\0';
	assert_null(fw_store_prepare(store, remark, sizeof remark));
	assert_null(fw_store_add_incidents(store, give, &source));
	assert_null(fw_store_prune_incidents(store, 0, 4 << 20));
	left = kept();
	assert_true(left > 500 && left < 2500);
	/* Free pages are used again: the file does not grow. */
	for (int i = 0; i < 10; i++) {
		source.left = 1000;
		assert_null(fw_store_add_incidents(store, give, &source));
		assert_null(fw_store_prune_incidents(store, 0, 4 << 20));
	}
	fw_store_free(store);
	assert_int_equal(stat(path, &file), 0);
	assert_true(file.st_size < 14 << 20);
}

static void test_incident__a_deleted_file_is_made_again(void **state)
{
	struct fw_store *store = writer();

	(void)state;
	assert_null(add(store, 3, "a", 1000));
	assert_int_equal(unlink(path), 0);
	assert_null(add(store, 2, "b", 1000));
	assert_int_equal(kept(), 2);
	fw_store_free(store);
	assert_int_equal(kept(), 2);
}

static void overwrite(const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	char noise[8192];

	memset(noise, 'z', sizeof noise);
	assert_true(fd >= 0);
	assert_true(write(fd, text, strlen(text)) >= 0);
	assert_true(write(fd, noise, sizeof noise) > 0);
	(void)close(fd);
}

static void test_incident__a_file_that_is_not_a_database_is_renamed(void **state)
{
	struct fw_store *store = writer();
	struct source source = { .left = 2, .code = "a" };
	char remark[256] = "";

	(void)state;
	overwrite("this is no database");
	assert_null(fw_store_prepare(store, remark, sizeof remark));
	assert_non_null(strstr(remark, "incidents.db.corrupt-"));
	assert_int_equal(access(remark, F_OK), 0);
	assert_null(fw_store_add_incidents(store, give, &source));
	assert_int_equal(kept(), 2);
	fw_store_free(store);
}

static void test_incident__a_file_that_is_corrupted_while_open_is_renamed(void **state)
{
	struct fw_store *store = writer();
	char remark[256] = "";
	fw_error *err = NULL;

	(void)state;
	assert_null(add(store, 200, "a", 1000));
	/* Overwrite the log as well, from which SQLite reads first. */
	assert_int_equal(truncate(path, 0), 0);
	overwrite("SQLite format 3");
	for (int i = 0; i < 3 && !remark[0]; i++) {
		struct source source = { .left = 200, .code = "b" };

		err = fw_store_prepare(store, remark, sizeof remark);
		if (!err)
			err = fw_store_add_incidents(store, give, &source);
		fw_error_free(err);
	}
	assert_null(add(store, 2, "c", 1000));
	assert_true(kept() >= 2);
	fw_store_free(store);
}

static void test_incident__a_file_of_a_newer_version_is_not_touched(void **state)
{
	struct fw_store *store = writer();
	char remark[256] = "";
	sqlite3 *db = NULL;
	fw_error *err;

	(void)state;
	assert_null(fw_sqlite_load());
	assert_int_equal(
		sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA user_version=99", NULL, NULL, NULL),
			 SQLITE_OK);
	(void)sqlite3_close_v2(db);
	err = fw_store_prepare(store, remark, sizeof remark);
	assert_int_equal(fw_error_code(err), FW_INCIDENT_STORE_FAILED);
	assert_non_null(strstr(fw_error_message(err), "newer"));
	assert_string_equal(remark, "");
	fw_error_free(err);
	fw_store_free(store);
}

static void test_incident__a_missing_file_is_an_error(void **state)
{
	struct fw_store *store = NULL;
	char remark[8] = "";
	fw_error *err =
		fw_store_open(path, &(struct fw_store_options){ .is_reader = true }, &store);

	(void)state;
	assert_int_equal(fw_error_code(err), FW_INCIDENT_STORE_FAILED);
	fw_error_free(err);
	(void)snprintf(path, sizeof path, "%s/no/such/folder.db", directory);
	store = writer();
	err = fw_store_prepare(store, remark, sizeof remark);
	assert_int_equal(fw_error_code(err), FW_INCIDENT_STORE_FAILED);
	fw_error_free(err);
	fw_store_free(store);
	assert_int_equal(mkdir(directory, 0700), -1);
	(void)snprintf(path, sizeof path, "%s", directory);
	store = writer();
	err = fw_store_prepare(store, remark, sizeof remark);
	assert_int_equal(fw_error_code(err), FW_INCIDENT_STORE_FAILED);
	fw_error_free(err);
	fw_store_free(store);
}

/* ---- from a server's end of a call --------------------------------------------------------- */

static fw_error *sample(void)
{
	fw_error *err = fw_raise_file_not_found("src/main.py");

	fw_error_set_incident_id(err, "inc_20260115_sample");
	fw_error_set_detail(err, "for the operator");
	fw_error_fill_scope(err, &(fw_scope){ .tool = "open_file",
					      .client = "c",
					      .session_id = "s",
					      .trace_id = "00-11" });
	return err;
}

static void test_incident__a_failure_is_stored_with_all_its_members(void **state)
{
	const struct fw_incidents_options options = { 0 };
	fw_incidents *incidents = NULL;
	fw_error *err = sample();
	fw_outcome outcome = { .name = "open_file",
			       .error = err,
			       .contract = FW_TOOLERROR,
			       .duration_ns = 2500000,
			       .is_known = true };
	fw_observer observer;
	struct fw_store *store;
	struct fw_buf json;

	(void)state;
	/* Looks like what is stored for the contract, and is not. */
	fw_error_add_string(err, "reported_as", "kaiza");
	assert_null(fw_incidents_new(writer(), &options, &incidents));
	observer = fw_incidents_observer(incidents);
	observer.failed(observer.ctx, &outcome);
	fw_incidents_free(incidents);
	fw_error_free(err);
	store = reader();
	fw_buf_init(&json, 1 << 20);
	assert_null(fw_incident_get_json(store, "inc_20260115_sample", &json));
	assert_non_null(strstr(json.text, "\"code\":\"file.not_found\""));
	assert_non_null(strstr(json.text, "\"tool\":\"open_file\""));
	assert_non_null(strstr(json.text, "\"client\":\"c\",\"session\":\"s\""));
	assert_non_null(strstr(json.text, "\"trace_id\":\"00-11\""));
	assert_non_null(strstr(json.text, "\"duration_ms\":2.5"));
	assert_non_null(strstr(json.text, "\"trail\":[\""));
	assert_non_null(strstr(json.text, "\"contract\":\"toolerror\""));
	assert_non_null(strstr(json.text, "\"reported_as\":\"kaiza\""));
	assert_null(strstr(json.text, "\"reported_as\":\"toolerror\""));
	assert_non_null(strstr(json.text, "\"detail\":\"for the operator\""));
	fw_buf_clear(&json);
	fw_store_free(store);
	assert_int_equal(kept(), 1);
}

static void test_incident__while_the_store_is_down_incidents_wait_for_it(void **state)
{
	const struct fw_incidents_options options = { 0 };
	fw_incidents *incidents = NULL;
	fw_error *err = sample();
	fw_outcome outcome = { .error = err };
	fw_observer observer;

	(void)state;
	/* There is a directory at the path of the file. */
	assert_int_equal(mkdir(path, 0700), 0);
	assert_null(fw_incidents_new(writer(), &options, &incidents));
	observer = fw_incidents_observer(incidents);
	observer.failed(observer.ctx, &outcome);
	while (!fw_incidents_health(incidents).is_down)
		(void)usleep(1000);
	assert_int_equal(fw_incidents_health(incidents).written, 0);
	assert_int_equal(rmdir(path), 0);
	fw_incidents_free(incidents);
	fw_error_free(err);
	assert_int_equal(kept(), 1);
}

static void test_incident__incidents_that_do_not_fit_are_counted_and_memory_is_bounded(
	void **state)
{
	const struct fw_incidents_options options = { 0 };
	fw_incidents *incidents = NULL;
	fw_error *err = sample();
	fw_outcome outcome = { .error = err };
	fw_observer observer;

	(void)state;
	assert_int_equal(mkdir(path, 0700), 0);
	assert_null(fw_incidents_new(writer(), &options, &incidents));
	observer = fw_incidents_observer(incidents);
	for (int i = 0; i < 60000; i++)
		observer.failed(observer.ctx, &outcome);
	assert_true(fw_incidents_health(incidents).lost > 0);
	assert_true(fw_incidents_health(incidents).waiting_bytes <= 2 * (8 << 20));
	fw_incidents_free(incidents);
	fw_error_free(err);
}

/* ---- a server that is killed --------------------------------------------------------- */

/* Records incidents and is killed at once; the last ones were never in a batch. */
static void fail_and_die(int count)
{
	const struct fw_incidents_options options = { .stem = path };
	fw_incidents *incidents = NULL;
	char id[64];

	fw_random_forget();
	if (fw_incidents_new(writer(), &options, &incidents))
		_exit(1);
	for (int i = 0; i < count; i++) {
		fw_observer observer = fw_incidents_observer(incidents);
		fw_error *err = fw_raise_file_not_found("a");
		fw_outcome outcome = { .error = err };

		(void)snprintf(id, sizeof id, "inc_%d_%d", (int)getpid(), i);
		fw_error_set_incident_id(err, id);
		observer.failed(observer.ctx, &outcome);
		/* Some in the store, some in a batch, some in the mirror alone. */
		if (i == count / 2)
			while (!fw_incidents_health(incidents).written)
				(void)usleep(1000);
	}
	(void)kill(getpid(), SIGKILL);
}

static void test_incident__none_is_lost_or_stored_twice_when_the_server_is_killed(void **state)
{
	const struct fw_incidents_options options = { .stem = path };
	size_t expected = 0;

	(void)state;
	for (int round = 0; round < 10; round++) {
		fw_incidents *incidents = NULL;
		int status = 0;
		pid_t child = fork();

		if (!child)
			fail_and_die(100 + round);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		expected += 100 + (size_t)round;
		/* The next one is killed, too, in every second round. */
		if (round % 2)
			continue;
		assert_null(fw_incidents_new(writer(), &options, &incidents));
		fw_incidents_free(incidents);
		assert_int_equal(kept(), expected);
	}
}

/* ---- without memory ----------------------------------------------------------------------------- */

static struct {
	size_t calls, fail_at;
	bool failed;
	long blocks;
} memory;

static void *allocate(void *ctx, size_t size)
{
	(void)ctx;
	if (++memory.calls == memory.fail_at) {
		memory.failed = true;
		return NULL;
	}
	memory.blocks++;
	return malloc(size);
}

static void *reallocate(void *ctx, void *ptr, size_t size)
{
	(void)ctx;
	if (++memory.calls == memory.fail_at) {
		memory.failed = true;
		return NULL;
	}
	memory.blocks += !ptr;
	return realloc(ptr, size);
}

static void release(void *ctx, void *ptr)
{
	(void)ctx;
	memory.blocks -= ptr != NULL;
	free(ptr);
}

static void test_incident__each_allocation_may_fail(void **state)
{
	static const fw_allocator allocator = { allocate, reallocate, release, NULL };
	struct fw_store *first = writer();

	(void)state;
	assert_null(add(first, 3, "a", 1000));
	fw_store_free(first);
	fw_allocator_set(&allocator);
	for (size_t at = 1;; at++) {
		struct fw_store *store = NULL;
		struct fw_buf json;
		fw_error *err;

		memory.calls = 0;
		memory.failed = false;
		memory.fail_at = at;
		fw_buf_init(&json, 1 << 20);
		err = fw_store_open(path, &(struct fw_store_options){ .is_reader = true },
				    &store);
		if (!err)
			err = fw_incident_get_json(store, "inc_20260115_a1", &json);
		if (!err)
			err = fw_incident_list_json(store, &(struct fw_incident_filter){ 0 },
						    &json);
		fw_store_free(store);
		fw_buf_clear(&json);
		assert_int_equal(err != NULL, memory.failed);
		fw_error_free(err);
		memory.fail_at = 0;
		assert_int_equal(memory.blocks, 0);
		if (!memory.failed)
			break;
	}
	for (size_t at = 1; at < 6; at++) {
		const struct fw_incidents_options options = { 0 };
		fw_incidents *incidents = NULL;
		struct fw_store *store = NULL;
		fw_error *err;

		memory.calls = 0;
		memory.fail_at = at;
		err = fw_store_open(path, NULL, &store);
		if (!err)
			err = fw_incidents_new(store, &options, &incidents);
		memory.fail_at = 0;
		fw_incidents_free(incidents);
		fw_error_free(err);
		assert_int_equal(memory.blocks, 0);
	}
	fw_allocator_set(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_incident__##name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(incidents_that_were_written_are_found),
		TEST(an_incident_is_found_by_a_prefix_of_its_id),
		TEST(old_incidents_are_deleted_but_stay_counted),
		TEST(a_clock_that_jumps_back_does_not_hide_new_ones),
		TEST(the_oldest_are_deleted_when_the_store_is_too_large),
		TEST(a_deleted_file_is_made_again),
		TEST(a_file_that_is_not_a_database_is_renamed),
		TEST(a_file_that_is_corrupted_while_open_is_renamed),
		TEST(a_file_of_a_newer_version_is_not_touched),
		TEST(a_missing_file_is_an_error),
		TEST(a_failure_is_stored_with_all_its_members),
		TEST(while_the_store_is_down_incidents_wait_for_it),
		TEST(incidents_that_do_not_fit_are_counted_and_memory_is_bounded),
		TEST(none_is_lost_or_stored_twice_when_the_server_is_killed),
		TEST(each_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
