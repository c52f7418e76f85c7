/*
 * gate_memory_test.c - whole conversations through the gateway while memory runs out: each
 * allocation from the first message to the last answer fails in turn. Every request has
 * exactly one answer, and nothing is left behind.
 *
 * The upstream is a link (client/link.h) that answers from a table, on the loop: no process
 * has to be started for each of the thousands of conversations.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <yyjson.h>

#include <faultwire/classify.h>
#include <faultwire/faultwire.h>
#include <faultwire/raise.h>

#include "base/loop.h"
#include "base/mem.h"
#include "client/link_impl.h"
#include "gate/gate.h"
#include "mcp/server.h"
#include "mcp/transport.h"
#include "test/memory.h"

enum { REQUESTS_MOST = 32, PATIENCE_MS = 10 * 1000, QUEUE = 64, LINE_BYTES = 4096 };

/* ---- the upstream ---------------------------------------------------------------------- */

/* The lines that it answers to a request whose text contains `key`. `$` stands for the id
 * of the request, or for the id that "!keep" has stored. "!crash" ends the process. */
struct script {
	const char *key;
	const char *lines[3];
};

struct upstream {
	struct fw_link base;
	uv_timer_t timer; /* delivers `queue` */
	char queue[QUEUE][LINE_BYTES];
	size_t first, count;
	char kept[32]; /* the id of a request that is answered after its question */
	bool is_freed;
};

/* The scripts of the current conversation, for the upstreams "a" and "b". */
static const struct script *scripts[2];

static void closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void free_upstream(struct fw_link *link)
{
	struct upstream *upstream = (struct upstream *)link;

	upstream->is_freed = true;
	uv_close((uv_handle_t *)&upstream->timer, closed);
}

static void deliver(uv_timer_t *timer)
{
	struct upstream *upstream = timer->data;
	const struct fw_link_ending ending = { .how = FW_LINK_CRASHED, .signum = SIGSEGV };

	while (!upstream->is_freed && upstream->count) {
		const char *line = upstream->queue[upstream->first];

		upstream->first = (upstream->first + 1) % QUEUE;
		upstream->count--;
		if (strcmp(line, "!crash") == 0) {
			upstream->count = 0;
			upstream->base.on.ended(upstream->base.ctx, &ending);
			return;
		}
		upstream->base.on.message(upstream->base.ctx, 0, line, strlen(line));
	}
}

/* Queues the line, with each `$` replaced by the id of the request. */
static void enqueue(struct upstream *upstream, const char *line, struct fw_slice id)
{
	char *out = upstream->queue[(upstream->first + upstream->count++) % QUEUE];
	size_t len = 0;

	assert_true(upstream->count <= QUEUE);
	for (; *line; line++)
		len += (size_t)snprintf(out + len, LINE_BYTES - len, "%.*s",
					*line == '$' ? (int)id.n : 1,
					*line == '$' ? id.p : line);
	assert_int_equal(uv_timer_start(&upstream->timer, deliver, 0, 0), 0);
}

static fw_error *take(struct fw_link *link, const struct fw_link_message *message)
{
	struct upstream *upstream = (struct upstream *)link;
	const struct script *script = scripts[link->target->name[0] == 'b'];
	struct fw_scan scan;

	assert_int_equal(fw_slice_scan(message->text, message->len, 64, &scan), FW_SCAN_OK);
	for (const struct script *at = script; at->key; at++) {
		if (!memmem(message->text, message->len, at->key, strlen(at->key)))
			continue;
		for (size_t i = 0; i < 3 && at->lines[i]; i++) {
			bool is_answer = !scan.method.p;

			if (strcmp(at->lines[i], "!keep") == 0)
				(void)snprintf(upstream->kept, sizeof upstream->kept, "%.*s",
					       (int)scan.id.n, scan.id.p);
			else
				enqueue(upstream, at->lines[i],
					is_answer ? (struct fw_slice){ upstream->kept,
								       strlen(upstream->kept) }
						  : scan.id);
		}
		break;
	}
	return NULL;
}

static void ignore_end(struct fw_link *link)
{
	(void)link;
}

/* Replaces the function that starts a process; see meson.build. */
fw_error *__wrap_fw_link__open_child(struct fw_loop *loop, const struct fw_link *base,
				     struct fw_link **ret_link);
