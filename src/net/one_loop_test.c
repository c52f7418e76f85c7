/*
 * one_loop_test.c - a server, a child process and an HTTP client on one loop, in one
 * thread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <faultwire/faultwire.h>
#include <faultwire/raise.h>

#include "base/buf.h"
#include "base/loop.h"
#include "mcp/server.h"
#include "io/child.h"
#include "io/fetch.h"

static const char ASK[] =
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
	"call\",\"params\":{\"name\":\"relay\","
	"\"arguments\":{\"text\":\"over three parts\"},\"_meta\":{"
	"\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
	"\"io.modelcontextprotocol/clientInfo\":{\"name\":\"t\",\"version\":\"1\"},"
	"\"io.modelcontextprotocol/clientCapabilities\":{}}}}";

/* Everything lives on `loop`. */
struct world {
	struct fw_loop loop;
	fw_server *server;
	struct fw_fetcher *fetcher;
	struct fw_child *child;
	fw_call *waiting; /* for a line of the child */
	struct fw_buf answer;
	fw_error *fetch_err;
	fw_error *closed_err;
	unsigned ends, closed, exited;
	bool frees_in_closed;
};

/* ---- the child process: cat --------------------------------------------------- */

static void child_line(void *ctx, const char *text, size_t len)
{
	struct world *world = ctx;

	assert_non_null(world->waiting);
	fw_call_text_n(world->waiting, text, len);
	fw_call_finish(world->waiting, NULL);
	world->waiting = NULL;
}

static void child_broken(void *ctx, const char *text, size_t len, bool is_too_long)
{
	(void)ctx;
	(void)is_too_long;
	fail_msg("broken line: %.*s", (int)len, text);
}

static void child_exited(void *ctx, int status, int signum)
{
	struct world *world = ctx;

	assert_int_equal(status, 0);
	assert_int_equal(signum, 0);
	world->exited++;
	fw_child_free(world->child);
	world->child = NULL;
}

static void start_child(struct world *world)
{
	static const char *const ARGV[] = { "cat", NULL };

	assert_null(fw_child_start(&world->loop,
				   &(struct fw_child_options){ .argv = ARGV,
							       .on = { .line = child_line,
								       .broken = child_broken,
								       .exited = child_exited },
							       .ctx = world },
				   &world->child));
}

/* ---- the server ---------------------------------------------------------------- */

static fw_error *relay(fw_call *call, void *ctx)
{
	struct world *world = ctx;
	size_t len = 0;
	const char *text = fw_call_string(call, "text", &len);

	world->waiting = call;
	assert_int_equal(fw_child_send(world->child, text, len), FW_CHILD_SENT);
	return NULL;
}

static void on_closed(void *ctx, fw_error *err)
{
	struct world *world = ctx;

	world->closed++;
	world->closed_err = err;
	if (!world->frees_in_closed)
		return;
	fw_server_free(world->server);
	world->server = NULL;
	if (world->child)
		fw_child_end_input(world->child);
}

static fw_server *make_server(struct world *world)
{
	fw_server_options options = FW_SERVER_OPTIONS_INIT;
	fw_tool tool = FW_TOOL_INIT;
	fw_server *server = NULL;

	options.name = "relay";
	options.version = "1";
	options.keep_signals = true;
	assert_null(fw_server__new_on(&world->loop, &options, &server));
	tool.name = "relay";
	tool.description = "passes a text on";
	tool.handler = relay;
	tool.run = FW_RUN_ASYNC;
	tool.ctx = world;
	assert_null(fw_server_add_tool(server, &tool));
	return server;
}

static void listen_on(fw_server *server)
{
	fw_http_options http = FW_HTTP_OPTIONS_INIT;

	http.address = "127.0.0.1";
	assert_null(fw_server_listen_http(server, &http));
}

/* ---- the HTTP client ------------------------------------------------------------- */

static bool take_body(void *ctx, const char *bytes, size_t len)
{
	struct world *world = ctx;

	fw_buf_put(&world->answer, bytes, len);
	return true;
}

static void end_fetch(void *ctx, struct fw_fetch *fetch, fw_error *err)
{
	struct world *world = ctx;

	(void)fetch;
	world->ends++;
	world->fetch_err = err;
	fw_server_stop(world->server);
}

static void ask(struct world *world, const char *url)
{
	static const char *const HEADERS[] = { "Content-Type: application/json",
					       "Accept: application/json, text/event-stream",
					       "MCP-Protocol-Version: 2026-07-28",
					       "Mcp-Method: tools/call",
					       "Mcp-Name: relay",
					       NULL };
	struct fw_fetch *fetch = NULL;

	assert_null(fw_fetch_start(
		world->fetcher,
		&(struct fw_fetch_options){ .method = "POST",
					    .url = url,
					    .headers = HEADERS,
					    .body = ASK,
					    .len = sizeof ASK - 1,
					    .total_ms = 20000,
					    .on = { .body = take_body, .end = end_fetch },
					    .ctx = world },
		&fetch));
}

static bool answer_has(struct world *world, const char *text)
{
	return world->answer.len &&
	       memmem(world->answer.text, world->answer.len, text, strlen(text));
}

static void begin(struct world *world)
{
	memset(world, 0, sizeof *world);
	fw_buf_init(&world->answer, 1 << 20);
	assert_int_equal(fw_loop_init(&world->loop), 0);
}

