#include "base/limits.h"
#include "core/error_impl.h"

#include <faultwire/faultwire.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Every test must end with as many live errors as it began with. */
static long live_before;

static int remember_live(void **state)
{
	(void)state;
	live_before = fw_error_live();
	return 0;
}

static int check_live(void **state)
{
	(void)state;
	assert_int_equal(fw_error_live(), live_before);
	return 0;
}

static void test_error__raise_fills_message_and_context_from_the_same_arguments(void **state)
{
	fw_error *err = fw_raise_patch_apply_failed("src/a.c", 2, 17);
	fw_field field;

	(void)state;
	assert_string_equal(fw_error_message(err),
			    "hunk 2 does not apply to src/a.c at line 17");
	assert_int_equal(fw_error_code(err), FW_PATCH_APPLY_FAILED);
	assert_string_equal(fw_error_name(err), "patch.apply_failed");
	assert_int_equal(fw_error_field_count(err), 3);
	assert_true(fw_error_find_field(err, "line", &field));
	assert_int_equal(field.type, FW_FIELD_U64);
	assert_int_equal(field.u64, 17);
	fw_error_free(err);
}

static void test_error__message_only_parameters_are_not_stored_as_context(void **state)
{
	fw_error *err = fw_raise_protocol_unknown_tool("read_fil");

	(void)state;
	assert_string_equal(fw_error_message(err), "tool does not exist: read_fil");
	assert_int_equal(fw_error_field_count(err), 0);
	fw_error_free(err);
}

static void test_error__optional_parameters_may_be_left_out(void **state)
{
	int64_t start = 0;
	fw_error *err = fw_raise_input_invalid_line_range(
		"src/main.py", &start, NULL, "start_line must be a positive integer");
	fw_field field;

	(void)state;
	assert_string_equal(fw_error_message(err), "start_line must be a positive integer");
	assert_true(fw_error_find_field(err, "start_line", &field));
	assert_false(fw_error_find_field(err, "end_line", &field));
	fw_error_free(err);
}

static void test_error__wrap_adds_words_and_keeps_the_code(void **state)
{
	fw_error *err = fw_raise_file_not_found("plan.md");
	fw_cause cause;

	(void)state;
	err = fw_error_wrap(err, FW_HERE, "could not read plan %d", 7);
	assert_string_equal(fw_error_message(err),
			    "could not read plan 7: File not found: plan.md");
	assert_int_equal(fw_error_code(err), FW_FILE_NOT_FOUND);
	assert_int_equal(fw_error_cause_count(err), 1);
	assert_true(fw_error_cause(err, 0, &cause));
	assert_string_equal(cause.message, "File not found: plan.md");
	assert_string_equal(cause.code, "file.not_found");
	assert_string_equal(cause.name, "fw_error");
	assert_false(fw_error_cause(err, 1, &cause));
	fw_error_free(err);
	assert_null(fw_error_wrap(NULL, FW_HERE, "nothing went wrong"));
}

static void test_error__caused_by_takes_over_the_whole_chain(void **state)
{
	fw_error *inner = fw_raise_io_no_space("audit-log.jsonl"), *err;
	fw_cause cause;

	(void)state;
	fw_error_add_cause(inner, "No space left on device", "ENOSPC", "errno");
	err = fw_error_caused_by(fw_raise_audit_log_failed("the disk is full"), inner);
	assert_int_equal(fw_error_code(err), FW_AUDIT_LOG_FAILED);
	assert_int_equal(fw_error_cause_count(err), 2);
	assert_true(fw_error_cause(err, 1, &cause));
	assert_string_equal(cause.code, "ENOSPC");
	assert_true(fw_error_has_code(err, "io.no_space"));
	assert_true(fw_error_has_code(err, "audit.log_failed"));
	assert_false(fw_error_has_code(err, "ENOSPC"));
	fw_error_free(err);
	assert_null(fw_error_caused_by(NULL, NULL));
}

