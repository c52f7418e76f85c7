/*
 * impl.h - what the parts of isolated execution share.
 *
 * Three processes: the server, whose pool (pool.c, worker.c) sends calls and
 * reads what is said; the nursery (nursery.c), a copy of the server from before
 * its first call, which does nothing but make workers and bury them; and the
 * workers (child.c), copies of the nursery, which run handlers.
 *
 * The one rule to remember: the server believes a worker nothing. What it says
 * is checked as bytes (frame.c), then as operations (mcp/op.h).
 */
#ifndef FW_WORKER_IMPL_H
#define FW_WORKER_IMPL_H

#include <stdatomic.h>
#include <sys/types.h>

#include <uv.h>
#include <yyjson.h>

#include <faultwire/raise.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/limits.h"
#include "base/text.h"
#include "mcp/call.h"
#include "mcp/offer.h"
#include "mcp/op.h"
#include "mcp/runner.h"
#include "mcp/server.h"
#include "mcp/shared.h"
#include "mcp/util.h"
#include "worker/sandbox.h"

/* ---- frames (frame.c) ------------------------------------------------------------ */

enum fw_frame_kind {
	FW_FRAME_REQUEST = 0x66770001,
	FW_FRAME_READY,  /* the worker is up */
	FW_FRAME_UNABLE, /* it will never be: FW_OP_ERROR */
	FW_FRAME_SAID,   /* operations, and more to come */
	FW_FRAME_DONE,   /* operations, and the handler is done */
};

struct fw_frame {
	uint32_t kind;
	uint32_t len; /* of what follows */
	uint64_t run; /* the request's number, repeated by all that answers it */
};

/* Larger than any result that can be sent on. */
static inline size_t fw_frame_bytes_max(const fw_server *server)
{
	return (size_t)server->limits.result_bytes + 2 * (size_t)FW_LIMIT_ENVELOPE_BYTES;
}

/* A frame with nothing in it yet. */
void fw_frame_begin(struct fw_buf *out);
void fw_frame_put(struct fw_buf *out, const struct fw_op *op);
void fw_frame_end(struct fw_buf *out, enum fw_frame_kind kind, uint64_t run);

/* One operation after another; false at the end, or where it is none: then
 * `at` is not `end`. Texts are borrowed from the frame. */
struct fw_frame_reader {
	const char *at;
	const char *end;
};
bool fw_frame_next(struct fw_frame_reader *reader, struct fw_op *ret_op);

/* The request of a call, a whole frame (request.c). */
void fw_request_write(struct fw_buf *out, const fw_call *call, uint64_t run);
/* Into a call of the worker's own, and what its recorder gives out. Everything
 * is borrowed from `body`, which is changed. */
bool fw_request_read(char *body, size_t len, fw_call *call, struct fw_recorder *recorder);

/* ---- shared memory ---------------------------------------------------------------- */

enum { FW_CRASH_FRAMES = 32 };

/* One for each worker, in pages of its own that no other worker sees. */
struct fw_seat {
	atomic_int cancelled; /* the call that runs is not wanted any more */
	atomic_ullong taken;  /* the run that was begun last */
	atomic_int signal;    /* of a crash; the rest is only true with it */
	int code;             /* si_code */
	uintptr_t address;
	int depth;
	void *frames[FW_CRASH_FRAMES]; /* innermost first */
};

struct fw_seats {
	char *pages;
	size_t stride;
	uint32_t count;
};

struct fw_seat *fw_seat_at(const struct fw_seats *slots, uint32_t index);

struct fw_sandbox_plan;

/* ---- the nursery (nursery.c) ------------------------------------------------------- */

enum fw_order_kind { FW_ORDER_MAKE = 1, FW_ORDER_KILL };

/* To the nursery. FW_ORDER_MAKE comes with the worker's socket and, if there is
 * one, its standard error. */
struct fw_order {
	uint32_t kind;
	uint32_t slot;
	uint64_t generation;
};

