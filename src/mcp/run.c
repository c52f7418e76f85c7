/*
 * run.c - runs handlers: on the loop, on a thread, in a worker, or
 * asynchronously.
 *
 * A run holds a reference to its call. So a call can be answered because of a
 * deadline or a closed connection while its handler is still running; later
 * output of the handler is dropped.
 */
#include <string.h>

#include <uv.h>

#include <faultwire/raise.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "mcp/ask.h"
#include "mcp/boundary.h"
#include "mcp/call.h"
#include "mcp/offer.h"
#include "mcp/pool.h"
#include "mcp/post.h"
#include "mcp/relay.h"
#include "mcp/request.h"
#include "mcp/result.h"
#include "mcp/run.h"
#include "mcp/runner.h"
#include "mcp/server.h"
#include "mcp/shared.h"
#include "policy/breaker.h"

struct fw_later {
	struct fw_later *next;
	uv_timer_t timer;
	fw_call *call;
	fw_call_timer_fn *resume;
	void *ctx;
};

static fw_handler *handler_of(const fw_call *call)
{
	return call->request.kind == FW_CALL_COMPLETE ? call->request.offer->complete
						      : call->request.offer->handler;
}

/* ---- threads ------------------------------------------------------------------------ */

/* The thread pool as a runner. */
struct threads {
	struct fw_runner base;
	struct fw_pool *pool;
	unsigned busy;
};

/* On a thread. Messages of the handler are posted before its end. */
static void on_thread(fw_call *call)
{
	fw_error *err = NULL;

	if (!atomic_load(&call->run.cancelled))
		err = handler_of(call)(call, call->request.offer->ctx);
	fw_call_finish(call, err);
}

/* Allocates the message that reports the end of a run; false: out of memory. */
static bool make_end(fw_call *call)
{
	if (!call->run.end)
		call->run.end = fw__allocate(sizeof *call->run.end + 1);
	return call->run.end != NULL;
}

static struct fw_post *take_end(fw_call *call, fw_error *err)
{
	struct fw_post *post = call->run.end;

	call->run.end = NULL;
	*post = (struct fw_post){ .kind = FW_POST_FINISH, .err = err };
	post->call = fw_call__ref(call);
	return post;
}

/* No thread is available. Reported later from the loop, because its queue is busy now. */
static void refuse(fw_call *call)
{
	fw_error *err = fw_raise_server_overloaded(call->server->limits.threads, "threads");

	fw_server__post(call->server, take_end(call, err));
}

static bool take_thread(struct fw_runner *runner, fw_call *call, bool beyond)
{
	struct threads *threads = (struct threads *)runner;
	const struct fw_limits *limits = &call->server->limits;

	if (threads->busy >= limits->threads + (beyond ? limits->threads_extra : 0))
		return false;
	if (!threads->pool)
		threads->pool =
			fw_pool_new((unsigned)(limits->threads + limits->threads_extra));
	call->run.runner = runner;
	threads->busy++;
	if (!threads->pool || !fw_pool_submit(threads->pool, on_thread, call))
		refuse(call);
	return true;
}

static void thread_ended(struct fw_runner *runner, fw_call *call)
{
	(void)call;
	((struct threads *)runner)->busy--;
}

static void close_threads(struct fw_runner *runner)
{
	(void)runner;
}

static void free_threads(struct fw_runner *runner)
{
	struct threads *threads = (struct threads *)runner;

	if (!fw_pool_free(threads->pool))
		runner->server->runners.has_busy_threads = true;
	fw__release(threads);
}

static struct fw_runner *threads_of(fw_server *server)
{
	static const struct fw_runner_ops ops = { .take = take_thread,
						  .ended = thread_ended,
						  .close = close_threads,
						  .free = free_threads };
	struct threads *threads;
	fw_error *err;

	if (server->runners.threads)
		return server->runners.threads;
	threads = fw__allocate(sizeof *threads);
	if (!threads)
		return NULL;
	memset(threads, 0, sizeof *threads);
	threads->base.ops = &ops;
	err = fw_runner_attach(&threads->base, server);
	if (err) {
		fw_error_free(err);
		fw__release(threads);
		return NULL;
	}
	server->runners.threads = &threads->base;
	return server->runners.threads;
}

/* ---- a run -------------------------------------------------------------------------- */

bool fw_call_has_not_run(const fw_error *err)
{
	int code = fw_error_code(err);

	return fw_error_delivery(err) == FW_NOT_SENT || code == FW_SERVER_OVERLOADED ||
	       code == FW_TOOL_SUSPENDED;
}

uint32_t fw_call_limit_ms(const fw_call *call)
{
	const fw_server_options *options = &call->server->options;
	uint32_t limit = options->deadline_ms;

	if (call->request.offer && call->request.offer->deadline_ms)
		limit = call->request.offer->deadline_ms;
	if (options->deadline_most_ms && (!limit || limit > options->deadline_most_ms))
		limit = options->deadline_most_ms;
	if (call->run.grant.deadline_ms && (!limit || limit > call->run.grant.deadline_ms))
		limit = call->run.grant.deadline_ms;
	return limit;
}

static void set_deadline(fw_call *call)
{
	uint32_t limit = fw_call_limit_ms(call);

	if (!limit || call->run.deadline_ms)
		return;
	call->run.deadline_ms = uv_now(call->server->loop) + limit;
	fw_server__watch(call->server, call->run.deadline_ms);
}

static struct fw_runner *runner_of(const fw_call *call)
{
	switch (call->request.offer->run) {
	case FW_RUN_THREAD: return threads_of(call->server);
	case FW_RUN_PROCESS: return call->request.offer->runner;
	case FW_RUN_INLINE:
	case FW_RUN_ASYNC: break;
	}
	return NULL;
}

