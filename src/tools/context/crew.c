/*
 * crew.c - many items, several threads, one answer.
 *
 * Items are handed out in ascending order, so that when one fails all before it
 * have been begun: the failure of the lowest one is the answer, however many
 * threads there are and however they are scheduled.
 */
#include "tools/context/impl.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

enum { BATCH = 16 };

struct crew {
	const struct fw_crew *crew;
	atomic_size_t next;
	atomic_size_t end; /* nobody begins an item from here on */
	pthread_mutex_t lock;
	fw_error *err; /* of the item `end` */
};

struct member {
	struct crew *crew;
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

static void fail(struct crew *crew, size_t item, fw_error *err)
{
	(void)pthread_mutex_lock(&crew->lock);
	if (item < atomic_load(&crew->end)) {
		fw_error_free(crew->err);
		crew->err = err;
		atomic_store(&crew->end, item);
		err = NULL;
	}
	(void)pthread_mutex_unlock(&crew->lock);
	fw_error_free(err);
}

static void *work(void *ctx)
{
	struct member *member = ctx;
	struct crew *crew = member->crew;

	for (;;) {
		size_t item = atomic_fetch_add(&crew->next, BATCH);

		if (item >= atomic_load(&crew->end))
			return NULL;
		for (size_t end = item + BATCH; item < end; item++) {
			fw_error *err;

			if (item >= atomic_load(&crew->end))
				return NULL;
			err = crew->crew->work(crew->crew->ctx, member->number, item);
			if (err)
				fail(crew, item, err);
		}
	}
}

fw_error *fw_crew_run(const struct fw_crew *crew)
{
	struct crew state = { .crew = crew };
	struct member members[FW_CONTEXT_THREADS_MAX];
	unsigned wanted =
		crew->threads < FW_CONTEXT_THREADS_MAX ? crew->threads : FW_CONTEXT_THREADS_MAX;
	unsigned started = 1;
	sigset_t all, before;

	if ((crew->count + BATCH - 1) / BATCH < wanted)
		wanted = (unsigned)((crew->count + BATCH - 1) / BATCH);
	atomic_store(&state.end, crew->count);
	(void)pthread_mutex_init(&state.lock, NULL);
	members[0] = (struct member){ &state, 0, pthread_self() };
	/* Signals are for the thread that was there before. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	for (; started < wanted; started++) {
		members[started] = (struct member){ .crew = &state, .number = started };
		if (pthread_create(&members[started].thread, NULL, work, &members[started]))
			break; /* fewer hands do it, too */
	}
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)work(&members[0]);
	for (unsigned i = 1; i < started; i++)
		(void)pthread_join(members[i].thread, NULL);
	(void)pthread_mutex_destroy(&state.lock);
	return state.err;
}
