/*
 * page.c - the life of a page.
 *
 * The transport has checked who may see the page. Its handler runs here, and everything
 * afterwards happens on the loop: fw_page_finish() and fw_page_send() of another thread
 * are posted. A failure leaves through the boundary like any other, with a call of its
 * own that keeps the page for the headers of the answer.
 */
#include "mcp/page.h"

#include <assert.h>
#include <string.h>

#include <uv.h>

#include <faultwire/raise.h>

#include "base/limits.h"
#include "base/mem.h"
#include "mcp/authority.h"
#include "mcp/call.h"
#include "mcp/post.h"
#include "mcp/principal.h"
#include "mcp/project.h"
#include "mcp/route.h"
#include "mcp/server.h"
#include "mcp/transport.h"

/* ---- memory --------------------------------------------------------------------- */

fw_page *fw_page_ref(fw_page *page)
{
	(void)atomic_fetch_add_explicit(&page->refs, 1, memory_order_relaxed);
	return page;
}

void fw_page_unref(fw_page *page)
{
	if (atomic_fetch_sub_explicit(&page->refs, 1, memory_order_acq_rel) != 1)
		return;
	assert(!page->exchange && !page->is_listed);
	fw_error_free(page->answer.err);
	fw_buf_clear(&page->answer.headers);
	fw_buf_clear(&page->answer.out);
	fw_principal_unref(page->principal);
	fw__release(page->end);
	fw__release(page);
}

static char *append(char **to, const char *text, size_t len)
{
	char *start = *to;

	memcpy(start, text, len);
	start[len] = '\0';
	*to += len + 1;
	return start;
}

/* Puts a NUL in place of each slash. After this, the two escapes that a path keeps (see
 * fw_http_escapes_decode()) can be decoded: names of tools may have a slash. */
static void split(char *path)
{
	char *out = path;

	for (const char *at = path; *at; at++) {
		bool is_slash = at[0] == '%' && at[1] == '2' && (at[2] | 0x20) == 'f';
		bool is_percent = at[0] == '%' && at[1] == '2' && at[2] == '5';

		*out++ = (char)(is_slash ? '/' : *at == '/' ? '\0' : *at);
		at += is_slash || is_percent ? 2 : 0;
	}
	*out = '\0';
}

/* NULL: no memory. */
static fw_page *page_new(struct fw_exchange *exchange, const struct fw_page_request *request,
			 const struct fw_route_entry *entry)
{
	size_t method_len = strlen(request->method), path_len = strlen(request->path);
	fw_page *page =
		fw__allocate(sizeof *page + method_len + 2 * path_len + request->len + 4);
	char *text, *parts;

	if (!page)
		return NULL;
	text = (char *)(page + 1);
	*page = (fw_page){
		.server = exchange->server,
		.exchange = exchange,
		.is_head = strcmp(request->method, "HEAD") == 0,
		.limit_ms = entry->deadline_ms ? entry->deadline_ms
					       : (uint32_t)exchange->server->limits.page_ms,
		.principal = fw_principal_ref(exchange->principal),
		.gone = entry->gone,
		.ctx = entry->ctx,
		.pattern = entry->path,
		.body_len = request->len,
		.answer.contract = FW_AUTO,
	};
	atomic_init(&page->refs, 1);
	page->method = append(&text, request->method, method_len);
	page->path = append(&text, request->path, path_len);
	parts = append(&text, request->path, path_len);
	split(parts);
	page->parts = parts;
	page->body = append(&text, request->body ? request->body : "", request->len);
	fw_buf_init(&page->answer.headers, FW_LIMIT_PAGE_HEADER_BYTES);
	fw_buf_init(&page->answer.out, exchange->server->limits.page_bytes);
	fw_page_status(page, 200, NULL);
	/* Now, because the bytes of the request are gone when a call of the page fails later. */
	fw_error_free(fw_mcp_choose_page_contract(exchange, &page->answer.contract));
	exchange->page = page;
	return page;
}

/* ---- states ---------------------------------------------------------------------- */

static void count(fw_page *page, size_t by)
{
	struct fw_pages *pages = &page->server->pages;

	if (page->state == FW_PAGE_PENDING)
		pages->pending += by;
	else if (page->state == FW_PAGE_STREAMING)
		pages->streams += by;
}