static void end(struct world *world)
{
	fw_server_free(world->server);
	fw_fetcher_free(world->fetcher);
	fw_child_free(world->child);
	fw_loop_close(&world->loop);
	fw_buf_clear(&world->answer);
	fw_error_free(world->fetch_err);
	fw_error_free(world->closed_err);
	assert_int_equal(fw_error_live(), 0);
}

/* ---- tests ----------------------------------------------------------------------- */

static void test_one_loop__a_call_over_http_is_answered_by_a_child_process(void **state)
{
	struct world world;

	(void)state;
	begin(&world);
	world.frees_in_closed = true;
	world.server = make_server(&world);
	listen_on(world.server);
	start_child(&world);
	assert_null(fw_fetcher_new(&world.loop, &world.fetcher));
	assert_null(fw_server__start(world.server, on_closed, &world));
	ask(&world, fw_server_url(world.server));
	/* Returns when nothing is left on the loop: nobody stops it. */
	fw_loop_run(&world.loop);
	assert_null(world.fetch_err);
	assert_true(answer_has(&world, "\"text\":\"over three parts\""));
	assert_int_equal(world.ends, 1);
	assert_int_equal(world.closed, 1);
	assert_null(world.closed_err);
	assert_int_equal(world.exited, 1);
	assert_null(world.server);
	end(&world);
}

static void test_one_loop__run_returns_when_its_server_stops_not_when_the_loop_is_empty(
	void **state)
{
	struct world world;

	(void)state;
	begin(&world);
	world.server = make_server(&world);
	listen_on(world.server);
	start_child(&world);
	assert_null(fw_fetcher_new(&world.loop, &world.fetcher));
	ask(&world, fw_server_url(world.server));
	assert_null(fw_server_run(world.server));
	assert_true(answer_has(&world, "over three parts"));
	assert_int_equal(world.exited, 0);
	/* The loop goes on without the server. */
	fw_server_free(world.server);
	world.server = NULL;
	fw_child_end_input(world.child);
	fw_loop_run(&world.loop);
	assert_int_equal(world.exited, 1);
	end(&world);
}

static void test_one_loop__one_of_two_servers_stops_and_the_other_one_answers(void **state)
{
	struct world world, other;

	(void)state;
	begin(&world);
	memset(&other, 0, sizeof other);
	other.frees_in_closed = world.frees_in_closed = true;
	world.server = make_server(&world);
	other.server = make_server(&world);
	listen_on(world.server);
	listen_on(other.server);
	start_child(&world);
	assert_null(fw_fetcher_new(&world.loop, &world.fetcher));
	assert_null(fw_server__start(other.server, on_closed, &other));
	assert_null(fw_server__start(world.server, on_closed, &world));
	fw_server_stop(other.server);
	while (!other.closed)
		(void)uv_run(&world.loop.uv, UV_RUN_ONCE);
	assert_null(other.server);
	ask(&world, fw_server_url(world.server));
	fw_loop_run(&world.loop);
	assert_true(answer_has(&world, "over three parts"));
	end(&world);
}

static void test_one_loop__a_server_that_cannot_begin_is_reported_on_the_loop(void **state)
{
	struct world world;

	(void)state;
	begin(&world);
	world.frees_in_closed = true;
	world.server = make_server(&world);
	assert_null(fw_server__start(world.server, on_closed, &world));
	assert_int_equal(world.closed, 0);
	fw_loop_run(&world.loop);
	assert_int_equal(world.closed, 1);
	assert_int_equal(fw_error_code(world.closed_err), FW_INTERNAL_API_MISUSE);
	end(&world);
}

static void test_one_loop__run_without_a_transport_returns_an_error(void **state)
{
	struct world world;
	fw_error *err;

	(void)state;
	begin(&world);
	world.server = make_server(&world);
	err = fw_server_run(world.server);
	assert_int_equal(fw_error_code(err), FW_INTERNAL_API_MISUSE);
	fw_error_free(err);
	end(&world);
}

static void test_one_loop__a_server_starts_once(void **state)
{
	struct world world;
	fw_error *err;

	(void)state;
	begin(&world);
	world.server = make_server(&world);
	listen_on(world.server);
	assert_null(fw_server__start(world.server, on_closed, &world));
	err = fw_server__start(world.server, on_closed, &world);
	assert_int_equal(fw_error_code(err), FW_INTERNAL_API_MISUSE);
	fw_error_free(err);
	fw_server_stop(world.server);
	while (!world.closed)
		(void)uv_run(&world.loop.uv, UV_RUN_ONCE);
	end(&world);
}

static void test_one_loop__a_server_that_never_ran_leaves_the_loop_empty(void **state)
{
	struct world world;

	(void)state;
	begin(&world);
	world.server = make_server(&world);
	listen_on(world.server);
	fw_server_free(world.server);
	world.server = NULL;
	fw_loop_run(&world.loop);
	assert_int_equal(uv_loop_alive(&world.loop.uv), 0);
	end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_one_loop__a_call_over_http_is_answered_by_a_child_process),
		cmocka_unit_test(
			test_one_loop__run_returns_when_its_server_stops_not_when_the_loop_is_empty),
		cmocka_unit_test(
			test_one_loop__one_of_two_servers_stops_and_the_other_one_answers),
		cmocka_unit_test(
			test_one_loop__a_server_that_cannot_begin_is_reported_on_the_loop),
		cmocka_unit_test(test_one_loop__run_without_a_transport_returns_an_error),
		cmocka_unit_test(test_one_loop__a_server_starts_once),
		cmocka_unit_test(test_one_loop__a_server_that_never_ran_leaves_the_loop_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
