/*
 * store_sqlite_incident.c - incidents in a SQLite store: one row each, and a tally per
 * code and tool.
 */
#include "store/store_sqlite.h"

#include <stdio.h>

#include "base/limits.h"

enum { PRUNE_ROWS = 200 /* deleted at once, while the store is too large */ };

/* ---- writing ------------------------------------------------------------ */

static fw_error *prepare_statements(struct fw_store_sqlite *store)
{
	FW_TRY(fw_store_sqlite_statement(
		store,
		"INSERT INTO incident(id,time,duration,code,severity,status,tool,"
		"operation,client,session,trace,message,counted_as,error,detail)"
		" VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15)",
		&store->insert));
	FW_TRY(fw_store_sqlite_statement(
		store, "INSERT INTO incident_peer VALUES(last_insert_rowid(),?1,?2)",
		&store->insert_peer));
	FW_TRY(fw_store_sqlite_statement(
		store, "SELECT last FROM incident_writer WHERE writer=?1", &store->read_mark));
	FW_TRY(fw_store_sqlite_statement(
		store, "INSERT OR REPLACE INTO incident_writer VALUES(?1,?2,?3)",
		&store->write_mark));
	return fw_store_sqlite_statement(
		store,
		"INSERT INTO tally VALUES(?1,?2,?3,?3,1) ON CONFLICT DO UPDATE SET"
		" last=max(last,excluded.last),count=count+1",
		&store->count);
}

static int write_one(struct fw_store_sqlite *store, const struct fw_incident *incident)
{
	sqlite3_stmt *insert = store->insert;
	int result;

	fw_store_sqlite_bind(insert, 1, incident->id);
	(void)sqlite3_bind_int64(insert, 2, incident->time_ms);
	(void)sqlite3_bind_int64(insert, 3, incident->duration_us);
	fw_store_sqlite_bind(insert, 4, incident->code);
	fw_store_sqlite_bind(insert, 5, incident->severity);
	(void)sqlite3_bind_int(insert, 6, incident->status);
	fw_store_sqlite_bind(insert, 7, incident->tool);
	fw_store_sqlite_bind(insert, 8, incident->operation);
	fw_store_sqlite_bind(insert, 9, incident->client);
	fw_store_sqlite_bind(insert, 10, incident->session);
	fw_store_sqlite_bind(insert, 11, incident->trace);
	fw_store_sqlite_bind(insert, 12, incident->message);
	fw_store_sqlite_bind(insert, 13, incident->counted_as);
	fw_store_sqlite_bind(insert, 14, incident->error);
	fw_store_sqlite_bind(insert, 15, incident->detail);
	result = fw_store_sqlite_step(insert);
	if (result == SQLITE_DONE && (incident->peer || incident->is_unauthenticated)) {
		fw_store_sqlite_bind(store->insert_peer, 1, incident->peer);
		(void)sqlite3_bind_int(store->insert_peer, 2, incident->is_unauthenticated);
		result = fw_store_sqlite_step(store->insert_peer);
	}
	if (result != SQLITE_DONE)
		return result;
	fw_store_sqlite_bind(store->count, 1, incident->code);
	fw_store_sqlite_bind(store->count, 2, incident->counted_as);
	(void)sqlite3_bind_int64(store->count, 3, incident->time_ms);
	return fw_store_sqlite_step(store->count);
}

/* The number of the last incident of a writer that is in the store. */
static int read_mark(struct fw_store_sqlite *store, int64_t writer, uint64_t *ret_last)
{
	int result;

	(void)sqlite3_bind_int64(store->read_mark, 1, writer);
	result = sqlite3_step(store->read_mark);
	*ret_last =
		result == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(store->read_mark, 0) : 0;
	(void)sqlite3_reset(store->read_mark);
	return result == SQLITE_ROW ? SQLITE_DONE : result;
}

