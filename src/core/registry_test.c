/*
 * registry_test.c - looking up the built-in rows.
 */
#include "core/registry_table.h"

#include <faultwire/faultwire.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static int no_error_is_left(void **state)
{
	(void)state;
	assert_int_equal(fw_error_live(), 0);
	return 0;
}

static void test_registry__finds_every_row_by_code_and_number(void **state)
{
	size_t count = fw_registry_count(NULL);

	(void)state;
	assert_int_equal(count, fw__row_count);
	assert_true(count > 100);
	for (size_t i = 0; i < count; i++) {
		const fw_row *row = fw_registry_at(NULL, i);

		assert_ptr_equal(fw_registry_find(NULL, row->code), row);
		assert_ptr_equal(fw_registry_number(NULL, row->number), row);
		assert_ptr_equal(fw_registry_read(NULL, FW_CANONICAL, row->code), row);
		assert_ptr_equal(fw_registry_read(NULL, FW_OWLCLAW, row->code), row);
		assert_ptr_equal(fw_registry_read(NULL, FW_OWLCLAW_API, row->code), row);
	}
	assert_null(fw_registry_at(NULL, count));
}

static void test_registry__is_ordered_by_number(void **state)
{
	(void)state;
	for (size_t i = 1; i < fw_registry_count(NULL); i++)
		assert_true(fw_registry_at(NULL, i - 1)->number <
			    fw_registry_at(NULL, i)->number);
}

static void test_registry__finds_nothing_for_unregistered_codes(void **state)
{
	static const char *const none[] = {
		"", "file", "file.", "file.not_foun", "FILE.NOT_FOUND", "file.not_found ", "x.y"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		for (int contract = 0; contract < FW_CONTRACT_COUNT; contract++)
			assert_null(fw_registry_read(NULL, (fw_contract)contract, none[i]));
	assert_null(fw_registry_find(NULL, NULL));
	assert_null(fw_registry_number(NULL, 0));
	assert_null(fw_registry_number(NULL, -1));
	assert_null(fw_registry_number(NULL, 99999));
	assert_null(fw_registry_read(NULL, FW_PLAIN_TEXT, "file.not_found"));
	assert_null(fw_registry_read(NULL, FW_AUTO, "file.not_found"));
}

static void test_registry__reads_back_what_every_row_is_called(void **state)
{
	(void)state;
	for (size_t i = 0; i < fw_registry_count(NULL); i++) {
		const fw_row *row = fw_registry_at(NULL, i);

		for (int c = 0; c < FW_CONTRACT_COUNT; c++) {
			fw_contract contract = (fw_contract)c;
			const char *code = fw_row_code_in(row, contract);
			const fw_row *reader = fw_registry_read(NULL, contract, code);

			assert_non_null(reader);
			assert_string_equal(fw_row_code_in(reader, contract), code);
			if (row->reads & 1u << contract)
				assert_ptr_equal(reader, row);
		}
	}
}

static void test_registry__knows_the_closed_sets(void **state)
{
	(void)state;
	assert_string_equal(fw_registry_read(NULL, FW_KAIZA, "FILE_NOT_FOUND")->code,
			    "file.not_found");
	assert_string_equal(fw_registry_read(NULL, FW_CONTEXT_V0, "io_error")->code,
			    "io.failed");
	assert_string_equal(fw_registry_read(NULL, FW_CODEINTEL, "file-not-found")->code,
			    "file.not_found");
	assert_string_equal(fw_registry_read(NULL, FW_TOOLERROR, "TRANSIENT")->code,
			    "dependency.unavailable");
	assert_string_equal(fw_registry_read(NULL, FW_OWLCLAW, "auth.forbidden")->code,
			    "auth.forbidden");
}

static void test_names__go_both_ways(void **state)
{
	fw_contract contract;

	(void)state;
	for (int i = 0; i <= FW_AUTO; i++) {
		assert_true(fw_contract_from_name(fw_contract_name((fw_contract)i), &contract));
		assert_int_equal(contract, i);
	}
	contract = FW_KAIZA;
	assert_false(fw_contract_from_name("kaizen", &contract));
	assert_int_equal(contract, FW_KAIZA);
}

static void test_names__end_with_their_range(void **state)
{
	(void)state;
	assert_string_equal(fw_category_name(FW_INTERNAL), "internal");
	assert_null(fw_category_name(FW_CATEGORY_COUNT));
	assert_string_equal(fw_type_name(FW_TYPE_NOT_FOUND), "NOT_FOUND");
	assert_null(fw_type_name(FW_TYPE_COUNT));
	assert_string_equal(fw_retry_name(FW_RETRY_AFTER_FIX), "after_fix");
	assert_null(fw_retry_name(FW_RETRY_COUNT));
	assert_string_equal(fw_severity_name(FW_CRITICAL), "critical");
	assert_null(fw_severity_name(FW_SEVERITY_COUNT));
	assert_string_equal(fw_origin_name(FW_ORIGIN_UPSTREAM), "upstream");
	assert_null(fw_origin_name(FW_ORIGIN_COUNT));
	assert_null(fw_contract_name((fw_contract)(FW_AUTO + 1)));
	assert_null(fw_category_name((fw_category)-1));
}

static void test_row__has_no_null_and_its_example_can_be_raised(void **state)
{
	(void)state;
	for (size_t i = 0; i < fw_registry_count(NULL); i++) {
		const fw_row *row = fw_registry_at(NULL, i);
		fw_error *err = fw_row_example(row);

		assert_non_null(row->params);
		assert_non_null(row->since);
		assert_non_null(row->hint);
		assert_true(strlen(row->explanation) > 0);
		assert_string_equal(fw_error_name(err), row->code);
		assert_null(strchr(fw_error_message(err), '{'));
		fw_error_free(err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registry__finds_every_row_by_code_and_number),
		cmocka_unit_test(test_registry__is_ordered_by_number),
		cmocka_unit_test(test_registry__finds_nothing_for_unregistered_codes),
		cmocka_unit_test(test_registry__reads_back_what_every_row_is_called),
		cmocka_unit_test(test_registry__knows_the_closed_sets),
		cmocka_unit_test(test_names__go_both_ways),
		cmocka_unit_test(test_names__end_with_their_range),
		cmocka_unit_test(test_row__has_no_null_and_its_example_can_be_raised),
	};

	return cmocka_run_group_tests_name("registry", tests, NULL, no_error_is_left);
}
