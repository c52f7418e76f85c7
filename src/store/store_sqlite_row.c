/*
 * store_sqlite_row.c - rows in a SQLite store.
 *
 * The tables are made with the first use, so that a file with incidents only stays
 * readable by older versions. Versions of rows come from one counter, so none is used
 * twice, not even after a deletion.
 */
#include "store/store_sqlite.h"

#include <stdio.h>

static const char schema[] =
	"CREATE TABLE IF NOT EXISTS store_row("
	" kind TEXT NOT NULL, key TEXT NOT NULL, owner TEXT NOT NULL, value TEXT NOT NULL,"
	" number INTEGER NOT NULL, expires INTEGER NOT NULL, version INTEGER NOT NULL,"
	" PRIMARY KEY(kind, key)) WITHOUT ROWID;"
	"CREATE INDEX IF NOT EXISTS store_row_owner ON store_row(kind, owner, key);"
	"CREATE INDEX IF NOT EXISTS store_row_expiry ON store_row(expires) WHERE expires>0;"
	"CREATE TABLE IF NOT EXISTS store_version(one INTEGER PRIMARY KEY, n INTEGER NOT NULL);"
	"INSERT OR IGNORE INTO store_version VALUES(1,0);";

#define COLUMNS "kind,key,owner,value,number,expires,version"
#define IS_ALIVE "(expires=0 OR expires>?1)"

/* ---- opening ------------------------------------------------------------ */

/* A reader finds no rows in a file without the tables. */
static fw_error *look_for_tables(struct fw_store_sqlite *store)
{
	int64_t found = 0;

	if (store->has_rows || store->is_empty)
		return NULL;
	FW_TRY(fw_store_sqlite_number(
		store, "SELECT count(*) FROM sqlite_master WHERE name='store_version'",
		&found));
	store->has_rows = found > 0;
	return NULL;
}

static fw_error *begin(struct fw_store_sqlite *store)
{
	store->is_for_rows = true;
	if (store->base.options.is_reader)
		return look_for_tables(store);
	FW_TRY(fw_store_sqlite_ensure(store));
	if (!store->has_rows)
		FW_TRY(fw_store_sqlite_execute(store, schema));
	store->has_rows = true;
	return NULL;
}

/* ---- changing ----------------------------------------------------------- */

static fw_error *prepare_statements(struct fw_store_sqlite *store)
{
	FW_TRY(fw_store_sqlite_statement(store, "UPDATE store_version SET n=n+1 RETURNING n",
					 &store->next_version));
	FW_TRY(fw_store_sqlite_statement(store,
					 "SELECT version,number FROM store_row"
					 " WHERE kind=?2 AND key=?3 AND " IS_ALIVE,
					 &store->find_row));
	FW_TRY(fw_store_sqlite_statement(store,
					 "INSERT OR REPLACE INTO store_row(" COLUMNS
					 ") VALUES(?1,?2,?3,?4,?5,?6,?7)",
					 &store->put_row));
	FW_TRY(fw_store_sqlite_statement(
		store, "UPDATE store_row SET number=?3,version=?4 WHERE kind=?1 AND key=?2",
		&store->add_row));
	return fw_store_sqlite_statement(
		store, "DELETE FROM store_row WHERE kind=?1 AND key=?2", &store->delete_row);
}

/* The number must be read before the statement is reset. */
static fw_error *next_version(struct fw_store_sqlite *store, uint64_t *ret_version)
{
	int result = sqlite3_step(store->next_version);
	fw_error *err = NULL;

	if (result == SQLITE_ROW)
		*ret_version = (uint64_t)sqlite3_column_int64(store->next_version, 0);
	else
		err = fw_store_sqlite_failed(FW_HERE, store,
					     result == SQLITE_DONE ? SQLITE_CORRUPT : result);
	(void)sqlite3_reset(store->next_version);
	return err;
}

/* Version 0: there is no such row. */
static fw_error *find_current(struct fw_store_sqlite *store,
			      const struct fw_store_change *change, uint64_t *ret_version,
			      int64_t *ret_number)
{
	sqlite3_stmt *find = store->find_row;
	fw_error *err = NULL;
	int result;

	*ret_version = 0;
	*ret_number = 0;
	(void)sqlite3_bind_int64(find, 1, store->base.options.now_ms());
	fw_store_sqlite_bind(find, 2, change->kind);
	fw_store_sqlite_bind(find, 3, change->key);
	result = sqlite3_step(find);
	if (result == SQLITE_ROW) {
		*ret_version = (uint64_t)sqlite3_column_int64(find, 0);
		*ret_number = sqlite3_column_int64(find, 1);
	} else if (result != SQLITE_DONE) {
		err = fw_store_sqlite_failed(FW_HERE, store, result);
	}
	(void)sqlite3_reset(find);
	return err;
}

