#include "tools/context/test_support.h"

#include <locale.h>
#include <math.h>

#include "base/limits.h"
#include "tools/context/query.h"
#include "tools/context/result.h"
#include "tools/context/words.h"

/* ---- scores ---- */

static void assert_score(float score, const char *expected)
{
	char text[FW_CONTEXT_SCORE_SIZE];

	assert_int_equal(fw_context_score_text(score, text), strlen(expected));
	assert_string_equal(text, expected);
}

static void test_score__is_the_shortest_text_that_reads_back(void **state)
{
	(void)state;
	assert_score(0, "0.0");
	assert_score(1, "1.0");
	assert_score(0.75f, "0.75");
	assert_score(1.0f / 3, "0.33333334");
	assert_score(2.0f / 3, "0.6666667");
	assert_score(1.0f / 7, "0.14285715");
	assert_score(0.1f, "0.1");
	assert_score(1.0f / 1024, "0.0009765625");
	assert_score(1.0f / 100000, "0.00001");
	assert_score(1.0f / 1000000, "0.000001");
	assert_score(1.0f / 3000000, "3.3333333e-7");
	assert_score(1.0f / 10000000, "1e-7");
	assert_score(0x1p-24f, "5.9604645e-8");
}

static size_t digits_of(const char *text)
{
	const char *end = text + strcspn(text, "e");
	size_t count = 0;

	for (; text < end; text++)
		count += *text != '.' && (count > 0 || *text != '0');
	return count;
}

/* No number with fewer digits reads back: tries the two nearest of each length. */
static void assert_shortest(float score)
{
	char text[FW_CONTEXT_SCORE_SIZE], other[64];
	size_t digits;

	(void)fw_context_score_text(score, text);
	if (strtof(text, NULL) != score)
		fail_msg("%s is not %.9g", text, (double)score);
	digits = digits_of(text);
	for (int places = 0; places < (int)digits - 1; places++) {
		double step = pow(10, floor(log10((double)score)) - places);

		for (int up = -1; up <= 1; up++) {
			(void)snprintf(other, sizeof other, "%.*e", places,
				       (double)score + up * step);
			if (strtof(other, NULL) == score)
				fail_msg("%s is longer than %s", text, other);
		}
	}
}

static void test_score__no_shorter_text_reads_back(void **state)
{
	(void)state;
	for (unsigned words = 1; words < 160; words++)
		for (unsigned matches = 1; matches < words; matches++)
			assert_shortest((float)matches / (float)words);
	for (int power = 1; power < 40; power++)
		assert_shortest(ldexpf(1, -power));
}

static void test_score__is_the_same_in_every_locale(void **state)
{
	char text[FW_CONTEXT_SCORE_SIZE];

	(void)state;
	/* Without this locale the test passes without testing anything. */
	(void)setlocale(LC_ALL, "de_DE.UTF-8");
	(void)fw_context_score_text(1.0f / 3, text);
	(void)setlocale(LC_ALL, "C");
	assert_string_equal(text, "0.33333334");
}

/* ---- budgets ---- */