/* FW_REPORT_KILLED: it was alive when the order to kill it came. */
enum fw_report_kind { FW_REPORT_DIED = 1, FW_REPORT_KILLED, FW_REPORT_UNABLE };

struct fw_report {
	uint32_t kind;
	uint32_t slot;
	uint64_t generation;
	int32_t pid;
	int32_t status; /* of wait(), or errno */
};

struct fw_nursery {
	pid_t pid; /* 0: none */
	int control;
	bool is_kept; /* made by a keeper, whose child it is */
};

/* What a nursery needs to know of its pool. */
struct fw_nursery_setup {
	const struct fw_seats *slots;
	const fw_workers_options *options;
	struct fw_sandbox_plan *plan;
	fw_server *server;
};

/* Makes one. Raises io errors (fork, socketpair). */
fw_error *fw_nursery_start(struct fw_nursery *nursery, const struct fw_nursery_setup *setup);
/* fork(); in the child, every descriptor of the server but `control` and the
 * plan's is closed, and the standard ones are replaced. */
pid_t fw_nursery_fork(const struct fw_nursery_setup *setup, int control);
/* In the child: the nursery itself, until `control` ends or `parent` dies. */
_Noreturn void fw_nursery_run(const struct fw_nursery_setup *setup, int control, pid_t parent);
/* Waits for a child that was told to end; after a second it is killed. */
void fw_nursery_await_end(pid_t pid);
/* Kills it, its workers, and what they left; waits for that. */
void fw_nursery_end(struct fw_nursery *nursery);
/* False: it cannot be told. `socket` and `mouth` are -1 or stay the caller's. */
bool fw_nursery_order(const struct fw_nursery *nursery, const struct fw_order *order,
		      int socket, int mouth);

/* ---- the keeper (keeper.c) ----------------------------------------------------------- */

/* Makes nurseries for a confined server, which cannot fork. */
struct fw_keeper {
	pid_t pid; /* 0: none */
	int control;
	uint32_t asked; /* nurseries, so far */
};

/* Before the server is confined, by its only thread. Raises io errors. */
fw_error *fw_keeper_start(struct fw_keeper *keeper, const struct fw_nursery_setup *setup);
/* Has it make a nursery. Waits for that. Raises io errors. */
fw_error *fw_keeper_make(struct fw_keeper *keeper, struct fw_nursery *nursery);
/* Ends it and its nursery; waits for that. */
void fw_keeper_end(struct fw_keeper *keeper);

/* ---- a worker (child.c, crash.c) ------------------------------------------------------ */

struct fw_child {
	int socket;
	const struct fw_seats *slots;
	uint32_t slot;
	const fw_workers_options *options;
	const struct fw_sandbox_plan *plan;
	fw_server *server;
};

_Noreturn void fw_child_run(const struct fw_child *self);
/* In the nursery, once: what every worker needs to tell of its crash. */
void fw_crash_prepare(void);
/* Crashes are written into the slot from now on. */
void fw_crash_watch(struct fw_seat *slot);
/* What the slot says of a crash, one line a frame, for the operator. */
void fw_crash_describe(const struct fw_seat *slot, fw_error *err);

/* ---- the pool (pool.c) ----------------------------------------------------------------- */

enum fw_worker_state {
	FW_WORKER_NONE,
	FW_WORKER_FREE,
	FW_WORKER_BUSY,
	FW_WORKER_DYING, /* waits for the nursery to say so */
};

struct fw_link;
struct fw_worker_pool;
struct fw_ear;

