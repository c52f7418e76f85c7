#include "mcp/empty.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <faultwire/faultwire.h>

/* The empty result that is derived from `schema`, and whether it is valid there. */
static void derives(const char *schema, const char *expected, bool is_valid)
{
	fw_schema *compiled = fw_schema_compile(schema, strlen(schema), NULL, NULL);
	struct fw_buf out;
	char reason[512];

	assert_non_null(compiled);
	fw_buf_init(&out, 1 << 16);
	fw_mcp_derive_empty(schema, &out);
	assert_string_equal(out.text, expected);
	assert_int_equal(fw_mcp_check_empty(compiled, out.text, reason, sizeof(reason)),
			 is_valid);
	fw_buf_clear(&out);
	fw_schema_free(compiled);
}

static void test_empty__has_what_is_required(void **state)
{
	(void)state;
	derives("{\"type\":\"object\"}", "{}", true);
	derives("{\"type\":\"object\",\"properties\":{\"s\":{\"type\":\"string\"},"
		"\"n\":{\"type\":\"integer\",\"minimum\":3},\"f\":{\"type\":\"number\"},"
		"\"b\":{\"type\":\"boolean\"},\"l\":{\"type\":\"array\"},\"optional\":{}},"
		"\"required\":[\"s\",\"n\",\"f\",\"b\",\"l\"]}",
		"{\"s\":\"\",\"n\":3,\"f\":0,\"b\":false,\"l\":[]}", true);
	derives("{\"type\":\"object\",\"properties\":{\"o\":{\"$ref\":\"#/$defs/o\"},"
		"\"e\":{\"enum\":[\"x\",\"y\"]},\"c\":{\"const\":7},"
		"\"z\":{\"type\":[\"string\",\"null\"]},"
		"\"d\":{\"type\":\"string\",\"default\":\"none\"},"
		"\"a\":{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}},"
		"\"required\":[\"o\",\"e\",\"c\",\"z\",\"d\",\"a\"],"
		"\"$defs\":{\"o\":{\"type\":\"object\",\"properties\":{\"p\":{\"type\":"
		"\"string\"}},\"required\":[\"p\"]}}}",
		"{\"o\":{\"p\":\"\"},\"e\":\"x\",\"c\":7,\"z\":null,\"d\":\"none\",\"a\":\"\"}",
		true);
}

static void test_empty__a_schema_may_allow_none(void **state)
{
	(void)state;
	derives("{\"type\":\"object\",\"properties\":{\"s\":{\"type\":\"string\","
		"\"pattern\":\"^x$\"}},\"required\":[\"s\"]}",
		"{\"s\":\"\"}", false);
	derives("{\"type\":\"object\",\"additionalProperties\":false}", "{}", false);
	/* A schema that contains itself ends. */
	derives("{\"type\":\"object\",\"properties\":{\"o\":{\"$ref\":\"#\"}},"
		"\"required\":[\"o\"]}",
		"{\"o\":{\"o\":{\"o\":{\"o\":{\"o\":{\"o\":{\"o\":{\"o\":{}}}}}}}}}", false);
}

static fw_error *never(fw_call *call, void *ctx)
{
	(void)call;
	(void)ctx;
	return NULL;
}

static fw_error *add(const char *output_schema, const char *empty_result)
{
	fw_server_options options = FW_SERVER_OPTIONS_INIT;
	fw_tool tool = FW_TOOL_INIT;
	fw_server *server = NULL;
	fw_error *err;

	options.name = "test";
	options.version = "1";
	assert_null(fw_server_new(&options, &server));
	tool.name = "work";
	tool.handler = never;
	tool.output_schema = output_schema;
	tool.empty_result = empty_result;
	err = fw_server_add_tool(server, &tool);
	fw_server_free(server);
	return err;
}

static void test_empty__one_that_breaks_the_schema_is_refused_at_registration(void **state)
{
	static const char schema[] = "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":"
				     "\"integer\"}},\"required\":[\"n\"]}";
	fw_error *err;

	(void)state;
	assert_null(add(schema, "{\"n\":0}"));
	assert_null(add(schema, NULL));
	err = add(schema, "{\"n\":\"none\"}");
	assert_int_equal(fw_error_code(err), FW_INTERNAL_API_MISUSE);
	assert_non_null(strstr(fw_error_message(err), "at \"/n\" expected integer"));
	fw_error_free(err);
	err = add(schema, "[]");
	assert_non_null(strstr(fw_error_message(err), "must be a JSON object"));
	fw_error_free(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty__has_what_is_required),
		cmocka_unit_test(test_empty__a_schema_may_allow_none),
		cmocka_unit_test(
			test_empty__one_that_breaks_the_schema_is_refused_at_registration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
