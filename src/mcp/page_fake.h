/*
 * page_fake.h - for unit tests of pages: a server, and a transport that records what it
 * gets.
 */
#ifndef FW_MCP_PAGE_FAKE_H
#define FW_MCP_PAGE_FAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include <faultwire/faultwire.h>
#include <faultwire/raise.h>

#include "base/limits.h"
#include "base/mem.h"
#include "mcp/page.h"
#include "mcp/server.h"
#include "mcp/transport.h"
#include "test/memory.h"

/* ---- a transport that records what it gets ---------------------------------- */

static struct fw_exchange exchange;
static fw_server *server;
static char *body;
static size_t body_len;
static char type[128];
static int status;
static uint32_t retry_after;
static const char *allow;
static char allow_text[64];
static const char *accepts;
static const char *if_none_match;
static char headers[1024];
static char event[256];
static unsigned events, closes;
static fw_principal *caller;

static void on_reply(struct fw_exchange *which, const struct fw_reply *reply)
{
	assert_ptr_equal(which, &exchange);
	free(body);
	body = malloc(reply->len + 1);
	assert_non_null(body);
	memcpy(body, reply->json, reply->len);
	body[reply->len] = '\0';
	body_len = reply->len;
	status = reply->status;
	retry_after = reply->retry_after_s;
	(void)snprintf(allow_text, sizeof allow_text, "%s", reply->allow ? reply->allow : "");
	allow = allow_text;
	(void)snprintf(headers, sizeof headers, "%s", reply->headers ? reply->headers : "");
	(void)snprintf(type, sizeof type, "%s", reply->type ? reply->type : "");
}

static const char *on_header(struct fw_exchange *which, const char *name, unsigned *ret_count)
{
	(void)which;
	(void)ret_count;
	if (strcmp(name, "If-None-Match") == 0)
		return if_none_match;
	return strcmp(name, "Accept") == 0 ? accepts : NULL;
}

static void on_send(struct fw_exchange *which, const struct fw_event *sent)
{
	const char *more = fw_exchange_page_headers(which);

	assert_ptr_equal(which, &exchange);
	events++;
	(void)snprintf(event, sizeof event, "%s|%.*s|%s", sent->name ? sent->name : "-",
		       (int)sent->len, sent->json, sent->id ? sent->id : "-");
	(void)snprintf(headers, sizeof headers, "%s", more ? more : "");
}

static void on_close(struct fw_exchange *which)
{
	assert_ptr_equal(which, &exchange);
	closes++;
}

static const char *on_query(struct fw_exchange *which, const char *name)
{
	(void)which;
	return strcmp(name, "who") == 0 ? "you" : NULL;
}

static const struct fw_exchange_ops OPS = { .send = on_send,
					    .reply = on_reply,
					    .close = on_close,
					    .header = on_header,
					    .query = on_query };

static inline void ask_body(const char *method, const char *path, const char *text)
{
	struct fw_page_request request = {
		.method = method, .path = path, .body = text, .len = text ? strlen(text) : 0
	};

	memset(&exchange, 0, sizeof exchange);
	fw_exchange_init(&exchange, server, &OPS, true);
	exchange.is_page = true;
	exchange.principal = caller;
	status = 0;
	closes = 0;
	events = 0;
	headers[0] = '\0';
	fw_exchange_open_page(&exchange, &request);
}

static inline void get(const char *path)
{
	ask_body("GET", path, NULL);
}

static inline enum fw_page_access access_of(const char *path)
{
	struct fw_page_terms terms;

	fw_server__page_terms(server, "GET", path, &terms);
	return terms.access;
}

static inline int begin(void **state)
{
	fw_server_options options = FW_SERVER_OPTIONS_INIT;

	(void)state;
	options.name = "test";
	options.version = "1";
	accepts = NULL;
	if_none_match = NULL;
	caller = NULL;
	return fw_server_new(&options, &server) != NULL;
}

static inline int end(void **state)
{
	(void)state;
	fw_server_free(server);
	free(body);
	body = NULL;
	return fw_error_live() != 0;
}

static inline void expect_problem(const char *code, int wanted)
{
	size_t violations = 9;

	assert_int_equal(status, wanted);
	assert_string_equal(type, "application/problem+json");
	assert_non_null(strstr(body, code));
	assert_null(fw_validate(body, body_len, FW_OWLCLAW_API, NULL, NULL, NULL, &violations));
	assert_int_equal(violations, 0);
	assert_non_null(strstr(body, "\"incident_id\":\"inc_"));
}

#endif