struct fw_worker {
	struct fw_worker_pool *pool;
	uint32_t slot;
	uint64_t generation;
	enum fw_worker_state state;
	struct fw_link *link; /* its socket; NULL: closed */
	fw_call *call;        /* NULL: none */
	uint64_t run;
	/* A call that took the worker before it down: it is told when there is this
	 * one, so that whoever crashes waits for what it costs, and not others. */
	fw_call *owed;
	fw_error *owed_err;
	uint64_t owed_from_ms; /* not sooner than that, in loop time */
	uint64_t owed_ms;      /* and not later than that */
	bool is_up;            /* it said so */
	bool is_ours;          /* we killed it */
	bool is_stopped;       /* the same, while it was at work: that is no crash */
	bool was_killed;       /* by us, and not dead before */
	bool is_retired;       /* it was told to go */
	bool has_hung_up;      /* its socket has ended */
	const char *broken;    /* how it broke the frames; NULL: it did not */
	fw_error *unable;      /* why it did not come up */
	uint64_t kill_ms;      /* in loop time; 0: not */
	struct fw_buf in;
	struct fw_buf out; /* what the socket did not take yet */
	size_t out_at;
	struct fw_ear *ear;           /* for its standard error; NULL: none */
	const struct fw_offer *offer; /* whose call it was given last */
	struct fw_buf heard;          /* and not told yet */
	struct fw_buf end;            /* of what this call wrote there */
	bool is_end_cut;
};

struct fw_worker_pool {
	fw_workers base;            /* first: the rest of the server knows the pool as this */
	fw_workers_options options; /* copied, and without zeros */
	struct fw_sandbox_plan *plan;
	struct fw_seats slots;
	struct fw_keeper keeper; /* of a server that is to be confined */
	struct fw_nursery nursery;
	uv_poll_t *control;
	uv_timer_t *timer;
	struct fw_worker *workers; /* options.most of them */
	uint32_t live;
	uint64_t generation;
	uint64_t run;
	unsigned failures;   /* to come up, in a row */
	uint64_t respawn_ms; /* not before; loop time */
	bool is_running;
	bool has_ears; /* there is a log */
	struct fw_buf scratch;
	fw_call *refused; /* to be told that no worker can be had */
};

/* One worker (worker.c). */
bool fw_worker_make(struct fw_worker *worker);
/* False: it is dying, and the call needs another. */
bool fw_worker_send(struct fw_worker *worker, fw_call *call);
void fw_worker_kill(struct fw_worker *worker);
void fw_worker_retire(struct fw_worker *worker);
/* It is gone. Its call is answered, and its place is free. */
void fw_worker_buried(struct fw_worker *worker, int status, pid_t pid);

/* The breaker of the call's tool, and the log (tell.c). */
void fw_worker_tell_worked(const fw_call *call);
void fw_worker_tell_crashed(const struct fw_worker *worker);
/* The log: before the worker is cleared. */
void fw_worker_tell_end(const struct fw_worker *worker, int status, pid_t pid);
void fw_worker_unlink(struct fw_worker *worker);
/* Tells the call that waits for this one, if it may be told by now. */
void fw_worker_pay(struct fw_worker *worker, uint64_t now_ms);

/* What its tools write to their standard output and error (ear.c). False: no
 * memory or descriptors. The mouth is the caller's, to hand on; -1: none. */
bool fw_ear_new(struct fw_worker *worker, int *ret_mouth);
/* Another call, of `offer`. */
void fw_ear_turn(struct fw_worker *worker, const struct fw_offer *offer);
/* When to be called again, in loop time; 0: need not be. */
uint64_t fw_ear_tick(struct fw_worker *worker, uint64_t now_ms);
/* The worker has died: all that is left is told. */
void fw_ear_finish(struct fw_worker *worker);
void fw_ear_close(struct fw_worker *worker);
/* The end of what its last call wrote, without secrets. Returns its length. */
size_t fw_ear_last_words(const struct fw_worker *worker, char *text, size_t size);

/* Back in the pool. */
void fw_pool_settle(struct fw_worker_pool *pool);
/* Gives the call, which holds a slot, to another worker; false: there is none. */
bool fw_pool_pass_on(struct fw_worker_pool *pool, fw_call *call);
void fw_pool_watch(struct fw_worker_pool *pool, uint64_t when_ms);

#endif
