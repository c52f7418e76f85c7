/*
 * server.c - a server is made, set up and freed. server_run.c runs it.
 */
#include <string.h>

#include <uv.h>

#include <faultwire/raise.h>

#include "base/buf.h"
#include "base/id.h"
#include "base/limits.h"
#include "base/mem.h"
#include "core/options.h"
#include "mcp/boundary.h"
#include "mcp/call.h"
#include "mcp/confine.h"
#include "mcp/hold.h"
#include "mcp/offer.h"
#include "mcp/page.h"
#include "mcp/post.h"
#include "mcp/relay.h"
#include "mcp/run.h"
#include "mcp/runner.h"
#include "mcp/server.h"
#include "mcp/session.h"
#include "mcp/shared.h"
#include "mcp/transport.h"
#include "rpc/names.h"

enum { DEFAULT_GRACE_MS = 1500 };

uv_loop_t *fw_server__loop(fw_server *server)
{
	return server->loop;
}

struct fw_linger *fw_server__linger(fw_server *server)
{
	return &server->residence.loop->linger;
}

void fw_server__set_more(fw_server *server, bool has_more)
{
	server->residence.loop->has_more = has_more;
}

bool fw_server__is_ready(const fw_server *server)
{
	char text[256];

	for (const struct fw_runner *r = server->runners.first; r; r = r->next)
		if (r->ops->is_ready && !r->ops->is_ready(r, text, sizeof text))
			return false;
	return server->state == FW_RUNNING && server->calls.admitted < server->limits.in_flight;
}

/* ---- made ---------------------------------------------------------------- */

static bool copy_into(char **ret_copy, const char *text)
{
	*ret_copy = text ? fw_strdup(text) : NULL;
	return !text || *ret_copy;
}

static bool copy_options(fw_server *server, const fw_server_options *options)
{
	struct fw_buf buf;

	server->options = *options;
	if (!server->options.grace_ms)
		server->options.grace_ms = DEFAULT_GRACE_MS;
	if (!server->options.page_size)
		server->options.page_size = 100;
	if (!copy_into(&server->identity.name, options->name) ||
	    !copy_into(&server->identity.version, options->version) ||
	    !copy_into(&server->identity.title, options->title) ||
	    !copy_into(&server->identity.instructions, options->instructions) ||
	    !copy_into(&server->identity.role, options->role) ||
	    !copy_into(&server->identity.workspace_root, options->workspace_root) ||
	    !copy_into(&server->identity.problem_base, options->problem_base))
		return false;

	fw_buf_init(&buf, FW_LIMIT_TEXT_BYTES);
	FW_BUF(&buf, "{\"name\":");
	fw_buf_json_str(&buf, server->identity.name);
	if (server->identity.title) {
		FW_BUF(&buf, ",\"title\":");
		fw_buf_json_str(&buf, server->identity.title);
	}
	FW_BUF(&buf, ",\"version\":");
	fw_buf_json_str(&buf, server->identity.version);
	FW_BUF(&buf, "}");
	if (buf.state != FW_BUF_OK)
		return false;
	server->identity.implementation = buf.text;

	fw_buf_init(&buf, FW_LIMIT_TEXT_BYTES);
	FW_BUF(&buf, "\"_meta\":{\"" FW_META_SERVER_INFO "\":");
	fw_buf_str(&buf, server->identity.implementation);
	FW_BUF(&buf, "}");
	if (buf.state != FW_BUF_OK)
		return false;
	server->identity.modern_meta = buf.text;

	fw_buf_init(&buf, FW_LIMIT_TEXT_BYTES);
	FW_BUF(&buf, "\"resultType\":\"complete\",");
	fw_buf_str(&buf, server->identity.modern_meta);
	server->identity.modern_tail = buf.text;
	server->identity.modern_tail_len = buf.len;
	return buf.state == FW_BUF_OK;
}

/* ---- its loop ------------------------------------------------------------- */

static void on_handle_closed(uv_handle_t *handle)
{
	struct fw_server_handles *handles = handle->data;

	if (!--handles->open)
		fw__release(handles);
}

