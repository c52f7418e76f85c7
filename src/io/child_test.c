/*
 * child_test.c - real programs on the loop: their lines and how they exit.
 */
#include "io/child.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <faultwire/raise.h>

#include "io/child_impl.h"

/* What a child reported, in order: "line|", "broken!|", "closed|", "exit 0|". */
struct seen {
	struct fw_loop loop;
	struct fw_child *child;
	char text[4096];
	size_t lines;
	bool frees_at_line;
	bool ends_input_at_line;
};

static void note(struct seen *seen, const char *text, size_t len, const char *tail)
{
	size_t at = strlen(seen->text);

	snprintf(seen->text + at, sizeof seen->text - at, "%.*s%s|", (int)(len < 80 ? len : 80),
		 text, tail);
}

static void see_line(void *ctx, const char *text, size_t len)
{
	struct seen *seen = ctx;

	seen->lines++;
	note(seen, text, len, "");
	if (seen->ends_input_at_line)
		fw_child_end_input(seen->child);
	if (seen->frees_at_line) {
		fw_child_free(seen->child);
		seen->child = NULL;
	}
}

static void see_broken(void *ctx, const char *text, size_t len, bool is_too_long)
{
	note(ctx, text, len, is_too_long ? "!long" : "!cut");
}

static void see_closed(void *ctx)
{
	note(ctx, "closed", 6, "");
}

static void see_exit(void *ctx, int status, int signum)
{
	char text[32];

	snprintf(text, sizeof text, signum ? "signal %d" : "exit %d", signum ? signum : status);
	note(ctx, text, strlen(text), "");
}

static void see_unsent(void *ctx, uint64_t from)
{
	char text[32];

	snprintf(text, sizeof text, "unsent from %u", (unsigned)from);
	note(ctx, text, strlen(text), "");
}

static void begin(struct seen *seen, const char *script)
{
	const char *const argv[] = { "sh", "-c", script, NULL };

	memset(seen, 0, sizeof *seen);
	assert_int_equal(fw_loop_init(&seen->loop), 0);
	assert_null(fw_child_start(
		&seen->loop,
		&(struct fw_child_options){
			.argv = argv,
			.line_max = 64,
			.on = { see_line, see_broken, see_closed, see_exit, see_unsent, NULL },
			.ctx = seen,
		},
		&seen->child));
}

static void end(struct seen *seen)
{
	fw_child_free(seen->child);
	fw_loop_close(&seen->loop);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child process is left */
}

static void expect(const char *script, const char *reports)
{
	struct seen seen;

	begin(&seen, script);
	fw_loop_run(&seen.loop);
	assert_string_equal(seen.text, reports);
	end(&seen);
}

static void test_child__its_lines_come_before_its_exit(void **state)
{
	(void)state;
	expect("echo one; echo; echo two; exit 3", "one||two|exit 3|");
}

static void test_child__a_line_without_a_newline_is_cut(void **state)
{
	(void)state;
	expect("printf 'one\\ntwo'", "one|two!cut|exit 0|");
}

static void test_child__a_line_beyond_the_limit_is_dropped_and_reading_continues(void **state)
{
	(void)state;
	expect("printf '%070d\\nafter\\n' 1", "000000000000000000000000000000000000000000000000"
					      "0000000000000000!long|after|exit 0|");
	expect("printf '%040d' 1; sleep 0.1; printf '%040d\\nafter\\n' 1",
	       "0000000000000000000000000000000000000001000000000000000000000000!long|after|"
	       "exit "
	       "0|");
}

static void test_child__the_signal_is_reported(void **state)
{
	(void)state;
	expect("echo one; kill -SEGV $$", "one|signal 11|");
}

static void test_child__closing_its_output_is_reported_before_its_exit(void **state)
{
	(void)state;
	expect("echo one; exec >&-; sleep 0.7; exit 4", "one|closed|exit 4|");
}

static void test_child__a_grandchild_that_holds_the_output_does_not_delay_the_exit(void **state)
{
	(void)state;
	/* In a session of its own, so that it is not killed with the child. */
	expect("setsid sleep 3 & echo one; exit 5", "one|exit 5|");
}

static void test_child__answers_what_it_is_sent(void **state)
{
	struct seen seen;

	(void)state;
	begin(&seen, "cat");
	seen.ends_input_at_line = true;
	assert_int_equal(fw_child_send(seen.child, "hello", 5), FW_CHILD_SENT);
	fw_loop_run(&seen.loop);
	assert_string_equal(seen.text, "hello|exit 0|");
	assert_int_equal(fw_child_send(seen.child, "late", 4), FW_CHILD_BROKEN);
	end(&seen);
}

