/*
 * A reply is held by an observer, as the audit log does, while the session
 * ends, the connection closes, the server stops or the handler ends late. In
 * each order the caller gets one answer or none at all, nothing is called
 * through an exchange that has gone, and nothing stays listed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include <uv.h>

#include <faultwire/raise.h>

#include "mcp/boundary.h"
#include "mcp/call.h"
#include "mcp/server.h"
#include "mcp/session.h"
#include "mcp/transport.h"

/* ---- a connection that fails the test if it is used after its end ------------- */

enum { HOLDS = 128 };

struct fake {
	struct fw_exchange exchange;
	bool has_gone;
	unsigned replies;
	unsigned sends;
	unsigned closes;
	int status;
	char last[16384];
	char session[64];
	const char *headers[6]; /* name, value, ... */
};

static void on_send(struct fw_exchange *exchange, const struct fw_event *event)
{
	struct fake *fake = (struct fake *)exchange;

	(void)event;
	assert_false(fake->has_gone);
	fake->sends++;
}

static void on_reply(struct fw_exchange *exchange, const struct fw_reply *reply)
{
	struct fake *fake = (struct fake *)exchange;

	assert_false(fake->has_gone);
	fake->replies++;
	fake->status = reply->status;
	(void)snprintf(fake->last, sizeof fake->last, "%.*s", (int)reply->len,
		       reply->json ? reply->json : "");
	(void)snprintf(fake->session, sizeof fake->session, "%s",
		       reply->session_id ? reply->session_id : "");
}

static void on_close(struct fw_exchange *exchange)
{
	struct fake *fake = (struct fake *)exchange;

	assert_false(fake->has_gone);
	fake->closes++;
}

static const char *on_header(struct fw_exchange *exchange, const char *name,
			     unsigned *ret_count)
{
	struct fake *fake = (struct fake *)exchange;

	if (ret_count)
		*ret_count = 0;
	for (size_t i = 0; i + 1 < 6 && fake->headers[i]; i += 2) {
		if (strcmp(fake->headers[i], name) != 0)
			continue;
		if (ret_count)
			*ret_count = 1;
		return fake->headers[i + 1];
	}
	return NULL;
}

static const struct fw_exchange_ops ops = { on_send, on_reply, on_close, on_header, NULL };

/* ---- the server, its observer and its tool ------------------------------------- */

static fw_server *server;
static fw_hold *holds[HOLDS];
static size_t hold_count;
static bool is_holding;
static unsigned finished_count;
static fw_call *running;
static unsigned run_count;
static char session_id[64];

static bool on_replying(void *ctx, const fw_outcome *outcome, fw_hold *hold)
{
	(void)ctx;
	(void)outcome;
	if (!is_holding)
		return false;
	assert_true(hold_count < HOLDS);
	holds[hold_count++] = hold;
	return true;
}

static void on_finished(void *ctx, const fw_outcome *outcome)
{
	(void)ctx;
	(void)outcome;
	finished_count++;
}

static void release_all(void)
{
	size_t count = hold_count;

	is_holding = false;
	hold_count = 0;
	for (size_t i = 0; i < count; i++)
		fw_hold_release(holds[i], NULL);
}

/* Stays in progress until the test ends it. */
static fw_error *stay(fw_call *call, void *ctx)
{
	(void)ctx;
	running = call;
	run_count++;
	return NULL;
}

static fw_error *ask(fw_call *call, void *ctx)
{
	(void)ctx;
	run_count++;
	running = call;
	if (!fw_call_ask(call, "q", "roots/list", NULL))
		return NULL;
	fw_call_text(call, "done");
	return NULL;
}

static void add_tool(const char *name, fw_handler *handler, fw_run run)
{
	fw_tool tool = FW_TOOL_INIT;

	tool.name = name;
	tool.handler = handler;
	tool.run = run;
	tool.input_schema = "{\"type\":\"object\"}";
	assert_null(fw_server_add_tool(server, &tool));
}

