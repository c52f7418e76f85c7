/*
 * timer.c - see timer.h.
 */
#include "base/timer.h"

#include <sys/timerfd.h>
#include <unistd.h>

/* The descriptor has not fired, or was set again since. */
static bool is_early(const struct fw_timer *timer)
{
	uint64_t times;

	return read(timer->fd, &times, sizeof times) != sizeof times;
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
	struct fw_timer *timer = poll->data;

	(void)status;
	(void)events;
	if (is_early(timer))
		return;
	(void)uv_poll_stop(poll);
	timer->ring(timer->ctx);
}

static void on_uv_timer(uv_timer_t *handle)
{
	struct fw_timer *timer = handle->data;

	timer->ring(timer->ctx);
}

void fw_timer_init(uv_loop_t *loop, struct fw_timer *timer, fw_timer_fn *ring, void *ctx)
{
	timer->ring = ring;
	timer->ctx = ctx;
	timer->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (timer->fd >= 0 && uv_poll_init(loop, &timer->handle.poll, timer->fd) != 0) {
		(void)close(timer->fd);
		timer->fd = -1;
	}
	if (timer->fd < 0)
		(void)uv_timer_init(loop, &timer->handle.uv);
	timer->handle.any.data = timer;
}

void fw_timer_set(struct fw_timer *timer, uint64_t delay_ms)
{
	/* Zero would disarm it. */
	const struct itimerspec due = {
		.it_value = { .tv_sec = (time_t)(delay_ms / 1000),
			      .tv_nsec = (long)(delay_ms % 1000) * 1000000 + !delay_ms }
	};

	if (timer->fd < 0) {
		(void)uv_timer_start(&timer->handle.uv, on_uv_timer, delay_ms, 0);
		return;
	}
	(void)timerfd_settime(timer->fd, 0, &due, NULL);
	if (!fw_timer_is_set(timer))
		(void)uv_poll_start(&timer->handle.poll, UV_READABLE, on_ready);
}

void fw_timer_stop(struct fw_timer *timer)
{
	if (timer->fd < 0)
		(void)uv_timer_stop(&timer->handle.uv);
	else
		(void)uv_poll_stop(&timer->handle.poll);
}

void fw_timer_close(struct fw_timer *timer, uv_close_cb closed)
{
	fw_timer_stop(timer);
	uv_close(&timer->handle.any, closed);
	if (timer->fd >= 0)
		(void)close(timer->fd);
	timer->fd = -1;
}
