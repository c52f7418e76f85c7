/*
 * data.c - see data.h.
 *
 * Durability is that of NORMAL: a power failure may lose the last transactions, which the next
 * build makes again, and never breaks the database.
 */
#include "tools/code/semantic/data.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/sqlite.h"

#include <faultwire/raise.h>

enum { VERSION = 3, BUSY_MS = 5000, SQL_BYTES = 512 };

enum statement {
	FILES,
	PUT_FILE,
	DROP_FILE,
	FIND_BLOB,
	PUT_BLOB,
	BLOB,
	VECTORS,
	PUT_VECTORS,
	PUT_COMMIT,
	DROP_COMMIT,
	COMMITS,
	META,
	PUT_META,
	STATEMENT_COUNT
};

static const char *const texts[STATEMENT_COUNT] = {
	[FILES] = "SELECT path,size,mtime,inode,blob FROM file ORDER BY path",
	[PUT_FILE] = "INSERT OR REPLACE INTO file VALUES(?,?,?,?,?)",
	[DROP_FILE] = "DELETE FROM file WHERE path=?",
	[FIND_BLOB] = "SELECT id FROM blob WHERE hash=?",
	[PUT_BLOB] = "INSERT INTO blob(hash,record) VALUES(?,?)",
	[BLOB] = "SELECT record FROM blob WHERE id=?",
	[VECTORS] = "SELECT vectors FROM vector WHERE blob=?",
	[PUT_VECTORS] = "INSERT OR REPLACE INTO vector VALUES(?,?)",
	[PUT_COMMIT] = "INSERT OR IGNORE INTO past(sha,time,subject,paths) VALUES(?,?,?,?)",
	[DROP_COMMIT] = "DELETE FROM past WHERE sha=?",
	[COMMITS] = "SELECT sha,time,subject,paths FROM past ORDER BY time DESC,id LIMIT ?",
	[META] = "SELECT value FROM meta WHERE name=?",
	[PUT_META] = "INSERT OR REPLACE INTO meta VALUES(?,?)",
};

static const char schema[] =
	"CREATE TABLE file(path TEXT PRIMARY KEY,size INTEGER,mtime INTEGER,inode INTEGER,"
	" blob INTEGER) WITHOUT ROWID;"
	"CREATE TABLE blob(id INTEGER PRIMARY KEY,hash BLOB UNIQUE,record BLOB);"
	"CREATE TABLE vector(blob INTEGER PRIMARY KEY,vectors BLOB);"
	"CREATE TABLE past(id INTEGER PRIMARY KEY,sha TEXT UNIQUE,time INTEGER,subject TEXT,"
	" paths TEXT);"
	"CREATE INDEX past_time ON past(time);"
	"CREATE TABLE meta(name TEXT PRIMARY KEY,value BLOB) WITHOUT ROWID;";

struct fw_semantic_data {
	sqlite3 *db;
	sqlite3_stmt *statements[STATEMENT_COUNT];
	bool is_corrupt;
};

/* ---- statements ---- */

static fw_error *failed(struct fw_semantic_data *data, int result)
{
	int primary = result & 0xff;

	if (primary == SQLITE_NOMEM)
		return fw_raise_internal_out_of_memory();
	if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB)
		data->is_corrupt = true;
	return fw_raise_search_failed(
		"", NULL, data->db ? sqlite3_errmsg(data->db) : sqlite3_errstr(result));
}

static fw_error *execute(struct fw_semantic_data *data, const char *sql)
{
	int result = sqlite3_exec(data->db, sql, NULL, NULL, NULL);

	return result == SQLITE_OK ? NULL : failed(data, result);
}

/* A statement that is ready to be bound. */
static fw_error *take(struct fw_semantic_data *data, enum statement which,
		      sqlite3_stmt **ret_statement)
{
	sqlite3_stmt **statement = &data->statements[which];

	if (!*statement) {
		int result = sqlite3_prepare_v3(data->db, texts[which], -1,
						SQLITE_PREPARE_PERSISTENT, statement, NULL);

		if (result != SQLITE_OK)
			return failed(data, result);
	}
	(void)sqlite3_reset(*statement);
	*ret_statement = *statement;
	return NULL;
}