fw_error *__wrap_fw_link__open_child(struct fw_loop *loop, const struct fw_link *base,
				     struct fw_link **ret_link)
{
	static const struct fw_link_ops ops = { .free = free_upstream,
						.send = take,
						.end = ignore_end };
	struct upstream *upstream = calloc(1, sizeof *upstream);

	assert_non_null(upstream);
	upstream->base = *base;
	upstream->base.ops = &ops;
	assert_int_equal(uv_timer_init(&loop->uv, &upstream->timer), 0);
	upstream->timer.data = upstream;
	*ret_link = &upstream->base;
	return NULL;
}

/* ---- the client --------------------------------------------------------------------------- */

struct conversation {
	/* One message per line, NULL at the end. A message is sent when all before it are
	 * answered, or at once if it begins with '&'. '@' stands for the last
	 * requestState. */
	const char *const *lines;
	const struct script *script;
	const struct script *second; /* of a second upstream; NULL: none */
};

static const struct conversation *now;

/* A connection in memory. It does not use the allocator, so it never fails. */
struct client {
	struct fw_transport base;
	struct fw_exchange exchange;
	uv_timer_t timer;    /* sends the next line */
	uv_timer_t patience; /* fires if an answer was lost */
	size_t next;
	/* `unread`: errors without an id, for messages that could not be read, which may also
	 * be notifications. */
	unsigned asked, answered, unread;
	bool has[REQUESTS_MOST];
	char reply[LINE_BYTES]; /* to a question of the server; "": none */
	char state[LINE_BYTES];
	int open_handles;
};

static struct client *client;

static void lose_patience(uv_timer_t *timer)
{
	(void)timer;
	for (unsigned id = 1; id < REQUESTS_MOST; id++)
		if (client->asked >= id && !client->has[id])
			print_message("# no answer to %u\n", id);
	fail_msg("allocation %zu%s failed, and an answer was lost", test_memory.fail_at,
		 test_memory.fail_on ? " and later" : "");
}

static void send_line(const char *line)
{
	char text[2 * LINE_BYTES] = "";
	size_t len = 0;

	for (; *line; line++)
		len += (size_t)snprintf(text + len, sizeof text - len, "%.*s",
					*line == '@' ? LINE_BYTES : 1,
					*line == '@' ? client->state : line);
	if (strstr(text, "\"method\"") && strstr(text, "\"id\":"))
		client->asked++;
	fw_exchange_receive(&client->exchange, text, len);
}

static void send_next(uv_timer_t *timer)
{
	const char *line = now->lines[client->next];
	bool is_idle = client->answered + client->unread >= client->asked;

	(void)timer;
	if (client->reply[0]) {
		char reply[LINE_BYTES];

		(void)snprintf(reply, sizeof reply, "%s", client->reply);
		client->reply[0] = '\0';
		send_line(reply);
	} else if (line && (*line == '&' || is_idle)) {
		client->next++;
		send_line(line + (*line == '&'));
	} else if (!line && is_idle) {
		fw_transport_hangup(&client->base);
		return;
	} else {
		return; /* the next answer continues */
	}
	(void)uv_timer_start(&client->timer, send_next, 0, 0);
}

/* The results of the run in which no allocation fails. In the other runs, each reply must
 * be one of these or an error. */
static char right[REQUESTS_MOST][LINE_BYTES];

/* A client never asks for what is not offered. */
static bool offers_as_much(const char *json, const char *more)
{
	static const char *const names[] = { "\"tools\":", "\"resources\":", "\"prompts\":",
					     "\"completions\":" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strstr(more, names[i]) && !strstr(json, names[i]))
			return false;
	return true;
}

static void check_result(uint64_t id, const struct fw_reply *reply, yyjson_val *result)
{
	if (!result || yyjson_get_bool(yyjson_obj_get(result, "isError")) ||
	    yyjson_obj_get(result, "requestState"))
		return;
	assert_true(reply->len < LINE_BYTES);
	if (!test_memory.failed)
		memcpy(right[id], reply->json, reply->len + 1);
	else if (strcmp(reply->json, right[id]) != 0 &&
		 !(id == 1 && offers_as_much(reply->json, right[id])) &&
		 !strstr(reply->json, "dev.faultwire/missing"))
		fail_msg("allocation %zu%s failed, and a result is wrong: %s",
			 test_memory.fail_at, test_memory.fail_on ? " and later" : "",
			 reply->json);
}

