/*
 * worker.c - starting, using and killing one worker; see worker.h and state.h.
 */
#include <faultwire/raise.h>

#include "worker/worker.h"

#include <sys/socket.h>
#include <unistd.h>

#include "worker/pool.h"
#include "worker/request.h"

enum { IN_BYTES = 64 * 1024 };

/* ---- states --------------------------------------------------------------------------- */

static void set_timer(struct fw_worker *worker, uint64_t delay_ms)
{
	worker->kill_ms = fw_worker_pool_now(worker->pool) + delay_ms;
	fw_worker_pool_wake_at(worker->pool, worker->kill_ms);
}

static void order_kill(struct fw_worker *worker)
{
	const struct fw_worker_order order = { .kind = FW_WORKER_ORDER_KILL,
					       .slot = worker->slot,
					       .generation = worker->generation };

	worker->kill_ms = 0;
	/* If the fork server cannot take the order now, it is sent again. */
	if (!fw_worker_forkserver_order(&worker->pool->forkserver, &order, -1, -1))
		set_timer(worker, FW_LIMIT_DEATH_MS);
}

void fw_worker_change(struct fw_worker *worker, enum fw_worker_event event)
{
	if (worker->state == FW_WORKER_NONE)
		return;
	worker->state = fw_worker_state_next(worker->state, event);
	switch (event) {
	case FW_WORKER_EVENT_READY: worker->was_ready = true; break;
	case FW_WORKER_EVENT_DONE:
		/* The end of a cancelled call: it needs not be killed. */
		if (worker->state == FW_WORKER_IDLE)
			worker->kill_ms = 0;
		break;
	case FW_WORKER_EVENT_HANG_UP:
		/* It may have closed its socket and live on. */
		if (worker->state == FW_WORKER_HUNG_UP)
			set_timer(worker, FW_LIMIT_DEATH_MS);
		break;
	case FW_WORKER_EVENT_FAILED:
		if (worker->state == FW_WORKER_FAILED)
			set_timer(worker, FW_LIMIT_DEATH_MS);
		break;
	case FW_WORKER_EVENT_RETIRE:
		if (worker->state == FW_WORKER_RETIRED)
			set_timer(worker, FW_LIMIT_CANCEL_GRACE_MS);
		break;
	case FW_WORKER_EVENT_GARBLED:
	case FW_WORKER_EVENT_KILL:
	case FW_WORKER_EVENT_TIMER: order_kill(worker); break;
	case FW_WORKER_EVENT_DEATH: worker->kill_ms = 0; break;
	default: break;
	}
}

void fw_worker_break(struct fw_worker *worker, const char *what)
{
	if (!worker->broken)
		worker->broken = what;
	fw_worker_change(worker, FW_WORKER_EVENT_GARBLED);
}

/* ---- start ---------------------------------------------------------------------------- */

static void clear(struct fw_worker *worker)
{
	const struct fw_worker old = *worker;

	*worker = (struct fw_worker){ .pool = old.pool,
				      .slot = old.slot,
				      .generation = ++old.pool->generation,
				      .in = old.in,
				      .out = old.out,
				      .output = { .unlogged = old.output.unlogged,
						  .tail = old.output.tail } };
	fw_buf_reset(&worker->in, IN_BYTES);
	fw_buf_reset(&worker->out, 0);
}

bool fw_worker_start(struct fw_worker *worker)
{
	struct fw_worker_order order = { .kind = FW_WORKER_ORDER_FORK, .slot = worker->slot };
	struct fw_worker_pool *pool = worker->pool;
	int ends[2];
	int output;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return false;
	clear(worker);
	order.generation = worker->generation;
	if (fw_worker_output_open(worker, &output) &&
	    fw_worker_forkserver_order(&pool->forkserver, &order, ends[1], output))
		worker->socket = fw_worker_socket_new(worker, ends[0]);
	(void)close(ends[1]);
	if (output >= 0)
		(void)close(output);
	if (!worker->socket) {
		fw_worker_output_close(worker);
		/* If the fork server has forked a process, that finds its socket closed. */
		(void)close(ends[0]);
		return false;
	}
	worker->state = FW_WORKER_STARTING;
	pool->live++;
	return true;
}

/* ---- requests --------------------------------------------------------------------------- */

bool fw_worker_send(struct fw_worker *worker, fw_call *call)
{
	struct fw_worker_pool *pool = worker->pool;
	struct fw_buf *out = &pool->scratch;
	size_t sent = 0;

	atomic_store(&fw_worker_page_at(&pool->pages, worker->slot)->cancelled, 0);
	fw_worker_request_write(out, call, ++pool->run);
	if (out->state == FW_BUF_OK &&
	    !fw_worker_socket_send(worker, out->text, out->len, &sent))
		return false;
	fw_worker_output_begin(worker, call->request.offer);
	worker->run = pool->run;
	worker->call = call;
	fw_worker_change(worker, FW_WORKER_EVENT_CALL);
	call->run.runner = &pool->base.runner;
	if (out->state == FW_BUF_OK && sent < out->len) {
		fw_buf_put(&worker->out, out->text + sent, out->len - sent);
		fw_worker_socket_await_room(worker);
	}
	if (out->state != FW_BUF_OK || worker->out.state != FW_BUF_OK) {
		/* The worker is not at fault, but half a request cannot be taken back. */
		fw_error_free(worker->own_error);
		worker->own_error = fw_raise_internal_out_of_memory();
		fw_worker_change(worker, FW_WORKER_EVENT_KILL);
	}
	return true;
}