static int write_mark(struct fw_store_sqlite *store, int64_t writer, uint64_t last)
{
	(void)sqlite3_bind_int64(store->write_mark, 1, writer);
	(void)sqlite3_bind_int64(store->write_mark, 2, (int64_t)last);
	(void)sqlite3_bind_int64(store->write_mark, 3, store->base.options.now_ms());
	return fw_store_sqlite_step(store->write_mark);
}

static int write_all(struct fw_store_sqlite *store, fw_incident_next_fn *next, void *ctx)
{
	struct fw_incident incident;
	int result = SQLITE_DONE;
	uint64_t last = 0;
	int64_t writer = 0;
	bool has_new = false;

	while (result == SQLITE_DONE && next(ctx, &incident)) {
		if (!writer && incident.writer)
			result = read_mark(store, incident.writer, &last);
		writer = incident.writer;
		if (result != SQLITE_DONE || (writer && incident.number <= last))
			continue;
		result = write_one(store, &incident);
		last = incident.number;
		has_new = true;
	}
	if (result == SQLITE_DONE && writer && has_new)
		result = write_mark(store, writer, last);
	return result;
}

fw_error *fw_store_sqlite_add_incidents(struct fw_store *base, fw_incident_next_fn *next,
					void *ctx)
{
	struct fw_store_sqlite *store = fw_store_sqlite_of(base);
	fw_error *err;

	store->is_for_rows = false;
	FW_TRY(fw_store_sqlite_ensure(store));
	err = prepare_statements(store);
	if (!err)
		err = fw_store_sqlite_execute(store, "BEGIN IMMEDIATE");
	if (!err) {
		int result = write_all(store, next, ctx);

		if (result != SQLITE_DONE)
			err = fw_store_sqlite_failed(FW_HERE, store, result);
	}
	if (!err)
		err = fw_store_sqlite_execute(store, "COMMIT");
	if (err)
		fw_store_sqlite_reset(store);
	return err;
}

/* ---- pruning ------------------------------------------------------------ */

/* Free pages are counted apart: they will be used again. */
static fw_error *used_bytes(struct fw_store_sqlite *store, uint64_t *ret_bytes,
			    uint64_t *ret_free)
{
	int64_t pages = 0, free_pages = 0, size = 0;

	FW_TRY(fw_store_sqlite_number(store, "PRAGMA page_count", &pages));
	FW_TRY(fw_store_sqlite_number(store, "PRAGMA freelist_count", &free_pages));
	FW_TRY(fw_store_sqlite_number(store, "PRAGMA page_size", &size));
	*ret_bytes = (uint64_t)((pages - free_pages) * size);
	*ret_free = (uint64_t)(free_pages * size);
	return NULL;
}

/*
 * Age is judged in the order of insertion (n): rows before the first one that is young
 * enough are deleted. A row written while the clock was behind looks old and is
 * not; one written while it was ahead keeps those after it for longer, until the
 * size limit evicts them.
 */
static fw_error *prune_age(struct fw_store_sqlite *store, int64_t before_ms)
{
	char sql[384];

	(void)snprintf(sql, sizeof sql,
		       "DELETE FROM incident WHERE n<coalesce("
		       "(SELECT min(n) FROM incident WHERE time>=%lld),"
		       "(SELECT max(n)+1 FROM incident));"
		       "DELETE FROM tally WHERE last<%lld;"
		       "DELETE FROM incident_writer WHERE seen<%lld;"
		       "PRAGMA incremental_vacuum(4096)",
		       (long long)before_ms, (long long)before_ms, (long long)before_ms);
	return fw_store_sqlite_execute(store, sql);
}

/* Anybody can cause these: they must not push out others. */
static fw_error *prune_unauthenticated(struct fw_store_sqlite *store)
{
	char sql[224];

	(void)snprintf(sql, sizeof sql,
		       "DELETE FROM incident WHERE n IN (SELECT n FROM incident_peer WHERE"
		       " is_unauthenticated ORDER BY n DESC LIMIT -1 OFFSET %d)",
		       FW_LIMIT_INCIDENT_UNAUTHENTICATED);
	return fw_store_sqlite_execute(store, sql);
}

