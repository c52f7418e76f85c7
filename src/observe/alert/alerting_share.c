/*
 * alerting_share.c - see alerting_share.h.
 */
#include "observe/alert/alerting_share.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <faultwire/raise.h>

#include "base/clock.h"
#include "base/mem.h"

enum { REPLICA_SIZE = 256, KEY_SIZE = REPLICA_SIZE + 24, LIST_MOST = 10000 };

static const char KIND[] = "alerts";

struct fw_alerting_share {
	struct fw_store *store;
	char replica[REPLICA_SIZE];
	char key[KEY_SIZE];
	bool is_there; /* the row was written */
};

fw_error *fw_alerting_share_new(const char *url, const char *replica,
				struct fw_alerting_share **ret_share)
{
	struct fw_alerting_share *share = fw__allocate(sizeof *share);
	char host[HOST_NAME_MAX + 1] = "";
	fw_error *err;

	if (!share)
		return fw_raise_internal_out_of_memory();
	memset(share, 0, sizeof *share);
	if (!replica)
		(void)gethostname(host, sizeof host - 1);
	(void)snprintf(share->replica, sizeof share->replica, "%s", replica ? replica : host);
	(void)snprintf(share->key, sizeof share->key, "%s:%ld", share->replica, (long)getpid());
	err = fw_store_open(url, NULL, &share->store);
	if (err)
		fw__release(share);
	else
		*ret_share = share;
	return err;
}

static fw_error *apply(struct fw_alerting_share *share, enum fw_store_action action,
		       const char *state)
{
	const struct fw_store_change change = {
		.action = action,
		.kind = KIND,
		.key = share->key,
		.owner = share->replica,
		.value = state,
		.expires_ms = fw_unix_ms() + FW_ALERTING_SHARE_AGE_MS,
	};
	struct fw_store_result result;

	return fw_store_apply(share->store, &change, 1, &result);
}

void fw_alerting_share_free(struct fw_alerting_share *share)
{
	if (!share)
		return;
	/* If the store is unavailable, the row expires. */
	if (share->is_there)
		fw_error_free(apply(share, FW_STORE_DELETE, NULL));
	fw_store_free(share->store);
	fw__release(share);
}

const char *fw_alerting_share_replica(const struct fw_alerting_share *share)
{
	return share->replica;
}

fw_error *fw_alerting_share_put(struct fw_alerting_share *share, const char *state)
{
	/* Also if the answer is lost. */
	share->is_there = true;
	return apply(share, FW_STORE_PUT, state);
}

fw_error *fw_alerting_share_list(struct fw_store *store, fw_store_row_fn *found, void *ctx)
{
	return fw_store_list(store, KIND, NULL, NULL, LIST_MOST, found, ctx);
}
