/*
 * scan_test.c - the scanner on messages as servers send them, and against yyjson on
 * generated and broken ones.
 */
#include "rpc/scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <yyjson.h>

static enum fw_scan_status scan(const char *text, struct fw_scan *ret_scan)
{
	return fw_slice_scan(text, strlen(text), 32, ret_scan);
}

static void expect_slice(struct fw_slice slice, const char *text)
{
	assert_non_null(slice.p);
	assert_int_equal(slice.n, strlen(text));
	assert_memory_equal(slice.p, text, slice.n);
}

static void test_scan__finds_members_of_a_result(void **state)
{
	struct fw_scan found;

	(void)state;
	assert_int_equal(scan(" {\"jsonrpc\":\"2.0\", \"id\" : 9007199254740993 "
			      ",\"result\":{\"content\":"
			      "[{\"type\":\"text\",\"text\":\"a \\\" b\"}],\"isError\" : true,"
			      "\"structuredContent\":{\"content\":1},\"\\u005fmeta\":{}}}\n",
			      &found),
			 FW_SCAN_OK);
	expect_slice(found.version, "\"2.0\"");
	expect_slice(found.id, "9007199254740993");
	expect_slice(found.content, "[{\"type\":\"text\",\"text\":\"a \\\" b\"}]");
	expect_slice(found.is_error, "true");
	expect_slice(found.structured, "{\"content\":1}");
	expect_slice(found.meta, "{}");
	assert_null(found.error.p);
	assert_null(found.method.p);
	assert_true(fw_slice_is_object(found.result));
}

static void test_scan__finds_members_of_errors_and_notifications(void **state)
{
	struct fw_scan found;
	unsigned long long number;

	(void)state;
	assert_int_equal(scan("{\"error\":{\"code\":-32000,\"message\":\"x\",\"data\":[1]},"
			      "\"id\":\"7\"}",
			      &found),
			 FW_SCAN_OK);
	expect_slice(found.code, "-32000");
	expect_slice(found.message, "\"x\"");
	expect_slice(found.data, "[1]");
	assert_false(fw_slice_u64(found.id, &number));
	assert_int_equal(scan("{\"method\":\"notifications/progress\",\"params\":"
			      "{\"progressToken\":12,\"progress\":1}}",
			      &found),
			 FW_SCAN_OK);
	assert_true(fw_slice_equals(found.method, "notifications/progress"));
	assert_true(fw_slice_u64(found.token, &number));
	assert_int_equal(number, 12);
}

static void test_scan__tells_cut_text_from_other_text(void **state)
{
	static const char whole[] = "{\"id\":1,\"result\":{\"a\":[true,null,-1.5e+3,\"\\ud83d"
				    "\\ude00\\n\"],\"b\":{}}}";
	static const struct {
		const char *text;
		enum fw_scan_status status;
		size_t position;
	} rows[] = {
		{ "Server listening on port 3000", FW_SCAN_NOT_JSON, 0 },
		{ "{\"id\":1} {", FW_SCAN_NOT_JSON, 9 },
		{ "{\"id\":01}", FW_SCAN_NOT_JSON, 7 },
		{ "{\"id\":1,}", FW_SCAN_NOT_JSON, 8 },
		{ "{id:1}", FW_SCAN_NOT_JSON, 1 },
		{ "{\"a\":\"\x01\"}", FW_SCAN_NOT_JSON, 6 },
		{ "{\"a\":\"\\x\"}", FW_SCAN_NOT_JSON, 7 },
		{ "{\"a\":\"\\ud800\"}", FW_SCAN_NOT_JSON, 12 },
		{ "{\"a\":\"\xc3\"}", FW_SCAN_NOT_UTF8, 6 },
		{ "{\"a\":\"\xed\xa0\x80\"}", FW_SCAN_NOT_UTF8, 6 },
		{ "[{\"id\":1}]", FW_SCAN_NOT_OBJECT, 10 },
		{ "7", FW_SCAN_NOT_OBJECT, 1 },
		{ "", FW_SCAN_CUT, 0 },
		{ "{\"id\":1,\"id\":2}", FW_SCAN_AMBIGUOUS, 15 },
		{ "{\"result\":{\"isError\":false,\"isError\":true}}", FW_SCAN_AMBIGUOUS, 43 },
	};
	struct fw_scan found;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_int_equal(scan(rows[i].text, &found), rows[i].status);
		assert_int_equal(found.position, rows[i].position);
	}
	assert_int_equal(scan(whole, &found), FW_SCAN_OK);
	for (size_t len = 0; len < sizeof whole - 1; len++) {
		assert_int_equal(fw_slice_scan(whole, len, 32, &found), FW_SCAN_CUT);
		assert_int_equal(found.position, len);
		if (len > 8)
			expect_slice(found.id, "1");
	}
}

