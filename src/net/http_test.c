/*
 * http_test.c - the HTTP transport by itself, byte for byte.
 */
#include "net/http_fake.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <faultwire/faultwire.h>

#include "net/http_fixture_test.h"

/* ---- answers ---------------------------------------------------------------- */

static void test_http__answers_with_one_document(void **state)
{
	(void)state;
	client_post(&client, NULL, "{\"a\":1}");
	expect("HTTP/1.1 200 OK\r\n");
	expect("Content-Type: application/json\r\n");
	expect("\r\n\r\n{\"a\":1}");
}

static void test_http__keeps_the_connection_and_answers_pipelined_requests(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		client_post(&client, NULL, i == 1 ? "later" : "{\"a\":1}");
	expect("{\"a\":1}");
	expect("{\"late\":true}");
	expect("{\"a\":1}");
	client_post(&client, NULL, "{\"b\":2}");
	expect("{\"b\":2}");
	assert_int_equal(server.received, 4);
}

static void test_http__answers_later(void **state)
{
	(void)state;
	client_post(&client, NULL, "later");
	expect("HTTP/1.1 200 OK\r\n");
	expect("{\"late\":true}");
}

static void test_http__streams_events_then_the_answer(void **state)
{
	(void)state;
	client_post(&client, NULL, "open");
	expect("HTTP/1.1 200 OK\r\n");
	expect("Content-Type: text/event-stream\r\n");
	expect("id: s_0\nretry: 500\ndata: \n\n");
	expect("event: message\nid: s_1\ndata: {\"n\":1}\n\n");
	assert_non_null(server.held);
	server.held->ops->reply(
		server.held,
		&(struct fw_reply){ .status = 200, .json = "{\"late\":true}", .len = 13 });
	expect("event: message\ndata: {\"late\":true}\n\n");
	expect("\r\n0\r\n\r\n");
	client_post(&client, NULL, "{\"a\":1}");
	expect("{\"a\":1}");
}

static void test_http__streams_events_that_come_together(void **state)
{
	(void)state;
	client_post(&client, NULL, "burst");
	expect("HTTP/1.1 200 OK\r\n");
	expect("data: {\"n\":1}\n\nevent: message\ndata: {\"n\":2}\n\nevent: message\ndata: "
	       "{\"n\":3}\n\n");
	expect("\r\n0\r\n\r\n");
}

static void test_http__ends_without_an_answer(void **state)
{
	(void)state;
	client_post(&client, NULL, "close");
	expect("HTTP/1.1 202 Accepted\r\n");
	expect("Content-Length: 0\r\n");
	client_post(&client, NULL, "session");
	expect("HTTP/1.1 202 Accepted\r\n");
	expect("Mcp-Session-Id: abc\r\n");
}

static void test_http__opens_a_quiet_stream_at_once(void **state)
{
	(void)state;
	say("GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n");
	expect("text/event-stream\r\n");
	assert_non_null(server.held);
	server.held->ops->send(
		server.held, &(struct fw_event){ .json = "{\"n\":7}", .len = 7, .id = "g_1" });
	expect("id: g_1\ndata: {\"n\":7}\n\n");
	server.held->ops->close(server.held);
	expect("\r\n0\r\n\r\n");
}

static void test_http__ends_a_session(void **state)
{
	(void)state;
	say("DELETE /mcp HTTP/1.1\r\nHost: [::1]:99\r\n\r\n");
	expect("HTTP/1.1 200 OK\r\n");
	expect("Content-Length: 0\r\n");
}

static void test_http__sends_large_answers_whole(void **state)
{
	(void)state;
	client_post(&client, NULL, "big");
	expect("Content-Length: 6291456\r\n");
	expect("\r\n\"xxx");
	expect("xxx\"");
	client_post(&client, NULL, "{\"a\":1}");
	expect("{\"a\":1}");
}

