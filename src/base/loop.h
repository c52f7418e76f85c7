/*
 * loop.h - the event loop that a server, a client and a gateway share.
 *
 * A libuv loop, and a queue of tasks that other threads hand to it. The owner of the loop
 * runs it; the parts that use it (transports, children, HTTP requests, timers) only
 * borrow it.
 *
 * The one rule to remember: everything but fw_loop_post() and fw_loop_stop()
 * belongs to the thread that runs the loop.
 */
#ifndef FW_BASE_LOOP_H
#define FW_BASE_LOOP_H

#include <stdatomic.h>
#include <stdbool.h>

#include <uv.h>

#include "base/linger.h"

/* Work for the loop's thread. Embedded in what it works on, so that handing it
 * over needs no memory and cannot fail. A task is posted again only after it
 * has run. */
struct fw_task {
	struct fw_task *next;
	/* On the loop's thread; with `is_over` the loop closes, and the task only
	 * releases what it holds. */
	void (*run)(struct fw_task *task, bool is_over);
};

struct fw_loop {
	uv_loop_t uv;
	uv_async_t wakeup;
	uv_mutex_t lock;
	struct fw_task *first; /* under the lock, oldest first */
	struct fw_task *last;
	bool is_closed; /* under the lock: no more tasks are accepted */
	atomic_bool stop_wanted;
	/* More of the same work follows in this iteration: a writer may wait for it and write
	 * everything together before the loop blocks. */
	bool has_more;
	uv_timer_t trim;
	struct fw_linger linger;
};

/* 0, or an error of libuv. */
int fw_loop_init(struct fw_loop *loop);

/* Runs until fw_loop_stop(), or until nothing is left to wait for. */
void fw_loop_run(struct fw_loop *loop);

/* Ends fw_loop_run() after what it is doing now. From any thread, and from a
 * signal handler. */
void fw_loop_stop(struct fw_loop *loop);

/* Hands over a task, in order. From any thread. False: the loop has closed, and
 * the task is still the caller's. */
bool fw_loop_post(struct fw_loop *loop, struct fw_task *task);

/* Much memory was freed, and as much may be needed again soon: the heap returns it to the
 * system after a second without another call of this function. */
void fw_loop_trim_later(struct fw_loop *loop);

/* Runs posted tasks a last time, closes, and waits for handles that are still closing.
 * All handles must have been closed before. A loop that was zeroed and never initialised
 * is a no-op. */
void fw_loop_close(struct fw_loop *loop);

#endif