static int setup(void **state)
{
	fw_server_options options = FW_SERVER_OPTIONS_INIT;
	const fw_observer observer = { .struct_size = sizeof(fw_observer),
				       .replying = on_replying,
				       .finished = on_finished };

	(void)state;
	options.name = "test";
	options.version = "1";
	options.grace_ms = 10;
	assert_null(fw_server_new(&options, &server));
	assert_null(fw_server_set_limit(server, "flush_ms", 0));
	assert_null(fw_server_add_observer(server, &observer));
	add_tool("stay", stay, FW_RUN_ASYNC);
	add_tool("ask", ask, FW_RUN_INLINE);
	server->state = FW_RUNNING;
	is_holding = false;
	hold_count = 0;
	finished_count = 0;
	running = NULL;
	run_count = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_null(server->calls.first);
	assert_int_equal(server->calls.count, 0);
	assert_int_equal(server->calls.listeners, 0);
	fw_server_free(server);
	return 0;
}

static struct fake fake_new(void)
{
	struct fake fake;

	memset(&fake, 0, sizeof fake);
	fw_exchange_init(&fake.exchange, server, &ops, true);
	fake.headers[0] = "Mcp-Session-Id";
	fake.headers[1] = session_id;
	return fake;
}

static void receive(struct fake *fake, const char *text)
{
	fw_exchange_receive(&fake->exchange, text, strlen(text));
}

static void begin(const char *version)
{
	struct fake fake = fake_new();
	char text[256];

	fake.headers[0] = NULL;
	(void)snprintf(text, sizeof text,
		       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
		       "\"protocolVersion\":\"%s\",\"capabilities\":{\"roots\":{}},"
		       "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}",
		       version);
	receive(&fake, text);
	assert_int_equal(fake.replies, 1);
	(void)snprintf(session_id, sizeof session_id, "%s", fake.session);
	assert_int_equal(strlen(session_id), 32);
}

static void delete_session(void)
{
	struct fake fake = fake_new();

	fw_exchange_end_session(&fake.exchange);
	assert_int_equal(fake.replies, 1);
	assert_int_equal(fake.status, 200);
	assert_null(server->sessions.first);
}

/* The transport frees the exchange then. */
static void reset(struct fake *fake)
{
	fw_exchange_gone(&fake->exchange);
	assert_false(fw_exchange_is_busy(&fake->exchange));
	memset(&fake->exchange, 0xa5, sizeof fake->exchange);
	fake->exchange.ops = NULL;
	fake->has_gone = true;
}

#define CALL(tool)                                                                             \
	"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"" tool \
	"\"}}"
#define INITIALIZE                                                                         \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"             \
	"\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":" \
	"\"t\","                                                                           \
	"\"version\":\"1\"}}}"
