/*
 * store_sqlite.c - a store in a file: opening, closing, and what may happen to the
 * file meanwhile.
 *
 * SQLite with a write-ahead log: one process writes while others read, a killed
 * process leaves a consistent database. Without `is_durable` a commit does not wait
 * for the disk, and a power failure may lose the last seconds.
 *
 * A file may be deleted, replaced or overwritten while it is open. So before each use
 * the file at the path is compared with the open one. fw_store_prepare(), which is for
 * incidents, renames a file that is not a database any more and makes a new one. Rows
 * are not discarded like that: their functions fail.
 */
#include "store/store_sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/mem.h"
#include "store/store_file.h"

#include <faultwire/raise.h>
#include <faultwire/raw.h>

enum {
	SCHEMA_VERSION = 1,
	BUSY_MS = 1000,
	SET_UP_MS = 5000,
	WAL_BYTES = 4 * 1024 * 1024,
	PATH_SIZE = 4096,
};

static const char schema[] =
	"CREATE TABLE incident("
	" n INTEGER PRIMARY KEY, id TEXT NOT NULL, time INTEGER NOT NULL,"
	" duration INTEGER NOT NULL, code TEXT NOT NULL, severity TEXT NOT NULL,"
	" status INTEGER NOT NULL, tool TEXT, operation TEXT, client TEXT, session TEXT,"
	" trace TEXT, message TEXT NOT NULL, counted_as TEXT NOT NULL, error TEXT NOT NULL,"
	" detail TEXT);"
	/* Not unique: an upstream may send one id with several failures. */
	"CREATE INDEX incident_id ON incident(id);"
	"CREATE INDEX incident_time ON incident(time);"
	"CREATE INDEX incident_code ON incident(code, time);"
	/* Counts outlive the incidents that were counted. */
	"CREATE TABLE tally("
	" code TEXT NOT NULL, tool TEXT NOT NULL, first INTEGER NOT NULL,"
	" last INTEGER NOT NULL, count INTEGER NOT NULL, PRIMARY KEY(code, tool))"
	" WITHOUT ROWID;"
	"PRAGMA user_version=1;";

/* Added later, so that versions without them can still read the file. */
static const char additions[] =
	"CREATE TABLE IF NOT EXISTS incident_peer("
	" n INTEGER PRIMARY KEY, peer TEXT, is_unauthenticated INTEGER NOT NULL);"
	"CREATE INDEX IF NOT EXISTS incident_unauthenticated ON incident_peer(n)"
	" WHERE is_unauthenticated;"
	"CREATE TRIGGER IF NOT EXISTS incident_deleted AFTER DELETE ON incident BEGIN"
	" DELETE FROM incident_peer WHERE n=old.n; END;"
	/* How far each writer got, so that what a killed server left in files is not
	 * inserted twice. */
	"CREATE TABLE IF NOT EXISTS incident_writer("
	" writer INTEGER PRIMARY KEY, last INTEGER NOT NULL, seen INTEGER NOT NULL)";

/* ---- statements --------------------------------------------------------- */

static fw_error *raise_reason(fw_src at, const struct fw_store_sqlite *store,
			      const char *reason)
{
	fw_error *err;

	if (!store->is_for_rows)
		return fw_raise_incident_store_failed_at(at, reason);
	err = fw_raise_dependency_unavailable_at(at, "the store");
	fw_error_add_cause(err, reason, NULL, NULL);
	return err;
}

fw_error *fw_store_sqlite_failed(fw_src at, struct fw_store_sqlite *store, int result)
{
	const char *reason = store->db ? sqlite3_errmsg(store->db) : sqlite3_errstr(result);
	fw_error *err;
	int primary = result & 0xff;
	char code[32];

	store->is_corrupt = primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB;
	if (primary == SQLITE_NOMEM)
		return fw_raise_internal_out_of_memory();
	if (primary == SQLITE_BUSY)
		reason = "another process holds the lock of the file";
	err = raise_reason(at, store, reason);
	(void)snprintf(code, sizeof code, "%d", result);
	fw_error_add_cause(err, sqlite3_errstr(result), code, "sqlite");
	fw_error_set_detail(err, store->path);
	return err;
}

fw_error *fw_store_sqlite_execute(struct fw_store_sqlite *store, const char *sql)
{
	int result = sqlite3_exec(store->db, sql, NULL, NULL, NULL);

	return result == SQLITE_OK ? NULL : fw_store_sqlite_failed(FW_HERE, store, result);
}

