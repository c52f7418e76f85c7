/*
 * audit_writer.c - the thread that writes what waits.
 *
 * While the disk is busy with one batch, the next one gathers: so the number of
 * fdatasyncs follows the disk, and the number of records the load. Only this
 * thread touches the file. When a batch fails, all of it fails, and the audit is
 * down: from then on an attempt is made with each new batch, and every
 * FW_LIMIT_AUDIT_PROBE_MS without one. The first record that succeeds says for
 * how long there were none, and how many were lost.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <faultwire/raw.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "observe/audit/audit_writer.h"
#include "observe/log/log.h"

enum {
	KEEP_BATCH_BYTES = 256 * 1024,
	POLITE_NAP_US = 250,
	SYNCS_REMEMBERED = 8,
	SLICE_LEAST_NS = 50 * 1000,
	SLICE_MOST_NS = 250 * 1000
};

static int64_t clock_ns(void)
{
	struct timespec now = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t clock_ms(void)
{
	return clock_ns() / 1000000;
}

/* ---- the batch -------------------------------------------------------------- */

static void put_string(struct fw_buf *out, const char *key, const char *text)
{
	FW_BUF(out, ",\"");
	fw_buf_str(out, key);
	FW_BUF(out, "\":");
	fw_buf_json_str(out, text);
}

static void put_number(struct fw_buf *out, const char *key, uint64_t value)
{
	FW_BUF(out, ",\"");
	fw_buf_str(out, key);
	FW_BUF(out, "\":");
	fw_buf_i64(out, (int64_t)value);
}

static size_t open_note(struct fw_audit *audit, const struct fw_audit_chain *chain,
			const char *reason)
{
	const struct fw_audit_record record = { .event = FW_AUDIT_NOTE, .reason = reason };
	size_t start;

	fw_audit_line_open(&audit->writer.batch, chain, &start);
	fw_audit_put_body(&audit->writer.batch, &record);
	return start;
}

static bool put_left_out(struct fw_audit *audit, struct fw_audit_chain *chain)
{
	char since[FW_TIME_SIZE];
	int64_t since_ms;
	size_t start;

	(void)pthread_mutex_lock(&audit->lock);
	audit->omitted.noted = audit->omitted.count;
	since_ms = audit->omitted.since_unix_ms;
	(void)pthread_mutex_unlock(&audit->lock);
	(void)fw_time_text(since_ms, since);
	start = open_note(audit, chain, "refusals left out");
	put_string(&audit->writer.batch, "since", since);
	put_number(&audit->writer.batch, "count", audit->omitted.noted);
	return fw_audit_line_seal(&audit->writer.batch, start, audit->writer.hasher, chain);
}

/* What has to be said before any record. */
static bool put_notes(struct fw_audit *audit, struct fw_audit_chain *chain)
{
	/* An empty file begins with the one that says where it comes from. */
	static const struct {
		enum fw_audit_note_kind kind;
		const char *reason;
		const char *hash;
	} kinds[] = {
		{ FW_AUDIT_NOTE_ROTATED, "log rotated", "last_hash" },
		{ FW_AUDIT_NOTE_REPLACED, "log removed while in use", "last_hash" },
		{ FW_AUDIT_NOTE_TORN, "torn line set aside", "sha256" },
	};
	struct fw_buf *out = &audit->writer.batch;
	size_t start;

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const struct fw_audit_note *note = &audit->writer.file->notes[kinds[i].kind];

		if (!note->is_due)
			continue;
		start = open_note(audit, chain, kinds[i].reason);
		if (note->file[0])
			put_string(out, "file", note->file);
		if (note->bytes)
			put_number(out, "bytes", note->bytes);
		put_string(out, kinds[i].hash, note->hash);
		if (!fw_audit_line_seal(out, start, audit->writer.hasher, chain))
			return false;
	}
	if (audit->omitted.is_note_due && !put_left_out(audit, chain))
		return false;
	if (audit->writer.down_since_ms) {
		char since[FW_TIME_SIZE];
		const char *name = fw_errno_name(audit->failure.errnum);

		(void)fw_time_text(audit->writer.down_since_ms, since);
		start = open_note(audit, chain, "writing resumed");
		put_string(out, "since", since);
		put_number(out, "lost", audit->writer.lost_since);
		put_string(out, "failure", name ? name : audit->failure.doing);
		if (!fw_audit_line_seal(out, start, audit->writer.hasher, chain))
			return false;
	}
	return true;
}