/* A closed handle knows only its block: the server may be gone by then. */
static void close_handle(struct fw_server_handles *handles, uv_handle_t *handle)
{
	handle->data = handles;
	uv_close(handle, on_handle_closed);
}

static void close_timer(struct fw_server_handles *handles, struct fw_timer *timer)
{
	fw_timer_close(timer, on_handle_closed);
	timer->handle.any.data = handles;
}

static void close_handles(struct fw_server_handles *handles)
{
	close_handle(handles, (uv_handle_t *)&handles->wakeup);
	close_timer(handles, &handles->timer);
	close_timer(handles, &handles->expiry);
	for (size_t i = 0; i < FW_TERMS; i++)
		close_handle(handles, (uv_handle_t *)&handles->terms[i]);
}

static void open_handles(fw_server *server, struct fw_server_handles *handles)
{
	fw_timer_init(server->loop, &handles->timer, fw_server__on_deadline, server);
	fw_timer_init(server->loop, &handles->expiry, fw_server__on_expiry, server);
	handles->wakeup.data = server;
	for (size_t i = 0; i < FW_TERMS; i++) {
		(void)uv_signal_init(server->loop, &handles->terms[i]);
		handles->terms[i].data = server;
		uv_unref((uv_handle_t *)&handles->terms[i]);
	}
	handles->open = 3 + FW_TERMS;
	server->residence.handles = handles;
}

/* Consumes `handles`. */
static fw_error *settle_on(fw_server *server, struct fw_server_handles *handles)
{
	server->loop = &server->residence.loop->uv;
	if (uv_async_init(server->loop, &handles->wakeup, fw_server__on_wakeup) == 0) {
		open_handles(server, handles);
		return NULL;
	}
	fw__release(handles);
	if (server->residence.loop == &server->residence.own)
		fw_loop_close(&server->residence.own);
	return fw_raise_internal_unexpected("uv_async_init");
}

static fw_error *settle_in(fw_server *server, struct fw_loop *loop)
{
	struct fw_residence *residence = &server->residence;
	struct fw_server_handles *handles = fw__allocate(sizeof *handles);

	if (!handles)
		return fw_raise_internal_out_of_memory();
	memset(handles, 0, sizeof *handles);
	residence->loop = loop ? loop : &residence->own;
	if (loop || fw_loop_init(&residence->own) == 0)
		return settle_on(server, handles);
	fw__release(handles);
	return fw_raise_internal_unexpected("uv_loop_init");
}

/* Last of all: from here on the server has no handle. */
static void leave_loop(fw_server *server)
{
	close_handles(server->residence.handles);
	if (server->companion.free)
		server->companion.free(server->companion.ctx);
	if (server->residence.loop == &server->residence.own)
		fw_loop_close(&server->residence.own);
}

void fw_server__wake(fw_server *server)
{
	(void)uv_async_send(&server->residence.handles->wakeup);
}

/* ---- made and freed --------------------------------------------------------- */

fw_error *fw_server__create(const fw_server_options *options, struct fw_loop *loop,
			    fw_server **ret_server)
{
	fw_server_options known = FW_SERVER_OPTIONS_INIT;
	fw_server *server;
	fw_error *err;

	FW_TRY(fw_options_read("fw_server_new", options, &known, sizeof(known)));
	if (!known.name || !known.version)
		return fw_raise_internal_api_misuse("fw_server_new",
						    "a server has a name and a version");
	server = fw__allocate(sizeof *server);
	if (!server)
		return fw_raise_internal_out_of_memory();
	memset(server, 0, sizeof *server);
	server->limits = (struct fw_limits)FW_LIMITS_INIT;
	fw_buf_init(&server->out, server->limits.result_bytes + FW_LIMIT_ENVELOPE_BYTES);
	fw_buf_init(&server->scratch, 2 * FW_LIMIT_ENVELOPE_BYTES);
	err = settle_in(server, loop);
	if (err) {
		fw__release(server);
		return err;
	}
	(void)uv_mutex_init(&server->inbox.lock);
	server->thread = uv_thread_self();
	fw_random(server->key, sizeof server->key);
	if (!copy_options(server, &known)) {
		fw_server_free(server);
		return fw_raise_internal_out_of_memory();
	}
	*ret_server = server;
	return NULL;
}

