/*
 * Conversations with each allocation failing in turn that need a peer while they run:
 * questions to the client and to the program, and HTTP. Each request has one answer, or its
 * connection ends; nobody waits without end, and nothing is left behind. Adding workers and
 * answerers raises internal.out_of_memory or works.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <faultwire/faultwire.h>
#include <faultwire/raise.h>

#include "test/memory.h"

enum { WAIT_S = 30 };

static void expect_no_memory(fw_error *err)
{
	if (err && fw_error_code(err) != FW_INTERNAL_OUT_OF_MEMORY)
		fail_msg("%s: %s", fw_error_name(err), fw_error_message(err));
	if (err)
		assert_true(test_memory.failed);
	fw_error_free(err);
}

/* ---- a server -------------------------------------------------------------- */

static void answer_host(fw_call *call, const char *key, const char *params, void *ctx)
{
	(void)params;
	(void)ctx;
	fw_call_supply(call, key, "{\"a\":\"you\"}", 11, NULL);
}

static fw_error *ask_host(fw_call *call, void *ctx)
{
	(void)ctx;
	if (fw_call_ask(call, "host:x", "test/host", "{\"n\":1}"))
		fw_call_textf(call, "heard %s", fw_call_answer(call, "host:x", "/a"));
	return NULL;
}

static fw_error *ask_client(fw_call *call, void *ctx)
{
	const char *roots = fw_call_ask(call, "roots", "roots/list", NULL);

	(void)ctx;
	if (roots)
		fw_call_text(call, roots);
	return NULL;
}

static fw_error *fail_call(fw_call *call, void *ctx)
{
	(void)call;
	(void)ctx;
	return fw_raise_file_not_found("a");
}

static fw_error *show(fw_page *page, void *ctx)
{
	(void)ctx;
	fw_page_write(page, "page", 4);
	return NULL;
}

static fw_error *add_tool(fw_server *server, const char *name, fw_handler *handler,
			  fw_workers *workers)
{
	fw_tool tool = FW_TOOL_INIT;

	tool.name = name;
	tool.handler = handler;
	tool.workers = workers;
	tool.run = workers ? FW_RUN_PROCESS : FW_RUN_INLINE;
	return fw_server_add_tool(server, &tool);
}

static fw_server *new_server(void)
{
	fw_server_options options = FW_SERVER_OPTIONS_INIT;
	fw_server *server = NULL;

	options.name = "memory";
	options.version = "1";
	assert_null(fw_server_new(&options, &server));
	return server;
}

static fw_error *set_up(fw_server *server)
{
	FW_TRY(fw_server_add_answerer(server, "test/host", answer_host, NULL));
	FW_TRY(add_tool(server, "ask_host", ask_host, NULL));
	FW_TRY(add_tool(server, "ask_client", ask_client, NULL));
	FW_TRY(add_tool(server, "fail", fail_call, NULL));
	return fw_server_add_page(server, "/page", true, show, NULL);
}

/* What was set up before does not lack memory. */
static void lack_from_here(size_t fail_at)
{
	test_memory.calls = 0;
	test_memory.fail_at = fail_at;
}

static size_t have_memory(void)
{
	size_t fail_at = test_memory.fail_at;

	test_memory.fail_at = 0;
	return fail_at;
}

/* ---- setting up ------------------------------------------------------------ */

static fw_error *add_workers(fw_server *server)
{
	static const char *const paths[] = { "/usr", "/tmp", NULL };
	fw_workers_options options = FW_WORKERS_INIT;
	fw_workers *workers = NULL;

	options.readable = paths;
	options.writable = paths;
	options.environment = paths;
	FW_TRY(fw_server_add_workers(server, &options, &workers));
	FW_TRY(add_tool(server, "isolated", fail_call, workers));
	return fw_server_add_answerer(server, "test/host", answer_host, NULL);
}