static bool put_item(struct fw_audit *audit, const struct fw_audit_item *item,
		     struct fw_audit_chain *chain)
{
	struct fw_buf *out = &audit->writer.batch;
	size_t start;

	fw_audit_line_open(out, chain, &start);
	fw_buf_put(out, item->body.text, item->body.len);
	return fw_audit_put_args(out, audit->writer.hasher, item->args, item->args_len,
				 audit->options.keep_args) &&
	       fw_audit_line_seal(out, start, audit->writer.hasher, chain);
}

/* So many records from `first` on as fit one write; 0 of them is a probe. */
static bool put_batch(struct fw_audit *audit, struct fw_audit_item *first,
		      struct fw_audit_chain *chain, struct fw_audit_item **ret_rest,
		      uint64_t *ret_count)
{
	uint64_t most = audit->options.batch_most ? audit->options.batch_most : UINT64_MAX;
	uint64_t count = 0;

	fw_buf_reset(&audit->writer.batch, KEEP_BATCH_BYTES);
	*ret_rest = first;
	*ret_count = 0;
	if (!put_notes(audit, chain))
		return false;
	while (first && !first->move && count < most &&
	       audit->writer.batch.len < FW_LIMIT_AUDIT_BATCH_BYTES) {
		if (!put_item(audit, first, chain))
			return false;
		first = first->next;
		count++;
	}
	*ret_rest = first;
	*ret_count = count;
	return true;
}

static bool sync_batch(struct fw_audit *audit, struct fw_audit_failure *ret_failure)
{
	int64_t start_ns = clock_ns();
	int64_t end_ns;

	if (!fw_audit_file_sync(audit->writer.file, ret_failure))
		return false;
	end_ns = clock_ns();
	audit->writer.sync_ns += (end_ns - start_ns - audit->writer.sync_ns) / SYNCS_REMEMBERED;
	audit->writer.is_dirty = false;
	audit->writer.synced_ms = end_ns / 1000000;
	(void)atomic_fetch_add(&audit->syncs, 1);
	return true;
}

/* Writes a batch from `first` on; `*ret_rest` is what it left. */
static bool write_batch(struct fw_audit *audit, struct fw_audit_item *first,
			struct fw_audit_item **ret_rest, uint64_t *ret_count,
			struct fw_audit_failure *ret_failure)
{
	struct fw_audit_file *file = audit->writer.file;
	struct fw_audit_chain chain;
	uint64_t size;
	bool is_done;

	if (!fw_audit_file_begin(file, audit->writer.hasher, ret_failure))
		return false;
	chain = file->chain;
	size = file->size;
	if (!put_batch(audit, first, &chain, ret_rest, ret_count)) {
		fw_audit_file_end(file);
		return fw_audit_fail(ret_failure, ENOMEM, "a record could not be made");
	}
	is_done = fw_audit_file_write(file, audit->writer.batch.text, audit->writer.batch.len,
				      ret_failure);
	if (is_done && audit->writer.batch.len > 0)
		audit->writer.is_dirty = true;
	if (is_done && audit->writer.is_dirty && audit->options.sync == FW_AUDIT_SYNC_ALWAYS) {
		is_done = sync_batch(audit, ret_failure);
		if (!is_done)
			fw_audit_file_cut(file, size);
	}
	if (is_done) {
		file->chain = chain;
		for (int i = 0; i < FW_AUDIT_NOTES; i++)
			file->notes[i].is_due = false;
	}
	fw_audit_file_end(file);
	return is_done;
}

/* ---- telling ---------------------------------------------------------------- */

/* Up to `rest`, without it. */
static void tell(struct fw_audit *audit, struct fw_audit_item *first,
		 const struct fw_audit_item *rest, const struct fw_audit_failure *failure)
{
	while (first != rest) {
		struct fw_audit_item *next = first->next;
		fw_audit_done *done = first->done;
		void *ctx = first->ctx;

		/* Nothing of it is left when somebody hears that it is done. */
		fw_audit_item_free(first);
		(void)pthread_mutex_lock(&audit->lock);
		if (audit->is_abandoned)
			done = NULL;
		(void)pthread_mutex_unlock(&audit->lock);
		if (done)
			done(ctx, failure ? fw_audit_failure_error(failure) : NULL);
		first = next;
	}
}

