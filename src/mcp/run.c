/*
 * run.c - a handler runs: on the loop, on a thread, or until it says so.
 *
 * A run holds a reference to its call, so that a deadline or a client that
 * goes away can answer the call while its handler is still at work; what the
 * handler then says is dropped.
 */
#include <string.h>

#include "base/mem.h"
#include "mcp/impl.h"
#include "mcp/pool.h"

struct fw_later {
	struct fw_later *next;
	uv_timer_t timer;
	fw_call *call;
	fw_call_timer_fn *resume;
	void *ctx;
};

static fw_handler *handler_of(const fw_call *call)
{
	return call->kind == FW_CALL_COMPLETE ? call->offer->complete : call->offer->handler;
}

/* On a thread. What the handler said on the way was posted before its end is. */
static void on_thread(fw_call *call)
{
	fw_error *err = NULL;

	if (!atomic_load(&call->cancelled))
		err = handler_of(call)(call, call->offer->ctx);
	fw_call_finish(call, err);
}

static fw_error *start_on_thread(fw_call *call)
{
	fw_server *server = call->server;

	if (!server->pool)
		server->pool = fw_pool_new((unsigned)server->limits.threads);
	if (!server->pool || !fw_pool_submit(server->pool, on_thread, call))
		return fw_raise_server_overloaded(server->limits.threads, "threads");
	return NULL;
}

static void set_deadline(fw_call *call)
{
	uint32_t limit = call->offer->deadline_ms ? call->offer->deadline_ms
						  : call->server->options.deadline_ms;

	if (!limit || call->deadline_ms)
		return;
	call->deadline_ms = uv_now(&call->server->loop) + limit;
	fw_server__watch(call->server, call->deadline_ms);
}

void fw_call_start(fw_call *call)
{
	fw_error *err;

	call->stage = FW_STAGE_RUN;
	call->is_running = true;
	(void)fw_call__ref(call);
	if (call->offer->run != FW_RUN_INLINE)
		set_deadline(call);
	switch (call->offer->run) {
	case FW_RUN_THREAD:
		err = start_on_thread(call);
		if (err)
			fw_call_complete(call, err);
		return;
	case FW_RUN_ASYNC:
		(void)fw_call__ref(call);
		err = handler_of(call)(call, call->offer->ctx);
		if (err)
			fw_call_complete(call, err);
		fw_call__unref(call);
		return;
	case FW_RUN_INLINE:
	case FW_RUN_PROCESS: break;
	}
	fw_call_complete(call, handler_of(call)(call, call->offer->ctx));
}

static fw_error *conclude(fw_call *call)
{
	struct fw_buf *out;

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
	bool was_running = call->is_running;

	call->is_running = false;
	fw_call_catch_up(call);
	if (call->is_answered) {
		fw_error_free(err);
	} else {
		if (!err)
			err = conclude(call);
		if (err)
			fw_mcp_fail(call, err);
	}
	if (was_running)
		fw_call__unref(call);
}

void fw_call_finish(fw_call *call, fw_error *err)
{
	struct fw_post *post;

	if (fw_call_is_on_loop(call)) {
		fw_call_complete(call, err);
		return;
	}
	fw_call_catch_up(call);
	post = fw__allocate(sizeof *post + 1);
	if (!post) {
		/* The deadline, if any, answers in its place. */
		fw_error_free(err);
		return;
	}
	*post = (struct fw_post){ .kind = FW_POST_FINISH, .err = err };
	post->call = fw_call__ref(call);
	fw_server__post(call->server, post);
}

/* ---- later ------------------------------------------------------------------------- */

static void on_closed(uv_handle_t *handle)
{
	fw__release(handle->data);
}

static void wake(struct fw_later *later)
{
	struct fw_later **at = &later->call->server->laters;
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

/* The server ends: whoever waits is told now, so that it can let go of what
 * it holds; its call has been answered. */
void fw_later_end(fw_server *server)
{
	while (server->laters)
		wake(server->laters);
}

void fw_call_after(fw_call *call, uint32_t delay_ms, fw_call_timer_fn *resume, void *ctx)
{
	struct fw_later *later = fw__allocate(sizeof *later);

	if (!later) {
		fw_call_finish(call, fw_raise_internal_out_of_memory());
		return;
	}
	*later = (struct fw_later){ .call = fw_call__ref(call), .resume = resume, .ctx = ctx };
	later->next = call->server->laters;
	call->server->laters = later;
	(void)uv_timer_init(&call->server->loop, &later->timer);
	later->timer.data = later;
	(void)uv_timer_start(&later->timer, on_later, delay_ms, 0);
}
