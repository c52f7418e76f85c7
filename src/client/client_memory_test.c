/*
 * client_memory_test.c - whole calls of the client while memory runs out: each allocation
 * from starting the server to reading its answer fails in turn. Every call ends, with a
 * result or an error, and leaves nothing behind.
 */
#include <faultwire/classify.h>
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

/* A server in a few lines of shell: it answers with the id of the request, whichever it is,
 * since a client without memory may leave a request out. `cases` are those of a case
 * statement over the request. */
#define SERVER(cases)                                                                      \
	"while read -r q; do i=${q#*\\\"id\\\":}; i=${i%%[,\\}]*}; case $q in "            \
	"*\\\"initialize\\\"*) echo \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":$i,"         \
	"\\\"result\\\":{\\\"protocolVersion\\\":\\\"2025-11-25\\\",\\\"capabilities\\\":" \
	"{},\\\"serverInfo\\\":{\\\"name\\\":\\\"s\\\",\\\"version\\\":\\\"1\\\"}}}\" "    \
	";; " cases " esac; done"
#define REPLY(method, body)                                                             \
	"*\\\"" method "\\\"*) echo \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":$i," body \
	"}\" ;; "
#define TOOLS REPLY("tools/list", "\\\"result\\\":{\\\"tools\\\":[{\\\"name\\\":\\\"t\\\"}]}")

static fw_client *open_client(const char *const *command)
{
	fw_client_options how = FW_CLIENT_OPTIONS_INIT;
	fw_client *client = NULL;
	fw_error *err;

	how.command = command;
	how.era = FW_CLIENT_LEGACY;
	how.attempts_max = 1;
	how.deadline = 60; /* without it a call that waits would not end */
	err = fw_client_new(&how, &client);
	assert_true(!err == !!client);
	fw_error_free(err);
	return client;
}

#define OPEN(script) open_client((const char *const[]){ "/bin/sh", "-c", script, NULL })

/* The call ends as it must: with a result, or an error that is not the deadline's. */
static void end_call(fw_client *client, fw_error *err, fw_client_result *result)
{
	assert_int_not_equal(fw_error_code(err), FW_UPSTREAM_TIMEOUT);
	assert_true(err || result->text);
	fw_error_free(err);
	fw_client_result_clear(result);
	fw_client_free(client);
}

static void call_that_succeeds(void)
{
	fw_client *client =
		OPEN(SERVER(TOOLS REPLY("tools/call", "\\\"result\\\":{\\\"content\\\":[]}")));
	fw_client_result result = { .text = NULL };

	if (client)
		end_call(client, fw_client_call(client, "t", "{\"a\":1}", 7, &result), &result);
}

static void call_that_fails(void)
{
	fw_client *client = OPEN(SERVER(
		TOOLS REPLY("tools/call",
			    "\\\"result\\\":{\\\"isError\\\":true,\\\"content\\\":[{"
			    "\\\"type\\\":\\\"text\\\",\\\"text\\\":\\\"no such row\\\"}]}")));
	fw_client_result result = { .text = NULL };

	if (client)
		end_call(client, fw_client_call(client, "t", NULL, 0, &result), &result);
}

static void list_with_pages(void)
{
	fw_client *client = OPEN(
		SERVER("*\\\"cursor\\\"*) echo \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":$i,"
		       "\\\"result\\\":{\\\"tools\\\":[]}}\" ;; " REPLY(
			       "tools/list", "\\\"result\\\":{\\\"tools\\\":[{\\\"name\\\":"
					     "\\\"a\\\"}],\\\"nextCursor\\\":\\\"p\\\"}")));
	fw_client_result result = { .text = NULL };

	if (client)
		end_call(client, fw_client_list(client, "tools/list", &result), &result);
}

static void test_client__each_allocation_of_a_call_may_fail(void **state)
{
	(void)state;
	each_allocation_fails(call_that_succeeds);
}

static void test_client__each_allocation_of_a_failing_call_may_fail(void **state)
{
	(void)state;
	each_allocation_fails(call_that_fails);
}

static void test_client__each_allocation_of_a_list_may_fail(void **state)
{
	(void)state;
	each_allocation_fails(list_with_pages);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_client__each_allocation_of_a_call_may_fail),
		cmocka_unit_test(test_client__each_allocation_of_a_failing_call_may_fail),
		cmocka_unit_test(test_client__each_allocation_of_a_list_may_fail),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	/* The rules are loaded once and stay. */
	assert_non_null(fw_classifier_builtin());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