static fw_error *run(struct fw_semantic_data *data, sqlite3_stmt *statement)
{
	int result = sqlite3_step(statement);
	fw_error *err =
		result == SQLITE_DONE || result == SQLITE_ROW ? NULL : failed(data, result);

	(void)sqlite3_reset(statement);
	return err;
}

/* The bytes of the first column of the row, if there is one. */
static fw_error *run_bytes(struct fw_semantic_data *data, sqlite3_stmt *statement,
			   const void **ret_bytes, size_t *ret_len)
{
	int result = sqlite3_step(statement);

	*ret_bytes = NULL;
	*ret_len = 0;
	if (result == SQLITE_ROW) {
		*ret_bytes = sqlite3_column_blob(statement, 0);
		*ret_len = (size_t)sqlite3_column_bytes(statement, 0);
		return NULL;
	}
	return result == SQLITE_DONE ? NULL : failed(data, result);
}

static void bind_text(sqlite3_stmt *statement, int at, const char *text)
{
	(void)sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
}

static void bind_bytes(sqlite3_stmt *statement, int at, const void *bytes, size_t len)
{
	(void)sqlite3_bind_blob64(statement, at, len ? bytes : "", len, SQLITE_STATIC);
}

/* ---- opening ---- */

static void close_database(struct fw_semantic_data *data)
{
	for (size_t i = 0; i < STATEMENT_COUNT; i++) {
		(void)sqlite3_finalize(data->statements[i]);
		data->statements[i] = NULL;
	}
	(void)sqlite3_close_v2(data->db);
	data->db = NULL;
}

static fw_error *version_of(struct fw_semantic_data *data, int *ret_version)
{
	sqlite3_stmt *statement = NULL;
	int result =
		sqlite3_prepare_v3(data->db, "PRAGMA user_version", -1, 0, &statement, NULL);

	if (result == SQLITE_OK)
		result = sqlite3_step(statement);
	if (result == SQLITE_ROW)
		*ret_version = sqlite3_column_int(statement, 0);
	(void)sqlite3_finalize(statement);
	return result == SQLITE_ROW ? NULL : failed(data, result);
}

static fw_error *open_database(struct fw_semantic_data *data, const char *path,
			       bool *ret_is_new)
{
	char sql[SQL_BYTES];
	int version = 0;
	int result = sqlite3_open_v2(
		path, &data->db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);

	if (result != SQLITE_OK)
		return failed(data, result);
	(void)sqlite3_busy_timeout(data->db, BUSY_MS);
	FW_TRY(execute(data, "PRAGMA page_size=8192; PRAGMA journal_mode=WAL;"
			     "PRAGMA synchronous=NORMAL; PRAGMA temp_store=MEMORY;"
			     "PRAGMA cache_size=-16384; PRAGMA journal_size_limit=8388608"));
	FW_TRY(version_of(data, &version));
	*ret_is_new = version == 0;
	if (version == VERSION)
		return NULL;
	if (version != 0) {
		data->is_corrupt = true;
		return fw_raise_search_failed("", NULL, "the index is of another version");
	}
	(void)snprintf(sql, sizeof sql, "BEGIN IMMEDIATE;PRAGMA user_version=%d", VERSION);
	FW_TRY(execute(data, sql));
	FW_TRY(execute(data, schema));
	return execute(data, "COMMIT");
}

void fw_semantic_data_delete(const char *path)
{
	static const char *const ends[] = { "", "-wal", "-shm" };
	char name[4200];

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		(void)snprintf(name, sizeof name, "%s%s", path, ends[i]);
		(void)unlink(name);
	}
}

fw_error *fw_semantic_data_open(const char *path, struct fw_semantic_data **ret_data,
				bool *ret_is_new)
{
	struct fw_semantic_data *data;
	fw_error *err;

	FW_TRY(fw_sqlite_load());
	data = fw__allocate(sizeof *data);
	if (!data)
		return fw_raise_internal_out_of_memory();
	fw__zero(data, sizeof *data);
	err = open_database(data, path, ret_is_new);
	if (err && data->is_corrupt) {
		fw_error_free(err);
		close_database(data);
		fw_semantic_data_delete(path);
		data->is_corrupt = false;
		err = open_database(data, path, ret_is_new);
	}
	if (err) {
		fw_semantic_data_close(data);
		return err;
	}
	*ret_data = data;
	return NULL;
}

