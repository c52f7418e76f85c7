/*
 * client_test.c - the client by itself: its lifecycle, its arguments, and a server in a
 * few lines of shell. test/wire/call.mjs tests the rest through `faultwire call`.
 */
#include <faultwire/client.h>

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/memory.h"

/* Answers the handshake, then one request with each of `lines`. */
#define SERVER(lines)                                                                    \
	"read a; echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":"   \
	"\"2025-11-25\",\"capabilities\":{},\"serverInfo\":{\"name\":\"s\",\"version\":" \
	"\"1\"}}}'; read b; " lines " cat >/dev/null"
#define ANSWER(id, json) "read c; echo '{\"jsonrpc\":\"2.0\",\"id\":" id "," json "}'; "

static fw_client *open_client(const char *const *command, fw_client_options how)
{
	fw_client *client = NULL;

	how.command = command;
	how.era = FW_CLIENT_LEGACY;
	assert_null(fw_client_new(&how, &client));
	return client;
}

#define OPEN(script)                                                        \
	open_client((const char *const[]){ "/bin/sh", "-c", script, NULL }, \
		    (fw_client_options)FW_CLIENT_OPTIONS_INIT)

static void test_client__either_a_command_or_a_url(void **state)
{
	fw_client_options how = FW_CLIENT_OPTIONS_INIT;
	fw_client *client = NULL;
	fw_error *err = fw_client_new(&how, &client);

	(void)state;
	assert_int_equal(fw_error_code(err), FW_INTERNAL_API_MISUSE);
	assert_null(client);
	fw_error_free(err);
	how.struct_size = 1;
	err = fw_client_new(&how, &client);
	assert_int_equal(fw_error_code(err), FW_INTERNAL_API_MISUSE);
	fw_error_free(err);
	fw_client_free(NULL);
}

static void test_client__a_result_is_the_object_that_was_sent(void **state)
{
	fw_client *client = OPEN(SERVER(ANSWER("2", "\"result\":{\"x\":[1, 2]}")));
	fw_client_result result = { .text = NULL };

	(void)state;
	assert_null(fw_client_request(client, "resources/list", NULL, 0, &result));
	assert_string_equal(result.text, "{\"x\":[1, 2]}");
	assert_int_equal(result.len, strlen(result.text));
	assert_int_equal(result.attempts, 1);
	assert_non_null(strstr(fw_client_server(client), "\"name\":\"s\""));
	fw_client_result_clear(&result);
	fw_client_free(client);
}

static void test_client__params_must_be_an_object(void **state)
{
	fw_client *client = OPEN(SERVER(""));
	fw_client_result result = { .text = NULL };
	fw_error *err = fw_client_request(client, "x", "[1]", 3, &result);

	(void)state;
	assert_int_equal(fw_error_code(err), FW_INPUT_INVALID_FORMAT);
	assert_int_equal(fw_client_decision(client)->action, FW_ACTION_FIX);
	assert_null(result.text);
	fw_error_free(err);
	fw_client_free(client);
}

static void test_client__a_text_is_classified_and_kept(void **state)
{
	fw_client *client = OPEN(SERVER(ANSWER("2", "\"result\":{\"tools\":[]}") ANSWER(
		"3", "\"result\":{\"isError\":true,\"content\":[{"
		     "\"type\":\"text\",\"text\":\"permission "
		     "denied\"}]}")));
	fw_client_result result = { .text = NULL };
	fw_error *err = fw_client_call(client, "t", NULL, 0, &result);

	(void)state;
	assert_string_equal(fw_error_name(err), "auth.forbidden");
	assert_string_equal(fw_error_message(err), "permission denied");
	assert_int_equal(fw_error_delivery(err), FW_REPLIED);
	assert_string_equal(fw_error_scope(err).tool, "t");
	assert_int_equal(fw_client_decision(client)->action, FW_ACTION_ESCALATE);
	assert_non_null(strstr(fw_client_failure(client), "\"isError\":true"));
	fw_error_free(err);
	fw_client_free(client);
}