static void test_scan__escape_behind_a_broken_character_in_a_key(void **state)
{
	struct fw_scan found;

	(void)state;
	/* The backslash was taken for the second byte of a character, and the next one for the
	 * start of an escape that does not exist. */
	assert_int_equal(scan("{\"\\\\\xdd\\\\\xfez\":1}", &found), FW_SCAN_NOT_UTF8);
}

static void expect_blocks(const char *content, enum fw_scan_blocks blocks)
{
	char text[512];
	struct fw_scan found;

	snprintf(text, sizeof text, "{\"id\":1,\"result\":{\"content\":%s}}", content);
	assert_int_equal(scan(text, &found), FW_SCAN_OK);
	expect_slice(found.content, content);
	assert_int_equal(found.blocks, blocks);
}

static void test_scan__judges_blocks_of_content(void **state)
{
	(void)state;
	expect_blocks("[]", FW_BLOCKS_OK);
	expect_blocks("[ ]", FW_BLOCKS_OK);
	expect_blocks("{}", FW_BLOCKS_OK); /* not an array: judged by who reads it */
	expect_blocks("[{\"type\":\"text\",\"text\":\"x\"} , {\"type\":\"later\"}]",
		      FW_BLOCKS_OK);
	expect_blocks("[{\"type\":\"image\",\"data\":\"\",\"mimeType\":\"image/png\"}]",
		      FW_BLOCKS_OK);
	expect_blocks("[{\"type\":\"image\",\"data\":{}}]", FW_BLOCKS_NO_DATA);
	expect_blocks("[{\"type\":\"audio\"}]", FW_BLOCKS_NO_DATA);
	expect_blocks("[{\"type\":\"resource\",\"resource\":{}}]", FW_BLOCKS_OK);
	expect_blocks("[{\"type\":\"resource\",\"resource\":1}]", FW_BLOCKS_NO_RESOURCE);
	expect_blocks("[{\"type\":\"resource_link\",\"uri\":\"a:b\"}]", FW_BLOCKS_OK);
	expect_blocks("[{\"type\":\"resource_link\"}]", FW_BLOCKS_NO_URI);
	expect_blocks("[{\"text\":\"x\",\"a\":[{}],\"t\\u0079pe\":\"text\"}]", FW_BLOCKS_OK);
	expect_blocks("[{\"type\":\"text\",\"text\":\"x\",\"text\":1}]", FW_BLOCKS_OK);
	expect_blocks("[1]", FW_BLOCKS_NOT_OBJECT);
	expect_blocks("[[{\"type\":\"text\"}]]", FW_BLOCKS_NOT_OBJECT);
	expect_blocks("[{}]", FW_BLOCKS_NO_TYPE);
	expect_blocks("[{\"type\":1}]", FW_BLOCKS_NO_TYPE);
	expect_blocks("[{\"type\":\"text\"}]", FW_BLOCKS_NO_TEXT);
	expect_blocks("[{\"type\":\"text\",\"text\":null},1]", FW_BLOCKS_NO_TEXT);
}

