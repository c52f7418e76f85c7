/*
 * spool.h - work for another thread: records wait in one bounded buffer, and a
 * thread of its own takes them in batches.
 *
 * The one rule to remember: putting a record never blocks on a disk and never
 * fails; what finds no room is counted, and the count is told.
 */
#ifndef FW_OBSERVE_SPOOL_H
#define FW_OBSERVE_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#include <faultwire/error.h>

struct fw_spool;

/* What the thread gets at once, oldest first. */
struct fw_spool_batch {
	const char *records;
	size_t len;
	size_t count;
	uint64_t lost; /* since the last batch that was done */
	bool is_last;  /* the end: what is not done now is lost */
};

struct fw_spool_options {
	size_t max_bytes;   /* of records that wait */
	unsigned window_ms; /* a batch gathers for so long */
	unsigned retry_ms;  /* until a batch that was not done is tried again */
	unsigned tick_ms;   /* until the reminder of fw_spool_remind() */
	/* On the spool's thread, unlocked. False: not done; the same batch comes
	 * again. A batch may be empty: then it is a reminder, or the end. */
	bool (*work)(void *ctx, const struct fw_spool_batch *batch);
	void *ctx;
};

/* Starts the thread. Raises internal.out_of_memory, or why there is no thread. */
FW_NODISCARD fw_error *fw_spool_new(const struct fw_spool_options *options,
				    struct fw_spool **ret_spool);
/* What waits is done first. NULL is a no-op. */
void fw_spool_free(struct fw_spool *spool);

/*
 * A record: begin, write into the buffer, end. The spool is locked between the
 * two, so write what is at hand and no more. NULL in a process that was forked
 * off: its copy of the spool has no thread.
 */
struct fw_buf *fw_spool_begin(struct fw_spool *spool);
void fw_spool_end(struct fw_spool *spool);
/* Instead of the end: there is no record after all. */
void fw_spool_cancel(struct fw_spool *spool);

/* Between begin and end: call `work` soon, even if nothing more comes. */
void fw_spool_remind(struct fw_spool *spool);

/* For the thread, which shares more than records with those who put them. */
void fw_spool_lock(struct fw_spool *spool);
void fw_spool_unlock(struct fw_spool *spool);

/* Records lost in all; bytes that wait. */
uint64_t fw_spool_lost(struct fw_spool *spool);
size_t fw_spool_waiting(struct fw_spool *spool);

/* The next record of a batch, NULL at its end. Begin with *at 0. */
const char *fw_spool_next(const struct fw_spool_batch *batch, size_t *at, size_t *ret_len);

#endif
