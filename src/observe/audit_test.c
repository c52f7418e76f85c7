/*
 * audit_test.c - the log as a whole, on a real disk: what is written, what a
 * crash leaves, what verifying finds, and what happens when nothing can be
 * written.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/contract/support.h"

#include "base/limits.h"
#include "observe/audit_impl.h"

static char directory[64];
static char path[128];

/* ---- a place of its own for each test ---------------------------------- */

static int setup(void **state)
{
	(void)state;
	(void)snprintf(directory, sizeof directory, "/tmp/fw-audit-XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	(void)snprintf(path, sizeof path, "%s/audit-log.jsonl", directory);
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof command, "rm -rf '%s'", directory);
	return system(command) == 0 && fw_error_live() == 0 ? 0 : -1;
}

static char *read_all(const char *name, size_t *ret_len)
{
	int fd = open(name, O_RDONLY);
	struct stat info;
	char *text;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &info), 0);
	text = malloc((size_t)info.st_size + 1);
	assert_non_null(text);
	assert_int_equal(read(fd, text, (size_t)info.st_size), info.st_size);
	text[info.st_size] = '\0';
	(void)close(fd);
	if (ret_len)
		*ret_len = (size_t)info.st_size;
	return text;
}

static void write_all(const char *name, const char *text, size_t len)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	(void)close(fd);
}

static void write_behind(const char *name, const char *text, size_t len)
{
	int fd = open(name, O_WRONLY | O_APPEND);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	(void)close(fd);
}

static struct fw_audit *opened(const struct fw_audit_options *options)
{
	struct fw_audit *audit = NULL;
	fw_error *err = fw_audit_open(path, options, &audit);

	if (err)
		fail_msg("%s", fw_error_message(err));
	return audit;
}

/* A failure, recorded. */
static fw_error *record(struct fw_audit *audit, const char *what)
{
	fw_error *failed = fw_raise_file_not_found(what);
	struct fw_audit_record entry = { .error = failed, .tool_name = "read_file" };
	fw_error *err;

	entry.unix_ms = INT64_C(1768836730123);
	fw_error_set_incident_id(failed, "inc_20260119_abcdefgh");
	entry.args = "{\"path\":\"a\"}";
	entry.args_len = strlen(entry.args);
	err = fw_audit_append_wait(audit, &entry);
	fw_error_free(failed);
	return err;
}

static void must(fw_error *err)
{
	if (err)
		fail_msg("%s", fw_error_message(err));
}

static struct fw_audit_report verified(bool partial)
{
	struct fw_audit_verify_options options = { .partial = partial };
	struct fw_audit_report report;

	must(fw_audit_verify(path, &options, &report));
	return report;
}

static void assert_whole(uint64_t records)
{
	struct fw_audit_report report = verified(false);

	if (report.fault != FW_AUDIT_WHOLE)
		fail_msg("%s:%llu: %s: %s", report.file, (unsigned long long)report.line,
			 fw_audit_fault_name(report.fault), report.reason);
	assert_int_equal(report.records, records);
	assert_int_equal(report.last_seq, records);
}

static void write_log(unsigned records)
{
	struct fw_audit *audit = opened(NULL);

	for (unsigned i = 0; i < records; i++)
		must(record(audit, "a/b"));
	assert_true(fw_audit_close(audit));
}

/* ---- what is written ---------------------------------------------------- */