fw_error *fw_store_sqlite_prune_incidents(struct fw_store *base, int64_t before_ms,
					  uint64_t max_bytes)
{
	struct fw_store_sqlite *store = fw_store_sqlite_of(base);
	uint64_t bytes = 0, unused = 0;
	char sql[160];

	store->is_for_rows = false;
	FW_TRY(fw_store_sqlite_ensure(store));
	if (before_ms)
		FW_TRY(prune_age(store, before_ms));
	FW_TRY(prune_unauthenticated(store));
	FW_TRY(used_bytes(store, &bytes, &unused));
	(void)snprintf(sql, sizeof sql,
		       "DELETE FROM incident WHERE n IN"
		       " (SELECT n FROM incident ORDER BY n LIMIT %d)",
		       PRUNE_ROWS);
	while (bytes > max_bytes) {
		FW_TRY(fw_store_sqlite_execute(store, sql));
		if (!sqlite3_changes(store->db))
			break;
		FW_TRY(used_bytes(store, &bytes, &unused));
	}
	/* Keep some free pages for the next batches; return many to the disk. */
	if (bytes + unused > max_bytes && unused > max_bytes / 4)
		return fw_store_sqlite_execute(store, "PRAGMA incremental_vacuum(4096)");
	return NULL;
}

/* ---- reading -------------------------------------------------------------------------------- */

#define COLUMNS                                                                   \
	"id,time,duration,incident.code,severity,status,incident.tool,operation," \
	"client,session,trace,message"
/* After the columns. */
#define PEER(store)                                                                     \
	((store)->has_peers                                                             \
		 ? ",(SELECT peer FROM incident_peer WHERE incident_peer.n=incident.n)" \
		 : ",NULL")

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
		.peer = text_at(row, 12),
	};
}

/* The columns after those of read_row(). NULL: there are none. */
typedef void more_fn(sqlite3_stmt *row, struct fw_incident *incident);

static void read_tally(sqlite3_stmt *row, struct fw_incident *incident)
{
	incident->error = text_at(row, 13);
	incident->detail = text_at(row, 14);
	incident->first_ms = sqlite3_column_int64(row, 15);
	incident->last_ms = sqlite3_column_int64(row, 16);
	incident->count = (uint64_t)sqlite3_column_int64(row, 17);
}

static void read_copy(sqlite3_stmt *row, struct fw_incident *incident)
{
	incident->error = text_at(row, 13);
	incident->detail = text_at(row, 14);
	incident->counted_as = text_at(row, 15);
	incident->is_unauthenticated = sqlite3_column_int(row, 16) != 0;
	incident->number = (uint64_t)sqlite3_column_int64(row, 17);
}

/* Consumes `rows`. */
static fw_error *each_row(struct fw_store_sqlite *store, sqlite3_stmt *rows, more_fn *read_more,
			  fw_incident_fn *found, void *ctx)
{
	fw_error *err = NULL;
	int result;

	while ((result = sqlite3_step(rows)) == SQLITE_ROW) {
		struct fw_incident incident = read_row(rows);

		if (read_more)
			read_more(rows, &incident);
		found(ctx, &incident);
	}
	if (result != SQLITE_DONE)
		err = fw_store_sqlite_failed(FW_HERE, store, result);
	(void)sqlite3_finalize(rows);
	return err;
}

static fw_error *open_incidents(struct fw_store_sqlite *store)
{
	store->is_for_rows = false;
	return store->is_empty ? NULL : fw_store_sqlite_ensure(store);
}

