/*
 * roster.h - legacy sessions in the engine, so that any replica continues them: implements
 * mcp/replica.h, with journal.h for their events.
 *
 * A session is one value, under the digest of its id. An ended session is remembered as
 * such for as long as it would have lived, because another replica may still have it in memory.
 *
 * The one rule to remember: a value has an expiry, which every use of the session renews.
 */
#ifndef FW_FLEET_ROSTER_H
#define FW_FLEET_ROSTER_H

#include <stdint.h>

#include <faultwire/error.h>
#include <faultwire/serve.h>

#include "fleet/engine.h"

struct fw_journal;
struct fw_roster;

/* Becomes the replica of the server. Raises internal.out_of_memory. */
FW_NODISCARD fw_error *fw_roster_new(fw_server *server, const char *fleet,
				     struct fw_engine *engine, struct fw_journal *journal,
				     struct fw_roster **ret_roster);
/* Before the engine is freed: ends all lookups. NULL is a no-op. */
void fw_roster_close(struct fw_roster *roster);
/* After the server. NULL is a no-op. */
void fw_roster_free(struct fw_roster *roster);

#endif
