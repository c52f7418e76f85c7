/*
 * audit_anchor.h - a thread that anchors the head of an audit log somewhere else (a store,
 * store/anchor.h, or a webhook, http://...): every FW_LIMIT_ANCHOR_MS if there are new records, within a second after
 * the log was rotated, and at the end.
 *
 * The one rule to remember: an append never waits for it.
 */
#ifndef FW_OBSERVE_AUDIT_ANCHOR_H
#define FW_OBSERVE_AUDIT_ANCHOR_H

#include "base/loop.h"
#include "observe/audit/audit.h"

struct fw_audit_anchorer;
struct fw_metrics;

struct fw_audit_anchorer_options {
	const char *url;
	const char *replica;  /* NULL: the name of this host */
	struct fw_loop *loop; /* sends to a webhook */
	const char *secret;   /* signs for a webhook; NULL: not signed */
};

/* Is it the URL of a webhook? */
bool fw_audit_anchor_is_webhook(const char *url);

enum { FW_AUDIT_LOG_NAME_SIZE = 4096 + 320 };

/* The name of a log in anchors: the replica, a colon, the real path. False: the folder
 * does not exist. `replica` NULL: the name of this host. */
bool fw_audit_log_name(const char *replica, const char *path,
		       char ret_name[FW_AUDIT_LOG_NAME_SIZE]);

/* Borrows `audit` and the loop; strings are copied. Raises what fw_anchors_open() and
 * fw_alerting_sender_new() do. */
FW_NODISCARD fw_error *fw_audit_anchorer_new(struct fw_audit *audit,
					     const struct fw_audit_anchorer_options *options,
					     struct fw_audit_anchorer **ret_anchorer);
/* Anchors once more; for a webhook it runs the loop for up to a second. On the loop's
 * thread, when the loop is not running, before fw_audit_close(). NULL is a no-op. */
void fw_audit_anchorer_free(struct fw_audit_anchorer *anchorer);
/* Adds metrics. They must not be read after it is freed. */
FW_NODISCARD fw_error *fw_audit_anchorer_observe(struct fw_audit_anchorer *anchorer,
						 struct fw_metrics *metrics);

struct fw_audit_anchorer_health {
	uint64_t seq; /* of the last anchor of this process; 0: none */
	uint64_t failures;
	bool is_down;
};
/* From any thread. */
struct fw_audit_anchorer_health fw_audit_anchorer_health(struct fw_audit_anchorer *anchorer);

#endif
