/*
 * incident_file_test.c - incidents that wait on the disk: their order, files of killed
 * servers, records that were cut off or changed, and memory that is missing.
 */
#include "observe/incident/incident_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <faultwire/raise.h>

#include "observe/incident/incident_record.h"

#define SCRATCH_FORM "%s/incidents"
#include "store/store_backend.h"
#include "test/memory.h"
#include "test/scratch.h"

/* ---- a store that remembers what it gets ------------------------------------------- */

static uint64_t got[64];
static int64_t writers[64];
static size_t got_count;
static bool is_away;

static fw_error *remember(struct fw_store *store, fw_incident_next_fn *next, void *ctx)
{
	struct fw_incident incident;

	(void)store;
	if (is_away)
		return fw_raise_incident_store_failed("away");
	while (next(ctx, &incident)) {
		assert_string_equal(incident.code, "file.not_found");
		assert_non_null(strstr(incident.error, ",\"reported_as\":\"kaiza\"}"));
		assert_null(incident.detail);
		assert_int_equal(incident.status, 404);
		writers[got_count] = incident.writer;
		got[got_count++] = incident.number;
	}
	return NULL;
}

static const struct fw_store_incident_ops ops = { .add = remember };
static struct fw_store store = { .incidents = &ops };

/* ---- incidents --------------------------------------------------------------------- */

/* Appends records as a spool has them: the length, then the record. */
static void put_records(struct fw_buf *out, uint64_t after, size_t count)
{
	fw_error *err = fw_raise_file_not_found("a");

	for (uint64_t i = 1; i <= count; i++) {
		struct fw_incident incident = { .id = "inc_1",
						.time_ms = 1000,
						.code = "file.not_found",
						.severity = "warning",
						.status = 404,
						.message = "m",
						.counted_as = "",
						.number = after + i };
		size_t begin = out->len;
		uint32_t len = 0;

		fw_buf_put(out, (const char *)&len, sizeof len);
		fw_incident_record_put(out, &incident, err, FW_KAIZA);
		len = (uint32_t)(out->len - begin - sizeof len);
		if (out->state == FW_BUF_OK)
			memcpy(out->text + begin, &len, sizeof len);
	}
	fw_error_free(err);
}

static fw_error *append(struct fw_incident_file *file, uint64_t after, size_t count)
{
	struct fw_spool_batch batch = { .count = count };
	struct fw_buf buf;
	fw_error *err;

	fw_buf_init(&buf, 1 << 20);
	put_records(&buf, after, count);
	if (buf.state != FW_BUF_OK) {
		fw_buf_clear(&buf);
		return fw_raise_internal_out_of_memory();
	}
	batch.records = buf.text;
	batch.len = buf.len;
	err = fw_incident_file_append(file, &batch);
	fw_buf_clear(&buf);
	return err;
}

static struct fw_incident_file *begin(int64_t writer)
{
	struct fw_incident_file *file = NULL;

	got_count = 0;
	is_away = false;
	assert_null(fw_incident_file_new(path, writer, &file));
	return file;
}

static size_t deliver_all(struct fw_incident_file *file)
{
	uint64_t count;

	while (!fw_incident_file_is_empty(file))
		assert_null(fw_incident_file_deliver(file, &store, &count));
	return got_count;
}

/* The number of files, and the path of the last one. */
static size_t find_files(char *ret_path, size_t size)
{
	DIR *dir = opendir(directory);
	const struct dirent *entry;
	size_t count = 0;

	/* cppcheck-suppress readdirCalled ; the test has one thread */
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		count++;
		(void)snprintf(ret_path, size, "%s/%s", directory, entry->d_name);
	}
	(void)closedir(dir);
	return count;
}

/* ---- tests ------------------------------------------------------------------------- */

static void test_incident_file__they_leave_in_the_order_in_which_they_came(void **state)
{
	struct fw_incident_file *file = begin(7);
	char name[512];

	(void)state;
	assert_true(fw_incident_file_is_empty(file));
	assert_null(append(file, 0, 3));
	assert_null(append(file, 3, 2));
	assert_int_equal(fw_incident_file_count(file), 5);
	assert_true(fw_incident_file_bytes(file) > 0);
	assert_int_equal(deliver_all(file), 5);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(got[i], i + 1);
		assert_int_equal(writers[i], 7);
	}
	assert_int_equal(fw_incident_file_count(file), 0);
	assert_int_equal(fw_incident_file_bytes(file), 0);
	fw_incident_file_free(file);
	assert_int_equal(find_files(name, sizeof name), 0);
}

static void test_incident_file__what_the_store_refuses_waits_on(void **state)
{
	struct fw_incident_file *file = begin(7);
	uint64_t count = 1;
	fw_error *err;

	(void)state;
	assert_null(append(file, 0, 3));
	is_away = true;
	err = fw_incident_file_deliver(file, &store, &count);
	assert_non_null(err);
	fw_error_free(err);
	assert_int_equal(count, 0);
	assert_int_equal(fw_incident_file_count(file), 3);
	is_away = false;
	assert_int_equal(deliver_all(file), 3);
	fw_incident_file_free(file);
}

