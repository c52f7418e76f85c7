/*
 * alerting_test.c - alerts of a running server, with a clock that the test moves and a
 * webhook that fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <yyjson.h>

#include <faultwire/faultwire.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/loop.h"
#include "base/mem.h"
#include "observe/alert/alerting_send.h"
#include "observe/alert/alerting_text.h"
#include "observe/alert/alerting.h"
#include "test/memory.h"

enum { MINUTES_5 = 300000, PATIENCE_MS = 5000 };

static atomic_llong clock_ms;
static char directory[] = "/tmp/fw-alerting-XXXXXX";
static char state_file[64];

static int64_t now_ms(void)
{
	return atomic_load(&clock_ms);
}

static int begin(void **state)
{
	(void)state;
	memcpy(directory + sizeof directory - 7, "XXXXXX", 6);
	if (!mkdtemp(directory))
		return 1;
	(void)snprintf(state_file, sizeof state_file, "%s/alerts.json", directory);
	atomic_store(&clock_ms, 1000);
	return 0;
}

static int end(void **state)
{
	(void)state;
	(void)unlink(state_file);
	return rmdir(directory) != 0 || fw_error_live() != 0;
}

static void pause_ms(int ms)
{
	(void)poll(NULL, 0, ms);
}

static void fail_once(struct fw_alerting *alerting, const char *client)
{
	fw_error *err = fw_raise_auth_unauthorized();

	fw_error_set_incident_id(err, "inc_7");
	fw_alerting_note(alerting, err, client);
	fw_error_free(err);
}

/* ---- the loop that sends -------------------------------------------------------------- */

static struct fw_loop loop;
static uv_timer_t keeper; /* keeps the loop running */
static uv_thread_t loop_thread;

static void run_loop(void *ctx)
{
	fw_loop_run(ctx);
}

static void ignore(uv_timer_t *timer)
{
	(void)timer;
}

static struct fw_alerting *open_alerting(struct fw_alerting_options options)
{
	struct fw_alerting *alerting = NULL;

	assert_int_equal(fw_loop_init(&loop), 0);
	(void)uv_timer_init(&loop.uv, &keeper);
	(void)uv_timer_start(&keeper, ignore, 1000000, 1000000);
	options.loop = &loop;
	assert_null(fw_alerting_new(&options, &alerting));
	assert_int_equal(uv_thread_create(&loop_thread, run_loop, &loop), 0);
	return alerting;
}

static void close_alerting(struct fw_alerting *alerting)
{
	fw_loop_stop(&loop);
	(void)uv_thread_join(&loop_thread);
	fw_alerting_free(alerting);
	uv_close((uv_handle_t *)&keeper, NULL);
	fw_loop_close(&loop);
}

/* ---- a log and a file ------------------------------------------------------------ */

static char text[65536];

static bool file_has(const char *needle)
{
	FILE *file = fopen(state_file, "re");
	size_t len = file ? fread(text, 1, sizeof text - 1, file) : 0;

	if (file)
		(void)fclose(file);
	text[len] = '\0';
	return strstr(text, needle) != NULL;
}

static void await_file(const char *needle)
{
	for (int i = 0; i < PATIENCE_MS && !file_has(needle); i++)
		pause_ms(1);
	if (!file_has(needle))
		fail_msg("no \"%s\" in: %s", needle, text);
}

/* What was logged so far. */
static size_t read_log(int fd)
{
	ssize_t len = pread(fd, text, sizeof text - 1, 0);

	text[len > 0 ? len : 0] = '\0';
	return (size_t)(len > 0 ? len : 0);
}

static int open_log(void)
{
	char path[80];
	int fd;

	(void)snprintf(path, sizeof path, "%s/log", directory);
	fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	(void)unlink(path);
	return fd;
}

