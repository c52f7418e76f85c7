/*
 * Unified diffs: reading, refusing with the line, and applying; the output of diff for
 * two files turns one into the other.
 */
#include "tools/common/test_support.h"

#include "base/buf.h"
#include "tools/workspace/patch.h"

static fw_error *apply(const char *patch_text, const char *old, char *ret, size_t size)
{
	struct fw_ws_patch patch;
	struct fw_buf out;
	fw_error *err = fw_ws_patch_parse(patch_text, strlen(patch_text), &patch);

	fw_buf_init(&out, 1 << 20);
	if (!err)
		err = fw_ws_patch_apply(&patch, "f", old, strlen(old), &out);
	if (!err)
		(void)snprintf(ret, size, "%s", out.text ? out.text : "");
	fw_buf_clear(&out);
	fw_ws_patch_clear(&patch);
	return err;
}

static void expect(const char *patch, const char *old, const char *new)
{
	char got[4096];
	fw_error *err = apply(patch, old, got, sizeof got);

	if (err)
		fail_msg("%s", fw_error_message(err));
	assert_string_equal(got, new);
}

static void expect_invalid(const char *patch, uint64_t line)
{
	char got[4096];
	fw_error *err = apply(patch, "", got, sizeof got);
	fw_field field;

	assert_int_equal(fw_error_code(err), FW_PATCH_INVALID);
	assert_true(fw_error_find_field(err, "line", &field));
	if (field.u64 != line)
		fail_msg("line %llu: %s", (unsigned long long)field.u64, fw_error_message(err));
	fw_error_free(err);
}

static void expect_misfit(const char *patch, const char *old, uint64_t hunk, uint64_t line)
{
	char got[4096];
	fw_error *err = apply(patch, old, got, sizeof got);
	fw_field field;

	assert_int_equal(fw_error_code(err), FW_PATCH_APPLY_FAILED);
	assert_true(fw_error_find_field(err, "hunk", &field));
	assert_int_equal(field.u64, hunk);
	assert_true(fw_error_find_field(err, "line", &field));
	assert_int_equal(field.u64, line);
	fw_error_free(err);
}

#define HEAD "--- a/f\n+++ b/f\n"

#define GIT(name) "diff --git a/" name " b/" name "\n"

static void test_patch__git_headers_alone_create_and_delete_empty_files(void **state)
{
	static const char quoted[] = "diff --git \"a/\\303\\244\" \"b/\\303\\244\"\n"
				     "new file mode 100644\nindex 0000000..e69de29\n";
	struct fw_ws_patch patch;

	(void)state;
	expect(GIT("f") "new file mode 100644\nindex 0000000..e69de29\n", "", "");
	expect(GIT("f") "deleted file mode 100644\r\nindex e69de29..0000000\r\n", "", "");
	expect_misfit(GIT("f") "deleted file mode 100644\n", "a\n", 0, 1);
	expect_invalid(GIT("f") "index 1..2 100644\n", 2);
	expect_invalid(GIT("f") "old mode 100644\nnew mode 100755\n", 3);
	expect_invalid("new file mode 100644\n", 1);
	expect_invalid("diff --git a/f\nnew file mode 100644\n", 1);
	expect_invalid(GIT("f") "new file mode 100644\n" GIT("g") "new file mode 100644\n", 3);
	assert_null(fw_ws_patch_parse(quoted, sizeof quoted - 1, &patch));
	assert_true(patch.creates);
	assert_null(fw_ws_patch_check_name(&patch, "\303\244"));
	assert_code(fw_ws_patch_check_name(&patch, "b"), FW_PATCH_INVALID);
	fw_ws_patch_clear(&patch);
}

