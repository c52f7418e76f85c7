/*
 * store_sqlite.h - an open SQLite store, shared by its files: store_sqlite.c opens it,
 * store_sqlite_incident.c and store_sqlite_row.c use it.
 */
#ifndef FW_STORE_STORE_SQLITE_H
#define FW_STORE_STORE_SQLITE_H

#include <sys/types.h>

#include "store/sqlite.h"
#include "store/store_backend.h"

struct fw_store_sqlite {
	struct fw_store base;
	char *path;
	bool is_corrupt;  /* according to the last failure */
	bool is_empty;    /* a reader's: nothing was ever written */
	bool is_for_rows; /* the current operation; decides which error is raised */
	bool has_rows;    /* the tables for rows exist */
	bool has_peers;   /* the table of peers exists */
	int fd;           /* of the file, while the database is open */
	sqlite3 *db;      /* NULL: not open */
	dev_t device;     /* the file that is open */
	ino_t inode;
	/* Prepared with the first use, and finalized when the database is closed. */
	sqlite3_stmt *insert;
	sqlite3_stmt *count;
	sqlite3_stmt *insert_peer;
	sqlite3_stmt *read_mark; /* of a writer of incidents */
	sqlite3_stmt *write_mark;
	sqlite3_stmt *next_version;
	sqlite3_stmt *find_row;
	sqlite3_stmt *put_row;
	sqlite3_stmt *add_row;
	sqlite3_stmt *delete_row;
};

static inline struct fw_store_sqlite *fw_store_sqlite_of(struct fw_store *base)
{
	return (struct fw_store_sqlite *)(void *)base;
}

/* ---- store_sqlite.c ----------------------------------------------------- */

/* The error for a result of SQLite. */
FW_NODISCARD fw_error *fw_store_sqlite_failed(fw_src at, struct fw_store_sqlite *store,
					      int result);
FW_NODISCARD fw_error *fw_store_sqlite_execute(struct fw_store_sqlite *store, const char *sql);
/* Prepares a statement unless it is prepared already. */
FW_NODISCARD fw_error *fw_store_sqlite_statement(struct fw_store_sqlite *store, const char *sql,
						 sqlite3_stmt **statement);
/* The number that a pragma or a query returns. */
FW_NODISCARD fw_error *fw_store_sqlite_number(struct fw_store_sqlite *store, const char *sql,
					      int64_t *ret_number);
/* NULL is bound as NULL. */
void fw_store_sqlite_bind(sqlite3_stmt *statement, int at, const char *text);
/* Steps once and resets. SQLITE_ROW, SQLITE_DONE or a failure. */
int fw_store_sqlite_step(sqlite3_stmt *statement);

/* Opens the database of a writer if it is not open, or not the file at the path any
 * more. */
FW_NODISCARD fw_error *fw_store_sqlite_ensure(struct fw_store_sqlite *store);
/* After a failed transaction: rolls back and closes, so that the next one starts with
 * a new connection. */
void fw_store_sqlite_reset(struct fw_store_sqlite *store);

/* ---- store_sqlite_incident.c -------------------------------------------- */

fw_error *fw_store_sqlite_add_incidents(struct fw_store *base, fw_incident_next_fn *next,
					void *ctx);
fw_error *fw_store_sqlite_prune_incidents(struct fw_store *base, int64_t before_ms,
					  uint64_t max_bytes);
fw_error *fw_store_sqlite_list_incidents(struct fw_store *base,
					 const struct fw_incident_filter *filter,
					 fw_incident_fn *found, void *ctx);
fw_error *fw_store_sqlite_find_incidents(struct fw_store *base, const char *prefix,
					 size_t limit, fw_incident_fn *found, void *ctx);

fw_error *fw_store_sqlite_walk_incidents(struct fw_store *base, int64_t after, size_t limit,
					 fw_incident_fn *found, void *ctx);

/* ---- store_sqlite_row.c ------------------------------------------------- */

fw_error *fw_store_sqlite_apply(struct fw_store *base, const struct fw_store_change *changes,
				size_t count, struct fw_store_result *ret_result);
fw_error *fw_store_sqlite_get(struct fw_store *base, const char *kind, const char *key,
			      fw_store_row_fn *found, void *ctx);
fw_error *fw_store_sqlite_list(struct fw_store *base, const char *kind, const char *owner,
			       const char *after, size_t limit, fw_store_row_fn *found,
			       void *ctx);
fw_error *fw_store_sqlite_expire(struct fw_store *base, size_t limit, size_t *ret_count);
fw_error *fw_store_sqlite_kinds(struct fw_store *base, fw_store_kind_fn *found, void *ctx);

#endif
