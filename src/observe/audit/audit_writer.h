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

enum fw_audit_batch_state {
	FW_AUDIT_BATCH_NONE,
	FW_AUDIT_BATCH_OPEN,  /* the file is locked, and lines can be added */
	FW_AUDIT_BATCH_FAILED /* it could not be opened, or a line could not be made */
};

/* The lines that are written next. */
struct fw_audit_batch {
	enum fw_audit_batch_state state;
	struct fw_buf lines;
	struct fw_audit_chain chain; /* the file's, and then that of the last line */
	struct fw_audit_item *last;  /* the last record that is in it; NULL: none yet */
	uint64_t count;
	struct fw_audit_failure failure;
};

/* Used by the thread only. */
struct fw_audit_writer {
	struct fw_audit_file *file;
	struct fw_hasher *hasher;
	struct fw_audit_batch batch;
	int64_t down_since_ms; /* 0: the log can be written */
	uint64_t lost_since;   /* records lost since then */
	bool is_dirty;         /* written, but not synced */
	int64_t synced_ms;
	int64_t sync_ns;     /* average duration of an fdatasync */
	int64_t arrival_ns;  /* average time between two records that are waited for */
	uint64_t last_count; /* records in the last batch */
	uint64_t expected;   /* those, and the ones that queued up after them */
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
	uint64_t wake_count;         /* the thread is woken when this many wait */
	struct fw_queue_item *spare; /* items to use again, with the memory of their body */
	size_t spare_count;
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

/* Locked. Keeps an item for a later record; false: there are enough, free it. What one
 * thread allocates and another frees costs both the allocator's lock. */
bool fw_audit_item_keep(struct fw_audit *audit, struct fw_audit_item *item);

static inline struct fw_audit_item *fw_audit_item_next(const struct fw_audit_item *item)
{
	return (struct fw_audit_item *)(void *)item->item.next;
}

/* ---- a batch (audit_batch.c) -------------------------------------------- */

/* Locks the file and begins a batch with the notes that are due. False: it failed. Without
 * records a batch is a test whether the log can be written. */
bool fw_audit_batch_open(struct fw_audit *audit);

/* Adds records from `first` (may be NULL) to `last` (NULL: all there are), as many as fit
 * one write. False: no memory, and the file is unlocked. */
bool fw_audit_batch_add(struct fw_audit *audit, struct fw_audit_item *first,
			const struct fw_audit_item *last);

#endif
