/*
 * incident.h - every failure can be looked up by the incident id in its error.
 *
 * A server's observer queues each failure, before its answer is sent, for a thread, which writes them in batches
 * into a store (store/store.h). Readers (the command line, a dashboard) open the same
 * store at the same time.
 *
 * The one rule to remember: calls and replies never depend on the store. If it is
 * full, deleted or corrupt, they continue.
 */
#ifndef FW_OBSERVE_INCIDENT_H
#define FW_OBSERVE_INCIDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "store/store.h"

#include <faultwire/error.h>
#include <faultwire/observer.h>

/* ---- reading ------------------------------------------------------------------ */

/* Calls `found` for each incident that matches, the newest first. */
FW_NODISCARD fw_error *fw_incident_list(struct fw_store *store,
					const struct fw_incident_filter *filter,
					fw_incident_fn *found, void *ctx);

/* A JSON array of the incidents, without errors and details. */
FW_NODISCARD fw_error *fw_incident_list_json(struct fw_store *store,
					     const struct fw_incident_filter *filter,
					     struct fw_buf *out);

/* A JSON object: one incident in full, by its id or a unique prefix of it. Raises
 * incident.not_found, input.invalid_value (the prefix is not unique). */
FW_NODISCARD fw_error *fw_incident_get_json(struct fw_store *store, const char *id,
					    struct fw_buf *out);

/* The same; `found` is called once, or not at all. */
FW_NODISCARD fw_error *fw_incident_get(struct fw_store *store, const char *id,
				       fw_incident_fn *found, void *ctx);

/* The last member of a stored error: the contract in which the client got it. Readers do
 * not see it: they get fw_incident.contract. */
#define FW_INCIDENT_CONTRACT ",\"reported_as\":\""

/* One incident as a JSON object; in full if it has an `error`. */
void fw_incident_put_json(struct fw_buf *out, const struct fw_incident *incident);

/* ---- recording ----------------------------------------------------------------- */

typedef struct fw_incidents fw_incidents;

struct fw_incidents_options {
	int64_t max_age_s;  /* 0: FW_LIMIT_INCIDENT_AGE_S */
	uint64_t max_bytes; /* 0: FW_LIMIT_INCIDENT_STORE_BYTES */
	/* Incidents that are not in the store yet are in files named STEM-*.waiting, too, so
	 * that a killed server loses none; the next one with this stem stores them. Their
	 * directory exists. NULL: they are in memory only. */
	const char *stem;
	/* Servers share the store: while it is unavailable, incidents wait in a file, and
	 * not in memory. */
	bool is_shared;
};

struct fw_incidents_health {
	uint64_t written;
	uint64_t lost;     /* the queue was full, or the server ended first */
	uint64_t left_out; /* unauthenticated requests over their rate */
	size_t waiting_bytes;
	uint64_t waiting;    /* on the disk, for a store that is away */
	uint64_t disk_bytes; /* of these */
	bool is_down;
	int64_t down_unix_ms; /* since when */
};

/* Consumes `store`, also if it fails. Starts the thread. Raises
 * internal.out_of_memory. */
FW_NODISCARD fw_error *fw_incidents_new(struct fw_store *store,
					const struct fw_incidents_options *options,
					fw_incidents **ret_incidents);
/* Writes what is queued. Call it after the server has ended. NULL is a no-op. */
void fw_incidents_free(fw_incidents *incidents);
/* For fw_server_add_observer(). */
fw_observer fw_incidents_observer(fw_incidents *incidents);
/* From any thread. */
struct fw_incidents_health fw_incidents_health(fw_incidents *incidents);

#endif
