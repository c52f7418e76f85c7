/*
 * loop.c - see loop.h.
 */
#include "base/loop.h"

#include <malloc.h>
#include <stddef.h>

enum { TRIM_MS = 1000 };

static struct fw_task *take_all(struct fw_loop *loop, bool closes)
{
	struct fw_task *tasks;

	uv_mutex_lock(&loop->lock);
	tasks = loop->first;
	loop->first = NULL;
	loop->last = NULL;
	loop->is_closed = loop->is_closed || closes;
	uv_mutex_unlock(&loop->lock);
	return tasks;
}

static void run_tasks(struct fw_task *tasks, bool is_over)
{
	while (tasks) {
		/* The task may be gone, or posted again, once it has run. */
		struct fw_task *next = tasks->next;

		tasks->run(tasks, is_over);
		tasks = next;
	}
}

static void on_wakeup(uv_async_t *handle)
{
	struct fw_loop *loop = handle->data;

	if (atomic_load(&loop->stop_wanted))
		uv_stop(&loop->uv);
	run_tasks(take_all(loop, false), false);
}

int fw_loop_init(struct fw_loop *loop)
{
	int status = uv_loop_init(&loop->uv);

	if (status)
		return status;
	status = uv_mutex_init(&loop->lock);
	if (status) {
		(void)uv_loop_close(&loop->uv);
		return status;
	}
	status = uv_async_init(&loop->uv, &loop->wakeup, on_wakeup);
	if (status) {
		uv_mutex_destroy(&loop->lock);
		(void)uv_loop_close(&loop->uv);
		return status;
	}
	loop->wakeup.data = loop;
	loop->first = NULL;
	loop->last = NULL;
	loop->is_closed = false;
	loop->has_more = false;
	atomic_init(&loop->stop_wanted, false);
	fw_linger_init(&loop->linger, &loop->uv);
	(void)uv_timer_init(&loop->uv, &loop->trim);
	uv_unref((uv_handle_t *)&loop->trim);
	/* Waiting for tasks alone does not keep the loop running. */
	uv_unref((uv_handle_t *)&loop->wakeup);
	return 0;
}

void fw_loop_run(struct fw_loop *loop)
{
	if (!atomic_load(&loop->stop_wanted))
		(void)uv_run(&loop->uv, UV_RUN_DEFAULT);
	atomic_store(&loop->stop_wanted, false);
}

void fw_loop_stop(struct fw_loop *loop)
{
	atomic_store(&loop->stop_wanted, true);
	(void)uv_async_send(&loop->wakeup);
}

bool fw_loop_post(struct fw_loop *loop, struct fw_task *task)
{
	bool is_taken;

	task->next = NULL;
	uv_mutex_lock(&loop->lock);
	is_taken = !loop->is_closed;
	if (is_taken && loop->last)
		loop->last->next = task;
	else if (is_taken)
		loop->first = task;
	if (is_taken) {
		loop->last = task;
		/* Under the lock: after it, the loop may be closed. */
		(void)uv_async_send(&loop->wakeup);
	}
	uv_mutex_unlock(&loop->lock);
	return is_taken;
}

static void on_trim(uv_timer_t *timer)
{
	(void)timer;
#ifdef __GLIBC__
	(void)malloc_trim(0);
#endif
}

void fw_loop_trim_later(struct fw_loop *loop)
{
	(void)uv_timer_start(&loop->trim, on_trim, TRIM_MS, 0);
}

void fw_loop_close(struct fw_loop *loop)
{
	if (!loop->wakeup.data)
		return;
	run_tasks(take_all(loop, true), true);
	uv_close((uv_handle_t *)&loop->wakeup, NULL);
	uv_close((uv_handle_t *)&loop->trim, NULL);
	fw_linger_close(&loop->linger);
	(void)uv_run(&loop->uv, UV_RUN_DEFAULT);
	(void)uv_loop_close(&loop->uv);
	uv_mutex_destroy(&loop->lock);
	loop->wakeup.data = NULL;
}
