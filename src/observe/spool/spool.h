/*
 * spool.h - records for another thread: they wait in one bounded buffer, and a
 * thread of the spool takes them in batches.
 *
 * The one rule to remember: adding a record never waits for a disk and never fails.
 * Records that do not fit are dropped and counted, and the next batch has the count.
 *
 * A spool can have two mirrors, one for each of its buffers: files to which records are
 * written when they are added, and from which they are removed after their batch. They are
 * not synced, so they survive the end of the process (kill -9), not that of the machine.
 */
#ifndef FW_OBSERVE_SPOOL_H
#define FW_OBSERVE_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#include <faultwire/error.h>

struct fw_spool;

/* The records that the thread gets in one call, oldest first. */
struct fw_spool_batch {
	const char *records;
	size_t len;
	size_t count;
	uint64_t lost; /* records dropped since the last successful batch */
	bool is_last;  /* the spool ends; if this batch fails, it is lost */
	/* All of its records are in a mirror, so they are not lost by that either. */
	bool is_mirrored;
};

struct fw_spool_options {
	size_t max_bytes;   /* of waiting records */
	unsigned window_ms; /* time for which a batch is collected */
	unsigned retry_ms;  /* delay until a failed batch is tried again */
	unsigned tick_ms;   /* delay of the call that fw_spool_remind() asks for */
	/* On the spool's thread, without the lock. False: it failed; the same batch is
	 * passed again. An empty batch is a reminder, or the end. */
	bool (*work)(void *ctx, const struct fw_spool_batch *batch);
	void *ctx;
};

/* Starts the thread. Raises internal.out_of_memory, or the errno of starting it. */
FW_NODISCARD fw_error *fw_spool_new(const struct fw_spool_options *options,
				    struct fw_spool **ret_spool);
/* Works off waiting records first. NULL is a no-op. */
void fw_spool_free(struct fw_spool *spool);

/*
 * Add a record: begin, write into the buffer, end. The spool is locked between the
 * two, so do nothing slow there. NULL in a forked child, whose copy of the spool has
 * no thread.
 */
struct fw_buf *fw_spool_begin(struct fw_spool *spool);
void fw_spool_end(struct fw_spool *spool);
/* Instead of fw_spool_end(): discard the record. */
void fw_spool_cancel(struct fw_spool *spool);

/* Between begin and end: call `work` after tick_ms, even without new records. */
void fw_spool_remind(struct fw_spool *spool);

/*
 * Between begin and end. From now on records are written to these files as well, after the first `head` bytes,
 * which belong to the caller. Between records there is nothing. The descriptors stay the
 * caller's, and open until the spool is freed.
 */
void fw_spool_mirror(struct fw_spool *spool, const int fds[2], size_t head);
/* The errno of the last record that could not be written to its mirror; 0: none since the
 * last call. */
int fw_spool_mirror_failure(struct fw_spool *spool);

/* For data that the thread shares with those who add records. */
void fw_spool_lock(struct fw_spool *spool);
void fw_spool_unlock(struct fw_spool *spool);

/* Total of dropped records; bytes of waiting records. */
uint64_t fw_spool_lost(struct fw_spool *spool);
size_t fw_spool_waiting(struct fw_spool *spool);

/* The next record of a batch, NULL at its end. Begin with *at 0. */
const char *fw_spool_next(const struct fw_spool_batch *batch, size_t *at, size_t *ret_len);

#endif
