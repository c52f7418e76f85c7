/*
 * mirror_test.c - annotations of input schemas that are valid or not, and the headers of
 * calls, with the examples of the specification.
 */
#include "rpc/mirror.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rpc/header.h"
#include "test/memory.h"

static const char *fault_of(const char *schema)
{
	yyjson_doc *doc = yyjson_read(schema, strlen(schema), 0);
	struct fw_mirrors mirrors = { .items = NULL };
	const char *fault = NULL;

	assert_non_null(doc);
	assert_null(fw_mirrors_read(yyjson_doc_get_root(doc), &fault, &mirrors));
	fw_mirrors_clear(&mirrors);
	yyjson_doc_free(doc);
	return fault;
}

#define PROPERTY(text) "{\"type\":\"object\",\"properties\":{\"a\":" text "}}"
#define MARK "\"x-mcp-header\":\"A\""

static void test_mirror__accepts_properties_of_the_arguments(void **state)
{
	(void)state;
	assert_null(fault_of("{}"));
	assert_null(fault_of("[]"));
	assert_null(fault_of(PROPERTY("{\"type\":\"string\"," MARK "}")));
	assert_null(fault_of(PROPERTY("{\"type\":\"integer\"," MARK "}")));
	assert_null(fault_of(PROPERTY("{\"type\":\"boolean\"," MARK "}")));
	assert_null(fault_of(PROPERTY(PROPERTY("{\"type\":\"string\"," MARK "}"))));
	/* These are names and values of others, and no annotations. */
	assert_null(fault_of("{\"properties\":{\"x-mcp-header\":{\"type\":\"string\"}}}"));
	assert_null(fault_of("{\"$defs\":{\"x-mcp-header\":{\"type\":\"string\"}}}"));
	assert_null(fault_of(PROPERTY("{\"type\":\"object\",\"default\":{" MARK "}}")));
}

static void test_mirror__finds_annotations_that_are_not_valid(void **state)
{
	static const char *const schemas[] = {
		"{" MARK "}",
		PROPERTY("{\"type\":\"number\"," MARK "}"),
		PROPERTY("{\"type\":\"object\"," MARK "}"),
		PROPERTY("{\"type\":[\"string\",\"null\"]," MARK "}"),
		PROPERTY("{" MARK "}"),
		PROPERTY("{\"type\":\"string\",\"x-mcp-header\":\"\"}"),
		PROPERTY("{\"type\":\"string\",\"x-mcp-header\":\"a b\"}"),
		PROPERTY("{\"type\":\"string\",\"x-mcp-header\":\"a\\r\\nB: c\"}"),
		PROPERTY("{\"type\":\"string\",\"x-mcp-header\":\"a\\u0000\"}"),
		PROPERTY("{\"type\":\"string\",\"x-mcp-header\":\"\\u00e4\"}"),
		PROPERTY("{\"type\":\"string\",\"x-mcp-header\":7}"),
		PROPERTY("{\"type\":\"array\",\"items\":{\"type\":\"string\"," MARK "}}"),
		PROPERTY("{\"anyOf\":[{\"type\":\"string\"," MARK "}]}"),
		PROPERTY("{\"items\":" PROPERTY("{\"type\":\"string\"," MARK "}") "}"),
		"{\"$defs\":{\"d\":{\"type\":\"string\"," MARK "}}}",
		"{\"if\":" PROPERTY("{\"type\":\"string\"," MARK "}") "}",
		"{\"patternProperties\":{\"^a\":{\"type\":\"string\"," MARK "}}}",
		"{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"Same\"},"
		"\"b\":{\"type\":\"string\",\"x-mcp-header\":\"sAME\"}}}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++)
		if (!fault_of(schemas[i]))
			fail_msg("%s", schemas[i]);
}

static void test_mirror__does_not_follow_a_schema_without_end(void **state)
{
	struct fw_buf text;

	(void)state;
	fw_buf_init(&text, 100000);
	for (int i = 0; i < 1000; i++)
		FW_BUF(&text, "{\"items\":");
	FW_BUF(&text, "{" MARK "}");
	for (int i = 0; i < 1000; i++)
		FW_BUF(&text, "}");
	fw_buf_put(&text, "", 1);
	assert_int_equal(text.state, FW_BUF_OK);
	assert_null(fault_of(text.text));
	fw_buf_clear(&text);
}

static const char every_type[] = "{\"type\":\"object\",\"properties\":{"
				 "\"region\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"},"
				 "\"n\":{\"type\":\"integer\",\"x-mcp-header\":\"N\"},"
				 "\"is\":{\"type\":\"boolean\",\"x-mcp-header\":\"Is\"},"
				 "\"a/b~c\":{\"type\":\"object\",\"properties\":{"
				 "\"deep\":{\"type\":\"string\",\"x-mcp-header\":\"Deep\"}}}}}";

