/*
 * audit_head_test.c - a log that somebody else has changed: a running server refuses it,
 * and so does the next one, which knows the last record from outside of the log.
 */
#include "observe/audit/audit_test.h"

static char heads[160];
static struct fw_audit_options options;

static int setup_heads(void **state)
{
	if (setup(state))
		return -1;
	(void)snprintf(heads, sizeof heads, "%s/heads", directory);
	options = (struct fw_audit_options){ .heads = heads };
	return mkdir(heads, 0700);
}

static void is_refused(fw_error *err)
{
	fw_cause cause;

	if (fw_error_code(err) != FW_GOVERNANCE_INVARIANT_VIOLATION)
		fail_msg("%s", err ? fw_error_message(err) : "not refused");
	assert_string_equal(fw_error_scope(err).invariant_id, "AUDIT_LOG_CONTINUES");
	assert_true(fw_error_cause(err, 0, &cause));
	assert_non_null(strstr(fw_error_hint(err), "faultwire audit accept"));
	fw_error_free(err);
}

/* Writes records of another chain, as a forger would. */
static char *forge(unsigned records, size_t *ret_len)
{
	const struct fw_audit_record nothing = { .event = FW_AUDIT_CHANGE,
						 .tool_name = "all_is_well" };
	struct fw_audit *audit;
	char real[sizeof path];
	char *text;

	memcpy(real, path, sizeof path);
	(void)snprintf(path, sizeof path, "%s/forged.jsonl", directory);
	audit = opened(NULL);
	for (unsigned i = 0; i < records; i++)
		must(fw_audit_append_wait(audit, &nothing));
	assert_true(fw_audit_close(audit));
	text = read_all(path, ret_len);
	assert_int_equal(unlink(path), 0);
	memcpy(path, real, sizeof path);
	return text;
}

/* Nothing may be appended that would make it look intact. */
static void assert_content_is(const char *text, size_t len)
{
	size_t now_len = 0;
	char *now = read_all(path, &now_len);

	assert_int_equal(now_len, len);
	assert_memory_equal(now, text, len);
	free(now);
}

static void test_audit__a_rewritten_log_is_refused_by_the_running_server(void **state)
{
	struct fw_audit *audit = opened(NULL);
	size_t len = 0, forged_len = 0;
	char *whole;
	char *forged = forge(9, &forged_len);

	(void)state;
	for (int i = 0; i < 5; i++)
		must(record(audit, "five failures"));
	whole = read_all(path, &len);
	write_all(path, forged, forged_len);
	is_refused(record(audit, "a"));
	assert_false(fw_audit_is_up(audit));
	assert_content_is(forged, forged_len);
	/* After the original is put back, writing resumes. */
	write_all(path, whole, len);
	must(record(audit, "b"));
	assert_whole(7); /* and a note that it resumed */
	assert_true(fw_audit_close(audit));
	free(whole);
	free(forged);
}

static void test_audit__a_log_replaced_by_another_file_is_refused(void **state)
{
	struct fw_audit *audit = opened(NULL);
	size_t forged_len = 0;
	char *forged = forge(9, &forged_len);

	(void)state;
	must(record(audit, "a"));
	assert_int_equal(unlink(path), 0);
	write_all(path, forged, forged_len);
	is_refused(record(audit, "b"));
	assert_content_is(forged, forged_len);
	assert_true(fw_audit_close(audit));
	free(forged);
}

static void test_audit__a_cut_or_changed_last_record_is_refused(void **state)
{
	struct fw_audit *audit = opened(NULL);
	size_t len = 0;
	char *text;

	(void)state;
	for (int i = 0; i < 3; i++)
		must(record(audit, "a"));
	text = read_all(path, &len);
	/* The last line gone; nothing left; another last hash of the same length. */
	assert_int_equal(truncate(path, (off_t)(len / 3 * 2)), 0);
	is_refused(record(audit, "b"));
	assert_int_equal(truncate(path, 0), 0);
	is_refused(record(audit, "b"));
	text[len - 4] = text[len - 4] == '0' ? '1' : '0';
	write_all(path, text, len);
	is_refused(record(audit, "b"));
	assert_content_is(text, len);
	assert_true(fw_audit_close(audit));
	free(text);
}

