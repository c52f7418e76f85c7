/*
 * worker.c - one worker, as the server sees it: a socket, at most one call, and
 * an end that the nursery reports.
 *
 * A call ends with its worker's DONE, or with its worker. Which of the two it
 * was is known at the latest when the nursery has spoken: until then a socket
 * that ended says only that something is coming.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <faultwire/raw.h>

#include "base/mem.h"
#include "policy/breaker.h"
#include "worker/impl.h"

enum { READ_BYTES = 64 * 1024 };

/* Lives until libuv has let go of it, which may be after its worker. */
struct fw_link {
	uv_poll_t poll;
	int fd;
	struct fw_worker *worker;
};

static void on_closed(uv_handle_t *handle)
{
	fw__release(handle->data);
}

void fw_worker_unlink(struct fw_worker *worker)
{
	struct fw_link *link = worker->link;

	if (!link)
		return;
	worker->link = NULL;
	link->worker = NULL;
	(void)uv_poll_stop(&link->poll);
	uv_close((uv_handle_t *)&link->poll, on_closed);
	(void)close(link->fd);
}

static void on_socket(uv_poll_t *poll, int status, int events);

static struct fw_link *link_new(struct fw_worker *worker, int fd)
{
	struct fw_link *link = fw__allocate(sizeof *link);

	if (!link)
		return NULL;
	link->fd = fd;
	link->worker = worker;
	if (uv_poll_init(&worker->pool->base.runner.server->loop, &link->poll, fd) != 0) {
		fw__release(link);
		return NULL;
	}
	link->poll.data = link;
	(void)uv_poll_start(&link->poll, UV_READABLE, on_socket);
	return link;
}

bool fw_worker_make(struct fw_worker *worker)
{
	struct fw_worker_pool *pool = worker->pool;
	struct fw_order order = { .kind = FW_ORDER_MAKE, .slot = worker->slot };
	int ends[2];
	int mouth;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return false;
	order.generation = ++pool->generation;
	*worker = (struct fw_worker){ .pool = pool,
				      .slot = worker->slot,
				      .generation = order.generation,
				      .in = worker->in,
				      .out = worker->out,
				      .heard = worker->heard,
				      .end = worker->end };
	fw_buf_reset(&worker->in, READ_BYTES);
	fw_buf_reset(&worker->out, 0);
	if (fw_ear_new(worker, &mouth) &&
	    fw_nursery_order(&pool->nursery, &order, ends[1], mouth))
		worker->link = link_new(worker, ends[0]);
	(void)close(ends[1]);
	if (mouth >= 0)
		(void)close(mouth);
	if (!worker->link) {
		fw_ear_close(worker);
		/* If it was made all the same, it finds its socket closed. */
		(void)close(ends[0]);
		return false;
	}
	worker->state = FW_WORKER_FREE;
	pool->live++;
	return true;
}

void fw_worker_kill(struct fw_worker *worker)
{
	const struct fw_order order = { .kind = FW_ORDER_KILL,
					.slot = worker->slot,
					.generation = worker->generation };

	if (worker->state == FW_WORKER_NONE)
		return;
	worker->state = FW_WORKER_DYING;
	worker->is_ours = true;
	worker->is_stopped = worker->is_stopped || !worker->has_hung_up;
	worker->kill_ms = 0;
	/* A nursery that does not listen is asked again. */
	if (!fw_nursery_order(&worker->pool->nursery, &order, -1, -1)) {
		worker->kill_ms =
			uv_now(&worker->pool->base.runner.server->loop) + FW_LIMIT_DEATH_MS;
		fw_pool_watch(worker->pool, worker->kill_ms);
	}
}

void fw_worker_retire(struct fw_worker *worker)
{
	worker->state = FW_WORKER_DYING;
	worker->is_retired = true;
	worker->kill_ms =
		uv_now(&worker->pool->base.runner.server->loop) + FW_LIMIT_CANCEL_GRACE_MS;
	fw_pool_watch(worker->pool, worker->kill_ms);
	fw_worker_unlink(worker);
}

/* ---- sending ------------------------------------------------------------------------ */

static void hung_up(struct fw_worker *worker)
{
	if (worker->has_hung_up)
		return;
	worker->has_hung_up = true;
	if (worker->state == FW_WORKER_DYING && worker->is_ours)
		return;
	worker->state = FW_WORKER_DYING;
	/* If it is not dead but has only closed its socket, it will be. */
	worker->kill_ms = uv_now(&worker->pool->base.runner.server->loop) + FW_LIMIT_DEATH_MS;
	fw_pool_watch(worker->pool, worker->kill_ms);
}

