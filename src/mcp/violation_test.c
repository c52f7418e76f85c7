#include "mcp/violation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <faultwire/codes.h>

static const char schema_text[] =
	"{\"type\":\"object\",\"properties\":{"
	"\"code\":{\"type\":\"string\"},\"path\":{\"type\":\"string\",\"minLength\":1},"
	"\"plan\":{\"type\":\"string\",\"pattern\":\"^[0-9a-f]{64}$\"},"
	"\"slug\":{\"type\":\"string\",\"pattern\":\"^x(y|z)$\"},"
	"\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":9},"
	"\"note\":{\"type\":[\"string\",\"null\"]},"
	"\"list\":{\"type\":\"array\",\"minItems\":1,\"uniqueItems\":true},"
	"\"step\":{\"type\":\"integer\",\"multipleOf\":5},"
	"\"kind\":{\"enum\":[\"a\",\"b\"]},"
	"\"day\":{\"type\":\"string\",\"format\":\"date\"},"
	"\"either\":{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}]},"
	"\"inner\":{\"type\":\"object\",\"properties\":{\"street\":{}},"
	"\"additionalProperties\":false}},"
	"\"required\":[\"path\"],\"additionalProperties\":false}";

/* Checks that `arguments` are refused with this code and message. */
static void refused(const char *arguments, int code, const char *message)
{
	const fw_schema_options options = { .assert_format = true };
	fw_schema *schema = fw_schema_compile(schema_text, strlen(schema_text), &options, NULL);
	yyjson_doc *doc = yyjson_read(arguments, strlen(arguments), 0);
	fw_error *err;

	assert_non_null(schema);
	assert_non_null(doc);
	err = fw_violation_check(schema, yyjson_doc_get_root(doc), 20);
	assert_non_null(err);
	assert_string_equal(fw_error_message(err), message);
	assert_int_equal(fw_error_code(err), code);
	fw_error_free(err);
	yyjson_doc_free(doc);
	fw_schema_free(schema);
}

static void test_violation__says_what_an_argument_must_be(void **state)
{
	(void)state;
	refused("{\"path\":5}", FW_INPUT_INVALID_TYPE, "path must be a string");
	refused("{\"path\":\"\"}", FW_INPUT_INVALID_VALUE,
		"path must be at least 1 character long");
	refused("{\"path\":\"a\",\"limit\":\"x\"}", FW_INPUT_INVALID_TYPE,
		"limit must be an integer");
	refused("{\"path\":\"a\",\"note\":1}", FW_INPUT_INVALID_TYPE,
		"note must be a string or null");
	refused("{\"path\":\"a\",\"either\":[]}", FW_INPUT_INVALID_VALUE,
		"either must be a string or an integer");
	refused("{\"path\":\"a\",\"limit\":0}", FW_INPUT_INVALID_VALUE,
		"limit must be at least 1");
	refused("{\"path\":\"a\",\"limit\":10}", FW_INPUT_INVALID_VALUE,
		"limit must be at most 9");
	refused("{\"path\":\"a\",\"step\":3}", FW_INPUT_INVALID_VALUE,
		"step must be a multiple of 5");
	refused("{\"path\":\"a\",\"list\":[]}", FW_INPUT_INVALID_VALUE,
		"list must be a list of at least 1 item");
	refused("{\"path\":\"a\",\"list\":[1,1]}", FW_INPUT_INVALID_VALUE,
		"list must be a list of items that all differ");
	refused("{\"path\":\"a\",\"kind\":\"c\"}", FW_INPUT_INVALID_VALUE,
		"kind must be one of \"a\", \"b\"");
	refused("{\"path\":\"a\",\"day\":\"monday\"}", FW_INPUT_INVALID_FORMAT,
		"day must be in the format date");
}

static void test_violation__a_pattern_is_put_in_words(void **state)
{
	char words[100];

	(void)state;
	refused("{\"path\":\"a\",\"plan\":\"x\"}", FW_INPUT_INVALID_FORMAT,
		"plan must be 64 lower-case hexadecimal digits");
	refused("{\"path\":\"a\",\"slug\":\"x\"}", FW_INPUT_INVALID_FORMAT,
		"slug must be text that matches ^x(y|z)$");
	fw_violation_words("pattern", "match of ^[0-9]+$", words, sizeof(words));
	assert_string_equal(words, "one or more digits");
	fw_violation_words("pattern", "match of ^[0-9]{1,3}$", words, sizeof(words));
	assert_string_equal(words, "text that matches ^[0-9]{1,3}$");
	fw_violation_words("type", "object, array or string", words, 8);
	assert_string_equal(words, "an obje");
}

static void test_violation__an_unknown_argument_gets_a_suggestion(void **state)
{
	(void)state;
	refused("{\"path\":\"a\",\"cod\":1}", FW_INPUT_INVALID_VALUE,
		"unknown argument \"cod\"; did you mean \"code\"?");
	refused("{\"path\":\"a\",\"zebra\":1}", FW_INPUT_INVALID_VALUE,
		"unknown argument \"zebra\"");
	refused("{\"path\":\"a\",\"inner\":{\"stret\":1}}", FW_INPUT_INVALID_VALUE,
		"unknown argument \"inner/stret\"; did you mean \"street\"?");
}

static void test_violation__what_is_missing_comes_first(void **state)
{
	(void)state;
	refused("{\"cod\":1,\"limit\":\"x\"}", FW_INPUT_MISSING_FIELD,
		"required field path is missing");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_violation__says_what_an_argument_must_be),
		cmocka_unit_test(test_violation__a_pattern_is_put_in_words),
		cmocka_unit_test(test_violation__an_unknown_argument_gets_a_suggestion),
		cmocka_unit_test(test_violation__what_is_missing_comes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