void fw_semantic_data_close(struct fw_semantic_data *data)
{
	if (!data)
		return;
	close_database(data);
	fw__release(data);
}

bool fw_semantic_data_is_corrupt(const struct fw_semantic_data *data)
{
	return data && data->is_corrupt;
}

fw_error *fw_semantic_data_damaged(struct fw_semantic_data *data)
{
	data->is_corrupt = true;
	return fw_raise_search_failed("", NULL, "the index is damaged");
}

fw_error *fw_semantic_data_begin(struct fw_semantic_data *data)
{
	return execute(data, "BEGIN IMMEDIATE");
}

fw_error *fw_semantic_data_commit(struct fw_semantic_data *data)
{
	return execute(data, "COMMIT");
}

/* ---- files ---- */

fw_error *fw_semantic_data_files(struct fw_semantic_data *data,
				 fw_error *(*each)(void *ctx,
						   const struct fw_semantic_file *file),
				 void *ctx)
{
	sqlite3_stmt *rows;
	fw_error *err = NULL;
	int result = SQLITE_DONE;

	FW_TRY(take(data, FILES, &rows));
	while (!err && (result = sqlite3_step(rows)) == SQLITE_ROW) {
		struct fw_semantic_file file = {
			.path = (const char *)sqlite3_column_text(rows, 0),
			.size = sqlite3_column_int64(rows, 1),
			.mtime_ns = sqlite3_column_int64(rows, 2),
			.inode = sqlite3_column_int64(rows, 3),
			.blob = sqlite3_column_int64(rows, 4),
		};

		err = file.path ? each(ctx, &file) : fw_raise_internal_out_of_memory();
	}
	if (!err && result != SQLITE_DONE)
		err = failed(data, result);
	(void)sqlite3_reset(rows);
	return err;
}

fw_error *fw_semantic_data_put_file(struct fw_semantic_data *data,
				    const struct fw_semantic_file *file)
{
	sqlite3_stmt *statement;

	FW_TRY(take(data, PUT_FILE, &statement));
	bind_text(statement, 1, file->path);
	(void)sqlite3_bind_int64(statement, 2, file->size);
	(void)sqlite3_bind_int64(statement, 3, file->mtime_ns);
	(void)sqlite3_bind_int64(statement, 4, file->inode);
	(void)sqlite3_bind_int64(statement, 5, file->blob);
	return run(data, statement);
}

fw_error *fw_semantic_data_drop_file(struct fw_semantic_data *data, const char *path)
{
	sqlite3_stmt *statement;

	FW_TRY(take(data, DROP_FILE, &statement));
	bind_text(statement, 1, path);
	return run(data, statement);
}

/* ---- contents ---- */

fw_error *fw_semantic_data_find_blob(struct fw_semantic_data *data,
				     const unsigned char hash[FW_SEMANTIC_HASH_BYTES],
				     int64_t *ret_blob)
{
	sqlite3_stmt *statement;
	int result;

	FW_TRY(take(data, FIND_BLOB, &statement));
	bind_bytes(statement, 1, hash, FW_SEMANTIC_HASH_BYTES);
	result = sqlite3_step(statement);
	*ret_blob = result == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
	(void)sqlite3_reset(statement);
	return result == SQLITE_ROW || result == SQLITE_DONE ? NULL : failed(data, result);
}

fw_error *fw_semantic_data_put_blob(struct fw_semantic_data *data,
				    const unsigned char hash[FW_SEMANTIC_HASH_BYTES],
				    const void *record, size_t len, int64_t *ret_blob)
{
	sqlite3_stmt *statement;

	FW_TRY(take(data, PUT_BLOB, &statement));
	bind_bytes(statement, 1, hash, FW_SEMANTIC_HASH_BYTES);
	bind_bytes(statement, 2, record, len);
	FW_TRY(run(data, statement));
	*ret_blob = sqlite3_last_insert_rowid(data->db);
	return NULL;
}

fw_error *fw_semantic_data_blob(struct fw_semantic_data *data, int64_t blob,
				const void **ret_record, size_t *ret_len)
{
	sqlite3_stmt *statement;

	FW_TRY(take(data, BLOB, &statement));
	(void)sqlite3_bind_int64(statement, 1, blob);
	return run_bytes(data, statement, ret_record, ret_len);
}

