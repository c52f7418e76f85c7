/*
 * Globs that overlap: a table, and a comparison with all short names.
 */
#include "tools/common/glob.h"
#include "tools/common/glob_bits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "test/memory.h"

static bool overlap(const char *a, const char *b)
{
	bool found = fw_glob_overlap(a, strlen(a), b, strlen(b));

	assert_int_equal(fw_glob_overlap(b, strlen(b), a, strlen(a)), found);
	return found;
}

static void test_overlap__table(void **state)
{
	static const struct {
		const char *a;
		const char *b;
		bool is_overlap;
	} rows[] = {
		{ "*.go", "*.rs", false },
		{ "*.go", "main.go", true },
		{ "internal/*.go", "internal/http.go", true },
		{ "internal/*.go", "pkg/*.go", false },
		{ "src/[a-z]*.go", "src/main.go", true },
		{ "src/[A-Z]*.go", "src/main.go", false },
		{ "**", "a/b/c", true },
		{ "**", "a", true },
		{ "**/*.go", "main.go", true },
		{ "**/*.go", "a/b/main.go", true },
		{ "**/*.go", "a/b/main.rs", false },
		{ "a/**/z", "a/z", true },
		{ "a/**/z", "a/b/c/z", true },
		{ "a/**/z", "b/**/z", false },
		{ "a/**", "**/z", true },
		{ "a/", "a/b", true },
		{ "a/", "a", false },
		{ "a/**", "a", false },
		{ "*", "a/b", false },
		{ "*/b", "a/*", true },
		{ "a?c", "abc", true },
		{ "a?c", "a/c", false },
		{ "[!a]*", "a*", false },
		{ "[!a]", "[!b]", true },
		{ "[a-f]", "[e-z]", true },
		{ "[a-f]", "[g-z]", false },
		{ "[!a-z]", "[a-z]", false },
		{ "[!a-z]", "[!A-Z]", true },
		{ "*a*", "*b*", true },
		{ "a*b", "*c", false },
		{ "\xc3\xa4*", "[\xc3\xa0-\xc3\xbf]x", true },
		{ "src/a.c", "src/a.c", true },
		{ "src/a.c", "src/a.cc", false },
		{ "", "", false },
		{ "[", "*", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (overlap(rows[i].a, rows[i].b) != rows[i].is_overlap)
			fail_msg("%s and %s", rows[i].a, rows[i].b);
}

/* ---- all short names ---- */

enum { NAME_LEN = 8, NAMES_MAX = 70000, GLOBS = 200 };

static char names[NAMES_MAX][NAME_LEN + 1];
static size_t name_count;

/* Names of a, b, c and slashes, without empty components. */
static void make_names(char *name, size_t len)
{
	for (const char *c = len ? "abc/" : "abc"; *c; c++) {
		if (*c == '/' && (name[len - 1] == '/' || len + 1 == NAME_LEN))
			continue;
		name[len] = *c;
		name[len + 1] = '\0';
		if (*c != '/') {
			assert_true(name_count < NAMES_MAX);
			memcpy(names[name_count++], name, len + 2);
		}
		if (len + 1 < NAME_LEN)
			make_names(name, len + 1);
	}
}

static uint64_t seed = 17;

static unsigned pick(unsigned most)
{
	seed = seed * 6364136223846793005U + 1442695040888963407U;
	return (unsigned)(seed >> 33) % most;
}

/* At most three parts, so that two globs that overlap have a short name in common. */
static void make_glob(char *glob)
{
	static const char *const parts[] = { "a",   "b",     "*",  "?",  "[ab]", "[!a]",
					     "[c]", "[a-b]", "**", "a/", "*/",   "b*" };
	unsigned count = 1 + pick(3);

	glob[0] = '\0';
	for (unsigned i = 0; i < count; i++) {
		const char *part = parts[pick(sizeof parts / sizeof *parts)];
		size_t len = strlen(glob);

		if (strcmp(part, "**") == 0 && len && glob[len - 1] != '/')
			glob[len++] = '/';
		else if (len > 1 && strcmp(glob + len - 2, "**") == 0)
			glob[len++] = '/';
		glob[len] = '\0';
		memcpy(glob + len, part, strlen(part) + 1);
	}
}

static char globs[GLOBS][32];
static uint64_t matches[GLOBS][NAMES_MAX / 64 + 1];

static bool share_a_name(size_t i, size_t j)
{
	for (size_t k = 0; k < NAMES_MAX / 64 + 1; k++)
		if (matches[i][k] & matches[j][k])
			return true;
	return false;
}

static void test_overlap__exactly_if_a_name_matches_both(void **state)
{
	char name[NAME_LEN + 1];
	size_t yes = 0, no = 0;
	struct fw_glob_bits bits;
	struct fw_glob *compiled;
	const char *fault;

	(void)state;
	if (getenv("FW_LONG"))
		seed = (uint64_t)time(NULL);
	print_message("# seed %llu\n", (unsigned long long)seed);
	make_names(name, 0);
	for (size_t i = 0; i < GLOBS; i++) {
		do
			make_glob(globs[i]);
		while (fw_glob_fault(globs[i], strlen(globs[i])));
		assert_true(fw_glob_bits_compile(&bits, globs[i], strlen(globs[i])));
		compiled = fw_glob_new(globs[i], strlen(globs[i]), false, &fault);
		assert_non_null(compiled);
		for (size_t k = 0; k < name_count; k++) {
			bool is_match = fw_glob_match(globs[i], strlen(globs[i]), names[k]);

			if (is_match)
				matches[i][k / 64] |= (uint64_t)1 << k % 64;
			assert_int_equal(fw_glob_bits_match(&bits, names[k], strlen(names[k])),
					 is_match ? FW_GLOB_BITS_YES : FW_GLOB_BITS_NO);
			assert_int_equal(fw_glob_test(compiled, names[k], strlen(names[k])),
					 is_match);
		}
		fw_glob_free(compiled);
	}
	for (size_t i = 0; i < GLOBS; i++)
		for (size_t j = 0; j < GLOBS; j++) {
			bool expected = share_a_name(i, j);

			*(expected ? &yes : &no) += 1;
			if (overlap(globs[i], globs[j]) != expected)
				fail_msg("%s and %s", globs[i], globs[j]);
		}
	/* Both answers are frequent, so the comparison says something. */
	assert_true(yes > GLOBS * GLOBS / 20 && no > GLOBS * GLOBS / 20);
}

static void test_overlap__long_texts_and_no_memory(void **state)
{
	const fw_allocator allocator = { test_memory_allocate, test_memory_reallocate,
					 test_memory_release, NULL };
	char path[4000], glob[300];

	(void)state;
	memset(path, 'a', sizeof path - 1);
	path[sizeof path - 1] = '\0';
	for (size_t i = 100; i < sizeof path - 2; i += 100)
		path[i] = '/';
	assert_true(overlap(path, "**"));
	assert_true(overlap(path, "**/a*"));
	assert_false(overlap(path, "**/a*b"));
	/* Many stars: no more than the product of the lengths. */
	for (size_t i = 0; i < 250; i += 2)
		memcpy(glob + i, "*a", 3);
	assert_true(overlap(glob, "aaaa*aaaa?aaaa[a-z]*"));
	assert_true(overlap(glob, "*b*"));
	assert_false(overlap(glob, "[!a]?"));
	/* The safe answer. */
	fw_allocator_set(&allocator);
	test_memory = (struct test_memory){ .fail_at = 1 };
	assert_true(fw_glob_overlap(path, sizeof path - 1, "**/a*b*", 7));
	assert_true(test_memory.failed);
	fw_allocator_set(NULL);
}

static void test_bits__leave_other_letters_and_long_globs_to_the_rest(void **state)
{
	struct fw_glob_bits bits;
	char glob[64];

	(void)state;
	assert_true(fw_glob_bits_compile(&bits, "a*", 2));
	assert_int_equal(fw_glob_bits_match(&bits, "a\xc3\xa4", 3), FW_GLOB_BITS_UNKNOWN);
	assert_int_equal(fw_glob_bits_match(&bits, "b\xc3\xa4", 3), FW_GLOB_BITS_NO);
	assert_false(fw_glob_bits_compile(&bits, "[", 1));
	memset(glob, 'a', sizeof glob);
	assert_true(fw_glob_bits_compile(&bits, glob, 62));
	assert_int_equal(fw_glob_bits_match(&bits, glob, 62), FW_GLOB_BITS_YES);
	assert_int_equal(fw_glob_bits_match(&bits, glob, 61), FW_GLOB_BITS_NO);
	assert_int_equal(fw_glob_bits_match(&bits, glob, 63), FW_GLOB_BITS_NO);
	assert_false(fw_glob_bits_compile(&bits, glob, 63));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_overlap__table),
		cmocka_unit_test(test_overlap__exactly_if_a_name_matches_both),
		cmocka_unit_test(test_overlap__long_texts_and_no_memory),
		cmocka_unit_test(test_bits__leave_other_letters_and_long_globs_to_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