static void watch(struct fw_worker *worker, int events)
{
	(void)uv_poll_start(&worker->link->poll, events, on_socket);
}

/* False: the socket is closed. */
static bool send_some(struct fw_worker *worker, const char *bytes, size_t len, size_t *ret_sent)
{
	*ret_sent = 0;
	while (*ret_sent < len) {
		ssize_t sent = send(worker->link->fd, bytes + *ret_sent, len - *ret_sent,
				    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM;
		*ret_sent += (size_t)sent;
	}
	return true;
}

static void send_rest(struct fw_worker *worker)
{
	size_t sent;

	if (!send_some(worker, worker->out.text + worker->out_at,
		       worker->out.len - worker->out_at, &sent)) {
		hung_up(worker);
		sent = worker->out.len - worker->out_at;
	}
	worker->out_at += sent;
	if (worker->out_at < worker->out.len)
		return;
	fw_buf_reset(&worker->out, 0);
	worker->out_at = 0;
	watch(worker, UV_READABLE);
}

bool fw_worker_send(struct fw_worker *worker, fw_call *call)
{
	struct fw_worker_pool *pool = worker->pool;
	struct fw_buf *out = &pool->scratch;
	size_t sent;

	atomic_store(&fw_seat_at(&pool->slots, worker->slot)->cancelled, 0);
	fw_request_write(out, call, ++pool->run);
	if (out->state == FW_BUF_OK && !send_some(worker, out->text, out->len, &sent)) {
		hung_up(worker);
		return false;
	}
	fw_ear_turn(worker, call->request.offer);
	worker->run = pool->run;
	worker->call = call;
	worker->state = FW_WORKER_BUSY;
	call->run.runner = &pool->base.runner;
	if (out->state == FW_BUF_OK && sent < out->len) {
		fw_buf_put(&worker->out, out->text + sent, out->len - sent);
		watch(worker, UV_READABLE | UV_WRITABLE);
	}
	if (out->state != FW_BUF_OK || worker->out.state != FW_BUF_OK) {
		/* It is not its fault; but half a request cannot be taken back. */
		fw_error_free(worker->unable);
		worker->unable = fw_raise_internal_out_of_memory();
		fw_worker_kill(worker);
	}
	return true;
}

/* ---- reading ------------------------------------------------------------------------- */

static void broke(struct fw_worker *worker, const char *how)
{
	if (!worker->broken)
		worker->broken = how;
	fw_worker_kill(worker);
}

/* An error as a worker tells it; what cannot be read is the tool's fault. */
static fw_error *read_error(const struct fw_op *op)
{
	fw_error *told = NULL;
	fw_error *err;

	if (!op->texts[0].text)
		return fw_raise_tool_garbled("its error is missing");
	err = fw_error_decode(op->texts[0].text, op->texts[0].len, FW_CANONICAL, NULL, &told);
	if (err)
		return fw_error_caused_by(fw_raise_tool_garbled("its error cannot be read"),
					  err);
	if (op->texts[1].text)
		fw_error_set_detail(told, op->texts[1].text);
	return told;
}

/* What a worker says, one operation after another. False: it is none. */
static bool replay(struct fw_worker *worker, struct fw_frame_reader *reader, fw_error **ret_err)
{
	fw_call *call = worker->call;
	struct fw_op op;

	while (fw_frame_next(reader, &op)) {
		if (op.kind == FW_OP_ERROR) {
			if (!*ret_err)
				*ret_err = read_error(&op);
		} else if (call && (!call->is_answered || op.kind == FW_OP_SET_STATE)) {
			fw_op_apply(call, &op);
		}
	}
	return reader->at == reader->end;
}

static void finish(struct fw_worker *worker, fw_error *err, bool has_more)
{
	fw_call *call = worker->call;

	worker->call = NULL;
	/* It may have been too late: then it dies all the same. */
	if (worker->state == FW_WORKER_BUSY) {
		worker->kill_ms = 0;
		worker->state = FW_WORKER_FREE;
	}
	fw_buf_reset(&worker->in, READ_BYTES);
	if (has_more)
		broke(worker, "it said more after its end");
	fw_worker_tell_worked(call);
	fw_call_complete(call, err);
}

/* One whole frame. False: the worker is done with, or reading begins anew. */
static bool take_frame(struct fw_worker *worker, const struct fw_frame *frame, const char *body,
		       bool has_more)
{
	struct fw_frame_reader reader = { .at = body, .end = body + frame->len };
	bool is_start = frame->kind == FW_FRAME_READY || frame->kind == FW_FRAME_UNABLE;
	fw_error *err = NULL;

	if (is_start ? worker->is_up || frame->run
		     : !worker->is_up || !worker->call || frame->run != worker->run) {
		broke(worker, "it spoke out of turn");
		return false;
	}
	if (!replay(worker, &reader, &err)) {
		fw_error_free(err);
		broke(worker, "it sent what is no operation");
		return false;
	}
	switch (frame->kind) {
	case FW_FRAME_READY:
		worker->is_up = true;
		worker->pool->failures = 0;
		fw_worker_pay(worker, uv_now(&worker->pool->base.runner.server->loop));
		/* Calls that came while none could be made wait for it. */
		if (worker->state == FW_WORKER_FREE)
			fw_runner_freed(&worker->pool->base.runner, NULL);
		break;
	case FW_FRAME_UNABLE:
		fw_error_free(worker->unable);
		worker->unable = err;
		worker->state = FW_WORKER_DYING;
		return false;
	case FW_FRAME_DONE: finish(worker, err, has_more); return false;
	default: break;
	}
	fw_error_free(err);
	return true;
}

/* The frames that are whole. False: nothing more is to be read now. */
static bool take_frames(struct fw_worker *worker)
{
	struct fw_buf *in = &worker->in;
	size_t at = 0;

	while (in->len - at >= sizeof(struct fw_frame)) {
		struct fw_frame frame;
		size_t whole;

		memcpy(&frame, in->text + at, sizeof frame);
		if (frame.kind < FW_FRAME_READY || frame.kind > FW_FRAME_DONE) {
			broke(worker, "it sent what is no frame");
			return false;
		}
		if (frame.len > fw_frame_bytes_max(worker->pool->base.runner.server)) {
			broke(worker, "it sent a frame that is too large");
			return false;
		}
		whole = sizeof frame + frame.len;
		if (in->len - at < whole)
			break;
		if (!take_frame(worker, &frame, in->text + at + sizeof frame,
				in->len - at > whole))
			return false;
		at += whole;
	}
	memmove(in->text, in->text + at, in->len - at);
	in->len -= at;
	return true;
}

static void read_all(struct fw_worker *worker)
{
	struct fw_buf *in = &worker->in;

	while (worker->link && !worker->has_hung_up && !worker->broken) {
		size_t room;
		ssize_t got;

		if (!fw_buf_reserve(in, READ_BYTES - 1)) {
			broke(worker, "it sent a frame that is too large");
			return;
		}
		room = in->cap - in->len - 1;
		got = recv(worker->link->fd, in->text + in->len, room, MSG_DONTWAIT);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return;
		if (got <= 0) {
			hung_up(worker);
			return;
		}
		in->len += (size_t)got;
		/* After a DONE the buffer belongs to the next run. */
		if (!take_frames(worker) || (size_t)got < room)
			return;
	}
}

static void on_socket(uv_poll_t *poll, int status, int events)
{
	struct fw_link *link = poll->data;
	struct fw_worker *worker = link->worker;

	if (!worker)
		return;
	if (status < 0)
		hung_up(worker);
	else if (events & UV_WRITABLE)
		send_rest(worker);
	if (status >= 0 && events & UV_READABLE)
		read_all(worker);
	/* The nursery tells the rest; until then there is nothing to hear. */
	if (link->worker && link->worker->has_hung_up)
		(void)uv_poll_stop(&link->poll);
}

/* ---- its end ---------------------------------------------------------------------------- */

static fw_error *why_died(const struct fw_worker *worker, int status, pid_t pid)
{
	const struct fw_seat *slot = fw_seat_at(&worker->pool->slots, worker->slot);
	int signum = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	char detail[256 + 2 * FW_LIMIT_TOOL_TEXT_BYTES];
	char words[2 * FW_LIMIT_TOOL_TEXT_BYTES];
	fw_error *err;
	size_t len;

	if (worker->broken)
		err = fw_raise_tool_garbled(worker->broken);
	else if (worker->was_killed && signum == SIGKILL && worker->has_hung_up)
		err = fw_raise_tool_garbled("it closed its socket");
	else if (signum)
		err = fw_error_from_signal(FW_HERE, signum);
	else
		err = fw_raise_tool_exited(WEXITSTATUS(status));
	if (signum && atomic_load(&slot->signal) == signum) {
		(void)snprintf(detail, sizeof detail,
			       "worker %d died of %s (code %d) at address %#llx", (int)pid,
			       fw_signal_name(signum), slot->code,
			       (unsigned long long)slot->address);
		fw_crash_describe(slot, err);
	} else {
		(void)snprintf(detail, sizeof detail, "worker %d, wait status %#x", (int)pid,
			       (unsigned)status);
	}
	if (fw_ear_last_words(worker, words, sizeof words)) {
		len = strlen(detail);
		(void)snprintf(detail + len, sizeof detail - len, "\nit wrote:\n%s", words);
	}
	fw_error_set_detail(err, detail);
	return err;
}

static fw_error *cannot_start(fw_error *why)
{
	fw_error *err = fw_raise_server_overloaded(0, "workers that can be started");

	fw_error_set_retry_after(err, FW_LIMIT_RESPAWN_MS / 1000.0);
	return why ? fw_error_caused_by(err, why) : err;
}

/* What its call is told. Whether it counts as a crash of the tool, the breaker
 * learns here. */
static fw_error *verdict(struct fw_worker *worker, int status, pid_t pid)
{
	fw_error *why = worker->unable;

	worker->unable = NULL;
	if (why && worker->is_up)
		return why; /* it was ours */
	if (!worker->is_up)
		return cannot_start(why ? why : why_died(worker, status, pid));
	/* A run that was stopped is no crash. */
	if (worker->is_stopped && !worker->broken)
		return fw_raise_runtime_cancelled();
	fw_worker_tell_crashed(worker);
	return why_died(worker, status, pid);
}

void fw_worker_pay(struct fw_worker *worker, uint64_t now_ms)
{
	fw_call *call = worker->owed;
	fw_error *err = worker->owed_err;

	if (!call)
		return;
	if (now_ms < worker->owed_from_ms) {
		worker->owed_ms = worker->owed_from_ms;
		fw_pool_watch(worker->pool, worker->owed_ms);
		return;
	}
	worker->owed = NULL;
	worker->owed_err = NULL;
	worker->owed_ms = 0;
	fw_call_complete(call, err);
}

/* Its place has been taken already, if another could be made. */
static bool owe(struct fw_worker *worker, fw_call *call, fw_error *err)
{
	const struct fw_breaker *breaker = call->request.offer->breaker;
	uint64_t now_ms = uv_now(&worker->pool->base.runner.server->loop);

	if (worker->state != FW_WORKER_FREE || worker->is_up || call->is_answered)
		return false;
	worker->owed = call;
	worker->owed_err = err;
	worker->owed_from_ms = now_ms;
	if (breaker && breaker->crashes > FW_LIMIT_CRASHES_AT_ONCE)
		worker->owed_from_ms += FW_LIMIT_CRASH_PACE_MS;
	worker->owed_ms = now_ms + FW_LIMIT_DEATH_MS;
	fw_pool_watch(worker->pool, worker->owed_ms);
	return true;
}

void fw_worker_buried(struct fw_worker *worker, int status, pid_t pid)
{
	struct fw_worker_pool *pool = worker->pool;
	struct fw_seat *seat = fw_seat_at(&pool->slots, worker->slot);
	fw_call *call;
	fw_error *err = NULL;
	bool has_begun;

	if (worker->state == FW_WORKER_NONE)
		return;
	fw_worker_pay(worker, UINT64_MAX);
	/* It may have said all before it died. */
	read_all(worker);
	fw_ear_finish(worker);
	call = worker->call;
	fw_worker_tell_end(worker, status, pid);
	/* Killed while it was idle, before it saw the request: no harm is done. */
	has_begun = !worker->is_up || worker->is_ours || worker->broken ||
		    atomic_load(&seat->taken) == worker->run;
	if (call && has_begun)
		err = verdict(worker, status, pid);
	if (!worker->is_up && !worker->is_ours && !worker->is_retired) {
		pool->failures++;
		pool->respawn_ms =
			uv_now(&pool->base.runner.server->loop) + FW_LIMIT_RESPAWN_MS;
	}
	fw_error_free(worker->unable);
	worker->unable = NULL;
	worker->call = NULL;
	worker->state = FW_WORKER_NONE;
	worker->kill_ms = 0;
	pool->live--;
	fw_worker_unlink(worker);
	fw_ear_close(worker);
	fw_buf_clear(&worker->in);
	fw_buf_clear(&worker->out);
	atomic_store(&seat->signal, 0);
	fw_pool_settle(pool);
	if (!call) {
		/* Who waited for it waits for another, or in vain. */
		fw_runner_freed(&pool->base.runner, NULL);
		return;
	}
	if (!has_begun && !call->is_answered && fw_pool_pass_on(pool, call))
		return;
	if (!err)
		err = cannot_start(NULL);
	fw_shared_end(call, false);
	if (!owe(worker, call, err))
		fw_call_complete(call, err);
}
