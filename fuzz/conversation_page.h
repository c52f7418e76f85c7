/*
 * conversation_page.h - pages of the server in fuzz_conversation.c that answer later,
 * stream, or fail, and what is done to them meanwhile.
 *
 * The one rule to remember: a page that is kept is finished once, at the latest when
 * the input ends.
 */
#ifndef FW_CONVERSATION_PAGE_H
#define FW_CONVERSATION_PAGE_H

#include "conversation_world.h"

#include "../src/mcp/page.h"

enum { PAGES_MAX = 64 };

static fw_page *kept_pages[PAGES_MAX];
static size_t kept_count;
static bool finishes_gone; /* a page is finished as soon as its client has gone */

static fw_error *page_keep(fw_page *page)
{
	fw_error *err;

	if (kept_count == PAGES_MAX)
		return fw_raise_server_overloaded(PAGES_MAX, "pages");
	err = fw_page_keep(page);
	if (!err)
		kept_pages[kept_count++] = page;
	return err;
}

static fw_error *page_later(fw_page *page, void *ctx)
{
	const char *name = fw_page_parameter(page, "name");

	(void)ctx;
	MUST(name && strlen(name) == 1);
	fw_page_set_header(page, "X-Name", name);
	return page_keep(page);
}

static bool page_tick(fw_page *page, const char *text)
{
	return fw_page_send(
		page, &(fw_page_event){ .data = text, .len = strlen(text), .name = "tick" });
}

static fw_error *page_events(fw_page *page, void *ctx)
{
	fw_error *err = page_keep(page);

	(void)ctx;
	if (!err)
		(void)page_tick(page, "{\"n\":1}");
	return err;
}

/* It answers twice: the first answer counts. */
static fw_error *page_twice(fw_page *page, void *ctx)
{
	size_t len = 0;
	fw_error *err;

	(void)ctx;
	fw_page_write(page, fw_page_body(page, &len), len);
	err = fw_page_keep(page);
	if (err) {
		fw_error_free(err);
		return NULL;
	}
	fw_page_finish(page, NULL);
	return fw_raise_tool_failed("and fails");
}

/* A tool by HTTP. The body is its arguments. */
static fw_error *page_call(fw_page *page, void *ctx)
{
	size_t len = 0;
	const char *body = fw_page_body(page, &len);

	(void)ctx;
	page->outlives_client = finishes_gone;
	(void)fw_page_call_tool(page, fw_page_parameter(page, "name"), body, len);
	return NULL;
}

static void page_gone(fw_page *page, void *ctx)
{
	(void)ctx;
	MUST(fw_page_is_gone(page));
	for (size_t i = 0; finishes_gone && i < kept_count; i++) {
		if (kept_pages[i] != page)
			continue;
		kept_pages[i] = kept_pages[--kept_count];
		fw_page_finish(page, NULL);
		return;
	}
}

static void add_pages(void)
{
	const fw_route routes[] = {
		{ .path = "/later/{name}",
		  .methods = FW_ROUTE_GET | FW_ROUTE_POST,
		  .body_bytes = 100,
		  .handle = page_later },
		{ .path = "/events", .handle = page_events },
		{ .path = "/call/{name}", .methods = FW_ROUTE_POST, .handle = page_call },
		{ .path = "/twice", .methods = FW_ROUTE_POST, .handle = page_twice },
	};

	for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
		fw_route route = routes[i];

		route.struct_size = sizeof route;
		route.gone = page_gone;
		MUST(!fw_server_add_route(server, &route));
	}
	kept_count = 0;
}

static void finish_page(size_t index, fw_error *err)
{
	fw_page *page = kept_pages[index];

	kept_pages[index] = kept_pages[--kept_count];
	fw_page_finish(page, err);
}

/* One of them sends an event, or is finished; perhaps from another thread. */
static void act_on_page(const struct step *step)
{
	uv_thread_t own = server->thread;
	size_t index;

	finishes_gone = step->e & 1;
	if (!kept_count)
		return;
	index = step->c % kept_count;
	if (step->d & 1)
		(void)leave_loop();
	if (step->a & 1)
		(void)page_tick(kept_pages[index], step->b & 1 ? "" : "{\"n\":2}");
	else
		finish_page(index, step->b & 1 ? fw_raise_tool_failed("late") : NULL);
	server->thread = own;
}

#endif
