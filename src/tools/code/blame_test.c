/*
 * blame_test.c - tests reading and writing the output of git blame, and that its cache
 * detects damage.
 */
#include "tools/common/test_support.h"

#include <fcntl.h>

#include "tools/code/blame.h"

#define ONE "1111111111111111111111111111111111111111"
#define TWO "2222222222222222222222222222222222222222"

static const char *const lines[] = {
	ONE " 1 3 2",        "author Ada \"x\" \xff",
	"author-mail <a@b>", "author-time 1700000000",
	"author-tz +0130",   "summary first\tline",
	"filename a.c",      "\tint x;",
	ONE " 2 4",          "\tauthor not a header",
	TWO " 1 5 1",        "author Bo",
	"author-time 5",     "author-tz -0800",
	"summary second",    "\t",
	ONE " 9 6",          "\tx",
};

static const char expected[] =
	"{\"line\":4,\"commit\":\"" ONE
	"\",\"author\":\"Ada \\\"x\\\" \xef\xbf\xbd\",\"date\":\"2023-11-14T23:43:20+01:30\","
	"\"message\":\"first\\tline\"},"
	"{\"line\":5,\"commit\":\"" TWO
	"\",\"author\":\"Bo\",\"date\":\"1969-12-31T16:00:05-08:00\",\"message\":\"second\"}";

static bool read_all(struct fw_blame *blame)
{
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		if (!fw_blame_read(blame, lines[i], strlen(lines[i])))
			return false;
	return true;
}

static void assert_json(const struct fw_blame *blame)
{
	struct fw_buf out;

	fw_buf_init(&out, 10000);
	fw_blame_put(blame, 4, 5, &out);
	assert_string_equal(out.text, expected);
	fw_buf_clear(&out);
}

static void make_repo(struct fw_code_repo *repo)
{
	char path[128];

	*repo = (struct fw_code_repo){ .name = "" };
	(void)snprintf(repo->index, sizeof repo->index, "%s", scratch);
	(void)snprintf(path, sizeof path, "%s/blame", scratch);
	(void)mkdir(path, 0700);
}

static void test_blame__is_read_and_written(void **state)
{
	struct fw_blame blame = { .commits = NULL };

	(void)state;
	assert_true(read_all(&blame));
	assert_int_equal(blame.commit_count, 2);
	assert_int_equal(blame.line_count, 4);
	assert_int_equal(blame.first, 3);
	assert_json(&blame);
	fw_blame_clear(&blame);
	/* git never prints this. */
	assert_true(fw_blame_read(&blame, "\tline", 5));
	assert_true(fw_blame_read(&blame, "author x", 8));
	assert_true(fw_blame_read(&blame, "1234 1 1", 8));
	assert_true(fw_blame_read(&blame, ONE, 40));
	assert_int_equal(blame.commit_count, 0);
	fw_blame_clear(&blame);
}

static void test_blame__is_kept_by_its_key(void **state)
{
	struct fw_blame blame = { .commits = NULL }, again = { .commits = NULL };
	static struct fw_code_repo repo;

	(void)state;
	make_repo(&repo);
	assert_true(read_all(&blame));
	assert_false(fw_blame_load(&repo, "a key", &again));
	fw_blame_keep(&repo, "a key", &blame);
	assert_true(fw_blame_load(&repo, "a key", &again));
	assert_json(&again);
	fw_blame_clear(&again);
	assert_false(fw_blame_load(&repo, "a kez", &again));
	repo.index[0] = '\0';
	assert_false(fw_blame_load(&repo, "a key", &again));
	fw_blame_keep(&repo, "a key", &blame);
	fw_blame_clear(&blame);
}

static void only_file(char path[256])
{
	char command[128];
	FILE *listing;

	(void)snprintf(command, sizeof command, "ls -d %s/blame/*", scratch);
	listing = popen(command, "re");
	assert_non_null(fgets(path, 256, listing));
	path[strcspn(path, "\n")] = '\0';
	(void)pclose(listing);
}

static void test_blame__that_is_damaged_is_not_used(void **state)
{
	struct fw_blame blame = { .commits = NULL };
	static struct fw_code_repo repo;
	char path[256];
	struct stat st;
	int fd;

	(void)state;
	make_repo(&repo);
	assert_true(read_all(&blame));
	fw_blame_keep(&repo, "a key", &blame);
	fw_blame_clear(&blame);
	only_file(path);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	for (off_t at = 0; at < st.st_size; at++) {
		unsigned char was, is;

		assert_int_equal(pread(fd, &was, 1, at), 1);
		is = (unsigned char)(was ^ 0x41);
		assert_int_equal(pwrite(fd, &is, 1, at), 1);
		assert_false(fw_blame_load(&repo, "a key", &blame));
		assert_int_equal(pwrite(fd, &was, 1, at), 1);
	}
	for (off_t size = st.st_size - 1; size >= 0; size--) {
		assert_int_equal(ftruncate(fd, size), 0);
		assert_false(fw_blame_load(&repo, "a key", &blame));
	}
	(void)close(fd);
}

static void run_once(void)
{
	struct fw_blame blame = { .commits = NULL }, again = { .commits = NULL };
	static struct fw_code_repo repo;

	make_repo(&repo);
	if (read_all(&blame)) {
		fw_blame_keep(&repo, "another key", &blame);
		(void)fw_blame_load(&repo, "another key", &again);
	}
	fw_blame_clear(&blame);
	fw_blame_clear(&again);
}

static void test_blame__each_allocation_fails(void **state)
{
	(void)state;
	each_allocation_fails(run_once);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blame__is_read_and_written),
		cmocka_unit_test(test_blame__is_kept_by_its_key),
		cmocka_unit_test(test_blame__that_is_damaged_is_not_used),
		cmocka_unit_test(test_blame__each_allocation_fails),
	};

	test_support_uses_all();
	return cmocka_run_group_tests_name("code blame", tests, scratch_make, scratch_drop);
}
