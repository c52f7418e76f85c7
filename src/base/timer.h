/*
 * timer.h - a timer of the loop for times that are far away and rarely reached: deadlines,
 * expiries, sweeps.
 *
 * While a timer of libuv is set, each wait of the loop has a time limit, and the kernel sets
 * and cancels a timer of its own for each wait: 0.35 us, which is a tenth of a call that a
 * gateway passes on. This one is a timerfd. It costs a system call to set it, and nothing
 * while the loop waits. For times that change with every call, use uv_timer_t.
 */
#ifndef FW_BASE_TIMER_H
#define FW_BASE_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

typedef void fw_timer_fn(void *ctx);

struct fw_timer {
	/* First, so that a closed handle is the address of its timer. */
	union {
		uv_handle_t any;
		uv_poll_t poll;
		uv_timer_t uv;
	} handle;
	int fd; /* -1: there was no descriptor left, so the handle is libuv's timer */
	fw_timer_fn *ring;
	void *ctx;
};

/* Not set yet. `ring` is called on the loop's thread. */
void fw_timer_init(uv_loop_t *loop, struct fw_timer *timer, fw_timer_fn *ring, void *ctx);

/* Rings once, `delay_ms` after now or soon after that; 0: in the next iteration. Replaces what
 * was set before. The loop keeps running until then. */
void fw_timer_set(struct fw_timer *timer, uint64_t delay_ms);

static inline bool fw_timer_is_set(const struct fw_timer *timer)
{
	return uv_is_active(&timer->handle.any) != 0;
}

/* It does not ring any more, until it is set again. */
void fw_timer_stop(struct fw_timer *timer);

/* Ends it. `closed` may be NULL; it gets the address of the timer, which may be freed then. */
void fw_timer_close(struct fw_timer *timer, uv_close_cb closed);

#endif
