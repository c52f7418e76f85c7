/* What is written in one pass, or from generated texts, is what the encoders write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/out.h"
#include "contract/contract_impl.h"
#include "contract/write.h"
#include "core/registry_table.h"

#include <faultwire/faultwire.h>
#include <faultwire/raise.h>

enum { SIZE = 16384 };

static char plain[SIZE], wanted[SIZE], found[SIZE];

static const char *encode(const fw_error *err, fw_contract contract, char *text)
{
	assert_true(fw_error_encode(err, contract, NULL, text, SIZE) < SIZE);
	return text;
}

/* The error in toolerror, escaped as the content of a string. */
static const char *inside_by_two_passes(const fw_error *err)
{
	struct fw_out out;

	encode(err, FW_TOOLERROR, plain);
	fw_out_init(&out, wanted, SIZE);
	fw_out_json_body(&out, plain, strlen(plain));
	assert_true(fw_out_finish(&out, SIZE) < SIZE);
	return wanted;
}

static size_t write_inside(const fw_error *err, size_t cap)
{
	struct fw_out out;

	fw_out_init(&out, found, cap);
	fw_toolerror_write_inside(&out, err);
	return fw_out_finish(&out, cap);
}

/* For any capacity the length is that of the whole. */
static void check_inside(const fw_error *err)
{
	const char *text = inside_by_two_passes(err);
	size_t len = strlen(text);

	assert_int_equal(write_inside(err, SIZE), len);
	assert_string_equal(found, text);
	for (size_t cap = 1; cap < len + 2; cap += 1 + cap / 16) {
		assert_int_equal(write_inside(err, cap), len);
		assert_memory_equal(found, text, len < cap ? len : cap - 1);
	}
}

static void test_inside__equals_two_passes_for_every_code(void **state)
{
	(void)state;
	for (size_t i = 0; i < fw_registry_count(NULL); i++) {
		fw_error *err = fw_row_example(fw_registry_at(NULL, i));

		check_inside(err);
		fw_error_set_retry_after(err, 1.5);
		check_inside(err);
		fw_error_add_i64(err, "retry_after", 3);
		check_inside(err);
		fw_error_free(err);
	}
}

static void test_inside__texts_that_are_escaped_twice(void **state)
{
	static const char *const texts[] = { "say \"x\"", "a\\b",
					     "two\nlines\tand \x01 and \x1f", "\"\\\"\\\"",
					     "<&>\xe2\x80\xa8" };

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		fw_error *err = fw_raise_tool_failed(texts[i]);

		check_inside(err);
		fw_error_add_string(err, "value", texts[i]);
		fw_error_add_string(err, texts[i], "value");
		check_inside(err);
		fw_error_free(err);
	}
}

static void test_inside__fields_of_every_type(void **state)
{
	fw_error *err = fw_raise_tool_failed("plain, \xc3\xa4 & <>");

	(void)state;
	fw_error_add_string(err, "path", "src/main.c");
	fw_error_add_i64(err, "line", -3);
	fw_error_add_u64(err, "size", UINT64_MAX);
	fw_error_add_f64(err, "share", 0.25);
	fw_error_add_bool(err, "is_last", true);
	fw_error_add_json(err, "list", "[\"a\\\"b\",{\"c\":\"\\\\\"}]", 19);
	check_inside(err);
	fw_error_free(err);
}

/* With a title and a hint of its own, which are those of its row, an error is written
 * without the generated texts. */
static void test_canonical__generated_texts_are_what_the_encoder_writes(void **state)
{
	(void)state;
	for (size_t i = 0; i < fw_registry_count(NULL); i++) {
		const fw_row *row = fw_registry_at(NULL, i);
		fw_error *err = fw_row_example(row);

		encode(err, FW_CANONICAL, wanted);
		fw__error_set_own(err, FW_SLOT_TITLE, row->title, strlen(row->title));
		if (!err->slots[FW_SLOT_HINT].p)
			fw__error_set_own(err, FW_SLOT_HINT, row->hint, strlen(row->hint));
		assert_string_equal(encode(err, FW_CANONICAL, found), wanted);
		fw_error_free(err);
	}
}

/* The constructors of raise.h take another way than fw_raise_row(). */
static void test_raise__constructors_agree_with_rows(void **state)
{
	const int64_t line = 7;
	fw_error *by_hand =
		fw_raise_input_invalid_line_range("a.c", &line, NULL, "too \"far\"");
	const fw_field fields[] = {
		{ .key = "path", .key_len = 4, .string = "a.c", .string_len = 3 },
		{ .key = "start_line", .key_len = 10, .type = FW_FIELD_I64, .i64 = 7 },
		{ .key = "reason", .key_len = 6, .string = "too \"far\"", .string_len = 9 },
	};
	fw_error *by_row = fw_raise_row(FW_HERE, fw_error_row(by_hand), fields, 3);

	(void)state;
	assert_int_equal(fw_error_code(by_row), FW_INPUT_INVALID_LINE_RANGE);
	encode(by_hand, FW_CANONICAL, wanted);
	assert_string_equal(encode(by_row, FW_CANONICAL, found), wanted);
	fw_error_free(by_hand);
	fw_error_free(by_row);
	by_hand = fw_raise_tool_failed(NULL);
	assert_string_equal(fw_error_message(by_hand), "(null)");
	fw_error_free(by_hand);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inside__equals_two_passes_for_every_code),
		cmocka_unit_test(test_inside__texts_that_are_escaped_twice),
		cmocka_unit_test(test_inside__fields_of_every_type),
		cmocka_unit_test(test_canonical__generated_texts_are_what_the_encoder_writes),
		cmocka_unit_test(test_raise__constructors_agree_with_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