static void enter(fw_page *page, enum fw_page_state state)
{
	count(page, (size_t)-1);
	page->state = state;
	count(page, 1);
}

/* An open page, one that is kept, is found by a stop and by its deadline. */
static void enlist(fw_page *page)
{
	fw_server *server = page->server;

	if (page->is_listed)
		return;
	page->is_listed = true;
	page->previous = NULL;
	page->next = server->pages.open;
	if (page->next)
		page->next->previous = page;
	server->pages.open = fw_page_ref(page);
}

static void delist(fw_page *page)
{
	if (!page->is_listed)
		return;
	page->is_listed = false;
	if (page->previous)
		page->previous->next = page->next;
	else
		page->server->pages.open = page->next;
	if (page->next)
		page->next->previous = page->previous;
	fw_page_unref(page);
}

/* The client is gone; returns its exchange, if there is one. The caller has a
 * reference. */
static struct fw_exchange *part(fw_page *page)
{
	struct fw_exchange *exchange = page->exchange;

	page->exchange = NULL;
	if (exchange)
		exchange->page = NULL;
	enter(page, FW_PAGE_OVER);
	atomic_store(&page->is_gone, true);
	delist(page);
	/* A stop continues on the loop, not inside a caller. */
	if (page->server->state == FW_DRAINING)
		fw_server__wake(page->server);
	return exchange;
}

/* The handler still has the page, but the client is gone. */
static void report_gone(fw_page *page)
{
	if (page->is_kept && !page->is_finished && page->gone)
		page->gone(page, page->ctx);
}

/* ---- answers ----------------------------------------------------------------------- */

static void answer(fw_page *page)
{
	bool is_stream = page->state == FW_PAGE_STREAMING;
	struct fw_exchange *exchange = part(page);
	const struct fw_page_answer *made = &page->answer;
	const struct fw_reply reply = {
		.status = made->status,
		.type = made->type,
		.json = made->out.len ? made->out.text : "",
		.len = made->out.len,
		.headers = made->headers.len ? made->headers.text : NULL,
		.has_cache_control = made->has_cache_control,
	};

	if (is_stream)
		exchange->ops->close(exchange);
	else
		exchange->ops->reply(exchange, &reply);
}

/* Consumes `err`. The exchange is answered by the boundary. */
static void fail(fw_page *page, fw_error *err)
{
	fw_exchange_fail_page(part(page), page, err);
}

fw_error *fw_page_check_contract(fw_page *page)
{
	return fw_mcp_choose_page_contract(page->exchange, &page->answer.contract);
}

bool fw_page_call_tool(fw_page *page, const char *name, const char *text, size_t len)
{
	return fw_exchange_call_tool(part(page), page, name, text, len);
}

static fw_error *find_fault(const fw_page *page)
{
	const struct fw_page_answer *made = &page->answer;

	if (made->out.state == FW_BUF_TOO_LARGE)
		return fw_raise_tool_result_too_large(page->server->limits.page_bytes);
	if (made->headers.state == FW_BUF_TOO_LARGE)
		return fw_raise_internal_unexpected("a header of a page is not valid");
	if (made->out.state != FW_BUF_OK || made->headers.state != FW_BUF_OK)
		return fw_raise_internal_out_of_memory();
	return NULL;
}

/* The handler is done with it: `err` (consumed) or what it has written. */
static void settle(fw_page *page, fw_error *err)
{
	if (!page->exchange) {
		fw_error_free(err);
		return;
	}
	if (!err)
		err = find_fault(page);
	if (err)
		fail(page, err);
	else
		answer(page);
}

static void wait_for(fw_page *page)
{
	fw_server *server = page->server;

	enlist(page);
	if (page->state != FW_PAGE_HANDLING) /* it has sent events */
		return;
	enter(page, FW_PAGE_PENDING);
	page->deadline_ms = uv_now(server->loop) + page->limit_ms;
	fw_server__watch(server, page->deadline_ms);
}

/* What a caller with a token may see. */
static fw_error *check_authority(const struct fw_exchange *exchange,
				 const struct fw_route_entry *entry)
{
	struct fw_authority *authority = exchange->server->authority;

	if (!authority || entry->access != FW_PAGE_GUARDED)
		return NULL;
	return authority->ops->open_page(authority, fw_exchange_principal(exchange),
					 entry->path);
}

