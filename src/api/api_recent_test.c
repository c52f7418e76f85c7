/*
 * api_recent_test.c - the last hour in numbers, at chosen times.
 */
#include "api/api_recent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <faultwire/raise.h>
#include <yyjson.h>

#include "test/memory.h"

enum { MINUTE = 60 * 1000 };
static const int64_t START = INT64_C(1794960840000); /* at the beginning of a minute */

static fw_outcome outcome_of(const char *tool, const char *client, const fw_error *err)
{
	return (fw_outcome){ .method = "tools/call",
			     .name = tool,
			     .is_known = true,
			     .client = client,
			     .error = err,
			     .duration_ns = 2 * 1000 * 1000,
			     .kind = err ? FW_OUTCOME_TOOL_ERROR : FW_OUTCOME_RESULT };
}

static void note(struct fw_api_recent *recent, const char *tool, fw_error *err, int64_t at)
{
	const fw_outcome outcome = outcome_of(tool, "agent", err);

	fw_api_recent_note(recent, &outcome, "files", at);
	fw_error_free(err);
}

static yyjson_doc *read(struct fw_api_recent *recent, int64_t now)
{
	struct fw_buf out;
	yyjson_doc *doc;

	fw_buf_init(&out, 8 * 1024 * 1024);
	FW_BUF(&out, "{");
	fw_api_recent_put(recent, now, &out);
	FW_BUF(&out, "}");
	assert_int_equal(out.state, FW_BUF_OK);
	doc = yyjson_read(out.text, out.len, 0);
	assert_non_null(doc);
	fw_buf_clear(&out);
	return doc;
}

static int64_t minute_of(yyjson_doc *doc, const char *key, size_t ago)
{
	yyjson_val *list = yyjson_obj_get(yyjson_doc_get_root(doc), key);

	assert_int_equal(yyjson_arr_size(list), FW_API_RECENT_MINUTES);
	return yyjson_get_sint(yyjson_arr_get(list, FW_API_RECENT_MINUTES - 1 - ago));
}

static size_t row_count(yyjson_doc *doc)
{
	return yyjson_arr_size(yyjson_obj_get(yyjson_doc_get_root(doc), "rows"));
}

static void test_recent__counts_calls_and_failures_in_their_minute(void **state)
{
	struct fw_api_recent *recent = fw_api_recent_new(START);
	yyjson_doc *doc;

	(void)state;
	note(recent, "read", NULL, START);
	note(recent, "read", fw_raise_file_not_found("a"), START + MINUTE);
	note(recent, "read", NULL, START + MINUTE + 1);
	doc = read(recent, START + 2 * MINUTE);
	assert_int_equal(minute_of(doc, "calls", 2), 1);
	assert_int_equal(minute_of(doc, "failures", 2), 0);
	assert_int_equal(minute_of(doc, "calls", 1), 2);
	assert_int_equal(minute_of(doc, "failures", 1), 1);
	assert_int_equal(minute_of(doc, "calls", 0), 0);
	assert_int_equal(row_count(doc), 2);
	yyjson_doc_free(doc);
	fw_api_recent_free(recent);
}

static void test_recent__forgets_what_is_older_than_an_hour(void **state)
{
	struct fw_api_recent *recent = fw_api_recent_new(START);
	yyjson_doc *doc;

	(void)state;
	note(recent, "read", fw_raise_file_not_found("a"), START);
	doc = read(recent, START + 59 * MINUTE);
	assert_int_equal(minute_of(doc, "failures", 59), 1);
	yyjson_doc_free(doc);
	doc = read(recent, START + 60 * MINUTE);
	for (size_t i = 0; i < FW_API_RECENT_MINUTES; i++)
		assert_int_equal(minute_of(doc, "failures", i), 0);
	yyjson_doc_free(doc);
	doc = read(recent, START + INT64_C(1000000) * MINUTE);
	assert_int_equal(minute_of(doc, "calls", 0), 0);
	yyjson_doc_free(doc);
	fw_api_recent_free(recent);
}

