/*
 * page_builtin.c - the pages that every server has: is it alive, is it ready, the
 * meaning of problems, and the files that these need.
 */
#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/buf.h"
#include "base/mem.h"
#include "mcp/page.h"
#include "mcp/route.h"
#include "mcp/runner.h"
#include "mcp/server.h"
#include "mcp/transport.h"

static const char PLAIN[] = "text/plain; charset=utf-8";

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

/* Browsers ask for it by themselves. */
static fw_error *render_no_icon(fw_page *page, void *ctx)
{
	(void)ctx;
	fw_page_status(page, 404, PLAIN);
	fw_page_set_header(page, "Cache-Control", "max-age=86400");
	fw_page_write(page, "no icon\n", 8);
	return NULL;
}

/* For people who open the address in a browser: the dashboard, if there is one. */
static fw_error *render_root(fw_page *page, void *ctx)
{
	const struct fw_page_file *files = page->server->pages.root;
	const char *accept = fw_page_header(page, "Accept");
	static const char text[] =
		"This is an MCP server. Point an MCP client at its endpoint, by default /mcp.\n"
		"\n"
		"/problems/  what error codes mean\n"
		"/livez      is it alive (also /healthz)\n"
		"/readyz     does it accept calls\n";

	(void)ctx;
	if (files && accept && strstr(accept, "text/html"))
		return fw_page_serve_file(page, files, "index.html");
	fw_page_write(page, text, sizeof text - 1);
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
	const fw_server *server = page->server;
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
	put_line(&page->answer.out, is_ready ? "ready" : "not ready");
	if (lines.state == FW_BUF_OK && lines.len)
		fw_page_write(page, lines.text, lines.len);
	fw_buf_clear(&lines);
	return NULL;
}

#define BUILT_IN(its_path, its_access, its_handler, tree)                           \
	{                                                                           \
		.path = (its_path), .len = sizeof(its_path) - 1,                    \
		.literal = sizeof(its_path) - 1, .access = (its_access),            \
		.methods = FW_ROUTE_GET, .handle = (its_handler), .is_tree = (tree) \
	}

/* Liveness says nothing about the server and is asked for by address; readiness
 * names its parts, so a web page of another name must not read it. */
const struct fw_route_entry fw_route_builtin[] = {
	BUILT_IN("/healthz", FW_PAGE_UNCHECKED, render_health, false),
	BUILT_IN("/livez", FW_PAGE_UNCHECKED, render_health, false),
	BUILT_IN("/favicon.ico", FW_PAGE_UNCHECKED, render_no_icon, false),
	BUILT_IN("/", FW_PAGE_OPEN, render_root, false),
	BUILT_IN("/readyz", FW_PAGE_OPEN, render_ready, false),
	BUILT_IN("/problems/", FW_PAGE_OPEN, fw_page_problem, true),
	BUILT_IN("/assets/", FW_PAGE_OPEN, fw_page_asset, true),
};
const size_t fw_route_builtin_count = sizeof fw_route_builtin / sizeof *fw_route_builtin;

/* ---- checks -------------------------------------------------------------------------- */

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
	fw_routes_clear(server);
	fw_signins_clear(&server->pages.signins);
	fw__release(server->pages.checks);
}
