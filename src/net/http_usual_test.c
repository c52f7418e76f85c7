/*
 * The same bytes through http_usual.c and through llhttp: what the first takes, the
 * second must take as well, and read in the same way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "net/http_conn.h"
#include "net/http_llhttp.h"

#define BODY "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"

static struct fw_limits limits = FW_LIMITS_INIT;
static struct fw_http http;
static struct fw_http_conn usual, parsed;
static char usual_bytes[4096], parsed_bytes[4096];

static int begin(void **state)
{
	(void)state;
	http.limits = &limits;
	assert_null(fw_llhttp_load());
	fw_http__set_callbacks(&http.settings);
	return 0;
}

static void prepare(struct fw_http_conn *conn, char *bytes, const char *text, size_t len)
{
	assert_true(len < sizeof usual_bytes);
	memcpy(bytes, text, len);
	memset(conn, 0, sizeof *conn);
	conn->http = &http;
	conn->in.data = bytes;
	conn->in.len = len;
	llhttp_init(&conn->parser, HTTP_REQUEST, &http.settings);
	conn->parser.data = conn;
	conn->state = FW_HTTP_HEAD;
}

static bool is_taken(const char *text, size_t len)
{
	prepare(&usual, usual_bytes, text, len);
	return fw_http__take_usual(&usual);
}

/* The first byte alone is no usual request, so llhttp gets it and the rest. */
static void parse(const char *text, size_t len)
{
	prepare(&parsed, parsed_bytes, text, len);
	parsed.in.len = 1;
	assert_int_equal(fw_http__parse_head(&parsed), FW_HTTP_PARSED_MORE);
	parsed.in.len = len;
	assert_int_equal(fw_http__parse_head(&parsed), FW_HTTP_PARSED_DONE);
}

static void assert_same_span(struct fw_http_span a, struct fw_http_span b)
{
	assert_int_equal(a.at, b.at);
	assert_int_equal(a.len, b.len);
}

static void assert_same_body(void)
{
	size_t used;

	for (int i = 0; i < 2; i++) {
		struct fw_http_conn *conn = i ? &parsed : &usual;

		conn->state = FW_HTTP_BODY;
		conn->body.limit = limits.message_bytes;
		conn->body.announced = usual.head.whole_body;
		assert_int_equal(fw_http__parse_body(conn, conn->in.data + conn->in.parsed,
						     conn->in.len - conn->in.parsed, &used),
				 FW_HTTP_PARSED_DONE);
		assert_int_equal(used, usual.head.whole_body);
		assert_int_equal(conn->body.len, used);
		assert_int_equal(conn->head.progress, FW_HTTP_MESSAGE_COMPLETE);
	}
	assert_memory_equal(usual.body.data, parsed.body.data, usual.body.len);
}

static void assert_same_reading(const char *text, size_t len)
{
	parse(text, len);
	assert_int_equal(usual.in.parsed, parsed.in.parsed);
	assert_int_equal(usual.parser.method, parsed.parser.method);
	assert_int_equal(llhttp_should_keep_alive(&usual.parser),
			 llhttp_should_keep_alive(&parsed.parser));
	assert_int_equal(parsed.parser.upgrade, 0);
	assert_int_equal(usual.head.is_http10, parsed.head.is_http10);
	assert_same_span(usual.head.target, parsed.head.target);
	assert_int_equal(usual.head.field_count, parsed.head.field_count);
	for (unsigned i = 0; i < usual.head.field_count; i++) {
		assert_same_span(usual.head.fields[i].name, parsed.head.fields[i].name);
		assert_same_span(usual.head.fields[i].value, parsed.head.fields[i].value);
	}
	assert_memory_equal(usual_bytes, parsed_bytes, len);
	assert_same_body();
}

static size_t make(char *text, size_t size, const char *line, const char *headers)
{
	return (size_t)snprintf(text, size, "%s\r\nHost: 127.0.0.1:8940\r\n%s\r\n" BODY, line,
				headers);
}

#define LENGTH "Content-Length: 40\r\n"

static void test_http_usual__takes_what_clients_send(void **state)
{
	static const char *const headers[] = {
		LENGTH,
		"Content-Type: application/json\r\nAccept: application/json, "
		"text/event-stream\r\nMcp-Session-Id: abc\r\n" LENGTH,
		"connection: keep-alive\r\ncontent-length:40  \r\nuser-agent: node\r\n",
		"Accept-Encoding: br, gzip\r\nX:   spaced out  \r\nCONTENT-LENGTH: 040\r\n",
	};
	char text[2048];

	(void)state;
	assert_int_equal(sizeof BODY - 1, 40);
	for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
		size_t len = make(text, sizeof text, "POST /mcp HTTP/1.1", headers[i]);

		assert_true(is_taken(text, len));
		assert_int_equal(usual.head.whole_body, 40);
		assert_same_reading(text, len);
	}
}

