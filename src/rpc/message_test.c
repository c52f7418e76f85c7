/*
 * message_test.c - reading and classifying JSON-RPC messages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <faultwire/faultwire.h>

#include "rpc/message.h"

enum { BYTES = 4096, DEPTH = 8 };

static char pool[16 * 1024];

static fw_error *parse_n(const char *text, size_t len, yyjson_doc **ret_doc)
{
	const struct fw_message_limits limits = { BYTES, DEPTH, pool, sizeof pool };

	return fw_message_parse(text, len, &limits, ret_doc);
}

static yyjson_doc *parse(const char *text)
{
	yyjson_doc *doc = NULL;

	assert_null(parse_n(text, strlen(text), &doc));
	return doc;
}

static void assert_code(fw_error *err, fw_code code)
{
	assert_non_null(err);
	assert_int_equal(fw_error_code(err), code);
	fw_error_free(err);
}

/* Reads a message that is valid. */
static struct fw_message read_valid(yyjson_doc *doc, struct fw_message_id *id)
{
	struct fw_message message;

	assert_null(fw_message_read(yyjson_doc_get_root(doc), &message, id));
	return message;
}

static void assert_invalid(const char *text, fw_code code)
{
	yyjson_doc *doc = parse(text);
	struct fw_message message;
	struct fw_message_id id;

	assert_code(fw_message_read(yyjson_doc_get_root(doc), &message, &id), code);
	yyjson_doc_free(doc);
}

static void test_read__classifies_requests_notifications_and_responses(void **state)
{
	struct fw_message_id id;
	yyjson_doc *doc = parse("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
	struct fw_message message = read_valid(doc, &id);

	(void)state;
	assert_int_equal(message.kind, FW_MESSAGE_REQUEST);
	assert_string_equal(message.method, "ping");
	yyjson_doc_free(doc);
	doc = parse("{\"jsonrpc\":\"2.0\",\"method\":\"a/b\",\"params\":{\"_meta\":{}}}");
	message = read_valid(doc, &id);
	assert_int_equal(message.kind, FW_MESSAGE_NOTIFICATION);
	assert_int_equal(id.len, 0);
	assert_non_null(message.params);
	assert_non_null(message.meta);
	yyjson_doc_free(doc);
	doc = parse("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}");
	message = read_valid(doc, &id);
	assert_int_equal(message.kind, FW_MESSAGE_RESPONSE);
	assert_non_null(message.result);
	assert_null(message.method);
	yyjson_doc_free(doc);
	doc = parse("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{}}");
	message = read_valid(doc, &id);
	assert_int_equal(message.kind, FW_MESSAGE_RESPONSE);
	assert_non_null(message.error);
	yyjson_doc_free(doc);
}

static void test_read__keeps_the_digits_of_a_large_id(void **state)
{
	yyjson_doc *doc =
		parse("{\"jsonrpc\":\"2.0\",\"id\":9007199254740993,\"method\":\"ping\"}");
	struct fw_message_id id;

	(void)state;
	(void)read_valid(doc, &id);
	assert_int_equal(id.len, 16);
	assert_memory_equal(id.text, "9007199254740993", 16);
	yyjson_doc_free(doc);
}

static void test_read__escapes_a_string_id_again(void **state)
{
	yyjson_doc *doc =
		parse("{\"jsonrpc\":\"2.0\",\"id\":\"a\\u0022\\u0000\",\"method\":\"ping\"}");
	struct fw_message_id id;

	(void)state;
	(void)read_valid(doc, &id);
	assert_int_equal(id.len, strlen("\"a\\\"\\u0000\""));
	assert_memory_equal(id.text, "\"a\\\"\\u0000\"", id.len);
	yyjson_doc_free(doc);
}

static void test_read__refuses_ids_that_are_not_strings_or_integers(void **state)
{
	(void)state;
	assert_invalid("{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}",
		       FW_PROTOCOL_INVALID_REQUEST);
	assert_invalid("{\"jsonrpc\":\"2.0\",\"id\":1e3,\"method\":\"ping\"}",
		       FW_PROTOCOL_INVALID_REQUEST);
	assert_invalid("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
		       FW_PROTOCOL_INVALID_REQUEST);
	assert_invalid("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
		       FW_PROTOCOL_INVALID_REQUEST);
}

static void test_read__refuses_an_id_that_is_too_long(void **state)
{
	char text[BYTES];
	char digits[FW_LIMIT_ID_BYTES + 2];

	(void)state;
	memset(digits, '7', sizeof digits);
	digits[sizeof digits - 1] = '\0';
	(void)snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}",
		       digits);
	assert_invalid(text, FW_PROTOCOL_INVALID_REQUEST);
	(void)snprintf(text, sizeof text,
		       "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"ping\"}", digits);
	assert_invalid(text, FW_PROTOCOL_INVALID_REQUEST);
}

