/*
 * The public API of a server with each allocation failing in turn: setting one up raises
 * internal.out_of_memory or works, and a conversation has one answer to each request or
 * ends. Nothing is left behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <yyjson.h>

#include <faultwire/faultwire.h>
#include <faultwire/raise.h>

#include "test/memory.h"
#define SCRATCH_FORM "%s/state"
#include "test/scratch.h"

#define REQUEST(id, method, params)                                                            \
	"{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"method\":\"" method "\",\"params\":" params "}" \
	"\n"
#define CALL(id, tool, arguments) \
	REQUEST(id, "tools/call", "{\"name\":\"" tool "\",\"arguments\":" arguments "}")

enum { REQUESTS = 9 };

static const char *const conversation[] = {
	REQUEST(1, "initialize",
		"{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
		"\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}"),
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n",
	REQUEST(2, "tools/list", "{}"),
	CALL(3, "echo", "{\"text\":\"x\"}"),
	CALL(4, "fail", "{\"text\":\"x\"}"),
	CALL(5, "echo", "{\"text\":5}"),
	REQUEST(6, "resources/read", "{\"uri\":\"test:///a\"}"),
	REQUEST(7, "prompts/get", "{\"name\":\"ask\"}"),
	REQUEST(8, "no/such", "{}"),
	CALL(9, "rich", "{\"text\":\"x\"}"),
};

static fw_error *echo(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_text(call, fw_call_string(call, "text", NULL));
	return NULL;
}

/* Every kind of content. */
static fw_error *rich(fw_call *call, void *ctx)
{
	fw_json *json = fw_json_new();

	(void)ctx;
	fw_call_text_n(call, "some text", 4);
	fw_call_textf(call, "%d", 7);
	fw_call_image(call, "AAAA", "image/png");
	fw_call_audio(call, "AAAA", "audio/wav");
	fw_call_resource_text(call, "test:///a", "text/plain", "x");
	fw_call_resource_blob(call, "test:///a", "image/png", "AAAA");
	fw_call_resource_link(call, "test:///a", "a", "text/plain");
	fw_json_object(json, NULL);
	fw_json_i64(json, "n", 1);
	fw_json_end(json);
	fw_call_structured_json(call, json);
	return NULL;
}

static fw_error *fail_call(fw_call *call, void *ctx)
{
	(void)ctx;
	return fw_raise_file_not_found(fw_call_string(call, "text", NULL));
}

static fw_error *say(fw_call *call, void *ctx)
{
	fw_call_text(call, ctx);
	return NULL;
}

static fw_error *show(fw_page *page, void *ctx)
{
	(void)ctx;
	fw_page_write(page, "x", 1);
	return NULL;
}

static bool replying(void *ctx, const fw_outcome *outcome, fw_hold *hold)
{
	size_t len = 0;

	(void)ctx;
	(void)hold;
	fw_free(fw_outcome_arguments(outcome, &len));
	return false;
}

static fw_error *add_tool(fw_server *server, const char *name, fw_handler *handler,
			  fw_state *state)
{
	fw_tool tool = FW_TOOL_INIT;

	tool.name = name;
	tool.title = "A tool";
	tool.description = "For a test.";
	tool.input_schema =
		"{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\","
		"\"pattern\":\"^x\",\"x-mcp-header\":\"X-Text\"}},\"required\":[\"text\"]}";
	tool.annotations = "{\"readOnlyHint\":true}";
	tool.handler = handler;
	tool.state = state;
	return fw_server_add_tool(server, &tool);
}

static char content[] = "content";

static fw_error *add_others(fw_server *server)
{
	fw_resource resource = FW_RESOURCE_INIT;
	fw_prompt prompt = FW_PROMPT_INIT;
	fw_observer observer = FW_OBSERVER_INIT;

	resource.uri = "test:///a";
	resource.name = "a";
	resource.handler = say;
	resource.ctx = content;
	FW_TRY(fw_server_add_resource(server, &resource));
	prompt.name = "ask";
	prompt.handler = say;
	prompt.ctx = content;
	FW_TRY(fw_server_add_prompt(server, &prompt));
	observer.replying = replying;
	FW_TRY(fw_server_add_observer(server, &observer));
	return fw_server_add_page(server, "/page", false, show, NULL);
}

static fw_error *listen_http(fw_server *server)
{
	fw_http_options http = FW_HTTP_OPTIONS_INIT;

	http.bearer_token = "0123456789abcdef0123456789abcdef";
	http.allowed_hosts = "a.example,b.example";
	return fw_server_listen_http(server, &http);
}

