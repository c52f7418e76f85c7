/*
 * Writing JSON with <faultwire/json.h>.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <faultwire/json.h>

#include "test/memory.h"

static void assert_text(fw_json *json, const char *expected)
{
	size_t len = 0;
	const char *text = fw_json_text(json, &len);

	if (expected) {
		assert_non_null(text);
		assert_string_equal(text, expected);
		assert_int_equal(len, strlen(expected));
	} else {
		assert_null(text);
	}
	fw_json_free(json);
}

static void test_json_write__writes_every_kind_of_value(void **state)
{
	fw_json *json = fw_json_new();

	(void)state;
	fw_json_object(json, NULL);
	fw_json_string(json, "text", "a \"b\"\n");
	fw_json_string_n(json, "part", "abcdef", 3);
	fw_json_string(json, "none", NULL);
	fw_json_i64(json, "small", INT64_MIN);
	fw_json_u64(json, "large", UINT64_MAX);
	fw_json_f64(json, "real", 0.5);
	fw_json_f64(json, "nan", NAN);
	fw_json_bool(json, "yes", true);
	fw_json_array(json, "list");
	fw_json_object(json, NULL);
	fw_json_end(json);
	fw_json_null(json, NULL);
	fw_json_raw(json, NULL, "[1]", 3);
	fw_json_end(json);
	fw_json_object(json, "last");
	fw_json_end(json);
	fw_json_end(json);
	assert_text(json, "{\"text\":\"a \\\"b\\\"\\n\",\"part\":\"abc\",\"none\":null,"
			  "\"small\":-9223372036854775808,\"large\":18446744073709551615,"
			  "\"real\":0.5,\"nan\":null,\"yes\":true,\"list\":[{},null,[1]],"
			  "\"last\":{}}");
}

static void test_json_write__a_scalar_is_a_text(void **state)
{
	fw_json *json = fw_json_new();

	(void)state;
	fw_json_bool(json, NULL, false);
	assert_text(json, "false");
}

static void test_json_write__misuse_has_no_text(void **state)
{
	fw_json *json;

	(void)state;
	assert_text(fw_json_new(), NULL);
	json = fw_json_new(); /* not ended */
	fw_json_object(json, NULL);
	assert_text(json, NULL);
	json = fw_json_new(); /* ended twice */
	fw_json_array(json, NULL);
	fw_json_end(json);
	fw_json_end(json);
	assert_text(json, NULL);
	json = fw_json_new(); /* two roots */
	fw_json_i64(json, NULL, 1);
	fw_json_i64(json, NULL, 2);
	assert_text(json, NULL);
	json = fw_json_new(); /* a member without a key */
	fw_json_object(json, NULL);
	fw_json_i64(json, NULL, 1);
	fw_json_end(json);
	assert_text(json, NULL);
	json = fw_json_new(); /* a key in an array */
	fw_json_array(json, NULL);
	fw_json_i64(json, "key", 1);
	fw_json_end(json);
	assert_text(json, NULL);
	json = fw_json_new(); /* too deep */
	for (int i = 0; i < 65; i++)
		fw_json_array(json, NULL);
	for (int i = 0; i < 65; i++)
		fw_json_end(json);
	assert_text(json, NULL);
	fw_json_i64(NULL, NULL, 1);
	fw_json_end(NULL);
	assert_text(NULL, NULL);
}

static void write_some(void)
{
	fw_json *json = fw_json_new();

	fw_json_array(json, NULL);
	for (int i = 0; i < 200; i++)
		fw_json_string(json, NULL, "some text, so that the buffer has to grow");
	fw_json_end(json);
	if (!test_memory.failed)
		assert_non_null(fw_json_text(json, NULL));
	else
		assert_null(fw_json_text(json, NULL));
	fw_json_free(json);
}

static void test_json_write__survives_every_allocation_failure(void **state)
{
	(void)state;
	each_allocation_fails(write_some);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_write__writes_every_kind_of_value),
		cmocka_unit_test(test_json_write__a_scalar_is_a_text),
		cmocka_unit_test(test_json_write__misuse_has_no_text),
		cmocka_unit_test(test_json_write__survives_every_allocation_failure),
	};

	return cmocka_run_group_tests_name("json_write", tests, NULL, NULL);
}