static void test_incident_file__the_file_of_a_killed_server_is_delivered_first(void **state)
{
	struct fw_incident_file *killed = begin(7), *file;
	char name[512];

	(void)state;
	assert_null(append(killed, 0, 2));
	/* It stays, since it is not empty. */
	fw_incident_file_free(killed);
	assert_int_equal(find_files(name, sizeof name), 1);
	file = begin(8);
	assert_null(append(file, 0, 1));
	assert_int_equal(deliver_all(file), 3);
	assert_int_equal(writers[0], 7);
	assert_int_equal(writers[1], 7);
	assert_int_equal(writers[2], 8);
	fw_incident_file_free(file);
	assert_int_equal(find_files(name, sizeof name), 0);
}

static void test_incident_file__a_file_in_use_is_left_alone(void **state)
{
	struct fw_incident_file *running = begin(7), *file;

	(void)state;
	assert_null(append(running, 0, 2));
	file = begin(8);
	assert_true(fw_incident_file_is_empty(file));
	fw_incident_file_free(file);
	assert_int_equal(deliver_all(running), 2);
	fw_incident_file_free(running);
}

/* ---- mirrors ----------------------------------------------------------------------- */

static bool refuse(void *ctx, const struct fw_spool_batch *batch)
{
	(void)ctx;
	(void)batch;
	return false;
}

/* A spool whose store is unavailable, with records in its mirrors. Batches are taken by its
 * thread at any time, so records are in one of the mirrors or in both. */
static struct fw_spool *fill_mirrors(struct fw_incident_file *file, uint64_t after,
				     size_t count)
{
	const struct fw_spool_options options = {
		.max_bytes = 1 << 20, .retry_ms = 1, .tick_ms = 1, .work = refuse
	};
	struct fw_spool *spool = NULL;
	fw_error *err = fw_raise_file_not_found("a");

	assert_null(fw_spool_new(&options, &spool));
	for (uint64_t i = 1; i <= count; i++) {
		struct fw_incident incident = { .id = "inc_1",
						.code = "file.not_found",
						.severity = "warning",
						.status = 404,
						.message = "m",
						.counted_as = "",
						.number = after + i };
		struct fw_buf *out = fw_spool_begin(spool);

		assert_int_equal(fw_incident_file_mirror(file, spool), 0);
		fw_incident_record_put(out, &incident, err, FW_KAIZA);
		fw_spool_end(spool);
	}
	fw_error_free(err);
	return spool;
}

static void test_incident_file__what_was_in_memory_is_delivered_after_a_kill(void **state)
{
	struct fw_incident_file *killed = begin(7), *file;
	struct fw_spool *spool;
	char name[512];

	(void)state;
	/* Some are in the file already, and are older. */
	assert_null(append(killed, 0, 2));
	spool = fill_mirrors(killed, 2, 5);
	fw_spool_free(spool);
	assert_int_equal(find_files(name, sizeof name), 3);
	fw_incident_file_free(killed);
	file = begin(8);
	assert_int_equal(deliver_all(file), 7);
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(got[i], i + 1);
	fw_incident_file_free(file);
	assert_int_equal(find_files(name, sizeof name), 0);
}

static bool accept(void *ctx, const struct fw_spool_batch *batch)
{
	(void)ctx;
	(void)batch;
	return true;
}

static void test_incident_file__a_mirror_is_empty_after_its_batch(void **state)
{
	const struct fw_spool_options options = { .max_bytes = 1 << 20, .work = accept };
	struct fw_incident_file *file = begin(7);
	fw_error *err = fw_raise_file_not_found("a");
	struct fw_spool *spool = NULL;
	char name[512];

	(void)state;
	assert_null(fw_spool_new(&options, &spool));
	for (uint64_t i = 1; i <= 500; i++) {
		struct fw_incident incident = { .id = "inc_1", .code = "c", .number = i };
		struct fw_buf *out = fw_spool_begin(spool);

		assert_int_equal(fw_incident_file_mirror(file, spool), 0);
		fw_incident_record_put(out, &incident, err, FW_KAIZA);
		fw_spool_end(spool);
	}
	fw_spool_free(spool);
	fw_error_free(err);
	assert_int_equal(find_files(name, sizeof name), 2);
	fw_incident_file_free(file);
	assert_int_equal(find_files(name, sizeof name), 0);
}

