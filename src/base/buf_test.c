/*
 * The growing buffer: its limit, its sticky state, and memory that fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/out.h"
#include "base/json.h"
#include "test/memory.h"

static void text_is_terminated_after_each_write(void **state)
{
	struct fw_buf buf;

	(void)state;
	fw_buf_init(&buf, 1000);
	assert_null(buf.text);
	FW_BUF(&buf, "ab");
	assert_string_equal(buf.text, "ab");
	fw_buf_put(&buf, "c\0d", 3);
	assert_int_equal(buf.len, 5);
	assert_memory_equal(buf.text, "abc\0d", 6);
	fw_buf_str(&buf, "");
	assert_int_equal(buf.len, 5);
	fw_buf_clear(&buf);
	assert_null(buf.text);
	assert_int_equal(buf.max, 1000);
}

static void a_buffer_takes_exactly_its_limit(void **state)
{
	char text[1000];
	struct fw_buf buf;

	(void)state;
	memset(text, 'x', sizeof text);
	for (size_t max = 1; max < sizeof text; max += 37) {
		fw_buf_init(&buf, max);
		fw_buf_put(&buf, text, max);
		assert_int_equal(buf.state, FW_BUF_OK);
		assert_int_equal(buf.len, max);
		assert_true(buf.cap <= max + 1);
		fw_buf_put(&buf, text, 1);
		assert_int_equal(buf.state, FW_BUF_TOO_LARGE);
		assert_int_equal(buf.len, max);
		fw_buf_clear(&buf);
	}
}

static void after_a_failure_nothing_is_written(void **state)
{
	struct fw_buf buf;

	(void)state;
	fw_buf_init(&buf, 4);
	FW_BUF(&buf, "abc");
	FW_BUF(&buf, "too long");
	assert_int_equal(buf.state, FW_BUF_TOO_LARGE);
	FW_BUF(&buf, "d");
	fw_buf_i64(&buf, 1);
	fw_buf_json_str(&buf, "e");
	assert_string_equal(buf.text, "abc");
	fw_buf_reset(&buf, 0);
	assert_int_equal(buf.state, FW_BUF_OK);
	FW_BUF(&buf, "d");
	assert_string_equal(buf.text, "d");
	fw_buf_clear(&buf);
}

static void reset_keeps_small_memory_only(void **state)
{
	struct fw_buf buf;

	(void)state;
	fw_buf_init(&buf, 100000);
	FW_BUF(&buf, "abc");
	fw_buf_reset(&buf, 4096);
	assert_non_null(buf.text);
	assert_int_equal(buf.len, 0);
	for (int i = 0; i < 5000; i++)
		FW_BUF(&buf, "ab");
	fw_buf_reset(&buf, 4096);
	assert_null(buf.text);
	fw_buf_clear(&buf);
}

static void json_strings_are_escaped_also_when_the_buffer_grows(void **state)
{
	char text[600];
	struct fw_buf buf;

	(void)state;
	memset(text, '\x01', sizeof text);
	fw_buf_init(&buf, 100000);
	fw_buf_json(&buf, text, sizeof text);
	assert_int_equal(buf.len, 2 + 6 * sizeof text);
	assert_memory_equal(buf.text, "\"\\u0001", 7);
	fw_buf_reset(&buf, 0);
	fw_buf_json_str(&buf, "a\"b\\c\n");
	assert_string_equal(buf.text, "\"a\\\"b\\\\c\\n\"");
	fw_buf_clear(&buf);
	/* The text itself fits, its escapes do not. */
	fw_buf_init(&buf, 700);
	fw_buf_json(&buf, text, sizeof text);
	assert_int_equal(buf.state, FW_BUF_TOO_LARGE);
	assert_int_equal(buf.len, 0);
	fw_buf_clear(&buf);
}

static void members_are_separated_by_commas(void **state)
{
	struct fw_buf buf;

	(void)state;
	fw_buf_init(&buf, 100);
	FW_BUF(&buf, "{");
	fw_buf_json_key(&buf, "a");
	fw_buf_i64(&buf, INT64_MIN);
	fw_buf_json_key(&buf, "b");
	fw_buf_f64(&buf, 0.5);
	FW_BUF(&buf, "}");
	assert_string_equal(buf.text, "{\"a\":-9223372036854775808,\"b\":0.5}");
	fw_buf_clear(&buf);
}

