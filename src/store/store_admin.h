/*
 * store_admin.h - what an operator does with a store: make its tables, check it, copy it.
 *
 * The one rule to remember: a server never migrates. Its role needs no right to make or
 * change tables.
 */
#ifndef FW_STORE_STORE_ADMIN_H
#define FW_STORE_STORE_ADMIN_H

#include "base/buf.h"
#include "store/store.h"

struct fw_store_migration {
	int from; /* version of the tables before; 0: there were none */
	int to;
};

/*
 * Brings the tables to the version of this program, in one transaction, and lets
 * `runtime_role` (NULL: no role) use them. Any number of migrations at the same time are
 * safe. Tables that are newer are left alone. Raises what fw_store_open() does,
 * dependency.unavailable, input.invalid_value (a database that is not UTF-8).
 */
FW_NODISCARD fw_error *fw_store_migrate(const char *url, const char *runtime_role,
					struct fw_store_migration *ret_migration);

/* Writes a JSON object: the server, versions, numbers of incidents and rows. Raises what
 * prevents its use. */
FW_NODISCARD fw_error *fw_store_check(const char *url, struct fw_buf *out);

struct fw_store_copied {
	uint64_t rows;
	uint64_t incidents;
};

typedef void fw_store_progress_fn(void *ctx, const struct fw_store_copied *copied);

/*
 * Copies every row that has not expired, then every incident in its order. Rows that are
 * there already are replaced. Incidents are not copied twice into a shared store; into a
 * file they are copied only if it has none. No server may use either store meanwhile.
 */
FW_NODISCARD fw_error *fw_store_copy(const char *from, const char *to,
				     fw_store_progress_fn *progress, void *ctx,
				     struct fw_store_copied *ret_copied);

#endif