fw_error *fw_store_sqlite_statement(struct fw_store_sqlite *store, const char *sql,
				    sqlite3_stmt **statement)
{
	int result;

	if (*statement)
		return NULL;
	result = sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, statement,
				    NULL);
	return result == SQLITE_OK ? NULL : fw_store_sqlite_failed(FW_HERE, store, result);
}

fw_error *fw_store_sqlite_number(struct fw_store_sqlite *store, const char *sql,
				 int64_t *ret_number)
{
	sqlite3_stmt *statement = NULL;
	fw_error *err = NULL;
	int result;

	FW_TRY(fw_store_sqlite_statement(store, sql, &statement));
	result = sqlite3_step(statement);
	if (result == SQLITE_ROW)
		*ret_number = sqlite3_column_int64(statement, 0);
	else
		err = fw_store_sqlite_failed(FW_HERE, store,
					     result == SQLITE_DONE ? SQLITE_ERROR : result);
	(void)sqlite3_finalize(statement);
	return err;
}

void fw_store_sqlite_bind(sqlite3_stmt *statement, int at, const char *text)
{
	(void)sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
}

int fw_store_sqlite_step(sqlite3_stmt *statement)
{
	int result = sqlite3_step(statement);

	(void)sqlite3_reset(statement);
	return result;
}

/* ---- opening ------------------------------------------------------------ */

static void finalize(sqlite3_stmt **statement)
{
	(void)sqlite3_finalize(*statement);
	*statement = NULL;
}

static void finalize_all(struct fw_store_sqlite *store)
{
	finalize(&store->insert);
	finalize(&store->count);
	finalize(&store->insert_peer);
	finalize(&store->read_mark);
	finalize(&store->write_mark);
	finalize(&store->next_version);
	finalize(&store->find_row);
	finalize(&store->put_row);
	finalize(&store->add_row);
	finalize(&store->delete_row);
}

/* `is_gone`: another file is at the path now, and its write-ahead log must not be
 * touched. */
static void close_database(struct fw_store_sqlite *store, bool is_gone)
{
	if (store->db) {
		finalize_all(store);
		if (is_gone)
			(void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
						NULL);
		(void)sqlite3_close_v2(store->db);
	}
	store->db = NULL;
	store->has_rows = false;
	/* Last: it may release the locks that the process has on the file. */
	fw_store_file_close(store->fd);
	store->fd = -1;
}

static fw_error *make_file(struct fw_store_sqlite *store)
{
	struct stat now;
	int error = 0;
	int fd = fw_store_file_open(store->path, &now, &error);

	if (fd < 0 && error == ENOMEM)
		return fw_raise_internal_out_of_memory();
	if (fd < 0)
		return fw_error_caused_by(
			raise_reason(FW_HERE, store, "its file cannot be opened for writing"),
			fw_error_from_errno(FW_HERE, error, store->path));
	store->device = now.st_dev;
	store->inode = now.st_ino;
	store->fd = fd;
	return NULL;
}

static fw_error *check_version(struct fw_store_sqlite *store, int64_t *ret_version)
{
	char reason[96];

	FW_TRY(fw_store_sqlite_number(store, "PRAGMA user_version", ret_version));
	if (*ret_version <= SCHEMA_VERSION)
		return NULL;
	(void)snprintf(reason, sizeof reason, "it was made by a newer version (schema %lld)",
		       (long long)*ret_version);
	return raise_reason(FW_HERE, store, reason);
}

/* If several processes switch a new file to WAL at once, SQLite refuses some of them without
 * waiting, since they could wait for each other. Each tries again after a time of its
 * own. */
static fw_error *execute_patiently(struct fw_store_sqlite *store, const char *sql)
{
	const int64_t end_ms = fw_steady_ms() + SET_UP_MS;
	int result = sqlite3_exec(store->db, sql, NULL, NULL, NULL);

	while ((result & 0xff) == SQLITE_BUSY && fw_steady_ms() < end_ms) {
		unsigned char wait;

		fw_random(&wait, sizeof wait);
		(void)usleep(1000 + 40 * (useconds_t)wait);
		result = sqlite3_exec(store->db, sql, NULL, NULL, NULL);
	}
	return result == SQLITE_OK ? NULL : fw_store_sqlite_failed(FW_HERE, store, result);
}

