/*
 * log_test.c - tests that there is one line per failure, that the rate limit works, and
 * that logging never blocks, for each kind of standard error.
 */
#include "observe/log/log.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>
#include <yyjson.h>

#include "observe/log/log_line.h"
#include "observe/log/log_rate.h"
#include "observe/log/log_sink.h"

#include <faultwire/faultwire.h>

#include "test/memory.h"

/* ---- a log into a pipe ------------------------------------------------------------------ */

static int ends[2];
static char said[1 << 20];

static void begin(enum fw_log_form form, fw_log_level level)
{
	struct fw_log_options options = { .form = form, .level = level };

	assert_int_equal(pipe(ends), 0);
	options.fd = ends[1];
	assert_null(fw_log_start(&options));
}

/* Stops the log. Its output is in `said`. */
static void end(void)
{
	size_t len = 0;
	ssize_t n;

	fw_log_stop();
	(void)close(ends[1]);
	while ((n = read(ends[0], said + len, sizeof said - 1 - len)) > 0)
		len += (size_t)n;
	said[len] = '\0';
	(void)close(ends[0]);
}

static size_t lines(void)
{
	size_t count = 0;

	for (const char *at = said; (at = strchr(at, '\n')); at++)
		count++;
	return count;
}

/* The member of line `index`, as JSON text. "" if it has none. */
static const char *member(size_t index, const char *key)
{
	static char text[4096];
	const char *line = said;
	yyjson_doc *doc;
	char *json;

	while (index--)
		line = strchr(line, '\n') + 1;
	doc = yyjson_read(line, (size_t)(strchr(line, '\n') - line), 0);
	assert_non_null(doc);
	json = yyjson_val_write(yyjson_obj_get(yyjson_doc_get_root(doc), key), 0, NULL);
	(void)snprintf(text, sizeof text, "%s", json ? json : "");
	free(json);
	yyjson_doc_free(doc);
	return text;
}

