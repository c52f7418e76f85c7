/*
 * pg_schema.h - the tables of a PostgreSQL store, as a list of migrations.
 *
 * The one rule to remember: a migration that was released is never changed. A new one is
 * appended, and FW_PG_SCHEMA_VERSION grows.
 */
#ifndef FW_STORE_PG_SCHEMA_H
#define FW_STORE_PG_SCHEMA_H

#include "store/pg.h"

struct fw_pg_migration {
	/* The oldest FW_PG_SCHEMA_VERSION of a program that can use the tables after it. */
	int oldest_program;
	const char *summary;
	const char *sql[4]; /* in this order, up to NULL */
};

/* Migration i leads to version i + 1. */
extern const struct fw_pg_migration fw_pg_migrations[FW_PG_SCHEMA_VERSION];

/* What the role of servers may do; each is a format with the quoted name of the role. */
extern const char *const fw_pg_grants[];
extern const size_t fw_pg_grant_count;

#endif