/* The headers of a call, joined by "|"; false: memory is short. */
static bool put(const char *arguments, char *ret_text, size_t size)
{
	yyjson_doc *schema = yyjson_read(every_type, sizeof every_type - 1, 0);
	yyjson_doc *doc = yyjson_read(arguments, strlen(arguments), YYJSON_READ_NUMBER_AS_RAW);
	struct fw_mirrors mirrors = { .items = NULL };
	struct fw_mirror_lines lines = { .count = 0 };
	const char *fault = NULL;
	fw_error *err = fw_mirrors_read(yyjson_doc_get_root(schema), &fault, &mirrors);
	bool is_put = !err && fw_mirrors_put(&mirrors, yyjson_doc_get_root(doc), &lines);
	size_t at = 0;

	assert_null(fault);
	ret_text[0] = '\0';
	for (size_t i = 0; is_put && lines.lines[i]; i++)
		at += (size_t)snprintf(ret_text + at, size - at, "%s%s", i ? "|" : "",
				       lines.lines[i]);
	fw_buf_clear(&lines.text);
	fw_mirrors_clear(&mirrors);
	fw_error_free(err);
	yyjson_doc_free(doc);
	yyjson_doc_free(schema);
	return is_put;
}

static void expect(const char *arguments, const char *headers)
{
	char text[512];

	assert_true(put(arguments, text, sizeof text));
	assert_string_equal(text, headers);
}

static void test_mirror__writes_headers_as_the_specification_does(void **state)
{
	(void)state;
	expect("{}", "");
	expect("{\"region\":null,\"n\":{},\"is\":[]}", "");
	expect("{\"region\":\"us-west1\",\"n\":-42,\"is\":true,\"a/b~c\":{\"deep\":\"x\"}}",
	       "Mcp-Param-Region: us-west1|Mcp-Param-N: -42|Mcp-Param-Is: true|"
	       "Mcp-Param-Deep: x");
	expect("{\"is\":false,\"a/b~c\":\"x\"}", "Mcp-Param-Is: false");
	/* libcurl writes "Mcp-Param-Region:" for this. */
	expect("{\"region\":\"\"}", "Mcp-Param-Region;");
	expect("{\"region\":\"Hello, \\u4e16\\u754c\"}",
	       "Mcp-Param-Region: =?base64?SGVsbG8sIOS4lueVjA==?=");
	expect("{\"region\":\" padded \"}", "Mcp-Param-Region: =?base64?IHBhZGRlZCA=?=");
	expect("{\"region\":\"line1\\nline2\"}",
	       "Mcp-Param-Region: =?base64?bGluZTEKbGluZTI=?=");
	expect("{\"region\":\"=?base64?literal?=\"}",
	       "Mcp-Param-Region: =?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
}

static void put_all(void)
{
	char text[512];

	(void)put("{\"region\":\"a\",\"n\":1,\"a/b~c\":{\"deep\":\"\\u00e4\"}}", text,
		  sizeof text);
}

static void test_mirror__survives_every_allocation_failure(void **state)
{
	(void)state;
	each_allocation_fails(put_all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mirror__accepts_properties_of_the_arguments),
		cmocka_unit_test(test_mirror__finds_annotations_that_are_not_valid),
		cmocka_unit_test(test_mirror__does_not_follow_a_schema_without_end),
		cmocka_unit_test(test_mirror__writes_headers_as_the_specification_does),
		cmocka_unit_test(test_mirror__survives_every_allocation_failure),
	};

	return cmocka_run_group_tests_name("mirror", tests, NULL, NULL);
}