static void test_error__that_replaces_another_has_it_as_first_cause(void **state)
{
	fw_error *err = fw_error_caused_by(fw_raise_audit_log_failed("the disk is full"),
					   fw_raise_io_no_space("audit-log.jsonl"));
	fw_error *outcome = fw_error_caused_by(fw_raise_file_read_failed("a", "b"),
					       fw_raise_path_invalid("b", "c"));
	static const char *const codes[] = { "file.read_failed", "path.invalid",
					     "io.no_space" };
	fw_cause cause;

	(void)state;
	err = fw__error_in_place_of(err, outcome);
	assert_int_equal(fw_error_cause_count(err), 3);
	for (size_t i = 0; i < 3; i++) {
		assert_true(fw_error_cause(err, i, &cause));
		assert_string_equal(cause.code, codes[i]);
	}
	/* At the limit the last causes are dropped, not the outcome. */
	for (int i = 0; i < 100; i++)
		fw_error_add_cause(err, "deep", "x", NULL);
	err = fw__error_in_place_of(err, fw_raise_file_not_found("none"));
	assert_true(fw_error_cause(err, 0, &cause));
	assert_string_equal(cause.code, "file.not_found");
	assert_true(fw_error_cause(err, 1, &cause));
	assert_string_equal(cause.code, "file.read_failed");
	fw_error_free(err);
	fw_error_free(fw__error_in_place_of(NULL, fw_raise_file_not_found("none")));
}

static void test_error__chain_is_bounded(void **state)
{
	fw_error *err = fw_raise_internal_unexpected(NULL);

	(void)state;
	for (int i = 0; i < 1000; i++)
		err = fw_error_wrap(err, FW_HERE, "level %d", i);
	assert_int_equal(fw_error_cause_count(err), FW_LIMIT_CAUSES);
	assert_true(strlen(fw_error_message(err)) <= FW_LIMIT_TEXT_BYTES);
	fw_error_free(err);
}

static void test_error__long_messages_are_cut_at_a_character(void **state)
{
	size_t len = 3 * FW_LIMIT_TEXT_BYTES;
	char *path = malloc(len + 1);
	fw_error *err;

	(void)state;
	for (size_t i = 0; i < len; i += 3)
		memcpy(path + i, "\xe2\x82\xac", 3);
	path[len] = '\0';
	err = fw_raise_file_not_found(path);
	assert_true(strlen(fw_error_message(err)) <= FW_LIMIT_TEXT_BYTES);
	/* "File not found: " and whole euro signs. */
	assert_int_equal((strlen(fw_error_message(err)) - 16) % 3, 0);
	fw_error_free(err);
	free(path);
}

static void test_error__fields_are_bounded(void **state)
{
	fw_error *err = fw_raise_internal_unexpected(NULL);
	char key[32];

	(void)state;
	for (int i = 0; i < 10 * FW_LIMIT_FIELDS; i++) {
		snprintf(key, sizeof(key), "k%d", i);
		fw_error_add_i64(err, key, i);
	}
	assert_int_equal(fw_error_field_count(err), FW_LIMIT_FIELDS);
	fw_error_free(err);
}

static void test_error__invalid_utf8_is_repaired(void **state)
{
	fw_error *err = fw_raise_path_not_found("a\xff"
						"b");
	fw_field field;

	(void)state;
	assert_string_equal(fw_error_message(err), "path does not exist: a\xef\xbf\xbd"
						   "b");
	assert_true(fw_error_find_field(err, "path", &field));
	assert_string_equal(field.string, "a\xef\xbf\xbd"
					  "b");
	fw_error_free(err);
}

static void test_error__secrets_are_redacted(void **state)
{
	fw_error *err = fw_raise_transport_connection_refused("https://bob:hunter2@db.local/x");
	fw_field field;

	(void)state;
	assert_null(strstr(fw_error_message(err), "hunter2"));
	assert_true(fw_error_find_field(err, "target", &field));
	assert_null(strstr(field.string, "hunter2"));
	fw_error_add_string(err, "api_key", "abc");
	fw_error_add_string(err, "author", "abc");
	fw_error_add_json(err, "request", "{\"token\":\"abc\",\"page\":1}", 24);
	assert_true(fw_error_find_field(err, "api_key", &field));
	assert_string_equal(field.string, "[redacted]");
	assert_true(fw_error_find_field(err, "author", &field));
	assert_string_equal(field.string, "abc");
	assert_true(fw_error_find_field(err, "request", &field));
	assert_string_equal(field.string, "{\"token\":\"[redacted]\",\"page\":1}");
	fw_error_free(err);
}

