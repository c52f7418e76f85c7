/*
 * process.c - the worker process: reads a request from its socket, runs the handler and
 * sends the result, until the socket ends.
 *
 * It may be killed at any time, so it leaves nothing that would have to be cleaned up.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <faultwire/contract.h>
#include <faultwire/raise.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "mcp/ask.h"
#include "mcp/call.h"
#include "mcp/op.h"
#include "mcp/request.h"
#include "mcp/server.h"
#include "worker/frame.h"
#include "worker/process.h"
#include "worker/request.h"
#include "worker/schedule.h"

enum { READ_BYTES = 64 * 1024, CPU_CHECK_MS = 500 };

struct process {
	struct fw_recorder recorder; /* first: the call points to this member */
	int socket;
	struct fw_worker_page *page;
	uint64_t run;
	struct fw_buf out;
	struct fw_buf in;
	uint32_t cpu_s;
	uint64_t cpu_limit_s;
	uint64_t cpu_checked_ms;
	fw_call call;
};

/* The server is gone, or does not need this worker any more. */
static _Noreturn void leave(void)
{
	_exit(EXIT_SUCCESS);
}

static void send_out(struct process *process)
{
	size_t at = 0;

	while (at < process->out.len) {
		/* Not send(): the sandbox checks its arguments, which takes time.
		 * SIGPIPE is ignored unless a tool has changed that. */
		ssize_t sent =
			write(process->socket, process->out.text + at, process->out.len - at);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			leave();
		at += (size_t)sent;
	}
}

/* If the operations did not fit into memory, FW_OP_LOST is sent in their place. */
static void finish_frame(struct process *process, enum fw_worker_frame_kind kind)
{
	if (process->out.state != FW_BUF_OK) {
		const struct fw_op lost = { .kind = FW_OP_LOST,
					    .number = (uint32_t)process->out.state };
		/* There is memory for it: the buffer was just freed. */
		fw_buf_clear(&process->out);
		fw_worker_frame_begin(&process->out);
		fw_worker_frame_put(&process->out, &lost);
	}
	fw_worker_frame_end(&process->out, kind, process->run);
	if (process->out.state != FW_BUF_OK)
		_exit(EXIT_FAILURE);
	send_out(process);
	fw_worker_frame_begin(&process->out);
}

static void record(struct fw_recorder *recorder, const struct fw_op *op)
{
	struct process *process = (struct process *)recorder;

	fw_worker_frame_put(&process->out, op);
	switch (op->kind) {
	case FW_OP_PROGRESS:
	case FW_OP_LOG:
	case FW_OP_CLOSE_STREAM:
		/* Useful only if it is sent while the handler runs. */
		if (process->out.state == FW_BUF_OK)
			finish_frame(process, FW_WORKER_FRAME_UPDATE);
		break;
	default: break;
	}
}

static bool is_cancelled(const struct fw_recorder *recorder)
{
	return atomic_load(&((const struct process *)recorder)->page->cancelled) != 0;
}

static void put_error(struct process *process, fw_error *err)
{
	const fw_encode_options options = { .struct_size = sizeof(fw_encode_options),
					    .stack = true };
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
		fw_worker_frame_put(&process->out, &op);
	} else {
		process->out.state = text.state;
	}
	fw_buf_clear(&text);
	fw_error_free(err);
}

/* ---- reading ------------------------------------------------------------------------ */

static void read_some(struct process *process)
{
	ssize_t got;

	if (!fw_buf_reserve(&process->in, READ_BYTES))
		_exit(EXIT_FAILURE);
	do
		got = read(process->socket, process->in.text + process->in.len,
			   process->in.cap - process->in.len - 1);
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		leave();
	process->in.len += (size_t)got;
}

/* Reads one complete request to the start of `in`. */
static void read_request(struct process *process)
{
	struct fw_worker_frame frame;

	fw_buf_reset(&process->in, 4 * READ_BYTES);
	while (process->in.len < sizeof frame)
		read_some(process);
	memcpy(&frame, process->in.text, sizeof frame);
	if (frame.kind != FW_WORKER_FRAME_REQUEST ||
	    !fw_buf_reserve(&process->in, sizeof frame + frame.len - process->in.len))
		_exit(EXIT_FAILURE);
	while (process->in.len < sizeof frame + frame.len)
		read_some(process);
	process->run = frame.run;
}