static void take_answer(struct fw_exchange *exchange, const struct fw_reply *reply)
{
	yyjson_doc *doc = yyjson_read(reply->json, reply->len, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);
	yyjson_val *id = yyjson_obj_get(root, "id");
	const char *state =
		yyjson_get_str(yyjson_obj_get(yyjson_obj_get(root, "result"), "requestState"));
	uint64_t number = yyjson_get_uint(id);

	(void)exchange;
	if (getenv("FW_SHOW") && !test_memory.fail_at)
		printf("# %.*s\n", (int)reply->len, reply->json);
	if (!doc)
		fail_msg("not JSON: %.*s", (int)reply->len, reply->json);
	if (memmem(reply->json, reply->len, "upstream.timeout", 16))
		fail_msg("an answer was lost: %.*s", (int)reply->len, reply->json);
	if (id && (number >= REQUESTS_MOST || client->has[number]))
		fail_msg("a second answer: %.*s", (int)reply->len, reply->json);
	check_result(number, reply, yyjson_obj_get(root, "result"));
	client->has[number] = id != NULL;
	client->answered += id != NULL;
	client->unread += id == NULL;
	if (state)
		(void)snprintf(client->state, sizeof client->state, "%s", state);
	yyjson_doc_free(doc);
	(void)uv_timer_start(&client->timer, send_next, 0, 0);
}

/* A notification, or a question. */
static void take_event(struct fw_exchange *exchange, const struct fw_event *event)
{
	struct fw_scan scan;

	(void)exchange;
	if (getenv("FW_SHOW") && !test_memory.fail_at)
		printf("# %.*s\n", (int)event->len, event->json);
	assert_int_equal(fw_slice_scan(event->json, event->len, 64, &scan), FW_SCAN_OK);
	if (!scan.id.p)
		return;
	(void)snprintf(client->reply, sizeof client->reply,
		       "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"roots\":[]}}",
		       (int)scan.id.n, scan.id.p);
	(void)uv_timer_start(&client->timer, send_next, 0, 0);
}

static void take_nothing(struct fw_exchange *exchange)
{
	(void)exchange;
}

static fw_error *start_client(struct fw_transport *transport)
{
	(void)transport;
	(void)uv_timer_start(&client->patience, lose_patience, PATIENCE_MS, 0);
	(void)uv_timer_start(&client->timer, send_next, 0, 0);
	return NULL;
}

static void quiesce_client(struct fw_transport *transport)
{
	(void)transport;
}

static void client_handle_closed(uv_handle_t *handle)
{
	(void)handle;
	if (--client->open_handles == 0)
		fw_transport_closed(&client->base);
}

static void close_client(struct fw_transport *transport)
{
	(void)transport;
	fw_exchange_gone(&client->exchange);
	client->open_handles = 2;
	uv_close((uv_handle_t *)&client->timer, client_handle_closed);
	uv_close((uv_handle_t *)&client->patience, client_handle_closed);
}

static void free_client(struct fw_transport *transport)
{
	free(transport);
	client = NULL;
}

static void add_client(fw_server *server, struct fw_loop *loop)
{
	static const struct fw_exchange_ops exchange_ops = { .send = take_event,
							     .reply = take_answer,
							     .close = take_nothing };
	static const struct fw_transport_ops ops = { .start = start_client,
						     .quiesce = quiesce_client,
						     .close = close_client,
						     .free = free_client };

	client = calloc(1, sizeof *client);
	assert_non_null(client);
	client->base.ops = &ops;
	(void)uv_timer_init(&loop->uv, &client->timer);
	(void)uv_timer_init(&loop->uv, &client->patience);
	fw_exchange_init(&client->exchange, server, &exchange_ops, false);
	client->exchange.persistent = true;
	fw_transport_attach(&client->base, server);
}

/* ---- a conversation --------------------------------------------------------------------- */

