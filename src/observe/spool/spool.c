/*
 * spool.c - two buffers. Those who put records share one of them; the thread
 * takes it whole, leaves the other in its place, and works unlocked. So a
 * record costs its own bytes, copied once, and the lock is held only for that.
 *
 * The thread is woken only when it sleeps for want of work; under load it finds
 * the next batch by itself, after its window.
 */
#include "observe/spool/spool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

#include <faultwire/raise.h>
#include <faultwire/raw.h>

enum { KEPT_BYTES = 64 * 1024 };

struct fw_spool {
	struct fw_spool_options options;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wanted;
	pid_t pid;
	struct fw_buf waiting; /* records that nobody has taken yet */
	size_t waiting_count;
	size_t mark; /* where the record that is being written starts */
	struct fw_buf taken;
	size_t taken_count;
	uint64_t lost;      /* in all */
	uint64_t lost_told; /* of these */
	bool is_asleep;
	bool is_over;
	bool is_reminded;
};

/* ---- putting -------------------------------------------------------------------- */

void fw_spool_lock(struct fw_spool *spool)
{
	(void)pthread_mutex_lock(&spool->lock);
}

void fw_spool_unlock(struct fw_spool *spool)
{
	(void)pthread_mutex_unlock(&spool->lock);
}

struct fw_buf *fw_spool_begin(struct fw_spool *spool)
{
	static const char no_length[sizeof(uint32_t)];

	if (spool->pid != getpid())
		return NULL;
	fw_spool_lock(spool);
	spool->mark = spool->waiting.len;
	fw_buf_put(&spool->waiting, no_length, sizeof no_length);
	return &spool->waiting;
}

static void take_back(struct fw_spool *spool)
{
	spool->waiting.len = spool->mark;
	spool->waiting.state = FW_BUF_OK;
}

static void wake(struct fw_spool *spool)
{
	if (!spool->is_asleep)
		return;
	spool->is_asleep = false;
	(void)pthread_cond_signal(&spool->wanted);
}

void fw_spool_end(struct fw_spool *spool)
{
	struct fw_buf *buf = &spool->waiting;

	if (buf->state == FW_BUF_OK) {
		uint32_t len = (uint32_t)(buf->len - spool->mark - sizeof len);

		memcpy(buf->text + spool->mark, &len, sizeof len);
		spool->waiting_count++;
	} else {
		take_back(spool);
		spool->lost++;
	}
	wake(spool);
	fw_spool_unlock(spool);
}

void fw_spool_cancel(struct fw_spool *spool)
{
	take_back(spool);
	fw_spool_unlock(spool);
}

void fw_spool_remind(struct fw_spool *spool)
{
	/* Once is enough: it knows when to look. */
	if (!spool->is_reminded)
		wake(spool);
	spool->is_reminded = true;
}

uint64_t fw_spool_lost(struct fw_spool *spool)
{
	uint64_t lost;

	fw_spool_lock(spool);
	lost = spool->lost;
	fw_spool_unlock(spool);
	return lost;
}

size_t fw_spool_waiting(struct fw_spool *spool)
{
	size_t len;

	fw_spool_lock(spool);
	len = spool->waiting.len + spool->taken.len;
	fw_spool_unlock(spool);
	return len;
}

const char *fw_spool_next(const struct fw_spool_batch *batch, size_t *at, size_t *ret_len)
{
	uint32_t len;
	const char *record;

	if (*at >= batch->len)
		return NULL;
	memcpy(&len, batch->records + *at, sizeof len);
	record = batch->records + *at + sizeof len;
	*at += sizeof len + len;
	*ret_len = len;
	return record;
}

/* ---- the thread ------------------------------------------------------------------- */

/* Locked. Until somebody wakes it, or for so long; 0: for ever. */
static void rest(struct fw_spool *spool, unsigned ms, bool may_be_woken)
{
	struct timespec until;

	spool->is_asleep = may_be_woken;
	if (!ms) {
		(void)pthread_cond_wait(&spool->wanted, &spool->lock);
		spool->is_asleep = false;
		return;
	}
	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	(void)pthread_cond_timedwait(&spool->wanted, &spool->lock, &until);
	spool->is_asleep = false;
}

