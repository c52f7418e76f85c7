/*
 * anchor.h - where the heads of audit logs are kept apart from the logs: a file on another
 * disk (file:PATH), or a PostgreSQL store (postgresql://...).
 *
 * An anchor says that a log had this record at this time. Anchors are only ever added: the
 * role of servers in PostgreSQL can neither change nor delete one.
 */
#ifndef FW_STORE_ANCHOR_H
#define FW_STORE_ANCHOR_H

#include <stdint.h>

#include <faultwire/error.h>

#include "base/buf.h"

struct fw_anchor {
	const char *log;     /* which log: "HOST:/path/audit-log.jsonl" */
	const char *replica; /* who says so */
	uint64_t seq;
	const char *hash;
	int64_t time_ms;
	const char *reason; /* "interval", "rotation", "end" */
};

struct fw_anchors;

/* As a line of JSON: that of a file, and the body for a webhook. */
void fw_anchors_put(struct fw_buf *line, const struct fw_anchor *anchor);
/* For a line that could not be made: clears it. Raises input.too_large,
 * internal.out_of_memory. */
FW_NODISCARD fw_error *fw_anchors_refuse(struct fw_buf *line);

/* Raises what fw_store_open() does. Nothing is opened yet. */
FW_NODISCARD fw_error *fw_anchors_open(const char *url, struct fw_anchors **ret_anchors);
/* NULL is a no-op. */
void fw_anchors_free(struct fw_anchors *anchors);

/* It is on disk afterwards. Raises as errno, dependency.unavailable. */
FW_NODISCARD fw_error *fw_anchors_add(struct fw_anchors *anchors,
				      const struct fw_anchor *anchor);

/* Those of one log, oldest first; borrowed during the call. Raises the same. */
typedef void fw_anchor_fn(void *ctx, const struct fw_anchor *anchor);
FW_NODISCARD fw_error *fw_anchors_list(struct fw_anchors *anchors, const char *log,
				       fw_anchor_fn *found, void *ctx);

#endif
