/*
 * audit_test.c - the log on a real disk: what is written, what a crash leaves,
 * and what verifying finds.
 */
#include "observe/audit/audit_test.h"

#include <dirent.h>
#include <spawn.h>
#include <sys/wait.h>

/* ---- what is written ---------------------------------------------------- */

static void test_audit__a_line_has_all_fields_in_their_order(void **state)
{
	static const char expected[] =
		"{\"seq\":1,\"timestamp\":\"2026-01-19T15:32:10.123Z\",\"event\":\"failure\","
		"\"tool_name\":\"read_file\",\"error_code\":\"FILE_NOT_FOUND\","
		"\"code\":\"file.not_found\",\"message\":\"File not found: a/b\","
		"\"path\":\"a/b\",\"intent\":null,\"invariant_id\":null,\"plan_hash\":null,"
		"\"phase_id\":null,\"session_id\":null,\"role\":null,\"workspace_root\":null,"
		"\"client\":null,\"incident_id\":\"inc_20260119_abcdefgh\",\"trace_id\":null,"
		"\"cause\":null,\"context\":{\"path\":\"a/b\"},\"args_hash\":"
		"\"fde64ffe7a4a0bbd5d2fe2c294b795808c14bcb57a1d08f1c9dcd59871a020f4\","
		"\"prev_hash\":\"GENESIS\",\"hash\":\"";
	char *text;

	(void)state;
	write_log(1);
	text = read_all(path, NULL);
	text[sizeof expected - 1] = '\0';
	assert_string_equal(text, expected);
	free(text);
	text = read_all(path, NULL);
	assert_true(is_json(text, strlen(text)));
	free(text);
	assert_whole(1);
}

/* The one record that `entry` makes, as text. */
static char *line_of(const struct fw_audit_record *entry)
{
	struct fw_audit *audit = opened(NULL);
	char *text;

	must(fw_audit_append_wait(audit, entry));
	assert_true(fw_audit_close(audit));
	text = read_all(path, NULL);
	assert_true(is_json(text, strlen(text)));
	return text;
}

static void test_audit__a_line_says_what_failed_and_why(void **state)
{
	static const char list[] = "[1,{\"token\":\"abc\"}]";
	fw_error *failed = fw_raise_plan_not_found("abc");
	struct fw_audit_record entry = { .error = failed,
					 .tool_name = "write_file",
					 .path = "src/main.c",
					 .intent = "fix the leak" };
	char *text;

	(void)state;
	fw_error_add_u64(failed, "tries", 3);
	fw_error_add_f64(failed, "share", 0.5);
	fw_error_add_bool(failed, "forced", true);
	fw_error_add_json(failed, "list", list, sizeof list - 1);
	fw_error_set_hint(failed, "a hint that the log does not need");
	text = line_of(&entry);
	assert_non_null(strstr(text, "\"path\":\"src/main.c\",\"intent\":\"fix the leak\","));
	assert_non_null(strstr(text, fw_error_message(failed)));
	assert_non_null(strstr(text, "\"tries\":3,\"share\":0.5,\"forced\":true,\"list\":"
				     "[1,{\"token\":\"[redacted]\"}]},\"args_hash\""));
	assert_null(strstr(text, "hint"));
	free(text);
	fw_error_free(failed);
}

static void test_audit__a_failure_always_names_a_tool(void **state)
{
	fw_error *failed = fw_raise_protocol_parse_error(0, "empty");
	struct fw_audit_record entry = { .error = failed };
	char *text;

	(void)state;
	text = line_of(&entry);
	assert_non_null(strstr(text, "\"tool_name\":\"unknown\""));
	free(text);
	fw_error_free(failed);
}

/* A text that becomes six times as long in JSON. */
static char *worst_text(size_t len)
{
	char *text = malloc(len + 1);

	assert_non_null(text);
	memset(text, 1, len);
	text[len] = '\0';
	return text;
}