static void fail_with(fw_error *err, const char *operation)
{
	fw_outcome outcome = { .method = "tools/call",
			       .name = "open_file",
			       .error = err,
			       .duration_ns = 1234567 };
	fw_observer observer = fw_log_observer();

	fw_error_set_incident_id(err, "inc_20260115_x");
	fw_error_fill_scope(err, &(fw_scope){ .tool = "open_file",
					      .operation = operation,
					      .client = "c",
					      .session_id = "s" });
	observer.finished(observer.ctx, &outcome);
	fw_error_free(err);
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void test_log__a_failure_is_one_line_of_json(void **state)
{
	(void)state;
	begin(FW_LOG_JSON, FW_LOG_INFO);
	fail_with(fw_raise_input_invalid_value("limit", "at most 5"), NULL);
	end();
	assert_int_equal(lines(), 1);
	assert_string_equal(member(0, "level"), "\"warning\"");
	assert_string_equal(member(0, "component"), "\"faultwire\"");
	assert_string_equal(member(0, "operation"), "\"tools/call\"");
	assert_string_equal(member(0, "error_code"), "\"input.invalid_value\"");
	assert_string_equal(member(0, "incident_id"), "\"inc_20260115_x\"");
	assert_string_equal(member(0, "session"), "\"s\"");
	assert_string_equal(member(0, "client"), "\"c\"");
	assert_string_equal(member(0, "duration_ms"), "1.234");
	assert_string_equal(member(0, "message"), "\"limit must be at most 5\"");
	assert_string_equal(member(0, "context"),
			    "{\"field\":\"limit\",\"expected\":\"at most 5\"}");
	assert_int_equal(strlen(member(0, "time")), 26);
}

static void test_log__the_codeintel_contract_names_level_message_and_fields(void **state)
{
	(void)state;
	begin(FW_LOG_JSON, FW_LOG_INFO);
	fail_with(fw_raise_file_not_found("src/a.py"), "files:open_file");
	fail_with(fw_raise_internal_unexpected("KeyError"), "git:blame_range");
	fail_with(fw_raise_git_operation_failed("blame", "a.py", "bad revision"),
		  "git:blame_range");
	fail_with(fw_error_from_text(FW_HERE, "boom", 4), "git:blame_range");
	fail_with(fw_raise_internal_out_of_memory(), "search:text");
	end();
	assert_int_equal(lines(), 5);
	assert_string_equal(member(4, "level"), "\"error\"");
	assert_string_equal(member(4, "message"), "\"Unexpected error\"");
	assert_string_equal(member(4, "exception_type"), "\"internal.out_of_memory\"");
	assert_string_equal(member(3, "message"), "\"Unexpected error\"");
	assert_string_equal(member(3, "error"), "\"boom\"");
	assert_string_equal(member(3, "error_code"), "\"internal-error\"");
	assert_string_equal(member(0, "component"), "\"codeintel_mcp\"");
	assert_string_equal(member(0, "level"), "\"warning\"");
	assert_string_equal(member(0, "message"), "\"File not found\"");
	assert_string_equal(member(0, "error"), "\"File not found: src/a.py\"");
	assert_string_equal(member(0, "error_code"), "\"file-not-found\"");
	assert_string_equal(member(0, "operation"), "\"files:open_file\"");
	assert_string_equal(member(1, "level"), "\"error\"");
	assert_string_equal(member(1, "message"), "\"Unexpected error\"");
	assert_string_equal(member(1, "exception_type"), "\"KeyError\"");
	assert_non_null(strstr(member(1, "trail"), "log_test.c"));
	assert_string_equal(member(2, "error_code"), "\"git-operation-error\"");
	assert_non_null(strstr(member(2, "context"), "a.py"));
}

static void test_log__lower_levels_are_not_logged(void **state)
{
	fw_outcome fine = { .method = "tools/call", .name = "x", .duration_ns = 1 };
	fw_observer observer = fw_log_observer();

	(void)state;
	begin(FW_LOG_JSON, FW_LOG_WARNING);
	observer.finished(observer.ctx, &fine);
	fw_log_event(FW_LOG_INFO, "faultwire", "quiet", NULL, 0);
	fw_log_event(FW_LOG_WARNING, "faultwire", "loud", NULL, 0);
	end();
	assert_int_equal(lines(), 1);
	assert_string_equal(member(0, "event"), "\"loud\"");
	begin(FW_LOG_JSON, FW_LOG_DEBUG);
	observer.finished(observer.ctx, &fine);
	end();
	assert_int_equal(lines(), 1);
	assert_string_equal(member(0, "event"), "\"call\"");
}

static void test_log__a_flood_is_suppressed_and_counted(void **state)
{
	size_t told = 0;
	yyjson_doc *doc;

	(void)state;
	begin(FW_LOG_JSON, FW_LOG_INFO);
	for (int i = 0; i < 1000; i++)
		fw_log_event(FW_LOG_INFO, "faultwire", "flood", NULL, 0);
	fw_log_event(FW_LOG_INFO, "faultwire", "other", NULL, 0);
	end();
	assert_true(lines() < 200);
	for (char *line = strtok_r(said, "\n", &(char *){ NULL }); line;) {
		char *next = line + strlen(line) + 1;

		doc = yyjson_read(line, strlen(line), 0);
		assert_non_null(doc);
		if (yyjson_equals_str(yyjson_obj_get(yyjson_doc_get_root(doc), "event"),
				      "flood"))
			told++;
		told += yyjson_get_uint(yyjson_obj_get(yyjson_doc_get_root(doc), "held_back"));
		yyjson_doc_free(doc);
		line = *next ? next : NULL;
		if (line)
			line[strcspn(line, "\n")] = '\0';
	}
	assert_int_equal(told, 1000);
}

static void test_log__lines_have_a_burst_and_a_rate(void **state)
{
	static struct fw_log_rates rates;
	static const char name[] = "a.code";
	uint64_t held = 99;
	size_t passed = 0;
	bool is_left;

	(void)state;
	for (int i = 0; i < 50; i++)
		passed += fw_log_rate_take(&rates, name, 1000, &held);
	assert_int_equal(passed, 20);
	assert_false(fw_log_rate_take(&rates, name, 1099, &held));
	assert_true(fw_log_rate_take(&rates, name, 1100, &held));
	assert_int_equal(held, 31);
	assert_false(fw_log_rate_take(&rates, name, 1100, &held));
	passed = 0;
	for (int64_t now = 1101; now <= 11150; now++)
		passed += fw_log_rate_take(&rates, name, now, &held);
	assert_int_equal(passed, 100);
	/* Another name has its own bucket. */
	assert_true(fw_log_rate_take(&rates, "another", 1100, &held));
	assert_null(fw_log_rate_due(&rates, 11151, &held, &is_left));
	assert_true(is_left);
	assert_ptr_equal(fw_log_rate_due(&rates, 12150, &held, &is_left), name);
	assert_null(fw_log_rate_due(&rates, 12150, &held, &is_left));
	assert_false(is_left);
}

static void test_log__more_names_than_buckets_share_them(void **state)
{
	static struct fw_log_rates rates;
	static char names[2 * FW_LOG_BUCKETS][16];
	uint64_t held;

	(void)state;
	for (size_t i = 0; i < 2 * FW_LOG_BUCKETS; i++)
		assert_true(fw_log_rate_take(&rates, names[i], 1000, &held));
}

static void test_log__secrets_are_redacted(void **state)
{
	(void)state;
	begin(FW_LOG_JSON, FW_LOG_INFO);
	fw_log_event(FW_LOG_INFO, "faultwire", "a",
		     (const fw_field[]){ fw_log_text("url", "https://u:hunter2@h/"),
					 fw_log_text("password", "hunter2"),
					 fw_log_text("nothing", NULL), fw_log_number("n", 5) },
		     4);
	end();
	assert_null(strstr(said, "hunter2"));
	assert_string_equal(member(0, "context"),
			    "{\"url\":\"https://[redacted]@h/\",\"password\":\"[redacted]\","
			    "\"n\":5}");
}

static void test_log__text_for_a_terminal_has_no_control_characters(void **state)
{
	(void)state;
	begin(FW_LOG_PLAIN, FW_LOG_INFO);
	fail_with(fw_raise_file_not_found("a\033[2Jb\nc"), NULL);
	end();
	assert_int_equal(lines(), 1);
	assert_null(strchr(said, '\033'));
	assert_non_null(strstr(said, "warning  File not found: a?[2Jb c -- tools/call")
				? said
				: strstr(said, "File not found: a?[2Jb c"));
}

static void test_log__text_for_a_terminal_has_no_c1_or_bidi_characters(void **state)
{
	static const char *const never[] = { "\xc2\x9b",     "\xe2\x80\xae", "\xe2\x80\x8b",
					     "\xe2\x80\xa8", "\xe2\x81\xa6", "\xef\xbb\xbf" };

	(void)state;
	begin(FW_LOG_PLAIN, FW_LOG_INFO);
	fail_with(fw_raise_file_not_found("a\xc2\x9b"
					  "2Jb\xe2\x80\xae"
					  "c\xe2\x80\x8b"
					  "d\xe2\x80\xa8"
					  "e\xe2\x81\xa6"
					  "f\xef\xbb\xbf\xc3\xa9"),
		  NULL);
	end();
	assert_int_equal(lines(), 1);
	for (size_t i = 0; i < sizeof never / sizeof *never; i++)
		assert_null(strstr(said, never[i]));
	assert_non_null(strstr(said, "a?2Jb?c?d?e?f?\xc3\xa9"));
}

static void test_log__a_key_is_redacted_before_a_long_text_is_cut(void **state)
{
	static char text[8192];
	size_t len = (size_t)snprintf(text, sizeof text,
				      "%3900s-----BEGIN RSA PRI"
				      "VATE KEY-----\n",
				      "x");

	(void)state;
	for (int i = 0; i < 50; i++)
		len += (size_t)snprintf(
			text + len, sizeof text - len,
			"qZkX3vTn8RwYb2LmPdHs7CgJf5UaEo1KiVx9NtBcDrMyWz4Gh6QSl0\n");
	begin(FW_LOG_JSON, FW_LOG_INFO);
	fw_log_event(FW_LOG_WARNING, "faultwire", "test",
		     (const fw_field[]){ fw_log_text("text", text) }, 1);
	fail_with(fw_error_wrap(fw_raise_file_not_found("a"), FW_HERE, "%s", text + 3000),
		  NULL);
	end();
	assert_null(strstr(said, "qZkX3vTn8"));
	assert_null(strstr(said, "BEGIN RSA"));
}

static void test_log__a_full_pipe_does_not_block(void **state)
{
	struct fw_log_options options = { .form = FW_LOG_JSON, .level = FW_LOG_INFO };
	char text[2048];
	uint64_t before = fw_log_lost();

	(void)state;
	memset(text, 'x', sizeof text);
	text[sizeof text - 1] = '\0';
	assert_int_equal(pipe(ends), 0);
	options.fd = ends[1];
	assert_null(fw_log_start(&options));
	/* With different names, because the rate limit would suppress them otherwise. */
	for (int i = 0; i < 4000; i++) {
		static char names[200][16];

		fw_log_event(FW_LOG_INFO, "faultwire", names[i % 200],
			     (const fw_field[]){ fw_log_text("text", text) }, 1);
	}
	assert_true(fw_log_lost() > before);
	/* The log stops even if nothing reads its output. */
	fw_log_stop();
	/* The descriptor is not closed, and its flags are unchanged. */
	assert_false(fcntl(ends[1], F_GETFL) & O_NONBLOCK);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

/* ---- a log in a file -------------------------------------------------------------------- */

/* Opens a file without a name, and a sink for it. */
static int open_file(struct fw_log_sink *sink)
{
	static const atomic_bool is_ending;
	struct fw_log_options options = { .form = FW_LOG_JSON };
	char path[] = "/tmp/fw-log-XXXXXX";

	options.fd = mkstemp(path);
	assert_true(options.fd >= 0);
	(void)unlink(path);
	assert_null(fw_log_sink_open(sink, &options, FW_LOG_JSON, &is_ending));
	return options.fd;
}

static void assert_content(int fd, const char *expected)
{
	ssize_t n = pread(fd, said, sizeof said - 1, 0);

	assert_true(n >= 0);
	said[n] = '\0';
	assert_int_equal(n, strlen(expected));
	assert_string_equal(said, expected);
}

static void test_log__a_file_that_is_truncated_has_no_hole(void **state)
{
	struct fw_log_sink sink;
	int fd = open_file(&sink);

	(void)state;
	assert_true(fw_log_sink_write(&sink, "one\n", 4));
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_true(fw_log_sink_write(&sink, "two\n", 4));
	assert_content(fd, "two\n");
	fw_log_sink_close(&sink);
	(void)close(fd);
}

static void test_log__a_line_that_a_full_disk_has_cut_does_not_spoil_the_next(void **state)
{
	struct rlimit old, small;
	struct fw_log_sink sink;
	int fd = open_file(&sink);

	(void)state;
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = old;
	small.rlim_cur = 6;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_false(fw_log_sink_write(&sink, "one\ntwo\n", 8));
	assert_false(fw_log_sink_write(&sink, "lost\n", 5));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_true(fw_log_sink_write(&sink, "three\n", 6));
	assert_true(fw_log_sink_write(&sink, "four\n", 5));
	assert_content(fd, "one\ntw\nthree\nfour\n");
	fw_log_sink_close(&sink);
	(void)close(fd);
	(void)signal(SIGXFSZ, SIG_DFL);
}

static void test_log__a_closed_pipe_does_not_end_the_process(void **state)
{
	struct fw_log_options options = { .form = FW_LOG_JSON, .level = FW_LOG_INFO };
	uint64_t before = fw_log_lost();

	(void)state;
	assert_int_equal(pipe(ends), 0);
	(void)close(ends[0]);
	options.fd = ends[1];
	assert_null(fw_log_start(&options));
	fw_log_event(FW_LOG_INFO, "faultwire", "a", NULL, 0);
	fw_log_stop();
	assert_int_equal(fw_log_lost(), before + 1);
	(void)close(ends[1]);
	options.fd = 987; /* closed */
	assert_null(fw_log_start(&options));
	fw_log_event(FW_LOG_INFO, "faultwire", "a", NULL, 0);
	fw_log_stop();
	assert_int_equal(fw_log_lost(), before + 2);
}

static void test_log__journald_gets_fields_by_its_own_protocol(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct fw_log_options options = { .form = FW_LOG_JOURNALD, .level = FW_LOG_INFO };
	char datagram[8192];
	ssize_t len;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)state;
	(void)snprintf(address.sun_path, sizeof address.sun_path, "/tmp/fw-journal-%d",
		       (int)getpid());
	(void)unlink(address.sun_path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
	options.journal = address.sun_path;
	assert_null(fw_log_start(&options));
	fail_with(fw_raise_file_not_found("a\nb"), NULL);
	fw_log_stop();
	len = recv(fd, datagram, sizeof datagram - 1, MSG_DONTWAIT);
	assert_true(len > 0);
	for (ssize_t i = 0; i < len; i++)
		if (!datagram[i])
			datagram[i] = '.'; /* of the length */
	datagram[len] = '\0';
	assert_non_null(strstr(datagram, "PRIORITY=4\nSYSLOG_IDENTIFIER=faultwire\n"));
	assert_non_null(strstr(datagram, "\nERROR_CODE=file.not_found\n"));
	assert_non_null(strstr(datagram, "\nMESSAGE\n\x13.......File not found: a\nb\n"));
	(void)close(fd);
	(void)unlink(address.sun_path);
	/* There is none. */
	fw_error *err = fw_log_start(&options);

	assert_non_null(err);
	fw_error_free(err);
}

static void test_log__without_a_start_lines_are_discarded(void **state)
{
	const struct fw_log_options off = { .form = FW_LOG_OFF };

	(void)state;
	fw_log_event(FW_LOG_CRITICAL, "faultwire", "a", NULL, 0);
	fw_log_stop();
	assert_null(fw_log_start(&off));
	fail_with(fw_raise_file_not_found("a"), NULL);
	fw_log_stop();
}

static void log_something(enum fw_log_form form)
{
	const fw_field fields[] = { fw_log_text("path", "/a"), fw_log_number("count", 7) };
	struct fw_log_options options = { .form = form, .level = FW_LOG_DEBUG };
	fw_error *err;

	assert_int_equal(pipe(ends), 0);
	options.fd = ends[1];
	err = fw_log_start(&options);
	if (err) {
		assert_int_equal(fw_error_code(err), FW_INTERNAL_OUT_OF_MEMORY);
		fw_error_free(err);
	} else {
		fw_log_event(FW_LOG_NOTICE, "faultwire", "test_event", fields, 2);
		fail_with(fw_raise_file_not_found("a"), "files:open");
	}
	end();
	/* Lines may be missing, but none is cut. */
	assert_true(!said[0] || said[strlen(said) - 1] == '\n');
	for (size_t i = 0; form == FW_LOG_JSON && i < lines(); i++)
		assert_true(member(i, "event")[0] || member(i, "level")[0]);
}

static void log_json(void)
{
	log_something(FW_LOG_JSON);
}

static void log_text(void)
{
	log_something(FW_LOG_PLAIN);
}

static void test_log__without_memory_lines_are_whole_or_missing(void **state)
{
	(void)state;
	each_allocation_fails(log_json);
	each_allocation_fails(log_text);
}

static int no_error_is_left(void **state)
{
	(void)state;
	return fw_error_live() == 0 ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_log__a_failure_is_one_line_of_json),
		cmocka_unit_test(
			test_log__the_codeintel_contract_names_level_message_and_fields),
		cmocka_unit_test(test_log__lower_levels_are_not_logged),
		cmocka_unit_test(test_log__a_flood_is_suppressed_and_counted),
		cmocka_unit_test(test_log__lines_have_a_burst_and_a_rate),
		cmocka_unit_test(test_log__more_names_than_buckets_share_them),
		cmocka_unit_test(test_log__secrets_are_redacted),
		cmocka_unit_test(test_log__text_for_a_terminal_has_no_control_characters),
		cmocka_unit_test(test_log__text_for_a_terminal_has_no_c1_or_bidi_characters),
		cmocka_unit_test(test_log__a_key_is_redacted_before_a_long_text_is_cut),
		cmocka_unit_test(test_log__a_full_pipe_does_not_block),
		cmocka_unit_test(test_log__a_file_that_is_truncated_has_no_hole),
		cmocka_unit_test(
			test_log__a_line_that_a_full_disk_has_cut_does_not_spoil_the_next),
		cmocka_unit_test(test_log__a_closed_pipe_does_not_end_the_process),
		cmocka_unit_test(test_log__journald_gets_fields_by_its_own_protocol),
		cmocka_unit_test(test_log__without_a_start_lines_are_discarded),
		cmocka_unit_test(test_log__without_memory_lines_are_whole_or_missing),
	};

	(void)signal(SIGPIPE, SIG_DFL);
	return cmocka_run_group_tests(tests, NULL, no_error_is_left);
}