/* Each of them has to be judged by the parser. */
static void test_http_usual__leaves_all_else_to_the_parser(void **state)
{
	static const struct {
		const char *line, *headers;
	} others[] = {
		{ "GET /mcp HTTP/1.1", LENGTH },
		{ "POST /mcp HTTP/1.0", LENGTH },
		{ "POST  /mcp HTTP/1.1", LENGTH },
		{ "POST /mcp  HTTP/1.1", LENGTH },
		{ "POST /mcp?a=b HTTP/1.1", LENGTH },
		{ "POST /mc%70 HTTP/1.1", LENGTH },
		{ "POST /mcp#a HTTP/1.1", LENGTH },
		{ "POST * HTTP/1.1", LENGTH },
		{ "POST http://127.0.0.1:8940/mcp HTTP/1.1", LENGTH },
		{ "POST /mcp HTTP/1.1", "" },
		{ "POST /mcp HTTP/1.1", "Content-Length: 0\r\n" },
		{ "POST /mcp HTTP/1.1", "Content-Length: 41\r\n" },
		{ "POST /mcp HTTP/1.1", "Content-Length: 4294967336\r\n" },
		{ "POST /mcp HTTP/1.1", "Content-Length: +40\r\n" },
		{ "POST /mcp HTTP/1.1", "Content-Length: 4 0\r\n" },
		{ "POST /mcp HTTP/1.1", "Content-Length: 40, 40\r\n" },
		{ "POST /mcp HTTP/1.1", "Content-Length : 40\r\n" },
		{ "POST /mcp HTTP/1.1", LENGTH LENGTH },
		{ "POST /mcp HTTP/1.1", "Content-Length: 0\r\n" LENGTH },
		{ "POST /mcp HTTP/1.1", "Transfer-Encoding: chunked\r\n" },
		{ "POST /mcp HTTP/1.1", "transfer-encoding: chunked\r\n" LENGTH },
		{ "POST /mcp HTTP/1.1", "Connection: close\r\n" LENGTH },
		{ "POST /mcp HTTP/1.1", "Connection: keep-alive, upgrade\r\n" LENGTH },
		{ "POST /mcp HTTP/1.1", "Proxy-Connection: close\r\n" LENGTH },
		{ "POST /mcp HTTP/1.1", "Upgrade: h2c\r\n" LENGTH },
		{ "POST /mcp HTTP/1.1", "Expect: 100-continue\r\n" LENGTH },
		{ "POST /mcp HTTP/1.1", "X: a\r\n folded\r\n" LENGTH },
		{ "POST /mcp HTTP/1.1", "X: a\n" LENGTH },
		{ "POST /mcp HTTP/1.1", "X: a\rb\r\n" LENGTH },
		{ "POST /mcp HTTP/1.1", "X:\tb\r\n" LENGTH },
		{ "POST /mcp HTTP/1.1", "X: \xc3\xa9\r\n" LENGTH },
		{ "POST /mcp HTTP/1.1", "X: \x7f\r\n" LENGTH },
		{ "POST /mcp HTTP/1.1", "X:\r\n" LENGTH },
		{ "POST /mcp HTTP/1.1", ": x\r\n" LENGTH },
		{ "POST /mcp HTTP/1.1", "X y: x\r\n" LENGTH },
	};
	char text[2048];

	(void)state;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		size_t len = make(text, sizeof text, others[i].line, others[i].headers);

		if (is_taken(text, len))
			fail_msg("taken: %s %s", others[i].line, others[i].headers);
		/* It was left as it is. */
		assert_memory_equal(usual_bytes, text, len);
		assert_int_equal(usual.in.parsed, 0);
		assert_int_equal(usual.head.field_count, 0);
	}
}

static void test_http_usual__leaves_a_request_that_is_not_complete(void **state)
{
	char text[2048];
	size_t len = make(text, sizeof text, "POST /mcp HTTP/1.1", LENGTH);

	(void)state;
	for (size_t part = 0; part < len; part++)
		assert_false(is_taken(text, part));
	assert_true(is_taken(text, len));
}

static void test_http_usual__reads_changed_requests_as_the_parser_does(void **state)
{
	static const char bytes[] = "\0\t\n\r !\"#%:;-/09Aaz~\x7f\x80\xff";
	unsigned random = 7, taken = 0;
	char text[2048];

	(void)state;
	for (unsigned round = 0; round < 200000; round++) {
		size_t len =
			make(text, sizeof text, "POST /mcp HTTP/1.1",
			     "Connection: keep-alive\r\nMcp-Name: x\r\n" LENGTH "A: b\r\n");
		unsigned changes = round % 3 + 1;

		while (changes--) {
			size_t at;

			random = random * 1103515245 + 12345;
			at = (random >> 8) % (len - sizeof BODY);
			random = random * 1103515245 + 12345;
			if (random >> 30 == 0)
				memmove(text + at, text + at + 1, --len - at);
			else
				text[at] = bytes[(random >> 16) % (sizeof bytes - 1)];
		}
		if (is_taken(text, len)) {
			taken++;
			assert_same_reading(text, len);
		}
	}
	assert_true(taken > 1000);
}

static void test_http_usual__keeps_to_the_limits(void **state)
{
	struct fw_limits few = limits;
	char text[2048];
	size_t len = make(text, sizeof text, "POST /mcp HTTP/1.1", LENGTH);

	(void)state;
	few.http_fields = 1;
	http.limits = &few;
	assert_false(is_taken(text, len));
	few.http_fields = 2;
	assert_true(is_taken(text, len));
	few.http_head_bytes = usual.in.parsed - 1;
	assert_false(is_taken(text, len));
	http.limits = &limits;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_http_usual__takes_what_clients_send),
		cmocka_unit_test(test_http_usual__leaves_all_else_to_the_parser),
		cmocka_unit_test(test_http_usual__leaves_a_request_that_is_not_complete),
		cmocka_unit_test(test_http_usual__reads_changed_requests_as_the_parser_does),
		cmocka_unit_test(test_http_usual__keeps_to_the_limits),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
