/*
 * child.c - a worker: takes a request from its socket, runs the handler, and
 * says what came of it; again and again, until the socket ends.
 *
 * It may be killed at any moment, and must not care.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "worker/impl.h"
#include "worker/sandbox.h"

enum { READ_BYTES = 64 * 1024, CPU_CHECK_MS = 500 };

struct child {
	struct fw_recorder recorder; /* first: it is what a call knows */
	int socket;
	struct fw_seat *seat;
	uint64_t run;
	struct fw_buf out;
	struct fw_buf in;
	uint32_t cpu_s;
	uint64_t cpu_limit_s;
	uint64_t cpu_checked_ms;
	fw_call call;
};

/* The server has gone, or wants no more of this worker. */
static _Noreturn void leave(void)
{
	_exit(EXIT_SUCCESS);
}

static void send_out(struct child *child)
{
	size_t at = 0;

	while (at < child->out.len) {
		/* Not send(): the sandbox looks at its arguments, which takes time.
		 * SIGPIPE is ignored, or else a death like any other. */
		ssize_t sent = write(child->socket, child->out.text + at, child->out.len - at);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			leave();
		at += (size_t)sent;
	}
}

/* What could not be written down is told in place of all. */
static void finish_frame(struct child *child, enum fw_frame_kind kind)
{
	if (child->out.state != FW_BUF_OK) {
		const struct fw_op lost = { .kind = FW_OP_LOST,
					    .number = (uint32_t)child->out.state };
		/* The memory it needs was given back with what was lost. */
		fw_buf_clear(&child->out);
		fw_frame_begin(&child->out);
		fw_frame_put(&child->out, &lost);
	}
	fw_frame_end(&child->out, kind, child->run);
	if (child->out.state != FW_BUF_OK)
		_exit(EXIT_FAILURE);
	send_out(child);
	fw_frame_begin(&child->out);
}

static void record(struct fw_recorder *recorder, const struct fw_op *op)
{
	struct child *child = (struct child *)recorder;

	fw_frame_put(&child->out, op);
	switch (op->kind) {
	case FW_OP_PROGRESS:
	case FW_OP_LOG:
	case FW_OP_CLOSE_STREAM:
		/* Worth something only now. */
		if (child->out.state == FW_BUF_OK)
			finish_frame(child, FW_FRAME_SAID);
		break;
	default: break;
	}
}

static bool is_cancelled(const struct fw_recorder *recorder)
{
	return atomic_load(&((const struct child *)recorder)->seat->cancelled) != 0;
}

static void put_error(struct child *child, fw_error *err)
{
	const fw_encode_options options = { .stack = true };
	struct fw_op op = { .kind = FW_OP_ERROR };
	struct fw_buf text;
	size_t len = fw_error_encode(err, FW_CANONICAL, &options, NULL, 0);

	fw_buf_init(&text, 2 * FW_LIMIT_ENVELOPE_BYTES);
	if (fw_buf_reserve(&text, len)) {
		text.len = fw_error_encode(err, FW_CANONICAL, &options, text.text, text.cap);
		op.texts[0] = (struct fw_op_text){ text.text, text.len };
		if (fw_error_detail(err))
			op.texts[1] = (struct fw_op_text){ fw_error_detail(err),
							   strlen(fw_error_detail(err)) };
		fw_frame_put(&child->out, &op);
	} else {
		child->out.state = text.state;
	}
	fw_buf_clear(&text);
	fw_error_free(err);
}

/* ---- reading ------------------------------------------------------------------------ */

static void read_some(struct child *child)
{
	ssize_t got;

	if (!fw_buf_reserve(&child->in, READ_BYTES))
		_exit(EXIT_FAILURE);
	do
		got = read(child->socket, child->in.text + child->in.len,
			   child->in.cap - child->in.len - 1);
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		leave();
	child->in.len += (size_t)got;
}

/* One request, whole, at the start of `in`. */
static void read_request(struct child *child)
{
	struct fw_frame frame;

	fw_buf_reset(&child->in, 4 * READ_BYTES);
	while (child->in.len < sizeof frame)
		read_some(child);
	memcpy(&frame, child->in.text, sizeof frame);
	if (frame.kind != FW_FRAME_REQUEST ||
	    !fw_buf_reserve(&child->in, sizeof frame + frame.len - child->in.len))
		_exit(EXIT_FAILURE);
	while (child->in.len < sizeof frame + frame.len)
		read_some(child);
	child->run = frame.run;
}

