/*
 * worker.h - one worker, as the server sees it: a socket, at most one call, and a state
 * (state.h). Everything happens on the loop's thread.
 *
 * The server does not trust a worker: what it sends is checked as bytes (frame.h) and
 * then as operations (mcp/op.h).
 */
#ifndef FW_WORKER_WORKER_H
#define FW_WORKER_WORKER_H

#include <sys/types.h>

#include <faultwire/call.h>
#include <faultwire/error.h>

#include "worker/output.h"
#include "worker/state.h"

struct fw_worker_pool;
struct fw_worker_socket;

/* The reply to a call that crashed the previous worker of this slot. It is sent when the
 * replacement is ready, so that the caller that caused a crash waits for the replacement,
 * and other callers do not. */
struct fw_worker_pending {
	fw_call *call; /* NULL: none */
	fw_error *err;
	uint64_t not_before_ms; /* loop time */
	uint64_t due_ms;        /* sent at this time at the latest; 0: none */
};

struct fw_worker {
	struct fw_worker_pool *pool;
	uint32_t slot;
	uint64_t generation;
	enum fw_worker_state state;      /* changed by fw_worker_change() alone */
	bool was_ready;                  /* it has sent FW_WORKER_FRAME_READY */
	struct fw_worker_socket *socket; /* NULL: closed */
	fw_call *call;                   /* NULL: none */
	uint64_t run;
	struct fw_worker_pending pending;
	const char *broken;  /* what was wrong with its data; NULL: nothing */
	fw_error *own_error; /* why it did not start, or a failure of the server */
	uint64_t kill_ms;    /* FW_WORKER_EVENT_TIMER is due, in loop time; 0: not */
	struct fw_buf in;
	struct fw_buf out; /* bytes that the socket has not taken yet */
	size_t out_at;
	struct fw_worker_output output;
};

/* How a worker ended: `pid` is 0 if its fork server is gone, too. */
struct fw_worker_exit {
	int status; /* as wait() gives it */
	pid_t pid;
	bool was_alive; /* when the order to kill it came */
};

/* ---- worker.c: start, requests, kill ---- */

/* Has the fork server fork a process for this empty slot. False: not possible now. */
bool fw_worker_start(struct fw_worker *worker);
/* Sends the request of the call. False: the worker is dying; the call needs another. */
bool fw_worker_send(struct fw_worker *worker, fw_call *call);
/* The only place that changes the state. Sends kill orders and sets the timer as the
 * table in state.h says. */
void fw_worker_change(struct fw_worker *worker, enum fw_worker_event event);
/* Kills a worker that sent invalid data; `what` is a string constant. */
void fw_worker_break(struct fw_worker *worker, const char *what);

/* ---- worker_socket.c: bytes and frames ---- */

/* NULL: out of memory. Takes `fd` over. */
struct fw_worker_socket *fw_worker_socket_new(struct fw_worker *worker, int fd);
void fw_worker_socket_close(struct fw_worker *worker);
/* Sends as much as the socket takes. False: it has ended, which changes the state. */
bool fw_worker_socket_send(struct fw_worker *worker, const char *bytes, size_t len,
			   size_t *ret_sent);
/* Sends worker->out when the socket can take more. */
void fw_worker_socket_await_room(struct fw_worker *worker);
/* Handles what has arrived, with at most `most` reads. */
void fw_worker_socket_read(struct fw_worker *worker, unsigned most);

/* ---- worker_end.c ---- */

/* The worker is dead: answers its call, frees its slot, and has the pool replace it. */
void fw_worker_ended(struct fw_worker *worker, const struct fw_worker_exit *how);
/* Sends the pending reply of this slot, if there is one and its time has come. */
void fw_worker_settle_pending(struct fw_worker *worker, uint64_t now_ms);
/* The error of a call that no worker can be started for. Consumes `cause`, which may be
 * NULL. */
fw_error *fw_worker_cannot_start(fw_error *cause);

/* ---- worker_log.c: the log and the tool's circuit breaker ---- */

void fw_worker_log_success(const fw_call *call);
void fw_worker_log_crash(const struct fw_worker *worker);
/* Before the worker is cleared. */
void fw_worker_log_end(const struct fw_worker *worker, const struct fw_worker_exit *how);

#endif
