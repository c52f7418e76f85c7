/*
 * Paths below a root: what may be requested, and what is found.
 */
#include "tools/common/test_support.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <linux/fs.h>
#include <time.h>

#include "base/mem.h"
#include "tools/common/file.h"

static struct fw_root root;

static fw_error *read_as(const char *path, size_t len)
{
	char clean[FW_PATH_SIZE];
	char *text = NULL;
	size_t text_len = 0;
	fw_error *err = fw_root_normalize(&root, path, len, clean);

	if (!err)
		err = fw_file_read(&root, clean, 1000000, &text, &text_len);
	if (!err)
		assert_null(strstr(text, "secret"));
	fw__release(text);
	return err;
}

static fw_error *place_of(const char *path, struct fw_place *place)
{
	char clean[FW_PATH_SIZE];

	FW_TRY(fw_root_normalize(&root, path, strlen(path), clean));
	return fw_place_find(&root, clean, place);
}

static void expect(const char *path, int code)
{
	struct fw_place place = FW_PLACE_INIT;
	fw_error *err;

	assert_code(read_as(path, strlen(path)), code);
	/* The same for a place to write to. */
	if (code != 0 && code != FW_FILE_NOT_FOUND && code != FW_FILE_READ_FAILED) {
		err = place_of(path, &place);
		assert_code(err, code);
	}
	fw_place_clear(&place);
}

static void test_root__a_valid_path_is_found_in_every_spelling(void **state)
{
	char absolute[256];

	(void)state;
	root = make_root();
	expect("src/a.txt", 0);
	expect("./src//./a.txt", 0);
	(void)snprintf(absolute, sizeof absolute, "%s/w/src/a.txt", scratch);
	expect(absolute, 0);
	shell("cp w/src/a.txt 'w/src/a..b' && cp w/src/a.txt 'w/...' && "
	      "cp w/src/a.txt 'w/\xc3\xa4 b'");
	expect("src/a..b", 0);
	expect("...", 0);
	expect("\xc3\xa4 b", 0);
	fw_root_close(&root);
}

static void test_root__dot_dot_is_refused_in_every_spelling(void **state)
{
	static const char *const paths[] = {
		"..",
		"../outside/s.txt",
		"src/../src/a.txt",
		"src/..",
		"./..",
		"a/b/../../../x",
		"..\\outside\\s.txt",
		"src\\..\\x",
		"/../etc",
		"../",
		"..//outside/s.txt",
	};

	(void)state;
	root = make_root();
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		expect(paths[i], FW_PATH_TRAVERSAL_BLOCKED);
	/* Nothing is decoded: these are names of files that do not exist. */
	expect("%2e%2e/outside/s.txt", FW_PATH_NOT_FOUND);
	expect("..%2foutside%2fs.txt", FW_FILE_NOT_FOUND);
	expect(". ./x", FW_PATH_NOT_FOUND);
	fw_root_close(&root);
}

static void test_root__a_path_that_leads_outside_is_refused(void **state)
{
	char beside[256];

	(void)state;
	root = make_root();
	expect("/etc/passwd", FW_PATH_OUTSIDE_WORKSPACE);
	expect("/", FW_PATH_OUTSIDE_WORKSPACE);
	expect("//etc/passwd", FW_PATH_OUTSIDE_WORKSPACE);
	expect("/proc/self/root/etc/passwd", FW_PATH_OUTSIDE_WORKSPACE);
	(void)snprintf(beside, sizeof beside, "%s/w2/a", scratch);
	expect(beside, FW_PATH_OUTSIDE_WORKSPACE);
	shell("cd w && ln -s ../outside out && ln -s ../outside/s.txt link && "
	      "ln -s /etc/passwd abs && ln -s /proc/self/root proc && "
	      "ln -s ../w/src/a.txt round && ln -s src/a.txt in && ln -s src dir");
	expect("out/s.txt", FW_PATH_OUTSIDE_WORKSPACE);
	expect("link", FW_PATH_OUTSIDE_WORKSPACE);
	expect("abs", FW_PATH_OUTSIDE_WORKSPACE);
	expect("proc/etc/passwd", FW_PATH_OUTSIDE_WORKSPACE);
	expect("round",
	       FW_PATH_OUTSIDE_WORKSPACE); /* leaving and coming back is outside, too */
	expect("in", 0);
	expect("dir/a.txt", 0);
	fw_root_close(&root);
}

static void test_root__hard_links_are_refused_unless_allowed(void **state)
{
	(void)state;
	root = make_root();
	shell("ln outside/s.txt w/hard");
	expect("hard", FW_PATH_OUTSIDE_WORKSPACE);
	shell("ln w/src/a.txt w/src/b.txt");
	expect("src/a.txt", FW_PATH_OUTSIDE_WORKSPACE);
	root.hard_links = true;
	expect("src/a.txt", 0);
	fw_root_close(&root);
}