static void converse(void)
{
	static const char *const argv[] = { "x", NULL };
	/* Retries would make this slow, because they wait between attempts. */
	const struct fw_gate_entry entries[] = {
		{ .target = { .name = "a", .argv = argv }, .retries = 0 },
		{ .target = { .name = "b", .argv = argv }, .retries = 0 },
	};
	const struct fw_gate_options how = { .entries = entries,
					     .count = now->second ? 2 : 1,
					     .deadline_ms = PATIENCE_MS / 2,
					     .trusts_annotations = true };
	fw_server_options options = FW_SERVER_OPTIONS_INIT;
	size_t fail_at = test_memory.fail_at;
	struct fw_loop loop;
	fw_server *server = NULL;
	struct fw_gate *gate = NULL;
	fw_error *err;

	test_memory.fail_at = 0;
	scripts[0] = now->script;
	scripts[1] = now->second;
	options.name = "memory";
	options.version = "1";
	options.contract = FW_AUTO;
	options.grace_ms = 50; /* if the answer to a question could not be read */
	assert_int_equal(fw_loop_init(&loop), 0);
	assert_null(fw_server__new_on(&loop, &options, &server));
	assert_null(fw_gate_new(&loop, &how, &gate));
	fw_gate_attach(gate, server);
	add_client(server, &loop);
	test_memory.calls = 0;
	test_memory.fail_at = fail_at;
	err = fw_server_run(server);
	test_memory.fail_at = 0;
	if (err)
		fail_msg("%s: %s", fw_error_name(err), fw_error_message(err));
	assert_true(client->answered <= client->asked);
	assert_true(client->answered + client->unread >= client->asked);
	fw_server_free(server);
	fw_gate_free(gate);
	fw_loop_close(&loop);
}

static void run(const struct conversation *conversation)
{
	now = conversation;
	test_memory = (struct test_memory){ .fail_at = 0 };
	converse();
	each_allocation_fails(converse);
}

/* ---- the conversations ---------------------------------------------------------------------- */

#define MESSAGE(id, method, params) \
	"{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"method\":\"" method "\",\"params\":{" params "}}"
#define INITIALIZE                                                                      \
	MESSAGE(1, "initialize",                                                        \
		"\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"sampling\":{}," \
		"\"elicitation\":{},\"roots\":{}},\"clientInfo\":{\"name\":\"t\","      \
		"\"version\":\"1\"}"),                                                  \
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"
#define META                                                                         \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","     \
	"\"io.modelcontextprotocol/clientInfo\":{\"name\":\"t\",\"version\":\"1\"}," \
	"\"io.modelcontextprotocol/clientCapabilities\":{\"sampling\":{},\"elicitation\":{}}}"
#define CALL(id, tool) \
	MESSAGE(id, "tools/call", "\"name\":\"" tool "\",\"arguments\":{\"text\":\"x\"}")
#define MODERN_CALL(id, tool) \
	MESSAGE(id, "tools/call", "\"name\":\"" tool "\",\"arguments\":{\"text\":\"x\"}," META)
#define RESULT(body) "{\"jsonrpc\":\"2.0\",\"id\":$,\"result\":{" body "}}"
#define FAILURE(code, message)                                                               \
	"{\"jsonrpc\":\"2.0\",\"id\":$,\"error\":{\"code\":" #code ",\"message\":\"" message \
	"\"}}"
#define TEXT(text) "\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]"
#define NAMED(name) "{\"name\":\"" name "\",\"inputSchema\":{\"type\":\"object\"}}"
#define TOOLS                                                                                        \
	"\"tools\":[{\"name\":\"echo\",\"description\":\"d\",\"inputSchema\":{\"type\":"             \
	"\"object\",\"properties\":{\"text\":{\"type\":\"string\",\"x-mcp-header\":\"Text\"}}"       \
	"},"                                                                                         \
	"\"outputSchema\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}"       \
	","                                                                                          \
	"\"annotations\":{\"readOnlyHint\":true}}," NAMED("fail") "," NAMED("structured") "," NAMED( \
		"envelope") "," NAMED("progress") "," NAMED("cut") "," NAMED("ask") "," NAMED("crash") "]"

