/*
 * audit_writer.c - the thread that writes queued records.
 *
 * While the disk syncs one batch, the next one is queued, and its records are made by
 * those who append them (all but the hash of the arguments, which may be long, and the
 * chain). So the disk limits the number of fdatasyncs, and not the number of records.
 * audit_sync.c decides when to write, and whether to make lines during a sync.
 * Only this thread uses the file, except that another one may sync it. If a batch fails, all its records fail and the audit
 * is down: the thread tries again with each new batch, and every
 * FW_LIMIT_AUDIT_PROBE_MS without one. When writing works again, a note says since when
 * it did not, and how many records were lost.
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <faultwire/raw.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "observe/audit/audit_head.h"
#include "observe/audit/audit_writer.h"
#include "observe/log/log.h"

enum { YIELD_US = 250 };

/* ---- a batch ---------------------------------------------------------------- */

/* Writes a batch from `first` on; `*ret_rest` is what it left. After true, call
 * end_batch(). */
static bool put_batch(struct fw_audit *audit, struct fw_audit_item *first,
		      struct fw_audit_item **ret_rest, struct fw_audit_failure *ret_failure)
{
	struct fw_audit_writer *writer = &audit->writer;
	struct fw_audit_file *file = writer->file;
	struct fw_audit_batch *batch = &writer->batch;

	if (!fw_audit_file_begin(file, writer->hasher, ret_failure))
		return false;
	batch->first = first;
	batch->chain = file->chain;
	batch->size = file->size;
	if (!fw_audit_batch_put(audit, first, &batch->chain, ret_rest, &batch->count)) {
		fw_audit_file_end(file);
		return fw_audit_fail(ret_failure, ENOMEM, "a record could not be made");
	}
	if (!fw_audit_file_write(file, writer->text.text, writer->text.len, ret_failure)) {
		fw_audit_file_end(file);
		return false;
	}
	if (writer->text.len > 0)
		writer->is_dirty = true;
	return true;
}

static void end_batch(struct fw_audit *audit, bool is_done)
{
	struct fw_audit_file *file = audit->writer.file;

	if (is_done) {
		file->chain = audit->writer.batch.chain;
		for (int i = 0; i < FW_AUDIT_NOTES; i++)
			file->notes[i].is_due = false;
	} else {
		fw_audit_file_cut(file, audit->writer.batch.size);
	}
	fw_audit_file_end(file);
}

static bool sync_batch(struct fw_audit *audit, struct fw_audit_failure *ret_failure)
{
	return !audit->writer.is_dirty || audit->options.sync != FW_AUDIT_SYNC_ALWAYS ||
	       fw_audit_sync_now(audit, ret_failure);
}

/* ---- results ---------------------------------------------------------------- */

/* Reports the result to the records before `rest`. */
static void report(struct fw_audit *audit, struct fw_audit_item *first,
		   const struct fw_audit_item *rest, const struct fw_audit_failure *failure)
{
	while (first && first != rest) {
		struct fw_audit_item *next = fw_audit_item_next(first);
		fw_audit_done *done = first->done;
		void *ctx = first->ctx;

		/* The callback may free what the record refers to. */
		fw_audit_item_free(first);
		fw_queue_thread_lock(&audit->queue);
		if (audit->queue.is_abandoned)
			done = NULL;
		fw_queue_thread_unlock(&audit->queue);
		if (done)
			done(ctx, failure ? fw_audit_failure_error(failure) : NULL);
		first = next;
	}
}

/* Logged once per change of state, not once per record. */
static void log_down(const struct fw_audit_failure *failure)
{
	const fw_field fields[] = {
		fw_log_text("doing", failure->doing),
		fw_log_text("failure", fw_errno_name(failure->errnum)),
		fw_log_text("reason",
			    failure->errnum ? strerrordesc_np(failure->errnum) : NULL),
	};

	fw_log_event(FW_LOG_CRITICAL, "faultwire", "audit_down", fields,
		     sizeof fields / sizeof *fields);
}

static void log_up(const struct fw_audit *audit)
{
	const char *name = fw_errno_name(audit->failure.errnum);
	char since[FW_TIME_SIZE];

	/* First: fw_log_text() measures the text. */
	(void)fw_time_text(audit->writer.down_since_ms, since);

	const fw_field fields[] = {
		fw_log_text("since", since),
		fw_log_text("failure", name ? name : audit->failure.doing),
		fw_log_number("lost", audit->writer.lost_since),
	};

	fw_log_event(FW_LOG_NOTICE, "faultwire", "audit_restored", fields,
		     sizeof fields / sizeof *fields);
}

/* Locked. */
static void note_top(struct fw_audit *audit)
{
	struct fw_audit_writer *writer = &audit->writer;
	const struct fw_audit_file *file = writer->file;

	if (writer->top_file != file) {
		if (!fw_audit_real_path(file->dir, file->path, audit->top.path,
					sizeof audit->top.path))
			audit->top.path[0] = '\0';
		writer->top_file = file;
	} else if (file->size < writer->top_size) {
		audit->top.rotations++;
	}
	writer->top_size = file->size;
	audit->top.chain = file->chain;
}

