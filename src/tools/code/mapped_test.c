/*
 * mapped_test.c - files that stay mapped: what is copied is what the file has now, also if it
 * was cut; and what is not kept.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "test/memory.h"
#include "tools/code/hunt.h"
#include "tools/code/limits.h"
#include "tools/code/mapped.h"
#include "tools/code/query.h"
#include "tools/code/repo.h"

#define SCRATCH_FORM "%s/file"
#include "test/scratch.h"

enum { PAGE = 4096, FILES = FW_LIMIT_CODE_MAPPED_FILES + 8 };

static const struct fw_code_repo repos[FW_CODE_REPOS_MAX + 1];
static uint64_t generation;

/* Each test has an index of its own. */
static struct fw_mapped_index new_index(size_t files)
{
	return (struct fw_mapped_index){ &repos[0], ++generation, 1, files, 0 };
}

static struct fw_mapped *new_files(size_t files)
{
	const struct fw_mapped_index index = new_index(files);
	bool has_news = true;
	struct fw_mapped *mapped = fw_mapped_files(&index, &has_news);

	assert_non_null(mapped);
	assert_false(has_news);
	return mapped;
}

static int write_file(const char *text, size_t len)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	return fd;
}

static void keep(struct fw_mapped *file, int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	fw_mapped_keep(file, fd, &st);
}

/* ---- what is copied ---- */

static void test_mapped__shows_what_was_written_later(void **state)
{
	struct fw_mapped *file = new_files(1);
	int fd = write_file("heron", 5);
	char text[5];

	(void)state;
	assert_int_equal(fw_mapped_size(file), 0);
	keep(file, fd);
	assert_int_equal(pwrite(fd, "egret", 5, 0), 5);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(fw_mapped_size(file), 5);
	assert_true(fw_mapped_copy(file, text));
	assert_memory_equal(text, "egret", 5);
	(void)close(fd);
	fw_mapped_finish();
}

static void test_mapped__a_file_that_was_cut_is_read(void **state)
{
	static const off_t lengths[] = { 0, 1, PAGE, 3 * PAGE };
	char text[8 * PAGE], copy[8 * PAGE];

	(void)state;
	memset(text, 'x', sizeof text);
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		struct fw_mapped *file = new_files(2);
		int fd = write_file(text, sizeof text);

		keep(file, fd);
		assert_int_equal(ftruncate(fd, lengths[i]), 0);
		assert_false(fw_mapped_copy(file, copy));
		assert_int_equal(fw_mapped_size(file), 0);
		assert_memory_equal(copy, text, (size_t)lengths[i]);
		keep(file, fd);
		assert_int_equal(fw_mapped_size(file), lengths[i]);
		(void)close(fd);
		fw_mapped_finish();
	}
}

/* What is cut within its last page still has that page. */
static void test_mapped__a_file_that_is_cut_and_grows_again_is_whole(void **state)
{
	struct fw_mapped *file = new_files(1);
	char text[3 * PAGE], copy[3 * PAGE];
	int fd;

	(void)state;
	memset(text, 'x', sizeof text);
	fd = write_file(text, sizeof text);
	keep(file, fd);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, text, sizeof text, 0), sizeof text);
	assert_true(fw_mapped_copy(file, copy));
	assert_memory_equal(copy, text, sizeof text);
	(void)close(fd);
	fw_mapped_finish();
}

/* How many lines a search of the file finds, which is mapped by it. */
static uint64_t lines_of(struct fw_mapped *file, const struct fw_query *query)
{
	const struct fw_hunt_options options = { .query = query,
						 .most = 10,
						 .until_ms = INT64_MAX };
	struct fw_hunt_where where = { .prefix = "", .mapped = file };
	enum fw_hunt_end end;
	struct fw_hunt *hunt;
	struct stat st;
	uint64_t total;

	where.root = open(directory, O_PATH | O_DIRECTORY);
	assert_int_equal(fstat(where.root, &st), 0);
	where.device = st.st_dev;
	assert_null(fw_hunt_new(&options, &hunt));
	assert_true(fw_hunt_add(hunt, &where, "file", 4));
	assert_null(fw_hunt_finish(hunt, &end));
	total = fw_hunt_total(hunt);
	fw_hunt_free(hunt);
	(void)close(where.root);
	return total;
}

