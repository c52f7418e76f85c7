/*
 * store.h - data that outlives a process, in a store that a URL names: incidents,
 * and rows for everything else (budgets, tokens, reservations, idempotency keys,
 * alert state).
 *
 * Every function here is synchronous and may wait for a disk. A server calls them on
 * the thread of a queue (store_queue.h); the command line calls them directly. Each
 * call is one transaction: it happens completely or not at all, also when the process
 * is killed.
 *
 * The one rule to remember: a store belongs to one thread at a time. A process may have
 * several of the same file.
 */
#ifndef FW_STORE_STORE_H
#define FW_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

#include "store/incident_row.h"

struct fw_store;

struct fw_store_options {
	bool is_reader;  /* it must exist, and is not changed */
	bool is_durable; /* a commit survives a power failure; for rows */
	/* Wall clock in milliseconds, for the expiry of rows; NULL: the system's. */
	int64_t (*now_ms)(void);
};

/*
 * `url` is sqlite:PATH, or a path alone, which means the same, or a PostgreSQL URL as
 * libpq reads it. The file of a writer is created and opened with the first operation; a
 * database must have the tables of fw_store_migrate() by then. `options` may be NULL.
 * Raises internal.unsupported (the library of the backend is not installed),
 * input.invalid_value (another URL), incident.store_failed (for a reader),
 * internal.out_of_memory. The store is yours, for fw_store_free().
 */
FW_NODISCARD fw_error *fw_store_open(const char *url, const struct fw_store_options *options,
				     struct fw_store **ret_store);
/* NULL is a no-op. */
void fw_store_free(struct fw_store *store);

/* Is it on a server that other machines use too, rather than a file? */
bool fw_store_is_shared(const char *url);
/* The path of a store in a file, a part of its URL. */
const char *fw_store_file_path(const char *url);
/* What a confined server has to permit for a shared store. */
enum { FW_STORE_PORTS_MAX = 16, FW_STORE_FILES_MAX = 8 };
struct fw_store_needs {
	uint16_t ports[FW_STORE_PORTS_MAX]; /* of TCP */
	size_t port_count;
	bool has_socket;                     /* a Unix socket */
	char files[FW_STORE_FILES_MAX][512]; /* to read; they need not exist */
	size_t file_count;
};
/* Also loads the library of the backend. Nothing for a file. Raises what fw_store_open()
 * raises. */
FW_NODISCARD fw_error *fw_store_needs(const char *url, struct fw_store_needs *ret_needs);
/* The URL without its password and parameters, for people. */
void fw_store_url_show(const char *url, char *ret_text, size_t size);

/* ---- incidents ---------------------------------------------------------- */

/* All raise incident.store_failed, internal.out_of_memory. */

/* Can the store be written? Cheap: nothing is kept open. */
FW_NODISCARD fw_error *fw_store_probe(struct fw_store *store);

/* Opens it for writing, and creates it if necessary. To be called before each batch:
 * it notices that the store was deleted or replaced. A corrupt store is renamed and
 * a new one is made; `ret_remark` is then the new name of the old one. */
FW_NODISCARD fw_error *fw_store_prepare(struct fw_store *store, char *ret_remark, size_t size);

/* All of them, or none. After fw_store_prepare(). */
FW_NODISCARD fw_error *fw_store_add_incidents(struct fw_store *store, fw_incident_next_fn *next,
					      void *ctx);

/* Deletes incidents older than `before_ms` (0: none), those of unauthenticated requests
 * beyond the newest FW_LIMIT_INCIDENT_UNAUTHENTICATED, and the oldest ones while the store is
 * larger than `max_bytes`. "Oldest" is in the order of insertion. After
 * fw_store_prepare(). */
FW_NODISCARD fw_error *fw_store_prune_incidents(struct fw_store *store, int64_t before_ms,
						uint64_t max_bytes);

/* The newest first, in the order of insertion, not of their time. For a reader. */
FW_NODISCARD fw_error *fw_store_list_incidents(struct fw_store *store,
					       const struct fw_incident_filter *filter,
					       fw_incident_fn *found, void *ctx);