static void test_client__an_envelope_is_read_as_it_is(void **state)
{
	fw_client *client = OPEN(SERVER(
		ANSWER("2", "\"error\":{\"code\":-32603,\"message\":\"m\",\"data\":{\"error\":{"
			    "\"code\":\"governance.budget_exceeded\",\"message\":\"spent\","
			    "\"category\":\"governance\",\"retryable\":false,"
			    "\"incident_id\":\"inc_1\"}}}")));
	fw_client_result result = { .text = NULL };
	fw_error *err = fw_client_request(client, "prompts/get", NULL, 0, &result);

	(void)state;
	assert_string_equal(fw_error_name(err), "governance.budget_exceeded");
	assert_string_equal(fw_error_incident_id(err), "inc_1");
	fw_error_free(err);
	fw_client_free(client);
}

static void test_client__a_list_has_all_pages(void **state)
{
	fw_client *client = OPEN(SERVER(
		ANSWER("2", "\"result\":{\"tools\":[{\"name\":\"a\"}],\"nextCursor\":\"p\"}")
			ANSWER("3", "\"result\":{\"tools\":[{\"name\":\"b\"}]}")));
	fw_client_result result = { .text = NULL };

	(void)state;
	assert_null(fw_client_list(client, "tools/list", &result));
	assert_string_equal(result.text, "{\"tools\":[{\"name\":\"a\"},{\"name\":\"b\"}]}");
	fw_client_result_clear(&result);
	fw_client_free(client);
}

static void note_attempt(void *ctx, const fw_client_event *event)
{
	if (event->kind == FW_CLIENT_FAILED)
		++*(int *)ctx;
}

static void test_client__a_server_that_never_starts_is_tried_as_often_as_said(void **state)
{
	fw_client_options how = FW_CLIENT_OPTIONS_INIT;
	const char *const command[] = { "/bin/sh", "-c", "exit 3", NULL };
	fw_client_result result = { .text = NULL };
	fw_client *client;
	fw_error *err;
	int failed = 0;

	(void)state;
	how.attempts_max = 2;
	how.event = note_attempt;
	how.ctx = &failed;
	client = open_client(command, how);
	err = fw_client_request(client, "tools/list", NULL, 0, &result);
	assert_int_equal(fw_error_code(err), FW_UPSTREAM_START_FAILED);
	assert_int_equal(fw_error_delivery(err), FW_NOT_SENT);
	assert_int_equal(fw_client_decision(client)->action, FW_ACTION_LATER);
	assert_int_equal(fw_client_attempts(client), 2);
	assert_int_equal(failed, 2);
	fw_error_free(err);
	fw_client_free(client);
}

static void interrupt_soon(void *ctx, const fw_client_event *event)
{
	fw_client **client = ctx;

	if (event->kind == FW_CLIENT_SENT && memmem(event->text, event->len, "\"ping\"", 6))
		fw_client_interrupt(*client);
}

static void test_client__an_interruption_ends_the_call(void **state)
{
	fw_client_options how = FW_CLIENT_OPTIONS_INIT;
	const char *const command[] = { "/bin/sh", "-c", SERVER(""), NULL };
	fw_client_result result = { .text = NULL };
	fw_client *client;
	fw_error *err;

	(void)state;
	how.event = interrupt_soon;
	how.ctx = &client;
	client = open_client(command, how);
	err = fw_client_request(client, "ping", NULL, 0, &result);
	assert_int_equal(fw_error_code(err), FW_RUNTIME_CANCELLED);
	fw_error_free(err);
	fw_client_free(client);
}

static void make_and_free(void)
{
	fw_client_options how = FW_CLIENT_OPTIONS_INIT;
	const char *const command[] = { "/bin/true", NULL };
	fw_client *client = NULL;
	fw_error *err;

	how.command = command;
	err = fw_client_new(&how, &client);
	assert_true(!err == !!client);
	fw_error_free(err);
	fw_client_free(client);
}

static void test_client__each_allocation_may_fail(void **state)
{
	(void)state;
	each_allocation_fails(make_and_free);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_client__either_a_command_or_a_url),
		cmocka_unit_test(test_client__a_result_is_the_object_that_was_sent),
		cmocka_unit_test(test_client__params_must_be_an_object),
		cmocka_unit_test(test_client__a_text_is_classified_and_kept),
		cmocka_unit_test(test_client__an_envelope_is_read_as_it_is),
		cmocka_unit_test(test_client__a_list_has_all_pages),
		cmocka_unit_test(
			test_client__a_server_that_never_starts_is_tried_as_often_as_said),
		cmocka_unit_test(test_client__an_interruption_ends_the_call),
		cmocka_unit_test(test_client__each_allocation_may_fail),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