static void test_mapped__a_file_that_is_cut_within_a_page_is_no_binary_file(void **state)
{
	const struct fw_query_options options = { .text = "magpie", .len = 6 };
	struct fw_mapped *file = new_files(1);
	struct fw_query *query;
	char text[2 * PAGE];
	int fd;

	(void)state;
	memset(text, '\n', sizeof text);
	memcpy(text, "magpie", 6);
	fd = write_file(text, sizeof text);
	assert_null(fw_query_new(&options, &query));
	assert_int_equal(lines_of(file, query), 1);
	assert_int_equal(fw_mapped_size(file), sizeof text);
	assert_int_equal(ftruncate(fd, PAGE + 100), 0);
	assert_int_equal(lines_of(file, query), 1);
	/* And if it is one, it is left out. */
	assert_int_equal(pwrite(fd, "\0", 1, 50), 1);
	assert_int_equal(lines_of(file, query), 0);
	fw_query_free(query);
	(void)close(fd);
	fw_mapped_finish();
}

/* ---- what is kept ---- */

static void test_mapped__files_stay_until_there_is_another_index(void **state)
{
	struct fw_mapped_index index = new_index(3);
	bool has_news = true;
	struct fw_mapped *files = fw_mapped_files(&index, &has_news);
	int fd = write_file("heron", 5);

	(void)state;
	keep(fw_mapped_at(files, 2), fd);
	fw_mapped_finish();
	files = fw_mapped_files(&index, &has_news);
	assert_int_equal(fw_mapped_size(fw_mapped_at(files, 2)), 5);
	/* This search uses them. */
	index.generation = ++generation;
	assert_null(fw_mapped_files(&index, &has_news));
	assert_int_equal(fw_mapped_size(fw_mapped_at(files, 2)), 5);
	fw_mapped_finish();
	files = fw_mapped_files(&index, &has_news);
	assert_int_equal(fw_mapped_size(fw_mapped_at(files, 2)), 0);
	keep(fw_mapped_at(files, 2), fd);
	fw_mapped_drop(fw_mapped_at(files, 2));
	fw_mapped_drop(fw_mapped_at(files, 2));
	assert_int_equal(fw_mapped_size(fw_mapped_at(files, 2)), 0);
	assert_null(fw_mapped_at(NULL, 2));
	(void)close(fd);
	fw_mapped_finish();
}

static void test_mapped__news_are_reported_once_and_not_within_a_search(void **state)
{
	struct fw_mapped_index index = new_index(1);
	bool has_news = true;

	(void)state;
	assert_non_null(fw_mapped_files(&index, &has_news));
	assert_false(has_news);
	index.changes = 7;
	assert_non_null(fw_mapped_files(&index, &has_news));
	assert_false(has_news);
	fw_mapped_finish();
	for (int i = 0; i < 2; i++) {
		assert_non_null(fw_mapped_files(&index, &has_news));
		assert_int_equal(has_news, i == 0);
		fw_mapped_finish();
	}
}

static void test_mapped__each_repository_has_its_own(void **state)
{
	int fd = write_file("heron", 5);
	struct fw_mapped_index index = new_index(1);

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i <= FW_CODE_REPOS_MAX; i++) {
			struct fw_mapped *file;
			bool has_news;

			index.repo = &repos[i];
			file = fw_mapped_files(&index, &has_news);
			assert_int_equal(file != NULL, i < FW_CODE_REPOS_MAX);
			if (!file)
				continue;
			assert_int_equal(fw_mapped_size(file), round ? 5 : 0);
			keep(file, fd);
		}
		fw_mapped_finish();
	}
	(void)close(fd);
}

static void test_mapped__empty_large_and_linked_files_are_read(void **state)
{
	struct fw_mapped *file = new_files(1);
	int fd = write_file("", 0);
	char other[sizeof path + 8];

	(void)state;
	keep(file, fd);
	assert_int_equal(fw_mapped_size(file), 0);
	assert_int_equal(ftruncate(fd, FW_LIMIT_CODE_PIECE_BYTES), 0);
	keep(file, fd);
	assert_int_equal(fw_mapped_size(file), 0);
	assert_int_equal(ftruncate(fd, FW_LIMIT_CODE_PIECE_BYTES - 1), 0);
	(void)snprintf(other, sizeof other, "%s.link", path);
	assert_int_equal(link(path, other), 0);
	keep(file, fd);
	assert_int_equal(fw_mapped_size(file), 0);
	assert_int_equal(unlink(other), 0);
	keep(file, fd);
	assert_int_equal(fw_mapped_size(file), FW_LIMIT_CODE_PIECE_BYTES - 1);
	(void)close(fd);
	fw_mapped_finish();
}

