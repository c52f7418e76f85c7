/*
 * queue_thread.h - a thread that works off a queue: the lock, the queue, waiting for
 * work with a time limit, and an orderly stop.
 *
 * The owner embeds this struct and writes the thread's function, which loops: lock,
 * wait, take what is queued, unlock, work. Data that the thread shares with its
 * callers may be kept under the same lock.
 *
 * The one rule to remember: the thread's function returns only after it has seen
 * `is_stopping` and an empty queue.
 */
#ifndef FW_BASE_QUEUE_THREAD_H
#define FW_BASE_QUEUE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The first member of what is queued. */
struct fw_queue_item {
	struct fw_queue_item *next;
};

struct fw_queue_thread {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work;  /* for the thread: a wake-up, or the stop */
	pthread_cond_t state; /* for others: fw_queue_thread_announce(), or the end */
	pid_t pid;            /* the process that has the thread; 0: not started */
	void (*run)(void *ctx);
	void (*abandoned)(void *ctx);
	void *ctx;
	/* Under the lock, for reading by the owner: */
	struct fw_queue_item *first; /* the oldest */
	struct fw_queue_item *last;
	size_t count;
	bool is_stopping;
	bool is_abandoned; /* the stop timed out; the thread is not joined */
	bool is_ended;
};

/* ---- lifecycle ---------------------------------------------------------- */

void fw_queue_thread_init(struct fw_queue_thread *queue);

/* Starts the thread, with all signals blocked. `abandoned` (may be NULL) is called at
 * its end if the stop has timed out; it may free everything. 0, or an errno value. */
int fw_queue_thread_start(struct fw_queue_thread *queue, void (*run)(void *ctx),
			  void (*abandoned)(void *ctx), void *ctx);

/* Ends the thread and waits for it; without a thread, a no-op. False: it did not end
 * within `timeout_ms`, is detached, and still uses the struct. INT64_MAX: no
 * limit. */
bool fw_queue_thread_stop(struct fw_queue_thread *queue, int64_t timeout_ms);

/* After the thread has ended, or if none was started. Items in the queue are the
 * caller's. */
void fw_queue_thread_clear(struct fw_queue_thread *queue);

/* False in a forked child, which has the struct but not the thread. */
bool fw_queue_thread_is_here(const struct fw_queue_thread *queue);

void fw_queue_thread_lock(struct fw_queue_thread *queue);
void fw_queue_thread_unlock(struct fw_queue_thread *queue);

/* ---- for callers -------------------------------------------------------- */

/* Locked. The item is the last one. It does not wake the thread. */
void fw_queue_thread_push(struct fw_queue_thread *queue, struct fw_queue_item *item);

/* Wakes the thread; locked or not. */
void fw_queue_thread_wake(struct fw_queue_thread *queue);

/* Locked. Waits for the next announcement or the end of the thread; in a loop, as
 * with any condition variable. */
void fw_queue_thread_await(struct fw_queue_thread *queue);

/* ---- for the thread ----------------------------------------------------- */

/* Locked. Waits until it is woken, or until that time of fw_steady_ns(); INT64_MAX: no
 * limit. False: the time has passed. May return early. */
bool fw_queue_thread_wait(struct fw_queue_thread *queue, int64_t until_ns);

/* Locked. All items, oldest first; the queue is empty then. */
struct fw_queue_item *fw_queue_thread_take(struct fw_queue_thread *queue);

/* Locked. Wakes those in fw_queue_thread_await(). */
void fw_queue_thread_announce(struct fw_queue_thread *queue);

#endif