/* ---- running ------------------------------------------------------------------------- */

/*
 * CPU time is limited per call but counted per process, so the limit of the process is
 * raised as it is used. Asking how much was used is a system call, so this is done every
 * CPU_CHECK_MS at most; a call gets its `cpu_s` and up to two seconds more.
 */
static void limit_cpu(struct process *process)
{
	struct rlimit limit;
	uint64_t now_ms = (uint64_t)fw_steady_ms();
	uint64_t wanted;

	if (now_ms < process->cpu_checked_ms + CPU_CHECK_MS)
		return;
	process->cpu_checked_ms = now_ms;
	wanted = (uint64_t)fw_cpu_ns() / 1000000000 + process->cpu_s + 2;
	if (wanted == process->cpu_limit_s || getrlimit(RLIMIT_CPU, &limit) != 0)
		return;
	process->cpu_limit_s = wanted;
	limit.rlim_cur = wanted < limit.rlim_max ? (rlim_t)wanted : limit.rlim_max;
	(void)setrlimit(RLIMIT_CPU, &limit);
}

static void prepare_call(struct process *process, fw_server *server)
{
	fw_call *call = &process->call;

	fw_ask_clear(call);
	fw_buf_reset(&call->request.json, FW_CALL_KEEP_BYTES);
	call->server = server;
	call->run.recorder = &process->recorder;
	atomic_store_explicit(&call->run.cancelled, false, memory_order_relaxed);
}

static void run_one(struct process *process, fw_server *server)
{
	fw_call *call = &process->call;
	fw_error *err;

	read_request(process);
	prepare_call(process, server);
	if (!fw_worker_request_read(process->in.text + sizeof(struct fw_worker_frame),
				    process->in.len - sizeof(struct fw_worker_frame), call,
				    &process->recorder))
		_exit(EXIT_FAILURE);
	limit_cpu(process);
	atomic_store(&process->page->begun_run, process->run);
	err = call->request.kind == FW_CALL_COMPLETE
		      ? call->request.offer->complete(call, call->request.offer->ctx)
		      : call->request.offer->handler(call, call->request.offer->ctx);
	if (err)
		put_error(process, err);
	finish_frame(process, FW_WORKER_FRAME_DONE);
}

/* ---- start --------------------------------------------------------------------- */

static fw_error *make_ready(const struct fw_worker_forkserver_setup *setup)
{
	if (setup->options->prepare)
		FW_TRY(setup->options->prepare(setup->options->ctx));
	return fw_sandbox_apply(setup->plan);
}

_Noreturn void fw_worker_process_run(const struct fw_worker_forkserver_setup *setup,
				     uint32_t slot, int socket)
{
	struct process *process = fw__allocate(sizeof *process);
	fw_error *err;

	if (!process)
		_exit(EXIT_FAILURE);
	memset(process, 0, sizeof *process);
	process->recorder.record = record;
	process->recorder.is_cancelled = is_cancelled;
	process->socket = socket;
	process->page = fw_worker_page_at(setup->pages, slot);
	process->cpu_s = setup->options->cpu_s;
	fw_buf_init(&process->out, fw_worker_frame_bytes_max(setup->server));
	/* Requests are bounded by the server, which is trusted here. */
	fw_buf_init(&process->in, SIZE_MAX / 2);
	fw_buf_init(&process->call.request.json,
		    2 * (size_t)setup->server->limits.message_bytes);
	fw_worker_pages_keep(setup->pages, slot);
	atomic_store(&process->page->begun_run, 0);
	fw_worker_crash_watch(&process->page->crash);
	fw_worker_frame_begin(&process->out);
	err = make_ready(setup);
	if (err) {
		put_error(process, err);
		finish_frame(process, FW_WORKER_FRAME_FAILED);
		_exit(EXIT_FAILURE);
	}
	/* Background work keeps its low priority. */
	if (!setup->options->background)
		fw_worker_schedule_behind(false);
	finish_frame(process, FW_WORKER_FRAME_READY);
	if (setup->options->background) {
		setup->options->background(setup->options->ctx);
		leave();
	}
	for (;;)
		run_one(process, setup->server);
}