static const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

static int write_row(struct fw_store_sqlite *store, const struct fw_store_change *change,
		     bool is_there, int64_t number, uint64_t version)
{
	sqlite3_stmt *put = store->put_row;

	if (change->action == FW_STORE_DELETE) {
		fw_store_sqlite_bind(store->delete_row, 1, change->kind);
		fw_store_sqlite_bind(store->delete_row, 2, change->key);
		return fw_store_sqlite_step(store->delete_row);
	}
	if (change->action == FW_STORE_ADD && is_there) {
		fw_store_sqlite_bind(store->add_row, 1, change->kind);
		fw_store_sqlite_bind(store->add_row, 2, change->key);
		(void)sqlite3_bind_int64(store->add_row, 3, number);
		(void)sqlite3_bind_int64(store->add_row, 4, (int64_t)version);
		return fw_store_sqlite_step(store->add_row);
	}
	fw_store_sqlite_bind(put, 1, change->kind);
	fw_store_sqlite_bind(put, 2, change->key);
	fw_store_sqlite_bind(put, 3, text_or_empty(change->owner));
	fw_store_sqlite_bind(put, 4, text_or_empty(change->value));
	(void)sqlite3_bind_int64(put, 5, number);
	(void)sqlite3_bind_int64(put, 6, change->expires_ms);
	(void)sqlite3_bind_int64(put, 7, (int64_t)version);
	return fw_store_sqlite_step(put);
}

static fw_error *apply_one(struct fw_store_sqlite *store, const struct fw_store_change *change,
			   struct fw_store_result *result)
{
	uint64_t current = 0;
	int64_t number = 0;
	int status;

	FW_TRY(find_current(store, change, &current, &number));
	result->number = number;
	result->is_refused = !fw_store_change_allows(change, current, number, &number);
	if (result->is_refused)
		return NULL;
	status = write_row(store, change, current != 0, number, result->version);
	if (status != SQLITE_DONE)
		return fw_store_sqlite_failed(FW_HERE, store, status);
	result->number = change->action == FW_STORE_DELETE ? 0 : number;
	return NULL;
}

static fw_error *apply_all(struct fw_store_sqlite *store, const struct fw_store_change *changes,
			   size_t count, struct fw_store_result *result)
{
	FW_TRY(prepare_statements(store));
	FW_TRY(fw_store_sqlite_execute(store, "BEGIN IMMEDIATE"));
	FW_TRY(next_version(store, &result->version));
	for (size_t i = 0; i < count && !result->is_refused; i++) {
		FW_TRY(apply_one(store, &changes[i], result));
		result->refused_at = result->is_refused ? i : 0;
	}
	if (!result->is_refused)
		return fw_store_sqlite_execute(store, "COMMIT");
	result->version = 0;
	return fw_store_sqlite_execute(store, "ROLLBACK");
}

fw_error *fw_store_sqlite_apply(struct fw_store *base, const struct fw_store_change *changes,
				size_t count, struct fw_store_result *ret_result)
{
	struct fw_store_sqlite *store = fw_store_sqlite_of(base);
	fw_error *err = begin(store);

	if (!err && base->options.is_reader)
		err = fw_store_sqlite_failed(FW_HERE, store, SQLITE_READONLY);
	else if (!err)
		err = apply_all(store, changes, count, ret_result);
	if (err && !base->options.is_reader)
		fw_store_sqlite_reset(store);
	return err;
}

fw_error *fw_store_sqlite_expire(struct fw_store *base, size_t limit, size_t *ret_count)
{
	struct fw_store_sqlite *store = fw_store_sqlite_of(base);
	fw_error *err = begin(store);
	char sql[256];

	(void)snprintf(
		sql, sizeof sql,
		"DELETE FROM store_row WHERE (kind,key) IN (SELECT kind,key FROM store_row"
		" WHERE expires>0 AND expires<=%lld ORDER BY expires LIMIT %zu)",
		(long long)base->options.now_ms(), limit);
	if (!err && base->options.is_reader)
		err = fw_store_sqlite_failed(FW_HERE, store, SQLITE_READONLY);
	else if (!err)
		err = fw_store_sqlite_execute(store, sql);
	if (!err)
		*ret_count = (size_t)sqlite3_changes(store->db);
	else if (!base->options.is_reader)
		fw_store_sqlite_reset(store);
	return err;
}