static void test_error__a_key_given_twice_has_the_last_value(void **state)
{
	fw_error *err = fw_raise_internal_unexpected(NULL);
	fw_field field;

	(void)state;
	fw_error_add_string(err, "k", "one");
	fw_error_add_bool(err, "k", true);
	assert_int_equal(fw_error_field_count(err), 1);
	assert_true(fw_error_field(err, 0, &field));
	assert_int_equal(field.type, FW_FIELD_BOOL);
	assert_true(field.boolean);
	assert_false(fw_error_field(err, 1, &field));
	fw_error_free(err);
}

static void test_error__context_that_is_not_json_is_dropped(void **state)
{
	fw_error *err = fw_raise_internal_unexpected(NULL);

	(void)state;
	fw_error_add_json(err, "k", "{\"a\":", 5);
	fw_error_set_cause_json(err, "nope", 4);
	fw_error_set_empty_result(err, "[1]", 3);
	assert_int_equal(fw_error_field_count(err), 0);
	assert_int_equal(fw_error_cause_count(err), 0);
	fw_error_free(err);
}

static void test_error__retry_rules(void **state)
{
	fw_error *err = fw_raise_governance_rate_limited();

	(void)state;
	assert_int_equal(fw_error_retry(err), FW_RETRY_BACKOFF);
	assert_true(fw_error_retry_after(err) < 0);
	fw_error_set_retry_after(err, 2.5);
	assert_true(fw_error_retry_after(err) == 2.5);
	fw_error_set_retry_after(err, -1);
	fw_error_set_retry_after(err, 0.0 / 0.0);
	assert_true(fw_error_retry_after(err) == 2.5);
	fw_error_set_retry(err, FW_RETRY_NEVER);
	assert_true(fw_error_retry_after(err) < 0);
	fw_error_set_retry_after(err, 1);
	assert_int_equal(fw_error_retry(err), FW_RETRY_BACKOFF);
	fw_error_free(err);
}

static void test_error__time_is_rfc3339_with_milliseconds(void **state)
{
	fw_error *err = fw_raise_internal_unexpected(NULL);

	(void)state;
	fw_error_set_time(err, INT64_C(1768836730123));
	assert_string_equal(fw_error_timestamp(err), "2026-01-19T15:32:10.123Z");
	fw_error_set_time(err, INT64_C(951782400000));
	assert_string_equal(fw_error_timestamp(err), "2000-02-29T00:00:00.000Z");
	fw_error_set_time(err, INT64_C(4107542399999));
	assert_string_equal(fw_error_timestamp(err), "2100-02-28T23:59:59.999Z");
	fw_error_set_time(err, INT64_C(253402300799999));
	assert_string_equal(fw_error_timestamp(err), "9999-12-31T23:59:59.999Z");
	fw_error_set_time(err, INT64_C(253402300800000));
	assert_string_equal(fw_error_timestamp(err), "9999-12-31T23:59:59.999Z");
	fw_error_set_time(err, -1);
	assert_string_equal(fw_error_timestamp(err), "1969-12-31T23:59:59.999Z");
	fw_error_set_time(err, INT64_MAX);
	assert_string_equal(fw_error_timestamp(err), "1969-12-31T23:59:59.999Z");
	fw_error_free(err);
}

static void test_error__scope_fills_only_what_is_missing(void **state)
{
	fw_error *err = fw_raise_internal_unexpected(NULL);

	(void)state;
	fw_error_fill_scope(err, &(fw_scope){ .tool = "read_file", .role = "WINDSURF" });
	fw_error_fill_scope(err, &(fw_scope){ .tool = "other", .session_id = "s-1" });
	assert_string_equal(fw_error_scope(err).tool, "read_file");
	assert_string_equal(fw_error_scope(err).role, "WINDSURF");
	assert_string_equal(fw_error_scope(err).session_id, "s-1");
	assert_null(fw_error_scope(err).client);
	fw_error_free(err);
}