/* In full, those whose id begins with `prefix`, at most `limit`: by id, and the newest
 * of one id first. For a reader. */
FW_NODISCARD fw_error *fw_store_find_incidents(struct fw_store *store, const char *prefix,
					       size_t limit, fw_incident_fn *found, void *ctx);

/* In full and in the order of insertion, those after the number `after` (0: all), at most
 * `limit`. `number` is the place of an incident in this order. For a reader. */
FW_NODISCARD fw_error *fw_store_walk_incidents(struct fw_store *store, int64_t after,
					       size_t limit, fw_incident_fn *found, void *ctx);

/* ---- rows --------------------------------------------------------------- */

/*
 * A row is found by its kind and key. It has a JSON text, a number for counters, an
 * owner by which rows can be listed, and a time at which it expires. An expired row
 * is treated as absent by every function. All functions raise
 * dependency.unavailable (the store cannot be used), input.too_large,
 * internal.out_of_memory, input.invalid_value (a database: text that is not UTF-8).
 */
struct fw_store_row {
	const char *kind;
	const char *key;
	const char *owner;  /* "": none */
	const char *value;  /* "": none */
	int64_t number;     /* 0 unless set or added to */
	int64_t expires_ms; /* 0: never */
	/* Changes with every write, and is never used again for the same key, not
	 * even after a deletion. */
	uint64_t version;
};

enum fw_store_action {
	FW_STORE_PUT,   /* create or replace the row */
	FW_STORE_ADD,   /* add to its number; creates the row, starting from 0 */
	FW_STORE_DELETE /* delete it; nothing happens if it is absent */
};

/* For `if_version`: only if there is no such row. 0: in any case. */
#define FW_STORE_ABSENT UINT64_MAX

/* NULL texts are "". */
struct fw_store_change {
	enum fw_store_action action;
	const char *kind;
	const char *key;
	uint64_t if_version; /* refused unless the row has this version */
	const char *owner;   /* of a row that is created or replaced */
	const char *value;   /* likewise; valid JSON, which is not checked */
	int64_t expires_ms;  /* likewise */
	int64_t number;      /* to set, or to add */
	/* For FW_STORE_ADD: refused if the result is outside of min to max, or
	 * overflows. */
	bool is_limited;
	int64_t min;
	int64_t max;
};

struct fw_store_result {
	bool is_refused;   /* then nothing was changed */
	size_t refused_at; /* index of the first change that was refused */
	uint64_t version;  /* of the rows that were written */
	/* After the last change; for one that was refused, as it is. */
	int64_t number;
};

/*
 * Applies all changes in their order, or none of them: a reservation is an addition to
 * a counter with a limit, and a row with an expiry. A refused change is not an error; if
 * an error is returned, `ret_result` is undefined. At most FW_LIMIT_STORE_CHANGES.
 */
FW_NODISCARD fw_error *fw_store_apply(struct fw_store *store,
				      const struct fw_store_change *changes, size_t count,
				      struct fw_store_result *ret_result);

/* Borrowed during the call. */
typedef void fw_store_row_fn(void *ctx, const struct fw_store_row *row);

/* Calls `found` once, or not at all. */
FW_NODISCARD fw_error *fw_store_get(struct fw_store *store, const char *kind, const char *key,
				    fw_store_row_fn *found, void *ctx);

/* Rows of a kind and an owner (NULL: any) with keys after `after` (NULL: all), ordered
 * by the bytes of the key, at most `limit`. */
FW_NODISCARD fw_error *fw_store_list(struct fw_store *store, const char *kind,
				     const char *owner, const char *after, size_t limit,
				     fw_store_row_fn *found, void *ctx);

/* The kinds of rows that there are, sorted. Other functions of the store may be called by
 * `found`. */
typedef void fw_store_kind_fn(void *ctx, const char *kind);
FW_NODISCARD fw_error *fw_store_kinds(struct fw_store *store, fw_store_kind_fn *found,
				      void *ctx);

/* Deletes at most `limit` expired rows, the oldest first. */
FW_NODISCARD fw_error *fw_store_expire(struct fw_store *store, size_t limit, size_t *ret_count);

#endif