static void test_audit__a_line_has_all_fields_in_their_order(void **state)
{
	static const char expected[] =
		"{\"seq\":1,\"timestamp\":\"2026-01-19T15:32:10.123Z\",\"event\":\"failure\","
		"\"tool_name\":\"read_file\",\"error_code\":\"FILE_NOT_FOUND\","
		"\"code\":\"file.not_found\",\"invariant_id\":null,\"plan_hash\":null,"
		"\"phase_id\":null,\"session_id\":null,\"role\":null,\"workspace_root\":null,"
		"\"client\":null,\"incident_id\":\"inc_20260119_abcdefgh\",\"trace_id\":null,"
		"\"cause\":null,\"args_hash\":"
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

static void test_audit__the_hash_is_what_sha256sum_says(void **state)
{
	char command[512];

	(void)state;
	write_log(3);
	(void)snprintf(command, sizeof command,
		       "while IFS= read -r line; do "
		       "printf '%%s' \"$line\" | sed 's/,\"hash\":\"[0-9a-f]*\"}$/}/' | "
		       "sha256sum | cut -c -64 | grep -qF \"$(printf '%%s' \"$line\" | "
		       "sed 's/.*\"hash\":\"\\([0-9a-f]*\\)\"}$/\\1/')\" || exit 1; "
		       "done <'%s'",
		       path);
	assert_int_equal(system(command), 0);
}

static void test_audit__an_error_that_brings_another_time_is_recorded_now(void **state)
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

static void test_audit__secrets_and_bytes_that_are_no_text_never_arrive(void **state)
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

static char *find_beside(const char *word)
{
	static char found[300];
	char command[200];
	FILE *list;

	(void)snprintf(command, sizeof command, "ls '%s' | grep -F '%s'", directory, word);
	list = popen(command, "r");
	assert_non_null(list);
	found[0] = '\0';
	if (!fgets(found, sizeof found, list))
		found[0] = '\0';
	found[strcspn(found, "\n")] = '\0';
	(void)pclose(list);
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

static void test_audit__a_log_removed_or_cut_while_open_shows(void **state)
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
	assert_int_equal(truncate(path, 0), 0);
	must(record(audit, "d"));
	assert_int_equal(verified(true).first_seq, 5);
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
	/* A file in the middle is gone: that shows. */
	assert_true(fw_audit_rotated_path(path, 3, name, sizeof name));
	assert_int_equal(unlink(name), 0);
	report = verified(false);
	assert_int_equal(report.fault, FW_AUDIT_BAD_SEQUENCE);
	assert_string_equal(report.file, "audit-log.000004.jsonl");
	assert_int_equal(report.line, 1);
	/* The oldest are elsewhere: so only if one says so. */
	for (unsigned i = 1; i <= 2; i++) {
		assert_true(fw_audit_rotated_path(path, i, name, sizeof name));
		assert_int_equal(unlink(name), 0);
	}
	assert_int_equal(verified(false).fault, FW_AUDIT_NOT_FROM_START);
	assert_int_equal(verified(true).fault, FW_AUDIT_WHOLE);
}

static void test_audit__a_crash_between_rename_and_creation_is_healed(void **state)
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

			if (!is_long && bit % 3 != (int)(at % 3))
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
	char *lines[3];
	char *text;

	(void)state;
	write_log(3);
	text = read_all(path, NULL);
	for (char *at = text, **line = lines; *at; at = strchr(at, '\n') + 1)
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

static void test_audit__an_empty_log_is_whole(void **state)
{
	(void)state;
	write_log(0);
	assert_whole(0);
}

/* ---- many at once ------------------------------------------------------- */

static void *append_many(void *ctx)
{
	struct fw_audit *audit = ctx;

	for (int i = 0; i < 20; i++)
		must(record(audit, "a/b"));
	return NULL;
}

static void test_audit__concurrent_records_share_syncs(void **state)
{
	struct fw_audit *audit = opened(NULL);
	struct fw_audit_health health;
	pthread_t threads[16];

	(void)state;
	for (size_t i = 0; i < 16; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, append_many, audit), 0);
	for (size_t i = 0; i < 16; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	fw_audit_health(audit, &health);
	assert_int_equal(health.records, 320);
	assert_true(health.syncs < 320);
	assert_true(fw_audit_close(audit));
	assert_whole(320);
}

static void test_audit__processes_share_a_log_without_gaps(void **state)
{
	pid_t children[3];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		children[i] = fork();
		assert_true(children[i] >= 0);
		if (children[i] == 0) {
			const struct fw_audit_options small = { .rotate_bytes = 20000 };
			struct fw_audit *audit = NULL;
			fw_error *err = fw_audit_open(path, &small, &audit);

			for (int n = 0; n < 60 && !err; n++)
				err = record(audit, "a/b");
			_exit(err || !fw_audit_close(audit));
		}
	}
	for (size_t i = 0; i < 3; i++) {
		int status = -1;

		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
	{
		struct fw_audit_report report = verified(false);

		assert_int_equal(report.fault, FW_AUDIT_WHOLE);
		assert_true(report.files > 3);
		assert_int_equal(report.records, 180 + report.files - 1);
	}
}

static void test_audit__a_move_sends_what_comes_later_elsewhere(void **state)
{
	struct fw_audit *audit = opened(NULL);
	char other[200];
	char *text;

	(void)state;
	(void)snprintf(other, sizeof other, "%s/other.jsonl", directory);
	for (int round = 0; round < 3; round++) {
		must(record(audit, "a"));
		must(fw_audit_move(audit, other));
		must(record(audit, "b"));
		must(record(audit, "b"));
		must(fw_audit_move(audit, path));
	}
	assert_true(fw_audit_close(audit));
	assert_whole(3);
	text = read_all(other, NULL);
	assert_non_null(strstr(text, "\"seq\":6,"));
	assert_null(strstr(text, "\"seq\":7,"));
	free(text);
}

/* ---- when it cannot be written ------------------------------------------ */

static void assert_refused(const char *where, const char *cause)
{
	struct fw_audit *audit = NULL;
	fw_error *err = fw_audit_open(where, NULL, &audit);
	char text[1000];

	assert_non_null(err);
	assert_string_equal(fw_error_name(err), "audit.log_failed");
	(void)fw_error_text(err, text, sizeof text);
	if (!strstr(text, cause))
		fail_msg("no \"%s\" in: %s", cause, text);
	fw_error_free(err);
}

static void test_audit__what_can_never_be_a_log_is_refused(void **state)
{
	char name[200];
	char target[200];
	char *text;

	(void)state;
	(void)snprintf(name, sizeof name, "%s/none/audit-log.jsonl", directory);
	assert_refused(name, "no such file");
	assert_refused(directory, "is a directory");
	(void)snprintf(name, sizeof name, "%s/fifo", directory);
	assert_int_equal(mkfifo(name, 0600), 0);
	assert_refused(name, "not a regular file");
	(void)snprintf(target, sizeof target, "%s/target", directory);
	(void)snprintf(name, sizeof name, "%s/link", directory);
	assert_int_equal(symlink(target, name), 0);
	assert_refused(name, "symbolic link");
	write_all(target, "dear diary\n", 11);
	assert_refused(name, "symbolic link");
	assert_refused(target, "not an audit log");
	text = read_all(target, NULL);
	assert_string_equal(text, "dear diary\n");
	free(text);
}

static void test_audit__a_lock_that_is_held_is_waited_for_and_told(void **state)
{
	const struct fw_audit_options hasty = { .lock_ms = 20 };
	struct fw_audit *audit;
	fw_error *err;
	int fd;

	(void)state;
	write_log(1);
	fd = open(path, O_RDWR);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	audit = opened(&hasty);
	assert_false(fw_audit_is_up(audit));
	err = record(audit, "a");
	assert_non_null(err);
	assert_string_equal(fw_error_name(err), "audit.lock_failed");
	fw_error_free(err);
	assert_int_equal(flock(fd, LOCK_UN), 0);
	must(record(audit, "b"));
	assert_true(fw_audit_is_up(audit));
	/* The next one, without anybody asking. */
	assert_int_equal(flock(fd, LOCK_EX), 0);
	fw_error_free(record(audit, "c"));
	assert_false(fw_audit_is_up(audit));
	(void)close(fd);
	for (int i = 0; i < 100 && !fw_audit_is_up(audit); i++)
		(void)usleep(50000);
	assert_true(fw_audit_is_up(audit));
	assert_true(fw_audit_close(audit));
	assert_whole(4);
}

static bool has_errno(const fw_error *err, const char *name)
{
	fw_cause cause;

	for (size_t i = 0; fw_error_cause(err, i, &cause); i++)
		if (cause.code && strcmp(cause.code, name) == 0)
			return true;
	return false;
}

static void set_file_limit(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_audit__a_full_disk_leaves_no_half_line_and_is_recovered_from(void **state)
{
	struct fw_audit *audit;
	struct fw_audit_health health;
	uint64_t written = 0;
	fw_error *err = NULL;
	struct stat info;
	char *text;

	(void)state;
	audit = opened(NULL);
	set_file_limit(3000);
	while (!(err = record(audit, "a/b")))
		written++;
	assert_string_equal(fw_error_name(err), "audit.log_failed");
	assert_true(fw_error_has_code(err, "file.write_failed"));
	assert_true(has_errno(err, "EFBIG"));
	fw_error_free(err);
	assert_true(written >= 3);
	assert_false(fw_audit_is_up(audit));
	assert_whole(written);
	fw_audit_health(audit, &health);
	assert_string_equal(health.failure, "EFBIG");
	assert_int_equal(health.lost, 1);
	fw_error_free(record(audit, "c"));
	set_file_limit(RLIM_INFINITY);
	must(record(audit, "d"));
	assert_true(fw_audit_is_up(audit));
	assert_true(fw_audit_close(audit));
	assert_whole(written + 2);
	text = read_all(path, NULL);
	assert_non_null(strstr(text, "\"reason\":\"writing resumed\",\"since\":\"2"));
	assert_non_null(strstr(text, "\"lost\":2,\"failure\":\"EFBIG\""));
	free(text);
	assert_int_equal(stat(path, &info), 0);
}

static void test_audit__a_lost_directory_is_down_until_it_is_back(void **state)
{
	struct fw_audit *audit = opened(NULL);
	char moved[200];
	fw_error *err;

	(void)state;
	must(record(audit, "a"));
	(void)snprintf(moved, sizeof moved, "%s-moved", directory);
	assert_int_equal(rename(directory, moved), 0);
	err = record(audit, "b");
	assert_non_null(err);
	assert_true(has_errno(err, "ENOENT"));
	fw_error_free(err);
	assert_int_equal(rename(moved, directory), 0);
	must(record(audit, "c"));
	assert_true(fw_audit_close(audit));
	assert_whole(3);
}

/* ---- memory ------------------------------------------------------------- */

/* The thread takes memory, too: counted by both, but never at once. */
static void open_append_and_verify(void)
{
	struct fw_audit *audit = NULL;
	struct fw_audit_report report;
	fw_error *err = fw_audit_open(path, NULL, &audit);

	assert_true(!err == !!audit);
	if (!err) {
		fw_error_free(record(audit, "a/b"));
		fw_error_free(fw_audit_move(audit, path));
		assert_true(fw_audit_close(audit));
	}
	fw_error_free(err);
	fw_error_free(fw_audit_verify(path, NULL, &report));
}

static void test_audit__survives_every_allocation_failure(void **state)
{
	size_t at = 1;

	(void)memory_setup(state);
	for (int on = 0; on < 2; on++)
		for (at = 1;; at++) {
			long live = fw_error_live();

			memory.calls = 0;
			memory.failed = false;
			memory.fail_on = on;
			memory.fail_at = at;
			open_append_and_verify();
			memory.fail_at = 0;
			assert_int_equal(memory.blocks, 0);
			assert_int_equal(fw_error_live(), live);
			if (!memory.failed)
				break;
			assert_true(at < 1000);
		}
	assert_int_equal(memory_teardown(state), 0);
	/* Whatever was refused, what is in the log is whole. */
	assert_int_equal(verified(false).fault, FW_AUDIT_WHOLE);
	print_message("# %zu allocations\n", at - 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_audit__##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_line_has_all_fields_in_their_order),
		TEST(the_hash_is_what_sha256sum_says),
		TEST(an_error_that_brings_another_time_is_recorded_now),
		TEST(scope_cause_and_trace_are_kept),
		TEST(secrets_and_bytes_that_are_no_text_never_arrive),
		TEST(arguments_are_only_a_hash_unless_asked_for),
		TEST(a_torn_last_line_is_set_aside),
		TEST(a_torn_first_line_and_zeros_are_set_aside),
		TEST(every_cut_of_the_last_line_starts_again),
		TEST(a_log_removed_or_cut_while_open_shows),
		TEST(rotation_carries_the_chain),
		TEST(a_crash_between_rename_and_creation_is_healed),
		TEST(every_flipped_bit_is_found),
		TEST(lines_removed_doubled_or_exchanged_are_found),
		TEST(a_record_of_another_log_breaks_the_chain),
		TEST(an_empty_log_is_whole),
		TEST(concurrent_records_share_syncs),
		TEST(processes_share_a_log_without_gaps),
		TEST(a_move_sends_what_comes_later_elsewhere),
		TEST(what_can_never_be_a_log_is_refused),
		TEST(a_lock_that_is_held_is_waited_for_and_told),
		TEST(a_full_disk_leaves_no_half_line_and_is_recovered_from),
		TEST(a_lost_directory_is_down_until_it_is_back),
		TEST(survives_every_allocation_failure),
	};

	(void)signal(SIGXFSZ, SIG_DFL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
