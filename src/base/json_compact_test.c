/*
 * Tests of json_compact.c: what it takes it reads as yyjson does, cell by cell; and it takes
 * nothing that yyjson does not.
 */
#include "base/json_compact.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 4096 };

static yyjson_val cells[MOST];
static struct fw_json_span spans[MOST];

/* The text at the end of a block, so that a sanitizer sees a read beyond the padding. */
static char *copy_of(const char *text, size_t len)
{
	char *copy = calloc(1, len + FW_JSON_COMPACT_PADDING);

	assert_non_null(copy);
	memcpy(copy, text, len);
	return copy;
}

static void check_same(const yyjson_val *ours, const yyjson_val *theirs, size_t count,
		       const char *text)
{
	for (size_t i = 0; i < count; i++) {
		unsigned type = (unsigned)(theirs[i].tag & YYJSON_TYPE_MASK);

		if (ours[i].tag != theirs[i].tag)
			fail_msg("cell %zu of %s: tag %llx, not %llx", i, text,
				 (unsigned long long)ours[i].tag,
				 (unsigned long long)theirs[i].tag);
		if (type == YYJSON_TYPE_STR || type == YYJSON_TYPE_RAW)
			assert_memory_equal(ours[i].uni.str, theirs[i].uni.str,
					    (size_t)(theirs[i].tag >> YYJSON_TAG_BIT) + 1);
		else if (type == YYJSON_TYPE_OBJ || type == YYJSON_TYPE_ARR)
			assert_int_equal(ours[i].uni.ofs, theirs[i].uni.ofs);
	}
}

/* Whether the text is taken; compared with yyjson if it is. */
static bool takes(const char *text, size_t len, size_t most)
{
	struct fw_json_compact json = { cells, spans, most, 0 };
	char *ours = copy_of(text, len), *theirs;
	bool is_taken = fw_json_compact_read(ours, len, &json);
	yyjson_doc *doc;

	if (!is_taken) {
		free(ours);
		return false;
	}
	theirs = copy_of(text, len);
	doc = yyjson_read_opts(theirs, len, YYJSON_READ_INSITU | YYJSON_READ_NUMBER_AS_RAW,
			       NULL, NULL);
	if (!doc)
		fail_msg("not JSON: %.*s", (int)len, text);
	check_same(cells, yyjson_doc_get_root(doc), yyjson_doc_get_val_count(doc), text);
	for (size_t i = 0; i < yyjson_doc_get_val_count(doc); i++) {
		unsigned type = (unsigned)(cells[i].tag & YYJSON_TYPE_MASK);

		if (type != YYJSON_TYPE_OBJ && type != YYJSON_TYPE_ARR)
			continue;
		assert_int_equal(text[spans[i].begin], type == YYJSON_TYPE_OBJ ? '{' : '[');
		assert_int_equal(text[spans[i].end - 1], type == YYJSON_TYPE_OBJ ? '}' : ']');
	}
	yyjson_doc_free(doc);
	free(ours);
	free(theirs);
	return true;
}

static bool takes_text(const char *text)
{
	return takes(text, strlen(text), MOST);
}

static void test_json_compact__takes_what_programs_write(void **state)
{
	static const char *const texts[] = {
		"{}",
		"[]",
		"[[],{},[{}]]",
		"{\"a\":1}",
		"{\"a\":-0,\"b\":1.5e+10,\"c\":[true,false,null,\"\"],\"d\":{\"e\":[1,[2]]}}\n",
		"{\"text of sixteen.\":\"and a longer one, which takes more than one lane\"}",
		"{\"a\":\"x\\\"y\\\\z\\/\\b\\f\\n\\r\\t and a tail of more than sixteen "
		"bytes\"}",
		"{\"a\":\"\\n\",\"b\":\"\\n\\n\",\"\\t\":0}",
		"[0.0,10,1E5,1e-5,12345678901234567890123]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		assert_true(takes_text(texts[i]));
}

static void test_json_compact__leaves_the_rest(void **state)
{
	static const char *const texts[] = {
		"",
		"1",
		"\"a\"",
		"{ }",
		"{\"a\": 1}",
		"[1 ]",
		"[01]",
		"[1.]",
		"[.5]",
		"[-]",
		"[1e]",
		"[+1]",
		"[tru]",
		"[nul",
		"{\"a\"}",
		"{\"a\":}",
		"{,}",
		"[1,]",
		"[,1]",
		"{\"a\":1,}",
		"[1}",
		"{\"a\":1]",
		"[",
		"{\"a",
		"[\"a",
		"[\"\\u0041\"]",
		"[\"\\x\"]",
		"[\"\t\"]",
		"[\"\xc3\xa9\"]",
		"[1]x",
		"[\"a\\",
		"[\"a\\\"",
		"{1:2}",
		"[]]",
		"[NaN]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		assert_false(takes_text(texts[i]));
	assert_false(takes("[\"\0\"]", 5, MOST));
}

static void test_json_compact__keeps_to_the_room(void **state)
{
	const char text[] = "{\"a\":[1,2],\"b\":{\"c\":\"d\"}}";

	(void)state;
	for (size_t most = 0; most < 9; most++)
		assert_false(takes(text, sizeof text - 1, most));
	assert_true(takes(text, sizeof text - 1, 9));
}

static void test_json_compact__counts_the_depth(void **state)
{
	struct fw_json_compact json = { cells, spans, MOST, 0 };
	char *text = copy_of("[[],[[1]],2]", 12);

	(void)state;
	assert_true(fw_json_compact_read(text, 12, &json));
	assert_int_equal(json.depth, 3);
	free(text);
}

/* Texts with a few bytes changed: each must be read as yyjson reads it, or left. */
static void test_json_compact__agrees_with_yyjson_on_mutations(void **state)
{
	static const char seed[] =
		"{\"type\":\"CONFLICT\",\"message\":\"a \\\"quoted\\\" "
		"word\\n\",\"n\":[1,-2.5e3,0],"
		"\"data\":{\"a\":[{\"b\":\"c\"},{}],\"t\":true,\"f\":false,\"z\":null}}";
	static const char bytes[] = "{}[]\",:\\ntfu0-1.eE+ \t\n\x7f\x80/";
	char text[sizeof seed];
	uint64_t bits = 7;
	size_t taken = 0;

	(void)state;
	for (int i = 0; i < 60000; i++) {
		size_t len = sizeof seed - 1;

		memcpy(text, seed, sizeof seed);
		for (unsigned change = 0; change <= (bits >> 60) % 3; change++) {
			bits = bits * 6364136223846793005u + 1442695040888963407u;
			text[(bits >> 33) % len] = bytes[(bits >> 20) % (sizeof bytes - 1)];
		}
		bits = bits * 6364136223846793005u + 1442695040888963407u;
		if ((bits >> 40) % 8 == 0)
			len = (bits >> 45) % len;
		taken += takes(text, len, MOST);
	}
	/* Or it would show nothing. */
	assert_in_range(taken, 1000, 50000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_compact__takes_what_programs_write),
		cmocka_unit_test(test_json_compact__leaves_the_rest),
		cmocka_unit_test(test_json_compact__keeps_to_the_room),
		cmocka_unit_test(test_json_compact__counts_the_depth),
		cmocka_unit_test(test_json_compact__agrees_with_yyjson_on_mutations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
