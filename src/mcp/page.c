/*
 * page.c - documents that the server serves beside the protocol.
 *
 * The transport asks which access a page requires, checks that, and lets it be
 * rendered. A page that fails, and a request that is refused, leave through the
 * boundary like any other failure, as a problem document.
 */
#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "mcp/page.h"
#include "mcp/runner.h"
#include "mcp/server.h"
#include "mcp/transport.h"
#include "mcp/util.h"

static const char PLAIN[] = "text/plain; charset=utf-8";

struct fw_page {
	struct fw_exchange *exchange;
	const char *path;
	int status;
	char type[128];
	struct fw_buf out;
};

struct fw_page_entry {
	const char *path;
	size_t len;
	bool is_tree; /* ends in a slash: includes everything below it */
	enum fw_page_access access;
	fw_page_fn *render;
	void *ctx;
};

struct fw_check_entry {
	fw_check_fn *check;
	void *ctx;
};

/* ---- what the server always has -------------------------------------------------- */

static fw_error *render_health(fw_page *page, void *ctx)
{
	(void)ctx;
	fw_page_write(page, "ok\n", 3);
	return NULL;
}

static void put_line(struct fw_buf *out, const char *line)
{
	if (!line[0])
		return;
	fw_buf_str(out, line);
	FW_BUF(out, "\n");
}

static fw_error *render_ready(fw_page *page, void *ctx)
{
	const fw_server *server = page->exchange->server;
	bool is_ready = fw_server__is_ready(server);
	struct fw_buf lines;
	char line[256];

	(void)ctx;
	fw_buf_init(&lines, server->limits.page_bytes);
	(void)snprintf(line, sizeof line, "calls: %zu of %llu in progress", server->calls.count,
		       (unsigned long long)server->limits.in_flight);
	put_line(&lines, line);
	for (struct fw_runner *runner = server->runners.first; runner; runner = runner->next) {
		line[0] = '\0';
		if (runner->ops->is_ready && !runner->ops->is_ready(runner, line, sizeof line))
			is_ready = false;
		put_line(&lines, line);
	}
	for (size_t i = 0; i < server->pages.check_count; i++) {
		line[0] = '\0';
		if (!server->pages.checks[i].check(server->pages.checks[i].ctx, line,
						   sizeof line))
			is_ready = false;
		put_line(&lines, line);
	}
	if (!is_ready)
		fw_page_status(page, 503, PLAIN);
	put_line(&page->out, is_ready ? "ready" : "not ready");
	if (lines.state == FW_BUF_OK && lines.len)
		fw_page_write(page, lines.text, lines.len);
	fw_buf_clear(&lines);
	return NULL;
}

#define BUILT_IN(its_path, its_access, its_render, tree)                                 \
	{                                                                                \
		.path = (its_path), .len = sizeof(its_path) - 1, .access = (its_access), \
		.render = (its_render), .is_tree = (tree)                                \
	}

/* Liveness says nothing about the server and is asked for by address; readiness
 * names its parts, so a web page of another name must not read it. */
static const struct fw_page_entry built_in[] = {
	BUILT_IN("/healthz", FW_PAGE_UNCHECKED, render_health, false),
	BUILT_IN("/readyz", FW_PAGE_OPEN, render_ready, false),
	BUILT_IN("/problems/", FW_PAGE_OPEN, fw_page_problem, true),
};
enum { BUILT_IN_COUNT = sizeof built_in / sizeof *built_in };

/* ---- registering ------------------------------------------------------------------ */

static const struct fw_page_entry *entry_at(const fw_server *server, size_t index)
{
	return index < BUILT_IN_COUNT ? &built_in[index]
				      : &server->pages.items[index - BUILT_IN_COUNT];
}

static size_t entry_count(const fw_server *server)
{
	return BUILT_IN_COUNT + server->pages.count;
}

