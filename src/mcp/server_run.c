/*
 * server_run.c - a server runs: starting, deadlines, draining, closing.
 *
 * A stop always takes the same steps: transports accept nothing new, calls in progress
 * finish or fail, streams end, transports flush and close, the loop runs empty.
 */
#include <signal.h>

#include <uv.h>

#include <faultwire/raise.h>

#include "mcp/boundary.h"
#include "mcp/call.h"
#include "mcp/confine.h"
#include "mcp/hold.h"
#include "mcp/listen.h"
#include "mcp/page.h"
#include "mcp/post.h"
#include "mcp/relay.h"
#include "mcp/run.h"
#include "mcp/runner.h"
#include "mcp/server.h"
#include "mcp/session.h"
#include "mcp/transport.h"

enum { EXPIRY_MS = 60000 };

/* ---- deadlines ----------------------------------------------------------- */

/* Few calls have a deadline, and fewer reach it: when the timer fires, the next one is
 * searched among the calls in progress. */
void fw_server__watch(fw_server *server, uint64_t deadline_ms)
{
	uint64_t now = uv_now(server->loop);

	if (server->deadline_next && server->deadline_next <= deadline_ms)
		return;
	server->deadline_next = deadline_ms;
	fw_timer_set(&server->residence.handles->timer,
		     deadline_ms > now ? deadline_ms - now : 0);
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

void fw_server__on_deadline(void *ctx)
{
	fw_server *server = ctx;
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

static void expire_later(fw_server *server)
{
	const uint64_t idle_ms = server->limits.session_idle_ms;

	fw_timer_set(&server->residence.handles->expiry,
		     idle_ms < EXPIRY_MS ? idle_ms : EXPIRY_MS);
}

void fw_server__on_expiry(void *ctx)
{
	fw_session_expire(ctx);
	expire_later(ctx);
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

void fw_server__on_wakeup(uv_async_t *handle)
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
 * fw_server_run(): a program that reads the URL may send it at once. */
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
	fw_error *err;

	server->thread = uv_thread_self();
	expire_later(server);
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
	fw_timer_stop(&handles->expiry);
	fw_timer_stop(&handles->timer);
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