/* The log hears of each change once, not of each record. */
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

	/* A field measures its text when it is made. */
	(void)fw_time_text(audit->writer.down_since_ms, since);

	const fw_field fields[] = {
		fw_log_text("since", since),
		fw_log_text("failure", name ? name : audit->failure.doing),
		fw_log_number("lost", audit->writer.lost_since),
	};

	fw_log_event(FW_LOG_NOTICE, "faultwire", "audit_restored", fields,
		     sizeof fields / sizeof *fields);
}

static void note_success(struct fw_audit *audit, uint64_t count)
{
	(void)pthread_mutex_lock(&audit->lock);
	audit->records += count;
	audit->batches += audit->writer.batch.len > 0;
	audit->omitted.count -= audit->omitted.noted;
	/* Those that came meanwhile begin a time of their own. */
	if (audit->omitted.noted) {
		audit->omitted.since_ms = clock_ms();
		audit->omitted.since_unix_ms = fw_unix_ms();
	}
	audit->omitted.noted = 0;
	audit->omitted.is_note_due = false;
	atomic_store(&audit->is_down, false);
	(void)pthread_mutex_unlock(&audit->lock);
	if (audit->writer.down_since_ms)
		log_up(audit);
	audit->writer.down_since_ms = 0;
	audit->writer.lost_since = 0;
	audit->writer.last_count = count;
}

static void note_failure(struct fw_audit *audit, uint64_t count,
			 const struct fw_audit_failure *failure)
{
	/* What keeps it from being opened at all, fw_audit_open() tells. */
	if (!audit->writer.down_since_ms &&
	    (audit->is_tried || !fw_audit_is_permanent(failure)))
		log_down(failure);
	if (!audit->writer.down_since_ms)
		audit->writer.down_since_ms = fw_unix_ms();
	audit->writer.lost_since += count;
	audit->omitted.noted = 0;
	(void)pthread_mutex_lock(&audit->lock);
	audit->lost += count;
	audit->failure = *failure;
	atomic_store(&audit->is_down, true);
	(void)pthread_mutex_unlock(&audit->lock);
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
			rest = first->next;
			change_file(audit, first);
			fw_audit_item_free(first);
			first = rest;
			/* Whether it can be written shows now, not with its first record. */
			if (first && first->move)
				continue;
		}
		if (write_batch(audit, first, &rest, &count, &failure)) {
			note_success(audit, count);
			tell(audit, first, rest, NULL);
		} else {
			/* What waits behind it would fare no better. */
			for (count = 0, rest = first; rest && !rest->move; rest = rest->next)
				count++;
			note_failure(audit, count, &failure);
			tell(audit, first, rest, &failure);
		}
		/* Now it is known what the new file is like. */
		(void)atomic_fetch_sub(&audit->moves, moves);
		moves = 0;
		first = rest;
	} while (first);
}

static void sync_now_and_then(struct fw_audit *audit)
{
	struct fw_audit_failure failure;

	if (audit->writer.is_dirty && audit->options.sync == FW_AUDIT_SYNC_INTERVAL &&
	    audit->writer.file->fd >= 0 &&
	    clock_ms() - audit->writer.synced_ms >= audit->options.interval_ms &&
	    !sync_batch(audit, &failure))
		note_failure(audit, 0, &failure);
}

/* Until the note of what was left out is due; 0 and less: it is. */
static int64_t note_due_ms(const struct fw_audit *audit)
{
	return audit->omitted.since_ms + FW_LIMIT_AUDIT_STRANGERS_NOTE_MS - clock_ms();
}

/* Milliseconds until something is to be done without being asked; 0: nothing. */
static int64_t patience_ms(const struct fw_audit *audit)
{
	if (audit->writer.down_since_ms)
		return FW_LIMIT_AUDIT_PROBE_MS;
	if (audit->writer.is_dirty && audit->options.sync == FW_AUDIT_SYNC_INTERVAL)
		return audit->options.interval_ms;
	if (audit->omitted.count)
		return note_due_ms(audit) > 0 ? note_due_ms(audit) : 1;
	return 0;
}

/* Until somebody wants something, or the time has come; false: that. */
static bool wait_until(struct fw_audit *audit, int64_t until_ns)
{
	const struct timespec until = { .tv_sec = until_ns / 1000000000,
					.tv_nsec = until_ns % 1000000000 };

	return pthread_cond_timedwait(&audit->work, &audit->lock, &until) != ETIMEDOUT;
}