static void test_http__accepts_large_and_chunked_bodies(void **state)
{
	size_t len = server.limits.message_bytes;
	char *body = malloc(len + 1);

	(void)state;
	assert_non_null(body);
	memset(body, 'z', len);
	body[len] = 0;
	client_post(&client, NULL, body);
	expect("Content-Length: 4194304\r\n");
	expect("\r\nzzz");
	free(body);
	client.len = 0;
	fake_spin(&server, 50);
	say("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
	    "application/json;charset=UTF-8\r\n"
	    "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
	expect("\r\n\r\nabcde");
}

static void test_http__upgrades_a_slow_answer_to_a_stream(void **state)
{
	(void)state;
	fake_http(&server)->pace.patience_ms = 20;
	fake_http(&server)->pace.silence_ms = 20;
	fake_http(&server)->pace.sweep_ms = 5;
	client_post(&client, NULL, "hold");
	expect("text/event-stream\r\n");
	expect(": keepalive\n\n");
	expect(": keepalive\n\n");
	server.held->ops->reply(server.held,
				&(struct fw_reply){ .status = 404, .json = "{}", .len = 2 });
	expect("event: message\ndata: {}\n\n");
	expect("\r\n0\r\n\r\n");
}

/* ---- refusals --------------------------------------------------------------- */

#define USUAL "Content-Type: application/json\r\nContent-Length: 2\r\n"

static const struct {
	const char *request;
	const char *status;
	const char *body;
	bool ends;
} REFUSALS[] = {
	{ "POST /other HTTP/1.1\r\nHost: localhost\r\n" USUAL "\r\n{}", "404",
	  "protocol.path_not_found", false },
	{ "PUT /mcp HTTP/1.1\r\nHost: localhost\r\n" USUAL "\r\n{}", "405",
	  "protocol.http_method_not_allowed", false },
	{ "OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", "405", "http_method_not_allowed",
	  false },
	{ "POST /mcp HTTP/1.1\r\nHost: evil.example\r\n" USUAL "\r\n{}", "403", "evil.example",
	  false },
	{ "POST /mcp HTTP/1.1\r\nHost: localhost.evil.example\r\n" USUAL "\r\n{}", "403",
	  "evil", false },
	{ "POST /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n" USUAL
	  "\r\n{}",
	  "403", "auth.origin_not_allowed", false },
	{ "POST /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\n" USUAL "\r\n{}", "403",
	  "null", false },
	{ "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n" USUAL
	  "\r\n{}",
	  "406", "protocol.not_acceptable", false },
	{ "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: */*;q=0\r\n" USUAL "\r\n{}", "406",
	  "protocol.not_acceptable", false },
	{ "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n\r\n", "406",
	  "text/event-stream", false },
	{ "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}", "415",
	  "nothing", false },
	{ "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
	  "text/plain\r\nContent-Length: "
	  "2\r\n\r\n{}",
	  "415", "text/plain", false },
	{ "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
	  "application/json;charset=latin1\r\n"
	  "Content-Length: 2\r\n\r\n{}",
	  "415", "latin1", false },
	{ "POST /mcp HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n" USUAL "\r\n{}", "400",
	  "Host", true },
	{ "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n" USUAL "\r\n{}",
	  "400", "length", true },
	{ "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	  "Content-Length: 99999999999\r\n\r\n{}",
	  "413", "input.too_large", true },
	{ "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nExpect: "
	  "100-continue\r\n"
	  "Content-Length: 2\r\n\r\n",
	  "415", "text/plain", true },
	{ "PUT /healthz HTTP/1.1\r\nHost: localhost\r\n" USUAL "\r\n{}", "405",
	  "protocol.http_method_not_allowed", false },
};

static void test_http__refuses(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(REFUSALS) / sizeof(REFUSALS[0]); i++) {
		char line[32];

		client_close(&client);
		client_open(&client, &server);
		say(REFUSALS[i].request);
		snprintf(line, sizeof(line), "HTTP/1.1 %s ", REFUSALS[i].status);
		expect(line);
		expect(REFUSALS[i].body);
		if (REFUSALS[i].ends) {
			client_expect_end(&client);
			continue;
		}
		client_post(&client, NULL, "{\"a\":1}");
		expect("{\"a\":1}");
	}
	/* Without a Host header. */
	client_close(&client);
	client_open(&client, &server);
	say("POST /mcp HTTP/1.1\r\n" USUAL "\r\n{}");
	client_expect_end(&client);
}

