/*
 * parallel.c - a loop whose iterations run on several threads.
 *
 * Items are handed out in ascending order, so when one fails, all items before it
 * have been started. The error of the lowest failing item is returned, regardless of
 * the number of threads and of their scheduling.
 */
#include "tools/context/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

enum { BATCH = 16 };

struct state {
	const struct fw_context_parallel *loop;
	atomic_size_t next;
	atomic_size_t end; /* no thread starts this item or a later one */
	pthread_mutex_t lock;
	fw_error *err; /* of the item `end` */
};

struct member {
	struct state *state;
	unsigned number;
	pthread_t thread;
};

unsigned fw_context_threads(const struct fw_context_run *run)
{
	unsigned threads = run ? run->threads : 0;
	cpu_set_t set;

	if (threads == 0)
		threads = sched_getaffinity(0, sizeof set, &set) == 0
				  ? (unsigned)CPU_COUNT(&set)
				  : 1;
	return threads < FW_CONTEXT_THREADS_MAX ? threads : FW_CONTEXT_THREADS_MAX;
}

static void fail(struct state *state, size_t item, fw_error *err)
{
	(void)pthread_mutex_lock(&state->lock);
	if (item < atomic_load(&state->end)) {
		fw_error_free(state->err);
		state->err = err;
		atomic_store(&state->end, item);
		err = NULL;
	}
	(void)pthread_mutex_unlock(&state->lock);
	fw_error_free(err);
}

static void *work(void *ctx)
{
	struct member *member = ctx;
	struct state *state = member->state;

	for (;;) {
		size_t item = atomic_fetch_add(&state->next, BATCH);

		if (item >= atomic_load(&state->end))
			return NULL;
		for (size_t end = item + BATCH; item < end; item++) {
			fw_error *err;

			if (item >= atomic_load(&state->end))
				return NULL;
			err = state->loop->work(state->loop->ctx, member->number, item);
			if (err)
				fail(state, item, err);
		}
	}
}

fw_error *fw_context_parallel_run(const struct fw_context_parallel *loop)
{
	struct state state = { .loop = loop };
	struct member members[FW_CONTEXT_THREADS_MAX];
	unsigned wanted =
		loop->threads < FW_CONTEXT_THREADS_MAX ? loop->threads : FW_CONTEXT_THREADS_MAX;
	unsigned started = 1;
	sigset_t all, before;

	if ((loop->count + BATCH - 1) / BATCH < wanted)
		wanted = (unsigned)((loop->count + BATCH - 1) / BATCH);
	atomic_store(&state.end, loop->count);
	(void)pthread_mutex_init(&state.lock, NULL);
	members[0] = (struct member){ &state, 0, pthread_self() };
	/* Signals are handled by the calling thread only. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	for (; started < wanted; started++) {
		members[started] = (struct member){ .state = &state, .number = started };
		if (pthread_create(&members[started].thread, NULL, work, &members[started]))
			break; /* continue with fewer threads */
	}
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)work(&members[0]);
	for (unsigned i = 1; i < started; i++)
		(void)pthread_join(members[i].thread, NULL);
	(void)pthread_mutex_destroy(&state.lock);
	return state.err;
}
