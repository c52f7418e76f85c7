#include "base/out.h"

#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <yyjson.h>

static char written[4096];

static const char *json_of(const char *text, size_t len, bool go_escape)
{
	struct fw_out out;

	fw_out_init(&out, written, sizeof(written));
	out.go_escape = go_escape;
	fw_out_json(&out, text, len);
	fw_out_finish(&out, sizeof(written));
	return written;
}

static void test_out__escapes_what_json_demands_and_nothing_else(void **state)
{
	(void)state;
	assert_string_equal(json_of("a\"b\\c/d", 7, false), "\"a\\\"b\\\\c/d\"");
	assert_string_equal(json_of("\b\f\n\r\t\x01\x1f\x7f", 8, false),
			    "\"\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"");
	assert_string_equal(json_of("\0", 1, false), "\"\\u0000\"");
	assert_string_equal(json_of("<\xe2\x80\xa8>&\xc3\xa9", 8, false),
			    "\"<\xe2\x80\xa8>&\xc3\xa9\"");
}

static void test_out__go_escape_matches_go(void **state)
{
	(void)state;
	assert_string_equal(json_of("<a>&\xe2\x80\xa8\xe2\x80\xa9\xe2\x82\xac", 13, true),
			    "\"\\u003ca\\u003e\\u0026\\u2028\\u2029\xe2\x82\xac\"");
}

/* Every byte at every place around the sixteen that are looked at at once. */
static void test_out__escape_is_found_at_every_position(void **state)
{
	char text[50];

	(void)state;
	for (size_t len = 1; len <= sizeof(text); len++) {
		for (size_t at = 0; at < len; at++) {
			yyjson_doc *doc;
			yyjson_val *root;

			memset(text, 'x', len);
			text[at] = '"';
			json_of(text, len, false);
			assert_int_equal(strlen(written), len + 3);
			doc = yyjson_read(written, strlen(written), 0);
			root = yyjson_doc_get_root(doc);
			assert_true(yyjson_equals_strn(root, text, len));
			yyjson_doc_free(doc);
		}
	}
}

static void test_out__returns_the_complete_length_for_any_capacity(void **state)
{
	static const char text[] = "a \"quoted\" text that is longer than sixteen bytes\n";
	char whole[128], part[128];
	struct fw_out out;
	size_t need;

	(void)state;
	fw_out_init(&out, whole, sizeof(whole));
	fw_out_json(&out, text, sizeof(text) - 1);
	need = fw_out_finish(&out, sizeof(whole));
	for (size_t cap = 0; cap <= need + 1; cap++) {
		memset(part, '#', sizeof(part));
		fw_out_init(&out, cap ? part : NULL, cap);
		fw_out_json(&out, text, sizeof(text) - 1);
		assert_int_equal(fw_out_finish(&out, cap), need);
		if (cap) {
			assert_memory_equal(part, whole, cap - 1);
			assert_int_equal(part[cap - 1], '\0');
		}
		assert_int_equal(part[cap], '#');
	}
}

/* JSON as the standard says it, a byte at a time. */
static size_t reference_of(const char *text, size_t len, char *to)
{
	static const char named[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
	char *at = to;

	*at++ = '"';
	for (size_t i = 0; i < len; i++) {
		const char *found = text[i] ? strchr(named, text[i]) : NULL;

		if (found)
			at += snprintf(at, 7, "\\%c", letters[found - named]);
		else if ((unsigned char)text[i] < 0x20)
			at += snprintf(at, 7, "\\u%04x", (unsigned)text[i]);
		else
			*at++ = text[i];
	}
	*at++ = '"';
	return (size_t)(at - to);
}

/* Texts in which many bytes are escaped, such as JSON inside JSON, are written in steps
 * of sixteen bytes that look beyond their end and write beyond it. */
static void test_out__text_full_of_escapes_is_written_like_a_byte_at_a_time(void **state)
{
	static const char bytes[] = "abc\"\"\"\\\n\x01\x1f\x7f\xc3\xa9{}:,";
	char text[96] = "", wanted[6 * sizeof text + 8];
	unsigned random = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t need, cap, len = (random = random * 1103515245 + 12345) >> 16;
		char *exact;
		struct fw_out out;

		len %= sizeof text + 1;
		for (size_t i = 0; i < len; i++) {
			random = random * 1103515245 + 12345;
			text[i] = bytes[(random >> 16) % (round % 3 ? sizeof bytes : 4)];
		}
		need = reference_of(text, len, wanted);
		random = random * 1103515245 + 12345;
		cap = round % 2 ? need + 1 : (random >> 16) % (need + 300) + 1;
		/* A block of its own, so that a sanitizer sees a byte too many. */
		exact = malloc(cap);
		assert_non_null(exact);
		fw_out_init(&out, exact, cap);
		fw_out_json(&out, text, len);
		assert_int_equal(fw_out_finish(&out, cap), need);
		assert_memory_equal(exact, wanted, need < cap ? need : cap - 1);
		free(exact);
	}
}

static const char *number_of(double value)
{
	struct fw_out out;

	fw_out_init(&out, written, sizeof(written));
	fw_out_f64(&out, value);
	fw_out_finish(&out, sizeof(written));
	return written;
}

static void test_out__numbers_read_back_and_are_short(void **state)
{
	(void)state;
	assert_string_equal(number_of(30), "30");
	assert_string_equal(number_of(0.5), "0.5");
	assert_string_equal(number_of(0.1), "0.1");
	assert_string_equal(number_of(-2), "-2");
	assert_true(strtod(number_of(DBL_MAX), NULL) == DBL_MAX);
	assert_true(strtod(number_of(DBL_MIN), NULL) == DBL_MIN);
	assert_string_equal(number_of(1.0 / 0.0), "null");
}

static void test_out__integers_at_their_ends(void **state)
{
	struct fw_out out;

	(void)state;
	fw_out_init(&out, written, sizeof(written));
	fw_out_i64(&out, INT64_MIN);
	FW_OUT(&out, " ");
	fw_out_i64(&out, INT64_MAX);
	FW_OUT(&out, " ");
	fw_out_u64(&out, UINT64_MAX);
	fw_out_finish(&out, sizeof(written));
	assert_string_equal(written,
			    "-9223372036854775808 9223372036854775807 18446744073709551615");
}

static void test_out__plain_texts_are_those_that_are_not_changed(void **state)
{
	char text[70];

	(void)state;
	for (size_t len = 0; len < sizeof(text); len++) {
		memset(text, 'x', sizeof(text));
		assert_true(fw_out_is_plain(text, len));
		for (size_t at = 0; at < len; at++) {
			for (unsigned byte = 0; byte < 256; byte++) {
				bool is_plain = byte >= 0x20 && byte < 0x80 && byte != '"' &&
						byte != '\\';

				text[at] = (char)byte;
				assert_int_equal(fw_out_is_plain(text, len), is_plain);
			}
			text[at] = 'x';
		}
		/* What is after it does not count. */
		text[len] = '"';
		assert_true(fw_out_is_plain(text, len));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_out__escapes_what_json_demands_and_nothing_else),
		cmocka_unit_test(test_out__go_escape_matches_go),
		cmocka_unit_test(test_out__escape_is_found_at_every_position),
		cmocka_unit_test(test_out__returns_the_complete_length_for_any_capacity),
		cmocka_unit_test(
			test_out__text_full_of_escapes_is_written_like_a_byte_at_a_time),
		cmocka_unit_test(test_out__numbers_read_back_and_are_short),
		cmocka_unit_test(test_out__integers_at_their_ends),
		cmocka_unit_test(test_out__plain_texts_are_those_that_are_not_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
