/*
 * Reading JSON within limits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"

static yyjson_doc *read_text(const char *text, size_t bytes, unsigned depth,
			     yyjson_read_err *err)
{
	const struct fw_json_limits limits = { .bytes = bytes, .depth = depth };

	return fw_json_read(text, strlen(text), limits, 0, NULL, err);
}

static void text_within_the_limits_is_parsed(void **state)
{
	yyjson_doc *doc = read_text("{\"a\":[1,2]}", 11, 2, NULL);

	(void)state;
	assert_non_null(doc);
	assert_int_equal(yyjson_arr_size(yyjson_obj_get(yyjson_doc_get_root(doc), "a")), 2);
	yyjson_doc_free(doc);
}

static void text_over_the_byte_limit_is_refused(void **state)
{
	yyjson_read_err err;

	(void)state;
	assert_null(read_text("[1,2]", 4, 0, &err));
	assert_string_equal(err.msg, "text is too large");
	assert_int_equal(err.pos, 4);
	assert_null(read_text("[1,2]", 4, 0, NULL));
}

static void nesting_over_the_depth_limit_is_refused(void **state)
{
	yyjson_read_err err;
	yyjson_doc *doc;

	(void)state;
	assert_null(read_text("[[[1]]]", 100, 2, &err));
	assert_string_equal(err.msg, "values are nested too deeply");
	doc = read_text("[[[1]]]", 100, 0, &err);
	assert_non_null(doc);
	yyjson_doc_free(doc);
}

static void brackets_in_strings_do_not_count_as_nesting(void **state)
{
	(void)state;
	assert_false(fw_json_is_too_deep("[\"[[[\\\"[[{\"]", 12, 1));
	assert_false(fw_json_is_too_deep("[\"[[[[[\\\"[[[\"]", 14, 1));
	assert_false(fw_json_is_too_deep("[] [] {}", 8, 1));
	assert_true(fw_json_is_too_deep("[] [] {}", 8, 0));
	assert_true(fw_json_is_too_deep("[[0],[0],[0]]", 13, 1));
	assert_false(fw_json_is_too_deep("[[0],[0],[0]]", 13, 2));
	assert_false(fw_json_is_too_deep("]]}", 3, 0));
	assert_false(fw_json_is_too_deep("\"\\", 2, 0));
	assert_false(fw_json_is_too_deep("", 0, 0));
}

/* Strings are skipped in blocks: wherever a quote or an escape is in one. */
static void brackets_after_long_strings_count_as_nesting(void **state)
{
	char text[128];

	(void)state;
	for (size_t len = 0; len < 70; len++) {
		memset(text, '[', sizeof text);
		text[0] = '"';
		text[len + 1] = '"';
		memcpy(text + len + 2, "[[0]]", 5);
		assert_false(fw_json_is_too_deep(text, len + 7, 2));
		assert_true(fw_json_is_too_deep(text, len + 7, 1));
		if (len < 2)
			continue;
		/* The quote is escaped, so the string does not end. */
		text[len] = '\\';
		assert_false(fw_json_is_too_deep(text, len + 7, 1));
		text[len - 1] = '\\';
		assert_true(fw_json_is_too_deep(text, len + 7, 1));
	}
}

static void text_that_is_not_json_is_reported_with_its_place(void **state)
{
	yyjson_read_err err;

	(void)state;
	assert_null(read_text("[1,]", 100, 4, &err));
	assert_int_not_equal(err.code, 0);
	assert_true(err.pos >= 2 && err.pos <= 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_within_the_limits_is_parsed),
		cmocka_unit_test(text_over_the_byte_limit_is_refused),
		cmocka_unit_test(nesting_over_the_depth_limit_is_refused),
		cmocka_unit_test(brackets_in_strings_do_not_count_as_nesting),
		cmocka_unit_test(brackets_after_long_strings_count_as_nesting),
		cmocka_unit_test(text_that_is_not_json_is_reported_with_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
