/*
 * alerting_share.h - the firing alerts of a server in a store that servers share, so that one
 * command shows those of all replicas.
 *
 * Each server has a row of its own. It expires unless it is written again, so that the alerts
 * of a server that was killed disappear.
 *
 * The one rule to remember: every function here may wait for the store.
 */
#ifndef FW_OBSERVE_ALERTING_SHARE_H
#define FW_OBSERVE_ALERTING_SHARE_H

#include <faultwire/error.h>

#include "store/store.h"

enum {
	/* How often the row is written again, and how long it is valid. */
	FW_ALERTING_SHARE_MS = 60 * 1000,
	FW_ALERTING_SHARE_AGE_MS = 3 * FW_ALERTING_SHARE_MS,
	/* Alerts in it; further ones are counted. */
	FW_ALERTING_SHARE_MOST = 128,
};

struct fw_alerting_share;

/* `replica` is a part of the key; NULL: the name of this host. Raises what fw_store_open()
 * raises. Nothing is connected yet. */
FW_NODISCARD fw_error *fw_alerting_share_new(const char *url, const char *replica,
					     struct fw_alerting_share **ret_share);
/* Deletes the row. NULL is a no-op. */
void fw_alerting_share_free(struct fw_alerting_share *share);

const char *fw_alerting_share_replica(const struct fw_alerting_share *share);

/* Replaces the row. `state` is JSON. Raises what fw_store_apply() raises. */
FW_NODISCARD fw_error *fw_alerting_share_put(struct fw_alerting_share *share,
					     const char *state);

/* The rows of all servers; `value` is the state. Raises what fw_store_list() raises. */
FW_NODISCARD fw_error *fw_alerting_share_list(struct fw_store *store, fw_store_row_fn *found,
					      void *ctx);

#endif
