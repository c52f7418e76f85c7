/*
 * store_backend.h - what a backend implements. store_suite.h tests it.
 *
 * A backend embeds struct fw_store at its start. Arguments were checked by store.c.
 */
#ifndef FW_STORE_STORE_BACKEND_H
#define FW_STORE_STORE_BACKEND_H

#include "store/store.h"

struct fw_store {
	const struct fw_store_incident_ops *incidents;
	const struct fw_store_row_ops *rows;
	void (*free)(struct fw_store *store);
	struct fw_store_options options; /* now_ms is set */
};

struct fw_store_incident_ops {
	fw_error *(*probe)(struct fw_store *store);
	fw_error *(*prepare)(struct fw_store *store, char *ret_remark, size_t size);
	fw_error *(*add)(struct fw_store *store, fw_incident_next_fn *next, void *ctx);
	fw_error *(*prune)(struct fw_store *store, int64_t before_ms, uint64_t max_bytes);
	fw_error *(*list)(struct fw_store *store, const struct fw_incident_filter *filter,
			  fw_incident_fn *found, void *ctx);
	fw_error *(*find)(struct fw_store *store, const char *prefix, size_t limit,
			  fw_incident_fn *found, void *ctx);
	fw_error *(*walk)(struct fw_store *store, int64_t after, size_t limit,
			  fw_incident_fn *found, void *ctx);
};

struct fw_store_row_ops {
	fw_error *(*apply)(struct fw_store *store, const struct fw_store_change *changes,
			   size_t count, struct fw_store_result *ret_result);
	fw_error *(*get)(struct fw_store *store, const char *kind, const char *key,
			 fw_store_row_fn *found, void *ctx);
	fw_error *(*list)(struct fw_store *store, const char *kind, const char *owner,
			  const char *after, size_t limit, fw_store_row_fn *found, void *ctx);
	fw_error *(*expire)(struct fw_store *store, size_t limit, size_t *ret_count);
	fw_error *(*kinds)(struct fw_store *store, fw_store_kind_fn *found, void *ctx);
};

/* The rules of a change, the same for every backend. `number` and `version` are those
 * of the current row; version 0: there is none. False: refused. For a PUT or ADD that
 * is allowed, `ret_number` is the number to write. */
bool fw_store_change_allows(const struct fw_store_change *change, uint64_t version,
			    int64_t number, int64_t *ret_number);

/* Backends. `path` is a file. */
FW_NODISCARD fw_error *fw_store_sqlite_open(const char *path,
					    const struct fw_store_options *options,
					    struct fw_store **ret_store);
FW_NODISCARD fw_error *fw_store_pg_open(const char *url, const struct fw_store_options *options,
					struct fw_store **ret_store);
FW_NODISCARD fw_error *fw_store_pg_needs(const char *url, struct fw_store_needs *needs);

#endif
