/*
 * hunt.c - see hunt.h. The files that wait, and the hits that are kept.
 */
#include "tools/code/hunt_impl.h"

#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tools/common/crew.h"

#include <faultwire/raise.h>

/* ---- lifecycle ---- */

static void *run(void *ctx)
{
	fw_hunt__run(ctx);
	return NULL;
}

static void start_threads(struct fw_hunt *hunt)
{
	static const int faults[] = { SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT, SIGSYS };
	unsigned wanted = fw_crew_size(hunt->options.threads);
	sigset_t all, before;

	hunt->has_started = true;
	if (wanted > FW_HUNT_THREADS)
		wanted = FW_HUNT_THREADS;
	/* Signals are handled by the calling thread only, but for those of a thread's own faults:
	 * they are recorded (worker/crash.c), or handled (mapped.c). */
	(void)sigfillset(&all);
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		(void)sigdelset(&all, faults[i]);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	/* With fewer threads it takes longer. */
	while (hunt->thread_count + 1 < wanted &&
	       pthread_create(&hunt->threads[hunt->thread_count], NULL, run, hunt) == 0)
		hunt->thread_count++;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

fw_error *fw_hunt_new(const struct fw_hunt_options *options, struct fw_hunt **ret_hunt)
{
	struct fw_hunt *hunt = fw__allocate(sizeof *hunt);

	if (!hunt)
		return fw_raise_internal_out_of_memory();
	fw__zero(hunt, sizeof *hunt);
	hunt->options = *options;
	hunt->cutoff = UINT64_MAX;
	(void)pthread_mutex_init(&hunt->lock, NULL);
	(void)pthread_cond_init(&hunt->added, NULL);
	*ret_hunt = hunt;
	return NULL;
}

static void join(struct fw_hunt *hunt)
{
	(void)pthread_mutex_lock(&hunt->lock);
	hunt->is_added = true;
	(void)pthread_cond_broadcast(&hunt->added);
	(void)pthread_mutex_unlock(&hunt->lock);
	while (hunt->thread_count)
		(void)pthread_join(hunt->threads[--hunt->thread_count], NULL);
}

void fw_hunt_free(struct fw_hunt *hunt)
{
	if (!hunt)
		return;
	hunt->is_ended = true;
	join(hunt);
	fw_code_paths_clear(&hunt->paths);
	for (size_t i = 0; i < hunt->hit_count; i++)
		fw__release(hunt->hits[i].preview);
	fw__release(hunt->hits);
	fw__release(hunt->files);
	fw_error_free(hunt->err);
	(void)pthread_cond_destroy(&hunt->added);
	(void)pthread_mutex_destroy(&hunt->lock);
	fw__release(hunt);
}

void fw_hunt__end(struct fw_hunt *hunt, enum fw_hunt_end end)
{
	hunt->end = (int)end;
	hunt->is_ended = true;
	(void)pthread_mutex_lock(&hunt->lock);
	(void)pthread_cond_broadcast(&hunt->added);
	(void)pthread_mutex_unlock(&hunt->lock);
}

void fw_hunt__fail(struct fw_hunt *hunt, fw_error *err)
{
	(void)pthread_mutex_lock(&hunt->lock);
	if (!hunt->err) {
		hunt->err = err;
		err = NULL;
	}
	(void)pthread_mutex_unlock(&hunt->lock);
	fw_error_free(err);
	fw_hunt__end(hunt, FW_HUNT_COMPLETE);
}

/* ---- files ---- */

static bool add(struct fw_hunt *hunt, const struct fw_hunt_where *where, const char *path,
		size_t len)
{
	const char *kept = fw_code_paths_add(&hunt->paths, path, len);

	if (hunt->count == hunt->room) {
		size_t room = hunt->room ? 2 * hunt->room : 1024;
		struct fw_hunt_file *more = fw__reallocate(hunt->files, room * sizeof *more);

		if (!more)
			return false;
		hunt->files = more;
		hunt->room = room;
	}
	if (!kept)
		return false;
	hunt->files[hunt->count++] = (struct fw_hunt_file){ *where, kept };
	return true;
}

bool fw_hunt_add(struct fw_hunt *hunt, const struct fw_hunt_where *where, const char *path,
		 size_t len)
{
	bool is_added;

	(void)pthread_mutex_lock(&hunt->lock);
	is_added = add(hunt, where, path, len);
	/* One waiting thread takes a batch. */
	if (hunt->count - hunt->next == FW_HUNT_BATCH)
		(void)pthread_cond_signal(&hunt->added);
	(void)pthread_mutex_unlock(&hunt->lock);
	/* Few files take less time than to start a thread and to wait for its end. */
	if (!hunt->has_started && hunt->count >= FW_HUNT_BATCH)
		start_threads(hunt);
	if (!is_added)
		fw_hunt__fail(hunt, fw_raise_internal_out_of_memory());
	return !hunt->is_ended;
}

bool fw_hunt_has_ended(struct fw_hunt *hunt)
{
	const struct fw_hunt_options *options = &hunt->options;

	if (hunt->is_ended)
		return true;
	if (fw_steady_ms() >= options->until_ms)
		fw_hunt__end(hunt, FW_HUNT_TIMED_OUT);
	else if (options->is_cancelled && options->is_cancelled(options->ctx))
		fw_hunt__end(hunt, FW_HUNT_CANCELLED);
	return hunt->is_ended;
}

size_t fw_hunt__take(struct fw_hunt *hunt, struct fw_hunt_file *ret_files, uint64_t *ret_first)
{
	size_t count;

	(void)pthread_mutex_lock(&hunt->lock);
	while (hunt->count - hunt->next < FW_HUNT_BATCH && !hunt->is_added && !hunt->is_ended)
		(void)pthread_cond_wait(&hunt->added, &hunt->lock);
	count = hunt->is_ended ? 0 : hunt->count - hunt->next;
	if (count > FW_HUNT_SHARE)
		count = FW_HUNT_SHARE;
	if (count)
		memcpy(ret_files, hunt->files + hunt->next, count * sizeof *ret_files);
	*ret_first = hunt->next;
	hunt->next += count;
	(void)pthread_mutex_unlock(&hunt->lock);
	return count;
}

/* ---- hits ---- */

static bool make_room(struct fw_hunt *hunt, size_t more)
{
	size_t room = 2 * (hunt->hit_count + more);
	struct fw_hit *hits;

	if (hunt->hit_count + more <= hunt->hit_room)
		return true;
	hits = fw__reallocate(hunt->hits, room * sizeof *hits);
	if (!hits)
		return false;
	hunt->hits = hits;
	hunt->hit_room = room;
	return true;
}

/* Threads finish files out of order, so the hits of a file may belong before others. */
static void insert(struct fw_hunt *hunt, const struct fw_hit *hits, size_t count)
{
	size_t at = hunt->hit_count;

	while (at && hunt->hits[at - 1].file > hits[0].file)
		at--;
	memmove(hunt->hits + at + count, hunt->hits + at,
		(hunt->hit_count - at) * sizeof *hits);
	memcpy(hunt->hits + at, hits, count * sizeof *hits);
	hunt->hit_count += count;
	while (hunt->hit_count > hunt->options.most)
		fw__release(hunt->hits[--hunt->hit_count].preview);
	if (hunt->hit_count == hunt->options.most)
		hunt->cutoff = hunt->hits[hunt->hit_count - 1].file;
}

void fw_hunt__keep(struct fw_hunt *hunt, struct fw_hit *hits, size_t count)
{
	bool has_room;

	if (!count)
		return;
	(void)pthread_mutex_lock(&hunt->lock);
	has_room = make_room(hunt, count);
	if (has_room)
		insert(hunt, hits, count);
	(void)pthread_mutex_unlock(&hunt->lock);
	if (has_room)
		return;
	for (size_t i = 0; i < count; i++)
		fw__release(hits[i].preview);
	fw_hunt__fail(hunt, fw_raise_internal_out_of_memory());
}

/* ---- the end ---- */

fw_error *fw_hunt_finish(struct fw_hunt *hunt, enum fw_hunt_end *ret_end)
{
	fw_error *err;

	(void)pthread_mutex_lock(&hunt->lock);
	hunt->is_added = true;
	(void)pthread_cond_broadcast(&hunt->added);
	(void)pthread_mutex_unlock(&hunt->lock);
	fw_hunt__run(hunt);
	join(hunt);
	err = hunt->err;
	hunt->err = NULL;
	if (!err)
		*ret_end = (enum fw_hunt_end)hunt->end;
	return err;
}

const struct fw_hit *fw_hunt_hits(const struct fw_hunt *hunt, size_t *ret_count)
{
	*ret_count = hunt->hit_count;
	return hunt->hits;
}

uint64_t fw_hunt_total(const struct fw_hunt *hunt)
{
	return hunt->total;
}
