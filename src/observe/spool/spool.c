/*
 * spool.c - two buffers. Callers append records to one of them; the thread swaps it
 * for the other and works without the lock. So a record costs one copy, and the lock
 * is held only for that copy.
 *
 * The thread is woken only when it sleeps because there is no work. Under load it
 * finds the next batch by itself, after its window.
 */
#include "observe/spool/spool.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/queue_thread.h"

#include <faultwire/raise.h>
#include <faultwire/raw.h>

enum { KEPT_BYTES = 64 * 1024 };

/* The file of a buffer. */
struct mirror {
	int fd; /* -1: none */
	uint64_t end;
	bool is_partial; /* a record of the buffer is missing */
};

struct fw_spool {
	struct fw_spool_options options;
	struct fw_queue_thread queue; /* for its thread and lock; records are in `waiting` */
	struct fw_buf waiting;
	size_t waiting_count;
	size_t mark; /* start of the record that is being written */
	struct fw_buf taken;
	size_t taken_count;
	uint64_t lost;          /* total */
	uint64_t lost_reported; /* in batches */
	bool is_asleep;
	bool is_reminded;
	struct mirror waiting_mirror;
	struct mirror taken_mirror;
	size_t mirror_head;
	int mirror_failure;
};

/* ---- mirrors -------------------------------------------------------------------- */

/* Locked. A part of a record after `end` is overwritten by the next one. */
static void mirror_record(struct fw_spool *spool, const char *record, size_t len)
{
	struct mirror *mirror = &spool->waiting_mirror;
	ssize_t done;

	if (mirror->fd < 0) {
		mirror->is_partial = true;
		return;
	}
	do {
		done = pwrite(mirror->fd, record, len, (off_t)mirror->end);
	} while (done < 0 && errno == EINTR);
	if (done == (ssize_t)len) {
		mirror->end += len;
		return;
	}
	spool->mirror_failure = done < 0 ? errno : ENOSPC;
	mirror->is_partial = true;
}

/* Its batch is done. Zeros end the file for a reader; most of its pages are used again. */
static void empty_mirror(const struct fw_spool *spool, struct mirror *mirror)
{
	static const char zeros[8];
	ssize_t done = 0;

	mirror->is_partial = false;
	if (mirror->fd < 0 || mirror->end == spool->mirror_head)
		return;
	if (mirror->end > KEPT_BYTES)
		done = ftruncate(mirror->fd, (off_t)spool->mirror_head);
	else
		done = pwrite(mirror->fd, zeros, sizeof zeros, (off_t)spool->mirror_head);
	/* If that failed, records are delivered twice after a kill, which their reader
	 * notices. */
	(void)done;
	mirror->end = spool->mirror_head;
}

void fw_spool_mirror(struct fw_spool *spool, const int fds[2], size_t head)
{
	spool->mirror_head = head;
	spool->waiting_mirror.fd = fds[0];
	spool->taken_mirror.fd = fds[1];
	spool->waiting_mirror.end = spool->taken_mirror.end = head;
}

int fw_spool_mirror_failure(struct fw_spool *spool)
{
	int failure;

	fw_spool_lock(spool);
	failure = spool->mirror_failure;
	spool->mirror_failure = 0;
	fw_spool_unlock(spool);
	return failure;
}

/* ---- putting -------------------------------------------------------------------- */

void fw_spool_lock(struct fw_spool *spool)
{
	fw_queue_thread_lock(&spool->queue);
}

void fw_spool_unlock(struct fw_spool *spool)
{
	fw_queue_thread_unlock(&spool->queue);
}

struct fw_buf *fw_spool_begin(struct fw_spool *spool)
{
	static const char no_length[sizeof(uint32_t)];

	if (!fw_queue_thread_is_here(&spool->queue))
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
	fw_queue_thread_wake(&spool->queue);
}

