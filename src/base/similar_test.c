#include "base/similar.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static size_t distance(const char *a, const char *b)
{
	return fw_similar_distance(a, strlen(a), b, strlen(b));
}

static void test_similar__counts_typing_mistakes(void **state)
{
	(void)state;
	assert_int_equal(distance("code", "code"), 0);
	assert_int_equal(distance("cod", "code"), 1);
	assert_int_equal(distance("ocde", "code"), 1);
	assert_int_equal(distance("coed", "code"), 1);
	assert_int_equal(distance("cxde", "code"), 1);
	assert_int_equal(distance("start-Line", "start_line"), 0);
	assert_int_equal(distance("", "code"), 4);
}

static void test_similar__a_long_word_is_similar_to_nothing(void **state)
{
	char word[200];

	(void)state;
	memset(word, 'a', sizeof(word));
	assert_int_equal(fw_similar_distance(word, 200, word, 199), 200);
	assert_false(fw_similar_is_meant(200, 200, 199));
}

static void test_similar__few_letters_may_differ(void **state)
{
	(void)state;
	assert_true(fw_similar_is_meant(1, 3, 4));
	assert_false(fw_similar_is_meant(3, 5, 5));
	assert_false(fw_similar_is_meant(1, 1, 1));
	assert_true(fw_similar_is_meant(3, 9, 9));
	assert_false(fw_similar_is_meant(4, 9, 9));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_similar__counts_typing_mistakes),
		cmocka_unit_test(test_similar__a_long_word_is_similar_to_nothing),
		cmocka_unit_test(test_similar__few_letters_may_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