fw_error *fw_semantic_data_sweep(struct fw_semantic_data *data)
{
	/* An open read would keep the transaction from ending. */
	for (size_t i = 0; i < STATEMENT_COUNT; i++)
		if (data->statements[i])
			(void)sqlite3_reset(data->statements[i]);
	return execute(data, "DELETE FROM blob WHERE id NOT IN (SELECT blob FROM file);"
			     "DELETE FROM vector WHERE blob NOT IN (SELECT blob FROM file)");
}

fw_error *fw_semantic_data_vectors(struct fw_semantic_data *data, int64_t blob,
				   const void **ret_bytes, size_t *ret_len)
{
	sqlite3_stmt *statement;

	FW_TRY(take(data, VECTORS, &statement));
	(void)sqlite3_bind_int64(statement, 1, blob);
	return run_bytes(data, statement, ret_bytes, ret_len);
}

fw_error *fw_semantic_data_put_vectors(struct fw_semantic_data *data, int64_t blob,
				       const void *bytes, size_t len)
{
	sqlite3_stmt *statement;

	FW_TRY(take(data, PUT_VECTORS, &statement));
	(void)sqlite3_bind_int64(statement, 1, blob);
	bind_bytes(statement, 2, bytes, len);
	return run(data, statement);
}

fw_error *fw_semantic_data_drop_vectors(struct fw_semantic_data *data)
{
	return execute(data, "DELETE FROM vector");
}

/* ---- commits ---- */

fw_error *fw_semantic_data_put_commit(struct fw_semantic_data *data,
				      const struct fw_semantic_commit *commit)
{
	sqlite3_stmt *statement;

	FW_TRY(take(data, PUT_COMMIT, &statement));
	bind_text(statement, 1, commit->sha);
	(void)sqlite3_bind_int64(statement, 2, commit->time_s);
	bind_text(statement, 3, commit->subject);
	bind_text(statement, 4, commit->paths);
	return run(data, statement);
}

fw_error *fw_semantic_data_commits(struct fw_semantic_data *data, size_t most,
				   fw_error *(*each)(void *ctx,
						     const struct fw_semantic_commit *commit),
				   void *ctx)
{
	sqlite3_stmt *rows;
	fw_error *err = NULL;
	int result = SQLITE_DONE;

	FW_TRY(take(data, COMMITS, &rows));
	(void)sqlite3_bind_int64(rows, 1, (int64_t)most);
	while (!err && (result = sqlite3_step(rows)) == SQLITE_ROW) {
		struct fw_semantic_commit commit = {
			.sha = (const char *)sqlite3_column_text(rows, 0),
			.time_s = sqlite3_column_int64(rows, 1),
			.subject = (const char *)sqlite3_column_text(rows, 2),
			.paths = (const char *)sqlite3_column_text(rows, 3),
		};

		err = commit.sha && commit.subject && commit.paths
			      ? each(ctx, &commit)
			      : fw_raise_internal_out_of_memory();
	}
	if (!err && result != SQLITE_DONE)
		err = failed(data, result);
	(void)sqlite3_reset(rows);
	return err;
}

fw_error *fw_semantic_data_drop_commit(struct fw_semantic_data *data, const char *sha)
{
	sqlite3_stmt *statement;

	FW_TRY(take(data, DROP_COMMIT, &statement));
	bind_text(statement, 1, sha);
	return run(data, statement);
}

fw_error *fw_semantic_data_drop_commits(struct fw_semantic_data *data)
{
	return execute(data, "DELETE FROM past");
}

/* ---- values ---- */

fw_error *fw_semantic_data_meta(struct fw_semantic_data *data, const char *name,
				const void **ret_bytes, size_t *ret_len)
{
	sqlite3_stmt *statement;

	FW_TRY(take(data, META, &statement));
	bind_text(statement, 1, name);
	return run_bytes(data, statement, ret_bytes, ret_len);
}

fw_error *fw_semantic_data_put_meta(struct fw_semantic_data *data, const char *name,
				    const void *bytes, size_t len)
{
	sqlite3_stmt *statement;

	FW_TRY(take(data, PUT_META, &statement));
	bind_text(statement, 1, name);
	bind_bytes(statement, 2, bytes, len);
	return run(data, statement);
}