static void test_scan__limits_nesting(void **state)
{
	char text[3000];
	struct fw_scan found;

	(void)state;
	memset(text, '[', 1000);
	memset(text + 1000, ']', 1000);
	assert_int_equal(fw_slice_scan(text, 2000, 1000, &found), FW_SCAN_NOT_OBJECT);
	assert_int_equal(fw_slice_scan(text, 2000, 999, &found), FW_SCAN_TOO_DEEP);
	memset(text, '[', 1500);
	memset(text + 1500, ']', 1500);
	assert_int_equal(fw_slice_scan(text, 3000, 9999, &found), FW_SCAN_TOO_DEEP);
	assert_int_equal(fw_slice_scan("{\"result\":{\"a\":{}}}", 19, 3, &found), FW_SCAN_OK);
	assert_int_equal(fw_slice_scan("{\"result\":{\"a\":{}}}", 19, 2, &found),
			 FW_SCAN_TOO_DEEP);
}

static void test_slice__decodes_text(void **state)
{
	static const char json[] = "\"\\u00e4\\n\xc3\xa9\\ud83d\\ude00z\"";
	const struct fw_slice slice = { json, sizeof json - 1 };
	char text[16];

	(void)state;
	assert_int_equal(fw_slice_text(slice, text, sizeof text), 10);
	assert_string_equal(text, "\xc3\xa4\n\xc3\xa9\xf0\x9f\x98\x80z");
	assert_int_equal(fw_slice_text(slice, text, 5), 10);
	assert_string_equal(text, "\xc3\xa4\n");
	assert_int_equal(fw_slice_text(slice, NULL, 0), 10);
	assert_int_equal(fw_slice_text((struct fw_slice){ "12", 2 }, text, 5), 0);
}