static void wait_for_work(struct fw_audit *audit)
{
	int64_t start_ns = clock_ns();

	while (!audit->queue.first && !audit->is_closing) {
		int64_t patience = patience_ms(audit);

		if (!patience)
			(void)pthread_cond_wait(&audit->work, &audit->lock);
		else if (!wait_until(audit, clock_ns() + patience * 1000000))
			break;
	}
	/* Those of long ago are gone. */
	if (clock_ns() - start_ns > 2 * audit->writer.sync_ns)
		audit->writer.expected = 0;
}

/*
 * Callers whose failures were in the last batch and who fail again are on their
 * way back. Whoever goes ahead without them makes two crowds that take turns,
 * each waiting for the other's fdatasync: so wait for them, while more of them
 * come, and not longer than an fdatasync takes. One caller alone never waits.
 */
static void gather(struct fw_audit *audit)
{
	int64_t now_ns = clock_ns();
	int64_t end_ns = now_ns + audit->writer.sync_ns;
	int64_t slice_ns = audit->writer.sync_ns / 4;

	if (audit->options.sync != FW_AUDIT_SYNC_ALWAYS || audit->options.batch_most == 1)
		return;
	if (slice_ns < SLICE_LEAST_NS)
		slice_ns = SLICE_LEAST_NS;
	if (slice_ns > SLICE_MOST_NS)
		slice_ns = SLICE_MOST_NS;
	audit->queue.wake_count = audit->writer.expected;
	while (audit->queue.count < audit->writer.expected && now_ns < end_ns &&
	       !audit->is_closing) {
		uint64_t before = audit->queue.count;

		(void)wait_until(audit, now_ns + slice_ns);
		if (audit->queue.count == before)
			break;
		now_ns = clock_ns();
	}
	audit->queue.wake_count = 1;
}

static struct fw_audit_item *take(struct fw_audit *audit)
{
	struct fw_audit_item *first = audit->queue.first;

	audit->queue.first = NULL;
	audit->queue.last = &audit->queue.first;
	audit->queue.count = 0;
	audit->queue.bytes = 0;
	return first;
}

/* Other processes poll for the lock: without a gap they would never get it. */
static void be_polite(const struct fw_audit *audit)
{
	const struct timespec nap = { .tv_nsec = POLITE_NAP_US * 1000L };

	if (audit->writer.file->others)
		(void)nanosleep(&nap, NULL);
}

void *fw_audit_work(void *arg)
{
	struct fw_audit *audit = arg;
	bool is_last;
	bool is_mine;

	/* The first attempt is without a record: open, look at the end, say what
	 * has to be said. */
	write_all(audit, NULL);
	(void)pthread_mutex_lock(&audit->lock);
	audit->is_tried = true;
	(void)pthread_cond_broadcast(&audit->state);
	do {
		struct fw_audit_item *first;

		wait_for_work(audit);
		gather(audit);
		first = take(audit);
		is_last = audit->is_closing && !first;
		audit->omitted.is_note_due =
			audit->omitted.count && (is_last || note_due_ms(audit) <= 0);
		(void)pthread_mutex_unlock(&audit->lock);
		if (first || audit->omitted.is_note_due ||
		    (audit->writer.down_since_ms && !is_last)) {
			write_all(audit, first);
			be_polite(audit);
		}
		sync_now_and_then(audit);
		(void)pthread_mutex_lock(&audit->lock);
		audit->writer.expected = audit->writer.last_count + audit->queue.count;
	} while (!is_last);
	(void)pthread_mutex_unlock(&audit->lock);
	if (audit->writer.is_dirty && audit->options.sync == FW_AUDIT_SYNC_INTERVAL) {
		audit->writer.synced_ms = INT64_MIN / 2;
		sync_now_and_then(audit);
	}
	if (audit->writer.lost_since)
		fw_log_event(
			FW_LOG_CRITICAL, "faultwire", "audit_lost",
			(const fw_field[]){ fw_log_number("count", audit->writer.lost_since) },
			1);
	(void)pthread_mutex_lock(&audit->lock);
	audit->is_over = true;
	is_mine = audit->is_abandoned;
	(void)pthread_cond_broadcast(&audit->state);
	(void)pthread_mutex_unlock(&audit->lock);
	if (is_mine)
		fw_audit_destroy(audit);
	return NULL;
}