static void test_audit__the_size_of_a_record_has_a_limit(void **state)
{
	char *worst = worst_text(64 * 1024);
	fw_error *failed =
		fw_error_wrap(fw_raise_internal_unexpected(NULL), FW_HERE, "%s", worst);
	struct fw_audit_record entry = { .error = failed, .path = worst, .intent = worst };
	fw_scope scope = { .tool = worst, .client = worst, .session_id = worst };
	char key[16];
	char *text;

	(void)state;
	fw_error_fill_scope(failed, &scope);
	for (unsigned i = 0; i < FW_LIMIT_FIELDS; i++) {
		(void)snprintf(key, sizeof key, "field_%u", i);
		fw_error_add_string(failed, key, worst);
	}
	fw_error_add_cause(failed, worst, worst, worst);
	text = line_of(&entry);
	assert_true(strlen(text) < FW_LIMIT_AUDIT_LINE_BYTES / 2);
	assert_non_null(strstr(text, "field_0"));
	assert_null(strstr(text, "field_100"));
	free(text);
	free(worst);
	fw_error_free(failed);
	assert_whole(1);
}

static void test_audit__the_hash_is_what_sha256sum_says(void **state)
{
	static char shell[] = "sh";
	static char option[] = "-c";
	static char script[] =
		"while IFS= read -r line; do "
		"printf '%s' \"$line\" | sed 's/,\"hash\":\"[0-9a-f]*\"}$/}/' | sha256sum | "
		"cut -c -64 | grep -qF \"$(printf '%s' \"$line\" | "
		"sed 's/.*\"hash\":\"\\([0-9a-f]*\\)\"}$/\\1/')\" || exit 1; done <\"$0\"";
	char *const command[] = { shell, option, script, path, NULL };
	int status = -1;
	pid_t child;

	(void)state;
	write_log(3);
	assert_int_equal(posix_spawn(&child, "/bin/sh", NULL, NULL, command, environ), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void test_audit__an_error_with_an_implausible_time_gets_the_current_time(void **state)
{
	struct fw_audit *audit = opened(NULL);
	fw_error *failed = fw_raise_internal_unexpected(NULL);
	struct fw_audit_record entry = { .error = failed, .unix_ms = INT64_C(1768836730123) };
	char *text;

	(void)state;
	fw_error_set_time(failed, entry.unix_ms - 5000);
	must(fw_audit_append_wait(audit, &entry));
	fw_error_set_time(failed, entry.unix_ms - 50000);
	must(fw_audit_append_wait(audit, &entry));
	fw_error_set_time(failed, entry.unix_ms + 5000);
	must(fw_audit_append_wait(audit, &entry));
	fw_error_free(failed);
	assert_true(fw_audit_close(audit));
	text = read_all(path, NULL);
	assert_non_null(strstr(text, "{\"seq\":1,\"timestamp\":\"2026-01-19T15:32:05.123Z\""));
	assert_non_null(strstr(text, "{\"seq\":2,\"timestamp\":\"2026-01-19T15:32:10.123Z\""));
	assert_non_null(strstr(text, "{\"seq\":3,\"timestamp\":\"2026-01-19T15:32:10.123Z\""));
	free(text);
}

static void test_audit__scope_cause_and_trace_are_kept(void **state)
{
	static const char *const wanted[] = {
		"\"session_id\":\"550e8400-e29b-41d4-a716-446655440000\"",
		"\"role\":\"WINDSURF\"",
		"\"plan_hash\":\"abc123def456\"",
		"\"phase_id\":\"PHASE_5A\"",
		"\"invariant_id\":\"MANDATORY_DIAGNOSTICS\"",
		"\"workspace_root\":\"/home/user/project\"",
		"\"client\":\"agent-7\"",
		"\"trace_id\":\"4bf92f3577b34da6a3ce929d0e0e4736\"",
		"\"cause\":{\"message\":",
	};
	struct fw_audit *audit = opened(NULL);
	fw_error *failed = sample_error();
	struct fw_audit_record entry = { .error = failed, .tool_name = "search_text" };
	char *text;

	(void)state;
	must(fw_audit_append_wait(audit, &entry));
	entry = (struct fw_audit_record){
		.event = FW_AUDIT_CHANGE,
		.tool_name = "plan approve",
		.scope = { .trace_id =
				   "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" },
	};
	must(fw_audit_append_wait(audit, &entry));
	fw_error_free(failed);
	assert_true(fw_audit_close(audit));
	text = read_all(path, NULL);
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		if (!strstr(text, wanted[i]))
			fail_msg("no %s in %s", wanted[i], text);
	assert_non_null(strstr(text, "\"trace_id\":\"0af7651916cd43dd8448eb211c80319c\""));
	free(text);
	assert_whole(2);
}

static void test_audit__secrets_and_invalid_utf8_are_not_recorded(void **state)
{
	const struct fw_audit_options keep = { .keep_args = true };
	struct fw_audit *audit = opened(&keep);
	struct fw_audit_record entry = {
		.event = FW_AUDIT_CHANGE,
		.tool_name = "login password=hunter2hunter2",
		.scope = { .client = "bad\xff\x01" },
		.args = "{\"password\":\"hunter2\",\"note\":\"Bearer "
			"abcdefghijklmnopqrstuvwxyz012345\",\"n\":1}",
	};
	char *longest = malloc(5 * 1024 * 1024);
	char *text;

	(void)state;
	entry.args_len = strlen(entry.args);
	must(fw_audit_append_wait(audit, &entry));
	memset(longest, 'x', 5 * 1024 * 1024 - 1);
	longest[5 * 1024 * 1024 - 1] = '\0';
	entry.tool_name = longest;
	entry.args = NULL;
	must(fw_audit_append_wait(audit, &entry));
	/* Arguments that are too large to be kept are hashed. */
	longest[0] = longest[200000] = '"';
	entry.args = longest;
	entry.args_len = 200001;
	entry.tool_name = "large";
	must(fw_audit_append_wait(audit, &entry));
	assert_true(fw_audit_close(audit));
	text = read_all(path, NULL);
	assert_null(strstr(text, "hunter2"));
	assert_null(strstr(text, "abcdefghijklmnop"));
	assert_non_null(strstr(text, "\"args\":{\"password\":\"[redacted]\",\"note\":"));
	assert_true(strlen(text) < 8000);
	free(text);
	free(longest);
	assert_whole(3);
}

/* Ids in our own form are not looked at by the redaction; others are. */
static void test_audit__an_incident_id_is_written_as_it_is_and_a_secret_is_not(void **state)
{
	static const struct {
		const char *id, *written;
	} ids[] = {
		{ "inc_20260119_kvmu7foxzaharjhcxvelnf2jjt",
		  "\"incident_id\":\"inc_20260119_kvmu7foxzaharjhcxvelnf2jjt\"" },
		{ "inc_20260119_abcdefgh", "\"incident_id\":\"inc_20260119_abcdefgh\"" },
		{ "inc_2026011x_kvmu7foxzaharjhcxvelnf2jj\"",
		  "\"incident_id\":\"inc_2026011x_kvmu7foxzaharjhcxvelnf2jj\\\"\"" },
		{ "password=hunter2-and-some-more-of-it-123",
		  "\"incident_id\":\"password=[redacted]\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
		fw_error *failed = fw_raise_file_not_found("a");
		struct fw_audit_record entry = { .error = failed };
		char *text;

		fw_error_set_incident_id(failed, ids[i].id);
		text = line_of(&entry);
		if (!strstr(text, ids[i].written))
			fail_msg("%s: %s", ids[i].id, text);
		free(text);
		fw_error_free(failed);
		(void)unlink(path);
	}
}

/* Items are used again: nothing of the record before may be left in one. */
static void test_audit__a_short_record_after_long_ones_has_nothing_of_them(void **state)
{
	enum { ROUNDS = 6, RECORDS = 40 };
	struct fw_audit *audit = opened(NULL);
	char args[64], what[2][400];
	char *text, *line, *rest = NULL;
	unsigned count = 0;

	(void)state;
	memset(what[0], 'x', sizeof what[0]);
	what[0][sizeof what[0] - 1] = '\0';
	(void)snprintf(what[1], sizeof what[1], "short");
	for (unsigned i = 0; i < ROUNDS; i++) {
		fw_error *failed = fw_raise_file_not_found(what[i % 2]);
		struct fw_audit_record entry = { .error = failed };

		for (unsigned k = 1; k <= RECORDS; k++) {
			entry.args = k % 2 ? args : NULL;
			entry.args_len =
				k % 2 ? (size_t)snprintf(args, sizeof args, "[%u]", k) : 0;
			if (k < RECORDS)
				must(fw_audit_append(audit, &entry, NULL, NULL));
			else
				must(fw_audit_append_wait(audit, &entry));
		}
		fw_error_free(failed);
	}
	assert_true(fw_audit_close(audit));
	assert_whole(ROUNDS * RECORDS);
	text = read_all(path, NULL);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		bool is_long = count / RECORDS % 2 == 0;

		assert_int_equal(strstr(line, "xxxxxxxx") != NULL, is_long);
		assert_int_equal(strstr(line, "\"path\":\"short\"") != NULL, !is_long);
		assert_int_equal(strstr(line, "\"args_hash\":null") != NULL,
				 count % RECORDS % 2 == 1);
		count++;
	}
	assert_int_equal(count, ROUNDS * RECORDS);
	free(text);
}

static void test_audit__arguments_are_only_a_hash_unless_asked_for(void **state)
{
	char *text;

	(void)state;
	write_log(1);
	text = read_all(path, NULL);
	assert_null(strstr(text, "\"args\":"));
	/* printf '{"path":"a"}' | sha256sum */
	assert_non_null(strstr(
		text, "\"args_hash\":\""
		      "fde64ffe7a4a0bbd5d2fe2c294b795808c14bcb57a1d08f1c9dcd59871a020f4"));
	free(text);
}

/* ---- what a crash leaves ------------------------------------------------ */

/* The name of a file in the directory that has the word in it. */
static const char *find_beside(const char *word)
{
	static char found[256];
	DIR *dir = opendir(directory);
	const struct dirent *entry;

	assert_non_null(dir);
	found[0] = '\0';
	/* cppcheck-suppress readdirCalled ; one thread, one stream */
	while ((entry = readdir(dir)))
		if (strstr(entry->d_name, word))
			(void)snprintf(found, sizeof found, "%s", entry->d_name);
	(void)closedir(dir);
	return found;
}

static void test_audit__a_torn_last_line_is_set_aside(void **state)
{
	static const char *const torn[] = { "{\"seq\":3,\"timest", "{", "{\"seq\":3}\n", "\n\n",
					    "garbage" };

	for (size_t i = 0; i < sizeof torn / sizeof *torn; i++) {
		char name[400];
		char *text;
		size_t len;

		write_log(2);
		write_behind(path, torn[i], strlen(torn[i]));
		assert_int_not_equal(verified(false).fault, FW_AUDIT_WHOLE);
		write_log(1);
		assert_whole(4); /* the note is a record, too */
		(void)snprintf(name, sizeof name, "%s/%s", directory, find_beside(".torn-"));
		text = read_all(name, &len);
		assert_int_equal(len, strlen(torn[i]));
		assert_memory_equal(text, torn[i], len);
		free(text);
		text = read_all(path, NULL);
		assert_non_null(strstr(text, "\"event\":\"note\",\"reason\":\"torn line set "
					     "aside\",\"file\":\"audit-log.jsonl.torn-"));
		free(text);
		(void)teardown(state);
		(void)setup(state);
	}
}

static void test_audit__a_torn_first_line_and_zeros_are_set_aside(void **state)
{
	static const char zeros[5000];

	(void)state;
	write_all(path, "{\"se", 4);
	write_log(1);
	assert_whole(2);
	write_behind(path, zeros, sizeof zeros);
	write_log(1);
	assert_whole(4);
	assert_int_equal(unlink(path), 0);
	write_all(path, zeros, sizeof zeros);
	write_log(1);
	assert_whole(2);
}

static void test_audit__every_cut_of_the_last_line_starts_again(void **state)
{
	char *text;
	size_t len;
	size_t last;

	(void)state;
	write_log(2);
	text = read_all(path, &len);
	last = (size_t)((char *)memrchr(text, '\n', len - 1) - text) + 1;
	for (size_t cut = last; cut < len; cut += 7) {
		write_all(path, text, cut);
		write_log(1);
		assert_whole(cut == last ? 2 : 3);
	}
	free(text);
}

static void test_audit__a_log_removed_while_open_is_noted(void **state)
{
	struct fw_audit *audit = opened(NULL);

	(void)state;
	must(record(audit, "a"));
	must(record(audit, "b"));
	assert_int_equal(unlink(path), 0);
	must(record(audit, "c"));
	assert_int_equal(verified(false).fault, FW_AUDIT_NOT_FROM_START);
	assert_int_equal(verified(true).fault, FW_AUDIT_WHOLE);
	assert_int_equal(verified(true).first_seq, 3);
	assert_true(fw_audit_close(audit));
}

/* ---- rotation ----------------------------------------------------------- */

static void test_audit__rotation_carries_the_chain(void **state)
{
	const struct fw_audit_options small = { .rotate_bytes = 2000,
						.sync = FW_AUDIT_SYNC_OFF };
	struct fw_audit *audit = opened(&small);
	struct fw_audit_report report;
	unsigned first = 0;
	unsigned last = 0;
	char name[300];
	char *text;

	(void)state;
	for (int i = 0; i < 30; i++)
		must(record(audit, "a/b"));
	assert_true(fw_audit_close(audit));
	must(fw_audit_rotated_range(path, &first, &last));
	assert_int_equal(first, 1);
	assert_true(last >= 5);
	report = verified(false);
	assert_int_equal(report.fault, FW_AUDIT_WHOLE);
	assert_int_equal(report.files, last + 1);
	assert_int_equal(report.records, 30 + last);
	text = read_all(path, NULL);
	assert_non_null(strstr(text, "\"reason\":\"log rotated\",\"file\":\"audit-log.00000"));
	free(text);
	/* A missing file in the middle is reported. */
	assert_true(fw_audit_rotated_path(path, 3, name, sizeof name));
	assert_int_equal(unlink(name), 0);
	report = verified(false);
	assert_int_equal(report.fault, FW_AUDIT_BAD_SEQUENCE);
	assert_string_equal(report.file, "audit-log.000004.jsonl");
	assert_int_equal(report.line, 1);
	/* Missing oldest files are accepted only with `partial`. */
	for (unsigned i = 1; i <= 2; i++) {
		assert_true(fw_audit_rotated_path(path, i, name, sizeof name));
		assert_int_equal(unlink(name), 0);
	}
	assert_int_equal(verified(false).fault, FW_AUDIT_NOT_FROM_START);
	assert_int_equal(verified(true).fault, FW_AUDIT_WHOLE);
}

static void test_audit__a_crash_between_rename_and_creation_is_recovered_from(void **state)
{
	char name[300];

	(void)state;
	write_log(5);
	assert_true(fw_audit_rotated_path(path, 1, name, sizeof name));
	assert_int_equal(rename(path, name), 0);
	write_log(2);
	assert_whole(8);
}

/* ---- verifying ---------------------------------------------------------- */

static void test_audit__every_flipped_bit_is_found(void **state)
{
	bool is_long = getenv("FW_LONG") != NULL;
	char *text;
	size_t len;
	unsigned flips = 0;

	(void)state;
	write_log(is_long ? 5 : 2);
	text = read_all(path, &len);
	for (size_t at = 0; at < len; at++)
		for (int bit = 0; bit < 8; bit++) {
			struct fw_audit_report report;

			if (!is_long && bit != (int)(at % 8))
				continue;
			text[at] = (char)(text[at] ^ 1 << bit);
			write_all(path, text, len);
			report = verified(false);
			if (report.fault == FW_AUDIT_WHOLE)
				fail_msg("bit %d of byte %zu is not missed", bit, at);
			assert_true(report.reason[0] != '\0' && report.line > 0);
			text[at] = (char)(text[at] ^ 1 << bit);
			flips++;
		}
	write_all(path, text, len);
	assert_int_equal(verified(false).fault, FW_AUDIT_WHOLE);
	free(text);
	print_message("# %u flips of %zu bytes\n", flips, len);
}

/* Lines of `text`, with one left out, doubled, or exchanged with the next. */
static void test_audit__lines_removed_doubled_or_exchanged_are_found(void **state)
{
	static const enum fw_audit_fault wanted[] = { FW_AUDIT_NOT_FROM_START,
						      FW_AUDIT_BAD_SEQUENCE,
						      FW_AUDIT_BAD_SEQUENCE };
	static const int orders[][5] = { { 1, 2, -1 }, { 0, 0, 1, 2, -1 }, { 0, 2, 1, -1 } };
	const char *lines[3] = { "", "", "" };
	char *text;

	(void)state;
	write_log(3);
	text = read_all(path, NULL);
	for (const char *at = text, **line = lines; *at; at = strchr(at, '\n') + 1)
		*line++ = at;
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(unlink(path), 0);
		write_all(path, "", 0);
		for (const int *line = orders[i]; *line >= 0; line++)
			write_behind(path, lines[*line], strcspn(lines[*line], "\n") + 1);
		assert_int_equal(verified(false).fault, wanted[i]);
	}
	free(text);
}

static void test_audit__a_record_of_another_log_breaks_the_chain(void **state)
{
	struct fw_hasher *hasher;
	struct fw_audit_chain chain = { 1, "" };
	struct fw_buf line;
	size_t start;

	(void)state;
	write_log(1);
	hasher = fw_hasher_new();
	assert_non_null(hasher);
	fw_buf_init(&line, 10000);
	memset(chain.hash, 'a', FW_AUDIT_HASH_LEN);
	fw_audit_line_open(&line, &chain, &start);
	FW_BUF(&line, "\"event\":\"note\"");
	assert_true(fw_audit_line_seal(&line, start, hasher, &chain));
	write_behind(path, line.text, line.len);
	assert_int_equal(verified(false).fault, FW_AUDIT_BAD_CHAIN);
	assert_int_equal(verified(false).line, 2);
	fw_buf_clear(&line);
	fw_hasher_free(hasher);
}

static void test_audit__an_empty_log_is_intact(void **state)
{
	(void)state;
	write_log(0);
	assert_whole(0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_audit__##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_line_has_all_fields_in_their_order),
		TEST(a_line_says_what_failed_and_why),
		TEST(a_failure_always_names_a_tool),
		TEST(the_size_of_a_record_has_a_limit),
		TEST(the_hash_is_what_sha256sum_says),
		TEST(an_error_with_an_implausible_time_gets_the_current_time),
		TEST(scope_cause_and_trace_are_kept),
		TEST(secrets_and_invalid_utf8_are_not_recorded),
		TEST(an_incident_id_is_written_as_it_is_and_a_secret_is_not),
		TEST(a_short_record_after_long_ones_has_nothing_of_them),
		TEST(arguments_are_only_a_hash_unless_asked_for),
		TEST(a_torn_last_line_is_set_aside),
		TEST(a_torn_first_line_and_zeros_are_set_aside),
		TEST(every_cut_of_the_last_line_starts_again),
		TEST(a_log_removed_while_open_is_noted),
		TEST(rotation_carries_the_chain),
		TEST(a_crash_between_rename_and_creation_is_recovered_from),
		TEST(every_flipped_bit_is_found),
		TEST(lines_removed_doubled_or_exchanged_are_found),
		TEST(a_record_of_another_log_breaks_the_chain),
		TEST(an_empty_log_is_intact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