/* ---- reading ------------------------------------------------------------ */

static const char *text_at(sqlite3_stmt *rows, int column)
{
	return (const char *)sqlite3_column_text(rows, column);
}

/* A NULL text is a failed allocation: no column may be NULL. */
static bool read_row(sqlite3_stmt *rows, struct fw_store_row *ret_row)
{
	*ret_row = (struct fw_store_row){
		.kind = text_at(rows, 0),
		.key = text_at(rows, 1),
		.owner = text_at(rows, 2),
		.value = text_at(rows, 3),
		.number = sqlite3_column_int64(rows, 4),
		.expires_ms = sqlite3_column_int64(rows, 5),
		.version = (uint64_t)sqlite3_column_int64(rows, 6),
	};
	return ret_row->kind && ret_row->key && ret_row->owner && ret_row->value;
}

static fw_error *each_row(struct fw_store_sqlite *store, sqlite3_stmt *rows,
			  fw_store_row_fn *found, void *ctx)
{
	struct fw_store_row row;
	int result;

	while ((result = sqlite3_step(rows)) == SQLITE_ROW) {
		if (!read_row(rows, &row))
			return fw_store_sqlite_failed(FW_HERE, store, SQLITE_NOMEM);
		found(ctx, &row);
	}
	return result == SQLITE_DONE ? NULL : fw_store_sqlite_failed(FW_HERE, store, result);
}

fw_error *fw_store_sqlite_get(struct fw_store *base, const char *kind, const char *key,
			      fw_store_row_fn *found, void *ctx)
{
	struct fw_store_sqlite *store = fw_store_sqlite_of(base);
	sqlite3_stmt *rows = NULL;
	fw_error *err;

	FW_TRY(begin(store));
	if (!store->has_rows)
		return NULL;
	FW_TRY(fw_store_sqlite_statement(store,
					 "SELECT " COLUMNS " FROM store_row"
					 " WHERE kind=?2 AND key=?3 AND " IS_ALIVE,
					 &rows));
	(void)sqlite3_bind_int64(rows, 1, base->options.now_ms());
	fw_store_sqlite_bind(rows, 2, kind);
	fw_store_sqlite_bind(rows, 3, key);
	err = each_row(store, rows, found, ctx);
	(void)sqlite3_finalize(rows);
	return err;
}

fw_error *fw_store_sqlite_list(struct fw_store *base, const char *kind, const char *owner,
			       const char *after, size_t limit, fw_store_row_fn *found,
			       void *ctx)
{
	struct fw_store_sqlite *store = fw_store_sqlite_of(base);
	sqlite3_stmt *rows = NULL;
	fw_error *err;
	char sql[256];

	FW_TRY(begin(store));
	if (!store->has_rows)
		return NULL;
	/* Only conditions that are given, so that indexes are used. */
	(void)snprintf(sql, sizeof sql,
		       "SELECT " COLUMNS " FROM store_row WHERE kind=?2%s%s AND " IS_ALIVE
		       " ORDER BY key LIMIT ?5",
		       owner ? " AND owner=?3" : "", after ? " AND key>?4" : "");
	FW_TRY(fw_store_sqlite_statement(store, sql, &rows));
	(void)sqlite3_bind_int64(rows, 1, base->options.now_ms());
	fw_store_sqlite_bind(rows, 2, kind);
	if (owner)
		fw_store_sqlite_bind(rows, 3, owner);
	if (after)
		fw_store_sqlite_bind(rows, 4, after);
	(void)sqlite3_bind_int64(rows, 5, (int64_t)limit);
	err = each_row(store, rows, found, ctx);
	(void)sqlite3_finalize(rows);
	return err;
}

fw_error *fw_store_sqlite_kinds(struct fw_store *base, fw_store_kind_fn *found, void *ctx)
{
	struct fw_store_sqlite *store = fw_store_sqlite_of(base);
	sqlite3_stmt *rows = NULL;
	fw_error *err = NULL;
	int result;

	FW_TRY(begin(store));
	if (!store->has_rows)
		return NULL;
	FW_TRY(fw_store_sqlite_statement(
		store, "SELECT DISTINCT kind FROM store_row ORDER BY kind", &rows));
	while ((result = sqlite3_step(rows)) == SQLITE_ROW)
		if (text_at(rows, 0))
			found(ctx, text_at(rows, 0));
	if (result != SQLITE_DONE)
		err = fw_store_sqlite_failed(FW_HERE, store, result);
	(void)sqlite3_finalize(rows);
	return err;
}