#define CANCEL                                                                     \
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{" \
	"\"requestId\":7}}"

/* ---- batches --------------------------------------------------------------------- */

static void send_failing_batch(struct fake *fake, int count)
{
	char text[8192] = "[";
	size_t len = 1;

	for (int i = 0; i < count; i++)
		len += (size_t)snprintf(text + len, sizeof text - len,
					"%s{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"no\"}",
					i ? "," : "", i);
	(void)snprintf(text + len, sizeof text - len, "]");
	receive(fake, text);
}

static void test_hold__batch_then_DELETE_then_reset_uses_no_freed_exchange(void **state)
{
	struct fake fake;

	(void)state;
	begin("2025-03-26");
	fake = fake_new();
	is_holding = true;
	send_failing_batch(&fake, 64);
	assert_int_equal(hold_count, 64);
	assert_true(fw_exchange_is_busy(&fake.exchange));
	delete_session();
	assert_true(fw_exchange_is_busy(&fake.exchange));
	reset(&fake);
	release_all();
	assert_int_equal(fake.replies + fake.closes, 0);
	assert_int_equal(finished_count, 65);
}

static void test_hold__batch_then_reset_then_DELETE_uses_no_freed_exchange(void **state)
{
	struct fake fake;

	(void)state;
	begin("2025-03-26");
	fake = fake_new();
	is_holding = true;
	send_failing_batch(&fake, 64);
	reset(&fake);
	delete_session();
	release_all();
	assert_int_equal(fake.replies + fake.closes, 0);
}

static void test_hold__batch_is_answered_once_after_DELETE(void **state)
{
	struct fake fake;

	(void)state;
	begin("2025-03-26");
	fake = fake_new();
	is_holding = true;
	send_failing_batch(&fake, 3);
	delete_session();
	release_all();
	assert_int_equal(fake.replies, 1);
	assert_int_equal(fake.last[0], '[');
	assert_int_equal(fake.last[strlen(fake.last) - 1], ']');
	assert_false(fw_exchange_is_busy(&fake.exchange));
}

/* ---- the session ends ---------------------------------------------------------------- */

static void test_hold__DELETE_answers_a_running_call_at_once(void **state)
{
	struct fake fake;

	(void)state;
	begin("2025-06-18");
	fake = fake_new();
	receive(&fake, CALL("stay"));
	assert_int_equal(fake.replies, 0);
	delete_session();
	assert_int_equal(fake.replies, 1);
	assert_non_null(strstr(fake.last, "session.ended"));
	assert_non_null(strstr(fake.last, session_id));
	assert_true(fw_call_is_cancelled(running));
	fw_call_finish(running, NULL);
	assert_int_equal(fake.replies, 1);
}

static void test_hold__DELETE_answers_a_running_call_once_its_failure_is_recorded(void **state)
{
	struct fake fake;

	(void)state;
	begin("2025-06-18");
	fake = fake_new();
	receive(&fake, CALL("stay"));
	is_holding = true;
	delete_session();
	assert_int_equal(fake.replies, 0);
	fw_call_finish(running, NULL);
	release_all();
	assert_int_equal(fake.replies, 1);
	assert_non_null(strstr(fake.last, "session.ended"));
	assert_int_equal(fake.closes, 0);
}

static void test_hold__session_does_not_expire_while_a_reply_is_held(void **state)
{
	struct fake fake;

	(void)state;
	begin("2025-06-18");
	fake = fake_new();
	is_holding = true;
	receive(&fake, CALL("none"));
	server->limits.session_idle_ms = 0;
	fw_session_expire(server);
	assert_non_null(server->sessions.first);
	release_all();
	assert_int_equal(fake.replies, 1);
	fw_session_expire(server);
	assert_null(server->sessions.first);
}

/* ---- the call is cancelled, its connection closes ----------------------------------- */

static void test_hold__cancelled_while_held_sends_no_reply(void **state)
{
	struct fake fake, notice;

	(void)state;
	begin("2025-06-18");
	fake = fake_new();
	notice = fake_new();
	is_holding = true;
	receive(&fake, CALL("none"));
	receive(&notice, CANCEL);
	release_all();
	assert_int_equal(fake.replies, 0);
	assert_int_equal(fake.closes, 1);
	assert_int_equal(notice.status, 202);
}

static void test_hold__reset_then_DELETE_then_release_sends_nothing(void **state)
{
	struct fake fake;

	(void)state;
	begin("2025-06-18");
	fake = fake_new();
	is_holding = true;
	receive(&fake, CALL("none"));
	reset(&fake);
	delete_session();
	release_all();
	assert_int_equal(fake.replies + fake.closes, 0);
	assert_int_equal(finished_count, 2);
}

static void test_hold__stdio_wire_that_breaks_while_replies_are_held(void **state)
{
	struct fake fake = fake_new();

	(void)state;
	fw_exchange_init(&fake.exchange, server, &ops, false);
	is_holding = true;
	receive(&fake, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
	receive(&fake, CALL("none"));
	assert_int_equal(hold_count, 2);
	reset(&fake);
	release_all();
	assert_int_equal(fake.replies + fake.closes, 0);
	assert_null(server->sessions.first);
}

/* ---- the handler ends late ------------------------------------------------------------ */

static void test_hold__worker_dies_while_the_reply_is_held(void **state)
{
	struct fake fake;

	(void)state;
	begin("2025-06-18");
	fake = fake_new();
	receive(&fake, CALL("stay"));
	is_holding = true;
	fw_mcp_fail(running, fw_raise_runtime_timeout(5));
	fw_call_progress(running, 1, 2, "too late");
	fw_call_finish(running, fw_raise_tool_failed("worker died"));
	release_all();
	assert_int_equal(fake.replies, 1);
	assert_non_null(strstr(fake.last, "runtime.timeout"));
	assert_int_equal(fake.sends, 0);
}

static void test_hold__answer_to_a_question_does_not_restart_a_failed_call(void **state)
{
	struct fake fake, answer;

	(void)state;
	begin("2025-06-18");
	fake = fake_new();
	answer = fake_new();
	receive(&fake, CALL("ask"));
	assert_int_equal(run_count, 1);
	assert_int_equal(fake.sends, 1);
	is_holding = true;
	fw_mcp_fail(running, fw_raise_runtime_timeout(5));
	receive(&answer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"roots\":[]}}");
	assert_int_equal(run_count, 1);
	release_all();
	assert_int_equal(fake.replies, 1);
	assert_non_null(strstr(fake.last, "runtime.timeout"));
}

/* ---- streams -------------------------------------------------------------------------- */

static void test_hold__DELETE_closes_the_GET_stream(void **state)
{
	struct fake fake;

	(void)state;
	begin("2025-06-18");
	fake = fake_new();
	fw_exchange_open_stream(&fake.exchange);
	assert_true(fw_exchange_is_busy(&fake.exchange));
	delete_session();
	assert_int_equal(fake.closes, 1);
	assert_false(fw_exchange_is_busy(&fake.exchange));
}

static void resume(struct fake *ret_post, struct fake *ret_get)
{
	begin("2025-11-25");
	*ret_post = fake_new();
	receive(ret_post, CALL("stay"));
	fw_call_close_stream(running, 0);
	assert_int_equal(ret_post->closes, 1);
	*ret_get = fake_new();
	ret_get->headers[2] = "Last-Event-ID";
	ret_get->headers[3] = "1_0";
	fw_exchange_open_stream(&ret_get->exchange);
	assert_true(fw_exchange_is_busy(&ret_get->exchange));
}

static void test_hold__DELETE_answers_a_call_on_its_resumed_stream(void **state)
{
	struct fake post, get;

	(void)state;
	resume(&post, &get);
	delete_session();
	assert_int_equal(get.replies, 1);
	assert_non_null(strstr(get.last, "session.ended"));
	assert_int_equal(get.closes + post.replies, 0);
	fw_call_finish(running, NULL);
}

static void test_hold__DELETE_closes_a_resumed_stream_whose_answer_is_held(void **state)
{
	struct fake post, get;

	(void)state;
	resume(&post, &get);
	is_holding = true;
	delete_session();
	assert_int_equal(get.closes, 1);
	reset(&get);
	fw_call_finish(running, NULL);
	release_all();
	assert_int_equal(get.replies + post.replies, 0);
}

/* ---- the server stops -------------------------------------------------------------------- */

static void stop(void)
{
	fw_server_stop(server);
	for (int i = 0; i < 1000 && server->state != FW_CLOSING; i++)
		(void)uv_run(&server->loop, UV_RUN_ONCE);
	assert_int_equal(server->state, FW_CLOSING);
}

static void test_hold__stop_while_held_answers_without_the_holder(void **state)
{
	struct fake fake;

	(void)state;
	begin("2025-06-18");
	fake = fake_new();
	is_holding = true;
	receive(&fake, CALL("none"));
	stop();
	assert_int_equal(fake.replies, 1);
	assert_non_null(strstr(fake.last, "audit.log_failed"));
	release_all();
	assert_int_equal(fake.replies, 1);
}

static void test_hold__stop_while_the_end_of_a_listener_is_held(void **state)
{
	struct fake fake = fake_new();

	(void)state;
	fw_exchange_init(&fake.exchange, server, &ops, false);
	receive(&fake, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"subscriptions/listen\","
		       "\"params\":{\"notifications\":{},\"_meta\":{"
		       "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
		       "\"io.modelcontextprotocol/clientCapabilities\":{}}}}");
	assert_int_equal(server->calls.listeners, 1);
	is_holding = true;
	receive(&fake, CANCEL);
	assert_int_equal(server->calls.listeners, 0);
	fw_call_cancel(server->calls.first);
	assert_int_equal(server->calls.listeners, 0);
	stop();
	release_all();
}

/* ---- whose share it is ---------------------------------------------------------------------- */

static void test_hold__held_failures_count_in_the_share_of_their_client_alone(void **state)
{
	struct fake held[5], mine, other;

	(void)state;
	server->limits.in_flight = 2;
	server->limits.client_in_flight = 3;
	is_holding = true;
	for (int i = 0; i < 5; i++) {
		held[i] = fake_new();
		held[i].exchange.peer = "192.0.2.1";
		receive(&held[i], "{oops");
	}
	assert_int_equal(hold_count, 5);
	assert_int_equal(server->calls.admitted, 0);
	is_holding = false;
	mine = fake_new();
	other = fake_new();
	mine.headers[0] = other.headers[0] = NULL;
	mine.exchange.peer = "192.0.2.1";
	other.exchange.peer = "192.0.2.2";
	receive(&mine, INITIALIZE);
	assert_non_null(strstr(mine.last, "server.overloaded"));
	receive(&other, INITIALIZE);
	assert_non_null(strstr(other.last, "\"protocolVersion\""));
	release_all();
	receive(&mine, INITIALIZE);
	assert_non_null(strstr(mine.last, "\"protocolVersion\""));
}

static void test_hold__batch_beyond_the_share_of_its_client_is_refused_as_one(void **state)
{
	struct fake first, second;

	(void)state;
	server->limits.client_in_flight = 64;
	begin("2025-03-26");
	first = fake_new();
	second = fake_new();
	is_holding = true;
	send_failing_batch(&first, 64);
	send_failing_batch(&second, 64);
	assert_int_equal(hold_count, 65);
	assert_int_equal(server->calls.admitted, 0);
	release_all();
	assert_non_null(strstr(second.last, "server.overloaded"));
	assert_int_equal(first.replies + second.replies, 2);
}

static bool begin_from(const char *peer, bool is_confirmed)
{
	struct fake fake = fake_new();
	struct fake note = fake_new();

	fake.headers[0] = NULL;
	fake.exchange.peer = peer;
	receive(&fake, INITIALIZE);
	(void)snprintf(session_id, sizeof session_id, "%s", fake.session);
	if (is_confirmed && *session_id)
		receive(&note,
			"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
	return *session_id != '\0';
}

static bool is_there(const char *id)
{
	return fw_session_find(server, id) != NULL;
}

static void test_hold__sessions_of_a_flood_make_room_for_a_newcomer(void **state)
{
	char first[64];

	(void)state;
	server->limits.sessions = 8;
	assert_true(begin_from("192.0.2.9", true));
	memcpy(first, session_id, sizeof first);
	for (int i = 0; i < 100; i++)
		(void)begin_from("192.0.2.1", i % 2);
	assert_int_equal(server->sessions.count, 8);
	assert_true(is_there(first));
	for (int i = 0; i < 3; i++)
		assert_true(begin_from("192.0.2.2", true));
	assert_int_equal(server->sessions.count, 8);
	assert_true(is_there(first));
}

static void test_hold__client_sessions_bound_the_share_of_one_address(void **state)
{
	(void)state;
	server->limits.sessions = 8;
	server->limits.client_sessions = 3;
	for (int i = 0; i < 3; i++)
		assert_true(begin_from("192.0.2.1", true));
	assert_false(begin_from("192.0.2.1", true));
	assert_true(begin_from("192.0.2.2", false));
	assert_int_equal(server->sessions.count, 4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_hold__##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(batch_then_DELETE_then_reset_uses_no_freed_exchange),
		TEST(batch_then_reset_then_DELETE_uses_no_freed_exchange),
		TEST(batch_is_answered_once_after_DELETE),
		TEST(DELETE_answers_a_running_call_at_once),
		TEST(DELETE_answers_a_running_call_once_its_failure_is_recorded),
		TEST(session_does_not_expire_while_a_reply_is_held),
		TEST(cancelled_while_held_sends_no_reply),
		TEST(reset_then_DELETE_then_release_sends_nothing),
		TEST(stdio_wire_that_breaks_while_replies_are_held),
		TEST(worker_dies_while_the_reply_is_held),
		TEST(answer_to_a_question_does_not_restart_a_failed_call),
		TEST(DELETE_closes_the_GET_stream),
		TEST(DELETE_answers_a_call_on_its_resumed_stream),
		TEST(DELETE_closes_a_resumed_stream_whose_answer_is_held),
		TEST(stop_while_held_answers_without_the_holder),
		TEST(stop_while_the_end_of_a_listener_is_held),
		TEST(held_failures_count_in_the_share_of_their_client_alone),
		TEST(batch_beyond_the_share_of_its_client_is_refused_as_one),
		TEST(sessions_of_a_flood_make_room_for_a_newcomer),
		TEST(client_sessions_bound_the_share_of_one_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
