/*
 * search_test.c - the parts of a search: the vectorised scan against a plain one, the
 * texts that an expression requires against PCRE2, and matching a block.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "tools/common/test_support.h"

#include "tools/code/byte_runs.h"
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
	assert_literals("[[:a]foo[x:]|y]bar", false, "");
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

/* ---- runs ---- */

/* The runs as classes, in the order of weight: 0-9 0-9 x & ... | ... */
static void assert_runs(const char *pattern, bool folds, const char *expected)
{
	struct fw_byte_runs runs;
	char found[2000] = "";
	size_t len = 0;

	fw_byte_runs_of_regex(pattern, strlen(pattern), folds, &runs);
	for (size_t i = 0; i < runs.count; i++)
		for (size_t j = 0; j < runs.branches[i].count; j++) {
			const struct fw_byte_run *run = &runs.branches[i].runs[j];

			if (len)
				found[len++] = j ? '&' : '|';
			for (size_t k = 0; k < run->len; k++) {
				unsigned char bytes[256];
				size_t count = fw_byte_run_folded(&run->sets[k], bytes);

				if (count > 1)
					len += (size_t)snprintf(found + len, 9, "[%c-%c]",
								bytes[0], bytes[count - 1]);
				else
					found[len++] = (char)bytes[0];
			}
			if (run->has_digits)
				found[len++] = '#';
			if (run->has_folds)
				found[len++] = '~';
			found[len] = '\0';
		}
	if (strcmp(found, expected) != 0)
		fail_msg("%s: expected %s, found %s", pattern, expected, found);
}

static void test_runs__are_those_that_are_required(void **state)
{
	(void)state;
	assert_runs("[0-9]{3}", false, "[0-9][0-9][0-9]");
	assert_runs("[0-9]{2,}[a-f]{2}", false, "[0-9][0-9][a-f][a-f]");
	assert_runs("\\d+\\.\\d+", false, "[0-9].[0-9]#");
	assert_runs("[A-Z]{2}_", false, "[a-z][a-z]_");
	assert_runs("[A-Z]{2}_", true, "[a-z][a-z]_~");
	assert_runs("v[0-9]\\.", false, "v[0-9].");
	assert_runs("id=\\d\\d", true, "id=[0-9][0-9]#");
	assert_runs("kid", true, "kid~");
	assert_runs("x[0-9]{2,}yz", false, "[0-9][0-9]yz&x[0-9][0-9]");
	assert_runs("a(b[cd])e", false, "ab[c-d]e");
	assert_runs("ab(cde)+fgh", false, "cde&fgh");
	assert_runs("ab(cde)?fgh", false, "fgh");
	assert_runs("abc|[0-9]{3}", false, "abc|[0-9][0-9][0-9]");
	assert_runs("abc|[0-9]{2}", false, "");
	assert_runs("abc|", false, "");
	assert_runs("(abc|def)", false, "");
	assert_runs("(abc|def)ghi", false, "ghi");
	assert_runs("a[b]?cd", false, "");
	assert_runs("[]0]{3}", false, "[0-]][0-]][0-]]");
	assert_runs("[0\\]]{3}", false, "[0-]][0-]][0-]]");
	assert_runs("[[:digit:]]{3}", false, "[0-9][0-9][0-9]#");
	assert_runs("[[:alpha:]]abc", false, "abc");
	assert_runs("[^a]bcd", false, "bcd");
	assert_runs("\xc3\xa4z", false, "\xc3\xa4z");
	assert_runs("\xc3\xa4z", true, "");
	assert_runs("\\p{L}abc", false, "abc");
	assert_runs("\\bab\\bcd", false, "");
	assert_runs("abc{2}d", false, "abccd");
	assert_runs("abc{2,2}d", false, "abccd");
	assert_runs("abc{0}d", false, "");
	assert_runs(".*[0-9]{3}.*", false, "[0-9][0-9][0-9]");
	assert_runs("[a-z0-9]{3}", false, "");
	assert_runs("(?i)abc", false, "");
	assert_runs("(?x)a b c", false, "");
	assert_runs("abc(?!d)", false, "");
	assert_runs("(?<=abc)def", false, "");
	assert_runs("(a)bc\\1", false, "");
	assert_runs("(*UTF)abc", false, "");
	assert_runs("\\Qabc\\E", false, "");
	assert_runs("\\x61bc", false, "");
	assert_runs("abc)", false, "");
	assert_runs("(((((abc)))))", false, "");
}

