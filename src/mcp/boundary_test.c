/*
 * Each stage of the boundary fails, and each failure leaves the same way:
 * complete, observed, projected, and answered once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <uv.h>

#include <faultwire/raise.h>

#include "base/buf.h"
#include "mcp/server.h"
#include "mcp/transport.h"

/* ---- a transport that records what it gets ---------------------------------- */

struct fake {
	struct fw_exchange exchange;
	char last[8192];
	int status;
	unsigned replies;
	unsigned turn; /* of its last reply among those of all */
	unsigned sends;
	unsigned closes;
	const char *headers[8]; /* name, value, ... */
};

static unsigned reply_count;

static void on_send(struct fw_exchange *exchange, const struct fw_event *event)
{
	(void)event;
	((struct fake *)exchange)->sends++;
}

static void on_reply(struct fw_exchange *exchange, const struct fw_reply *reply)
{
	struct fake *fake = (struct fake *)exchange;

	fake->replies++;
	fake->turn = ++reply_count;
	fake->status = reply->status;
	(void)snprintf(fake->last, sizeof fake->last, "%.*s", (int)reply->len,
		       reply->json ? reply->json : "");
}

static void on_close(struct fw_exchange *exchange)
{
	((struct fake *)exchange)->closes++;
}

static const char *on_header(struct fw_exchange *exchange, const char *name,
			     unsigned *ret_count)
{
	struct fake *fake = (struct fake *)exchange;

	for (size_t i = 0; i + 1 < 8 && fake->headers[i]; i += 2) {
		if (strcmp(fake->headers[i], name) == 0) {
			if (ret_count)
				*ret_count = 1;
			return fake->headers[i + 1];
		}
	}
	if (ret_count)
		*ret_count = 0;
	return NULL;
}

static const struct fw_exchange_ops ops = { on_send, on_reply, on_close, on_header, NULL };

/* ---- the server under test ---------------------------------------------------- */

static char observed[64];
static unsigned failing_count;
static unsigned finished_count;
static bool audit_fails;
static bool refuses;
static bool holds;
static fw_hold *held;

static bool on_replying(void *ctx, const fw_outcome *outcome, fw_hold *hold)
{
	const fw_error *err = outcome->error;

	(void)ctx;
	if (holds) {
		held = hold;
		return true;
	}
	if (!err)
		return false;
	failing_count++;
	(void)snprintf(observed, sizeof observed, "%s", fw_error_name(err));
	assert_non_null(fw_error_incident_id(err));
	assert_non_null(fw_error_timestamp(err));
	if (!audit_fails)
		return false;
	fw_hold_release(hold, fw_raise_audit_log_failed("disk full"));
	return true;
}

static fw_error *on_admitting(void *ctx, const fw_outcome *coming)
{
	(void)ctx;
	assert_string_equal(coming->name, "work");
	return refuses ? fw_raise_audit_log_failed("down") : NULL;
}

static void on_finished(void *ctx, const fw_outcome *outcome)
{
	(void)ctx;
	(void)outcome;
	finished_count++;
}

static fw_error *work(fw_call *call, void *ctx)
{
	const char *how = fw_call_string(call, "how", NULL);

	(void)ctx;
	if (strcmp(how, "fail") == 0)
		return fw_raise_tool_failed("as asked");
	if (strcmp(how, "bytes") == 0)
		fw_call_text(call, "\xff");
	else if (strcmp(how, "wrong") == 0)
		fw_call_structured(call, "{\"n\":\"x\"}", 9);
	else if (strcmp(how, "large") == 0)
		for (int i = 0; i < 3000; i++)
			fw_call_textf(call, "%4000d", i);
	else if (strcmp(how, "right") == 0)
		fw_call_structured(call, "{\"n\":1}", 7);
	return NULL;
}