static void test_mapped__the_number_of_files_is_limited(void **state)
{
	struct fw_mapped *files = new_files(FILES);
	int fd = write_file("heron", 5);
	size_t count = 0;

	(void)state;
	for (size_t i = 0; i < FILES; i++)
		keep(fw_mapped_at(files, i), fd);
	for (size_t i = 0; i < FILES; i++)
		count += fw_mapped_size(fw_mapped_at(files, i)) > 0;
	assert_int_equal(count, FW_LIMIT_CODE_MAPPED_FILES);
	fw_mapped_finish();
	/* All of them are gone. */
	files = new_files(1);
	keep(files, fd);
	assert_int_equal(fw_mapped_size(files), 5);
	(void)close(fd);
	fw_mapped_finish();
}

static void test_mapped__their_bytes_are_limited(void **state)
{
	struct fw_mapped *files = new_files(FILES);
	int fd = write_file("", 0);
	size_t bytes = 0;

	(void)state;
	/* A page more than half of the limit for one. */
	assert_int_equal(ftruncate(fd, FW_LIMIT_CODE_PIECE_BYTES / 2 + 1), 0);
	for (size_t i = 0; i < FILES; i++)
		keep(fw_mapped_at(files, i), fd);
	for (size_t i = 0; i < FILES; i++)
		if (fw_mapped_size(fw_mapped_at(files, i)))
			bytes += FW_LIMIT_CODE_PIECE_BYTES / 2 + PAGE;
	assert_true(bytes <= FW_LIMIT_CODE_MAPPED_BYTES);
	assert_true(bytes > FW_LIMIT_CODE_MAPPED_BYTES - FW_LIMIT_CODE_PIECE_BYTES);
	(void)close(fd);
	fw_mapped_finish();
	(void)new_files(1);
	fw_mapped_finish();
}

static void test_mapped__without_memory_none_are_kept(void **state)
{
	const struct fw_mapped_index index = new_index(5);
	bool has_news;

	(void)state;
	test_memory = (struct test_memory){ .fail_at = 1 };
	assert_null(fw_mapped_files(&index, &has_news));
	fw_mapped_finish();
	assert_non_null(fw_mapped_files(&index, &has_news));
	fw_mapped_finish();
}

/* ---- faults elsewhere ---- */

static void read_behind_the_end(void)
{
	struct rlimit none = { 0, 0 };
	int fd = open(path, O_RDWR);
	volatile char *text = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

	(void)setrlimit(RLIMIT_CORE, &none);
	_exit(ftruncate(fd, 0) == 0 && text[0] ? 1 : 2);
}

static void exit_with_number(int number, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	_exit(number);
}

/* How a process ends whose program handles the signal so, and then keeps files mapped. */
static int end_of(const struct sigaction *action)
{
	int fd = write_file("heron", 5);
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		(void)sigaction(SIGBUS, action, NULL);
		(void)new_files(1);
		read_behind_the_end();
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	(void)close(fd);
	return status;
}

static void test_mapped__other_faults_are_handled_as_before(void **state)
{
	const struct sigaction none = { .sa_handler = SIG_DFL };
	const struct sigaction own = { .sa_sigaction = exit_with_number,
				       .sa_flags = SA_SIGINFO };
	int status = end_of(&none);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGBUS);
	status = end_of(&own);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), SIGBUS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_mapped__##name, set_up, tear_down)
		TEST(other_faults_are_handled_as_before),
		TEST(shows_what_was_written_later),
		TEST(a_file_that_was_cut_is_read),
		TEST(a_file_that_is_cut_and_grows_again_is_whole),
		TEST(a_file_that_is_cut_within_a_page_is_no_binary_file),
		TEST(files_stay_until_there_is_another_index),
		TEST(news_are_reported_once_and_not_within_a_search),
		TEST(empty_large_and_linked_files_are_read),
		TEST(the_number_of_files_is_limited),
		TEST(their_bytes_are_limited),
		TEST(without_memory_none_are_kept),
		TEST(each_repository_has_its_own), /* last: it leaves files */
	};
	const fw_allocator allocator = { test_memory_allocate, test_memory_reallocate,
					 test_memory_release, NULL };

	/* Of all tests, since files are kept from one to the next. */
	fw_allocator_set(&allocator);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
