/*
 * Text with a NUL inside is never equal to a C string, nor becomes one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/text.h"

static struct fw_text text(const char *p, size_t n)
{
	return (struct fw_text){ p, n };
}

static void test_text__is_equal_only_in_its_whole_length(void **state)
{
	(void)state;
	assert_true(fw_text_is(text("ping", 4), "ping"));
	assert_false(fw_text_is(text("ping\0xx", 7), "ping"));
	assert_false(fw_text_is(text("ping\0", 5), "ping"));
	assert_false(fw_text_is(text("pin", 3), "ping"));
	assert_false(fw_text_is(text(NULL, 0), ""));
	assert_true(fw_text_is(text("", 0), ""));
}

static void test_text__starts_with_a_known_text(void **state)
{
	(void)state;
	assert_true(fw_text_starts(text("t12", 3), "t"));
	assert_false(fw_text_starts(text("", 0), "t"));
	assert_false(fw_text_starts(text(NULL, 0), ""));
}

static void test_text__becomes_a_C_string_without_a_NUL_alone(void **state)
{
	(void)state;
	assert_string_equal(fw_text_str(text("name", 4)), "name");
	assert_string_equal(fw_text_str(text("", 0)), "");
	assert_null(fw_text_str(text("na\0me", 5)));
	assert_null(fw_text_str(text("\0", 1)));
	assert_null(fw_text_str(text(NULL, 0)));
}

static void test_text__of_a_JSON_value(void **state)
{
	static const char json[] = "[\"a\\u0000b\",5]";
	yyjson_doc *doc = yyjson_read(json, sizeof json - 1, YYJSON_READ_NUMBER_AS_RAW);
	yyjson_val *root = yyjson_doc_get_root(doc);

	(void)state;
	assert_int_equal(fw_text_of(yyjson_arr_get(root, 0)).n, 3);
	assert_true(fw_text_has_nul(fw_text_of(yyjson_arr_get(root, 0))));
	assert_null(fw_text_of(yyjson_arr_get(root, 1)).p);
	assert_int_equal(fw_text_of(yyjson_arr_get(root, 1)).n, 0);
	assert_null(fw_text_str(fw_text_of(yyjson_arr_get(root, 1))));
	assert_null(fw_text_of(NULL).p);
	yyjson_doc_free(doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text__is_equal_only_in_its_whole_length),
		cmocka_unit_test(test_text__starts_with_a_known_text),
		cmocka_unit_test(test_text__becomes_a_C_string_without_a_NUL_alone),
		cmocka_unit_test(test_text__of_a_JSON_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
