/*
 * audit_sync.c - when a batch is written, and who syncs it.
 *
 * It depends on who is slower. If all callers come back within the time of an fdatasync, they
 * are gathered into one batch, and the writer syncs it: a batch that left some of them
 * out would make these wait for two fdatasyncs. If the callers are slower, the disk would
 * wait for them. Then one half of them is synced by a second thread while the other half
 * is served, and while the writer makes the lines of what has arrived. So the disk is
 * always busy. The second thread is started when it is first needed.
 */
#include <stdatomic.h>

#include "base/clock.h"
#include "observe/audit/audit_writer.h"

enum {
	SYNCS_REMEMBERED = 8,
	ARRIVALS_MIN = 8,
	LINES_AT_ONCE = 16, /* made ahead: fewer are not worth waking the writer */
	OVERLAP_MIN = 8,    /* callers, below which handing over costs more than it saves */
	OVERLAP_MIN_NS = 50 * 1000,
	SLICE_MIN_NS = 50 * 1000,
	SLICE_MAX_NS = 250 * 1000
};

static void note_sync(struct fw_audit *audit, int64_t start_ns, int64_t end_ns)
{
	struct fw_audit_writer *writer = &audit->writer;

	writer->sync_ns += (end_ns - start_ns - writer->sync_ns) / SYNCS_REMEMBERED;
	writer->is_dirty = false;
	writer->synced_ms = end_ns / 1000000;
	(void)atomic_fetch_add(&audit->syncs, 1);
}

bool fw_audit_sync_now(struct fw_audit *audit, struct fw_audit_failure *ret_failure)
{
	int64_t start_ns = fw_steady_ns();

	if (!fw_audit_file_sync(audit->writer.file, ret_failure))
		return false;
	note_sync(audit, start_ns, fw_steady_ns());
	return true;
}

/* ---- the second thread -------------------------------------------------- */

static void work(void *arg)
{
	struct fw_audit *audit = arg;
	struct fw_audit_syncer *syncer = &audit->syncer;
	struct fw_queue_thread *thread = &syncer->thread;

	fw_queue_thread_lock(thread);
	while (!thread->is_stopping) {
		struct fw_audit_failure failure = { .errnum = 0 };
		bool is_synced;

		if (!fw_queue_thread_take(thread)) {
			(void)fw_queue_thread_wait(thread, INT64_MAX);
			continue;
		}
		fw_queue_thread_unlock(thread);
		is_synced = fw_audit_file_sync(audit->writer.file, &failure);
		fw_queue_thread_lock(&audit->queue);
		syncer->is_synced = is_synced;
		syncer->failure = failure;
		syncer->end_ns = fw_steady_ns();
		syncer->is_over = true;
		fw_queue_thread_wake(&audit->queue);
		fw_queue_thread_unlock(&audit->queue);
		fw_queue_thread_lock(thread);
	}
	fw_queue_thread_unlock(thread);
}

bool fw_audit_sync_start(struct fw_audit *audit)
{
	struct fw_audit_syncer *syncer = &audit->syncer;

	if (!fw_queue_thread_is_here(&syncer->thread) &&
	    fw_queue_thread_start(&syncer->thread, work, NULL, audit) != 0)
		return false;
	syncer->is_busy = true;
	syncer->is_over = false;
	syncer->start_ns = fw_steady_ns();
	fw_queue_thread_lock(&syncer->thread);
	fw_queue_thread_push(&syncer->thread, &syncer->job);
	fw_queue_thread_wake(&syncer->thread);
	fw_queue_thread_unlock(&syncer->thread);
	return true;
}

void fw_audit_sync_stop(struct fw_audit *audit)
{
	(void)fw_queue_thread_stop(&audit->syncer.thread, INT64_MAX);
}

/* ---- who is slower ------------------------------------------------------ */

/* Would it take the callers longer to come back than an fdatasync takes? */
static bool are_callers_slower(const struct fw_audit_writer *writer)
{
	return writer->arrival_ns * (int64_t)writer->expected > writer->sync_ns;
}

