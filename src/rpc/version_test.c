/*
 * version_test.c - protocol versions, and mirrored header values.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "rpc/header.h"
#include "rpc/version.h"

static void test_version__is_found_by_its_exact_name(void **state)
{
	(void)state;
	for (int i = 0; i < FW_V_COUNT; i++)
		assert_int_equal(fw_version_named(fw_version_names[i]), i);
	assert_int_equal(fw_version_named("2024-11-05"), FW_V_NONE);
	assert_int_equal(fw_version_named(""), FW_V_NONE);
	assert_int_equal(fw_version_find((struct fw_text){ "2025-11-25\0", 11 }), FW_V_NONE);
	assert_int_equal(fw_version_find((struct fw_text){ NULL, 0 }), FW_V_NONE);
}

static void test_version__lists_each_version_in_the_list_of_its_era(void **state)
{
	(void)state;
	for (int i = 0; i < FW_V_COUNT; i++) {
		bool is_modern = fw_version_is_modern((enum fw_version)i);

		assert_true(strstr(is_modern ? fw_version_modern_list : fw_version_legacy_list,
				   fw_version_names[i]));
		assert_null(strstr(is_modern ? fw_version_legacy_list : fw_version_modern_list,
				   fw_version_names[i]));
	}
	assert_false(fw_version_is_modern(FW_V_NONE));
	for (int i = 0; i < FW_V_COUNT; i++)
		assert_true(strstr(fw_version_list, fw_version_names[i]));
}

static void assert_decodes(const char *value, const char *expected)
{
	char buf[64];
	size_t len = 0;

	assert_true(fw_header_decode(value, buf, sizeof buf, &len));
	assert_int_equal(len, strlen(expected));
	assert_string_equal(buf, expected);
}

static void test_header__decodes_plain_text_and_base64(void **state)
{
	(void)state;
	assert_decodes("", "");
	assert_decodes("us-west", "us-west");
	assert_decodes("=?base64?aGk=?=", "hi");
	assert_decodes("=?base64?"
		       "?=",
		       "");
	/* Markers that are not complete are plain text. */
	assert_decodes("=?base64?aGk=", "=?base64?aGk=");
	assert_decodes("=?base64?=", "=?base64?=");
}

static void test_header__refuses_what_is_not_text(void **state)
{
	char buf[16];
	size_t len;

	(void)state;
	assert_false(fw_header_decode("a\x01", buf, sizeof buf, &len));
	assert_false(fw_header_decode("a\xc3\xa4", buf, sizeof buf, &len));
	assert_false(fw_header_decode("=?base64?a?=", buf, sizeof buf, &len));
	assert_false(fw_header_decode("=?base64?/w==?=", buf, sizeof buf, &len));
	assert_false(fw_header_decode("longer than the buffer", buf, sizeof buf, &len));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_version__is_found_by_its_exact_name),
		cmocka_unit_test(test_version__lists_each_version_in_the_list_of_its_era),
		cmocka_unit_test(test_header__decodes_plain_text_and_base64),
		cmocka_unit_test(test_header__refuses_what_is_not_text),
	};

	return cmocka_run_group_tests_name("version", tests, NULL, NULL);
}