/* A later file that is delivered first would hide the others from the store. */
static void test_incident_file__files_of_one_writer_are_adopted_together(void **state)
{
	struct fw_incident_file *killed = begin(7), *file;
	char name[512];
	int fd;

	(void)state;
	assert_null(append(killed, 0, 2));
	fw_spool_free(fill_mirrors(killed, 2, 5));
	fw_incident_file_free(killed);
	(void)snprintf(name, sizeof name, "%s-%016x-1.waiting", path, 7);
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	file = begin(8);
	assert_true(fw_incident_file_is_empty(file));
	assert_true(fw_incident_file_has_rest(file));
	(void)close(fd);
	fw_incident_file_adopt_rest(file);
	assert_false(fw_incident_file_has_rest(file));
	assert_int_equal(deliver_all(file), 7);
	fw_incident_file_free(file);
}

static void test_incident_file__secrets_are_not_written(void **state)
{
	fw_error *err = fw_raise_file_not_found("a");
	struct fw_incident incident = { .id = "inc_1",
					.code = "c",
					.client = "password=hunter2hunter2",
					.message = "m",
					.number = 1 };
	struct fw_incident_records records = { 0 };
	struct fw_buf buf;

	(void)state;
	fw_buf_init(&buf, 1 << 20);
	fw_incident_record_put(&buf, &incident, err, FW_KAIZA);
	fw_error_free(err);
	assert_null(memmem(buf.text, buf.len, "hunter2", 7));
	records.at = buf.text;
	records.left = buf.len;
	assert_true(fw_incident_record_next(&records, &incident));
	assert_string_equal(incident.client, "password=[redacted]");
	assert_string_equal(incident.message, "m");
	assert_false(fw_incident_record_next(&records, &incident));
	/* The same number again is the rest of an older file. */
	records.at = buf.text;
	records.left = buf.len;
	assert_false(fw_incident_record_next(&records, &incident));
	fw_buf_clear(&buf);
}

/* Cuts the file of a killed server at every length, and changes each of its bytes. */
static void test_incident_file__a_damaged_file_is_read_up_to_the_damage(void **state)
{
	struct fw_incident_file *file = begin(7);
	char whole[4096], name[512];
	ssize_t len;
	int fd;

	(void)state;
	assert_null(append(file, 0, 3));
	fw_incident_file_free(file);
	assert_int_equal(find_files(name, sizeof name), 1);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	len = read(fd, whole, sizeof whole);
	(void)close(fd);
	assert_true(len > 0 && len < (ssize_t)sizeof whole);
	for (ssize_t i = 0; i < 2 * len; i++) {
		bool is_cut = i < len;

		fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		assert_int_equal(write(fd, whole, (size_t)(is_cut ? i : len)),
				 is_cut ? i : len);
		if (!is_cut)
			assert_int_equal(pwrite(fd, whole[i - len] == 'X' ? "Y" : "X", 1,
						(off_t)(i - len)),
					 1);
		(void)close(fd);
		file = begin(8);
		assert_true(deliver_all(file) <= 3);
		/* What is delivered is a beginning of what was written. */
		for (size_t k = 0; k < got_count; k++)
			assert_int_equal(got[k], k + 1);
		fw_incident_file_free(file);
		(void)unlink(name);
	}
}

static void use_all(void)
{
	struct fw_incident_file *file = NULL;
	uint64_t count;
	fw_error *err = fw_incident_file_new(path, 7, &file);

	got_count = 0;
	if (!err)
		err = append(file, 0, 3);
	if (!err)
		err = fw_incident_file_deliver(file, &store, &count);
	if (!err)
		assert_true(fw_incident_file_is_empty(file));
	else
		assert_int_equal(fw_error_code(err), FW_INTERNAL_OUT_OF_MEMORY);
	fw_error_free(err);
	fw_incident_file_free(file);
}

static void test_incident_file__each_allocation_fails(void **state)
{
	(void)state;
	is_away = false;
	each_allocation_fails(use_all);
}

static void test_incident_file__a_directory_that_is_gone_is_an_error(void **state)
{
	struct fw_incident_file *file = NULL;
	char gone[128];
	fw_error *err;

	(void)state;
	(void)snprintf(gone, sizeof gone, "%s/gone/incidents", directory);
	assert_null(fw_incident_file_new(gone, 7, &file));
	err = append(file, 0, 1);
	assert_non_null(err);
	fw_error_free(err);
	assert_int_equal(fw_incident_file_count(file), 0);
	fw_incident_file_free(file);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(test_incident_file__##name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(they_leave_in_the_order_in_which_they_came),
		TEST(what_the_store_refuses_waits_on),
		TEST(the_file_of_a_killed_server_is_delivered_first),
		TEST(a_file_in_use_is_left_alone),
		TEST(what_was_in_memory_is_delivered_after_a_kill),
		TEST(a_mirror_is_empty_after_its_batch),
		TEST(files_of_one_writer_are_adopted_together),
		TEST(secrets_are_not_written),
		TEST(a_damaged_file_is_read_up_to_the_damage),
		TEST(each_allocation_fails),
		TEST(a_directory_that_is_gone_is_an_error),
	};

	return cmocka_run_group_tests_name("incident_file", tests, NULL, NULL);
}