void fw_audit_top(struct fw_audit *audit, struct fw_audit_top *ret_top)
{
	fw_queue_thread_lock(&audit->queue);
	*ret_top = audit->top;
	fw_queue_thread_unlock(&audit->queue);
}

static void note_success(struct fw_audit *audit)
{
	uint64_t count = audit->writer.batch.count;

	fw_queue_thread_lock(&audit->queue);
	note_top(audit);
	audit->records += count;
	audit->batches += audit->writer.text.len > 0;
	audit->omitted.count -= audit->omitted.noted;
	/* Refusals omitted since the note was made begin a new period. */
	if (audit->omitted.noted) {
		audit->omitted.since_ms = fw_steady_ms();
		audit->omitted.since_unix_ms = fw_unix_ms();
	}
	audit->omitted.noted = 0;
	audit->omitted.is_note_due = false;
	atomic_store(&audit->is_down, false);
	fw_queue_thread_unlock(&audit->queue);
	if (audit->writer.down_since_ms)
		log_up(audit);
	audit->writer.down_since_ms = 0;
	audit->writer.lost_since = 0;
	audit->writer.last_count = count;
}

static void note_failure(struct fw_audit *audit, uint64_t count,
			 const struct fw_audit_failure *failure)
{
	/* A permanent failure of the first attempt is returned by fw_audit_open(). */
	if (!audit->writer.down_since_ms &&
	    (audit->is_tried || !fw_audit_is_permanent(failure)))
		log_down(failure);
	if (!audit->writer.down_since_ms)
		audit->writer.down_since_ms = fw_unix_ms();
	audit->writer.lost_since += count;
	audit->omitted.noted = 0;
	fw_queue_thread_lock(&audit->queue);
	audit->lost += count;
	audit->failure = *failure;
	atomic_store(&audit->is_down, true);
	fw_queue_thread_unlock(&audit->queue);
}

static void change_file(struct fw_audit *audit, struct fw_audit_item *item)
{
	struct fw_audit_file *old = audit->writer.file;
	struct fw_audit_failure failure;

	if (audit->writer.is_dirty && audit->options.sync == FW_AUDIT_SYNC_INTERVAL &&
	    old->fd >= 0)
		(void)fw_audit_file_sync(old, &failure);
	audit->writer.is_dirty = false;
	audit->writer.file = item->move;
	item->move = old;
}

/* ---- the thread ------------------------------------------------------------- */

/* Fails the records from `first` to the next move: those that were not tried would fail
 * in the same way. Returns what is behind them. */
static struct fw_audit_item *fail_all(struct fw_audit *audit, struct fw_audit_item *first,
				      const struct fw_audit_failure *failure)
{
	struct fw_audit_item *rest = first;
	uint64_t count = 0;

	for (; rest && !rest->move; rest = fw_audit_item_next(rest))
		count++;
	fw_audit_ahead_drop(audit);
	note_failure(audit, count, failure);
	report(audit, first, rest, failure);
	return rest;
}

/* Reports the batch that was synced while the next one was made. */
static void report_synced(struct fw_audit *audit)
{
	struct fw_audit_item *first = audit->writer.synced;

	audit->writer.synced = NULL;
	report(audit, first, NULL, NULL);
}

/* Writes and syncs a batch; what it left is returned. The sync of a last one may only
 * be started: then its records are reported later. */
static struct fw_audit_item *write_one(struct fw_audit *audit, struct fw_audit_item *first,
				       bool may_start)
{
	struct fw_audit_failure failure;
	struct fw_audit_item *rest = NULL;
	bool is_done = put_batch(audit, first, &rest, &failure);
	bool is_started = is_done && !rest && may_start && audit->writer.is_dirty &&
			  fw_audit_sync_overlaps(audit) && fw_audit_sync_start(audit);

	report_synced(audit);
	if (is_started)
		return NULL;
	if (is_done) {
		is_done = sync_batch(audit, &failure);
		end_batch(audit, is_done);
	}
	if (!is_done)
		return fail_all(audit, first, &failure);
	note_success(audit);
	report(audit, first, rest, NULL);
	return rest;
}

static void write_all(struct fw_audit *audit, struct fw_audit_item *first)
{
	unsigned moves = 0;

	do {
		if (first && first->move) {
			struct fw_audit_item *rest = fw_audit_item_next(first);

			report_synced(audit);
			moves++;
			change_file(audit, first);
			fw_audit_item_free(first);
			first = rest;
			/* Open the new file now, even if there is no record for it yet. */
			if (first && first->move)
				continue;
		}
		first = write_one(audit, first, !moves);
		/* The new file was tried. */
		(void)atomic_fetch_sub(&audit->moves, moves);
		moves = 0;
	} while (first);
}

/* Locked, and unlocked meanwhile. The batch whose sync was started is synced, or failed. Its
 * records are reported when the next batch is with the disk. */