static void test_child__a_pipe_that_is_full_loses_nothing(void **state)
{
	enum { LINES = 20000 };
	static const char LINE[] = "a line of forty characters, or about that";
	struct seen seen;
	size_t unsent;

	(void)state;
	begin(&seen, "sleep 0.2; grep -c . ");
	for (int i = 0; i < LINES; i++)
		assert_int_equal(fw_child_send(seen.child, LINE, sizeof LINE - 1),
				 FW_CHILD_SENT);
	unsent = fw_child_unsent(seen.child);
	assert_true(unsent > 0);
	fw_child_end_input(seen.child);
	fw_loop_run(&seen.loop);
	assert_string_equal(seen.text, "20000|exit 0|");
	end(&seen);
}

static void test_child__unsent_lines_are_limited(void **state)
{
	const char *const argv[] = { "sleep", "60", NULL };
	static char line[100000];
	struct seen seen = { .lines = 0 };
	enum fw_child_sent sent = FW_CHILD_SENT;
	int count = 0;

	(void)state;
	assert_int_equal(fw_loop_init(&seen.loop), 0);
	assert_null(
		fw_child_start(&seen.loop,
			       &(struct fw_child_options){ .argv = argv,
							   .unsent_max = 250000,
							   .on = { see_line, see_broken, NULL,
								   see_exit, NULL, NULL },
							   .ctx = &seen },
			       &seen.child));
	memset(line, 'x', sizeof line);
	while (sent == FW_CHILD_SENT && count++ < 10)
		sent = fw_child_send(seen.child, line, sizeof line);
	assert_int_equal(sent, FW_CHILD_FULL);
	assert_true(fw_child_unsent(seen.child) <= 250000);
	end(&seen);
	assert_string_equal(seen.text, "");
}

static void test_child__sending_to_a_closed_input_is_not_fatal(void **state)
{
	struct seen seen;
	enum fw_child_sent sent = FW_CHILD_SENT;

	(void)state;
	begin(&seen, "exec <&-; echo closed; sleep 0.3");
	signal(SIGPIPE, SIG_IGN);
	while (!seen.lines)
		(void)uv_run(&seen.loop.uv, UV_RUN_ONCE);
	sent = fw_child_send(seen.child, "x", 1);
	fw_loop_run(&seen.loop);
	assert_int_equal(sent, FW_CHILD_BROKEN);
	assert_string_equal(seen.text, "closed|exit 0|");
	end(&seen);
}

static void test_child__lines_that_are_put_together_arrive_in_order(void **state)
{
	struct seen seen;

	(void)state;
	begin(&seen, "cat");
	seen.loop.has_more = true;
	assert_int_equal(fw_child_send(seen.child, "one", 3), FW_CHILD_SENT);
	assert_int_equal(fw_child_send(seen.child, "two", 3), FW_CHILD_SENT);
	assert_int_equal(fw_child_unsent(seen.child), 8);
	seen.loop.has_more = false;
	assert_int_equal(fw_child_send(seen.child, "three", 5), FW_CHILD_SENT);
	assert_int_equal(fw_child_accepted(seen.child), 3);
	fw_child_end_input(seen.child);
	fw_loop_run(&seen.loop);
	assert_string_equal(seen.text, "one|two|three|exit 0|");
	end(&seen);
}

/* The loop looked for the answer of a child whose memory was released. */
static void test_child__answer_is_expected_of_an_output_that_is_closed(void **state)
{
	struct seen seen;

	(void)state;
	begin(&seen, "exec >&-; sleep 60");
	while (!seen.child->out.is_over)
		(void)uv_run(&seen.loop.uv, UV_RUN_ONCE);
	assert_int_equal(fw_child_send(seen.child, "one", 3), FW_CHILD_SENT);
	assert_null(seen.loop.linger.expected);
	end(&seen);
}

static void *allocate_nothing(void *ctx, size_t size)
{
	(void)ctx;
	(void)size;
	return NULL;
}

static void *reallocate_nothing(void *ctx, void *ptr, size_t size)
{
	(void)ctx;
	(void)ptr;
	(void)size;
	return NULL;
}

static void release(void *ctx, void *ptr)
{
	(void)ctx;
	free(ptr);
}