static fw_error *set_up(struct fw_store_sqlite *store)
{
	char sql[256];
	int64_t version = 0;

	(void)sqlite3_busy_timeout(store->db, SET_UP_MS);
	(void)snprintf(sql, sizeof sql,
		       "PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL;"
		       "PRAGMA synchronous=%s; PRAGMA journal_size_limit=%d;"
		       "PRAGMA temp_store=MEMORY; PRAGMA cache_size=-1024",
		       store->base.options.is_durable ? "FULL" : "NORMAL", WAL_BYTES);
	FW_TRY(execute_patiently(store, sql));
	/* If two processes start at once, the second one waits here. */
	FW_TRY(fw_store_sqlite_execute(store, "BEGIN IMMEDIATE"));
	FW_TRY(check_version(store, &version));
	if (version == 0)
		FW_TRY(fw_store_sqlite_execute(store, schema));
	FW_TRY(fw_store_sqlite_execute(store, additions));
	store->has_peers = true;
	FW_TRY(fw_store_sqlite_execute(store, "COMMIT"));
	(void)sqlite3_busy_timeout(store->db, BUSY_MS);
	return NULL;
}

static fw_error *open_database(struct fw_store_sqlite *store)
{
	fw_error *err;
	int result;

	FW_TRY(make_file(store));
	result = sqlite3_open_v2(store->path, &store->db,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	err = result == SQLITE_OK ? set_up(store)
				  : fw_store_sqlite_failed(FW_HERE, store, result);
	if (err)
		close_database(store, false);
	return err;
}

/* Renames the database and its log; the shared memory is not needed. */
static fw_error *set_aside(struct fw_store_sqlite *store, char *ret_remark, size_t size)
{
	char path[PATH_SIZE], log[PATH_SIZE + 8], from[PATH_SIZE + 8];
	time_t now = time(NULL);
	struct tm utc;
	char stamp[32];

	close_database(store, true);
	(void)gmtime_r(&now, &utc);
	(void)strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &utc);
	(void)snprintf(path, sizeof path, "%s.corrupt-%s", store->path, stamp);
	if (rename(store->path, path) != 0)
		return fw_error_from_errno(FW_HERE, errno, store->path);
	(void)snprintf(from, sizeof from, "%s-wal", store->path);
	(void)snprintf(log, sizeof log, "%s-wal", path);
	(void)rename(from, log);
	(void)snprintf(from, sizeof from, "%s-shm", store->path);
	(void)unlink(from);
	(void)snprintf(ret_remark, size, "%s", path);
	return NULL;
}

/* Does the file begin like a database? SQLite itself does not notice an overwritten
 * file while the log has all pages that it needs. */
static bool has_magic(const struct fw_store_sqlite *store)
{
	static const char magic[16] = "SQLite format 3";
	char start[sizeof magic];

	return pread(store->fd, start, sizeof start, 0) == (ssize_t)sizeof start &&
	       memcmp(start, magic, sizeof magic) == 0;
}

static bool is_still_there(const struct fw_store_sqlite *store)
{
	struct stat now;

	return stat(store->path, &now) == 0 && now.st_dev == store->device &&
	       now.st_ino == store->inode;
}

static void close_if_replaced(struct fw_store_sqlite *store)
{
	if (store->db && !is_still_there(store))
		close_database(store, true);
}

fw_error *fw_store_sqlite_ensure(struct fw_store_sqlite *store)
{
	if (store->base.options.is_reader)
		return NULL;
	close_if_replaced(store);
	if (!store->db) {
		FW_TRY(fw_sqlite_load());
		FW_TRY(open_database(store));
	}
	/* Also right after opening: SQLite may have read the first page from the log. */
	if (has_magic(store))
		return NULL;
	close_database(store, true);
	return raise_reason(FW_HERE, store, "its file was overwritten");
}