/* A tool that crashes repeatedly is suspended for a while. */
static fw_error *check_breaker(fw_call *call)
{
	struct fw_breaker *breaker = call->request.offer->breaker;
	uint64_t wait_ms = 0;
	fw_error *err;

	if (!breaker || fw_breaker_admit(breaker, uv_now(call->server->loop), call, &wait_ms))
		return NULL;
	err = fw_raise_tool_suspended(breaker->crashes);
	fw_error_set_retry_after(err, (double)wait_ms / 1000);
	return err;
}

static fw_error *enter_queue(fw_call *call)
{
	struct fw_runner *runner = runner_of(call);

	if (!runner)
		return fw_raise_internal_out_of_memory();
	FW_TRY(check_breaker(call));
	fw_queue_enter(runner, call);
	return NULL;
}

void fw_call_start(fw_call *call)
{
	fw_error *err;

	call->stage = FW_STAGE_RUN;
	call->run.is_active = true;
	(void)fw_call__ref(call);
	if (call->request.offer->state)
		fw_shared_begin(call);
	if (call->request.offer->run != FW_RUN_INLINE)
		set_deadline(call);
	if ((call->request.offer->run == FW_RUN_THREAD ||
	     call->request.offer->run == FW_RUN_ASYNC) &&
	    !make_end(call)) {
		fw_call_complete(call, fw_raise_internal_out_of_memory());
		return;
	}
	switch (call->request.offer->run) {
	case FW_RUN_THREAD:
	case FW_RUN_PROCESS:
		err = enter_queue(call);
		if (err)
			fw_call_complete(call, err);
		return;
	case FW_RUN_ASYNC:
		(void)fw_call__ref(call);
		err = handler_of(call)(call, call->request.offer->ctx);
		if (err)
			fw_call_complete(call, err);
		fw_call__unref(call);
		return;
	case FW_RUN_INLINE: break;
	}
	fw_call_complete(call, handler_of(call)(call, call->request.offer->ctx));
}

/* Releases what a run holds besides its slot. */
static void end_run(fw_call *call)
{
	call->run.is_active = false;
	if (call->run.state || call->run.new_state)
		fw_shared_end(call, true);
	if (call->request.offer && call->request.offer->breaker)
		fw_breaker_let_go(call->request.offer->breaker, call);
}

/* The result is not needed any more. */
void fw_call_abandon(fw_call *call)
{
	struct fw_runner *runner;

	if (!call->run.is_active || !call->request.offer)
		return;
	runner = call->run.runner;
	if (runner) {
		if (runner->ops->abandon)
			runner->ops->abandon(runner, call);
		return;
	}
	runner = runner_of(call);
	if (runner && fw_queue_leave(runner, call)) {
		end_run(call);
		fw_call__unref(call);
	}
}

static fw_error *conclude(fw_call *call)
{
	struct fw_buf *out;

	if (call->relayed.result.p) {
		out = fw_mcp_begin(call);
		fw_relay_put_result(call, out);
		fw_mcp_reply(call);
		return NULL;
	}
	if (fw_ask_is_open(call))
		return fw_ask_send(call);
	out = fw_mcp_begin(call);
	FW_TRY(fw_call_write_result(call, out));
	fw_mcp_end(call, out);
	fw_mcp_reply(call);
	return NULL;
}

void fw_call_complete(fw_call *call, fw_error *err)
{
	bool was_running = call->run.is_active;
	struct fw_runner *runner = call->run.runner;

	if (was_running)
		end_run(call);
	if (!fw_call_is_over(call))
		fw_call_catch_up(call);
	call->run.runner = NULL;
	if (runner && runner->ops->ended)
		runner->ops->ended(runner, call);
	if (fw_call_is_over(call)) {
		fw_error_free(err);
	} else {
		if (!err)
			err = conclude(call);
		if (err)
			fw_mcp_fail(call, err);
	}
	if (runner)
		fw_runner_freed(runner, call);
	if (was_running)
		fw_call__unref(call);
}

void fw_call_finish(fw_call *call, fw_error *err)
{
	if (fw_call_is_on_loop(call)) {
		fw_call_complete(call, err);
		return;
	}
	fw_call_catch_up(call);
	fw_server__post(call->server, take_end(call, err));
}

/* ---- later ------------------------------------------------------------------------- */

static void on_closed(uv_handle_t *handle)
{
	fw__release(handle->data);
}

static void wake(struct fw_later *later)
{
	struct fw_later **at = &later->call->server->runners.laters;
	fw_call *call = later->call;

	while (*at != later)
		at = &(*at)->next;
	*at = later->next;
	uv_close((uv_handle_t *)&later->timer, on_closed);
	later->resume(call, later->ctx);
	fw_call__unref(call);
}

static void on_later(uv_timer_t *timer)
{
	wake(timer->data);
}

/* The server ends: all timers fire now, so that their owners can free resources; their
 * calls have been answered. */
void fw_call_later_end(fw_server *server)
{
	while (server->runners.laters)
		wake(server->runners.laters);
}

void fw_call_after(fw_call *call, uint32_t delay_ms, fw_call_timer_fn *resume, void *ctx)
{
	struct fw_later *later = fw__allocate(sizeof *later);

	if (!later) {
		fw_call_finish(call, fw_raise_internal_out_of_memory());
		return;
	}
	*later = (struct fw_later){ .call = fw_call__ref(call), .resume = resume, .ctx = ctx };
	later->next = call->server->runners.laters;
	call->server->runners.laters = later;
	(void)uv_timer_init(call->server->loop, &later->timer);
	later->timer.data = later;
	(void)uv_timer_start(&later->timer, on_later, delay_ms, 0);
}