static void test_alerting__log_and_file_show_when_an_alert_fires_and_ends(void **state)
{
	int log = open_log();
	const struct fw_alerting_options options = {
		.log_fd = log, .state_file = state_file, .server = "stdio", .now_ms = now_ms
	};
	struct fw_alerting *alerting = NULL;

	(void)state;
	assert_null(fw_alerting_new(&options, &alerting));
	assert_true(file_has("\"firing\":[]"));
	fail_once(alerting, "cli \"1\"");
	fail_once(alerting, "cli \"1\"");
	await_file("\"code\":\"auth.unauthorized\"");
	assert_non_null(strstr(text, "\"client\":\"cli \\\"1\\\"\""));
	assert_non_null(strstr(text, "\"incident_id\":\"inc_7\""));
	assert_true(fw_alerting_firing(alerting) == 1);
	atomic_fetch_add(&clock_ms, MINUTES_5);
	fw_alerting_wake(alerting);
	await_file("\"firing\":[]");
	fw_alerting_free(alerting);
	assert_int_equal(access(state_file, F_OK), -1);
	(void)read_log(log);
	(void)close(log);
	assert_non_null(strstr(text,
			       "\"level\":\"critical\",\"component\":\"alerts\",\"event\":"
			       "\"alert firing\",\"error_code\":\"auth.unauthorized\""));
	assert_non_null(strstr(text, "\"level\":\"info\",\"component\":\"alerts\",\"event\":"
				     "\"alert resolved\""));
	assert_int_equal(strchr(strchr(text, '\n') + 1, '\n')[1], '\0');
}

static void test_alerting__a_state_file_that_cannot_be_written_does_not_prevent_the_start(
	void **state)
{
	const struct fw_alerting_options options = { .log_fd = -1,
						     .state_file = "/nowhere/alerts.json",
						     .now_ms = now_ms };
	struct fw_alerting *alerting = NULL;

	(void)state;
	assert_null(fw_alerting_new(&options, &alerting));
	fail_once(alerting, NULL);
	assert_true(fw_alerting_firing(alerting) == 1);
	fw_alerting_free(alerting);
}

static void test_alerting__an_invalid_url_is_refused(void **state)
{
	const struct fw_alerting_options options = { .log_fd = -1,
						     .webhook_url = "file:///etc/passwd",
						     .now_ms = now_ms };
	struct fw_alerting *alerting = NULL;
	fw_error *err = fw_alerting_new(&options, &alerting);

	(void)state;
	assert_int_equal(fw_error_code(err), FW_INPUT_INVALID_VALUE);
	assert_null(alerting);
	fw_error_free(err);
}

/* ---- a webhook --------------------------------------------------------------------- */

struct hook {
	int fd;
	char url[64];
	char request[16384];
};

static void open_hook(struct hook *hook)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t len = sizeof address;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	hook->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(hook->fd, (void *)&address, sizeof address), 0);
	assert_int_equal(listen(hook->fd, 8), 0);
	assert_int_equal(getsockname(hook->fd, (void *)&address, &len), 0);
	(void)snprintf(hook->url, sizeof hook->url, "http://127.0.0.1:%d",
		       ntohs(address.sin_port));
}

/* Reads one complete request and answers it; "": no answer. */
static const char *serve_one(struct hook *hook, const char *status)
{
	struct pollfd waiting = { .fd = hook->fd, .events = POLLIN };
	const char *body = NULL;
	char answer[128];
	size_t len = 0;
	int fd;

	assert_int_equal(poll(&waiting, 1, PATIENCE_MS), 1);
	fd = accept(hook->fd, NULL, NULL);
	assert_true(fd >= 0);
	for (;;) {
		ssize_t more = recv(fd, hook->request + len, sizeof hook->request - 1 - len, 0);
		const char *length;

		assert_true(more > 0);
		len += (size_t)more;
		hook->request[len] = '\0';
		body = strstr(hook->request, "\r\n\r\n");
		length = strcasestr(hook->request, "Content-Length: ");
		if (body && length &&
		    strlen(body + 4) >= strtoul(length + strlen("Content-Length: "), NULL, 10))
			break;
	}
	(void)snprintf(answer, sizeof answer,
		       "HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", status);
	if (*status)
		assert_true(send(fd, answer, strlen(answer), MSG_NOSIGNAL) > 0);
	(void)close(fd);
	return body + 4;
}

static void await_count(double (*count)(void *), void *alerting, double wanted)
{
	for (int i = 0; i < PATIENCE_MS && count(alerting) < wanted; i++)
		pause_ms(1);
	assert_true(count(alerting) == wanted);
}