void fw_store_sqlite_reset(struct fw_store_sqlite *store)
{
	bool is_corrupt = store->is_corrupt;

	if (!store->db)
		return;
	(void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	close_database(store, is_corrupt);
}

static fw_error *probe(struct fw_store *base)
{
	struct fw_store_sqlite *store = fw_store_sqlite_of(base);

	store->is_for_rows = false;
	if (store->db)
		return NULL;
	FW_TRY(make_file(store));
	close_database(store, false);
	return NULL;
}

static fw_error *prepare(struct fw_store *base, char *ret_remark, size_t size)
{
	struct fw_store_sqlite *store = fw_store_sqlite_of(base);
	fw_error *err;

	store->is_for_rows = false;
	close_if_replaced(store);
	/* Found broken now, or by the last operation. */
	if (store->is_corrupt || (store->db && !has_magic(store))) {
		store->is_corrupt = false;
		FW_TRY(set_aside(store, ret_remark, size));
	}
	if (store->db)
		return NULL;
	FW_TRY(fw_sqlite_load());
	err = open_database(store);
	if (!err || !store->is_corrupt)
		return err;
	fw_error_free(err);
	store->is_corrupt = false;
	FW_TRY(set_aside(store, ret_remark, size));
	return open_database(store);
}

/* ---- readers ------------------------------------------------------------ */

/* "file:" and the path, with the special characters of a URI as %XX. */
static void uri_of(const char *path, const char *tail, char *ret_uri, size_t size)
{
	size_t used = (size_t)snprintf(ret_uri, size, "file:");

	for (; *path && used + 4 < size; path++) {
		bool is_plain = !strchr("%?#", *path);

		used += (size_t)snprintf(ret_uri + used, size - used,
					 is_plain ? "%c" : "%%%02X", (unsigned char)*path);
	}
	(void)snprintf(ret_uri + used, size - used, "%s", tail);
}

/*
 * A reader of a database with a log needs its shared memory. If that cannot be made, as
 * on a read-only disk, no other process can write there either, and the file alone is
 * complete ("immutable").
 */
static fw_error *open_reader(struct fw_store_sqlite *store, const char *tail)
{
	char uri[3 * PATH_SIZE + 32];
	int64_t version = 0;
	int result;

	uri_of(store->path, tail, uri, sizeof uri);
	result = sqlite3_open_v2(uri, &store->db,
				 SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
				 NULL);
	if (result != SQLITE_OK)
		return fw_store_sqlite_failed(FW_HERE, store, result);
	(void)sqlite3_busy_timeout(store->db, BUSY_MS);
	FW_TRY(check_version(store, &version));
	/* Created, but nothing was written yet. */
	store->is_empty = version == 0;
	if (store->is_empty)
		return NULL;
	FW_TRY(fw_store_sqlite_number(
		store, "SELECT count(*) FROM sqlite_master WHERE name='incident_peer'",
		&version));
	store->has_peers = version > 0;
	return fw_store_sqlite_number(
		store, "SELECT count(*) FROM (SELECT 1 FROM incident LIMIT 1)", &version);
}

/* ---- lifecycle ---------------------------------------------------------- */

static void free_store(struct fw_store *base)
{
	struct fw_store_sqlite *store = fw_store_sqlite_of(base);

	close_database(store, store->db && !base->options.is_reader && !is_still_there(store));
	fw__release(store->path);
	fw__release(store);
}

static const struct fw_store_incident_ops incidents = {
	.probe = probe,
	.prepare = prepare,
	.add = fw_store_sqlite_add_incidents,
	.prune = fw_store_sqlite_prune_incidents,
	.list = fw_store_sqlite_list_incidents,
	.find = fw_store_sqlite_find_incidents,
	.walk = fw_store_sqlite_walk_incidents,
};

static const struct fw_store_row_ops rows = {
	.apply = fw_store_sqlite_apply,
	.get = fw_store_sqlite_get,
	.list = fw_store_sqlite_list,
	.expire = fw_store_sqlite_expire,
	.kinds = fw_store_sqlite_kinds,
};

static fw_error *open_to_read(struct fw_store_sqlite *store)
{
	fw_error *err;

	FW_TRY(fw_sqlite_load());
	err = open_reader(store, "");
	if (!err || store->is_corrupt || access(store->path, R_OK) != 0)
		return err;
	close_database(store, false);
	fw_error_free(err);
	return open_reader(store, "?immutable=1");
}

fw_error *fw_store_sqlite_open(const char *path, const struct fw_store_options *options,
			       struct fw_store **ret_store)
{
	size_t len = strlen(path);
	struct fw_store_sqlite *store;
	fw_error *err = NULL;

	if (len > PATH_SIZE - 64)
		return fw_error_from_errno(FW_HERE, ENAMETOOLONG, "the store");
	store = fw__allocate(sizeof *store);
	if (!store)
		return fw_raise_internal_out_of_memory();
	memset(store, 0, sizeof *store);
	store->base = (struct fw_store){ &incidents, &rows, free_store, *options };
	store->fd = -1;
	store->path = fw__allocate(len + 1);
	if (!store->path) {
		fw__release(store);
		return fw_raise_internal_out_of_memory();
	}
	memcpy(store->path, path, len + 1);
	if (options->is_reader)
		err = open_to_read(store);
	if (err) {
		free_store(&store->base);
		return err;
	}
	*ret_store = &store->base;
	return NULL;
}
