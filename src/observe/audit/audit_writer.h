/*
 * audit_writer.h - an open audit log: the queue of records, and the thread that
 * writes them in batches (audit.c, audit_writer.c).
 */
#ifndef FW_OBSERVE_AUDIT_WRITER_H
#define FW_OBSERVE_AUDIT_WRITER_H

#include <stdatomic.h>

#include "base/queue_thread.h"
#include "observe/audit/audit_file.h"
#include "policy/rate.h"

/* A record, or (with `move`) another file for the records after it. */
struct fw_audit_item {
	struct fw_queue_item item;
	fw_audit_done *done;
	void *ctx;
	struct fw_audit_file *move;
	struct fw_buf body;
	char *args; /* hashed by the thread, because they may be long */
	size_t args_len;
	bool is_complete; /* the body has all that does not depend on the chain */
};

/* Refusals of unauthenticated peers: they are recorded up to a rate. */
struct fw_audit_omitted {
	struct fw_rate rate;
	uint64_t count;        /* omitted, and not in a note yet */
	int64_t since_ms;      /* the first of these, monotonic clock */
	int64_t since_unix_ms; /* and wall clock */
	uint64_t total;
	/* Used by the thread only: */
	uint64_t noted;   /* in the note of this batch */
	bool is_note_due; /* this batch begins with a note */
};

/* Lines of queued records, made before it is known whether they can be written there. */
struct fw_audit_ahead {
	struct fw_buf text;
	struct fw_audit_chain from;  /* the first line continues this */
	struct fw_audit_chain chain; /* after the last one */
	struct fw_audit_item *first, *last;
	uint64_t count; /* 0: none */
	bool is_full;   /* no line can be added */
};

/* A batch that is written and not synced yet. */
struct fw_audit_batch {
	struct fw_audit_item *first;
	struct fw_audit_chain chain; /* after it */
	uint64_t size;               /* of the file before it */
	uint64_t count;              /* of its records */
};

/* A thread that syncs the file while the writer makes the next lines (audit_sync.c). */
struct fw_audit_syncer {
	struct fw_queue_thread thread;
	struct fw_queue_item job;
	bool is_busy; /* the writer has started a sync, and not taken its result */
	int64_t start_ns;
	/* Under the lock of the audit's queue: */
	bool is_over;
	bool is_synced;
	struct fw_audit_failure failure;
	int64_t end_ns;
};

/* Used by the thread only. */
struct fw_audit_writer {
	struct fw_audit_file *file;
	struct fw_hasher *hasher;
	struct fw_buf text; /* of the batch */
	struct fw_audit_batch batch;
	struct fw_audit_item *synced; /* records to report as written; NULL: none */
	struct fw_audit_ahead ahead;
	int64_t down_since_ms; /* 0: the log can be written */
	uint64_t lost_since;   /* records lost since then */
	bool is_dirty;         /* written, but not synced */
	int64_t synced_ms;
	int64_t sync_ns;     /* average duration of an fdatasync */
	int64_t arrival_ns;  /* average time between two records that are waited for */
	uint64_t last_count; /* records in the last batch */
	uint64_t expected;   /* those, and the ones that queued up behind them */
	const struct fw_audit_file *top_file; /* whose path is in `top` */
	uint64_t top_size;
};

/* The last record that was written, for anchors (audit_anchor.h). */
struct fw_audit_top {
	struct fw_audit_chain chain;
	uint64_t rotations; /* how often the log was rotated */
	char path[4096];    /* the real one; "": not known */
};

struct fw_audit {
	struct fw_audit_options options;
	char *heads; /* a copy of the option */
	struct fw_queue_thread queue;
	/* Under the lock of the queue: */
	uint64_t queue_bytes;
	uint64_t wake_count; /* the thread is woken when this many wait */
	struct fw_audit_omitted omitted;
	struct fw_audit_failure failure; /* the last one */
	uint64_t records, lost, batches;
	bool is_tried; /* the first attempt to write was made */
	struct fw_audit_top top;
	/* Read without the lock: */
	atomic_uint_fast64_t syncs;
	atomic_bool is_down;
	atomic_uint moves; /* to files that were not opened yet */

	struct fw_audit_writer writer;
	struct fw_audit_syncer syncer;
};

/* fw_audit_append(), but `args` is consumed if it succeeds. */
FW_NODISCARD fw_error *fw_audit_append_taking(struct fw_audit *audit,
					      const struct fw_audit_record *record, char *args,
					      size_t args_len, fw_audit_done *done, void *ctx);

/* May the refusal of an unauthenticated peer be recorded now? If not, it is counted
 * as omitted. */
bool fw_audit_admit_unauthenticated(struct fw_audit *audit);

/* From any thread. */
void fw_audit_top(struct fw_audit *audit, struct fw_audit_top *ret_top);

/* The thread's function and its cleanup; the argument is the audit. */
void fw_audit_work(void *arg);
void fw_audit_destroy(void *arg);
void fw_audit_item_free(struct fw_audit_item *item);

static inline struct fw_audit_item *fw_audit_item_next(const struct fw_audit_item *item)
{
	return (struct fw_audit_item *)(void *)item->item.next;
}

/* ---- a batch (audit_batch.c) -------------------------------------------- */

/* Writes the due notes and as many records from `first` on as fit one write into
 * writer.text, and advances `chain`. Without records it is a test whether the log
 * can be written. False: no memory. */
bool fw_audit_batch_put(struct fw_audit *audit, struct fw_audit_item *first,
			struct fw_audit_chain *chain, struct fw_audit_item **ret_rest,
			uint64_t *ret_count);

/* Locked, and unlocked meanwhile. Makes the lines of records that are in the queue, as
 * they will be if they continue `from`. fw_audit_batch_put() uses them if they do. */
void fw_audit_ahead_put(struct fw_audit *audit, const struct fw_audit_chain *from);
void fw_audit_ahead_drop(struct fw_audit *audit);

/* ---- syncing (audit_sync.c) --------------------------------------------- */

/* Sync what was written, and wait for it. */
bool fw_audit_sync_now(struct fw_audit *audit, struct fw_audit_failure *ret_failure);

/* Do the callers take so long to come back that one half of them should be synced while
 * the other half is served? */
bool fw_audit_sync_overlaps(const struct fw_audit *audit);

/* Sync writer.batch in the other thread. False: it could not be started. After true,
 * call fw_audit_sync_await() before anything else is done with the file. */
bool fw_audit_sync_start(struct fw_audit *audit);

/* Locked. Waits for the sync that was started, and makes lines ahead meanwhile. */
bool fw_audit_sync_await(struct fw_audit *audit, struct fw_audit_failure *ret_failure);

/* Locked. Waits for callers of the last batch that will append again soon. */
void fw_audit_sync_gather(struct fw_audit *audit);

/* Ends the other thread, if there is one. */
void fw_audit_sync_stop(struct fw_audit *audit);

#endif
