/*
 * worker_socket.c - the socket to one worker: sends what could not be sent at once,
 * reads frames, checks them and applies their operations.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <faultwire/contract.h>
#include <faultwire/raise.h>

#include "base/mem.h"
#include "mcp/op.h"
#include "worker/frame.h"
#include "worker/pool.h"

enum {
	READ_BYTES = 64 * 1024,
	READS = 8 /* in one event: one worker must not keep the loop to itself */
};

/* Freed when libuv has closed the handle, which may be after its worker is gone. */
struct fw_worker_socket {
	uv_poll_t poll;
	int fd;
	bool has_ended;
	struct fw_worker *worker;
};

/* ---- open and close --------------------------------------------------------------------- */

static void on_closed(uv_handle_t *handle)
{
	fw__release(handle->data);
}

void fw_worker_socket_close(struct fw_worker *worker)
{
	struct fw_worker_socket *socket = worker->socket;

	if (!socket)
		return;
	worker->socket = NULL;
	socket->worker = NULL;
	(void)uv_poll_stop(&socket->poll);
	uv_close((uv_handle_t *)&socket->poll, on_closed);
	(void)close(socket->fd);
}

static void on_socket(uv_poll_t *poll, int status, int events);

struct fw_worker_socket *fw_worker_socket_new(struct fw_worker *worker, int fd)
{
	struct fw_worker_socket *socket = fw__allocate(sizeof *socket);

	if (!socket)
		return NULL;
	socket->fd = fd;
	socket->has_ended = false;
	socket->worker = worker;
	if (uv_poll_init(fw_worker_pool_loop(worker->pool), &socket->poll, fd) != 0) {
		fw__release(socket);
		return NULL;
	}
	socket->poll.data = socket;
	(void)uv_poll_start(&socket->poll, UV_READABLE, on_socket);
	return socket;
}

static void end(struct fw_worker *worker)
{
	if (worker->socket->has_ended)
		return;
	worker->socket->has_ended = true;
	fw_worker_change(worker, FW_WORKER_EVENT_HANG_UP);
}

/* ---- sending ------------------------------------------------------------------------------ */

bool fw_worker_socket_send(struct fw_worker *worker, const char *bytes, size_t len,
			   size_t *ret_sent)
{
	*ret_sent = 0;
	while (*ret_sent < len) {
		ssize_t sent = send(worker->socket->fd, bytes + *ret_sent, len - *ret_sent,
				    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && errno != EAGAIN && errno != ENOBUFS && errno != ENOMEM) {
			end(worker);
			return false;
		}
		if (sent < 0)
			return true;
		*ret_sent += (size_t)sent;
	}
	return true;
}

void fw_worker_socket_await_room(struct fw_worker *worker)
{
	(void)uv_poll_start(&worker->socket->poll, UV_READABLE | UV_WRITABLE, on_socket);
}

static void send_rest(struct fw_worker *worker)
{
	size_t left = worker->out.len - worker->out_at;
	size_t sent;

	if (!fw_worker_socket_send(worker, worker->out.text + worker->out_at, left, &sent))
		sent = left;
	worker->out_at += sent;
	if (worker->out_at < worker->out.len)
		return;
	fw_buf_reset(&worker->out, 0);
	worker->out_at = 0;
	(void)uv_poll_start(&worker->socket->poll, UV_READABLE, on_socket);
}

/* ---- frames --------------------------------------------------------------------------------- */

/* The handler's error, or tool.garbled if it cannot be decoded. */
static fw_error *read_error(const struct fw_worker *worker, const struct fw_op *op)
{
	const fw_decode_options options = {
		.struct_size = sizeof(fw_decode_options),
		.registry = worker->pool->base.runner.server->options.registry,
	};
	fw_error *decoded = NULL;
	fw_error *err;

	if (!op->texts[0].text)
		return fw_raise_tool_garbled("its error is missing");
	err = fw_error_decode(op->texts[0].text, op->texts[0].len, FW_CANONICAL, &options,
			      &decoded);
	if (err)
		return fw_error_caused_by(fw_raise_tool_garbled("its error cannot be read"),
					  err);
	if (op->texts[1].text)
		fw_error_set_detail(decoded, op->texts[1].text);
	return decoded;
}

/* Applies the operations of a frame to the call. False: they are invalid. */
static bool apply(struct fw_worker *worker, struct fw_worker_frame_reader *reader,
		  fw_error **ret_err)
{
	fw_call *call = worker->call;
	struct fw_op op;

	while (fw_worker_frame_next(reader, &op)) {
		if (op.kind == FW_OP_ERROR) {
			if (!*ret_err)
				*ret_err = read_error(worker, &op);
		} else if (call && (!call->is_answered || op.kind == FW_OP_SET_STATE)) {
			fw_op_apply(call, &op);
		}
	}
	return reader->at == reader->end;
}

