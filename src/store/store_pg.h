/*
 * store_pg.h - a PostgreSQL store, shared by its files: store_pg.c opens it,
 * store_pg_incident.c and store_pg_row.c use it.
 */
#ifndef FW_STORE_STORE_PG_H
#define FW_STORE_STORE_PG_H

#include "store/pg.h"
#include "store/store_backend.h"

enum { FW_STORE_PG_DAYS = 8 };

struct fw_store_pg {
	struct fw_store base;
	struct fw_pg_pool *pool;
	/* Days whose partitions exist, as far as this store knows. */
	int64_t days[FW_STORE_PG_DAYS];
	size_t day_count;
	/* Incidents: the writer of the last batch, and whether it is known how far it
	 * got. */
	int64_t writer;
	uint64_t last;
	bool is_sure;
	/* Written since the last look at the size. */
	uint64_t unpruned_bytes;
	bool has_unauthenticated;
	bool was_pruned;
};

static inline struct fw_store_pg *fw_store_pg_of(struct fw_store *base)
{
	return (struct fw_store_pg *)(void *)base;
}

/* ---- store_pg_incident.c -------------------------------------------------- */

fw_error *fw_store_pg_add_incidents(struct fw_store *base, fw_incident_next_fn *next,
				    void *ctx);
fw_error *fw_store_pg_prune_incidents(struct fw_store *base, int64_t before_ms,
				      uint64_t max_bytes);
/* ---- store_pg_read.c ------------------------------------------------------- */

fw_error *fw_store_pg_list_incidents(struct fw_store *base,
				     const struct fw_incident_filter *filter,
				     fw_incident_fn *found, void *ctx);
fw_error *fw_store_pg_find_incidents(struct fw_store *base, const char *prefix, size_t limit,
				     fw_incident_fn *found, void *ctx);

fw_error *fw_store_pg_walk_incidents(struct fw_store *base, int64_t after, size_t limit,
				     fw_incident_fn *found, void *ctx);

/* ---- store_pg_row.c -------------------------------------------------------- */

fw_error *fw_store_pg_apply(struct fw_store *base, const struct fw_store_change *changes,
			    size_t count, struct fw_store_result *ret_result);
fw_error *fw_store_pg_get(struct fw_store *base, const char *kind, const char *key,
			  fw_store_row_fn *found, void *ctx);
fw_error *fw_store_pg_list(struct fw_store *base, const char *kind, const char *owner,
			   const char *after, size_t limit, fw_store_row_fn *found, void *ctx);
fw_error *fw_store_pg_expire(struct fw_store *base, size_t limit, size_t *ret_count);
fw_error *fw_store_pg_kinds(struct fw_store *base, fw_store_kind_fn *found, void *ctx);

#endif