void fw_exchange_open_page(struct fw_exchange *exchange, const struct fw_page_request *request)
{
	const struct fw_route_entry *entry =
		exchange->route
			? exchange->route
			: fw_route_find(exchange->server, request->method, request->path, NULL);
	fw_page_fn *handle = entry ? entry->handle : NULL;
	fw_page *page;
	fw_error *err;

	if (!handle) {
		fw_exchange_refuse(exchange, fw_raise_protocol_path_not_found(request->path));
		return;
	}
	err = check_authority(exchange, entry);
	if (err) {
		fw_exchange_refuse(exchange, err);
		return;
	}
	page = page_new(exchange, request, entry);
	if (!page) {
		fw_exchange_refuse(exchange, fw_raise_internal_out_of_memory());
		return;
	}
	err = handle(page, page->ctx);
	if (page->is_finished) {
		/* Finished, and then perhaps an error: the first answer counts. */
		fw_error_free(err);
		err = page->answer.err;
		page->answer.err = NULL;
		settle(page, err);
	} else if (err || !page->is_kept) {
		settle(page, err);
	} else if (page->exchange) {
		wait_for(page);
	}
	fw_page_unref(page);
}

const char *fw_exchange_page_headers(const struct fw_exchange *exchange)
{
	const fw_page *page = exchange->page;

	return page && page->answer.headers.len ? page->answer.headers.text : NULL;
}

/* ---- its end, from outside ------------------------------------------------------------ */

void fw_page_lose(fw_page *page)
{
	(void)fw_page_ref(page);
	(void)part(page);
	report_gone(page);
	fw_page_unref(page);
}

uint64_t fw_pages_expire(fw_server *server, uint64_t now_ms)
{
	uint64_t nearest = 0;

	for (fw_page *page = server->pages.open, *next; page; page = next) {
		next = page->next;
		if (page->state != FW_PAGE_PENDING)
			continue;
		if (page->deadline_ms > now_ms) {
			if (!nearest || page->deadline_ms < nearest)
				nearest = page->deadline_ms;
			continue;
		}
		(void)fw_page_ref(page);
		fail(page, fw_raise_runtime_timeout(page->limit_ms));
		report_gone(page);
		fw_page_unref(page);
		/* Others may have ended too. */
		next = server->pages.open;
		nearest = 0;
	}
	return nearest;
}

static void end_those(fw_server *server, bool with_streams)
{
	for (fw_page *page = server->pages.open; page;) {
		if (page->state == FW_PAGE_STREAMING && !with_streams) {
			page = page->next;
			continue;
		}
		(void)fw_page_ref(page);
		if (page->state == FW_PAGE_STREAMING)
			answer(page);
		else
			fail(page, fw_raise_server_shutting_down());
		report_gone(page);
		fw_page_unref(page);
		page = server->pages.open;
	}
}

void fw_pages_end_invalid(fw_server *server, int64_t now_ms)
{
	fw_page *page = server->pages.open;

	while (page) {
		if (page->state != FW_PAGE_STREAMING ||
		    fw_principal_is_valid(page->principal, now_ms)) {
			page = page->next;
			continue;
		}
		(void)fw_page_ref(page);
		answer(page);
		report_gone(page);
		fw_page_unref(page);
		/* Others may have ended too. */
		page = server->pages.open;
	}
}

void fw_pages_refuse(fw_server *server)
{
	end_those(server, false);
}

void fw_pages_end(fw_server *server)
{
	end_those(server, true);
}

/* ---- for handlers: when the answer is complete --------------------------------------------- */

fw_error *fw_page_keep(fw_page *page)
{
	if (page->state == FW_PAGE_PENDING || page->is_kept || page->is_finished)
		return fw_raise_internal_api_misuse("fw_page_keep", "it is kept already");
	page->end = fw__allocate(sizeof *page->end + 1);
	if (!page->end)
		return fw_raise_internal_out_of_memory();
	*page->end = (struct fw_post){ .kind = FW_POST_PAGE_END };
	page->is_kept = true;
	(void)fw_page_ref(page);
	return NULL;
}