/* Locked. Until there is something to do. */
static void await(struct fw_spool *spool)
{
	const struct fw_spool_options *options = &spool->options;

	if (spool->taken_count) {
		/* Not done the last time: others may wait as long. */
		if (!spool->is_over)
			rest(spool, options->retry_ms, false);
		return;
	}
	while (!spool->waiting_count && !spool->is_over && !spool->is_reminded &&
	       spool->lost == spool->lost_told)
		rest(spool, 0, true);
	if (!spool->is_over && spool->waiting_count && options->window_ms)
		rest(spool, options->window_ms, false);
	else if (!spool->is_over && spool->is_reminded)
		rest(spool, options->tick_ms, true);
}

/* Locked. What waits becomes what is taken. */
static void take(struct fw_spool *spool)
{
	struct fw_buf empty = spool->taken;

	if (spool->taken_count)
		return;
	spool->taken = spool->waiting;
	spool->taken_count = spool->waiting_count;
	spool->waiting = empty;
	spool->waiting_count = 0;
}

static void *work(void *ctx)
{
	struct fw_spool *spool = ctx;
	bool is_last = false;

	fw_spool_lock(spool);
	while (!is_last) {
		struct fw_spool_batch batch;
		uint64_t lost;
		bool is_done;

		await(spool);
		take(spool);
		/* The end comes when nothing is left behind what was taken. */
		is_last = spool->is_over && !spool->waiting_count;
		lost = spool->lost;
		spool->is_reminded = false;
		batch = (struct fw_spool_batch){
			.records = spool->taken.text,
			.len = spool->taken.len,
			.count = spool->taken_count,
			.lost = lost - spool->lost_told,
			.is_last = is_last,
		};
		fw_spool_unlock(spool);
		is_done = spool->options.work(spool->options.ctx, &batch);
		fw_spool_lock(spool);
		if (is_done || !spool->taken_count) {
			is_done = true;
			spool->lost_told = lost;
		} else if (spool->is_over) {
			spool->lost += spool->taken_count;
			is_done = true;
		}
		if (is_done) {
			fw_buf_reset(&spool->taken, KEPT_BYTES);
			spool->taken_count = 0;
		}
	}
	fw_spool_unlock(spool);
	return NULL;
}

/* ---- its life ---------------------------------------------------------------------- */

/* Signals are the loop's: none is taken here. A pipe that nobody reads is EPIPE. */
static int start(struct fw_spool *spool)
{
	sigset_t all, before;
	int error;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&spool->thread, NULL, work, spool);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

static void destroy(struct fw_spool *spool)
{
	fw_buf_clear(&spool->waiting);
	fw_buf_clear(&spool->taken);
	(void)pthread_cond_destroy(&spool->wanted);
	(void)pthread_mutex_destroy(&spool->lock);
	fw__release(spool);
}

fw_error *fw_spool_new(const struct fw_spool_options *options, struct fw_spool **ret_spool)
{
	struct fw_spool *spool = fw__allocate(sizeof *spool);
	pthread_condattr_t clock;
	int error;

	if (!spool)
		return fw_raise_internal_out_of_memory();
	memset(spool, 0, sizeof *spool);
	spool->options = *options;
	spool->pid = getpid();
	fw_buf_init(&spool->waiting, options->max_bytes);
	fw_buf_init(&spool->taken, options->max_bytes);
	(void)pthread_mutex_init(&spool->lock, NULL);
	(void)pthread_condattr_init(&clock);
	(void)pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&spool->wanted, &clock);
	(void)pthread_condattr_destroy(&clock);
	error = start(spool);
	if (error) {
		destroy(spool);
		return fw_error_from_errno(FW_HERE, error, "a thread");
	}
	*ret_spool = spool;
	return NULL;
}

void fw_spool_free(struct fw_spool *spool)
{
	if (!spool)
		return;
	if (spool->pid == getpid()) {
		fw_spool_lock(spool);
		spool->is_over = true;
		(void)pthread_cond_signal(&spool->wanted);
		fw_spool_unlock(spool);
		(void)pthread_join(spool->thread, NULL);
	}
	destroy(spool);
}