static void test_root__only_regular_files_are_read_and_nothing_blocks(void **state)
{
	(void)state;
	root = make_root();
	shell("mkfifo w/pipe");
	expect("pipe", FW_FILE_READ_FAILED);
	expect("src", FW_FILE_READ_FAILED);
	expect(".", FW_FILE_READ_FAILED);
	if (geteuid() == 0) {
		shell("mknod w/zero c 1 5 && mknod w/tty c 5 0");
		expect("zero", FW_FILE_READ_FAILED);
		expect("tty", FW_FILE_READ_FAILED);
	}
	fw_root_close(&root);
}

static void test_root__a_text_that_cannot_be_a_path_is_invalid(void **state)
{
	char text[9000];

	(void)state;
	root = make_root();
	assert_code(read_as("", 0), FW_PATH_INVALID);
	assert_code(read_as("src/a.txt\0x", 11), FW_PATH_INVALID);
	expect("src/a\n.txt", FW_PATH_INVALID);
	expect("src/\x1b[2J", FW_PATH_INVALID);
	expect("src/\xff\xfe", FW_PATH_INVALID);
	expect("src/a.txt/", FW_PATH_INVALID);
	memset(text, 'a', sizeof text);
	text[4096] = '\0';
	expect(text, FW_PATH_INVALID);
	text[256] = '\0';
	expect(text, FW_PATH_INVALID);
	text[255] = '\0';
	expect(text, FW_FILE_NOT_FOUND);
	for (size_t i = 0; i < 4095; i++)
		text[i] = i % 2 ? '/' : 'a';
	text[4095] = '\0';
	expect(text, FW_PATH_NOT_FOUND);
	shell("ln -s loop w/loop");
	expect("loop", FW_PATH_INVALID);
	fw_root_close(&root);
}

static void test_root__a_missing_file_differs_from_a_missing_directory(void **state)
{
	(void)state;
	root = make_root();
	expect("src/none", FW_FILE_NOT_FOUND);
	expect("none", FW_FILE_NOT_FOUND);
	expect("none/none", FW_PATH_NOT_FOUND);
	expect("src/a.txt/none", FW_PATH_NOT_FOUND);
	expect("SRC/A.TXT", FW_PATH_NOT_FOUND);
	fw_root_close(&root);
}

static void test_root__a_place_is_where_the_bytes_are_written(void **state)
{
	struct fw_place place = FW_PLACE_INIT;

	(void)state;
	root = make_root();
	shell("cd w && mkdir -p docs/plans && ln -s docs/plans p && ln -s p q && "
	      "ln -s src/a.txt in && ln -s src/none dangling");
	assert_null(place_of("q/new.md", &place));
	assert_string_equal(place.path, "docs/plans/new.md");
	assert_false(place.exists);
	fw_place_clear(&place);
	assert_null(place_of("in", &place));
	assert_string_equal(place.path, "src/a.txt");
	assert_string_equal(place.name, "a.txt");
	assert_true(place.exists);
	fw_place_clear(&place);
	assert_code(place_of("dangling", &place), FW_PATH_INVALID);
	assert_code(place_of("src", &place), FW_FILE_READ_FAILED);
	assert_code(place_of("nowhere/x", &place), FW_PATH_NOT_FOUND);
	fw_root_close(&root);
}

/* ---- links that change during the lookup ---- */

static atomic_bool racing;

static void *swap(void *ctx)
{
	int dir = *(int *)ctx;

	while (atomic_load(&racing))
		(void)syscall(SYS_renameat2, dir, "a", dir, "b", RENAME_EXCHANGE);
	return NULL;
}

