/*
 * fuzz_server.h - the server that the targets of messages and of HTTP share: one
 * for the life of the process, set running without fw_server_run(), so that the
 * loop turns when the target says so and at no other time.
 */
#ifndef FW_FUZZ_SERVER_H
#define FW_FUZZ_SERVER_H

#include "fuzz.h"

#include <faultwire/raise.h>
#include <faultwire/server.h>

#include "../src/mcp/boundary.h"
#include "../src/mcp/call.h"
#include "../src/mcp/lane.h"
#include "../src/mcp/method.h"
#include "../src/mcp/offer.h"
#include "../src/mcp/post.h"
#include "../src/mcp/run.h"
#include "../src/mcp/runner.h"
#include "../src/mcp/server.h"
#include "../src/mcp/session.h"
#include "../src/mcp/transport.h"

enum { FUZZ_TURNS = 2000 };

static fw_server *fuzz_server;
static unsigned fuzz_sleeping; /* calls that wait for their timer */

static inline fw_error *fuzz_echo(fw_call *call, void *ctx)
{
	size_t len = 0;
	const char *text = fw_call_string(call, "text", &len);

	(void)ctx;
	fw_call_progress(call, 1, 2, "half");
	fw_call_log(call, FW_LOG_WARNING, "echo", text);
	fw_call_text_n(call, text, len);
	return NULL;
}

static inline fw_error *fuzz_fail(fw_call *call, void *ctx)
{
	(void)ctx;
	return fw_raise_tool_failed(fw_call_json(call, NULL, NULL));
}

/* Structured content as the caller says, right or wrong. */
static inline fw_error *fuzz_mirror(fw_call *call, void *ctx)
{
	size_t len = 0;
	const char *json = fw_call_json(call, "value", &len);

	(void)ctx;
	if (json)
		fw_call_structured(call, json, len);
	return NULL;
}

static inline void fuzz_wake(fw_call *call, void *ctx)
{
	(void)ctx;
	fuzz_sleeping--;
	fw_call_text(call, "later");
	fw_call_finish(call, NULL);
}

static inline fw_error *fuzz_later(fw_call *call, void *ctx)
{
	(void)ctx;
	fuzz_sleeping++;
	fw_call_after(call, 0, fuzz_wake, NULL);
	return NULL;
}

static inline fw_error *fuzz_ask(fw_call *call, void *ctx)
{
	const char *name;

	(void)ctx;
	name = fw_call_ask(call, "name", "elicitation/create",
			   "{\"message\":\"Who?\",\"requestedSchema\":{\"type\":\"object\","
			   "\"properties\":{\"name\":{\"type\":\"string\"}}}}");
	if (name && fw_call_client_can(call, "roots") &&
	    !fw_call_ask(call, "roots", "roots/list", NULL))
		return NULL;
	if (name) {
		name = fw_call_answer(call, "name", "/content/name");
		fw_call_textf(call, "Hello, %s", name ? name : "nobody");
	}
	return NULL;
}

static inline fw_error *fuzz_read(fw_call *call, void *ctx)
{
	const char *id = fw_call_string(call, "id", NULL);

	(void)ctx;
	fw_call_resource_text(call, fw_call_name(call), "text/plain", id ? id : "content");
	return NULL;
}

static inline fw_error *fuzz_prompt(fw_call *call, void *ctx)
{
	const char *topic = fw_call_string(call, "topic", NULL);

	(void)ctx;
	fw_call_description(call, "a prompt");
	fw_call_text(call, topic ? topic : "");
	return NULL;
}

static inline fw_error *fuzz_complete(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_value(call, fw_call_string(call, "value", NULL));
	return NULL;
}

static inline void fuzz_server_add(const char *name, const char *input, const char *output,
				   fw_handler *handler, fw_run run, fw_contract contract)
{
	fw_tool tool = FW_TOOL_INIT;

	tool.name = name;
	tool.input_schema = input;
	tool.output_schema = output;
	tool.handler = handler;
	tool.run = run;
	tool.contract = contract;
	MUST(!fw_server_add_tool(fuzz_server, &tool));
}

static inline void fuzz_server_open(void)
{
	static const fw_prompt_argument topic = { "topic", "what about", true };
	const fw_resource fixed = { .struct_size = sizeof(fw_resource),
				    .uri = "test://fixed",
				    .name = "fixed",
				    .handler = fuzz_read };
	const fw_resource item = { .struct_size = sizeof(fw_resource),
				   .uri = "test://item/{id}",
				   .name = "item",
				   .handler = fuzz_read,
				   .complete = fuzz_complete };
	const fw_prompt prompt = { .struct_size = sizeof(fw_prompt),
				   .name = "topic",
				   .arguments = &topic,
				   .argument_count = 1,
				   .handler = fuzz_prompt,
				   .complete = fuzz_complete };
	fw_server_options options = FW_SERVER_OPTIONS_INIT;

	options.name = "fuzz";
	options.version = "1";
	options.page_size = 3;
	options.keep_signals = true;
	MUST(!fw_server_new(&options, &fuzz_server));
	fuzz_server_add("echo",
			"{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\","
			"\"maxLength\":64},\"count\":{\"type\":\"integer\",\"minimum\":1},"
			"\"kind\":{\"enum\":[\"a\",\"b\"]},\"name\":{\"pattern\":\"^[a-z]+$\"},"
			"\"region\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"},"
			"\"list\":{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"type\":"
			"\"number\"}}},\"required\":[\"text\"],\"additionalProperties\":false}",
			NULL, fuzz_echo, FW_RUN_INLINE, FW_AUTO);
	fuzz_server_add("fail", NULL, NULL, fuzz_fail, FW_RUN_INLINE, FW_KAIZA);
	fuzz_server_add("mirror", NULL,
			"{\"type\":\"object\",\"properties\":{\"sum\":{\"type\":\"integer\"}},"
			"\"required\":[\"sum\"]}",
			fuzz_mirror, FW_RUN_INLINE, FW_CODEINTEL);
	fuzz_server_add("later", NULL, NULL, fuzz_later, FW_RUN_ASYNC, FW_AUTO);
	fuzz_server_add("ask", NULL, NULL, fuzz_ask, FW_RUN_INLINE, FW_AUTO);
	MUST(!fw_server_add_resource(fuzz_server, &fixed));
	MUST(!fw_server_add_resource(fuzz_server, &item));
	MUST(!fw_server_add_prompt(fuzz_server, &prompt));
	fuzz_server->state = FW_RUNNING;
}

static inline void fuzz_turn(void)
{
	(void)uv_run(&fuzz_server->loop, UV_RUN_NOWAIT);
}

/* Everybody has gone: nothing of theirs is left. */
static inline void fuzz_server_settle(void)
{
	while (fuzz_server->sessions.first)
		fw_session_free(fuzz_server->sessions.first);
	for (int i = 0; i < FUZZ_TURNS && (fuzz_sleeping || fuzz_server->calls.count); i++)
		fuzz_turn();
	fuzz_turn();
	MUST(fuzz_sleeping == 0);
	MUST(fuzz_server->calls.count == 0 && !fuzz_server->calls.first);
	MUST(fuzz_server->calls.listeners == 0);
	MUST(fuzz_server->sessions.count == 0);
	MUST(!fuzz_server->inbox.posts);
	MUST(fw_error_live() == 0);
}

#endif