static void test_alerting__a_webhook_gets_each_change_signed_and_failures_are_retried(
	void **state)
{
	struct hook hook;
	struct fw_alerting_options options = {
		.log_fd = -1, .webhook_secret = "s3cret", .server = "here", .now_ms = now_ms
	};
	struct fw_alerting *alerting;
	char hex[FW_SHA256_TEXT], header[128], first[8192];
	const char *body, *stamp;

	(void)state;
	open_hook(&hook);
	options.webhook_url = hook.url;
	alerting = open_alerting(options);
	fail_once(alerting, "cli");
	body = serve_one(&hook, "503 Busy");
	(void)snprintf(first, sizeof first, "%s", body);
	body = serve_one(&hook, "");
	assert_string_equal(body, first);
	body = serve_one(&hook, "204 Thanks");
	assert_string_equal(body, first);
	assert_non_null(strstr(body, "{\"version\":1,\"server\":\"here\",\"alert\":{\"name\":"
				     "\"FaultwireAuthUnauthorized\",\"state\":\"firing\""));
	stamp = strstr(hook.request, "Faultwire-Timestamp: ");
	assert_non_null(stamp);
	assert_non_null(strstr(hook.request, "Faultwire-Delivery: 1\r\n"));
	assert_true(fw_alerting_sender_sign("s3cret", strtoll(stamp + 21, NULL, 10), body,
					    strlen(body), hex));
	(void)snprintf(header, sizeof header, "Faultwire-Signature: sha256=%s\r\n", hex);
	assert_non_null(strstr(hook.request, header));
	await_count(fw_alerting_delivered, alerting, 1);
	assert_true(fw_alerting_failed(alerting) == 2);
	atomic_fetch_add(&clock_ms, MINUTES_5);
	fw_alerting_wake(alerting);
	/* A 4xx status is final: there is no retry. */
	body = serve_one(&hook, "400 Never");
	assert_non_null(strstr(body, "\"state\":\"resolved\""));
	await_count(fw_alerting_lost, alerting, 1);
	close_alerting(alerting);
	(void)close(hook.fd);
}

static void test_alerting__the_alertmanager_gets_the_complete_state(void **state)
{
	struct hook hook;
	struct fw_alerting_options options = { .log_fd = -1,
					       .server = "here",
					       .now_ms = now_ms };
	struct fw_alerting *alerting;
	yyjson_doc *doc;
	const char *body;

	(void)state;
	open_hook(&hook);
	options.alertmanager_url = hook.url;
	alerting = open_alerting(options);
	fail_once(alerting, "a");
	body = serve_one(&hook, "200 OK");
	assert_memory_equal(hook.request, "POST /api/v2/alerts HTTP/1.1\r\n", 29);
	doc = yyjson_read(body, strlen(body), 0);
	assert_int_equal(yyjson_arr_size(yyjson_doc_get_root(doc)), 1);
	yyjson_doc_free(doc);
	await_count(fw_alerting_posted, alerting, 1);
	/* Sent again after a while, without a change. */
	atomic_fetch_add(&clock_ms, 60000);
	fw_alerting_wake(alerting);
	(void)serve_one(&hook, "200 OK");
	await_count(fw_alerting_posted, alerting, 2);
	atomic_fetch_add(&clock_ms, MINUTES_5);
	fail_once(alerting, "b");
	body = serve_one(&hook, "200 OK");
	assert_non_null(strstr(body, "\"client\":\"a\""));
	assert_non_null(strstr(body, "\"client\":\"b\""));
	await_count(fw_alerting_posted, alerting, 3);
	close_alerting(alerting);
	(void)close(hook.fd);
}

static void test_alerting__an_unreachable_webhook_does_not_delay_the_end(void **state)
{
	struct hook hook;
	struct fw_alerting_options options = { .log_fd = -1, .now_ms = now_ms };
	struct fw_alerting *alerting;

	(void)state;
	open_hook(&hook);
	/* The kernel accepts connections, but nobody answers. */
	options.webhook_url = options.alertmanager_url = hook.url;
	alerting = open_alerting(options);
	for (int i = 0; i < 1000; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "c%d", i % 60);
		fail_once(alerting, name);
		atomic_fetch_add(&clock_ms, MINUTES_5);
	}
	close_alerting(alerting);
	(void)close(hook.fd);
}

static bool has_request(const struct hook *hook)
{
	struct pollfd waiting = { .fd = hook->fd, .events = POLLIN };

	return poll(&waiting, 1, 0) == 1;
}

static void answer_one(void *ctx)
{
	(void)serve_one(ctx, "204 Thanks");
}