static void test_error__trail_names_the_places_innermost_first(void **state)
{
	fw_error *err = fw_raise_internal_unexpected(NULL);
	char trail[512], text[128];

	(void)state;
	err = fw_error_wrap(err, fw_src_at("outer.c", "outer", 5), "outer");
	fw_error_trail(err, trail, sizeof(trail));
	assert_non_null(strstr(trail, "error_test.c:"));
	assert_non_null(strstr(trail, "\nouter.c:5 outer"));
	fw_error_add_cause(err, "why", "E1", "errno");
	fw_error_text(err, text, sizeof(text));
	assert_string_equal(text, "outer: An unexpected error occurred: why");
	fw_error_free(err);
}

static void test_error__misuse_of_raise_row_says_so(void **state)
{
	fw_error *err =
		fw_raise_row(FW_HERE, fw_registry_number(NULL, FW_FILE_NOT_FOUND), NULL, 0);

	(void)state;
	assert_int_equal(fw_error_code(err), FW_INTERNAL_API_MISUSE);
	fw_error_free(err);
	err = fw_raise_row(FW_HERE, NULL, NULL, 0);
	assert_int_equal(fw_error_code(err), FW_REGISTRY_CODE_UNREGISTERED);
	fw_error_free(err);
}

static void *no_memory(void *ctx, size_t size)
{
	(void)ctx;
	(void)size;
	return NULL;
}

static void *no_more_memory(void *ctx, void *ptr, size_t size)
{
	(void)ctx;
	(void)ptr;
	(void)size;
	return NULL;
}

static void no_release(void *ctx, void *ptr)
{
	(void)ctx;
	(void)ptr;
}

static void test_error__without_memory_there_is_still_an_error(void **state)
{
	static const fw_allocator none = { no_memory, no_more_memory, no_release, NULL };
	char text[512];
	fw_error *err;

	(void)state;
	fw_allocator_set(&none);
	err = fw_raise_file_not_found("src/main.py");
	err = fw_error_wrap(err, FW_HERE, "could not do it");
	fw_error_add_string(err, "k", "v");
	fw_error_set_retry_after(err, 1);
	err = fw_error_caused_by(err, fw_raise_internal_unexpected(NULL));
	assert_int_equal(fw_error_code(err), FW_INTERNAL_OUT_OF_MEMORY);
	for (int contract = 0; contract < FW_CONTRACT_COUNT; contract++)
		assert_true(fw_error_encode(err, (fw_contract)contract, NULL, text,
					    sizeof(text)) > 10);
	fw_error_free(err);
	fw_allocator_set(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, remember_live, check_live)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_error__raise_fills_message_and_context_from_the_same_arguments),
		TEST(test_error__message_only_parameters_are_not_stored_as_context),
		TEST(test_error__optional_parameters_may_be_left_out),
		TEST(test_error__wrap_adds_words_and_keeps_the_code),
		TEST(test_error__caused_by_takes_over_the_whole_chain),
		TEST(test_error__that_replaces_another_has_it_as_first_cause),
		TEST(test_error__chain_is_bounded),
		TEST(test_error__long_messages_are_cut_at_a_character),
		TEST(test_error__fields_are_bounded),
		TEST(test_error__invalid_utf8_is_repaired),
		TEST(test_error__secrets_are_redacted),
		TEST(test_error__a_key_given_twice_has_the_last_value),
		TEST(test_error__context_that_is_not_json_is_dropped),
		TEST(test_error__retry_rules),
		TEST(test_error__time_is_rfc3339_with_milliseconds),
		TEST(test_error__scope_fills_only_what_is_missing),
		TEST(test_error__trail_names_the_places_innermost_first),
		TEST(test_error__misuse_of_raise_row_says_so),
		TEST(test_error__without_memory_there_is_still_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