static void take_ready(struct fw_worker *worker)
{
	struct fw_worker_pool *pool = worker->pool;

	fw_worker_change(worker, FW_WORKER_EVENT_READY);
	pool->failures = 0;
	fw_worker_settle_pending(worker, fw_worker_pool_now(pool));
	/* Calls may have been queued while no worker could be started. */
	if (worker->state == FW_WORKER_IDLE)
		fw_runner_freed(&pool->base.runner, NULL);
}

static void take_done(struct fw_worker *worker, fw_error *err, bool has_more)
{
	fw_call *call = worker->call;

	worker->call = NULL;
	fw_worker_change(worker, FW_WORKER_EVENT_DONE);
	fw_buf_reset(&worker->in, READ_BYTES);
	if (has_more)
		fw_worker_break(worker, "it said more after its end");
	fw_worker_log_success(call);
	fw_call_complete(call, err);
}

/* Is a frame of this kind expected now? */
static bool is_due(const struct fw_worker *worker, const struct fw_worker_frame *frame)
{
	if (frame->kind == FW_WORKER_FRAME_READY || frame->kind == FW_WORKER_FRAME_FAILED)
		return !worker->was_ready && !frame->run && worker->state != FW_WORKER_FAILED;
	return worker->was_ready && worker->call && frame->run == worker->run;
}

/* Handles one complete frame. False: stop reading, or start again with an empty
 * buffer. */
static bool take_frame(struct fw_worker *worker, const struct fw_worker_frame *frame,
		       const char *body, bool has_more)
{
	struct fw_worker_frame_reader reader = { .at = body, .end = body + frame->len };
	fw_error *err = NULL;

	if (!is_due(worker, frame)) {
		fw_worker_break(worker, "it spoke out of turn");
		return false;
	}
	if (!apply(worker, &reader, &err)) {
		fw_error_free(err);
		fw_worker_break(worker, "it sent what is no operation");
		return false;
	}
	switch (frame->kind) {
	case FW_WORKER_FRAME_READY: take_ready(worker); break;
	case FW_WORKER_FRAME_FAILED:
		fw_error_free(worker->own_error);
		worker->own_error = err;
		fw_worker_change(worker, FW_WORKER_EVENT_FAILED);
		return false;
	case FW_WORKER_FRAME_DONE: take_done(worker, err, has_more); return false;
	default: break;
	}
	fw_error_free(err);
	return true;
}

/* Handles the complete frames in the buffer. False: as of take_frame(). */
static bool take_frames(struct fw_worker *worker)
{
	struct fw_buf *in = &worker->in;
	size_t at = 0;

	while (in->len - at >= sizeof(struct fw_worker_frame)) {
		struct fw_worker_frame frame;
		size_t size;

		memcpy(&frame, in->text + at, sizeof frame);
		if (frame.kind < FW_WORKER_FRAME_READY || frame.kind > FW_WORKER_FRAME_DONE) {
			fw_worker_break(worker, "it sent what is no frame");
			return false;
		}
		if (frame.len > fw_worker_frame_bytes_max(worker->pool->base.runner.server)) {
			fw_worker_break(worker, "it sent a frame that is too large");
			return false;
		}
		size = sizeof frame + frame.len;
		if (in->len - at < size)
			break;
		if (!take_frame(worker, &frame, in->text + at + sizeof frame,
				in->len - at > size))
			return false;
		at += size;
	}
	memmove(in->text, in->text + at, in->len - at);
	in->len -= at;
	return true;
}

void fw_worker_socket_read(struct fw_worker *worker, unsigned most)
{
	struct fw_buf *in = &worker->in;

	while (most && worker->socket && !worker->socket->has_ended && !worker->broken) {
		size_t room;
		ssize_t got;

		most--;
		if (!fw_buf_reserve(in, READ_BYTES - 1)) {
			fw_worker_break(worker, "it sent a frame that is too large");
			return;
		}
		room = in->cap - in->len - 1;
		got = recv(worker->socket->fd, in->text + in->len, room, MSG_DONTWAIT);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return;
		if (got <= 0) {
			end(worker);
			return;
		}
		in->len += (size_t)got;
		/* After DONE the buffer belongs to the next run. */
		if (!take_frames(worker) || (size_t)got < room)
			return;
	}
}

static void on_socket(uv_poll_t *poll, int status, int events)
{
	struct fw_worker_socket *socket = poll->data;
	struct fw_worker *worker = socket->worker;

	if (!worker)
		return;
	if (status < 0)
		end(worker);
	else if (events & UV_WRITABLE)
		send_rest(worker);
	if (status >= 0 && events & UV_READABLE)
		fw_worker_socket_read(worker, READS);
	/* Nothing more comes from a socket that has ended; the fork server reports the rest. */
	if (socket->worker && socket->has_ended)
		(void)uv_poll_stop(&socket->poll);
}