static void test_recent__a_clock_that_goes_back_counts_in_the_current_minute(void **state)
{
	struct fw_api_recent *recent = fw_api_recent_new(START);
	yyjson_doc *doc;

	(void)state;
	note(recent, "read", NULL, START + 5 * MINUTE);
	note(recent, "read", NULL, START);
	doc = read(recent, START);
	assert_int_equal(minute_of(doc, "calls", 0), 2);
	yyjson_doc_free(doc);
	fw_api_recent_free(recent);
}

static void test_recent__a_clock_that_was_far_ahead_does_not_stop_the_minutes(void **state)
{
	const int64_t year_ms = (int64_t)365 * 24 * 3600 * 1000;
	struct fw_api_recent *recent = fw_api_recent_new(START + year_ms);
	yyjson_doc *doc;

	(void)state;
	note(recent, "read", NULL, START + year_ms);
	note(recent, "read", NULL, START);
	doc = read(recent, START + 60000);
	assert_int_equal(yyjson_get_sint(yyjson_obj_get(yyjson_doc_get_root(doc), "minute_ms")),
			 (START + 60000) / 60000 * 60000);
	yyjson_doc_free(doc);
	fw_api_recent_free(recent);
}

static void test_recent__tells_whether_a_retry_worked(void **state)
{
	struct fw_api_recent *recent = fw_api_recent_new(START);
	yyjson_doc *doc;

	(void)state;
	note(recent, "read", fw_raise_runtime_timeout(30000), START);
	note(recent, "read", fw_raise_runtime_timeout(30000), START);
	note(recent, "read", NULL, START);
	/* After a success, and after a failure that a retry cannot cure, nothing is due. */
	note(recent, "read", fw_raise_file_not_found("a"), START);
	note(recent, "read", NULL, START);
	doc = read(recent, START);
	assert_int_equal(minute_of(doc, "recovered", 0), 1);
	assert_int_equal(minute_of(doc, "failed_again", 0), 1);
	yyjson_doc_free(doc);
	fw_api_recent_free(recent);
}

/* The row of a code. */
static yyjson_val *row_with(yyjson_doc *doc, const char *code)
{
	yyjson_val *rows = yyjson_obj_get(yyjson_doc_get_root(doc), "rows"), *row;
	size_t i, count;

	yyjson_arr_foreach(rows, i, count, row)
	{
		const char *its = yyjson_get_str(yyjson_obj_get(row, "code"));

		if (its && strcmp(its, code) == 0)
			return row;
	}
	fail_msg("no row of %s", code);
	return NULL;
}

static int64_t number_in(yyjson_val *row, const char *key)
{
	return yyjson_get_sint(yyjson_obj_get(row, key));
}

static void test_recent__tells_which_code_retries_cure(void **state)
{
	struct fw_api_recent *recent = fw_api_recent_new(START);
	yyjson_doc *doc;
	yyjson_val *row;

	(void)state;
	note(recent, "read", fw_raise_runtime_timeout(30000), START);
	note(recent, "read", NULL, START);
	note(recent, "read", fw_raise_dependency_unavailable("db"), START);
	/* This one answers for the failure before it, and is due itself. */
	note(recent, "read", fw_raise_runtime_timeout(30000), START);
	note(recent, "other", NULL, START);
	doc = read(recent, START);
	row = row_with(doc, "runtime.timeout");
	assert_int_equal(number_in(row, "recovered"), 1);
	assert_int_equal(number_in(row, "failed_again"), 0);
	assert_string_equal(yyjson_get_str(yyjson_obj_get(row, "toolset")), "files");
	row = row_with(doc, "dependency.unavailable");
	assert_int_equal(number_in(row, "recovered"), 0);
	assert_int_equal(number_in(row, "failed_again"), 1);
	yyjson_doc_free(doc);
	doc = read(recent, START + 60 * MINUTE);
	assert_int_equal(number_in(row_with(doc, "dependency.unavailable"), "failed_again"), 0);
	yyjson_doc_free(doc);
	fw_api_recent_free(recent);
}