static bool has_run(const struct fw_byte_run *run, const char *text, size_t len)
{
	for (size_t at = 0; at + run->len <= len; at++) {
		size_t i = 0;

		while (i < run->len &&
		       fw_byte_run_set_has(&run->sets[i], (unsigned char)text[at + i]))
			i++;
		if (i == run->len)
			return true;
	}
	/* Another digit, or the long s and the Kelvin sign. */
	return (run->has_digits && (strstr(text, "\xd9\xa3") || strstr(text, "\xe0\xa5\xa9") ||
				    strstr(text, "\xf0\x9d\x9f\x97"))) ||
	       (run->has_folds && (strstr(text, "\xc5\xbf") || strstr(text, "\xe2\x84\xaa")));
}

static bool has_branch(const struct fw_byte_run_branch *branch, const char *text, size_t len)
{
	for (size_t i = 0; i < branch->count; i++) {
		struct fw_byte_run_scan scan;
		bool has_one = has_run(&branch->runs[i], text, len);

		if (!has_one)
			return false;
		fw_byte_run_scan_init(&scan, &branch->runs[i]);
		if (fw_byte_run_is_exact(&branch->runs[i], text, len) &&
		    !fw_byte_run_find(&scan, text, len))
			fail_msg("a run of %.*s is not found", (int)len, text);
	}
	return true;
}

/* Whatever PCRE2 matches has all runs of a branch. Returns whether it matches and something is
 * required. */
static bool check_runs(const char *pattern, bool folds, const char *text)
{
	struct fw_byte_runs runs;
	pcre2_match_data *data;
	bool is_match, has_one = false;
	pcre2_code *code;
	size_t at;
	int error;

	fw_byte_runs_of_regex(pattern, strlen(pattern), folds, &runs);
	if (!runs.count)
		return false;
	code = pcre2_compile((PCRE2_SPTR)pattern, strlen(pattern),
			     PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF |
				     (folds ? PCRE2_CASELESS : 0),
			     &error, &at, NULL);
	if (!code)
		return false;
	data = pcre2_match_data_create(1, NULL);
	is_match = pcre2_match(code, (PCRE2_SPTR)text, strlen(text), 0, 0, data, NULL) >= 0;
	for (size_t i = 0; i < runs.count; i++)
		has_one = has_one || has_branch(&runs.branches[i], text, strlen(text));
	if (is_match && !has_one)
		fail_msg("pattern %s matches %s without a run", pattern, text);
	pcre2_match_data_free(data);
	pcre2_code_free(code);
	return is_match;
}

static const char *const run_parts[] = {
	"a",           "b",   "k",     "S",      "ab",    "\xc3\xa4", "(",     ")",
	"|",           "*",   "+",     "?",      "{2}",   "{0,1}",    "{1,}",  "{2,3}",
	"{",           "}",   "[ab]",  "[^a]",   "[]a]",  "[a\\]",    ".",     "^",
	"$",           "\\b", "\\w",   "\\d",    "\\d",   "\\.",      "\\Q",   "(?:",
	"(?i)",        "(?=", "(?x)",  "#",      "[0-9]", "[0-9]",    "[k-s]", "[3\\da]",
	"[[:digit:]]", "[a-", "[[:a]", ":]",     "0",     "-",        "]",     "[",
	"\\p{L}",      "\\K", "+?",    "++",     "\\t",   "{,2}",     "[0-9]", "[ab]",
	"\\d",         "a",   "1",     "[\\-a]", "[\\w]", "[A-B]",
};
static const char *const run_words[] = {
	"a",
	"b",
	"K",
	"s",
	"\xe2\x84\xaa",
	"\xc5\xbf",
	"\xc3\xa4",
	" ",
	".",
	"0",
	"1",
	"3",
	"\t",
	"ab",
	"12",
	"#",
	"S",
	"A",
	"\xd9\xa3",
	"\xe0\xa5\xa9",
	"\xf0\x9d\x9f\x97",
	"-",
	"\xc3",
};