static void test_patch__hunks_are_applied_at_their_lines(void **state)
{
	(void)state;
	expect(HEAD "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "a\nb\nc\nd\n", "a\nB\nc\nd\n");
	expect("@@ -2 +2 @@ int main()\n-b\n+B\n", "a\nb\nc\n", "a\nB\nc\n");
	expect(HEAD "@@ -1,2 +1,3 @@\n+0\n a\n b\n@@ -4,2 +5,1 @@\n d\n-e\n", "a\nb\nc\nd\ne\n",
	       "0\na\nb\nc\nd\n");
	expect(HEAD "@@ -2,0 +3,2 @@\n+x\n+y\n", "a\nb\nc\n", "a\nb\nx\ny\nc\n");
	expect("diff --git a/f b/f\nindex 1..2 100644\n" HEAD
	       "@@ -1 +1 @@\n-a\n+b\n-- \n2.39\n",
	       "a\n", "b\n");
	/* A line within a hunk that looks like a header is content. */
	expect(HEAD "@@ -1,2 +1,2 @@\n--- x\n+++ y\n a\n", "-- x\na\n", "++ y\na\n");
	/* An empty line that lost its space. */
	expect(HEAD "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", "a\n\nb\n", "a\n\nc\n");
}

static void test_patch__a_missing_newline_at_the_end_must_match(void **state)
{
	static const char without[] = "\\ No newline at end of file\n";
	char patch[256];

	(void)state;
	(void)snprintf(patch, sizeof patch, HEAD "@@ -1 +1 @@\n-a\n%s+b\n%s", without, without);
	expect(patch, "a", "b");
	expect_misfit(patch, "a\n", 1, 1);
	(void)snprintf(patch, sizeof patch, HEAD "@@ -1 +1 @@\n-a\n%s+a\n", without);
	expect(patch, "a", "a\n");
	(void)snprintf(patch, sizeof patch, HEAD "@@ -1 +1 @@\n-a\n+a\n%s", without);
	expect(patch, "a\n", "a");
	(void)snprintf(patch, sizeof patch, HEAD "@@ -1 +1,2 @@\n a\n+b\n");
	expect_misfit(patch, "a", 1, 1);
	/* No line can follow one without a newline. */
	(void)snprintf(patch, sizeof patch, HEAD "@@ -1 +1 @@\n-a\n+b\n%s", without);
	expect_misfit(patch, "a\nc\n", 1, 2);
}

static void test_patch__carriage_returns_belong_to_the_file_or_to_the_mail(void **state)
{
	(void)state;
	expect(HEAD "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n", "a\r\nb\r\n", "a\r\nc\r\n");
	expect("--- a/f\r\n+++ b/f\r\n@@ -1,2 +1,2 @@\r\n a\r\n-b\r\n+c\r\n", "a\nb\n",
	       "a\nc\n");
	expect("--- a/f\r\n+++ b/f\r\n@@ -1,2 +1,2 @@\r\n a\r\n-b\r\n+c\r\n", "a\r\nb\r\n",
	       "a\r\nc\r\n");
	expect_misfit(HEAD "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "a\r\nb\r\n", 1, 1);
}

static void test_patch__files_are_created_and_deleted(void **state)
{
	struct fw_ws_patch patch;
	const char *made = "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n";
	const char *gone = "--- a/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n";

	(void)state;
	expect(made, "", "a\nb\n");
	expect(gone, "a\nb\n", "");
	expect_misfit(gone, "a\nb\nc\n", 1, 3);
	assert_null(fw_ws_patch_parse(made, strlen(made), &patch));
	assert_true(patch.creates && !patch.deletes);
	fw_ws_patch_clear(&patch);
	assert_null(fw_ws_patch_parse(gone, strlen(gone), &patch));
	assert_true(patch.deletes && !patch.creates);
	fw_ws_patch_clear(&patch);
}

static void test_patch__an_invalid_patch_is_reported_with_its_line(void **state)
{
	(void)state;
	expect_invalid("", 1);
	expect_invalid("here is the patch:\n" HEAD "@@ -1 +1 @@\n-a\n+b\n", 1);
	expect_invalid("--- a/f\n@@ -1 +1 @@\n-a\n+b\n", 2);
	expect_invalid(HEAD, 2);
	expect_invalid(HEAD "@@ -1 +1\n-a\n+b\n", 3);
	expect_invalid(HEAD "@@ -x +1 @@\n-a\n+b\n", 3);
	expect_invalid(HEAD "@@ -1,99999999999999999999 +1 @@\n", 3);
	expect_invalid(HEAD "@@ -0,1 +1 @@\n-a\n+b\n", 3);
	expect_invalid(HEAD "@@ -1,0 +1,0 @@\n", 3);
	expect_invalid(HEAD "@@ -1,3 +1,3 @@\n a\n-b\n+c\n", 3);
	expect_invalid(HEAD "@@ -1,2 +1,2 @@\n a\n-b\n+c\n d\n", 7);
	expect_invalid(HEAD "@@ -1 +1 @@\n-a\n-b\n+c\n", 5);
	expect_invalid(HEAD "@@ -1 +1 @@\n-a\nb\n", 5);
	expect_invalid(HEAD "@@ -1 +1 @@\n-a\n+b\nthat is all\n", 6);
	expect_invalid(HEAD "@@ -5 +5 @@\n-a\n+b\n@@ -2 +2 @@\n-a\n+b\n", 6);
	expect_invalid(HEAD "@@ -1,2 +1,2 @@\n a\n-b\n+B\n@@ -2 +2 @@\n-b\n+C\n", 7);
	expect_invalid(HEAD "@@ -1 +1 @@\n-a\n+b\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n", 6);
	expect_invalid(HEAD "@@ -1 +1 @@\n\\ No newline at end of file\n-a\n+b\n", 4);
	expect_invalid(HEAD "@@ -1 +1 @@\n-a\n+\n\\ No newline at end of file\n", 6);
	expect_invalid("rename from a\nrename to b\n", 1);
	expect_invalid("--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+a\n", 2);
	expect_invalid("--- \"a/\\9\"\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n", 1);
}

static void test_patch__a_mismatch_is_reported_with_hunk_and_line(void **state)
{
	(void)state;
	expect_misfit(HEAD "@@ -1,2 +1,2 @@\n a\n-x\n+y\n", "a\nb\n", 1, 2);
	expect_misfit(HEAD "@@ -1 +1 @@\n-a\n+b\n@@ -3 +3 @@\n-c\n+d\n", "a\nb\nx\n", 2, 3);
	expect_misfit(HEAD "@@ -9 +9 @@\n-a\n+b\n", "a\n", 1, 2);
	/* Hunks are not searched for: one line off does not match. */
	expect_misfit(HEAD "@@ -1 +1 @@\n-b\n+c\n", "a\nb\n", 1, 1);
}

static void test_patch__headers_must_name_the_file(void **state)
{
	static const struct {
		const char *head;
		int code;
	} heads[] = {
		{ "--- a/src/f\n+++ b/src/f\n", 0 },
		{ "--- src/f\t2026-01-19 10:00:00\n+++ src/f\t2026-01-19 10:01:00\n", 0 },
		{ "--- ./src/f\n+++ ./src/f\n", 0 },
		{ "--- \"a/src/f\"\n+++ \"b/src/\\146\"\n", 0 },
		{ "--- src/f.orig\n+++ src/f\n", FW_PATCH_INVALID },
		{ "--- a/src/g\n+++ b/src/g\n", FW_PATCH_INVALID },
		{ "--- a/../src/f\n+++ b/../src/f\n", FW_PATCH_INVALID },
		{ "--- /dev/null\n+++ b/src/f\n", 0 },
		{ "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
		struct fw_ws_patch patch;
		char text[256];

		(void)snprintf(text, sizeof text, "%s@@ -0,0 +1 @@\n+a\n", heads[i].head);
		assert_null(fw_ws_patch_parse(text, strlen(text), &patch));
		assert_code(fw_ws_patch_check_name(&patch, "src/f"), heads[i].code);
		fw_ws_patch_clear(&patch);
	}
}

/* ---- against diff and patch themselves ---- */

static unsigned seed = 20260119;

static unsigned below(unsigned n)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 16) % n;
}

/* Few different characters, so that lines repeat; sometimes CR LF or no newline at the end. */
static size_t random_text(char *text, const char *from, size_t from_len)
{
	size_t len = 0;
	bool crlf = below(4) == 0;

	if (from && below(8)) {
		/* Some lines dropped, some new. */
		for (size_t i = 0; i < from_len;) {
			size_t line =
				(size_t)((const char *)memchr(from + i, '\n', from_len - i)
						 ? (const char *)memchr(from + i, '\n',
									from_len - i) -
							   (from + i) + 1
						 : (ptrdiff_t)(from_len - i));

			if (below(6)) {
				memcpy(text + len, from + i, line);
				len += line;
			}
			if (below(8) == 0 && (!len || text[len - 1] == '\n')) {
				text[len++] = (char)('a' + below(5));
				text[len++] = '\n';
			}
			i += line;
		}
	} else {
		for (unsigned lines = below(30); lines; lines--) {
			for (unsigned n = below(3); n; n--)
				text[len++] = "ab-+\\@ "[below(7)];
			if (crlf)
				text[len++] = '\r';
			text[len++] = '\n';
		}
	}
	if (len && text[len - 1] == '\n' && below(4) == 0)
		len--;
	return len;
}

static void put(const char *name, const char *text, size_t len)
{
	char path[128];
	FILE *file;

	(void)snprintf(path, sizeof path, "%s/%s", scratch, name);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, len, file), len);
	(void)fclose(file);
}