fw_error *fw_store_sqlite_list_incidents(struct fw_store *base,
					 const struct fw_incident_filter *filter,
					 fw_incident_fn *found, void *ctx)
{
	struct fw_store_sqlite *store = fw_store_sqlite_of(base);
	sqlite3_stmt *rows = NULL;
	char sql[640];

	FW_TRY(open_incidents(store));
	if (store->is_empty)
		return NULL;
	/* Only conditions that are given, so that indexes are used. Ordered by
	 * insertion, because the clock may be set back. */
	(void)snprintf(sql, sizeof sql,
		       "SELECT " COLUMNS "%s FROM incident WHERE time>=?5 AND time<?6"
		       "%s%s%s%s ORDER BY n DESC LIMIT ?7",
		       PEER(store), filter->code ? " AND code=?1" : "",
		       filter->tool ? " AND tool=?2" : "",
		       filter->client ? " AND client=?3" : "",
		       filter->session ? " AND session=?4" : "");
	FW_TRY(fw_store_sqlite_statement(store, sql, &rows));
	if (filter->code)
		fw_store_sqlite_bind(rows, 1, filter->code);
	if (filter->tool)
		fw_store_sqlite_bind(rows, 2, filter->tool);
	if (filter->client)
		fw_store_sqlite_bind(rows, 3, filter->client);
	if (filter->session)
		fw_store_sqlite_bind(rows, 4, filter->session);
	(void)sqlite3_bind_int64(rows, 5, filter->since_ms ? filter->since_ms : INT64_MIN);
	(void)sqlite3_bind_int64(rows, 6, filter->until_ms ? filter->until_ms : INT64_MAX);
	(void)sqlite3_bind_int64(rows, 7, filter->limit ? (int64_t)filter->limit : -1);
	return each_row(store, rows, NULL, found, ctx);
}

fw_error *fw_store_sqlite_find_incidents(struct fw_store *base, const char *prefix,
					 size_t limit, fw_incident_fn *found, void *ctx)
{
	struct fw_store_sqlite *store = fw_store_sqlite_of(base);
	sqlite3_stmt *rows = NULL;
	char sql[640];

	FW_TRY(open_incidents(store));
	if (store->is_empty)
		return NULL;
	(void)snprintf(sql, sizeof sql,
		       "SELECT " COLUMNS "%s,error,detail,first,last,count FROM incident"
		       " LEFT JOIN tally ON tally.code=incident.code AND"
		       " tally.tool=incident.counted_as"
		       " WHERE id>=?1 AND id<?1||char(1114111) ORDER BY id,n DESC LIMIT ?2",
		       PEER(store));
	FW_TRY(fw_store_sqlite_statement(store, sql, &rows));
	fw_store_sqlite_bind(rows, 1, prefix);
	(void)sqlite3_bind_int64(rows, 2, (int64_t)limit);
	return each_row(store, rows, read_tally, found, ctx);
}

fw_error *fw_store_sqlite_walk_incidents(struct fw_store *base, int64_t after, size_t limit,
					 fw_incident_fn *found, void *ctx)
{
	struct fw_store_sqlite *store = fw_store_sqlite_of(base);
	sqlite3_stmt *rows = NULL;
	char sql[640];

	FW_TRY(open_incidents(store));
	if (store->is_empty)
		return NULL;
	(void)snprintf(sql, sizeof sql,
		       "SELECT " COLUMNS "%s,error,detail,counted_as,%s,n FROM incident"
		       " WHERE n>?1 ORDER BY n LIMIT ?2",
		       PEER(store),
		       store->has_peers ? "(SELECT is_unauthenticated FROM incident_peer"
					  " WHERE incident_peer.n=incident.n)"
					: "0");
	FW_TRY(fw_store_sqlite_statement(store, sql, &rows));
	(void)sqlite3_bind_int64(rows, 1, after);
	(void)sqlite3_bind_int64(rows, 2, (int64_t)limit);
	return each_row(store, rows, read_copy, found, ctx);
}
