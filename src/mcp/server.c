/*
 * server.c - the life of a server: created, listening, running, draining,
 * closed.
 *
 * A stop always takes the same steps: transports accept nothing new, calls in
 * progress finish or fail, streams end, transports flush and close, the loop
 * runs empty.
 */
#include <signal.h>
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
#include "mcp/listen.h"
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
#include "mcp/util.h"
#include "rpc/names.h"

enum { DEFAULT_GRACE_MS = 1500, EXPIRY_MS = 60000, KEEP_OUT_BYTES = 256 * 1024 };

uv_loop_t *fw_server__loop(fw_server *server)
{
	return server->loop;
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

static void on_wakeup(uv_async_t *handle);
static void on_deadline(uv_timer_t *timer);
static void on_expiry(uv_timer_t *timer);

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

static void close_handles(struct fw_server_handles *handles)
{
	close_handle(handles, (uv_handle_t *)&handles->wakeup);
	close_handle(handles, (uv_handle_t *)&handles->timer);
	close_handle(handles, (uv_handle_t *)&handles->expiry);
	for (size_t i = 0; i < FW_TERMS; i++)
		close_handle(handles, (uv_handle_t *)&handles->terms[i]);
}

static void open_handles(fw_server *server, struct fw_server_handles *handles)
{
	(void)uv_timer_init(server->loop, &handles->timer);
	(void)uv_timer_init(server->loop, &handles->expiry);
	handles->wakeup.data = server;
	handles->timer.data = server;
	handles->expiry.data = server;
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
	if (uv_async_init(server->loop, &handles->wakeup, on_wakeup) == 0) {
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

/* ---- deadlines ----------------------------------------------------------- */

/* Few calls have a deadline, and fewer reach it: when the timer fires, the next one is
 * searched among the calls in progress. */
void fw_server__watch(fw_server *server, uint64_t deadline_ms)
{
	uint64_t now = uv_now(server->loop);

	if (server->deadline_next && server->deadline_next <= deadline_ms)
		return;
	server->deadline_next = deadline_ms;
	(void)uv_timer_start(&server->residence.handles->timer, on_deadline,
			     deadline_ms > now ? deadline_ms - now : 0, 0);
}

/* The tool is late, unless it had not started yet. */
static fw_error *raise_timeout(const fw_call *call, uint32_t limit)
{
	fw_error *err = fw_raise_runtime_timeout(limit);

	if (call->run.is_active &&
	    (call->run.runner || call->request.offer->run == FW_RUN_ASYNC))
		fw_error_set_origin(err, FW_ORIGIN_TOOL);
	return err;
}

static void on_deadline(uv_timer_t *timer)
{
	fw_server *server = timer->data;
	uint64_t now = uv_now(server->loop);
	uint64_t nearest = 0, page_next;
	fw_call *next;

	server->deadline_next = 0;
	for (fw_call *call = server->calls.first; call; call = next) {
		next = call->next;
		if (!call->run.deadline_ms)
			continue;
		if (call->run.deadline_ms <= now) {
			atomic_store(&call->run.cancelled, true);
			call->run.is_late = true;
			call->run.deadline_ms = 0;
			(void)fw_call__ref(call);
			fw_mcp_fail(call, raise_timeout(call, fw_call_limit_ms(call)));
			fw_call__unref(call);
			/* Other calls may have ended too. */
			next = server->calls.first;
			continue;
		}
		if (!nearest || call->run.deadline_ms < nearest)
			nearest = call->run.deadline_ms;
	}
	page_next = fw_pages_expire(server, now);
	if (page_next && (!nearest || page_next < nearest))
		nearest = page_next;
	if (server->state == FW_DRAINING) {
		if (now >= server->stop_ms)
			fw_server__settle(server);
		else if (!nearest || server->stop_ms < nearest)
			nearest = server->stop_ms;
	}
	if (nearest)
		fw_server__watch(server, nearest);
}

static void on_expiry(uv_timer_t *timer)
{
	fw_session_expire(timer->data);
}

/* ---- running and stopping ------------------------------------------------- */

static void close_transports(fw_server *server)
{
	struct fw_transport *next;

	server->state = FW_CLOSING;
	while (server->sessions.first)
		fw_session_free(server->sessions.first);
	for (struct fw_transport *t = server->transports; t; t = next) {
		next = t->next;
		if (!t->is_closed)
			t->ops->close(t);
	}
}

/* Fails every call and page that has no outcome yet. */
static void refuse_calls(fw_server *server)
{
	fw_pages_refuse(server);
	for (fw_call *call = server->calls.first; call;) {
		if (call->is_listener || call->hold.state == FW_HOLD_HELD) {
			call = call->next;
			continue;
		}
		(void)fw_call__ref(call);
		fw_mcp_fail(call, fw_raise_server_shutting_down());
		fw_call__unref(call);
		/* Other calls may have ended too; those that are left are held. */
		call = server->calls.first;
	}
}

/* Listeners and streams never finish by themselves, so they do not count. */
static bool is_busy(const fw_server *server)
{
	return server->calls.count > server->calls.listeners || server->pages.pending;
}

void fw_server__settle(fw_server *server)
{
	bool is_late = server->state == FW_DRAINING && uv_now(server->loop) >= server->stop_ms;

	if (server->state != FW_DRAINING)
		return;
	if (is_busy(server) && !is_late)
		return;
	if (is_late && !server->is_past_grace) {
		/* The calls fail now; observers get time to handle that. */
		server->is_past_grace = true;
		server->stop_ms = uv_now(server->loop) + server->limits.flush_ms;
		fw_server__watch(server, server->stop_ms);
		refuse_calls(server);
		if (server->state != FW_DRAINING || is_busy(server))
			return;
	}
	server->state = FW_CLOSING;
	fw_pages_end(server);
	while (server->calls.first) {
		fw_call *call = server->calls.first;

		(void)fw_call__ref(call);
		/* First, because the end of a listener may be held as well. An outcome
		 * that is not on disk must not be reported as it is. */
		if (call->hold.state == FW_HOLD_HELD)
			fw_hold_abandon(&call->hold);
		else if (call->is_listener)
			fw_listen_end(call);
		else
			fw_mcp_fail(call, fw_raise_server_shutting_down());
		fw_call__unref(call);
	}
	close_transports(server);
}

static void drain(fw_server *server)
{
	if (server->state != FW_RUNNING)
		return;
	server->state = FW_DRAINING;
	uv_update_time(server->loop);
	server->stop_ms = uv_now(server->loop) + server->options.grace_ms;
	for (struct fw_transport *t = server->transports; t; t = t->next)
		if (!t->is_closed)
			t->ops->quiesce(t);
	fw_server__watch(server, server->stop_ms);
	/* A transport whose input has ended is our caller, so it is closed later. */
	fw_server__wake(server);
}

void fw_transport_hangup(struct fw_transport *transport)
{
	fw_server *server = transport->server;

	for (struct fw_transport *t = server->transports; t; t = t->next)
		if (t != transport && !t->is_closed)
			return;
	drain(server);
}

static void all_closed(fw_server *server)
{
	server->state = FW_CLOSED;
	if (server->residence.closed)
		/* The caller is a callback of the transport, which `closed` may free. */
		fw_server__wake(server);
	else
		uv_stop(server->loop);
}

void fw_transport_failed(struct fw_transport *transport, fw_error *err)
{
	fw_server *server = transport->server;

	if (server->residence.err)
		fw_error_free(err);
	else
		server->residence.err = err;
}

void fw_transport_closed(struct fw_transport *transport)
{
	fw_server *server = transport->server;

	transport->is_closed = true;
	for (struct fw_transport *t = server->transports; t; t = t->next)
		if (!t->is_closed)
			return;
	all_closed(server);
}

static void finish(fw_server *server);

static void on_wakeup(uv_async_t *handle)
{
	fw_server *server = handle->data;

	if (server->state == FW_CLOSED && server->residence.closed) {
		finish(server);
		return;
	}
	fw_server__take_posts(server);
	if (atomic_load(&server->stop_wanted))
		drain(server);
	fw_server__settle(server);
}

void fw_server_stop(fw_server *server)
{
	atomic_store(&server->stop_wanted, 1);
	fw_server__wake(server);
}

static void on_signal(uv_signal_t *handle, int signum)
{
	fw_server *server = handle->data;

	(void)signum;
	atomic_store(&server->stop_wanted, 1);
	if (server->state != FW_IDLE)
		drain(server);
}

/* nohup, and a parent that runs without a terminal, ignore it for their children. */
static bool is_ignored(int signum)
{
	struct sigaction action;

	return sigaction(signum, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

/* From here on, SIGTERM ends the server in an orderly way, even if it comes before
 * fw_server_run(): whoever reads the URL may send it at once. */
static void watch_signals(fw_server *server)
{
	/* SIGHUP: the terminal was closed. */
	static const int signums[FW_TERMS] = { SIGTERM, SIGINT, SIGHUP };

	/* write() reports a closed connection; the signal would end the process. */
	(void)signal(SIGPIPE, SIG_IGN);
	/* Likewise for an output file that has reached its size limit. */
	(void)signal(SIGXFSZ, SIG_IGN);
	for (size_t i = 0; i < FW_TERMS && !server->options.keep_signals; i++)
		if (signums[i] != SIGHUP || !is_ignored(SIGHUP))
			(void)uv_signal_start(&server->residence.handles->terms[i], on_signal,
					      signums[i]);
}

void fw_transport_attach(struct fw_transport *transport, fw_server *server)
{
	struct fw_transport **at = &server->transports;

	while (*at)
		at = &(*at)->next;
	transport->server = server;
	transport->next = NULL;
	*at = transport;
	watch_signals(server);
}

/* First of all, because workers are forked from the current state. */
static fw_error *start_runners(fw_server *server)
{
	for (struct fw_runner *r = server->runners.first; r; r = r->next)
		if (r->ops->start)
			FW_TRY(r->ops->start(r));
	return NULL;
}

/* The loop may have an io_uring, which libuv uses from 1.45 on and which the sandbox
 * refuses: libuv would abort. A new back end, made after limit_files(), has none. */
static fw_error *limit_files(fw_server *server)
{
	FW_TRY(server->confine->limit_files(server->confine));
	if (uv_loop_fork(server->loop) != 0)
		return fw_raise_internal_unexpected("uv_loop_fork");
	return NULL;
}

fw_error *fw_server_prepare(fw_server *server)
{
	if (!server || server->state != FW_IDLE)
		return fw_raise_internal_api_misuse("fw_server_prepare", "it runs already");
	(void)signal(SIGPIPE, SIG_IGN);
	server->is_prepared = true;
	for (struct fw_runner *r = server->runners.first; r; r = r->next)
		if (r->ops->prepare)
			FW_TRY(r->ops->prepare(r));
	/* After the workers, which have another sandbox than the server. */
	return server->confine ? limit_files(server) : NULL;
}

static void close_runners(fw_server *server)
{
	for (struct fw_runner *r = server->runners.first; r; r = r->next)
		r->ops->close(r);
}

static fw_error *start_transports(fw_server *server)
{
	if (!server->transports)
		return fw_raise_internal_api_misuse("fw_server_run", "nothing to listen on");
	for (struct fw_transport *t = server->transports; t; t = t->next)
		FW_TRY(t->ops->start(t));
	return NULL;
}

/* Starts everything. If that fails, what was started is closed again. */
static fw_error *begin(fw_server *server)
{
	uint64_t expiry_ms = EXPIRY_MS;
	fw_error *err;

	server->thread = uv_thread_self();
	if (server->limits.session_idle_ms < expiry_ms)
		expiry_ms = server->limits.session_idle_ms;
	(void)uv_timer_start(&server->residence.handles->expiry, on_expiry, expiry_ms,
			     expiry_ms);
	server->state = FW_RUNNING;
	err = start_runners(server);
	if (!err)
		err = start_transports(server);
	if (!err && server->relay && server->relay->ops->start)
		server->relay->ops->start(server->relay);
	if (!err && server->confine)
		err = server->confine->limit_calls(server->confine);
	if (err)
		close_transports(server);
	else if (atomic_load(&server->stop_wanted))
		drain(server);
	if (!server->transports)
		all_closed(server);
	return err;
}

/* All transports are closed: ends the rest. */
static void end(fw_server *server)
{
	struct fw_server_handles *handles = server->residence.handles;

	close_runners(server);
	if (server->relay)
		server->relay->ops->stop(server->relay);
	for (size_t i = 0; i < FW_TERMS; i++)
		(void)uv_signal_stop(&handles->terms[i]);
	(void)uv_timer_stop(&handles->expiry);
	(void)uv_timer_stop(&handles->timer);
}

/* Of a server that fw_server__start() began. */
static void finish(fw_server *server)
{
	fw_server_closed_fn *closed = server->residence.closed;
	fw_error *err = server->residence.err;

	end(server);
	server->residence.closed = NULL;
	server->residence.err = NULL;
	closed(server->residence.ctx, err);
}

fw_error *fw_server__start(fw_server *server, fw_server_closed_fn *closed, void *ctx)
{
	if (server->state != FW_IDLE)
		return fw_raise_internal_api_misuse("fw_server__start", "it runs once");
	if (server->confine && !server->is_prepared)
		FW_TRY(fw_server_prepare(server));
	server->residence.closed = closed;
	server->residence.ctx = ctx;
	server->residence.err = begin(server);
	return NULL;
}

fw_error *fw_server_run(fw_server *server)
{
	fw_error *err;

	if (!server || server->state != FW_IDLE)
		return fw_raise_internal_api_misuse("fw_server_run", "it runs once");
	if (server->confine && !server->is_prepared)
		FW_TRY(fw_server_prepare(server));
	err = begin(server);
	while (server->state != FW_CLOSED)
		(void)uv_run(server->loop, UV_RUN_DEFAULT);
	end(server);
	(void)uv_run(server->loop, UV_RUN_NOWAIT);
	if (!err)
		err = server->residence.err;
	else
		fw_error_free(server->residence.err);
	server->residence.err = NULL;
	return err;
}