static void free_calls(fw_server *server)
{
	while (server->calls.unused) {
		fw_call *call = server->calls.unused;

		server->calls.unused = call->next;
		fw_call_destroy(call);
	}
}

static void free_runners(fw_server *server)
{
	while (server->runners.first) {
		struct fw_runner *runner = server->runners.first;

		server->runners.first = runner->next;
		fw_queue_free(runner->queue);
		runner->ops->free(runner);
	}
	server->runners.threads = NULL;
}

void fw_server_free(fw_server *server)
{
	if (!server)
		return;
	if (server->companion.close && !server->companion.close(server->companion.ctx)) {
		server->companion.free(server->companion.ctx);
		return;
	}
	fw_server__take_posts(server);
	uv_mutex_lock(&server->inbox.lock);
	server->inbox.is_closed = true;
	uv_mutex_unlock(&server->inbox.lock);
	fw_call_later_end(server);
	while (server->sessions.first)
		fw_session_free(server->sessions.first);
	free_runners(server);
	while (server->transports) {
		struct fw_transport *next = server->transports->next;

		server->transports->ops->free(server->transports);
		server->transports = next;
	}
	leave_loop(server);
	while (server->inbox.posts) {
		struct fw_post *next = server->inbox.posts->next;

		fw_server__drop_post(server->inbox.posts);
		server->inbox.posts = next;
	}
	/* A handler that is still running uses its call and the server: they are never
	 * freed. */
	if (server->runners.has_busy_threads)
		return;
	uv_mutex_destroy(&server->inbox.lock);
	free_calls(server);
	fw_offers_clear(&server->offers.tools);
	fw_offers_clear(&server->offers.resources);
	fw_offers_clear(&server->offers.templates);
	fw_offers_clear(&server->offers.prompts);
	fw_shared_free_all(server);
	if (server->confine)
		server->confine->free(server->confine);
	fw__release(server->observers.items);
	fw__release(server->calls.lanes);
	fw_pages_clear(server);
	fw__release(server->identity.name);
	fw__release(server->identity.version);
	fw__release(server->identity.title);
	fw__release(server->identity.instructions);
	fw__release(server->identity.role);
	fw__release(server->identity.workspace_root);
	fw__release(server->identity.problem_base);
	fw__release(server->identity.session_id);
	fw__release(server->identity.implementation);
	fw__release(server->identity.modern_meta);
	fw__release(server->identity.modern_tail);
	fw_buf_clear(&server->out);
	fw_buf_clear(&server->scratch);
	fw__release(server);
}

fw_error *fw_server_add_observer(fw_server *server, const fw_observer *observer)
{
	fw_observer known = FW_OBSERVER_INIT;
	fw_observer *more;

	if (!server || !observer)
		return fw_raise_internal_api_misuse("fw_server_add_observer", "NULL argument");
	FW_TRY(fw_options_read("fw_server_add_observer", observer, &known, sizeof(known)));
	more = fw__reallocate(server->observers.items,
			      (server->observers.count + 1) * sizeof *more);
	if (!more)
		return fw_raise_internal_out_of_memory();
	more[server->observers.count++] = known;
	server->observers.items = more;
	return NULL;
}

static void replace(char **text, const char *by)
{
	fw__release(*text);
	*text = by ? fw_strdup(by) : NULL;
}

void fw_server_set_scope(fw_server *server, const fw_scope *scope)
{
	if (!server || !scope)
		return;
	replace(&server->identity.role, scope->role);
	replace(&server->identity.session_id, scope->session_id);
	replace(&server->identity.workspace_root, scope->workspace_root);
	server->identity.has_own_sessions = true;
}

const char *fw_server_url(const fw_server *server)
{
	for (struct fw_transport *t = server->transports; t; t = t->next)
		if (t->ops->url && t->ops->url(t))
			return t->ops->url(t);
	return NULL;
}

bool fw_server__cannot_confine(const fw_server *server)
{
	return server->confine || server->is_prepared || server->state != FW_IDLE;
}

void fw_server__set_confine(fw_server *server, struct fw_confine *confine)
{
	server->confine = confine;
}
