/*
 * search_test.c - the parts of a search: the vectorised scan against a plain one, the
 * texts that an expression requires against PCRE2, and matching a block.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "tools/common/test_support.h"

#include "tools/code/literal.h"
#include "tools/code/query.h"
#include "tools/code/scan.h"

static uint32_t seed = 1;

static uint32_t pick(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

/* ---- scan ---- */

static const char *find_plainly(const char *needle, size_t n, bool folds, const char *text,
				size_t len)
{
	for (size_t i = 0; i + n <= len; i++) {
		size_t j = 0;

		while (j < n) {
			char c = text[i + j];

			if (folds && c >= 'A' && c <= 'Z')
				c = (char)(c | 0x20);
			if (c != needle[j])
				break;
			j++;
		}
		if (j == n)
			return text + i;
	}
	return NULL;
}

static void test_scan__finds_what_a_plain_loop_finds(void **state)
{
	static const char letters[] = "abAB@`[{ \n\xc3\xa4";
	char *text = malloc(300);

	(void)state;
	for (int round = 0; round < 200000; round++) {
		size_t len = pick(200), n = 1 + pick(6);
		bool folds = pick(2) != 0;
		char needle[8];
		struct fw_scan scan;

		/* Ends where the memory ends, so that reading beyond it is found. */
		char *at = text + 300 - len;

		for (size_t i = 0; i < len; i++)
			at[i] = letters[pick(sizeof letters - 1)];
		for (size_t i = 0; i < n; i++) {
			needle[i] = letters[pick(sizeof letters - 1)];
			if (folds && needle[i] >= 'A' && needle[i] <= 'Z')
				needle[i] = (char)(needle[i] | 0x20);
		}
		fw_scan_init(&scan, needle, n, folds);
		assert_ptr_equal(fw_scan_find(&scan, at, len),
				 find_plainly(needle, n, folds, at, len));
	}
	free(text);
}

static void test_scan__counts_lines(void **state)
{
	static char many[16 * 600];
	char text[200];

	(void)state;
	for (int round = 0; round < 1000; round++) {
		size_t len = pick(sizeof text), lines = 0;

		for (size_t i = 0; i < len; i++) {
			text[i] = pick(3) ? 'x' : '\n';
			lines += text[i] == '\n';
		}
		assert_int_equal(fw_scan_lines(text, len), lines);
	}
	/* More than a byte can count at each place. */
	memset(many, '\n', sizeof many);
	for (size_t len = sizeof many - 40; len <= sizeof many; len++)
		assert_int_equal(fw_scan_lines(many, len), len);
}

/* ---- literals ---- */

static void assert_literals(const char *pattern, bool folds, const char *expected)
{
	struct fw_literals literals;
	char found[600] = "";

	fw_literals_of_regex(pattern, strlen(pattern), folds, &literals);
	for (size_t i = 0; i < literals.count; i++)
		(void)snprintf(found + strlen(found), sizeof found - strlen(found), "%s%.*s",
			       i ? "|" : "", (int)literals.list[i].len, literals.list[i].text);
	/* Shorter ones do not help the index. */
	if (literals.also.len >= 3)
		(void)snprintf(found + strlen(found), sizeof found - strlen(found), "&%.*s",
			       (int)literals.also.len, literals.also.text);
	if (strcmp(found, expected) != 0)
		fail_msg("%s: expected %s, found %s", pattern, expected, found);
}