static void test_slice__repairs_halves_of_surrogate_pairs(void **state)
{
	static const char *const texts[][2] = {
		{ "\"\\ud83d\"", "\"\\ufffd\"" },
		{ "\"\\ud83d\\ude00\\uDE00\"", "\"\\ud83d\\ude00\\ufffd\"" },
		{ "\"\\ud83d\\ud83d\\ude00\"", "\"\\ufffd\\ud83d\\ude00\"" },
		{ "\"\\udcff.txt\\u00e4\\\\ud83d\"", "\"\\ufffd.txt\\u00e4\\\\ud83d\"" },
		{ "\\ud83d\\ude0", "\\ufffd\\ude0" },
		{ "\"\\ud83d\\ude00\"", NULL },
		{ "\"\\\\ud83d\"", NULL },
		{ "\\ud83", NULL },
		{ "\\", NULL },
		{ "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		const char *wanted = texts[i][1] ? texts[i][1] : texts[i][0];
		size_t len = strlen(texts[i][0]);
		char *text = strdup(texts[i][0]);

		assert_non_null(text);
		assert_int_equal(fw_slice_repair(text, len), texts[i][1] != NULL);
		assert_memory_equal(text, wanted, len);
		free(text);
	}
}

static void test_scan__walks_containers(void **state)
{
	static const char json[] = "{ \"a\" : [ 1 , 2 ] , \"b\":\"x\",\"a\":3 }";
	struct fw_scan_member members[] = { { .name = "a" }, { .name = "b" }, { .name = "c" } };
	struct fw_slice key, value;
	const char *at = NULL;
	unsigned count = 0;

	(void)state;
	assert_true(fw_slice_members((struct fw_slice){ json, sizeof json - 1 }, members, 3));
	expect_slice(members[0].value, "[ 1 , 2 ]");
	expect_slice(members[1].value, "\"x\"");
	assert_null(members[2].value.p);
	while (fw_slice_next(members[0].value, &at, &key, &value)) {
		assert_null(key.p);
		count++;
	}
	assert_int_equal(count, 2);
	assert_false(fw_slice_members(members[1].value, members, 3));
	at = NULL;
	assert_false(fw_slice_next((struct fw_slice){ "{ }", 3 }, &at, &key, &value));
}

/* ---- against yyjson ---------------------------------------------------------- */

static uint64_t seed = 20260728;

static uint32_t next_random(uint32_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(seed >> 33) % below;
}

struct made {
	char text[8192];
	size_t len;
};

static void put(struct made *made, const char *text)
{
	size_t len = strlen(text);

	if (len < sizeof made->text - made->len) {
		memcpy(made->text + made->len, text, len + 1);
		made->len += len;
	}
}

static void put_value(struct made *made, unsigned depth)
{
	static const char *const scalars[] = {
		"0",
		"-1",
		"1.5",
		"2e9",
		"-0.1E-2",
		"true",
		"false",
		"null",
		"\"\"",
		"\"a\"",
		"\"\\u00e9\\n\"",
		"\"\xe2\x82\xac\"",
		"\"0123456789abcdef0123456789\\\"abcdef\"",
		"\"\\ud83d\\ude00\"",
		"12345678901234567890",
	};
	static const char *const keys[] = { "\"id\"",      "\"result\"",   "\"error\"",
					    "\"code\"",    "\"x\"",        "\"isError\"",
					    "\"content\"", "\"\\u0069d\"", "\"method\"" };
	uint32_t kind = depth ? next_random(4) : 0;
	uint32_t count = next_random(4);

	if (kind < 2) {
		put(made, scalars[next_random(sizeof scalars / sizeof *scalars)]);
		return;
	}
	put(made, kind == 2 ? "{" : "[");
	for (uint32_t i = 0; i < count; i++) {
		put(made, i ? (next_random(2) ? "," : " ,\t") : "");
		if (kind == 2) {
			put(made, keys[next_random(sizeof keys / sizeof *keys)]);
			put(made, next_random(2) ? ":" : " : ");
		}
		put_value(made, depth - 1);
	}
	put(made, kind == 2 ? "}" : "]");
}

static void spoil(struct made *made)
{
	static const char bytes[] = "{}[],:\"\\0-e.tfn u\x80\xc3\xff\x1f";
	size_t at = next_random((uint32_t)made->len);

	switch (next_random(3)) {
	case 0: made->text[at] = bytes[next_random(sizeof bytes - 1)]; break;
	case 1: made->len = at; break;
	default: memmove(made->text + at, made->text + at + 1, made->len - at - 1); made->len--;
	}
}

/* What yyjson accepts we accept, and nothing else; and both see the same members. */
static void compare(const struct made *made)
{
	yyjson_doc *doc = yyjson_read(made->text, made->len, YYJSON_READ_NUMBER_AS_RAW);
	yyjson_val *root = yyjson_doc_get_root(doc);
	struct fw_scan found;
	enum fw_scan_status status = fw_slice_scan(made->text, made->len, 64, &found);
	bool is_valid = status == FW_SCAN_OK || status == FW_SCAN_AMBIGUOUS ||
			status == FW_SCAN_NOT_OBJECT;

	assert_int_equal(is_valid, doc != NULL);
	assert_true(found.position <= made->len);
	if (doc) {
		yyjson_val *result = yyjson_obj_get(root, "result");

		assert_int_equal(yyjson_is_obj(root), status != FW_SCAN_NOT_OBJECT);
		assert_int_equal(yyjson_obj_get(root, "id") != NULL, found.id.p != NULL);
		assert_int_equal(result != NULL, found.result.p != NULL);
		if (!found.is_ambiguous)
			assert_int_equal(yyjson_obj_get(result, "isError") != NULL,
					 found.is_error.p != NULL);
	}
	yyjson_doc_free(doc);
}

static void test_scan__agrees_with_yyjson(void **state)
{
	struct made made;

	(void)state;
	for (unsigned i = 0; i < 60000; i++) {
		made.len = 0;
		made.text[0] = '\0';
		put_value(&made, 5);
		compare(&made);
		for (unsigned n = 0; n < 2 && made.len; n++) {
			spoil(&made);
			compare(&made);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scan__finds_members_of_a_result),
		cmocka_unit_test(test_scan__finds_members_of_errors_and_notifications),
		cmocka_unit_test(test_scan__tells_cut_text_from_other_text),
		cmocka_unit_test(test_scan__escape_behind_a_broken_character_in_a_key),
		cmocka_unit_test(test_scan__judges_blocks_of_content),
		cmocka_unit_test(test_scan__limits_nesting),
		cmocka_unit_test(test_slice__decodes_text),
		cmocka_unit_test(test_slice__repairs_halves_of_surrogate_pairs),
		cmocka_unit_test(test_scan__walks_containers),
		cmocka_unit_test(test_scan__agrees_with_yyjson),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