static void test_audit__a_forged_record_after_ours_is_refused(void **state)
{
	struct fw_audit *audit = opened(NULL);
	size_t len = 0;
	char *forged = forge(2, &len);
	char *second = strchr(forged, '\n') + 1;

	(void)state;
	must(record(audit, "a"));
	/* Number 2, but of another chain. */
	write_behind(path, second, strlen(second));
	is_refused(record(audit, "b"));
	assert_true(fw_audit_close(audit));
	free(forged);
}

static void test_audit__records_of_other_processes_are_accepted(void **state)
{
	struct fw_audit_options small = { .heads = heads, .rotate_bytes = 2000 };
	struct fw_audit *first = opened(&small);
	struct fw_audit *second = opened(&small);
	struct fw_audit_report report;

	(void)state;
	for (int i = 0; i < 30; i++) {
		must(record(first, "a"));
		for (int n = 0; n < i % 4; n++)
			must(record(second, "b"));
	}
	assert_true(fw_audit_close(first));
	assert_true(fw_audit_close(second));
	report = verified(false);
	assert_int_equal(report.fault, FW_AUDIT_WHOLE);
	assert_true(report.files > 5);
	/* And after a restart, because of the stored record. */
	first = opened(&small);
	must(record(first, "c"));
	assert_true(fw_audit_close(first));
}

/* ---- after a restart ---------------------------------------------------------- */

static void write_some(unsigned records)
{
	struct fw_audit *audit = opened(&options);

	for (unsigned i = 0; i < records; i++)
		must(record(audit, "a"));
	assert_true(fw_audit_close(audit));
}

static void does_not_open(void)
{
	struct fw_audit *audit = NULL;

	is_refused(fw_audit_open(path, &options, &audit));
	assert_null(audit);
}

static void test_audit__a_log_that_lost_its_end_is_refused_at_the_next_start(void **state)
{
	struct fw_audit_report report;
	size_t len = 0, forged_len = 0;
	bool is_there = true;
	uint64_t seq = 0;
	char *text;
	char *forged = forge(9, &forged_len);

	(void)state;
	write_some(5);
	write_some(1);
	text = read_all(path, &len);
	must(fw_audit_check_head(heads, path, &seq, &is_there));
	assert_true(is_there && seq == 6);
	/* Cut, rewritten, or gone. */
	assert_int_equal(truncate(path, (off_t)(len / 6 * 3)), 0);
	does_not_open();
	write_all(path, forged, forged_len);
	does_not_open();
	assert_content_is(forged, forged_len);
	assert_int_equal(verified(false).fault, FW_AUDIT_WHOLE);
	must(fw_audit_check_head(heads, path, &seq, &is_there));
	assert_true(!is_there && seq == 6);
	assert_int_equal(unlink(path), 0);
	does_not_open();
	/* Restored, or accepted. */
	write_all(path, text, len);
	write_some(1);
	write_all(path, forged, forged_len);
	report = verified(false);
	must(fw_audit_accept(heads, path, &report));
	write_some(1);
	assert_whole(10);
	free(text);
	free(forged);
}

static void test_audit__a_log_without_a_kept_record_opens_as_before(void **state)
{
	(void)state;
	write_log(3);
	write_some(1);
	assert_whole(4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_audit__##name, setup_heads, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_rewritten_log_is_refused_by_the_running_server),
		TEST(a_log_replaced_by_another_file_is_refused),
		TEST(a_cut_or_changed_last_record_is_refused),
		TEST(a_forged_record_after_ours_is_refused),
		TEST(records_of_other_processes_are_accepted),
		TEST(a_log_that_lost_its_end_is_refused_at_the_next_start),
		TEST(a_log_without_a_kept_record_opens_as_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