static fw_error *set_up_server(fw_server **server, const int *ends)
{
	fw_server_options options = FW_SERVER_OPTIONS_INIT;
	const fw_scope scope = { .role = "R", .workspace_root = "/w" };
	fw_state *state = NULL;

	options.name = "memory";
	options.version = "1";
	FW_TRY(fw_server_new(&options, server));
	FW_TRY(fw_server_set_limit(*server, "in_flight", 10));
	fw_server_set_scope(*server, &scope);
	FW_TRY(fw_server_add_state(*server, "{}", 2, &state));
	FW_TRY(add_tool(*server, "echo", echo, state));
	FW_TRY(add_tool(*server, "fail", fail_call, NULL));
	FW_TRY(add_tool(*server, "rich", rich, NULL));
	FW_TRY(add_others(*server));
	fw_server_tools_changed(*server);
	fw_server_resource_updated(*server, "test:///a");
	return fw_server_listen_fds(*server, ends[0], ends[0]);
}

/* ---- setting up ---- */

static void expect_no_memory(fw_error *err)
{
	if (err && fw_error_code(err) != FW_INTERNAL_OUT_OF_MEMORY)
		fail_msg("%s: %s", fw_error_name(err), fw_error_message(err));
	if (err)
		assert_true(test_memory.failed);
	fw_error_free(err);
}

static void set_up_and_free(void)
{
	fw_server *server = NULL;
	fw_error *err;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	err = set_up_server(&server, ends);
	expect_no_memory(err ? err : listen_http(server));
	fw_server_free(server);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void test_server_memory__setting_up_fails_cleanly(void **state)
{
	(void)state;
	set_up_and_free(); /* libraries are loaded once, and stay */
	each_allocation_fails(set_up_and_free);
}

static void observe_and_free(void)
{
	fw_observe_options options = FW_OBSERVE_OPTIONS_INIT;
	fw_server_options server_options = FW_SERVER_OPTIONS_INIT;
	size_t fail_at = test_memory.fail_at;
	fw_server *server = NULL;

	test_memory.fail_at = 0;
	server_options.name = "memory";
	server_options.version = "1";
	assert_null(fw_server_new(&server_options, &server));
	options.state_dir = directory;
	options.log_form = FW_LOG_OFF;
	options.webhook_url = "http://127.0.0.1:9/";
	options.webhook_secret = "s3cret";
	test_memory.calls = 0;
	test_memory.fail_at = fail_at;
	expect_no_memory(fw_server_observe(server, &options));
	fw_server_free(server);
}

static void test_server_memory__observing_fails_cleanly(void **state)
{
	(void)state;
	observe_and_free();
	each_allocation_fails(observe_and_free);
}

/* ---- a conversation ---- */

/* Each line is JSON, no request has two answers, and an id that could not be read is left
 * out rather than null. */
static unsigned count_answers(const char *text)
{
	unsigned count = 0;
	bool seen[REQUESTS + 1] = { false };

	for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
		yyjson_doc *doc = yyjson_read(text, (size_t)(end - text), 0);
		yyjson_val *id = yyjson_obj_get(yyjson_doc_get_root(doc), "id");
		uint64_t number = yyjson_get_uint(id);

		if (!doc)
			fail_msg("not JSON: %.*s", (int)(end - text), text);
		if (yyjson_is_null(id))
			fail_msg("id is null: %.*s", (int)(end - text), text);
		if (yyjson_is_uint(id)) {
			assert_true(number <= REQUESTS && !seen[number]);
			seen[number] = true;
			count++;
		}
		yyjson_doc_free(doc);
	}
	return count;
}

/* Only the conversation lacks memory, not the set-up. */
static void converse(void)
{
	static char said[1 << 16];
	size_t fail_at = test_memory.fail_at;
	fw_server *server = NULL;
	fw_error *err;
	int ends[2];
	ssize_t len;

	test_memory.fail_at = 0;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
	assert_null(set_up_server(&server, ends));
	for (size_t i = 0; i < sizeof(conversation) / sizeof(conversation[0]); i++) {
		len = (ssize_t)strlen(conversation[i]);
		assert_int_equal(write(ends[1], conversation[i], (size_t)len), len);
	}
	assert_int_equal(shutdown(ends[1], SHUT_WR), 0);
	test_memory.calls = 0;
	test_memory.fail_at = fail_at;
	err = fw_server_run(server);
	test_memory.fail_at = 0;
	len = read(ends[1], said, sizeof said - 1);
	said[len > 0 ? len : 0] = '\0';
	if (!err && count_answers(said) != REQUESTS && !test_memory.failed)
		fail_msg("%u answers: %s", count_answers(said), said);
	(void)count_answers(said);
	expect_no_memory(err);
	fw_server_free(server);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void test_server_memory__a_conversation_has_one_answer_each_or_ends(void **state)
{
	(void)state;
	converse();
	each_allocation_fails(converse);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_server_memory__setting_up_fails_cleanly),
		cmocka_unit_test_setup_teardown(test_server_memory__observing_fails_cleanly,
						set_up, tear_down),
		cmocka_unit_test(
			test_server_memory__a_conversation_has_one_answer_each_or_ends),
	};

	return cmocka_run_group_tests_name("server_memory", tests, NULL, NULL);
}