static void test_read__refuses_other_shapes(void **state)
{
	(void)state;
	assert_invalid("1", FW_PROTOCOL_INVALID_REQUEST);
	assert_invalid("{}", FW_PROTOCOL_INVALID_REQUEST);
	assert_invalid("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
		       FW_PROTOCOL_INVALID_REQUEST);
	assert_invalid("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}",
		       FW_PROTOCOL_INVALID_REQUEST);
	assert_invalid("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\\u0000\"}",
		       FW_PROTOCOL_INVALID_REQUEST);
	assert_invalid("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}",
		       FW_PROTOCOL_INVALID_PARAMS);
	assert_invalid(
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"_meta\":1}}",
		FW_PROTOCOL_INVALID_PARAMS);
}

static void test_read__keeps_id_and_method_of_an_invalid_request(void **state)
{
	yyjson_doc *doc =
		parse("{\"jsonrpc\":\"2.0\",\"id\":12,\"method\":\"ping\",\"params\":1}");
	struct fw_message message;
	struct fw_message_id id;

	(void)state;
	assert_code(fw_message_read(yyjson_doc_get_root(doc), &message, &id),
		    FW_PROTOCOL_INVALID_PARAMS);
	assert_int_equal(id.len, 2);
	assert_string_equal(message.method, "ping");
	assert_null(message.params);
	yyjson_doc_free(doc);
}

static void test_parse__enforces_size_depth_and_encoding(void **state)
{
	char text[BYTES + 2];
	yyjson_doc *doc = NULL;

	(void)state;
	memset(text, ' ', sizeof text);
	assert_code(parse_n(text, sizeof text, &doc), FW_INPUT_TOO_LARGE);
	assert_code(parse_n("[[[[[[[[[0]]]]]]]]]", 19, &doc), FW_INPUT_TOO_DEEP);
	assert_code(parse_n("\"a\xff\"", 4, &doc), FW_INPUT_INVALID_ENCODING);
	assert_code(parse_n("{", 1, &doc), FW_PROTOCOL_PARSE_ERROR);
	assert_code(parse_n("", 0, &doc), FW_PROTOCOL_PARSE_ERROR);
	assert_null(doc);
}

static void test_parse__uses_the_heap_beyond_the_pool(void **state)
{
	char text[BYTES];
	yyjson_doc *doc = NULL;

	(void)state;
	memset(text, 'a', sizeof text);
	text[0] = text[sizeof text - 1] = '"';
	assert_null(parse_n(text, sizeof text, &doc));
	assert_int_equal(yyjson_get_len(yyjson_doc_get_root(doc)), sizeof text - 2);
	yyjson_doc_free(doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read__classifies_requests_notifications_and_responses),
		cmocka_unit_test(test_read__keeps_the_digits_of_a_large_id),
		cmocka_unit_test(test_read__escapes_a_string_id_again),
		cmocka_unit_test(test_read__refuses_ids_that_are_not_strings_or_integers),
		cmocka_unit_test(test_read__refuses_an_id_that_is_too_long),
		cmocka_unit_test(test_read__refuses_other_shapes),
		cmocka_unit_test(test_read__keeps_id_and_method_of_an_invalid_request),
		cmocka_unit_test(test_parse__enforces_size_depth_and_encoding),
		cmocka_unit_test(test_parse__uses_the_heap_beyond_the_pool),
	};

	return cmocka_run_group_tests_name("message", tests, NULL, NULL);
}
