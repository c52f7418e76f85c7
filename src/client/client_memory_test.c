/*
 * client_memory_test.c - whole calls of the client while memory runs out: each allocation
 * from starting the server to reading its answer fails in turn. Every call ends, with a
 * result or an error, and leaves nothing behind.
 */
#include <faultwire/classify.h>
#include <faultwire/client.h>

#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "test/memory.h"

/* A server in a few lines of shell. It takes the id for its answer from the request,
 * because a client without memory may leave a request out. `cases` are those of a case
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

static fw_client *open_client(const char *const *command, const char *url)
{
	fw_client_options how = FW_CLIENT_OPTIONS_INIT;
	fw_client *client = NULL;
	fw_error *err;

	how.command = command;
	how.url = url;
	how.era = FW_CLIENT_LEGACY;
	how.attempts_max = 1;
	how.deadline = 60; /* otherwise a call that hangs would never end */
	err = fw_client_new(&how, &client);
	assert_true(!err == !!client);
	fw_error_free(err);
	return client;
}

#define OPEN(script) open_client((const char *const[]){ "/bin/sh", "-c", script, NULL }, NULL)

/* Checks that the call ended with a result, or with an error other than a timeout. */
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

/* ---- HTTP ------------------------------------------------------------------------------- */

/* A server in a thread that does not use the allocator. It answers one request per
 * connection. Calls are answered with a stream of numbered events, so that the stream can
 * be resumed. */
struct endpoint {
	pthread_t thread;
	int listener;
	char url[64];
};

static struct endpoint endpoint;

static void answer(int peer, const char *status, const char *type, const char *body)
{
	char text[2048];
	int len = snprintf(text, sizeof text,
			   "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
			   "Mcp-Session-Id: s\r\nConnection: close\r\n\r\n%s",
			   status, type, strlen(body), body);

	(void)send(peer, text, (size_t)len, MSG_NOSIGNAL);
}

static void answer_post(int peer, const char *body)
{
	const char *id = strstr(body, "\"id\":");
	char text[1024];
	long number = id ? strtol(id + 5, NULL, 10) : 0;

	if (!id) {
		answer(peer, "202 Accepted", "text/plain", "");
	} else if (strstr(body, "\"initialize\"")) {
		(void)snprintf(
			text, sizeof text,
			"{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{\"protocolVersion\":"
			"\"2025-11-25\",\"capabilities\":{},\"serverInfo\":{\"name\":\"s\","
			"\"version\":\"1\"}}}",
			number);
		answer(peer, "200 OK", "application/json", text);
	} else if (strstr(body, "tools/list")) {
		(void)snprintf(text, sizeof text,
			       "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{\"tools\":[{"
			       "\"name\":\"t\"}]}}",
			       number);
		answer(peer, "200 OK", "application/json", text);
	} else {
		(void)snprintf(text, sizeof text,
			       "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":"
			       "\"notifications/message\",\"params\":{}}\n\n"
			       "id: 2\ndata: {\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":"
			       "{\"content\":[]}}\n\n",
			       number);
		answer(peer, "200 OK", "text/event-stream", text);
	}
}

/* The head and the body of a request; false: the peer has gone. */
static bool receive(int peer, char *ret_text, size_t size)
{
	size_t len = 0;

	for (;;) {
		ssize_t got = recv(peer, ret_text + len, size - 1 - len, 0);
		const char *body;
		const char *length;

		if (got <= 0)
			return false;
		len += (size_t)got;
		ret_text[len] = '\0';
		body = strstr(ret_text, "\r\n\r\n");
		length = strcasestr(ret_text, "content-length:");
		if (body && (!length || len - (size_t)(body + 4 - ret_text) >=
						strtoul(length + 15, NULL, 10)))
			return true;
	}
}

static void *serve(void *ctx)
{
	int peer;

	(void)ctx;
	while ((peer = accept(endpoint.listener, NULL, NULL)) >= 0) {
		char text[8192];

		if (receive(peer, text, sizeof text)) {
			if (strncmp(text, "POST", 4) == 0)
				answer_post(peer, strstr(text, "\r\n\r\n"));
			else if (strncmp(text, "DELETE", 6) == 0)
				answer(peer, "200 OK", "text/plain", "");
			else
				answer(peer, "405 Method Not Allowed", "text/plain", "");
		}
		(void)close(peer);
	}
	return NULL;
}

static int open_endpoint(void **state)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof address;

	(void)state;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	endpoint.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(endpoint.listener, (struct sockaddr *)&address, sizeof address) ||
	    listen(endpoint.listener, 16) ||
	    getsockname(endpoint.listener, (struct sockaddr *)&address, &size))
		return -1;
	(void)snprintf(endpoint.url, sizeof endpoint.url, "http://127.0.0.1:%u/mcp",
		       ntohs(address.sin_port));
	return pthread_create(&endpoint.thread, NULL, serve, NULL);
}

static int close_endpoint(void **state)
{
	(void)state;
	(void)shutdown(endpoint.listener, SHUT_RDWR);
	(void)pthread_join(endpoint.thread, NULL);
	return close(endpoint.listener);
}

static void call_over_http(void)
{
	fw_client *client = open_client(NULL, endpoint.url);
	fw_client_result result = { .text = NULL };

	if (client)
		end_call(client, fw_client_call(client, "t", "{\"a\":1}", 7, &result), &result);
}

static void test_client__each_allocation_of_a_call_over_http_may_fail(void **state)
{
	(void)state;
	call_over_http(); /* libcurl is loaded once, and stays */
	each_allocation_fails(call_over_http);
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
		cmocka_unit_test_setup_teardown(
			test_client__each_allocation_of_a_call_over_http_may_fail,
			open_endpoint, close_endpoint),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	/* The rules are loaded once and stay. */
	assert_non_null(fw_classifier_builtin());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
