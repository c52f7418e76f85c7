#include "tools/context/test_support.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/limits.h"

static void make_sources(void)
{
	assert_int_equal(mkdir("s", 0777), 0);
	assert_int_equal(mkdir("s/Sub", 0777), 0);
	put_text("s/b.md", "B");
	put_text("s/Sub/\xc3\x84.md", "umlaut \"quoted\"\n\x01\x7f");
	put_text("s/a.md", "A a");
	put_text("s/.md", "no name");
	put_text("s/c.MD", "another ending");
	put_text("s/d.txt", "no document");
	assert_int_equal(symlink("a.md", "s/link.md"), 0);
	assert_int_equal(symlink("Sub", "s/folder"), 0);
}

static void assert_file(const char *path, const char *expected)
{
	char *text = get_file(path, NULL);

	assert_string_equal(text, expected);
	free(text);
}

static void test_build__writes_exactly_the_public_format(void **state)
{
	const struct fw_context_build options = { .sources = "s",
						  .cache = "c",
						  .created_ms = INT64_C(1768836730123) };
	struct fw_context_built built;

	(void)state;
	make_sources();
	must(fw_context_build(&options, &built));
	assert_int_equal(built.documents, 3);
	assert_int_equal(built.links, 1);
	assert_file("c/index.json", "{\n"
				    "  \"a.md\": \"documents/3c4902e107a0.json\",\n"
				    "  \"b.md\": \"documents/df7e70e50215.json\",\n"
				    "  \"sub/\xc3\xa4.md\": \"documents/5db190ced3ba.json\"\n"
				    "}");
	assert_file("c/documents/df7e70e50215.json",
		    "{\"id\":\"b.md\",\"version\":\"sha256:"
		    "df7e70e5021544f4834bbee64a9e3789febc4be81470df629cad6ddb03320a5c\","
		    "\"source\":\"b.md\",\"content\":\"B\",\"metadata\":{}}");
	assert_file("c/documents/5db190ced3ba.json",
		    "{\"id\":\"sub/\xc3\xa4.md\",\"version\":\"sha256:"
		    "5db190ced3ba1112b7d2ae4301f4449ed3730e68322c48cdd2b5a5389fcd22d5\","
		    "\"source\":\"Sub/\xc3\x84.md\",\"content\":\"umlaut "
		    "\\\"quoted\\\"\\n\\u0001\x7f\",\"metadata\":{}}");
	assert_int_equal(count_names("c"), 3);
	assert_int_equal(count_names("."), 2);
}

static void test_build__is_the_same_with_one_thread_and_with_eight(void **state)
{
	char path[64], text[64];

	(void)state;
	assert_int_equal(mkdir("s", 0777), 0);
	for (int i = 0; i < 300; i++) {
		(void)snprintf(path, sizeof path, "s/%d.md", i * 7919 % 300);
		(void)snprintf(text, sizeof text, "document %d", i * 7919 % 300);
		put_text(path, text);
	}
	must(build("s", "one", false, 1));
	must(build("s", "eight", false, 8));
	shell("diff -r one eight");
}

static void test_build__refuses_invalid_sources_and_leaves_nothing(void **state)
{
	(void)state;
	assert_int_equal(mkdir("s", 0777), 0);
	put_text("s/a.md", "same");
	put_text("s/z.md", "same");
	assert_string_equal(rule_of(build("s", "c", false, 0)), "duplicate_content");
	put_text("s/z.md", "other");
	put_text("s/A.md", "third");
	assert_string_equal(rule_of(build("s", "c", false, 0)), "duplicate_id");
	assert_int_equal(unlink("s/A.md"), 0);
	put_text("s/b.md", "\xff\xfe");
	assert_string_equal(rule_of(build("s", "c", false, 0)), "file.unsupported_encoding");
	assert_int_equal(unlink("s/b.md"), 0);
	put_text("s/\xff.md", "name");
	assert_string_equal(rule_of(build("s", "c", false, 0)), "file.unsupported_encoding");
	assert_int_equal(unlink("s/\xff.md"), 0);
	put_text("s/large.md", "");
	assert_int_equal(truncate("s/large.md", FW_LIMIT_CONTEXT_CONTENT_BYTES + 1), 0);
	assert_string_equal(rule_of(build("s", "c", false, 0)), "file.too_large");
	assert_int_equal(unlink("s/large.md"), 0);
	assert_string_equal(rule_of(build("nowhere", "c", false, 0)), "path.not_found");
	assert_string_equal(rule_of(build("s/a.md", "c", false, 0)), "path.not_found");
	assert_string_equal(rule_of(build("s", "no/c", false, 0)), "path.not_found");
	assert_int_equal(count_names("."), 1);
	must(build("s", "c", false, 0));
}