/* Nothing was to be read, and yet a line was reported as lost. */
static void test_child__line_is_lost_without_memory_before_it_is_there(void **state)
{
	static const fw_allocator none = { allocate_nothing, reallocate_nothing, release,
					   NULL };
	struct seen seen;

	(void)state;
	begin(&seen, "read line; echo $line");
	assert_int_equal(fw_child_send(seen.child, "one", 3), FW_CHILD_SENT);
	fw_allocator_set(&none);
	assert_non_null(seen.loop.linger.expected);
	(void)seen.loop.linger.expected->read(seen.loop.linger.expected);
	fw_allocator_set(NULL);
	fw_loop_run(&seen.loop);
	assert_string_equal(seen.text, "one|exit 0|");
	end(&seen);
}

static void test_child__lines_that_a_closed_input_does_not_take_are_reported(void **state)
{
	struct seen seen;

	(void)state;
	begin(&seen, "read line; echo $line; exec <&-; echo closed; sleep 0.3");
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(fw_child_send(seen.child, "one", 3), FW_CHILD_SENT);
	while (seen.lines < 2)
		(void)uv_run(&seen.loop.uv, UV_RUN_ONCE);
	seen.loop.has_more = true;
	assert_int_equal(fw_child_send(seen.child, "two", 3), FW_CHILD_SENT);
	assert_int_equal(fw_child_send(seen.child, "three", 5), FW_CHILD_SENT);
	fw_loop_run(&seen.loop);
	assert_string_equal(seen.text, "one|closed|unsent from 2|exit 0|");
	assert_int_equal(fw_child_send(seen.child, "four", 4), FW_CHILD_BROKEN);
	end(&seen);
}

static void test_child__a_line_that_was_begun_is_not_reported_as_unsent(void **state)
{
	/* More than a pipe holds. */
	static char line[200000];
	struct seen seen;

	(void)state;
	begin(&seen, "head -c 1 >/dev/null; exit 3");
	memset(line, 'x', sizeof line);
	assert_int_equal(fw_child_send(seen.child, line, sizeof line), FW_CHILD_SENT);
	assert_int_equal(fw_child_send(seen.child, "two", 3), FW_CHILD_SENT);
	fw_loop_run(&seen.loop);
	assert_string_equal(seen.text, "unsent from 2|exit 3|");
	end(&seen);
}

static void test_child__lines_that_were_never_read_are_reported(void **state)
{
	struct seen seen;

	(void)state;
	begin(&seen, "sleep 0.1; exit 3");
	assert_int_equal(fw_child_send(seen.child, "one", 3), FW_CHILD_SENT);
	assert_int_equal(fw_child_send(seen.child, "two", 3), FW_CHILD_SENT);
	fw_loop_run(&seen.loop);
	assert_string_equal(seen.text, "unsent from 1|exit 3|");
	end(&seen);

	/* Of more lines than it remembers, it is sure of the last ones. */
	begin(&seen, "head -n 1; sleep 0.1; exit 3");
	for (int i = 0; i < 1000; i++)
		assert_int_equal(fw_child_send(seen.child, "line", 4), FW_CHILD_SENT);
	fw_loop_run(&seen.loop);
	assert_non_null(strstr(seen.text, "exit 3|"));
	end(&seen);

	/* The second line was begun. */
	begin(&seen, "head -c 6 >/dev/null; exit 3");
	assert_int_equal(fw_child_send(seen.child, "one", 3), FW_CHILD_SENT);
	assert_int_equal(fw_child_send(seen.child, "two", 3), FW_CHILD_SENT);
	assert_int_equal(fw_child_send(seen.child, "three", 5), FW_CHILD_SENT);
	fw_loop_run(&seen.loop);
	assert_string_equal(seen.text, "unsent from 3|exit 3|");
	end(&seen);
}

static void test_child__a_retired_process_has_a_moment_to_exit(void **state)
{
	static const char *const scripts[] = {
		"cat >/dev/null; sleep 0.1; echo bye; echo >$F",
		"trap 'echo >$F; exit' TERM; while :; do sleep 0.05; done",
		"trap '' TERM; while :; do sleep 0.05; done",
	};

	(void)state;
	for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
		char path[] = "/tmp/fw-retired-XXXXXX";
		char script[256];
		struct seen seen;
		struct stat status;
		int fd = mkstemp(path);

		assert_true(fd >= 0);
		(void)close(fd);
		(void)snprintf(script, sizeof script, "F=%s; %s", path, scripts[i]);
		begin(&seen, script);
		/* Time for the trap. */
		uv_sleep(100);
		fw_child_retire(seen.child);
		fw_loop_close(&seen.loop);
		assert_int_equal(stat(path, &status), 0);
		assert_int_equal(status.st_size, i < 2);
		assert_string_equal(seen.text, "");
		(void)unlink(path);
	}
}