static void values_are_written_as_they_were_read(void **state)
{
	static const char json[] = "{\"a\":[1e2,\"x\\u0000y\",null],\"b\":1.0}";
	yyjson_doc *doc = fw_json_read(json, sizeof json - 1, FW_JSON_SMALL,
				       YYJSON_READ_NUMBER_AS_RAW, NULL, NULL);
	yyjson_val *root = yyjson_doc_get_root(doc);
	struct fw_buf buf;

	(void)state;
	fw_buf_init(&buf, 100);
	fw_buf_value(&buf, root);
	assert_string_equal(buf.text, json);
	fw_buf_reset(&buf, 100);
	fw_buf_value(&buf, yyjson_obj_get(root, "b"));
	assert_string_equal(buf.text, "1.0");
	fw_buf_clear(&buf);
	yyjson_doc_free(doc);
}

/* yyjson's own writer is the judge. */
static void check_as_yyjson_writes(const char *json, yyjson_read_flag flags)
{
	yyjson_doc *doc = yyjson_read(json, strlen(json), flags);
	char *expected = yyjson_val_write(yyjson_doc_get_root(doc), 0, NULL);
	struct fw_buf buf;

	assert_non_null(expected);
	fw_buf_init(&buf, 1000);
	FW_BUF(&buf, "before ");
	fw_buf_value(&buf, yyjson_doc_get_root(doc));
	assert_int_equal(buf.state, FW_BUF_OK);
	assert_string_equal(buf.text + 7, expected);
	fw_buf_clear(&buf);
	free(expected);
	yyjson_doc_free(doc);
}

static void values_are_written_as_yyjson_writes_them(void **state)
{
	static const char *const texts[] = {
		"{}",
		"[]",
		"null",
		"\"\\u0000 \\u0012 \\\" \\\\ \\/ \xc3\xa4\"",
		"[true,false,null,[],{},\"\",[[]],{\"\":{}}]",
		"{\"a\":[1,-0,1e5,2.50],\"b\":{\"c\":[{\"d\":18446744073709551615}]},\"a\":2}",
	};
	char deep[2 * 100 + 1] = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		check_as_yyjson_writes(texts[i], YYJSON_READ_NUMBER_AS_RAW);
		check_as_yyjson_writes(texts[i], 0);
	}
	memset(deep, '[', 100);
	memset(deep + 100, ']', 100);
	check_as_yyjson_writes(deep, 0);
}

static void memory_that_fails_sets_the_state(void **state)
{
	static const fw_allocator failing = { test_memory_allocate, test_memory_reallocate,
					      test_memory_release, NULL };
	struct fw_buf buf;

	(void)state;
	fw_allocator_set(&failing);
	test_memory = (struct test_memory){ .fail_at = 2 };
	fw_buf_init(&buf, 100000);
	FW_BUF(&buf, "abc");
	for (int i = 0; i < 300; i++)
		FW_BUF(&buf, "d");
	assert_int_equal(buf.state, FW_BUF_NO_MEMORY);
	assert_memory_equal(buf.text, "abcd", 4);
	fw_buf_clear(&buf);
	assert_int_equal(test_memory.blocks, 0);
	fw_allocator_set(NULL);
}

static void what_does_not_fit_is_written_again_into_more_room(void **state)
{
	struct fw_buf buf;
	struct fw_out out;
	unsigned times = 0;

	(void)state;
	fw_buf_init(&buf, 2000);
	FW_BUF(&buf, "before ");
	for (bool more = fw_buf_open(&buf, 10, &out); more; more = fw_buf_close(&buf, &out)) {
		times++;
		for (int i = 0; i < 600; i++)
			FW_OUT(&out, "x");
	}
	assert_int_equal(times, 2);
	assert_int_equal(buf.len, 607);
	assert_int_equal(strlen(buf.text), 607);
	assert_memory_equal(buf.text, "before xxx", 10);
	/* Beyond the limit of the buffer it ends, too. */
	for (bool more = fw_buf_open(&buf, 10, &out); more; more = fw_buf_close(&buf, &out))
		for (int i = 0; i < 600; i++)
			FW_OUT(&out, "yyy");
	assert_int_equal(buf.state, FW_BUF_TOO_LARGE);
	assert_int_equal(buf.len, 607);
	fw_buf_clear(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_terminated_after_each_write),
		cmocka_unit_test(a_buffer_takes_exactly_its_limit),
		cmocka_unit_test(after_a_failure_nothing_is_written),
		cmocka_unit_test(reset_keeps_small_memory_only),
		cmocka_unit_test(json_strings_are_escaped_also_when_the_buffer_grows),
		cmocka_unit_test(members_are_separated_by_commas),
		cmocka_unit_test(values_are_written_as_they_were_read),
		cmocka_unit_test(values_are_written_as_yyjson_writes_them),
		cmocka_unit_test(memory_that_fails_sets_the_state),
		cmocka_unit_test(what_does_not_fit_is_written_again_into_more_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