static void test_build__replaces_only_by_force_and_only_a_cache(void **state)
{
	(void)state;
	assert_int_equal(mkdir("s", 0777), 0);
	put_text("s/a.md", "one");
	must(build("s", "c", false, 0));
	put_text("s/a.md", "two");
	assert_string_equal(rule_of(build("s", "c", false, 0)), "file.already_exists");
	assert_true(is_there("c/documents/7692c3ad3540.json"));
	must(build("s", "c/", true, 0));
	assert_true(is_there("c/documents/3fc4ccfe7458.json"));
	assert_false(is_there("c/documents/7692c3ad3540.json"));
	assert_int_equal(mkdir("home", 0777), 0);
	must(build("s", "home", true, 0)); /* an empty directory: nothing is lost */
	assert_int_equal(unlink("home/manifest.json"), 0);
	assert_string_equal(rule_of(build("s", "home", true, 0)), "file.already_exists");
	assert_true(is_there("home/index.json"));
	assert_string_equal(rule_of(build("s", "s/a.md", true, 0)), "file.already_exists");
	assert_string_equal(rule_of(build("s", ".", true, 0)), "file.already_exists");
	assert_int_equal(count_names("."), 3);
}

static void test_build__a_cache_is_complete_at_any_time_while_it_is_replaced(void **state)
{
	pid_t child;
	int status = 0, ends[2];
	char byte;

	(void)state;
	assert_int_equal(mkdir("s", 0777), 0);
	put_text("s/a.md", "one");
	must(build("s", "c", false, 1));
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)close(ends[1]);
		/* Until the other side is closed. */
		while (read(ends[0], &byte, 1) != 0)
			if (build("s", "c", true, 1))
				_exit(1);
		_exit(0);
	}
	(void)close(ends[0]);
	for (int looks = 0; looks < 100; looks++) {
		struct fw_context_store *store;
		struct fw_context_facts facts = { 0 };

		must(fw_context_store_new(NULL, &store));
		must(fw_context_verify(store, "c", 1, NULL, NULL, NULL, &facts));
		fw_context_store_free(store);
	}
	(void)close(ends[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(count_names("."), 2);
}

static void test_build__removes_leftovers_of_killed_builds_but_not_running_ones(void **state)
{
	int alive;

	(void)state;
	assert_int_equal(mkdir("s", 0777), 0);
	assert_int_equal(mkdir(".c.building-1-0", 0777), 0);
	assert_int_equal(mkdir(".c.building-1-0/documents", 0777), 0);
	put_text(".c.building-1-0/documents/x.json", "half");
	assert_int_equal(mkdir(".c.building-2-0", 0777), 0);
	alive = open(".c.building-2-0", O_RDONLY | O_DIRECTORY);
	assert_true(alive >= 0 && flock(alive, LOCK_EX) == 0);
	must(build("s", "c", false, 0));
	assert_false(is_there(".c.building-1-0"));
	assert_true(is_there(".c.building-2-0"));
	(void)close(alive);
}

static bool stop_at_once(void *ctx)
{
	(void)ctx;
	return true;
}

static void test_build__that_is_cancelled_or_out_of_room_leaves_nothing(void **state)
{
	const struct fw_context_build options = { .sources = "s",
						  .cache = "c",
						  .run.is_cancelled = stop_at_once };
	struct fw_context_built built;
	const struct rlimit small = { 100, 100 };
	int status;
	pid_t child;

	(void)state;
	assert_int_equal(mkdir("s", 0777), 0);
	put_text("s/a.md", "one");
	assert_string_equal(rule_of(fw_context_build(&options, &built)), "runtime.cancelled");
	assert_int_equal(count_names("."), 1);
	/* Limit file size to 100 bytes, which is less than any document. */
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)signal(SIGXFSZ, SIG_IGN);
		_exit(setrlimit(RLIMIT_FSIZE, &small) == 0 &&
				      strcmp(code_of(build("s", "c", false, 0)), "io_error") ==
					      0
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(count_names("."), 1);
}

static bool build_small(void)
{
	fw_error *err = build("s", "c", true, 1);
	bool is_done = err == NULL;

	if (err && fw_error_code(err) != FW_INTERNAL_OUT_OF_MEMORY)
		fail_msg("%s", fw_error_name(err));
	fw_error_free(err);
	assert_int_equal(count_names("."), is_done ? 2 : 1);
	if (is_done)
		shell("rm -r c");
	return is_done;
}

static void test_build__survives_every_allocation_failure(void **state)
{
	(void)state;
	assert_int_equal(mkdir("s", 0777), 0);
	assert_int_equal(mkdir("s/sub", 0777), 0);
	put_text("s/a.md", "one");
	put_text("s/sub/b.md", "two");
	use_test_memory();
	each_allocation_fails(build_small);
	fw_allocator_set(NULL);
}

/* ---- the order in which things reach the disk ---- */

/* Calls of the builder, by the linker (--wrap): which files are not on the disk yet? */
static struct {
	bool is_watching;
	ino_t dirty[256];
	size_t dirty_count;
	size_t renames;
	size_t dirty_at_rename;
	size_t parent_syncs; /* after the rename */
} disk;

int __real_fsync(int fd);
int __real_syncfs(int fd);
int __real_renameat2(int from, const char *a, int to, const char *b, unsigned flags);
ssize_t __real_write(int fd, const void *text, size_t len);
int __wrap_fsync(int fd);
int __wrap_syncfs(int fd);
int __wrap_renameat2(int from, const char *a, int to, const char *b, unsigned flags);
ssize_t __wrap_write(int fd, const void *text, size_t len);

static ino_t inode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

static void mark_clean(ino_t inode)
{
	for (size_t i = 0; i < disk.dirty_count; i++)
		if (disk.dirty[i] == inode)
			disk.dirty[i--] = disk.dirty[--disk.dirty_count];
}

ssize_t __wrap_write(int fd, const void *text, size_t len)
{
	if (disk.is_watching && disk.dirty_count < 256) {
		mark_clean(inode_of(fd));
		disk.dirty[disk.dirty_count++] = inode_of(fd);
	}
	return __real_write(fd, text, len);
}

int __wrap_fsync(int fd)
{
	mark_clean(inode_of(fd));
	disk.parent_syncs += disk.renames > 0;
	return __real_fsync(fd);
}

int __wrap_syncfs(int fd)
{
	disk.dirty_count = 0;
	return __real_syncfs(fd);
}

int __wrap_renameat2(int from, const char *a, int to, const char *b, unsigned flags)
{
	disk.renames++;
	disk.dirty_at_rename += disk.dirty_count;
	return __real_renameat2(from, a, to, b, flags);
}

static void test_build__is_on_the_disk_before_it_gets_its_name(void **state)
{
	static const int counts[] = { 1, 5, 63, 64, 200 };
	char path[64];

	(void)state;
	for (size_t n = 0; n < sizeof counts / sizeof *counts; n++) {
		shell("rm -rf s c && mkdir s");
		for (int i = 0; i < counts[n]; i++) {
			(void)snprintf(path, sizeof path, "s/%d.md", i);
			put_text(path, path);
		}
		memset(&disk, 0, sizeof disk);
		disk.is_watching = true;
		must(build("s", "c", false, 1));
		disk.is_watching = false;
		assert_int_equal(disk.renames, 1);
		assert_int_equal(disk.dirty_at_rename, 0);
		assert_int_equal(disk.parent_syncs, 1);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_directory, leave_directory)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_build__writes_exactly_the_public_format),
		TEST(test_build__is_the_same_with_one_thread_and_with_eight),
		TEST(test_build__refuses_invalid_sources_and_leaves_nothing),
		TEST(test_build__replaces_only_by_force_and_only_a_cache),
		TEST(test_build__a_cache_is_complete_at_any_time_while_it_is_replaced),
		TEST(test_build__removes_leftovers_of_killed_builds_but_not_running_ones),
		TEST(test_build__that_is_cancelled_or_out_of_room_leaves_nothing),
		TEST(test_build__is_on_the_disk_before_it_gets_its_name),
		TEST(test_build__survives_every_allocation_failure),
	};

	return cmocka_run_group_tests_name("context_build", tests, NULL, NULL);
}