void fw_page_end(fw_page *page, fw_error *err)
{
	if (page->is_finished) {
		fw_error_free(err);
		return;
	}
	page->is_finished = true;
	/* Answered when the handler has returned. */
	if (page->state == FW_PAGE_HANDLING)
		page->answer.err = err;
	else
		settle(page, err);
}

static bool is_on_loop(const fw_page *page)
{
	uv_thread_t self = uv_thread_self();

	return uv_thread_equal(&self, &page->server->thread) != 0;
}

void fw_page_finish(fw_page *page, fw_error *err)
{
	struct fw_post *post = page->end;

	if (!post) { /* not kept, or finished before */
		fw_error_free(err);
		return;
	}
	page->end = NULL;
	if (is_on_loop(page)) {
		fw__release(post);
		fw_page_end(page, err);
		fw_page_unref(page);
		return;
	}
	/* The reference of the handler becomes the post's. */
	post->page = page;
	post->err = err;
	fw_server__post(page->server, post);
}

bool fw_page_is_gone(const fw_page *page)
{
	return atomic_load(&page->is_gone);
}

/* ---- for handlers: streams ------------------------------------------------------------------ */

static bool is_one_line(const char *text, size_t len)
{
	return !memchr(text, '\n', len) && !memchr(text, '\r', len);
}

static bool is_valid(const fw_page *page, const fw_page_event *event)
{
	return event->len <= page->server->limits.page_bytes &&
	       is_one_line(event->data, event->len) &&
	       (!event->name || is_one_line(event->name, strlen(event->name))) &&
	       (!event->id || is_one_line(event->id, strlen(event->id)));
}

/* HEAD asks for the headers of the stream. */
static void answer_head(fw_page *page)
{
	const struct fw_reply reply = { .status = 200,
					.type = "text/event-stream",
					.json = "",
					.headers = fw_exchange_page_headers(page->exchange) };
	struct fw_exchange *exchange = part(page);

	exchange->ops->reply(exchange, &reply);
}

static bool begin_stream(fw_page *page)
{
	const struct fw_pages *pages = &page->server->pages;

	if (page->state == FW_PAGE_STREAMING)
		return true;
	if (page->is_head) {
		answer_head(page);
		return false;
	}
	if (pages->streams >= page->server->limits.page_streams) {
		fw_error *err = fw_raise_server_overloaded(page->server->limits.page_streams,
							   "event streams");

		fw_error_set_retry_after(err, 1);
		fail(page, err);
		return false;
	}
	enter(page, FW_PAGE_STREAMING);
	return true;
}

bool fw_page_send_now(fw_page *page, const fw_page_event *event)
{
	const struct fw_event sent = {
		.json = event->data, .len = event->len, .id = event->id, .name = event->name
	};

	if (!page->exchange || !begin_stream(page))
		return false;
	page->exchange->ops->send(page->exchange, &sent);
	return true;
}

/* The three texts, each with a NUL, follow the post. */
static struct fw_post *post_of(const fw_page_event *event)
{
	const char *name = event->name ? event->name : "", *id = event->id ? event->id : "";
	size_t size = event->len + strlen(name) + strlen(id) + 3;
	struct fw_post *post = fw__allocate(sizeof *post + size);
	char *at;

	if (!post)
		return NULL;
	*post = (struct fw_post){ .kind = FW_POST_PAGE_EVENT, .len = event->len };
	at = post->text;
	(void)append(&at, event->data, event->len);
	(void)append(&at, name, strlen(name));
	(void)append(&at, id, strlen(id));
	return post;
}

bool fw_page_send(fw_page *page, const fw_page_event *event)
{
	struct fw_post *post;

	if (fw_page_is_gone(page) || !page->is_kept || !page->end || !is_valid(page, event))
		return false;
	if (is_on_loop(page))
		return fw_page_send_now(page, event);
	if (atomic_fetch_add(&page->queued_bytes, event->len + 1) >
		    page->server->limits.http_queue_bytes ||
	    !(post = post_of(event))) {
		(void)atomic_fetch_sub(&page->queued_bytes, event->len + 1);
		return false;
	}
	post->page = fw_page_ref(page);
	fw_server__post(page->server, post);
	return true;
}
