/*
 * audit_writer.c - the thread that writes queued records.
 *
 * While the disk syncs one batch, the next one is queued, and its records are made by
 * those who append them (all but the hash of the arguments, which may be long, and the
 * chain). So the disk limits the number of fdatasyncs, and not the number of records.
 * Only this thread uses the file. If a batch fails, all its records fail and the audit
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
#include "observe/audit/audit_head.h"
#include "observe/audit/audit_writer.h"
#include "observe/log/log.h"

enum {
	YIELD_US = 250,
	SYNCS_REMEMBERED = 8,
	ARRIVALS_MIN = 8,
	WAKES = 4,
	SLICE_MIN_NS = 50 * 1000,
	SLICE_MAX_NS = 250 * 1000
};

/* ---- a batch ---------------------------------------------------------------- */

static bool sync_batch(struct fw_audit *audit, struct fw_audit_failure *ret_failure)
{
	int64_t start_ns = fw_steady_ns();
	int64_t end_ns;

	if (!fw_audit_file_sync(audit->writer.file, ret_failure))
		return false;
	end_ns = fw_steady_ns();
	audit->writer.sync_ns += (end_ns - start_ns - audit->writer.sync_ns) / SYNCS_REMEMBERED;
	audit->writer.is_dirty = false;
	audit->writer.synced_ms = end_ns / 1000000;
	(void)atomic_fetch_add(&audit->syncs, 1);
	return true;
}

/* Writes and syncs the lines of the batch, which is open, and unlocks the file. */
static bool commit_batch(struct fw_audit *audit, struct fw_audit_failure *ret_failure)
{
	struct fw_audit_file *file = audit->writer.file;
	const struct fw_audit_batch *batch = &audit->writer.batch;
	uint64_t size = file->size;
	bool is_done =
		fw_audit_file_write(file, batch->lines.text, batch->lines.len, ret_failure);

	if (is_done && batch->lines.len > 0)
		audit->writer.is_dirty = true;
	if (is_done && audit->writer.is_dirty && audit->options.sync == FW_AUDIT_SYNC_ALWAYS) {
		is_done = sync_batch(audit, ret_failure);
		if (!is_done)
			fw_audit_file_cut(file, size);
	}
	if (is_done) {
		file->chain = batch->chain;
		for (int i = 0; i < FW_AUDIT_NOTES; i++)
			file->notes[i].is_due = false;
	}
	fw_audit_file_end(file);
	return is_done;
}

/* Writes a batch from `first` on, which may be open already; `*ret_rest` is what it
 * left. */
static bool write_batch(struct fw_audit *audit, struct fw_audit_item *first,
			struct fw_audit_item **ret_rest, uint64_t *ret_count,
			struct fw_audit_failure *ret_failure)
{
	struct fw_audit_batch *batch = &audit->writer.batch;
	bool is_done =
		(batch->state != FW_AUDIT_BATCH_NONE || fw_audit_batch_open(audit)) &&
		batch->state == FW_AUDIT_BATCH_OPEN &&
		fw_audit_batch_add(audit, batch->last ? fw_audit_item_next(batch->last) : first,
				   NULL);

	if (is_done)
		is_done = commit_batch(audit, ret_failure);
	else
		*ret_failure = batch->failure;
	batch->state = FW_AUDIT_BATCH_NONE;
	*ret_rest = batch->last ? fw_audit_item_next(batch->last) : first;
	*ret_count = batch->count;
	return is_done;
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
		bool is_kept;