static void test_budget__is_a_non_negative_integer(void **state)
{
	static const struct {
		const char *text;
		int64_t value; /* -1: invalid */
	} cases[] = {
		{ "0", 0 },
		{ "-0", 0 },
		{ "0.0", 0 },
		{ "0e9", 0 },
		{ "1", 1 },
		{ "4000", 4000 },
		{ "4000.0", 4000 },
		{ "4e3", 4000 },
		{ "4E+3", 4000 },
		{ "40e-1", 4 },
		{ "0.05e2", 5 },
		{ "1.50e1", 15 },
		{ "9223372036854775807", INT64_MAX },
		{ "9223372036854775808", -1 },
		{ "1e18", INT64_C(1000000000000000000) },
		{ "1e19", -1 },
		{ "1e999999", -1 },
		{ "-1", -1 },
		{ "1.5", -1 },
		{ "0.5", -1 },
		{ "15e-1", -1 },
		{ "", -1 },
		{ "-", -1 },
		{ "+1", -1 },
		{ "01", -1 },
		{ "1.", -1 },
		{ ".5", -1 },
		{ "1e", -1 },
		{ "1e+", -1 },
		{ " 1", -1 },
		{ "1 ", -1 },
		{ "0x10", -1 },
		{ "\"4000\"", -1 },
		{ "null", -1 },
		{ "true", -1 },
		{ "[1]", -1 },
		{ "1,5", -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int64_t value = -1;
		bool is_read =
			fw_context_budget_read(cases[i].text, strlen(cases[i].text), &value);

		if (is_read != (cases[i].value >= 0) || value != cases[i].value)
			fail_msg("%s: %d %lld", cases[i].text, is_read, (long long)value);
	}
}

/* ---- words ---- */

static void assert_words(const char *text, size_t len, const char *expected)
{
	struct fw_context_words words = { 0 };
	struct fw_buf found;
	const char *word;
	size_t word_len;

	fw_buf_init(&found, 4096);
	fw_context_words_start(&words, text, len);
	while (fw_context_words_next(&words, &word, &word_len)) {
		FW_BUF(&found, "<");
		fw_buf_put(&found, word, word_len);
		FW_BUF(&found, ">");
	}
	assert_false(words.failed);
	assert_string_equal(found.text ? found.text : "", expected);
	fw_buf_clear(&found);
	fw_context_words_clear(&words);
}
#define WORDS(text, expected) assert_words(text, sizeof(text) - 1, expected)

static void test_words__are_split_at_white_space_and_lower_case(void **state)
{
	(void)state;
	WORDS("", "");
	WORDS(" \t\r\n\v\f", "");
	WORDS("One, TWO  three.\n", "<one,><two><three.>");
	WORDS("a\xc2\xa0"
	      "b\xc2\x85"
	      "c\xe1\x9a\x80"
	      "d\xe2\x80\x83"
	      "e\xe2\x80\xa8"
	      "f\xe3\x80\x80"
	      "g",
	      "<a><b><c><d><e><f><g>");
	/* Not White_Space: zero width space, word joiner, BOM. */
	WORDS("a\xe2\x80\x8b"
	      "b c\xe2\x81\xa0"
	      "d e\xef\xbb\xbf"
	      "f",
	      "<a\xe2\x80\x8b"
	      "b><c\xe2\x81\xa0"
	      "d><e\xef\xbb\xbf"
	      "f>");
	WORDS("\xc3\x84\xc3\x96\xc3\x9c \xc4\xb0", "<\xc3\xa4\xc3\xb6\xc3\xbc><i\xcc\x87>");
	/* A sigma at the end of a word, and one that is not. */
	WORDS("\xce\x9f\xce\xa3 \xce\xa3\xce\x9f", "<\xce\xbf\xcf\x82><\xcf\x83\xce\xbf>");
	WORDS("\xe1\xba\x9e", "<\xc3\x9f>");
	WORDS("\xf0\x90\x90\x80", "<\xf0\x90\x90\xa8>");
	assert_words("A\0B", 3, "<a");
}

/* ---- queries ---- */

/* Final_Sigma skips case-ignorable characters, such as an apostrophe. */
static void test_words__a_sigma_before_an_apostrophe_does_not_end_its_word(void **state)
{
	(void)state;
	WORDS("\xce\x9f\xce\xa3'\xce\xa3", "<\xce\xbf\xcf\x83'\xcf\x82>");
	WORDS("\xce\x9f\xce\xa3' \xce\xa3", "<\xce\xbf\xcf\x82'><\xcf\x83>");
	WORDS("'\xce\xa3'", "<'\xcf\x83'>");
	WORDS("\xce\x9f\xce\xa3.", "<\xce\xbf\xcf\x82.>");
	WORDS("\xce\x9f\xce\xa3\xcc\x81\xce\x9f", "<\xce\xbf\xcf\x83\xcc\x81\xce\xbf>");
}

static void test_query__a_repeated_term_counts_once(void **state)
{
	struct fw_context_query query;

	(void)state;
	must(fw_context_query_read("Deploy NOW deploy now", 21, &query));
	assert_int_equal(query.term_count, 2);
	assert_memory_equal(query.terms[0].text, "deploy", 6);
	assert_memory_equal(query.terms[1].text, "now", 3);
	assert_true(fw_context_query_has(&query, "now", 3));
	assert_false(fw_context_query_has(&query, "no", 2));
	fw_context_query_clear(&query);
}

static void test_query__empty_is_valid_and_malformed_is_not(void **state)
{
	char *text = calloc(1, FW_LIMIT_CONTEXT_QUERY_BYTES + 1);
	struct fw_context_query query;

	(void)state;
	must(fw_context_query_read("", 0, &query));
	assert_int_equal(query.term_count, 0);
	assert_false(fw_context_query_has(&query, "a", 1));
	fw_context_query_clear(&query);
	assert_string_equal(code_of(fw_context_query_read(NULL, 0, &query)), "invalid_query");
	assert_string_equal(code_of(fw_context_query_read("\xff", 1, &query)), "invalid_query");
	assert_string_equal(code_of(fw_context_query_read("\xed\xa0\x80", 3, &query)),
			    "invalid_query");
	memset(text, 'a', FW_LIMIT_CONTEXT_QUERY_BYTES + 1);
	assert_string_equal(
		code_of(fw_context_query_read(text, FW_LIMIT_CONTEXT_QUERY_BYTES + 1, &query)),
		"invalid_query");
	must(fw_context_query_read(text, FW_LIMIT_CONTEXT_QUERY_BYTES, &query));
	fw_context_query_clear(&query);
	free(text);
}

static bool read_query(void)
{
	struct fw_context_query query;
	fw_error *err = fw_context_query_read("one two \xc3\x84 two", 14, &query);

	if (!err)
		fw_context_query_clear(&query);
	return !strcmp(code_of(err), "none");
}

static void test_query__survives_every_allocation_failure(void **state)
{
	(void)state;
	use_test_memory();
	each_allocation_fails(read_query);
	fw_allocator_set(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_score__is_the_shortest_text_that_reads_back),
		cmocka_unit_test(test_score__no_shorter_text_reads_back),
		cmocka_unit_test(test_score__is_the_same_in_every_locale),
		cmocka_unit_test(test_budget__is_a_non_negative_integer),
		cmocka_unit_test(test_words__are_split_at_white_space_and_lower_case),
		cmocka_unit_test(
			test_words__a_sigma_before_an_apostrophe_does_not_end_its_word),
		cmocka_unit_test(test_query__a_repeated_term_counts_once),
		cmocka_unit_test(test_query__empty_is_valid_and_malformed_is_not),
		cmocka_unit_test(test_query__survives_every_allocation_failure),
	};

	return cmocka_run_group_tests_name("context_query", tests, NULL, NULL);
}