static void test_literals__are_the_longest_that_is_required(void **state)
{
	(void)state;
	assert_literals("PM_RESUME", false, "PM_RESUME");
	assert_literals("\\w+_lock_irqsave\\s*\\(&\\w+->\\w+", false, "_lock_irqsave");
	assert_literals("[A-Z]+_SUSPEND", false, "_SUSPEND");
	assert_literals("[A-Z]+_SUSPEND", true, "pend");
	assert_literals("prepare_revision_walk", true, "prepare_revi&ion_wal");
	assert_literals("first.*secondly.*third", false, "secondly&first");
	assert_literals("(a|b)long.*erer", false, "long&erer");
	assert_literals("TODO|FIXME", false, "TODO|FIXME");
	assert_literals("x(foo|barbar)y", false, "foo|barbar");
	assert_literals("x(foo|bar)*yz", false, "yz");
	assert_literals("abc?d", false, "ab");
	assert_literals("abc+d", false, "abc");
	assert_literals("ab{0,2}c", false, "a");
	assert_literals("a\\.b\\(", false, "a.b(");
	assert_literals("gr\xc3\xbc\xc3\x9f"
			"e",
			false,
			"gr\xc3\xbc\xc3\x9f"
			"e");
	assert_literals("gr\xc3\xbc?en", false, "gr");
	assert_literals("task", true, "ta");
	assert_literals("[0-9]{7,}", false, "");
	assert_literals("foo|", false, "");
	assert_literals("(?i)foo", false, "");
	assert_literals("(?x)f o o", false, "");
	assert_literals("\\Qa.b\\E", false, "");
	assert_literals("(?=foo)", false, "");
	assert_literals("foo(?!bar)", false, "");
	assert_literals("\\x66oo", false, "");
	assert_literals("(*UTF)foo", false, "");
	assert_literals("foo)", false, "");
	assert_literals("a|b|c|d|e|f|g|h|i", false, "");
}

/* Whatever PCRE2 matches contains one of them. */
static void check_property(const char *pattern, size_t len, bool folds, const char *text,
			   size_t text_len)
{
	struct fw_literals literals;
	pcre2_match_data *data;
	pcre2_code *code;
	size_t at;
	int error;

	fw_literals_of_regex(pattern, len, folds, &literals);
	if (!literals.count)
		return;
	code = pcre2_compile((PCRE2_SPTR)pattern, len,
			     PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF |
				     (folds ? PCRE2_CASELESS : 0),
			     &error, &at, NULL);
	if (!code)
		return;
	data = pcre2_match_data_create(1, NULL);
	if (pcre2_match(code, (PCRE2_SPTR)text, text_len, 0, 0, data, NULL) >= 0) {
		bool has_one = false;

		for (size_t i = 0; i < literals.count; i++)
			has_one = has_one ||
				  find_plainly(literals.list[i].text, literals.list[i].len,
					       folds, text, text_len);
		if (!has_one ||
		    !find_plainly(literals.also.text, literals.also.len, folds, text, text_len))
			fail_msg("pattern %.*s matches %.*s", (int)len, pattern, (int)text_len,
				 text);
	}
	pcre2_match_data_free(data);
	pcre2_code_free(code);
}

static void test_literals__no_match_does_without(void **state)
{
	static const char *const parts[] = {
		"a",    "b",    "k",           "S",      "ab",    "\xc3\xa4", "(",    ")",
		"|",    "*",    "+",           "?",      "{2}",   "{0,1}",    "{1,}", "{",
		"}",    "[ab]", "[^a]",        "[]a]",   "[a\\]", ".",        "^",    "$",
		"\\b",  "\\w",  "\\d",         "\\.",    "\\\\",  "\\Q",      "\\E",  "(?:",
		"(?i)", "(?=",  "(?!",         "(?<=",   "(?x)",  "#",        "\\1",  "\\x61",
		"[",    "]",    "[[:alpha:]]", "\\p{L}", "\\K",   "+?",       "++",   "\\t",
	};
	static const char *const words[] = { "a",        "b",        "K",   "s", "\xe2\x84\xaa",
					     "\xc5\xbf", "\xc3\xa4", " ",   ".", "\\",
					     "\t",       "ab",       "{2}", "#", "S" };

	(void)state;
	for (int round = 0; round < 300000; round++) {
		char pattern[128] = "", text[128] = "";

		for (uint32_t i = pick(8) + 1; i > 0; i--)
			strncat(pattern, parts[pick(sizeof parts / sizeof *parts)], 16);
		for (uint32_t i = pick(10); i > 0; i--)
			strncat(text, words[pick(sizeof words / sizeof *words)], 8);
		check_property(pattern, strlen(pattern), pick(2) != 0, text, strlen(text));
	}
}

/* ---- blocks ---- */

struct lines {
	char text[512];
};

static bool note(void *ctx, const struct fw_match *match)
{
	struct lines *lines = ctx;

	(void)snprintf(lines->text + strlen(lines->text),
		       sizeof lines->text - strlen(lines->text), "%llu:%zu ",
		       (unsigned long long)fw_matcher_line(match), match->start);
	return true;
}

static bool never(void *ctx)
{
	(void)ctx;
	return false;
}