#define ANSWERS                                                                              \
	{ "\"tools/list\"", { RESULT(TOOLS) } },                                             \
		{ "\"prompts/list\"", { RESULT("\"prompts\":[{\"name\":\"p\"}]") } },        \
		{ "\"resources/list\"",                                                      \
		  { RESULT("\"resources\":[{\"uri\":\"a://b\",\"name\":\"b\"}]") } },        \
		{ "\"resources/templates/list\"",                                            \
		  { RESULT("\"resourceTemplates\":[{\"uriTemplate\":\"c://"                  \
			   "{x}\",\"name\":\"c\"}]") } },                                    \
		{ "\"resources/read\"",                                                      \
		  { RESULT("\"contents\":[{\"uri\":\"a://b\",\"text\":\"x\"}]") } },         \
		{ "\"prompts/get\"", { RESULT("\"messages\":[]") } },                        \
		{ "\"completion/complete\"", { RESULT("\"completion\":{\"values\":[]}") } }, \
		{ "\"structured\"",                                                          \
		  { RESULT(TEXT("{}") ",\"structuredContent\":{\"n\":1}") } },               \
		{ "\"echo\"", { RESULT(TEXT("{}") ",\"structuredContent\":{\"n\":1}") } },   \
		{ "\"fail\"", { RESULT(TEXT("no such row") ",\"isError\":true") } },         \
		{ "\"envelope\"",                                                            \
		  { RESULT(TEXT("{\\\"error\\\":{\\\"code\\\":\\\"INVALID_INPUT\\\","        \
				"\\\"message\\\":"                                           \
				"\\\"x\\\"}}") ",\"isError\":true") } },                     \
		{ "\"progress\"",                                                            \
		  { "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"                       \
		    "message\",\"params\":{\"level\":"                                       \
		    "\"info\",\"data\":\"x\"}}",                                             \
		    "a line that is not JSON", RESULT(TEXT("done")) } },                     \
		{ "\"cut\"", { "{\"jsonrpc\":\"2.0\",\"id\":$,\"result\":{" } },             \
		{ "\"crash\"", { "!crash" } },                                               \
		{ "\"ask\"",                                                                 \
		  { "!keep",                                                                 \
		    "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"elicitation/create\","   \
		    "\"params\":{\"message\":\"who?\"}}" } },                                \
		{ "\"error\":{", { RESULT(TEXT("refused") ",\"isError\":true") } },          \
		{ "\"id\":\"q\"", { RESULT(TEXT("asked")) } },                               \
		{ "\"no/such\"", { FAILURE(-32601, "method not found") } },                  \
		{ "\"id\":", { RESULT("") } },                                               \
	{                                                                                    \
		NULL,                                                                        \
		{                                                                            \
			NULL                                                                 \
		}                                                                            \
	}

static const struct script legacy_script[] = {
	{ "\"server/discover\"", { FAILURE(-32601, "method not found") } },
	{ "\"initialize\"",
	  { RESULT(
		  "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{"
		  "\"listChanged\":"
		  "true},\"resources\":{\"subscribe\":true},\"prompts\":{},\"completions\":{}},"
		  "\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"},\"instructions\":"
		  "\"i\"") } },
	ANSWERS,
};
/* Has one name in common with the first, and pages. */
static const struct script second_script[] = {
	{ "\"server/discover\"", { FAILURE(-32601, "method not found") } },
	{ "\"initialize\"",
	  { RESULT("\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},"
		   "\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}") } },
	{ "\"cursor\"", { RESULT("\"tools\":[" NAMED("other") "]") } },
	{ "\"tools/list\"", { RESULT("\"tools\":[" NAMED("echo") "],\"nextCursor\":\"n\"") } },
	{ "\"tools/call\"", { RESULT(TEXT("second")) } },
	{ "\"id\":", { FAILURE(-32601, "method not found") } },
	{ NULL, { NULL } },
};
static const struct script modern_script[] = {
	{ "\"server/discover\"",
	  { RESULT("\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],"
		   "\"capabilities\":{\"tools\":{},\"resources\":{\"subscribe\":true},"
		   "\"prompts\":{}},\"_meta\":{\"io.modelcontextprotocol/"
		   "serverInfo\":{\"name\":\"s\","
		   "\"version\":\"1\"}}") } },
	{ "\"initialize\"", { FAILURE(-32601, "method not found") } },
	{ "\"inputResponses\"", { RESULT("\"resultType\":\"complete\"," TEXT("asked")) } },
	{ "\"ask\",\"arg",
	  { RESULT(
		  "\"resultType\":\"input_required\",\"requestState\":\"s\",\"inputRequests\":{"
		  "\"q1\":{\"method\":\"elicitation/create\",\"params\":{\"message\":\"who?\","
		  "\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}}}") } },
	{ "\"subscriptions/listen\"", { NULL } },
	ANSWERS,
};

