/*
 * sqlite.h - SQLite, loaded with the first use of a store (base/late.h).
 */
#ifndef FW_STORE_SQLITE_H
#define FW_STORE_SQLITE_H

#include <sqlite3.h>

#include <faultwire/error.h>

#include "base/late.h"

#define FW_SQLITE_FUNCTIONS(X)       \
	X(sqlite3_bind_blob64)       \
	X(sqlite3_bind_int)          \
	X(sqlite3_bind_int64)        \
	X(sqlite3_bind_text)         \
	X(sqlite3_busy_timeout)      \
	X(sqlite3_changes)           \
	X(sqlite3_close_v2)          \
	X(sqlite3_column_blob)       \
	X(sqlite3_column_bytes)      \
	X(sqlite3_column_int)        \
	X(sqlite3_column_int64)      \
	X(sqlite3_column_text)       \
	X(sqlite3_db_config)         \
	X(sqlite3_errmsg)            \
	X(sqlite3_errstr)            \
	X(sqlite3_exec)              \
	X(sqlite3_finalize)          \
	X(sqlite3_last_insert_rowid) \
	X(sqlite3_open_v2)           \
	X(sqlite3_prepare_v3)        \
	X(sqlite3_reset)             \
	X(sqlite3_step)

struct fw_sqlite {
	FW_SQLITE_FUNCTIONS(FW_LATE_MEMBER)
};
extern struct fw_sqlite fw_sqlite;

/* Raises internal.unsupported if it is not installed. */
fw_error *fw_sqlite_load(void);

#ifndef FW_STORE_SQLITE_NO_NAMES
#define sqlite3_bind_blob64 fw_sqlite.sqlite3_bind_blob64
#define sqlite3_bind_int fw_sqlite.sqlite3_bind_int
#define sqlite3_bind_int64 fw_sqlite.sqlite3_bind_int64
#define sqlite3_bind_text fw_sqlite.sqlite3_bind_text
#define sqlite3_busy_timeout fw_sqlite.sqlite3_busy_timeout
#define sqlite3_changes fw_sqlite.sqlite3_changes
#define sqlite3_close_v2 fw_sqlite.sqlite3_close_v2
#define sqlite3_column_blob fw_sqlite.sqlite3_column_blob
#define sqlite3_column_bytes fw_sqlite.sqlite3_column_bytes
#define sqlite3_column_int fw_sqlite.sqlite3_column_int
#define sqlite3_column_int64 fw_sqlite.sqlite3_column_int64
#define sqlite3_column_text fw_sqlite.sqlite3_column_text
#define sqlite3_db_config fw_sqlite.sqlite3_db_config
#define sqlite3_errmsg fw_sqlite.sqlite3_errmsg
#define sqlite3_errstr fw_sqlite.sqlite3_errstr
#define sqlite3_exec fw_sqlite.sqlite3_exec
#define sqlite3_finalize fw_sqlite.sqlite3_finalize
#define sqlite3_last_insert_rowid fw_sqlite.sqlite3_last_insert_rowid
#define sqlite3_open_v2 fw_sqlite.sqlite3_open_v2
#define sqlite3_prepare_v3 fw_sqlite.sqlite3_prepare_v3
#define sqlite3_reset fw_sqlite.sqlite3_reset
#define sqlite3_step fw_sqlite.sqlite3_step
#endif

#endif