static void add_and_free(void)
{
	size_t fail_at = have_memory();
	fw_server *server = new_server();

	lack_from_here(fail_at);
	expect_no_memory(add_workers(server));
	fw_server_free(server);
}

static void test_peer_memory__adding_workers_and_answerers_fails_cleanly(void **state)
{
	(void)state;
	each_allocation_fails(add_and_free);
}

/* ---- the peer -------------------------------------------------------------- */

struct peer {
	fw_server *server;
	int fd;
	uint16_t port;
	pthread_t thread;
	char said[1 << 16]; /* by the server */
	size_t len;
	unsigned answers;
	bool is_late; /* it was never answered */
};

static void give_time(int fd)
{
	const struct timeval limit = { .tv_sec = WAIT_S };

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

/* False: the server has closed, or it is late. */
static bool hear(struct peer *peer, int fd)
{
	ssize_t n = recv(fd, peer->said + peer->len, sizeof peer->said - peer->len - 1, 0);

	peer->is_late = peer->is_late || (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK));
	peer->len += n > 0 ? (size_t)n : 0;
	peer->said[peer->len] = '\0';
	return n > 0;
}

static void say(int fd, const char *text)
{
	/* The server may have gone. */
	(void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
}

/* ---- questions ------------------------------------------------------------- */

#define CALL(id, tool)                                                              \
	"{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"method\":\"tools/call\",\"params\":" \
	"{\"name\":\"" tool "\",\"arguments\":{}}}\n"

static const char hello[] =
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
	"\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"roots\":{}},"
	"\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}\n"
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n" CALL(2, "ask_host")
		CALL(3, "ask_client");

/* Answers the question, and closes after the answer to its call. An error without an id
 * says that a message could not be read, which may have been ours. */
static void *answer_questions(void *arg)
{
	struct peer *peer = arg;

	say(peer->fd, hello);
	while (hear(peer, peer->fd)) {
		const char *question = strstr(peer->said, "\"method\":\"roots/list\"");
		char text[200];
		unsigned long id;

		if (strstr(peer->said, "\"id\":3,") ||
		    strstr(peer->said, "{\"jsonrpc\":\"2.0\",\"error\""))
			break;
		if (!question || !strchr(question, '\n') || peer->answers)
			continue;
		while (question > peer->said && question[-1] != '\n')
			question--;
		question = strstr(question, "\"id\":");
		id = question ? strtoul(question + sizeof "\"id\":" - 1, NULL, 10) : 0;
		(void)snprintf(text, sizeof text,
			       "{\"jsonrpc\":\"2.0\",\"id\":%lu,\"result\":{\"roots\":[]}}\n",
			       id);
		say(peer->fd, text);
		peer->answers++;
	}
	(void)shutdown(peer->fd, SHUT_WR);
	return NULL;
}

static void converse(void)
{
	static struct peer peer;
	size_t fail_at = have_memory();
	fw_server *server = new_server();
	fw_error *err;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	give_time(ends[1]);
	peer = (struct peer){ .fd = ends[1] };
	assert_null(set_up(server));
	assert_null(fw_server_listen_fds(server, ends[0], ends[0]));
	assert_int_equal(pthread_create(&peer.thread, NULL, answer_questions, &peer), 0);
	lack_from_here(fail_at);
	err = fw_server_run(server);
	(void)have_memory();
	/* A server that ended by itself closes nothing that is not its own. */
	(void)shutdown(ends[0], SHUT_RDWR);
	assert_int_equal(pthread_join(peer.thread, NULL), 0);
	if (peer.is_late)
		fail_msg("no answer after allocation %zu: %s", fail_at, peer.said);
	if (!test_memory.failed &&
	    (!strstr(peer.said, "heard you") || !strstr(peer.said, "{\\\"roots\\\":[]}")))
		fail_msg("%s", peer.said);
	expect_no_memory(err);
	fw_server_free(server);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void test_peer_memory__questions_are_answered_or_their_call_fails(void **state)
{
	(void)state;
	converse();
	each_allocation_fails(converse);
}

/* ---- HTTP ------------------------------------------------------------------ */

#define META                                                                     \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
	"\"io.modelcontextprotocol/clientCapabilities\":{},"                     \
	"\"io.modelcontextprotocol/clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}"
#define MODERN(tool)                                                          \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":" \
	"{\"name\":\"" tool "\",\"arguments\":{}," META "}}"

static const struct {
	const char *head, *body, *expected;
} requests[] = {
	{ "POST /mcp HTTP/1.1\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: "
	  "tools/call\r\nMcp-Name: ask_host\r\n",
	  MODERN("ask_host"), "heard you" },
	{ "POST /mcp HTTP/1.1\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: "
	  "tools/call\r\nMcp-Name: fail\r\n",
	  MODERN("fail"), "file.not_found" },
	{ "POST /mcp HTTP/1.1\r\n",
	  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
	  "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
	  "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}",
	  "Mcp-Session-Id" },
	{ "POST /mcp HTTP/1.1\r\n", "{\"jsonrpc\":", "protocol.parse_error" },
	{ "GET /page HTTP/1.1\r\n", "", "page" },
	{ "GET /none HTTP/1.1\r\n", "", "protocol.path_not_found" },
};

static bool send_request(struct peer *peer, size_t i)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(peer->port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char text[2048];

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	give_time(fd);
	peer->len = 0;
	peer->said[0] = '\0';
	if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0) {
		(void)snprintf(text, sizeof text,
			       "%sHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
			       "Accept: application/json, text/event-stream\r\n"
			       "Connection: close\r\nContent-Length: %zu\r\n\r\n%s",
			       requests[i].head, strlen(requests[i].body), requests[i].body);
		say(fd, text);
		while (hear(peer, fd))
			;
	}
	(void)close(fd);
	return strstr(peer->said, requests[i].expected) != NULL;
}

static void *request_all(void *arg)
{
	struct peer *peer = arg;

	for (size_t i = 0; i < sizeof requests / sizeof *requests && !peer->is_late; i++)
		peer->answers += send_request(peer, i);
	fw_server_stop(peer->server);
	return NULL;
}

static void serve_http(void)
{
	static struct peer peer;
	size_t fail_at = have_memory();
	fw_http_options http = FW_HTTP_OPTIONS_INIT;
	const char *colon;
	fw_error *err;

	peer = (struct peer){ .server = new_server() };
	assert_null(set_up(peer.server));
	http.port = 0;
	assert_null(fw_server_listen_http(peer.server, &http));
	assert_null(fw_server_prepare(peer.server));
	colon = strrchr(fw_server_url(peer.server), ':');
	assert_non_null(colon);
	peer.port = (uint16_t)strtoul(colon + 1, NULL, 10);
	assert_int_equal(pthread_create(&peer.thread, NULL, request_all, &peer), 0);
	lack_from_here(fail_at);
	err = fw_server_run(peer.server);
	(void)have_memory();
	assert_int_equal(pthread_join(peer.thread, NULL), 0);
	if (peer.is_late)
		fail_msg("no answer after allocation %zu: %s", fail_at, peer.said);
	if (!test_memory.failed)
		assert_int_equal(peer.answers, sizeof requests / sizeof *requests);
	expect_no_memory(err);
	fw_server_free(peer.server);
}

static void test_peer_memory__http_requests_are_answered_or_their_connection_ends(void **state)
{
	(void)state;
	serve_http();
	each_allocation_fails(serve_http);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_peer_memory__adding_workers_and_answerers_fails_cleanly),
		cmocka_unit_test(test_peer_memory__questions_are_answered_or_their_call_fails),
		cmocka_unit_test(
			test_peer_memory__http_requests_are_answered_or_their_connection_ends),
	};

	return cmocka_run_group_tests_name("peer_memory", tests, NULL, NULL);
}
