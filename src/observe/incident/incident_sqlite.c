/*
 * incident_sqlite.c - incidents in a file.
 *
 * SQLite with a write-ahead log: one process writes while others read, a
 * killed one leaves a whole database, and a commit waits for no disk (a power
 * cut may cost the last seconds; the audit log is what must not lose any).
 *
 * What happens to files happens to this one, too: it is deleted, replaced,
 * overwritten. So before each batch the file is compared with the one that is
 * open, and one that is no database any more is set aside under another name.
 */
#include "observe/incident/incident.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "observe/incident/sqlite.h"

#include <faultwire/raise.h>
#include <faultwire/raw.h>

enum {
	SCHEMA_VERSION = 1,
	BUSY_MS = 1000,
	PRUNE_ROWS = 200, /* at once, while it is too large */
	WAL_BYTES = 4 * 1024 * 1024,
	PATH_SIZE = 4096,
};

struct store {
	struct fw_incident_store base;
	char *path;
	bool is_reader;
	bool is_corrupt; /* the last failure says so */
	bool is_empty;   /* a reader's: nothing was ever written */
	int fd;          /* of the file, as long as the database is open */
	sqlite3 *db;
	dev_t device;
	ino_t inode;
	sqlite3_stmt *insert;
	sqlite3_stmt *count;
};

static const char schema[] =
	"CREATE TABLE incident("
	" n INTEGER PRIMARY KEY, id TEXT NOT NULL, time INTEGER NOT NULL,"
	" duration INTEGER NOT NULL, code TEXT NOT NULL, severity TEXT NOT NULL,"
	" status INTEGER NOT NULL, tool TEXT, operation TEXT, client TEXT, session TEXT,"
	" trace TEXT, message TEXT NOT NULL, counted_as TEXT NOT NULL, error TEXT NOT NULL,"
	" detail TEXT);"
	/* Not unique: an upstream's own id may come with several failures. */
	"CREATE INDEX incident_id ON incident(id);"
	"CREATE INDEX incident_time ON incident(time);"
	"CREATE INDEX incident_code ON incident(code, time);"
	/* How often: it outlives the incidents that it counts. */
	"CREATE TABLE tally("
	" code TEXT NOT NULL, tool TEXT NOT NULL, first INTEGER NOT NULL,"
	" last INTEGER NOT NULL, count INTEGER NOT NULL, PRIMARY KEY(code, tool))"
	" WITHOUT ROWID;"
	"PRAGMA user_version=1;";

static struct store *of(struct fw_incident_store *base)
{
	return (struct store *)(void *)base;
}

/* ---- failing ------------------------------------------------------------------------ */

static fw_error *failed_at(fw_src at, struct store *store, int result)
{
	const char *reason = store->db ? sqlite3_errmsg(store->db) : sqlite3_errstr(result);
	fw_error *err;
	int primary = result & 0xff;
	char code[32];

	store->is_corrupt = primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB;
	if (primary == SQLITE_NOMEM)
		return fw_raise_internal_out_of_memory();
	err = fw_raise_incident_store_failed_at(at, reason);
	(void)snprintf(code, sizeof code, "%d", result);
	fw_error_add_cause(err, sqlite3_errstr(result), code, "sqlite");
	fw_error_set_detail(err, store->path);
	return err;
}

#define failed(store, result) failed_at(FW_HERE, store, result)

static fw_error *execute(struct store *store, const char *sql)
{
	int result = sqlite3_exec(store->db, sql, NULL, NULL, NULL);

	return result == SQLITE_OK ? NULL : failed(store, result);
}

static fw_error *prepare_statement(struct store *store, const char *sql,
				   sqlite3_stmt **ret_statement)
{
	int result = sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT,
					ret_statement, NULL);

	return result == SQLITE_OK ? NULL : failed(store, result);
}

/* The number that a pragma or a query tells. */
static fw_error *number_of(struct store *store, const char *sql, int64_t *ret_number)
{
	sqlite3_stmt *statement = NULL;
	fw_error *err = NULL;
	int result;

	FW_TRY(prepare_statement(store, sql, &statement));
	result = sqlite3_step(statement);
	if (result == SQLITE_ROW)
		*ret_number = sqlite3_column_int64(statement, 0);
	else
		err = failed(store, result == SQLITE_DONE ? SQLITE_ERROR : result);
	(void)sqlite3_finalize(statement);
	return err;
}