static void test_http__reads_a_refused_body_to_its_end(void **state)
{
	size_t len = server.limits.message_bytes + 1;
	char *body = malloc(len + 1);

	(void)state;
	assert_non_null(body);
	memset(body, 'z', len);
	body[len] = 0;
	client_post(&client, NULL, body);
	expect("HTTP/1.1 413 ");
	expect("input.too_large");
	client_post(&client, NULL, "{\"a\":1}");
	expect("{\"a\":1}");
	say("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	    "Transfer-Encoding: chunked\r\n\r\n400001\r\n");
	say(body);
	say("\r\n0\r\n\r\n");
	expect("HTTP/1.1 413 ");
	free(body);
	client_post(&client, NULL, "{\"a\":1}");
	expect("{\"a\":1}");
}

/* The head decides the answer, then the body is malformed: there is one answer. */
static void test_http__a_refused_request_with_a_malformed_body_has_one_answer(void **state)
{
	static const char *const BODIES[] = { "zz\r\n", "2\r\nabc\r\n", "2\nab" };

	(void)state;
	for (size_t i = 0; i < sizeof(BODIES) / sizeof(*BODIES); i++) {
		client_close(&client);
		client_open(&client, &server);
		say("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
		    "Transfer-Encoding: chunked\r\n\r\n");
		fake_spin(&server, 5);
		say(BODIES[i]);
		expect("HTTP/1.1 415 ");
		client_expect_end(&client);
		assert_null(strstr(client.text, "HTTP/1.1"));
	}
}

/* The answer is made before the body is read; then the body ends the connection. */
static void test_http__a_refusal_says_close_if_its_body_ends_the_connection(void **state)
{
	static const char *const BODIES[] = { "zz\r\n", "9\r\n123456789\r\n9\r\n", "2\nab" };

	(void)state;
	server.limits.http_drain_bytes = 10;
	for (size_t i = 0; i < sizeof(BODIES) / sizeof(*BODIES); i++) {
		client_close(&client);
		client_open(&client, &server);
		say("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
		    "Transfer-Encoding: chunked\r\n\r\n");
		fake_spin(&server, 5);
		say(BODIES[i]);
		expect("HTTP/1.1 415 Unsupported Media Type\r\nDate: ");
		expect(" GMT\r\nConnection: close\r\nContent-Type: application/json\r\n");
		expect("\r\n\r\n[protocol.unsupported_media_type: ");
		client_expect_end(&client);
		assert_string_equal(client.text + client.len - 1, "]");
	}
	client_close(&client);
	client_open(&client, &server);
	say("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
	    "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n");
	expect(" GMT\r\nContent-Type: application/json\r\n");
}

static void test_http__a_get_with_an_endless_body_is_refused(void **state)
{
	(void)state;
	server.limits.http_drain_bytes = 10;
	say("GET /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
	    "0123456789abcdef");
	expect("HTTP/1.1 413 ");
	client_expect_end(&client);
	assert_int_equal(server.received, 0);
}

static void test_http__a_page_sends_100_continue(void **state)
{
	(void)state;
	say("GET /open HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
	    "Content-Length: 2\r\n\r\n");
	expect("HTTP/1.1 100 Continue\r\n\r\n");
	say("{}");
	expect("HTTP/1.1 200 ");
	client_post(&client, NULL, "{\"a\":1}");
	expect("{\"a\":1}");
}

static void test_http__requires_the_token(void **state)
{
	fw_http_options options = FW_HTTP_OPTIONS_INIT;

	begin(state);
	options.bearer_token = "right-token";
	options.resource_metadata_url = "https://a.example/.well-known/x";
	options.allowed_origins = "https://one.example, https://two.example";
	options.allowed_hosts = "mcp.example, other.example:8443";
	fake_listen(&server, &options);
	client_open(&client, &server);
	client_post(&client, NULL, "{}");
	expect("HTTP/1.1 401 ");
	expect("WWW-Authenticate: Bearer "
	       "resource_metadata=\"https://a.example/.well-known/x\"\r\n");
	expect("auth.unauthorized");
	client_post(&client, "Authorization: Bearer wrong-token\r\n", "{}");
	expect("HTTP/1.1 401 ");
	client_post(&client, "Authorization: Basic right-token\r\n", "{}");
	expect("HTTP/1.1 401 ");
	client_post(&client,
		    "Authorization: bearer  right-token \r\nOrigin: https://two.example\r\n",
		    "{}");
	expect("HTTP/1.1 200 ");
	assert_string_equal(server.principal, "token");
	say("GET /mcp HTTP/1.1\r\nHost: MCP.example:123\r\nAuthorization: Bearer "
	    "right-token\r\n\r\n");
	expect("HTTP/1.1 200 ");
	server.held->ops->close(server.held);
	expect("\r\n0\r\n\r\n");
	say("DELETE /mcp HTTP/1.1\r\nHost: other.example\r\nAuthorization: Bearer "
	    "right-token\r\n\r\n");
	expect("HTTP/1.1 403 ");
	say("GET /page HTTP/1.1\r\nHost: mcp.example\r\n\r\n");
	expect("HTTP/1.1 401 ");
	expect("WWW-Authenticate: Bearer");
	say("GET /page HTTP/1.1\r\nHost: mcp.example\r\nAuthorization: Bearer "
	    "right-token\r\n\r\n");
	expect("HTTP/1.1 200 ");
	say("GET /open HTTP/1.1\r\nHost: other.example\r\n\r\n");
	expect("HTTP/1.1 403 ");
	say("GET /open HTTP/1.1\r\nHost: mcp.example\r\n\r\n");
	expect("HTTP/1.1 200 ");
	say("GET /healthz HTTP/1.1\r\nHost: any\r\n\r\n");
	expect("/healthz");
	end(state);
}

static void test_http__serves_pages_to_get_and_head(void **state)
{
	(void)state;
	say("GET /page?q=a%20b&r HTTP/1.1\r\nHost: localhost\r\nAccept: text/x\r\n\r\n");
	expect("HTTP/1.1 200 ");
	expect("Content-Type: text/x-page\r\n");
	expect("/page q=a b accept=text/x\n");
	say("HEAD /page HTTP/1.1\r\nHost: localhost\r\n\r\n"
	    "GET /open HTTP/1.1\r\nHost: localhost\r\n\r\n");
	expect("Content-Length: 19\r\n");
	expect("\r\nHTTP/1.1 200 ");
	expect("/open q=- accept=-\n");
	say("GET /open HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n\r\n");
	expect("HTTP/1.1 403 ");
	say("GET /healthz HTTP/1.1\r\nHost: any.example\r\n\r\n");
	expect("HTTP/1.1 200 ");
	assert_int_equal(server.received, 0);
}

/* A refusal may be written to the audit log before it is sent. */
static void test_http__an_answer_decided_by_the_head_may_come_later(void **state)
{
	(void)state;
	say("GET /held HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}");
	for (int i = 0; i < 1000 && !server.held; i++)
		fake_spin(&server, 5);
	assert_non_null(server.held);
	assert_int_equal(server.received, 0);
	server.held->ops->reply(server.held, &(struct fw_reply){ .status = 429,
								 .json = "late",
								 .len = 4,
								 .retry_after_s = 7 });
	expect("HTTP/1.1 429 ");
	expect("Retry-After: 7\r\n");
	expect("late");
	server.held = NULL;
	say("GET /held HTTP/1.1\r\nHost: localhost\r\n\r\n");
	fake_spin(&server, 30);
	client_close(&client);
	fake_await(&server, &server.gone, 1);
	assert_null(server.held);
	client_open(&client, &server);
}

static void test_http__passes_headers_trimmed_and_counted(void **state)
{
	(void)state;
	client_post(&client, "X-TEST: \t a b \t \r\n", "{}");
	expect("\r\n\r\n{}");
	assert_string_equal(server.header, "a b");
	assert_int_equal(server.header_count, 1);
	assert_string_equal(server.principal, "anonymous");
	client_post(&client, "x-test: 1\r\nX-Test: 2\r\n", "{}");
	expect("\r\n\r\n{}");
	assert_string_equal(server.header, "1");
	assert_int_equal(server.header_count, 2);
	client_post(&client, "x-test:\r\n", "{}");
	expect("\r\n\r\n{}");
	assert_string_equal(server.header, "");
	client_post(&client, NULL, "{}");
	expect("\r\n\r\n{}");
	assert_int_equal(server.header_count, 0);
}

static void test_http__limits_headers(void **state)
{
	char *extra = malloc(100000);
	size_t len = 0;

	(void)state;
	assert_non_null(extra);
	for (int i = 0; i < 140; i++)
		len += (size_t)snprintf(extra + len, 100000 - len, "X-%d: y\r\n", i);
	say("POST /mcp HTTP/1.1\r\nHost: localhost\r\n");
	say(extra);
	say(USUAL "\r\n{}");
	expect("HTTP/1.1 400 ");
	client_expect_end(&client);
	client_close(&client);
	client_open(&client, &server);
	memset(extra, 'x', 99999);
	extra[99999] = 0;
	say("POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: ");
	say(extra);
	say("\r\n" USUAL "\r\n{}");
	expect("HTTP/1.1 431 ");
	free(extra);
	assert_int_equal(server.received, 0);
}

/* ---- listening and stopping ------------------------------------------------- */

static void expect_misuse(const fw_http_options *options, const char *word)
{
	fw_error *err = fw_server_listen_http(&server, options);

	assert_non_null(err);
	assert_string_equal(fw_error_name(err), "internal.api_misuse");
	assert_non_null(strstr(fw_error_message(err), word));
	fw_error_free(err);
}

static void test_http__refuses_options_that_are_not_safe(void **state)
{
	fw_http_options options = FW_HTTP_OPTIONS_INIT;
	fw_error *err;

	begin(state);
	options.address = "0.0.0.0";
	expect_misuse(&options, "not loopback");
	options.address = "not an address";
	expect_misuse(&options, "address");
	options.address = NULL;
	options.path = "mcp";
	expect_misuse(&options, "path");
	options.path = NULL;
	options.tls_key = "x";
	expect_misuse(&options, "TLS");
	options.tls_certificate = "y";
	err = fw_server_listen_http(&server, &options);
	assert_non_null(err);
	assert_string_equal(fw_error_name(err), "transport.tls_failed");
	fw_error_free(err);
	assert_null(server.transport);
	fake_clear(&server);
}

static void test_http__reports_a_port_in_use(void **state)
{
	fw_http_options options = FW_HTTP_OPTIONS_INIT;
	fw_error *err;

	(void)state;
	options.port = (uint16_t)strtoul(strrchr(fake_http(&server)->url, ':') + 1, NULL, 10);
	err = fw_server_listen_http(&server, &options);
	assert_non_null(err);
	assert_non_null(strstr(fw_error_message(err), "127.0.0.1"));
	fw_error_free(err);
}

static void test_http__can_be_freed_without_having_run(void **state)
{
	fw_http_options options = FW_HTTP_OPTIONS_INIT;

	begin(state);
	options.address = "::1";
	options.path = "/a/b";
	assert_null(fw_server_listen_http(&server, &options));
	assert_memory_equal(fake_http(&server)->url, "http://[::1]:", 13);
	assert_non_null(strstr(fake_http(&server)->url, "/a/b"));
	fake_clear(&server);
}

static void test_http__stops_with_clients_that_wait_and_streams_that_are_open(void **state)
{
	struct fake_client waiting, idle, partial;

	(void)state;
	client_open(&waiting, &server);
	client_open(&idle, &server);
	client_open(&partial, &server);
	client_post(&idle, NULL, "{}");
	client_expect(&idle, "\r\n\r\n{}");
	client_send(&partial, "POST /mcp HT", 12);
	client_post(&waiting, NULL, "hold");
	fake_await(&server, &server.received, 2);
	say("GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n");
	expect("text/event-stream\r\n");
	fake_stop(&server);
	assert_int_equal(server.gone, 2);
	client_expect_end(&idle);
	client_expect_end(&waiting);
	client_expect_end(&client);
	client_close(&waiting);
	client_close(&idle);
	client_close(&partial);
}

static void test_http__writes_the_last_answer_before_it_stops(void **state)
{
	struct fw_exchange *exchange;

	(void)state;
	client_post(&client, NULL, "hold");
	fake_await(&server, &server.received, 1);
	server.transport->ops->quiesce(server.transport);
	exchange = server.held;
	server.held = NULL;
	exchange->ops->reply(
		exchange,
		&(struct fw_reply){ .status = 200, .json = "{\"last\":1}", .len = 10 });
	server.transport->ops->close(server.transport);
	expect("Connection: close\r\n");
	expect("{\"last\":1}");
	client_expect_end(&client);
	for (int i = 0; i < 1000 && !server.is_closed; i++)
		fake_spin(&server, 5);
	assert_true(server.is_closed);
	assert_int_equal(server.gone, 0);
}

static void test_http__serves_open_connections_after_quiesce(void **state)
{
	(void)state;
	client_post(&client, NULL, "{}");
	expect("\r\n\r\n{}");
	server.transport->ops->quiesce(server.transport);
	client_post(&client, NULL, "{\"a\":1}");
	expect("Connection: close\r\n");
	expect("{\"a\":1}");
	client_expect_end(&client);
}

#define LISTENING(test) cmocka_unit_test_setup_teardown(test, begin_listening, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LISTENING(test_http__answers_with_one_document),
		LISTENING(test_http__keeps_the_connection_and_answers_pipelined_requests),
		LISTENING(test_http__answers_later),
		LISTENING(test_http__streams_events_then_the_answer),
		LISTENING(test_http__streams_events_that_come_together),
		LISTENING(test_http__ends_without_an_answer),
		LISTENING(test_http__opens_a_quiet_stream_at_once),
		LISTENING(test_http__ends_a_session),
		LISTENING(test_http__sends_large_answers_whole),
		LISTENING(test_http__accepts_large_and_chunked_bodies),
		LISTENING(test_http__upgrades_a_slow_answer_to_a_stream),
		LISTENING(test_http__refuses),
		LISTENING(test_http__reads_a_refused_body_to_its_end),
		LISTENING(test_http__a_refused_request_with_a_malformed_body_has_one_answer),
		LISTENING(test_http__a_refusal_says_close_if_its_body_ends_the_connection),
		LISTENING(test_http__a_get_with_an_endless_body_is_refused),
		LISTENING(test_http__a_page_sends_100_continue),
		cmocka_unit_test(test_http__requires_the_token),
		LISTENING(test_http__serves_pages_to_get_and_head),
		LISTENING(test_http__an_answer_decided_by_the_head_may_come_later),
		LISTENING(test_http__passes_headers_trimmed_and_counted),
		LISTENING(test_http__limits_headers),
		cmocka_unit_test(test_http__refuses_options_that_are_not_safe),
		LISTENING(test_http__reports_a_port_in_use),
		cmocka_unit_test(test_http__can_be_freed_without_having_run),
		LISTENING(test_http__stops_with_clients_that_wait_and_streams_that_are_open),
		LISTENING(test_http__writes_the_last_answer_before_it_stops),
		LISTENING(test_http__serves_open_connections_after_quiesce),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
