/*
 * store_pg.c - a store in a PostgreSQL database.
 *
 * A store takes a connection from the pool of its URL for each operation and gives it
 * back, so a store that is not used costs the server nothing. Tables are made by
 * faultwire store migrate, never here: a server needs no right to make them.
 */
#include "store/store_pg.h"

#include <string.h>

#include <faultwire/raise.h>

#include "base/limits_store.h"
#include "base/mem.h"

static fw_error *reach(struct fw_store_pg *store, bool is_for_rows)
{
	struct fw_pg *pg = NULL;

	FW_TRY(fw_pg_take(store->pool, FW_LIMIT_PG_ANSWER_MS, is_for_rows, &pg));
	fw_pg_give(pg, true);
	return NULL;
}

static fw_error *probe(struct fw_store *base)
{
	return reach(fw_store_pg_of(base), false);
}

/* A database cannot be replaced like a file. */
static fw_error *prepare(struct fw_store *base, char *ret_remark, size_t size)
{
	(void)base;
	(void)ret_remark;
	(void)size;
	return NULL;
}

static void free_store(struct fw_store *base)
{
	struct fw_store_pg *store = fw_store_pg_of(base);

	fw_pg_pool_unref(store->pool);
	fw__release(store);
}

static const struct fw_store_incident_ops incidents = {
	.probe = probe,
	.prepare = prepare,
	.add = fw_store_pg_add_incidents,
	.prune = fw_store_pg_prune_incidents,
	.list = fw_store_pg_list_incidents,
	.find = fw_store_pg_find_incidents,
	.walk = fw_store_pg_walk_incidents,
};

static const struct fw_store_row_ops rows = {
	.apply = fw_store_pg_apply,
	.get = fw_store_pg_get,
	.list = fw_store_pg_list,
	.expire = fw_store_pg_expire,
	.kinds = fw_store_pg_kinds,
};

fw_error *fw_store_pg_open(const char *url, const struct fw_store_options *options,
			   struct fw_store **ret_store)
{
	struct fw_store_pg *store = fw__allocate(sizeof *store);
	fw_error *err;

	if (!store)
		return fw_raise_internal_out_of_memory();
	memset(store, 0, sizeof *store);
	store->base = (struct fw_store){ &incidents, &rows, free_store, *options };
	err = fw_pg_pool_get(url, FW_PG_RUN, &store->pool);
	if (!err && options->is_reader)
		err = reach(store, false);
	if (err) {
		free_store(&store->base);
		return err;
	}
	*ret_store = &store->base;
	return NULL;
}
