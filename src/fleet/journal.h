/*
 * journal.h - events of legacy streams and changes of lists in the engine, so that a client
 * continues at any replica and is notified of changes at all of them: what mcp/follow.h needs.
 *
 * Events are kept in a Redis stream for each stream of a session, changes in one for the
 * fleet. A second connection waits (XREAD BLOCK) for changes and for notices of new events:
 * unlike messages of PUBLISH, what came while it was connecting again is not lost.
 *
 * The one rule to remember: everything that is kept is bounded in number, bytes and age
 * (base/limits_fleet.h), and what is read is checked.
 */
#ifndef FW_FLEET_JOURNAL_H
#define FW_FLEET_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>
#include <faultwire/serve.h>

#include "fleet/engine.h"
#include "mcp/follow.h"

struct fw_journal;

struct fw_journal_options {
	struct fw_loop *loop;
	fw_server *server;
	const struct fw_engine_url *url; /* of the second connection */
	const char *fleet;
	uint32_t wait_ms;
};

/* Raises internal.out_of_memory, internal.unsupported. */
FW_NODISCARD fw_error *fw_journal_new(const struct fw_journal_options *options,
				      struct fw_journal **ret_journal);
/* While the loop can still run; before the engine is freed. NULL is a no-op. */
void fw_journal_close(struct fw_journal *journal);
/* After the server. NULL is a no-op. */
void fw_journal_free(struct fw_journal *journal);

void fw_journal_set_engine(struct fw_journal *journal, struct fw_engine *engine);
/* The engine has come up or gone down. */
void fw_journal_changed(struct fw_journal *journal, bool is_up);
/* Reports this replica. Once per second. */
void fw_journal_beat(struct fw_journal *journal);

enum fw_journal_count {
	FW_JOURNAL_KEPT,      /* events */
	FW_JOURNAL_LOST,      /* events that could not be kept */
	FW_JOURNAL_RESUMED,   /* events that were read for a client */
	FW_JOURNAL_ANNOUNCED, /* changes of this replica */
	FW_JOURNAL_HEARD,     /* changes of all replicas */
	FW_JOURNAL_ANSWERED,  /* calls of replicas that have ended */
	FW_JOURNAL_COUNTS
};
uint64_t fw_journal_counted(const struct fw_journal *journal, enum fw_journal_count which);

/* Of mcp/replica.h. */
bool fw_journal_is_sharing(const struct fw_journal *journal);
uint64_t fw_journal_newest(const struct fw_journal *journal);
bool fw_journal_begin(struct fw_journal *journal, const struct fw_stream *stream,
		      const char *id, size_t len);
bool fw_journal_keep(struct fw_journal *journal, const struct fw_stream *stream,
		     const char *json, size_t len, bool is_answer);
/* The state of a session has changed; it was sent to the engine. */
void fw_journal_notice(struct fw_journal *journal, const char *digest);
bool fw_journal_read(struct fw_journal *journal, struct fw_reading *reading);
bool fw_journal_announce(struct fw_journal *journal, enum fw_change change, const char *uri);

#endif