/* Parts of expressions, and what they match. */
static const struct {
	const char *part;
	const char *words[4];
} run_examples[] = {
	{ "[0-9]", { "0", "5", "9", "3" } },
	{ "\\d", { "1", "\xd9\xa3", "\xe0\xa5\xa9", "\xf0\x9d\x9f\x97" } },
	{ "[[:digit:]]", { "2", "\xd9\xa3", "3", "\xf0\x9d\x9f\x97" } },
	{ "[k-s]", { "k", "s", "\xc5\xbf", "\xe2\x84\xaa" } },
	{ "[a-fX]", { "a", "F", "X", "f" } },
	{ "k", { "k", "K", "\xe2\x84\xaa", "k" } },
	{ "ab", { "ab", "AB", "ab", "aB" } },
	{ "\xc3\xa4", { "\xc3\xa4", "\xc3\x84", "\xc3\xa4", "\xc3\xa4" } },
	{ "\\.", { ".", ".", ".", "." } },
	{ "[]3\\d-]", { "]", "-", "\xd9\xa3", "3" } },
	{ ".", { "x", "\xc3\xa4", "1", " " } },
	{ "\\w", { "x", "\xc3\xa4", "1", "_" } },
	{ "(a|[0-9]b)", { "a", "1b", "a", "9b" } },
	{ "(?:[0-9]b)", { "1b", "2b", "3b", "9b" } },
	{ "(x(\\d)[a-c])",
	  { "x1a", "x9c",
	    "x\xd9\xa3"
	    "b",
	    "x0b" } },
	{ "\\b", { "", "", "", "" } },
};
static const struct {
	const char *text;
	uint32_t least, most;
} run_times[] = {
	{ "", 1, 1 },      { "", 1, 1 },     { "", 1, 1 },       { "", 1, 1 },
	{ "+", 1, 3 },     { "*", 0, 2 },    { "?", 0, 1 },      { "{2}", 2, 2 },
	{ "{3}", 3, 3 },   { "{2,}", 2, 4 }, { "{1,2}", 1, 2 },  { "{0}", 0, 0 },
	{ "{2,2}", 2, 2 }, { "+?", 1, 3 },   { "{2,3}?", 2, 3 },
};

/* An expression, and a text that it often matches. */
static void make_matching(char pattern[256], char text[512])
{
	strncat(text, pick(2) ? "" : "1a ", 16);
	for (uint32_t i = pick(6) + 1; i > 0; i--) {
		size_t part = pick(sizeof run_examples / sizeof *run_examples);
		size_t times = pick(sizeof run_times / sizeof *run_times);
		uint32_t count = run_times[times].least +
				 pick(run_times[times].most - run_times[times].least + 1);

		strncat(pattern, run_examples[part].part, 16);
		/* \b is not repeated. */
		strncat(pattern, run_examples[part].words[0][0] ? run_times[times].text : "",
			8);
		for (; count; count--)
			strncat(text, run_examples[part].words[pick(4)], 8);
		if (!pick(12))
			strncat(pattern, "|", 16);
	}
	strncat(text, pick(2) ? "" : " 1", 16);
}

static void make_any(char pattern[256], char text[512])
{
	for (uint32_t i = pick(8) + 1; i > 0; i--)
		strncat(pattern, run_parts[pick(sizeof run_parts / sizeof *run_parts)], 16);
	for (uint32_t i = pick(pick(8) ? 10 : 50); i > 0; i--)
		strncat(text, run_words[pick(sizeof run_words / sizeof *run_words)], 8);
}

enum { EXPRESSIONS = 150000 };

static void test_runs__no_match_does_without(void **state)
{
	int matches = 0;

	(void)state;
	for (int round = 0; round < EXPRESSIONS; round++) {
		char pattern[256] = "", text[512] = "";

		if (pick(2))
			make_matching(pattern, text);
		else
			make_any(pattern, text);
		matches += check_runs(pattern, pick(2) != 0, text);
	}
	assert_true(matches > EXPRESSIONS / 30);
}