void fw_spool_end(struct fw_spool *spool)
{
	struct fw_buf *buf = &spool->waiting;

	if (buf->state == FW_BUF_OK) {
		uint32_t len = (uint32_t)(buf->len - spool->mark - sizeof len);

		memcpy(buf->text + spool->mark, &len, sizeof len);
		spool->waiting_count++;
		mirror_record(spool, buf->text + spool->mark + sizeof len, len);
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
	/* Later reminders do not shorten the wait. */
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

/* Locked. Sleeps for `ms`; 0: without a limit. `may_be_woken`: new records end it. */
static void rest(struct fw_spool *spool, unsigned ms, bool may_be_woken)
{
	spool->is_asleep = may_be_woken;
	(void)fw_queue_thread_wait(&spool->queue,
				   ms ? fw_steady_ns() + (int64_t)ms * 1000000 : INT64_MAX);
	spool->is_asleep = false;
}

/* Locked. Waits until there is something to do. */
static void wait_for_work(struct fw_spool *spool)
{
	const struct fw_spool_options *options = &spool->options;

	if (spool->taken_count) {
		/* The last batch failed: new records wait as well. */
		if (!spool->queue.is_stopping)
			rest(spool, options->retry_ms, false);
		return;
	}
	while (!spool->waiting_count && !spool->queue.is_stopping && !spool->is_reminded &&
	       spool->lost == spool->lost_reported)
		rest(spool, 0, true);
	if (!spool->queue.is_stopping && spool->waiting_count && options->window_ms)
		rest(spool, options->window_ms, false);
	else if (!spool->queue.is_stopping && spool->is_reminded)
		rest(spool, options->tick_ms, true);
}

/* Locked. Swaps the buffers, unless a batch has to be repeated. */
static void take(struct fw_spool *spool)
{
	struct fw_buf empty = spool->taken;
	struct mirror mirror = spool->taken_mirror;

	if (spool->taken_count)
		return;
	spool->taken = spool->waiting;
	spool->taken_count = spool->waiting_count;
	spool->waiting = empty;
	spool->waiting_count = 0;
	spool->taken_mirror = spool->waiting_mirror;
	spool->waiting_mirror = mirror;
}

/* Locked. The spool ends, and the batch failed. True: it stays in its mirror, and so does
 * what came later, because mirrors are read in order. */
static bool leave(struct fw_spool *spool, bool is_mirrored)
{
	if (!is_mirrored) {
		spool->lost += spool->taken_count;
		return false;
	}
	if (spool->waiting_mirror.is_partial)
		spool->lost += spool->waiting_count;
	return true;
}

static void work(void *ctx)
{
	struct fw_spool *spool = ctx;
	bool is_last = false;

	fw_spool_lock(spool);
	while (!is_last) {
		struct fw_spool_batch batch;
		struct mirror mirror;
		uint64_t lost;
		bool is_done;

		wait_for_work(spool);
		take(spool);
		is_last = spool->queue.is_stopping && !spool->waiting_count;
		lost = spool->lost;
		spool->is_reminded = false;
		batch = (struct fw_spool_batch){
			.records = spool->taken.text,
			.len = spool->taken.len,
			.count = spool->taken_count,
			.lost = lost - spool->lost_reported,
			.is_last = is_last,
			.is_mirrored = !spool->taken_mirror.is_partial,
		};
		mirror = spool->taken_mirror;
		fw_spool_unlock(spool);
		is_done = spool->options.work(spool->options.ctx, &batch) || !batch.count;
		if (is_done)
			empty_mirror(spool, &mirror);
		fw_spool_lock(spool);
		if (mirror.fd == spool->taken_mirror.fd) /* not given meanwhile */
			spool->taken_mirror = mirror;
		if (is_done) {
			spool->lost_reported = lost;
		} else if (spool->queue.is_stopping) {
			is_last |= leave(spool, batch.is_mirrored);
			is_done = true;
		}
		if (is_done) {
			fw_buf_reset(&spool->taken, KEPT_BYTES);
			spool->taken_count = 0;
		}
	}
	fw_spool_unlock(spool);
}

/* ---- lifecycle ---------------------------------------------------------------------- */

static void destroy(struct fw_spool *spool)
{
	fw_buf_clear(&spool->waiting);
	fw_buf_clear(&spool->taken);
	fw_queue_thread_clear(&spool->queue);
	fw__release(spool);
}

fw_error *fw_spool_new(const struct fw_spool_options *options, struct fw_spool **ret_spool)
{
	struct fw_spool *spool = fw__allocate(sizeof *spool);
	int error;

	if (!spool)
		return fw_raise_internal_out_of_memory();
	memset(spool, 0, sizeof *spool);
	spool->options = *options;
	fw_buf_init(&spool->waiting, options->max_bytes);
	fw_buf_init(&spool->taken, options->max_bytes);
	spool->waiting_mirror.fd = spool->taken_mirror.fd = -1;
	fw_queue_thread_init(&spool->queue);
	error = fw_queue_thread_start(&spool->queue, work, NULL, spool);
	if (error) {
		destroy(spool);
		return fw_error_wrap(fw_error_from_errno(FW_HERE, error, "a thread"), FW_HERE,
				     "could not start a thread");
	}
	*ret_spool = spool;
	return NULL;
}

void fw_spool_free(struct fw_spool *spool)
{
	if (!spool)
		return;
	(void)fw_queue_thread_stop(&spool->queue, INT64_MAX);
	destroy(spool);
}
