/*
 * exchange_fake.h - for unit tests of this folder: a server that takes messages without
 * a transport, and an exchange that records what it gets.
 */
#ifndef FW_MCP_EXCHANGE_FAKE_H
#define FW_MCP_EXCHANGE_FAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <faultwire/faultwire.h>
#include <faultwire/raise.h>

#include "mcp/server.h"
#include "mcp/transport.h"
#include "rpc/names.h"

#define FAKE_MODERN "2026-07-28"
/* The `_meta` of a modern request, with these capabilities. */
#define FAKE_META(capabilities)                             \
	"\"_meta\":{\"" FW_META_VERSION "\":\"" FAKE_MODERN \
	"\",\"" FW_META_CLIENT_CAPABILITIES "\":" capabilities "}"
#define FAKE_REQUEST(id, method, params) \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":" params "}"

struct fake {
	struct fw_exchange exchange; /* first: the core hands it back */
	unsigned replies, sends, closes;
	int status;
	char last[16384];       /* the last reply */
	char sent[16384];       /* the last message before it */
	char session[64];       /* Mcp-Session-Id of the last reply */
	const char *headers[8]; /* name, value, ...; NULL at the end */
};

static fw_server *server;

static inline void fake_copy(char *to, size_t size, const char *text, size_t len)
{
	(void)snprintf(to, size, "%.*s", (int)len, text ? text : "");
}

static inline void fake_on_send(struct fw_exchange *exchange, const struct fw_event *event)
{
	struct fake *fake = (struct fake *)exchange;

	fake->sends++;
	fake_copy(fake->sent, sizeof fake->sent, event->json, event->len);
}

static inline void fake_on_reply(struct fw_exchange *exchange, const struct fw_reply *reply)
{
	struct fake *fake = (struct fake *)exchange;

	fake->replies++;
	fake->status = reply->status;
	fake_copy(fake->last, sizeof fake->last, reply->json, reply->len);
	(void)snprintf(fake->session, sizeof fake->session, "%s",
		       reply->session_id ? reply->session_id : "");
}

static inline void fake_on_close(struct fw_exchange *exchange)
{
	((struct fake *)exchange)->closes++;
}

static inline const char *fake_on_header(struct fw_exchange *exchange, const char *name,
					 unsigned *ret_count)
{
	const struct fake *fake = (struct fake *)exchange;
	const char *value = NULL;
	unsigned count = 0;

	for (size_t i = 0; fake->headers[i]; i += 2) {
		if (strcmp(fake->headers[i], name) != 0)
			continue;
		value = fake->headers[i + 1];
		count++;
	}
	if (ret_count)
		*ret_count = count;
	return value;
}

static const struct fw_exchange_ops fake_ops = { .send = fake_on_send,
						 .reply = fake_on_reply,
						 .close = fake_on_close,
						 .header = fake_on_header };

static inline void fake_init(struct fake *fake, bool is_http)
{
	memset(fake, 0, sizeof *fake);
	fw_exchange_init(&fake->exchange, server, &fake_ops, is_http);
}

static inline void fake_receive(struct fake *fake, const char *text)
{
	fw_exchange_receive(&fake->exchange, text, strlen(text));
}

static inline bool fake_has(const struct fake *fake, const char *text)
{
	return strstr(fake->last, text) != NULL;
}

/* Lets the loop turn until `*count` is reached, a bounded number of times. */
static inline void fake_await(const unsigned *count, unsigned wanted)
{
	/* Not UV_RUN_ONCE: after a timer it waits for another event. */
	for (int i = 0; i < 60000 && *count < wanted; i++)
		if (uv_run(server->loop, UV_RUN_NOWAIT) && *count < wanted)
			uv_sleep(1);
	assert_int_equal(*count, wanted);
}

static inline void fake_add_tool(const char *name, fw_handler *handler, fw_run run)
{
	fw_tool tool = FW_TOOL_INIT;

	tool.name = name;
	tool.handler = handler;
	tool.run = run;
	assert_null(fw_server_add_tool(server, &tool));
}

static inline void fake_server_begin(void)
{
	fw_server_options options = FW_SERVER_OPTIONS_INIT;

	options.name = "test";
	options.version = "1";
	assert_null(fw_server_new(&options, &server));
	server->state = FW_RUNNING;
}

static inline void fake_server_end(void)
{
	assert_null(server->calls.first);
	fw_server_free(server);
	server = NULL;
	assert_int_equal(fw_error_live(), 0);
}

/* Begins a legacy session on it; the client can do what `capabilities` says. */
static inline void fake_initialize(struct fake *fake, const char *capabilities)
{
	char text[512];

	(void)snprintf(text, sizeof text,
		       FAKE_REQUEST("0", "initialize",
				    "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":%s,"
				    "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}"),
		       capabilities);
	fake_receive(fake, text);
	assert_true(fake_has(fake, "\"result\":"));
}

#endif
