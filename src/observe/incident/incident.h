/*
 * incident.h - every failure can be looked up by the incident id that the
 * caller was shown.
 *
 * A server's observer hands each failure to a thread of its own, which writes
 * batches of them into a store. Readers (the command line, a dashboard) open
 * the same store beside it, for reading.
 *
 * The one rule to remember: the store is a convenience. When it is full, gone
 * or broken, calls go on and replies leave as if nothing were.
 */
#ifndef FW_OBSERVE_INCIDENT_H
#define FW_OBSERVE_INCIDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#include <faultwire/server.h>

/* One failure. Strings are borrowed; NULL where it has none. */
struct fw_incident {
	const char *id;
	int64_t time_ms;
	int64_t duration_us;
	const char *code;
	const char *severity;
	int status;
	const char *tool;
	const char *operation;
	const char *client;
	const char *session;
	const char *trace;
	const char *message;
	/* In full, not in lists: the canonical error with its trail, and what only
	 * the operator may see. */
	const char *error;
	const char *detail;
	/* Written: the name under which it is counted. Read, in full: how often
	 * the same code came from the same tool. */
	const char *counted_as;
	int64_t first_ms;
	int64_t last_ms;
	uint64_t count;
};

/* Which are wanted. Strings NULL and times 0: any. */
struct fw_incident_filter {
	const char *code;
	const char *tool;
	const char *client;
	const char *session;
	int64_t since_ms; /* from then on */
	int64_t until_ms; /* before then */
	size_t limit;     /* 0: all */
};

typedef void fw_incident_fn(void *ctx, const struct fw_incident *incident);
/* False: there are no more. */
typedef bool fw_incident_next_fn(void *ctx, struct fw_incident *ret_incident);

/* ---- a store ------------------------------------------------------------------ */

/*
 * Where incidents are kept. Another backend brings another one of these; it
 * embeds this structure at its start. Every function may raise
 * incident.store_failed; all of one store are called by one thread.
 */
struct fw_incident_store {
	const struct fw_incident_store_ops *ops;
};

struct fw_incident_store_ops {
	/* Could it be written to? Cheap, and before all else: nothing is opened
	 * for good. */
	fw_error *(*probe)(struct fw_incident_store *store);
	/* Ready to write, making it where it is not there. Called before each
	 * batch: it finds out that the store has been taken away, too. Tells what
	 * it had to do about a broken one. */
	fw_error *(*prepare)(struct fw_incident_store *store, char *ret_remark, size_t size);
	/* All of them, or none. */
	fw_error *(*write)(struct fw_incident_store *store, fw_incident_next_fn *next,
			   void *ctx);
	/* Forget what is older, and the oldest while it is larger; oldest as
	 * written first. `before_ms` 0: whatever its age. */
	fw_error *(*prune)(struct fw_incident_store *store, int64_t before_ms,
			   uint64_t max_bytes);
	/* The newest first, in the order in which they were written, whatever
	 * the clock said. */
	fw_error *(*list)(struct fw_incident_store *store,
			  const struct fw_incident_filter *filter, fw_incident_fn *tell,
			  void *ctx);
	/* In full, those whose id starts so, at most `limit`: by id, of one id the
	 * newest first. */
	fw_error *(*find)(struct fw_incident_store *store, const char *prefix, size_t limit,
			  fw_incident_fn *tell, void *ctx);
	void (*free)(struct fw_incident_store *store);
};

/* In a file, by SQLite. `is_reader`: it must be there, and is not changed. */
FW_NODISCARD fw_error *fw_incident_sqlite(const char *path, bool is_reader,
					  struct fw_incident_store **ret_store);

static inline void fw_incident_store_free(struct fw_incident_store *store)
{
	if (store)
		store->ops->free(store);
}

/* ---- reading ------------------------------------------------------------------ */

/* Those that fit, the newest first, told one by one. */
FW_NODISCARD fw_error *fw_incident_list(struct fw_incident_store *store,
					const struct fw_incident_filter *filter,
					fw_incident_fn *tell, void *ctx);

/* A JSON array of the incidents, without what only the full ones have. */
FW_NODISCARD fw_error *fw_incident_list_json(struct fw_incident_store *store,
					     const struct fw_incident_filter *filter,
					     struct fw_buf *out);

/* A JSON object: one incident in full, by its id or a start of it that no other
 * has. Raises incident.not_found, input.invalid_value (several start so). */
FW_NODISCARD fw_error *fw_incident_get_json(struct fw_incident_store *store, const char *id,
					    struct fw_buf *out);

/* The same, told. `tell` is called once, or not at all. */
FW_NODISCARD fw_error *fw_incident_get(struct fw_incident_store *store, const char *id,
				       fw_incident_fn *tell, void *ctx);

/* One incident as a JSON object; in full if it was read so. */
void fw_incident_put_json(struct fw_buf *out, const struct fw_incident *incident);

/* ---- a server's ----------------------------------------------------------------- */

typedef struct fw_incidents fw_incidents;

struct fw_incidents_options {
	int64_t max_age_s;  /* 0: FW_LIMIT_INCIDENT_AGE_S */
	uint64_t max_bytes; /* 0: FW_LIMIT_INCIDENT_STORE_BYTES */
};

struct fw_incidents_health {
	uint64_t written;
	uint64_t lost; /* found no room to wait in, or the server ended first */
	size_t waiting_bytes;
	bool is_down;
};

/* Consumes `store`, also where it fails. Starts the thread. Raises
 * internal.out_of_memory. */
FW_NODISCARD fw_error *fw_incidents_new(struct fw_incident_store *store,
					const struct fw_incidents_options *options,
					fw_incidents **ret_incidents);
/* Writes what waits. After the server that it observes. NULL is a no-op. */
void fw_incidents_free(fw_incidents *incidents);
/* To be added to the server. */
fw_observer fw_incidents_observer(fw_incidents *incidents);
/* From any thread. */
struct fw_incidents_health fw_incidents_health(fw_incidents *incidents);

#endif