static size_t get(const char *name, char *text, size_t size)
{
	char path[128];
	FILE *file;
	size_t len;

	(void)snprintf(path, sizeof path, "%s/%s", scratch, name);
	file = fopen(path, "re");
	assert_non_null(file);
	len = fread(text, 1, size - 1, file);
	text[len] = '\0';
	(void)fclose(file);
	return len;
}

static void test_patch__applying_the_output_of_diff_gives_the_new_file(void **state)
{
	const char *rounds = getenv("FW_PATCH_ROUNDS");
	long most = rounds ? strtol(rounds, NULL, 10) : 150;
	long differing = 0;

	(void)state;
	for (long round = 0; round < most; round++) {
		static char a[8192], b[8192], diff[32768], got[16384];
		size_t a_len = random_text(a, NULL, 0);
		size_t b_len = random_text(b, a, a_len);
		struct fw_ws_patch patch;
		struct fw_buf out;
		size_t diff_len;
		fw_error *err;
		char command[256];

		put("a", a, a_len);
		put("b", b, b_len);
		(void)snprintf(command, sizeof command, "cd %s && diff -U%u a b >d; true",
			       scratch, below(5));
		assert_int_equal(system(command), 0);
		diff_len = get("d", diff, sizeof diff);
		if (!diff_len)
			continue;
		differing++;
		fw_buf_init(&out, 1 << 20);
		err = fw_ws_patch_parse(diff, diff_len, &patch);
		if (!err)
			err = fw_ws_patch_apply(&patch, "a", a, a_len, &out);
		if (err)
			fail_msg("%s\n%s", fw_error_message(err), diff);
		if (out.len != b_len || memcmp(out.text ? out.text : "", b, b_len) != 0)
			fail_msg("round %ld differs:\n%s", round, diff);
		fw_ws_patch_clear(&patch);
		fw_buf_clear(&out);
		/* The program patch, if it is installed, gives the same result. */
		if (round % 10 == 0 && system("command -v patch >/dev/null") == 0) {
			shell("cp a p && patch --binary -s -F0 p <d");
			assert_int_equal(get("p", got, sizeof got), b_len);
			assert_memory_equal(got, b, b_len);
		}
	}
	print_message("# %ld pairs that differ\n", differing);
	assert_true(differing > most / 2);
}

static void parse_and_apply(void)
{
	char got[256];
	fw_error *err =
		apply("--- \"a/f\"\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n", "a\n", got, sizeof got);

	fw_error_free(err);
}

static void test_patch__survives_every_allocation_failure(void **state)
{
	(void)state;
	each_allocation_fails(parse_and_apply);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patch__git_headers_alone_create_and_delete_empty_files),
		cmocka_unit_test(test_patch__hunks_are_applied_at_their_lines),
		cmocka_unit_test(test_patch__a_missing_newline_at_the_end_must_match),
		cmocka_unit_test(
			test_patch__carriage_returns_belong_to_the_file_or_to_the_mail),
		cmocka_unit_test(test_patch__files_are_created_and_deleted),
		cmocka_unit_test(test_patch__an_invalid_patch_is_reported_with_its_line),
		cmocka_unit_test(test_patch__a_mismatch_is_reported_with_hunk_and_line),
		cmocka_unit_test(test_patch__headers_must_name_the_file),
		cmocka_unit_test(test_patch__applying_the_output_of_diff_gives_the_new_file),
		cmocka_unit_test(test_patch__survives_every_allocation_failure),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