static fw_server *server_new(void)
{
	fw_server_options options = FW_SERVER_OPTIONS_INIT;
	const fw_observer observer = { .struct_size = sizeof(fw_observer),
				       .admitting = on_admitting,
				       .replying = on_replying,
				       .finished = on_finished };
	fw_tool tool = FW_TOOL_INIT;
	fw_server *server = NULL;

	options.name = "test";
	options.version = "1";
	assert_null(fw_server_new(&options, &server));
	assert_null(fw_server_add_observer(server, &observer));
	tool.name = "work";
	tool.handler = work;
	tool.input_schema =
		"{\"type\":\"object\",\"properties\":{\"how\":{\"type\":\"string\"}},"
		"\"required\":[\"how\"]}";
	tool.output_schema =
		"{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}";
	assert_null(fw_server_add_tool(server, &tool));
	server->state = FW_RUNNING;
	failing_count = 0;
	finished_count = 0;
	audit_fails = false;
	observed[0] = '\0';
	return server;
}

#define META                                                                     \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
	"\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define CALL(args)                                          \
	"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/" \
	"call\",\"params\":{\"name\":\"work\","             \
	"\"arguments\":" args "," META "}}"

static void test_boundary__every_stage_fails_the_same_way(void **state)
{
	static const struct {
		const char *text;
		const char *code;
		int status;
	} cases[] = {
		{ "{oops", "protocol.parse_error", 400 },
		{ "5", "protocol.invalid_request", 400 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\",\"params\":{" META
		  "}}",
		  "protocol.header_mismatch", 400 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/"
		  "call\",\"params\":{\"name\":"
		  "\"nope\"," META "}}",
		  "protocol.header_mismatch", 400 },
		{ CALL("[]"), "protocol.invalid_params", 200 },
		{ CALL("{}"), "input.missing_field", 200 },
		{ CALL("{\"how\":5}"), "input.invalid_type", 200 },
		{ CALL("{\"how\":\"fail\"}"), "tool.failed", 200 },
		{ CALL("{\"how\":\"nothing\"}"), "tool.no_result", 200 },
		{ CALL("{\"how\":\"bytes\"}"), "tool.result_not_text", 200 },
		{ CALL("{\"how\":\"large\"}"), "tool.result_too_large", 200 },
		{ CALL("{\"how\":\"wrong\"}"), "tool.invalid_result", 200 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		fw_server *server = server_new();
		struct fake fake = { .headers = { "MCP-Protocol-Version", "2026-07-28",
						  "Mcp-Method", "tools/call", "Mcp-Name",
						  "work" } };
		long live = fw_error_live();

		fw_exchange_init(&fake.exchange, server, &ops, true);
		fw_exchange_receive(&fake.exchange, cases[i].text, strlen(cases[i].text));
		assert_string_equal(observed, cases[i].code);
		assert_int_equal(fake.status, cases[i].status);
		assert_int_equal(fake.replies, 1);
		assert_int_equal(fake.sends + fake.closes, 0);
		assert_int_equal(failing_count, 1);
		assert_int_equal(finished_count, 1);
		assert_non_null(strstr(fake.last, "dev.faultwire/error"));
		assert_non_null(strstr(fake.last, cases[i].code));
		assert_int_equal(fw_error_live(), live);
		assert_false(fw_exchange_is_busy(&fake.exchange));
		fw_server_free(server);
	}
}

/* ---- observers that know more ----------------------------------------------------- */

static fw_error *on_entering(void *ctx, const fw_outcome *coming)
{
	(void)ctx;
	assert_string_equal(coming->name, "work");
	return fw_raise_auth_action_not_allowed(coming->name, "WINDSURF");
}

static void on_failing(void *ctx, const fw_outcome *outcome, fw_error *err)
{
	const fw_scope scope = { .phase_id = "PHASE_1" };

	(void)ctx;
	assert_ptr_equal(outcome->error, err);
	fw_error_fill_scope(err, &scope);
}

static void test_boundary__a_tool_is_refused_before_its_arguments_are_looked_at(void **state)
{
	const fw_observer observer = { .struct_size = sizeof(fw_observer),
				       .entering = on_entering,
				       .failing = on_failing };
	const fw_scope scope = { .role = "WINDSURF",
				 .session_id = "s-1",
				 .workspace_root = "/w" };
	const fw_scope none = { .role = NULL };
	struct fake fake = { .headers = { "MCP-Protocol-Version", "2026-07-28", "Mcp-Method",
					  "tools/call", "Mcp-Name", "work" } };
	static const char text[] = CALL("{\"how\":5}");
	fw_server *server = server_new();

	(void)state;
	assert_null(fw_server_add_observer(server, &observer));
	fw_exchange_init(&fake.exchange, server, &ops, true);
	fw_server_set_scope(server, &scope);
	fw_exchange_receive(&fake.exchange, text, sizeof text - 1);
	assert_string_equal(observed, "auth.action_not_allowed");
	assert_non_null(strstr(fake.last, "\"session_id\":\"s-1\""));
	assert_non_null(strstr(fake.last, "\"workspace_root\":\"/w\""));
	assert_non_null(strstr(fake.last, "\"phase_id\":\"PHASE_1\""));
	fw_server_set_scope(server, &none);
	fw_exchange_receive(&fake.exchange, text, sizeof text - 1);
	assert_null(strstr(fake.last, "session_id"));
	assert_null(strstr(fake.last, "workspace_root"));
	fw_server_free(server);
}

static void test_boundary__a_hidden_tool_is_not_listed(void **state)
{
	static const char text[] = "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\","
				   "\"params\":{" META "}}";
	struct fake fake = { .headers = { "MCP-Protocol-Version", "2026-07-28", "Mcp-Method",
					  "tools/list" } };
	fw_server *server = server_new();
	fw_tool tool = FW_TOOL_INIT;

	(void)state;
	tool.name = "secret";
	tool.handler = work;
	tool.is_hidden = true;
	assert_null(fw_server_add_tool(server, &tool));
	fw_exchange_init(&fake.exchange, server, &ops, true);
	fw_exchange_receive(&fake.exchange, text, sizeof text - 1);
	assert_non_null(strstr(fake.last, "\"name\":\"work\""));
	assert_null(strstr(fake.last, "secret"));
	assert_null(strstr(fake.last, "nextCursor"));
	fw_server_free(server);
}

static void test_boundary__a_success_is_not_observed_as_a_failure(void **state)
{
	fw_server *server = server_new();
	struct fake fake = { .headers = { "MCP-Protocol-Version", "2026-07-28", "Mcp-Method",
					  "tools/call", "Mcp-Name", "work" } };
	static const char text[] = CALL("{\"how\":\"right\"}");

	(void)state;
	fw_exchange_init(&fake.exchange, server, &ops, true);
	fw_exchange_receive(&fake.exchange, text, sizeof text - 1);
	assert_int_equal(failing_count, 0);
	assert_int_equal(finished_count, 1);
	assert_int_equal(fake.status, 200);
	assert_non_null(strstr(fake.last, "\"structuredContent\":{\"n\":1}"));
	fw_server_free(server);
}

static void test_boundary__the_error_of_an_observer_replaces_the_outcome(void **state)
{
	fw_server *server = server_new();
	struct fake fake = { .headers = { "MCP-Protocol-Version", "2026-07-28", "Mcp-Method",
					  "tools/call", "Mcp-Name", "work" } };
	static const char text[] = CALL("{\"how\":\"fail\"}");

	(void)state;
	audit_fails = true;
	fw_exchange_init(&fake.exchange, server, &ops, true);
	fw_exchange_receive(&fake.exchange, text, sizeof text - 1);
	assert_int_equal(fake.replies, 1);
	assert_non_null(strstr(fake.last, "audit.log_failed"));
	assert_non_null(strstr(fake.last, "tool.failed"));
	fw_server_free(server);
}

#define HEADERS                                                                               \
	{                                                                                     \
		"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", \
			"work"                                                                \
	}

static void test_boundary__a_held_reply_waits_and_others_pass_it(void **state)
{
	fw_server *server = server_new();
	struct fake first = { .headers = HEADERS };
	struct fake second = { .headers = HEADERS };
	static const char text[] = CALL("{\"how\":\"right\"}");
	fw_hold *waiting;

	(void)state;
	fw_exchange_init(&first.exchange, server, &ops, true);
	fw_exchange_init(&second.exchange, server, &ops, true);
	holds = true;
	fw_exchange_receive(&first.exchange, text, sizeof text - 1);
	assert_int_equal(first.replies, 0);
	waiting = held;
	holds = false;
	fw_exchange_receive(&second.exchange, text, sizeof text - 1);
	assert_int_equal(second.replies, 1);
	assert_int_equal(finished_count, 1);
	fw_hold_release(waiting, NULL);
	assert_int_equal(first.replies, 1);
	assert_non_null(strstr(first.last, "\"structuredContent\":{\"n\":1}"));
	assert_int_equal(finished_count, 2);
	fw_server_free(server);
}

enum { GROUP = 5 };

static void *release_one(void *hold)
{
	fw_hold_release(hold, NULL);
	return NULL;
}

static void test_boundary__replies_that_are_let_go_together_leave_in_that_order(void **state)
{
	fw_server *server = server_new();
	struct fake fakes[GROUP];
	fw_hold *group[GROUP];
	static const char text[] = CALL("{\"how\":\"right\"}");
	pthread_t thread;

	(void)state;
	holds = true;
	for (int i = 0; i < GROUP; i++) {
		fakes[i] = (struct fake){ .headers = HEADERS };
		fw_exchange_init(&fakes[i].exchange, server, &ops, true);
		fw_exchange_receive(&fakes[i].exchange, text, sizeof text - 1);
		group[i] = held;
	}
	holds = false;
	reply_count = 0;
	/* Twice: the list is as empty after the first as it was before. */
	for (int half = 0; half < 2; half++) {
		int from = half * 2, count = half ? GROUP - 2 : 2;

		for (int i = 0; i < count; i++) {
			fw_hold *one = group[from + i];

			assert_int_equal(pthread_create(&thread, NULL, release_one, one), 0);
			assert_int_equal(pthread_join(thread, NULL), 0);
		}
		assert_int_equal(reply_count, from);
		(void)uv_run(&server->loop, UV_RUN_NOWAIT);
		assert_int_equal(reply_count, from + count);
	}
	for (int i = 0; i < GROUP; i++)
		assert_int_equal(fakes[i].turn, i + 1);
	fw_server_free(server);
}

static void test_boundary__a_success_that_cannot_be_audited_becomes_a_failure(void **state)
{
	fw_server *server = server_new();
	struct fake fake = { .headers = HEADERS };
	static const char text[] = CALL("{\"how\":\"right\"}");

	(void)state;
	fw_exchange_init(&fake.exchange, server, &ops, true);
	holds = true;
	fw_exchange_receive(&fake.exchange, text, sizeof text - 1);
	holds = false;
	fw_hold_release(held, fw_raise_audit_log_failed("disk full"));
	assert_int_equal(fake.replies, 1);
	assert_non_null(strstr(fake.last, "audit.log_failed"));
	assert_null(strstr(fake.last, "structuredContent"));
	fw_server_free(server);
}

static void test_boundary__a_caller_that_leaves_while_its_reply_is_held(void **state)
{
	fw_server *server = server_new();
	struct fake fake = { .headers = HEADERS };
	static const char text[] = CALL("{\"how\":\"fail\"}");

	(void)state;
	fw_exchange_init(&fake.exchange, server, &ops, true);
	holds = true;
	fw_exchange_receive(&fake.exchange, text, sizeof text - 1);
	holds = false;
	fw_exchange_gone(&fake.exchange);
	fw_hold_release(held, NULL);
	assert_int_equal(fake.replies, 0);
	assert_int_equal(finished_count, 1);
	fw_server_free(server);
}

static void test_boundary__an_observer_may_refuse_a_tool_before_it_runs(void **state)
{
	fw_server *server = server_new();
	struct fake fake = { .headers = HEADERS };
	static const char text[] = CALL("{\"how\":\"right\"}");

	(void)state;
	refuses = true;
	fw_exchange_init(&fake.exchange, server, &ops, true);
	fw_exchange_receive(&fake.exchange, text, sizeof text - 1);
	refuses = false;
	assert_non_null(strstr(fake.last, "audit.log_failed"));
	fw_server_free(server);
}

static fw_error *missing(fw_call *call, void *ctx)
{
	(void)ctx;
	return fw_raise_file_not_found(fw_call_name(call));
}

static void test_boundary__a_resource_that_its_handler_misses_is_one_that_is_not_there(
	void **state)
{
	fw_server *server = server_new();
	const fw_resource resource = { .struct_size = sizeof(fw_resource),
				       .uri = "test://gone",
				       .name = "gone",
				       .handler = missing };
	struct fake fake = { .headers = { "MCP-Protocol-Version", "2026-07-28", "Mcp-Method",
					  "resources/read", "Mcp-Name", "test://gone" } };
	static const char text[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{"
		"\"uri\":\"test://gone\",\"_meta\":{"
		"\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
		"\"io.modelcontextprotocol/clientCapabilities\":{}}}}";

	(void)state;
	assert_null(fw_server_add_resource(server, &resource));
	fw_exchange_init(&fake.exchange, server, &ops, true);
	fw_exchange_receive(&fake.exchange, text, sizeof text - 1);
	assert_non_null(strstr(fake.last, "\"code\":-32602"));
	assert_non_null(strstr(fake.last, "\"data\":{\"uri\":\"test://gone\","));
	assert_non_null(strstr(fake.last, "file.not_found"));
	fw_server_free(server);
}

static void test_boundary__a_refusal_of_the_transport_has_its_own_status(void **state)
{
	fw_server *server = server_new();
	struct fake fake = { 0 };

	(void)state;
	fw_exchange_init(&fake.exchange, server, &ops, true);
	fw_exchange_refuse(&fake.exchange, fw_raise_auth_origin_not_allowed("http://evil"));
	assert_int_equal(fake.status, 403);
	assert_string_equal(observed, "auth.origin_not_allowed");
	assert_null(strstr(fake.last, "\"id\""));
	fw_server_free(server);
}

static void test_boundary__sessions_that_are_missing_or_unknown(void **state)
{
	static const char text[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
	fw_server *server = server_new();
	struct fake fake = { 0 };

	(void)state;
	fw_exchange_init(&fake.exchange, server, &ops, true);
	fw_exchange_receive(&fake.exchange, text, sizeof text - 1);
	assert_int_equal(fake.status, 400);
	assert_string_equal(observed, "session.missing");
	fake.headers[0] = "Mcp-Session-Id";
	fake.headers[1] = "nope";
	fw_exchange_receive(&fake.exchange, text, sizeof text - 1);
	assert_int_equal(fake.status, 404);
	assert_string_equal(observed, "session.unknown");
	fw_server_free(server);
}

static void test_buf__grows_up_to_its_ceiling_and_stays_failed(void **state)
{
	struct fw_buf buf;

	(void)state;
	fw_buf_init(&buf, 1000);
	for (int i = 0; i < 100; i++)
		FW_BUF(&buf, "0123456789");
	assert_int_equal(buf.len, 1000);
	assert_int_equal(buf.state, FW_BUF_OK);
	FW_BUF(&buf, "x");
	assert_int_equal(buf.state, FW_BUF_TOO_LARGE);
	fw_buf_reset(&buf, 0);
	fw_buf_json(&buf, "\x01\x01\x01\"", 4);
	assert_string_equal(buf.text, "\"\\u0001\\u0001\\u0001\\\"\"");
	fw_buf_clear(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_boundary__every_stage_fails_the_same_way),
		cmocka_unit_test(test_boundary__a_success_is_not_observed_as_a_failure),
		cmocka_unit_test(test_boundary__the_error_of_an_observer_replaces_the_outcome),
		cmocka_unit_test(
			test_boundary__a_resource_that_its_handler_misses_is_one_that_is_not_there),
		cmocka_unit_test(test_boundary__a_held_reply_waits_and_others_pass_it),
		cmocka_unit_test(
			test_boundary__replies_that_are_let_go_together_leave_in_that_order),
		cmocka_unit_test(
			test_boundary__a_success_that_cannot_be_audited_becomes_a_failure),
		cmocka_unit_test(test_boundary__a_caller_that_leaves_while_its_reply_is_held),
		cmocka_unit_test(test_boundary__an_observer_may_refuse_a_tool_before_it_runs),
		cmocka_unit_test(
			test_boundary__a_tool_is_refused_before_its_arguments_are_looked_at),
		cmocka_unit_test(test_boundary__a_hidden_tool_is_not_listed),
		cmocka_unit_test(test_boundary__a_refusal_of_the_transport_has_its_own_status),
		cmocka_unit_test(test_boundary__sessions_that_are_missing_or_unknown),
		cmocka_unit_test(test_buf__grows_up_to_its_ceiling_and_stays_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