fw_error *fw_server_add_page(fw_server *server, const char *path, bool is_open,
			     fw_page_fn *render, void *ctx)
{
	static const char FUNCTION[] = "fw_server_add_page";
	struct fw_page_entry *more;
	char *copy;

	if (!server || !path || !render)
		return fw_raise_internal_api_misuse(FUNCTION, "NULL argument");
	if (path[0] != '/' || strpbrk(path, "?#% "))
		return fw_raise_internal_api_misuse(FUNCTION, "the path is no plain path");
	for (size_t i = 0; i < entry_count(server); i++)
		if (strcmp(entry_at(server, i)->path, path) == 0)
			return fw_raise_internal_api_misuse(FUNCTION, "the path is taken");
	if (server->pages.count == FW_LIMIT_PAGES)
		return fw_raise_internal_api_misuse(FUNCTION, "there are too many pages");
	copy = fw_strdup(path);
	if (!copy)
		return fw_raise_internal_out_of_memory();
	more = fw__reallocate(server->pages.items, (server->pages.count + 1) * sizeof *more);
	if (!more) {
		fw__release(copy);
		return fw_raise_internal_out_of_memory();
	}
	server->pages.items = more;
	more[server->pages.count++] = (struct fw_page_entry){
		.path = copy,
		.len = strlen(copy),
		.is_tree = copy[strlen(copy) - 1] == '/',
		.access = is_open ? FW_PAGE_OPEN : FW_PAGE_GUARDED,
		.render = render,
		.ctx = ctx,
	};
	return NULL;
}

fw_error *fw_server__add_check(fw_server *server, fw_check_fn *check, void *ctx)
{
	struct fw_check_entry *more = fw__reallocate(
		server->pages.checks, (server->pages.check_count + 1) * sizeof *more);

	if (!more)
		return fw_raise_internal_out_of_memory();
	server->pages.checks = more;
	more[server->pages.check_count++] = (struct fw_check_entry){ check, ctx };
	return NULL;
}

void fw_pages_clear(fw_server *server)
{
	for (size_t i = 0; i < server->pages.count; i++)
		fw__release((char *)server->pages.items[i].path);
	fw__release(server->pages.items);
	fw__release(server->pages.checks);
}

/* ---- asking ------------------------------------------------------------------------- */

/* The longest path that matches. */
static const struct fw_page_entry *find(const fw_server *server, const char *path)
{
	const struct fw_page_entry *found = NULL;

	for (size_t i = 0; i < entry_count(server); i++) {
		const struct fw_page_entry *entry = entry_at(server, i);

		if (strncmp(path, entry->path, entry->len) != 0 ||
		    (!entry->is_tree && path[entry->len]))
			continue;
		if (!found || entry->len > found->len)
			found = entry;
	}
	return found;
}

enum fw_page_access fw_server__page_access(const fw_server *server, const char *path)
{
	const struct fw_page_entry *entry = find(server, path);

	return entry ? entry->access : FW_PAGE_NONE;
}

void fw_exchange_get_page(struct fw_exchange *exchange, const char *path)
{
	const struct fw_page_entry *entry = find(exchange->server, path);
	fw_page page = { .exchange = exchange, .path = path };
	struct fw_reply reply = { .json = "" };
	fw_error *err;

	if (!entry) {
		fw_exchange_refuse(exchange, fw_raise_protocol_path_not_found(path));
		return;
	}
	fw_buf_init(&page.out, exchange->server->limits.page_bytes);
	fw_page_status(&page, 200, PLAIN);
	err = entry->render(&page, entry->ctx);
	if (!err && page.out.state == FW_BUF_TOO_LARGE)
		err = fw_raise_tool_result_too_large(exchange->server->limits.page_bytes);
	else if (!err && page.out.state != FW_BUF_OK)
		err = fw_raise_internal_out_of_memory();
	if (err) {
		fw_exchange_refuse(exchange, err);
	} else {
		reply.status = page.status;
		reply.type = page.type;
		reply.len = page.out.len;
		if (page.out.len)
			reply.json = page.out.text;
		exchange->ops->reply(exchange, &reply);
	}
	fw_buf_clear(&page.out);
}

/* ---- in a page ------------------------------------------------------------------------ */

const char *fw_page_path(const fw_page *page)
{
	return page->path;
}

const char *fw_page_header(const fw_page *page, const char *name)
{
	const struct fw_exchange_ops *ops = page->exchange->ops;

	return ops->header ? ops->header(page->exchange, name, NULL) : NULL;
}

const char *fw_page_query(const fw_page *page, const char *name)
{
	const struct fw_exchange_ops *ops = page->exchange->ops;

	return ops->query ? ops->query(page->exchange, name) : NULL;
}

void fw_page_status(fw_page *page, int status, const char *content_type)
{
	page->status = status;
	(void)snprintf(page->type, sizeof page->type, "%s",
		       content_type ? content_type : PLAIN);
}

void fw_page_write(fw_page *page, const char *text, size_t len)
{
	fw_buf_put(&page->out, text, len);
}