bool fw_audit_sync_overlaps(const struct fw_audit *audit)
{
	const struct fw_audit_writer *writer = &audit->writer;

	/* Other processes need the gaps between two batches to get the lock. */
	return audit->options.sync == FW_AUDIT_SYNC_ALWAYS && audit->options.batch_most != 1 &&
	       !writer->file->others && writer->expected >= OVERLAP_MIN &&
	       writer->sync_ns >= OVERLAP_MIN_NS && are_callers_slower(writer);
}

/* `count` records arrived in that time; a few say little. */
static void note_arrivals(struct fw_audit_writer *writer, uint64_t count, int64_t duration_ns)
{
	if (count >= ARRIVALS_MIN)
		writer->arrival_ns +=
			(duration_ns / (int64_t)count - writer->arrival_ns) / SYNCS_REMEMBERED;
}

bool fw_audit_sync_await(struct fw_audit *audit, struct fw_audit_failure *ret_failure)
{
	struct fw_audit_syncer *syncer = &audit->syncer;
	struct fw_audit_writer *writer = &audit->writer;
	/* Callers that are not in the batch, all of which may come back during the sync. */
	uint64_t others = writer->expected > writer->batch.count
				  ? writer->expected - writer->batch.count
				  : 0;
	int64_t all_ns = 0;

	while (!syncer->is_over) {
		fw_audit_ahead_put(audit, &writer->batch.chain);
		if (!all_ns && audit->queue.count >= others)
			all_ns = fw_steady_ns();
		audit->wake_count = audit->queue.count + LINES_AT_ONCE;
		if (!all_ns && audit->wake_count > others)
			audit->wake_count = others;
		if (!syncer->is_over)
			(void)fw_queue_thread_wait(&audit->queue, INT64_MAX);
	}
	audit->wake_count = 1;
	note_arrivals(writer, all_ns ? others : audit->queue.count,
		      (all_ns ? all_ns : syncer->end_ns) - syncer->start_ns);
	syncer->is_busy = false;
	*ret_failure = syncer->failure;
	if (syncer->is_synced)
		note_sync(audit, syncer->start_ns, syncer->end_ns);
	return syncer->is_synced;
}

/*
 * Callers of the last batch that fail again will append soon. If the thread did not
 * wait for them, they would split into two groups that take turns, each waiting for
 * the fdatasync of the other. So wait while more of them arrive, at most for the
 * duration of an fdatasync; for half of them if the callers are slower. A single caller
 * never waits.
 */
void fw_audit_sync_gather(struct fw_audit *audit)
{
	struct fw_audit_writer *writer = &audit->writer;
	uint64_t first = audit->queue.count;
	uint64_t expected =
		are_callers_slower(writer) ? (writer->expected + 1) / 2 : writer->expected;
	int64_t start_ns = fw_steady_ns(), now_ns = start_ns;
	int64_t end_ns = now_ns + writer->sync_ns;
	int64_t slice_ns = writer->sync_ns / 4;

	if (audit->options.sync != FW_AUDIT_SYNC_ALWAYS || audit->options.batch_most == 1)
		return;
	if (slice_ns < SLICE_MIN_NS)
		slice_ns = SLICE_MIN_NS;
	if (slice_ns > SLICE_MAX_NS)
		slice_ns = SLICE_MAX_NS;
	audit->wake_count = expected;
	while (audit->queue.count < expected && now_ns < end_ns && !audit->queue.is_stopping) {
		uint64_t before = audit->queue.count;

		if (writer->file->is_known)
			fw_audit_ahead_put(audit, &writer->file->chain);
		if (audit->queue.count >= expected)
			break;
		(void)fw_queue_thread_wait(&audit->queue, now_ns + slice_ns);
		if (audit->queue.count == before)
			break;
		now_ns = fw_steady_ns();
	}
	audit->wake_count = 1;
	note_arrivals(writer, audit->queue.count - first, fw_steady_ns() - start_ns);
}