static void test_root__a_link_that_is_swapped_meanwhile_never_leads_outside(void **state)
{
	const char *seconds = getenv("FW_RACE_SECONDS");
	time_t until = time(NULL) + (seconds ? (time_t)strtol(seconds, NULL, 10) : 2);
	unsigned long inside = 0, refused = 0;
	pthread_t thread;
	int dir;

	(void)state;
	root = make_root();
	shell("cd w && mkdir a && echo fine >a/s.txt && ln -s ../outside b");
	dir = openat(root.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	atomic_store(&racing, true);
	assert_int_equal(pthread_create(&thread, NULL, swap, &dir), 0);
	while (time(NULL) < until) {
		for (int i = 0; i < 200; i++) {
			struct fw_place place = FW_PLACE_INIT;
			fw_error *err = read_as("a/s.txt", 7);

			if (!err) {
				inside++;
			} else {
				refused++;
				if (fw_error_code(err) != FW_PATH_OUTSIDE_WORKSPACE &&
				    fw_error_code(err) != FW_FILE_READ_FAILED)
					fail_msg("%s", fw_error_message(err));
				fw_error_free(err);
			}
			err = place_of("a/s.txt", &place);
			if (!err)
				assert_true(strcmp(place.path, "a/s.txt") == 0 ||
					    strcmp(place.path, "b/s.txt") == 0);
			fw_error_free(err);
			fw_place_clear(&place);
		}
	}
	atomic_store(&racing, false);
	(void)pthread_join(thread, NULL);
	(void)close(dir);
	print_message("# %lu reads inside, %lu refused\n", inside, refused);
	assert_true(inside > 0 && refused > 0);
	fw_root_close(&root);
}

static void test_root__a_root_is_an_existing_directory_with_an_absolute_path(void **state)
{
	struct fw_root other = FW_ROOT_INIT;
	char path[128];

	(void)state;
	root = make_root();
	assert_code(fw_root_open("w", 1, &other), FW_PATH_INVALID);
	assert_code(fw_root_open("", 0, &other), FW_PATH_INVALID);
	assert_code(fw_root_open("/x/../y", 7, &other), FW_PATH_TRAVERSAL_BLOCKED);
	(void)snprintf(path, sizeof path, "%s/none", scratch);
	assert_code(fw_root_open(path, strlen(path), &other), FW_PATH_NOT_FOUND);
	(void)snprintf(path, sizeof path, "%s/w/src/a.txt", scratch);
	assert_code(fw_root_open(path, strlen(path), &other), FW_SESSION_INIT_FAILED);
	/* Through a link it is the directory that the link leads to. */
	shell("ln -sfn w link");
	(void)snprintf(path, sizeof path, "%s/link", scratch);
	assert_null(fw_root_open(path, strlen(path), &other));
	assert_string_equal(other.path, root.path);
	fw_root_close(&other);
	/* Below a directory, by either of its names; other paths are not looked up. */
	(void)snprintf(path, sizeof path, "%s/link/src", scratch);
	assert_null(fw_root_open_in(root.path, NULL, root.path, strlen(root.path), &other));
	fw_root_close(&other);
	assert_code(fw_root_open_in(root.path, NULL, path, strlen(path), &other),
		    FW_SESSION_INIT_FAILED);
	{
		char alias[128];

		(void)snprintf(alias, sizeof alias, "%.100s/link", scratch);
		assert_null(fw_root_open_in(root.path, alias, path, strlen(path), &other));
		assert_string_equal(other.path + strlen(other.path) - 6, "/w/src");
		fw_root_close(&other);
	}
	assert_code(fw_root_open_in(root.path, NULL, "/none", 5, &other),
		    FW_SESSION_INIT_FAILED);
	shell("ln -s ../outside w/out");
	(void)snprintf(path, sizeof path, "%.100s/out", root.path);
	assert_code(fw_root_open_in(root.path, NULL, path, strlen(path), &other),
		    FW_SESSION_INIT_FAILED);
	(void)snprintf(path, sizeof path, "%.100s/none", root.path);
	assert_code(fw_root_open_in(root.path, NULL, path, strlen(path), &other),
		    FW_PATH_NOT_FOUND);
	assert_true(fw_path_is_beneath("/a/b", "/a"));
	assert_false(fw_path_is_beneath("/ab", "/a"));
	fw_root_close(&root);
}

static void read_once(void)
{
	fw_error *err = read_as("src/a.txt", 9);

	fw_error_free(err);
}

static void test_root__reading_survives_every_allocation_failure(void **state)
{
	(void)state;
	root = make_root();
	each_allocation_fails(read_once);
	fw_root_close(&root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_root__a_valid_path_is_found_in_every_spelling),
		cmocka_unit_test(test_root__dot_dot_is_refused_in_every_spelling),
		cmocka_unit_test(test_root__a_path_that_leads_outside_is_refused),
		cmocka_unit_test(test_root__hard_links_are_refused_unless_allowed),
		cmocka_unit_test(test_root__only_regular_files_are_read_and_nothing_blocks),
		cmocka_unit_test(test_root__a_text_that_cannot_be_a_path_is_invalid),
		cmocka_unit_test(test_root__a_missing_file_differs_from_a_missing_directory),
		cmocka_unit_test(test_root__a_place_is_where_the_bytes_are_written),
		cmocka_unit_test(
			test_root__a_link_that_is_swapped_meanwhile_never_leads_outside),
		cmocka_unit_test(
			test_root__a_root_is_an_existing_directory_with_an_absolute_path),
		cmocka_unit_test(test_root__reading_survives_every_allocation_failure),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