static void test_recent__unauthenticated_requests_are_only_counted(void **state)
{
	struct fw_api_recent *recent = fw_api_recent_new(START);
	fw_error *err = fw_raise_auth_unauthorized();
	fw_outcome outcome = outcome_of(NULL, NULL, err);
	yyjson_doc *doc;

	(void)state;
	outcome.is_unauthenticated = true;
	fw_api_recent_note(recent, &outcome, NULL, START);
	doc = read(recent, START);
	assert_int_equal(minute_of(doc, "unauthenticated", 0), 1);
	assert_int_equal(minute_of(doc, "calls", 0), 0);
	assert_int_equal(row_count(doc), 0);
	yyjson_doc_free(doc);
	fw_error_free(err);
	fw_api_recent_free(recent);
}

static void test_recent__has_a_bounded_number_of_rows(void **state)
{
	struct fw_api_recent *recent = fw_api_recent_new(START);
	yyjson_doc *doc;
	char name[64];

	(void)state;
	for (int i = 0; i < 3 * FW_API_RECENT_ROWS; i++) {
		(void)snprintf(name, sizeof name, "tool-%d", i);
		note(recent, name, NULL, START + i);
	}
	doc = read(recent, START + MINUTE);
	assert_int_equal(row_count(doc), FW_API_RECENT_ROWS);
	assert_int_equal(
		yyjson_get_sint(yyjson_obj_get(yyjson_doc_get_root(doc), "without_row")),
		2 * FW_API_RECENT_ROWS);
	yyjson_doc_free(doc);
	fw_api_recent_free(recent);
}

static void test_recent__a_long_name_is_cut_between_characters(void **state)
{
	struct fw_api_recent *recent = fw_api_recent_new(START);
	char name[256];
	yyjson_doc *doc;

	(void)state;
	/* Two bytes per character, so the limit is within one. */
	for (size_t i = 0; i + 2 < sizeof name; i += 2)
		memcpy(name + i, "\xC3\xA9", 3);
	note(recent, name, NULL, START);
	doc = read(recent, START);
	assert_int_equal(row_count(doc), 1);
	yyjson_doc_free(doc);
	fw_api_recent_free(recent);
}

static void note_and_put(void)
{
	struct fw_api_recent *recent = fw_api_recent_new(START);
	const fw_outcome good = outcome_of("read", "agent", NULL);
	struct fw_buf out;

	if (!recent)
		return;
	fw_api_recent_note(recent, &good, "files", START);
	fw_buf_init(&out, 1024 * 1024);
	fw_api_recent_put(recent, START, &out);
	fw_buf_clear(&out);
	fw_api_recent_free(recent);
}

static void test_recent__survives_every_allocation_failure(void **state)
{
	(void)state;
	each_allocation_fails(note_and_put);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recent__counts_calls_and_failures_in_their_minute),
		cmocka_unit_test(test_recent__forgets_what_is_older_than_an_hour),
		cmocka_unit_test(
			test_recent__a_clock_that_goes_back_counts_in_the_current_minute),
		cmocka_unit_test(
			test_recent__a_clock_that_was_far_ahead_does_not_stop_the_minutes),
		cmocka_unit_test(test_recent__tells_whether_a_retry_worked),
		cmocka_unit_test(test_recent__tells_which_code_retries_cure),
		cmocka_unit_test(test_recent__unauthenticated_requests_are_only_counted),
		cmocka_unit_test(test_recent__has_a_bounded_number_of_rows),
		cmocka_unit_test(test_recent__a_long_name_is_cut_between_characters),
		cmocka_unit_test(test_recent__survives_every_allocation_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
