/*
 * crew.c - a loop whose iterations run on several threads.
 *
 * Items are handed out in ascending order, so when one fails, all items before it
 * have been started. The error of the lowest failing item is returned, regardless of
 * the number of threads and of their scheduling.
 */
#include "tools/common/crew.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

enum { BATCH = 16 };

struct state {
	const struct fw_crew *crew;
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

unsigned fw_crew_size(unsigned wanted)
{
	cpu_set_t set;

	if (wanted == 0)
		wanted = sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set)
								     : 1;
	return wanted < FW_CREW_MAX ? wanted : FW_CREW_MAX;
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
			err = state->crew->work(state->crew->ctx, member->number, item);
			if (err)
				fail(state, item, err);
		}
	}
}

fw_error *fw_crew_run(const struct fw_crew *crew)
{
	struct state state = { .crew = crew };
	struct member members[FW_CREW_MAX];
	unsigned wanted = crew->threads < FW_CREW_MAX ? crew->threads : FW_CREW_MAX;
	unsigned started = 1;
	sigset_t all, before;

	if ((crew->count + BATCH - 1) / BATCH < wanted)
		wanted = (unsigned)((crew->count + BATCH - 1) / BATCH);
	atomic_store(&state.end, crew->count);
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
