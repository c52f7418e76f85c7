/*
 * queue_thread.c - see queue_thread.h.
 *
 * The condition variables use the monotonic clock, so that setting the wall clock
 * neither delays nor hastens a wait.
 */
#include "base/queue_thread.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

static const int64_t SECOND_NS = 1000000000;

void fw_queue_thread_init(struct fw_queue_thread *queue)
{
	pthread_condattr_t monotonic;

	memset(queue, 0, sizeof *queue);
	(void)pthread_mutex_init(&queue->lock, NULL);
	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&queue->work, &monotonic);
	(void)pthread_cond_init(&queue->state, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
}

void fw_queue_thread_clear(struct fw_queue_thread *queue)
{
	(void)pthread_cond_destroy(&queue->state);
	(void)pthread_cond_destroy(&queue->work);
	(void)pthread_mutex_destroy(&queue->lock);
}

void fw_queue_thread_lock(struct fw_queue_thread *queue)
{
	(void)pthread_mutex_lock(&queue->lock);
}

void fw_queue_thread_unlock(struct fw_queue_thread *queue)
{
	(void)pthread_mutex_unlock(&queue->lock);
}

bool fw_queue_thread_is_here(const struct fw_queue_thread *queue)
{
	return queue->pid == getpid();
}

/* ---- lifecycle ---------------------------------------------------------- */

static void *run_thread(void *arg)
{
	struct fw_queue_thread *queue = arg;
	void (*abandoned)(void *ctx) = queue->abandoned;
	void *ctx = queue->ctx;
	bool is_abandoned;

	queue->run(ctx);
	fw_queue_thread_lock(queue);
	queue->is_ended = true;
	is_abandoned = queue->is_abandoned;
	fw_queue_thread_announce(queue);
	fw_queue_thread_unlock(queue);
	/* Otherwise the struct may be gone by now. */
	if (is_abandoned && abandoned)
		abandoned(ctx);
	return NULL;
}

/* Signals belong to the program, and to its loop. A write to a closed pipe and a
 * file over its size limit are then errors of the system call. */
int fw_queue_thread_start(struct fw_queue_thread *queue, void (*run)(void *ctx),
			  void (*abandoned)(void *ctx), void *ctx)
{
	sigset_t all, before;
	int errnum;

	queue->run = run;
	queue->abandoned = abandoned;
	queue->ctx = ctx;
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	errnum = pthread_create(&queue->thread, NULL, run_thread, queue);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	queue->pid = errnum ? 0 : getpid();
	return errnum;
}

static bool wait_on(pthread_cond_t *condition, struct fw_queue_thread *queue, int64_t until_ns)
{
	struct timespec until = { .tv_sec = (time_t)(until_ns / SECOND_NS),
				  .tv_nsec = (long)(until_ns % SECOND_NS) };

	if (until_ns == INT64_MAX)
		return pthread_cond_wait(condition, &queue->lock) == 0;
	return pthread_cond_timedwait(condition, &queue->lock, &until) != ETIMEDOUT;
}

bool fw_queue_thread_stop(struct fw_queue_thread *queue, int64_t timeout_ms)
{
	int64_t until_ns =
		timeout_ms == INT64_MAX ? INT64_MAX : fw_steady_ns() + timeout_ms * 1000000;
	bool is_ended;

	if (!fw_queue_thread_is_here(queue))
		return true;
	fw_queue_thread_lock(queue);
	queue->is_stopping = true;
	fw_queue_thread_wake(queue);
	while (!queue->is_ended && wait_on(&queue->state, queue, until_ns))
		;
	is_ended = queue->is_ended;
	queue->is_abandoned = !is_ended;
	/* The lock keeps the struct alive until the thread is detached. */
	if (!is_ended)
		(void)pthread_detach(queue->thread);
	fw_queue_thread_unlock(queue);
	if (is_ended)
		(void)pthread_join(queue->thread, NULL);
	return is_ended;
}

/* ---- the queue ---------------------------------------------------------- */

void fw_queue_thread_push(struct fw_queue_thread *queue, struct fw_queue_item *item)
{
	item->next = NULL;
	if (queue->last)
		queue->last->next = item;
	else
		queue->first = item;
	queue->last = item;
	queue->count++;
}

struct fw_queue_item *fw_queue_thread_take(struct fw_queue_thread *queue)
{
	struct fw_queue_item *first = queue->first;

	queue->first = queue->last = NULL;
	queue->count = 0;
	return first;
}

void fw_queue_thread_wake(struct fw_queue_thread *queue)
{
	(void)pthread_cond_signal(&queue->work);
}

bool fw_queue_thread_wait(struct fw_queue_thread *queue, int64_t until_ns)
{
	return wait_on(&queue->work, queue, until_ns);
}

void fw_queue_thread_announce(struct fw_queue_thread *queue)
{
	(void)pthread_cond_broadcast(&queue->state);
}

void fw_queue_thread_await(struct fw_queue_thread *queue)
{
	(void)wait_on(&queue->state, queue, INT64_MAX);
}