static const char *const legacy_lines[] = {
	INITIALIZE,
	MESSAGE(2, "tools/list", ""),
	CALL(3, "echo"),
	CALL(4, "fail"),
	CALL(5, "structured"),
	CALL(6, "envelope"),
	MESSAGE(7, "tools/call", "\"name\":\"progress\",\"_meta\":{\"progressToken\":\"t\"}"),
	CALL(8, "cut"),
	MESSAGE(9, "resources/read", "\"uri\":\"a://b\""),
	MESSAGE(10, "resources/subscribe", "\"uri\":\"a://b\""),
	MESSAGE(11, "prompts/get", "\"name\":\"p\""),
	MESSAGE(12, "completion/complete",
		"\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"},\"argument\":{\"name\":\"a\","
		"\"value\":\"\"}"),
	MESSAGE(13, "logging/setLevel", "\"level\":\"info\""),
	MESSAGE(14, "no/such", ""),
	CALL(15, "ask"),
	"&" CALL(16, "crash"),
	"&" CALL(17, "fail"),
	"&" CALL(18, "echo"),
	CALL(19, "echo"),
	NULL,
};

static const char *const modern_lines[] = {
	MESSAGE(1, "server/discover", META),
	MESSAGE(2, "tools/list", META),
	MODERN_CALL(3, "echo"),
	MODERN_CALL(4, "fail"),
	MODERN_CALL(5, "structured"),
	MODERN_CALL(6, "envelope"),
	MODERN_CALL(7, "progress"),
	MODERN_CALL(8, "cut"),
	MESSAGE(9, "resources/read", "\"uri\":\"a://b\"," META),
	MESSAGE(10, "prompts/get", "\"name\":\"p\"," META),
	MESSAGE(11, "no/such", META),
	MODERN_CALL(12, "ask"),
	MESSAGE(13, "tools/call",
		"\"name\":\"ask\",\"arguments\":{\"text\":\"x\"},\"requestState\":\"@\","
		"\"inputResponses\":{\"q1\":{\"action\":\"decline\"}}," META),
	"&" MODERN_CALL(14, "crash"),
	"&" MODERN_CALL(15, "fail"),
	MODERN_CALL(16, "echo"),
	NULL,
};

static const char *const merged_lines[] = {
	INITIALIZE,
	MESSAGE(2, "tools/list", ""),
	CALL(3, "a__echo"),
	CALL(4, "b__echo"),
	CALL(5, "other"),
	CALL(6, "fail"),
	CALL(7, "none"),
	MESSAGE(8, "prompts/get", "\"name\":\"p\""),
	MESSAGE(9, "resources/read", "\"uri\":\"c://d\""),
	MESSAGE(10, "resources/list", ""),
	MESSAGE(11, "resources/subscribe", "\"uri\":\"a://b\""),
	CALL(12, "crash"),
	NULL,
};

static void test_gate__legacy_to_legacy_has_one_answer_each_without_memory(void **state)
{
	(void)state;
	run(&(struct conversation){ legacy_lines, legacy_script, NULL });
}

static void test_gate__legacy_to_modern_has_one_answer_each_without_memory(void **state)
{
	(void)state;
	run(&(struct conversation){ legacy_lines, modern_script, NULL });
}

static void test_gate__modern_to_legacy_has_one_answer_each_without_memory(void **state)
{
	(void)state;
	run(&(struct conversation){ modern_lines, legacy_script, NULL });
}

static void test_gate__modern_to_modern_has_one_answer_each_without_memory(void **state)
{
	(void)state;
	run(&(struct conversation){ modern_lines, modern_script, NULL });
}

static void test_gate__two_upstreams_have_one_answer_each_without_memory(void **state)
{
	(void)state;
	run(&(struct conversation){ merged_lines, legacy_script, second_script });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_gate__legacy_to_legacy_has_one_answer_each_without_memory),
		cmocka_unit_test(
			test_gate__legacy_to_modern_has_one_answer_each_without_memory),
		cmocka_unit_test(
			test_gate__modern_to_legacy_has_one_answer_each_without_memory),
		cmocka_unit_test(
			test_gate__modern_to_modern_has_one_answer_each_without_memory),
		cmocka_unit_test(test_gate__two_upstreams_have_one_answer_each_without_memory),
	};

	/* The rules are loaded once and stay. */
	assert_non_null(fw_classifier_builtin());
	return cmocka_run_group_tests_name("gate_memory", tests, NULL, NULL);
}