static void test_child__a_line_larger_than_its_pipe_is_one_line(void **state)
{
	const char *const argv[] = { "sh", "-c",
				     "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo after",
				     NULL };
	struct seen seen = { .lines = 0 };

	(void)state;
	assert_int_equal(fw_loop_init(&seen.loop), 0);
	assert_null(
		fw_child_start(&seen.loop,
			       &(struct fw_child_options){ .argv = argv,
							   .on = { see_line, see_broken, NULL,
								   see_exit, NULL, NULL },
							   .ctx = &seen },
			       &seen.child));
	fw_loop_run(&seen.loop);
	assert_int_equal(seen.lines, 2);
	assert_non_null(strstr(seen.text, "x|after|exit 0|"));
	end(&seen);
}

static void test_child__no_callback_after_it_is_freed_in_one(void **state)
{
	struct seen seen;

	(void)state;
	begin(&seen, "while echo x; do :; done");
	seen.frees_at_line = true;
	fw_loop_run(&seen.loop);
	assert_string_equal(seen.text, "x|");
	end(&seen);
}

static void test_child__keeps_the_end_of_its_standard_error_without_secrets(void **state)
{
	struct seen seen;
	char text[1024];

	(void)state;
	begin(&seen,
	      "i=0; while [ $i -lt 2000 ]; do echo \"line $i of many\" >&2; i=$((i+1)); done; "
	      "echo 'password=hunter2hunter2' >&2; exit 1");
	fw_loop_run(&seen.loop);
	assert_true(fw_child_stderr(seen.child, text, sizeof text) > 0);
	end(&seen);
	assert_string_equal(seen.text, "exit 1|");
	assert_null(strstr(text, "hunter2"));
	assert_memory_equal(text, "line ", 5);
}

static void test_child__a_missing_program_never_calls_back(void **state)
{
	const char *const argv[] = { "no-such-program-anywhere", NULL };
	struct seen seen = { .lines = 0 };
	fw_error *err;

	(void)state;
	assert_int_equal(fw_loop_init(&seen.loop), 0);
	err = fw_child_start(&seen.loop,
			     &(struct fw_child_options){
				     .argv = argv,
				     .on = { see_line, see_broken, NULL, see_exit, NULL, NULL },
				     .ctx = &seen },
			     &seen.child);
	assert_int_equal(fw_error_code(err), FW_FILE_NOT_FOUND);
	fw_error_free(err);
	assert_null(seen.child);
	end(&seen);
	assert_string_equal(seen.text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_child__its_lines_come_before_its_exit),
		cmocka_unit_test(test_child__a_line_without_a_newline_is_cut),
		cmocka_unit_test(
			test_child__a_line_beyond_the_limit_is_dropped_and_reading_continues),
		cmocka_unit_test(test_child__the_signal_is_reported),
		cmocka_unit_test(test_child__closing_its_output_is_reported_before_its_exit),
		cmocka_unit_test(
			test_child__a_grandchild_that_holds_the_output_does_not_delay_the_exit),
		cmocka_unit_test(test_child__answers_what_it_is_sent),
		cmocka_unit_test(test_child__a_pipe_that_is_full_loses_nothing),
		cmocka_unit_test(test_child__unsent_lines_are_limited),
		cmocka_unit_test(test_child__sending_to_a_closed_input_is_not_fatal),
		cmocka_unit_test(test_child__lines_that_are_put_together_arrive_in_order),
		cmocka_unit_test(test_child__answer_is_expected_of_an_output_that_is_closed),
		cmocka_unit_test(test_child__line_is_lost_without_memory_before_it_is_there),
		cmocka_unit_test(
			test_child__lines_that_a_closed_input_does_not_take_are_reported),
		cmocka_unit_test(test_child__a_line_that_was_begun_is_not_reported_as_unsent),
		cmocka_unit_test(test_child__lines_that_were_never_read_are_reported),
		cmocka_unit_test(test_child__a_retired_process_has_a_moment_to_exit),
		cmocka_unit_test(test_child__a_line_larger_than_its_pipe_is_one_line),
		cmocka_unit_test(test_child__no_callback_after_it_is_freed_in_one),
		cmocka_unit_test(
			test_child__keeps_the_end_of_its_standard_error_without_secrets),
		cmocka_unit_test(test_child__a_missing_program_never_calls_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