static void test_alerting__webhooks_are_sent_by_the_loop_and_the_end_waits_for_them(
	void **state)
{
	struct hook hook;
	struct fw_alerting_options options = { .log_fd = -1, .now_ms = now_ms, .loop = &loop };
	struct fw_alerting *alerting = NULL;
	uv_thread_t receiver;

	(void)state;
	open_hook(&hook);
	assert_int_equal(fw_loop_init(&loop), 0);
	options.webhook_url = hook.url;
	assert_null(fw_alerting_new(&options, &alerting));
	fail_once(alerting, "cli");
	/* Nobody runs the loop, so nothing is sent. */
	await_count(fw_alerting_waiting, alerting, 1);
	assert_false(has_request(&hook));
	assert_int_equal(uv_thread_create(&receiver, answer_one, &hook), 0);
	fw_alerting_free(alerting);
	(void)uv_thread_join(&receiver);
	assert_non_null(strstr(hook.request, "\"state\":\"firing\""));
	fw_loop_close(&loop);
	(void)close(hook.fd);
}

static void open_and_queue(void)
{
	const struct fw_alerting_sender_options options = {
		.loop = &loop,
		.webhook_url = "http://127.0.0.1:9/",
		.webhook_secret = "s3cret",
		.alertmanager_url = "http://127.0.0.1:9/",
	};
	struct fw_alerting_sender *sender = NULL;
	fw_error *err;

	assert_int_equal(fw_loop_init(&loop), 0);
	err = fw_alerting_sender_new(&options, &sender);
	if (sender) {
		fw_alerting_sender_queue_webhook(sender, fw__allocate(1), 1);
		fw_alerting_sender_queue_alertmanager(sender, fw__allocate(1), 1);
		/* Posted, and never run: the end of the loop frees it. */
		fw_alerting_sender_free(sender);
	} else {
		assert_int_equal(fw_error_code(err), FW_INTERNAL_OUT_OF_MEMORY);
	}
	fw_error_free(err);
	fw_loop_close(&loop);
}

static void test_alerting__a_sender_without_memory_leaves_nothing_behind(void **state)
{
	(void)state;
	/* The libraries are loaded once, and stay. */
	open_and_queue();
	each_allocation_fails(open_and_queue);
}

static void open_and_note(const char *url, bool fails)
{
	const struct fw_alerting_options options = {
		.log_fd = -1,
		.state_file = state_file,
		.server = "s",
		.now_ms = now_ms,
		.loop = &loop,
		.webhook_url = url,
		.webhook_secret = url ? "s3cret" : NULL,
		.alertmanager_url = url,
	};
	struct fw_alerting *alerting = NULL;
	fw_error *err;

	assert_int_equal(fw_loop_init(&loop), 0);
	err = fw_alerting_new(&options, &alerting);
	if (err)
		assert_int_equal(fw_error_code(err), FW_INTERNAL_OUT_OF_MEMORY);
	else if (fails)
		fail_once(alerting, "cli");
	fw_error_free(err);
	fw_alerting_free(alerting);
	fw_loop_close(&loop);
}

static void open_with_sinks(void)
{
	open_and_note("http://127.0.0.1:9/", false);
}

static void fire_into_the_state_file(void)
{
	open_and_note(NULL, true);
}

static void test_alerting__without_memory_sinks_leave_nothing_behind(void **state)
{
	(void)state;
	open_with_sinks();
	each_allocation_fails(open_with_sinks);
	each_allocation_fails(fire_into_the_state_file);
}

static void test_alerting__names_and_times_have_the_forms_of_the_alertmanager(void **state)
{
	char name[FW_ALERTING_NAME_SIZE], time_text[FW_TIME_SIZE];

	(void)state;
	fw_alerting_name(fw_registry_find(NULL, "tool.result_too_large"), name);
	assert_string_equal(name, "FaultwireToolResultTooLarge");
	(void)fw_time_text(1768478400123, time_text);
	assert_string_equal(time_text, "2026-01-15T12:00:00.123Z");
}

#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FILE(test_alerting__log_and_file_show_when_an_alert_fires_and_ends),
		WITH_FILE(test_alerting__without_memory_sinks_leave_nothing_behind),
		WITH_FILE(
			test_alerting__a_state_file_that_cannot_be_written_does_not_prevent_the_start),
		WITH_FILE(test_alerting__an_invalid_url_is_refused),
		WITH_FILE(
			test_alerting__a_webhook_gets_each_change_signed_and_failures_are_retried),
		WITH_FILE(test_alerting__the_alertmanager_gets_the_complete_state),
		WITH_FILE(test_alerting__an_unreachable_webhook_does_not_delay_the_end),
		WITH_FILE(
			test_alerting__webhooks_are_sent_by_the_loop_and_the_end_waits_for_them),
		WITH_FILE(test_alerting__a_sender_without_memory_leaves_nothing_behind),
		WITH_FILE(test_alerting__names_and_times_have_the_forms_of_the_alertmanager),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