static void end_started(struct fw_audit *audit)
{
	struct fw_audit_item *first = audit->writer.batch.first;
	struct fw_audit_failure failure;
	bool is_done = fw_audit_sync_await(audit, &failure);

	fw_queue_thread_unlock(&audit->queue);
	end_batch(audit, is_done);
	if (is_done) {
		note_success(audit);
		audit->writer.synced = first;
	} else {
		(void)fail_all(audit, first, &failure);
	}
	fw_queue_thread_lock(&audit->queue);
	audit->writer.expected = audit->writer.last_count + audit->queue.count;
}

static void sync_if_due(struct fw_audit *audit)
{
	struct fw_audit_failure failure;

	if (audit->writer.is_dirty && audit->options.sync == FW_AUDIT_SYNC_INTERVAL &&
	    audit->writer.file->fd >= 0 &&
	    fw_steady_ms() - audit->writer.synced_ms >= audit->options.interval_ms &&
	    !fw_audit_sync_now(audit, &failure))
		note_failure(audit, 0, &failure);
}

/* Milliseconds until the note about omitted refusals is due; 0 or less: now. */
static int64_t note_due_ms(const struct fw_audit *audit)
{
	return audit->omitted.since_ms + FW_LIMIT_AUDIT_STRANGERS_NOTE_MS - fw_steady_ms();
}

/* Milliseconds until there is work without a new record; 0: never. */
static int64_t idle_limit_ms(const struct fw_audit *audit)
{
	if (audit->writer.down_since_ms)
		return FW_LIMIT_AUDIT_PROBE_MS;
	if (audit->writer.is_dirty && audit->options.sync == FW_AUDIT_SYNC_INTERVAL)
		return audit->options.interval_ms;
	if (audit->omitted.count)
		return note_due_ms(audit) > 0 ? note_due_ms(audit) : 1;
	return 0;
}

static void wait_for_work(struct fw_audit *audit)
{
	int64_t start_ns = fw_steady_ns();

	while (!audit->queue.first && !audit->queue.is_stopping) {
		int64_t limit_ms = idle_limit_ms(audit);

		if (!limit_ms)
			(void)fw_queue_thread_wait(&audit->queue, INT64_MAX);
		else if (!fw_queue_thread_wait(&audit->queue,
					       fw_steady_ns() + limit_ms * 1000000))
			break;
	}
	/* After a long pause nobody is expected to come back. */
	if (fw_steady_ns() - start_ns > 2 * audit->writer.sync_ns)
		audit->writer.expected = 0;
}

static struct fw_audit_item *take(struct fw_audit *audit)
{
	audit->queue_bytes = 0;
	return (struct fw_audit_item *)(void *)fw_queue_thread_take(&audit->queue);
}

/* Other processes poll for the lock, and need a gap to get it. */
static void yield_lock(const struct fw_audit *audit)
{
	const struct timespec nap = { .tv_nsec = YIELD_US * 1000L };

	if (audit->writer.file->others)
		(void)nanosleep(&nap, NULL);
}

/* Locked, and unlocked meanwhile. Waits for the records of the next batch. */
static void await_batch(struct fw_audit *audit)
{
	if (audit->syncer.is_busy) {
		end_started(audit);
		/* The disk need not wait: half of the callers are in the queue. */
		if (audit->queue.first && fw_audit_sync_overlaps(audit))
			return;
		fw_queue_thread_unlock(&audit->queue);
		report_synced(audit);
		fw_queue_thread_lock(&audit->queue);
	}
	wait_for_work(audit);
	fw_audit_sync_gather(audit);
}

/* What is left to do when no record will come any more. */
static void end_work(struct fw_audit *audit)
{
	fw_audit_sync_stop(audit);
	if (audit->writer.is_dirty && audit->options.sync == FW_AUDIT_SYNC_INTERVAL) {
		audit->writer.synced_ms = INT64_MIN / 2;
		sync_if_due(audit);
	}
	if (audit->writer.lost_since)
		fw_log_event(
			FW_LOG_CRITICAL, "faultwire", "audit_lost",
			(const fw_field[]){ fw_log_number("count", audit->writer.lost_since) },
			1);
}

void fw_audit_work(void *arg)
{
	struct fw_audit *audit = arg;
	bool is_last;

	/* The first attempt has no records: it opens the file and writes notes. */
	write_all(audit, NULL);
	fw_queue_thread_lock(&audit->queue);
	audit->is_tried = true;
	fw_queue_thread_announce(&audit->queue);
	do {
		struct fw_audit_item *first;

		await_batch(audit);
		first = take(audit);
		is_last = audit->queue.is_stopping && !first;
		audit->omitted.is_note_due =
			audit->omitted.count && (is_last || note_due_ms(audit) <= 0);
		fw_queue_thread_unlock(&audit->queue);
		if (first || audit->omitted.is_note_due ||
		    (audit->writer.down_since_ms && !is_last)) {
			write_all(audit, first);
			yield_lock(audit);
		}
		sync_if_due(audit);
		fw_queue_thread_lock(&audit->queue);
		if (!audit->syncer.is_busy)
			audit->writer.expected = audit->writer.last_count + audit->queue.count;
	} while (!is_last);
	fw_queue_thread_unlock(&audit->queue);
	end_work(audit);
}