static void assert_lines(const char *query_text, bool is_regex, bool is_sensitive,
			 const char *text, const char *expected)
{
	const struct fw_query_options options = { query_text, strlen(query_text), is_regex,
						  is_sensitive };
	struct fw_matcher *matcher = NULL;
	struct lines lines = { "" };
	const struct fw_matching matching = { note, never, &lines };
	struct fw_query *query = NULL;

	assert_null(fw_query_new(&options, &query));
	assert_null(fw_matcher_new(query, &matcher));
	assert_null(fw_matcher_run(matcher, &matching, text, strlen(text)));
	if (strcmp(lines.text, expected) != 0)
		fail_msg("%s: expected %s, found %s", query_text, expected, lines.text);
	fw_matcher_free(matcher);
	fw_query_free(query);
}

static void test_query__matches_line_by_line(void **state)
{
	(void)state;
	assert_lines("two", false, true, "one\ntwo\nthree two two\n", "1:0 2:6 ");
	assert_lines("TWO", false, false, "one\ntwo\nthree Two", "1:0 2:6 ");
	assert_lines("task", false, false, "ta\xc5\xbf\xe2\x84\xaa\nTASK\n", "0:0 1:0 ");
	assert_lines("e$", true, true, "one\r\ntwo\r\nthree\r\n", "0:2 2:4 ");
	assert_lines("e.t", true, true, "one\ntwo\n", "");
	assert_lines("\\s+t", true, true, "one\ntwo\n t\n", "2:0 ");
	assert_lines("[^x]*y", true, true, "a\nxy\n", "1:1 ");
	assert_lines("[0-9]{3}", true, true, "12\n345\n\n6\n7890", "1:0 4:0 ");
	assert_lines("^$", true, true, "a\n\nb\n\n", "1:0 3:0 ");
	assert_lines("x*", true, true, "a\n\nx", "0:0 1:0 2:0 ");
	assert_lines("b|d", true, true, "a\nb\nc\nd d\nb\n", "1:0 3:0 4:0 ");
	assert_lines("(?<!\\s)b", true, true, "a\nb\n b\n", "1:0 ");
	assert_lines("a", true, true, "\xff a\n", "0:2 ");
}

static fw_error *try_query(const char *text, size_t len)
{
	const struct fw_query_options options = { text, len, true, true };
	struct fw_query *query = NULL;
	fw_error *err = fw_query_new(&options, &query);

	fw_query_free(query);
	return err;
}

static void test_query__refuses_what_is_not_a_query(void **state)
{
	fw_field field;
	fw_error *err;

	(void)state;
	assert_code(try_query("", 0), FW_INPUT_INVALID_VALUE);
	assert_code(try_query("a\nb", 3), FW_INPUT_INVALID_VALUE);
	err = try_query("foo(bar", 7);
	assert_int_equal(fw_error_code(err), FW_INPUT_INVALID_VALUE);
	assert_true(fw_error_find_field(err, "offset", &field));
	assert_int_equal(field.u64, 7);
	fw_error_free(err);
}

static void run_once(void)
{
	const struct fw_query_options options = { "[a-c]+x|y", 9, true, false };
	struct lines lines = { "" };
	const struct fw_matching matching = { note, never, &lines };
	struct fw_matcher *matcher = NULL;
	struct fw_query *query = NULL;
	fw_error *err = fw_query_new(&options, &query);

	if (!err)
		err = fw_matcher_new(query, &matcher);
	if (!err)
		err = fw_matcher_run(matcher, &matching, "a\nbx\n", 5);
	fw_error_free(err);
	fw_matcher_free(matcher);
	fw_query_free(query);
}

static void test_query__each_allocation_fails(void **state)
{
	(void)state;
	each_allocation_fails(run_once);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scan__finds_what_a_plain_loop_finds),
		cmocka_unit_test(test_scan__counts_lines),
		cmocka_unit_test(test_literals__are_the_longest_that_is_required),
		cmocka_unit_test(test_literals__no_match_does_without),
		cmocka_unit_test(test_query__matches_line_by_line),
		cmocka_unit_test(test_query__refuses_what_is_not_a_query),
		cmocka_unit_test(test_query__each_allocation_fails),
	};

	test_support_uses_all();
	return cmocka_run_group_tests_name("code search", tests, NULL, NULL);
}