		fw_queue_thread_lock(&audit->queue);
		if (audit->queue.is_abandoned)
			done = NULL;
		is_kept = fw_audit_item_keep(audit, first);
		fw_queue_thread_unlock(&audit->queue);
		if (!is_kept)
			fw_audit_item_free(first);
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

static void note_success(struct fw_audit *audit, uint64_t count)
{
	fw_queue_thread_lock(&audit->queue);
	note_top(audit);
	audit->records += count;
	audit->batches += audit->writer.batch.lines.len > 0;
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

static void write_all(struct fw_audit *audit, struct fw_audit_item *first)
{
	unsigned moves = 0;

	do {
		struct fw_audit_failure failure;
		struct fw_audit_item *rest = NULL;
		uint64_t count = 0;

		if (first && first->move) {
			moves++;
			rest = fw_audit_item_next(first);
			change_file(audit, first);
			fw_audit_item_free(first);
			first = rest;
			/* Open the new file now, even if there is no record for it yet. */
			if (first && first->move)
				continue;
		}
		if (write_batch(audit, first, &rest, &count, &failure)) {
			note_success(audit, count);
			report(audit, first, rest, NULL);
		} else {
			/* The records after it would fail in the same way. */
			for (count = 0, rest = first; rest && !rest->move;
			     rest = fw_audit_item_next(rest))
				count++;
			note_failure(audit, count, &failure);
			report(audit, first, rest, &failure);
		}
		/* The new file was tried. */
		(void)atomic_fetch_sub(&audit->moves, moves);
		moves = 0;
		first = rest;
	} while (first);
}

static void sync_if_due(struct fw_audit *audit)
{
	struct fw_audit_failure failure;

	if (audit->writer.is_dirty && audit->options.sync == FW_AUDIT_SYNC_INTERVAL &&
	    audit->writer.file->fd >= 0 &&
	    fw_steady_ms() - audit->writer.synced_ms >= audit->options.interval_ms &&
	    !sync_batch(audit, &failure))
		note_failure(audit, 0, &failure);
}

/* Milliseconds until the note about omitted refusals is due; 0 or less: now. */
static int64_t note_due_ms(const struct fw_audit *audit)
{
	return audit->omitted.since_ms + FW_LIMIT_AUDIT_UNAUTHENTICATED_NOTE_MS -
	       fw_steady_ms();
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
	/* After a long pause no further records are expected soon. */
	if (fw_steady_ns() - start_ns > 2 * audit->writer.sync_ns)
		audit->writer.expected = 0;
}

/*
 * Makes the lines of the records that are in the queue while more are expected, so that
 * only the last ones are left to do when these have come. Locked, and unlocked meanwhile:
 * only this thread takes items from the queue.
 *
 * The file is locked from here on. Where other processes write to it, or it could not be
 * written, the batch is opened after the wait.
 */
static void add_queued(struct fw_audit *audit)
{
	struct fw_audit_batch *batch = &audit->writer.batch;
	const struct fw_audit_item *last = (struct fw_audit_item *)(void *)audit->queue.last;
	struct fw_audit_item *item =
		batch->state == FW_AUDIT_BATCH_OPEN && batch->last
			? fw_audit_item_next(batch->last)
			: (struct fw_audit_item *)(void *)audit->queue.first;

	if (!item || item->move || batch->state == FW_AUDIT_BATCH_FAILED ||
	    audit->writer.file->others || audit->writer.down_since_ms)
		return;
	fw_queue_thread_unlock(&audit->queue);
	if (batch->state == FW_AUDIT_BATCH_OPEN || fw_audit_batch_open(audit))
		(void)fw_audit_batch_add(audit, item, last);
	fw_queue_thread_lock(&audit->queue);
}

/*
 * How many records to wait for: all that are expected, if they arrive in less time than an
 * fdatasync takes. Otherwise the callers are the slower ones, and half of them can be
 * served while the disk syncs the records of the other half.
 */
static uint64_t enough(const struct fw_audit_writer *writer)
{
	if (writer->arrival_ns * (int64_t)writer->expected > writer->sync_ns)
		return (writer->expected + 1) / 2;
	return writer->expected;
}

/* `count` records arrived in that time; a few say little. */
static void note_arrivals(struct fw_audit_writer *writer, uint64_t count, int64_t duration_ns)
{
	if (count >= ARRIVALS_MIN)
		writer->arrival_ns +=
			(duration_ns / (int64_t)count - writer->arrival_ns) / SYNCS_REMEMBERED;
}

/*
 * Callers of the last batch that fail again will append soon. If the thread did not
 * wait for them, they would split into two groups that take turns, each waiting for
 * the fdatasync of the other. So wait while more of them arrive, at most for the
 * duration of an fdatasync. A single caller never waits.
 */
static void gather(struct fw_audit *audit)
{
	uint64_t expected = enough(&audit->writer), first = audit->queue.count;
	int64_t start_ns = fw_steady_ns(), now_ns = start_ns;
	int64_t end_ns = now_ns + audit->writer.sync_ns;
	int64_t slice_ns = audit->writer.sync_ns / 4;

	if (audit->options.sync != FW_AUDIT_SYNC_ALWAYS || audit->options.batch_most == 1)
		return;
	if (slice_ns < SLICE_MIN_NS)
		slice_ns = SLICE_MIN_NS;
	if (slice_ns > SLICE_MAX_NS)
		slice_ns = SLICE_MAX_NS;
	while (audit->queue.count < expected && now_ns < end_ns && !audit->queue.is_stopping) {
		uint64_t before = audit->queue.count;

		add_queued(audit);
		if (audit->queue.count >= expected)
			break;
		/* Woken a few times, so that few lines are left to make after the last
		 * record. */
		audit->wake_count = audit->queue.count + expected / WAKES + 1;
		if (audit->wake_count > expected)
			audit->wake_count = expected;
		(void)fw_queue_thread_wait(&audit->queue, now_ns + slice_ns);
		if (audit->queue.count == before)
			break;
		now_ns = fw_steady_ns();
	}
	audit->wake_count = 1;
	note_arrivals(&audit->writer, audit->queue.count - first, fw_steady_ns() - start_ns);
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

		wait_for_work(audit);
		gather(audit);
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
		audit->writer.expected = audit->writer.last_count + audit->queue.count;
	} while (!is_last);
	fw_queue_thread_unlock(&audit->queue);
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