static void test_runs__are_found_at_every_place(void **state)
{
	struct fw_byte_runs runs;
	struct fw_byte_run_scan scan;
	char text[200];

	(void)state;
	fw_byte_runs_of_regex("[0-9]{7,}[a-f]{2}x", 18, false, &runs);
	fw_byte_run_scan_init(&scan, &runs.branches[0].runs[0]);
	for (size_t at = 0; at + 10 <= sizeof text; at++) {
		memset(text, '5', sizeof text);
		memcpy(text + at, "1234567ebx", 10);
		assert_ptr_equal(fw_byte_run_find(&scan, text, sizeof text), text + at);
		text[at + 3] = 'a';
		assert_null(fw_byte_run_find(&scan, text, sizeof text));
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
	const struct fw_matching matching = { .found = note,
					      .is_stopped = never,
					      .ctx = &lines };
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
	assert_lines("\\d{3}", true, true, "12\n3456 789\n\xd9\xa3\xd9\xa3\xd9\xa3\n",
		     "1:0 2:0 ");
	assert_lines("^v[0-9]\\.", true, true, "v1\nv2.\n v3.\nv4.", "1:0 3:0 ");
	assert_lines("[i-l][0-9][a-b]$", true, false,
		     "K1A\r\nk1ab\n\xe2\x84\xaa"
		     "1b\n",
		     "0:0 2:0 ");
	/* JIT code misses these if the start is optimized (PCRE2 10.42). */
	assert_lines("(x|)\\s*[a-z]\\d", true, true, "a\nx1\n", "1:0 ");
	assert_lines("(?:a|).*[a-f]", true, true, "a\nb\n", "0:0 1:0 ");
	assert_lines("(x|)\\s*(?:foo)?\\p{L}", true, true, "x2\n", "0:0 ");
	assert_lines("\\.[ab]{2}|[0-9]{3}", true, true, ".ab\n12\n.a\nx123\n", "0:0 3:1 ");
}

struct counts {
	uint64_t found, counted, before; /* `before`: found one by one, then only counted */
};

static bool count_one(void *ctx, const struct fw_match *match)
{
	struct counts *counts = ctx;

	(void)match;
	counts->found++;
	return true;
}

static bool has_enough(void *ctx)
{
	const struct counts *counts = ctx;

	return counts->found >= counts->before;
}

static void count_more(void *ctx, uint64_t lines)
{
	struct counts *counts = ctx;

	counts->counted += lines;
}

static void test_query__counts_as_many_lines_as_it_finds(void **state)
{
	static const char *const words[] = { "a", "b", "ab", "AB", "\n", "\r\n", " ", "\r" };
	static const char *const queries[] = { "ab", "a", "b\r", "\r" };
	uint64_t counted = 0;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		const char *query_text = queries[pick(4)];
		const struct fw_query_options options = { query_text, strlen(query_text), false,
							  pick(2) != 0 };
		struct counts all = { .before = UINT64_MAX }, some = { .before = pick(4) };
		struct fw_matching matching = { .found = count_one,
						.is_stopped = never,
						.ctx = &all };
		struct fw_matcher *matcher = NULL;
		struct fw_query *query = NULL;
		char text[256] = "";

		for (uint32_t i = pick(60); i > 0; i--)
			strncat(text, words[pick(8)], 4);
		assert_null(fw_query_new(&options, &query));
		assert_null(fw_matcher_new(query, &matcher));
		assert_null(fw_matcher_run(matcher, &matching, text, strlen(text)));
		matching.ctx = &some;
		matching.only_counts = has_enough;
		matching.counted = count_more;
		assert_null(fw_matcher_run(matcher, &matching, text, strlen(text)));
		assert_int_equal(some.found + some.counted, all.found);
		counted += some.counted;
		fw_matcher_free(matcher);
		fw_query_free(query);
	}
	assert_true(counted > 10000);
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
	const struct fw_matching matching = { .found = note,
					      .is_stopped = never,
					      .ctx = &lines };
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
		cmocka_unit_test(test_runs__are_those_that_are_required),
		cmocka_unit_test(test_runs__no_match_does_without),
		cmocka_unit_test(test_runs__are_found_at_every_place),
		cmocka_unit_test(test_query__matches_line_by_line),
		cmocka_unit_test(test_query__counts_as_many_lines_as_it_finds),
		cmocka_unit_test(test_query__refuses_what_is_not_a_query),
		cmocka_unit_test(test_query__each_allocation_fails),
	};

	test_support_uses_all();
	return cmocka_run_group_tests_name("code search", tests, NULL, NULL);
}