/* ---- running ------------------------------------------------------------------------- */

/*
 * Processor time is limited for each call, but counted for the process: the
 * limit moves on with it. Asking what was used is a system call, so it is asked
 * only when enough of the day has passed that much may have been; a call gets
 * what it was promised and up to two seconds more.
 */
static void limit_cpu(struct child *child)
{
	struct rlimit limit;
	struct timespec used, now;
	uint64_t wanted, now_ms;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	if (now_ms < child->cpu_checked_ms + CPU_CHECK_MS)
		return;
	child->cpu_checked_ms = now_ms;
	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0)
		return;
	wanted = (uint64_t)used.tv_sec + child->cpu_s + 2;
	if (wanted == child->cpu_limit_s || getrlimit(RLIMIT_CPU, &limit) != 0)
		return;
	child->cpu_limit_s = wanted;
	limit.rlim_cur = wanted < limit.rlim_max ? (rlim_t)wanted : limit.rlim_max;
	(void)setrlimit(RLIMIT_CPU, &limit);
}

static void prepare_call(struct child *child, fw_server *server)
{
	fw_call *call = &child->call;

	fw_ask_clear(call);
	fw_buf_reset(&call->request.json, FW_CALL_KEEP_BYTES);
	call->server = server;
	call->run.recorder = &child->recorder;
	atomic_store_explicit(&call->run.cancelled, false, memory_order_relaxed);
}

static void run_one(struct child *child, fw_server *server)
{
	fw_call *call = &child->call;
	fw_error *err;

	read_request(child);
	prepare_call(child, server);
	if (!fw_request_read(child->in.text + sizeof(struct fw_frame),
			     child->in.len - sizeof(struct fw_frame), call, &child->recorder))
		_exit(EXIT_FAILURE);
	limit_cpu(child);
	atomic_store(&child->seat->taken, child->run);
	err = call->request.kind == FW_CALL_COMPLETE
		      ? call->request.offer->complete(call, call->request.offer->ctx)
		      : call->request.offer->handler(call, call->request.offer->ctx);
	if (err)
		put_error(child, err);
	finish_frame(child, FW_FRAME_DONE);
}

/* ---- its beginning --------------------------------------------------------------------- */

/* The slots of others are not for this one to see. */
static void keep_own_slot(const struct fw_seats *slots, uint32_t index)
{
	char *slot = slots->pages + index * slots->stride;
	size_t after = (slots->count - index - 1) * slots->stride;

	if (index)
		(void)munmap(slots->pages, index * slots->stride);
	if (after)
		(void)munmap(slot + slots->stride, after);
}

static fw_error *make_ready(const struct fw_child *self)
{
	if (self->options->prepare)
		FW_TRY(self->options->prepare(self->options->ctx));
	return fw_sandbox_apply(self->plan);
}

_Noreturn void fw_child_run(const struct fw_child *self)
{
	struct child *child = fw__allocate(sizeof *child);
	fw_error *err;

	if (!child)
		_exit(EXIT_FAILURE);
	memset(child, 0, sizeof *child);
	child->recorder.record = record;
	child->recorder.is_cancelled = is_cancelled;
	child->socket = self->socket;
	child->seat = fw_seat_at(self->slots, self->slot);
	child->cpu_s = self->options->cpu_s;
	fw_buf_init(&child->out, fw_frame_bytes_max(self->server));
	/* What comes from the server is as large as the server lets it be. */
	fw_buf_init(&child->in, SIZE_MAX / 2);
	fw_buf_init(&child->call.request.json, 2 * (size_t)self->server->limits.message_bytes);
	keep_own_slot(self->slots, self->slot);
	fw_crash_watch(child->seat);
	fw_frame_begin(&child->out);
	err = make_ready(self);
	if (err) {
		put_error(child, err);
		finish_frame(child, FW_FRAME_UNABLE);
		_exit(EXIT_FAILURE);
	}
	finish_frame(child, FW_FRAME_READY);
	for (;;)
		run_one(child, self->server);
}
