/*
 * store_pg_admin.h - store_admin.h for PostgreSQL.
 */
#ifndef FW_STORE_STORE_PG_ADMIN_H
#define FW_STORE_STORE_PG_ADMIN_H

#include "store/pg.h"
#include "store/store_admin.h"

FW_NODISCARD fw_error *fw_store_pg_migrate(const char *url, const char *role,
					   struct fw_store_migration *ret_migration);
FW_NODISCARD fw_error *fw_store_pg_check(const char *url, struct fw_buf *out);

#endif