/* ---- opening ------------------------------------------------------------------------- */

/* `is_gone`: the file at the path is another one now, whose log is not ours to
 * tidy up. */
static void close_database(struct store *store, bool is_gone)
{
	if (store->db) {
		(void)sqlite3_finalize(store->insert);
		(void)sqlite3_finalize(store->count);
		if (is_gone)
			(void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
						NULL);
		(void)sqlite3_close_v2(store->db);
	}
	store->insert = NULL;
	store->count = NULL;
	store->db = NULL;
	/* Not before: closing any descriptor of a file takes away the locks that
	 * the process has on it. */
	if (store->fd >= 0)
		(void)close(store->fd);
	store->fd = -1;
}

/* Nobody else is to read what went wrong here. SQLite gives the files beside it
 * the same mode. */
static fw_error *make_file(struct store *store)
{
	int fd = open(store->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
	struct stat now;
	int error = errno;

	if (fd < 0 || fstat(fd, &now) != 0 || !S_ISREG(now.st_mode)) {
		if (fd >= 0) {
			error = EINVAL;
			(void)close(fd);
		}
		return fw_error_caused_by(
			fw_raise_incident_store_failed("its file cannot be opened for writing"),
			fw_error_from_errno(FW_HERE, error, store->path));
	}
	if (now.st_mode & 077)
		(void)fchmod(fd, 0600);
	store->device = now.st_dev;
	store->inode = now.st_ino;
	store->fd = fd;
	return NULL;
}

static fw_error *check_version(struct store *store, int64_t *ret_version)
{
	char reason[96];

	FW_TRY(number_of(store, "PRAGMA user_version", ret_version));
	if (*ret_version <= SCHEMA_VERSION)
		return NULL;
	(void)snprintf(reason, sizeof reason, "it was made by a newer version (schema %lld)",
		       (long long)*ret_version);
	return fw_raise_incident_store_failed(reason);
}

static fw_error *set_up(struct store *store)
{
	char sql[256];
	int64_t version = 0;

	(void)sqlite3_busy_timeout(store->db, BUSY_MS);
	(void)snprintf(sql, sizeof sql,
		       "PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL;"
		       "PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit=%d;"
		       "PRAGMA temp_store=MEMORY; PRAGMA cache_size=-1024",
		       WAL_BYTES);
	FW_TRY(execute(store, sql));
	/* Two that start at once: the second waits here, and finds it made. */
	FW_TRY(execute(store, "BEGIN IMMEDIATE"));
	FW_TRY(check_version(store, &version));
	if (version == 0)
		FW_TRY(execute(store, schema));
	FW_TRY(execute(store, "COMMIT"));
	FW_TRY(prepare_statement(
		store,
		"INSERT INTO incident(id,time,duration,code,severity,status,tool,"
		"operation,client,session,trace,message,counted_as,error,detail)"
		" VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15)",
		&store->insert));
	return prepare_statement(
		store,
		"INSERT INTO tally VALUES(?1,?2,?3,?3,1) ON CONFLICT DO UPDATE SET"
		" last=max(last,excluded.last),count=count+1",
		&store->count);
}

static fw_error *open_database(struct store *store)
{
	fw_error *err;
	int result;

	FW_TRY(make_file(store));
	result = sqlite3_open_v2(store->path, &store->db,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	err = result == SQLITE_OK ? set_up(store) : failed(store, result);
	if (err)
		close_database(store, false);
	return err;
}

/* Under a name that says when, with its log; the shared memory is worth nothing. */
static fw_error *set_aside(struct store *store, char *ret_remark, size_t size)
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

/* The file begins as each database does. What was written over it would else go
 * unnoticed as long as the log has the newer pages. */
static bool is_whole(const struct store *store)
{
	static const char magic[16] = "SQLite format 3";
	char start[sizeof magic];

	return pread(store->fd, start, sizeof start, 0) == (ssize_t)sizeof start &&
	       memcmp(start, magic, sizeof magic) == 0;
}

static bool is_still_there(const struct store *store)
{
	struct stat now;

	return stat(store->path, &now) == 0 && now.st_dev == store->device &&
	       now.st_ino == store->inode;
}

static fw_error *probe(struct fw_incident_store *base)
{
	struct store *store = of(base);

	FW_TRY(make_file(store));
	close_database(store, false);
	return NULL;
}

static fw_error *prepare(struct fw_incident_store *base, char *ret_remark, size_t size)
{
	struct store *store = of(base);
	fw_error *err;

	if (store->db && !is_still_there(store))
		close_database(store, true);
	/* Found broken now, or by the last batch. */
	if (store->is_corrupt || (store->db && !is_whole(store))) {
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

/* ---- writing --------------------------------------------------------------------------- */

static void bind_text(sqlite3_stmt *statement, int at, const char *text)
{
	(void)sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
}

static int step(sqlite3_stmt *statement)
{
	int result = sqlite3_step(statement);

	(void)sqlite3_reset(statement);
	return result;
}

static int write_one(struct store *store, const struct fw_incident *incident)
{
	sqlite3_stmt *insert = store->insert;
	int result;

	bind_text(insert, 1, incident->id);
	(void)sqlite3_bind_int64(insert, 2, incident->time_ms);
	(void)sqlite3_bind_int64(insert, 3, incident->duration_us);
	bind_text(insert, 4, incident->code);
	bind_text(insert, 5, incident->severity);
	(void)sqlite3_bind_int(insert, 6, incident->status);
	bind_text(insert, 7, incident->tool);
	bind_text(insert, 8, incident->operation);
	bind_text(insert, 9, incident->client);
	bind_text(insert, 10, incident->session);
	bind_text(insert, 11, incident->trace);
	bind_text(insert, 12, incident->message);
	bind_text(insert, 13, incident->counted_as);
	bind_text(insert, 14, incident->error);
	bind_text(insert, 15, incident->detail);
	result = step(insert);
	if (result != SQLITE_DONE)
		return result;
	bind_text(store->count, 1, incident->code);
	bind_text(store->count, 2, incident->counted_as);
	(void)sqlite3_bind_int64(store->count, 3, incident->time_ms);
	return step(store->count);
}

static fw_error *write_all(struct fw_incident_store *base, fw_incident_next_fn *next, void *ctx)
{
	struct store *store = of(base);
	struct fw_incident incident;
	int result = SQLITE_DONE;
	fw_error *err = execute(store, "BEGIN IMMEDIATE");

	while (!err && next(ctx, &incident)) {
		result = write_one(store, &incident);
		if (result != SQLITE_DONE)
			err = failed(store, result);
	}
	if (!err)
		err = execute(store, "COMMIT");
	if (err) {
		bool is_corrupt = store->is_corrupt;

		(void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
		/* A fresh start is the best that can be done about any failure. */
		close_database(store, is_corrupt);
	}
	return err;
}

/* ---- making room -------------------------------------------------------------------------- */

/* Without the pages that are free, which are used again. */
static fw_error *used_bytes(struct store *store, uint64_t *ret_bytes, uint64_t *ret_free)
{
	int64_t pages = 0, free_pages = 0, size = 0;

	FW_TRY(number_of(store, "PRAGMA page_count", &pages));
	FW_TRY(number_of(store, "PRAGMA freelist_count", &free_pages));
	FW_TRY(number_of(store, "PRAGMA page_size", &size));
	*ret_bytes = (uint64_t)((pages - free_pages) * size);
	*ret_free = (uint64_t)(free_pages * size);
	return NULL;
}

/*
 * Age is judged in the order of insertion (n): the rows before the first one that
 * is young enough go. A row written while the clock was behind looks old and is
 * not; one written while it was ahead keeps those after it for longer, until the
 * size limit evicts them.
 */
static fw_error *prune_age(struct store *store, int64_t before_ms)
{
	char sql[320];

	(void)snprintf(sql, sizeof sql,
		       "DELETE FROM incident WHERE n<coalesce("
		       "(SELECT min(n) FROM incident WHERE time>=%lld),"
		       "(SELECT max(n)+1 FROM incident));"
		       "DELETE FROM tally WHERE last<%lld;"
		       "PRAGMA incremental_vacuum(4096)",
		       (long long)before_ms, (long long)before_ms);
	return execute(store, sql);
}

static fw_error *prune(struct fw_incident_store *base, int64_t before_ms, uint64_t max_bytes)
{
	struct store *store = of(base);
	uint64_t bytes = 0, unused = 0;
	char sql[160];

	if (before_ms)
		FW_TRY(prune_age(store, before_ms));
	FW_TRY(used_bytes(store, &bytes, &unused));
	(void)snprintf(sql, sizeof sql,
		       "DELETE FROM incident WHERE n IN"
		       " (SELECT n FROM incident ORDER BY n LIMIT %d)",
		       PRUNE_ROWS);
	while (bytes > max_bytes) {
		FW_TRY(execute(store, sql));
		if (!sqlite3_changes(store->db))
			break;
		FW_TRY(used_bytes(store, &bytes, &unused));
	}
	/* A few are kept for the next batches; a heap of them goes back. */
	if (bytes + unused > max_bytes && unused > max_bytes / 4)
		return execute(store, "PRAGMA incremental_vacuum(4096)");
	return NULL;
}

/* ---- reading -------------------------------------------------------------------------------- */

#define COLUMNS                                                                   \
	"id,time,duration,incident.code,severity,status,incident.tool,operation," \
	"client,session,trace,message"

static const char *text_at(sqlite3_stmt *statement, int column)
{
	return (const char *)sqlite3_column_text(statement, column);
}

static struct fw_incident read_row(sqlite3_stmt *row)
{
	return (struct fw_incident){
		.id = text_at(row, 0),
		.time_ms = sqlite3_column_int64(row, 1),
		.duration_us = sqlite3_column_int64(row, 2),
		.code = text_at(row, 3),
		.severity = text_at(row, 4),
		.status = sqlite3_column_int(row, 5),
		.tool = text_at(row, 6),
		.operation = text_at(row, 7),
		.client = text_at(row, 8),
		.session = text_at(row, 9),
		.trace = text_at(row, 10),
		.message = text_at(row, 11),
	};
}

static fw_error *tell_rows(struct store *store, sqlite3_stmt *rows, bool in_full,
			   fw_incident_fn *tell, void *ctx)
{
	int result;

	while ((result = sqlite3_step(rows)) == SQLITE_ROW) {
		struct fw_incident incident = read_row(rows);

		if (in_full) {
			incident.error = text_at(rows, 12);
			incident.detail = text_at(rows, 13);
			incident.first_ms = sqlite3_column_int64(rows, 14);
			incident.last_ms = sqlite3_column_int64(rows, 15);
			incident.count = (uint64_t)sqlite3_column_int64(rows, 16);
		}
		tell(ctx, &incident);
	}
	return result == SQLITE_DONE ? NULL : failed(store, result);
}

static fw_error *list(struct fw_incident_store *base, const struct fw_incident_filter *filter,
		      fw_incident_fn *tell, void *ctx)
{
	struct store *store = of(base);
	sqlite3_stmt *rows = NULL;
	fw_error *err;
	char sql[512];

	if (store->is_empty)
		return NULL;
	/* Only what is asked for, so that the indexes can help. Newest first is the
	 * order of insertion: times go back when the clock does. */
	(void)snprintf(sql, sizeof sql,
		       "SELECT " COLUMNS " FROM incident WHERE time>=?5 AND time<?6"
		       "%s%s%s%s ORDER BY n DESC LIMIT ?7",
		       filter->code ? " AND code=?1" : "", filter->tool ? " AND tool=?2" : "",
		       filter->client ? " AND client=?3" : "",
		       filter->session ? " AND session=?4" : "");
	FW_TRY(prepare_statement(store, sql, &rows));
	if (filter->code)
		bind_text(rows, 1, filter->code);
	if (filter->tool)
		bind_text(rows, 2, filter->tool);
	if (filter->client)
		bind_text(rows, 3, filter->client);
	if (filter->session)
		bind_text(rows, 4, filter->session);
	(void)sqlite3_bind_int64(rows, 5, filter->since_ms ? filter->since_ms : INT64_MIN);
	(void)sqlite3_bind_int64(rows, 6, filter->until_ms ? filter->until_ms : INT64_MAX);
	(void)sqlite3_bind_int64(rows, 7, filter->limit ? (int64_t)filter->limit : -1);
	err = tell_rows(store, rows, false, tell, ctx);
	(void)sqlite3_finalize(rows);
	return err;
}

static fw_error *find(struct fw_incident_store *base, const char *prefix, size_t limit,
		      fw_incident_fn *tell, void *ctx)
{
	struct store *store = of(base);
	sqlite3_stmt *rows = NULL;
	fw_error *err;

	if (store->is_empty)
		return NULL;
	FW_TRY(prepare_statement(
		store,
		"SELECT " COLUMNS ",error,detail,first,last,count FROM incident LEFT JOIN tally"
		" ON tally.code=incident.code AND tally.tool=incident.counted_as"
		" WHERE id>=?1 AND id<?1||char(1114111) ORDER BY id,n DESC LIMIT ?2",
		&rows));
	bind_text(rows, 1, prefix);
	(void)sqlite3_bind_int64(rows, 2, (int64_t)limit);
	err = tell_rows(store, rows, true, tell, ctx);
	(void)sqlite3_finalize(rows);
	return err;
}

/* "file:" and the path with what means something in a URI written as %XX. */
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
 * A reader of a database with a log needs its shared memory. Where that cannot
 * be made, as on a disk that is not to be written to, nobody else writes there
 * either, and the file alone is the whole.
 */
static fw_error *open_reader(struct store *store, const char *tail)
{
	char uri[3 * PATH_SIZE + 32];
	int64_t version = 0;
	int result;

	uri_of(store->path, tail, uri, sizeof uri);
	result = sqlite3_open_v2(uri, &store->db,
				 SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
				 NULL);
	if (result != SQLITE_OK)
		return failed(store, result);
	(void)sqlite3_busy_timeout(store->db, BUSY_MS);
	FW_TRY(check_version(store, &version));
	/* Its server has only just begun. */
	store->is_empty = version == 0;
	if (store->is_empty)
		return NULL;
	return number_of(store, "SELECT count(*) FROM (SELECT 1 FROM incident LIMIT 1)",
			 &version);
}

/* ---- its life --------------------------------------------------------------------------------- */

static void free_store(struct fw_incident_store *base)
{
	struct store *store = of(base);

	close_database(store, store->db && !store->is_reader && !is_still_there(store));
	fw__release(store->path);
	fw__release(store);
}

static const struct fw_incident_store_ops ops = {
	.probe = probe,
	.prepare = prepare,
	.write = write_all,
	.prune = prune,
	.list = list,
	.find = find,
	.free = free_store,
};

fw_error *fw_incident_sqlite(const char *path, bool is_reader,
			     struct fw_incident_store **ret_store)
{
	size_t len = strlen(path);
	struct store *store;
	fw_error *err = NULL;

	if (len > PATH_SIZE - 64)
		return fw_error_from_errno(FW_HERE, ENAMETOOLONG, "the incident store");
	store = fw__allocate(sizeof *store);
	if (!store)
		return fw_raise_internal_out_of_memory();
	memset(store, 0, sizeof *store);
	store->base.ops = &ops;
	store->is_reader = is_reader;
	store->fd = -1;
	store->path = fw__allocate(len + 1);
	if (!store->path) {
		fw__release(store);
		return fw_raise_internal_out_of_memory();
	}
	memcpy(store->path, path, len + 1);
	if (is_reader) {
		err = fw_sqlite_load();
		if (!err)
			err = open_reader(store, "");
		if (err && !store->is_corrupt && access(path, R_OK) == 0) {
			close_database(store, false);
			fw_error_free(err);
			err = open_reader(store, "?immutable=1");
		}
	}
	if (err) {
		free_store(&store->base);
		return err;
	}
	*ret_store = &store->base;
	return NULL;
}
