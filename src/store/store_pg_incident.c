/*
 * store_pg_incident.c - incidents into a PostgreSQL store.
 *
 * A batch is one transaction of one or more INSERTs over arrays, all sent before the first
 * answer is read: its cost is that of one commit for any number of incidents.
 *
 * When the answer to a commit is missing, the batch may be in the store or not. The store
 * therefore keeps, in the same transaction, the number of the last incident per writer, and
 * the next batch begins by asking for it: incidents up to it are skipped.
 */
#include "store/store_pg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/limits.h"
#include "base/limits_store.h"
#include "base/mem.h"
#include "base/utf8.h"

enum {
	COLUMNS = 18,
	CHUNK_ROWS = 1000,
	CHUNK_BYTES = 4 * 1024 * 1024,
	ID_BYTES = 512,  /* a longer one, of an upstream, does not fit an index */
	ROW_BYTES = 160, /* what a row takes besides its texts */
	NUMBER_SIZE = 24,
	DAY_MS = 24 * 3600 * 1000,
};

/* Rows for one INSERT, an array per column. */
struct chunk {
	struct fw_buf columns[COLUMNS];
	size_t rows;
	size_t bytes;
	int64_t days[FW_STORE_PG_DAYS]; /* to be made first */
	size_t day_count;
};

struct batch {
	struct fw_store_pg *store;
	struct fw_pg *pg;
	fw_incident_next_fn *next;
	void *ctx;
	struct chunk chunk;
	struct fw_incident held; /* read, but did not fit into the chunk */
	bool is_held;
	bool is_end;
	int64_t writer;
	uint64_t first; /* incidents below it are in the store already */
	uint64_t last;
	size_t statements; /* whose results are to be received */
	uint64_t bytes;
	bool has_unauthenticated;
};

/* ---- a chunk --------------------------------------------------------------- */

static size_t length(const char *text)
{
	return text ? strlen(text) : 0;
}

static size_t size_of(const struct fw_incident *incident)
{
	return ROW_BYTES + length(incident->id) + length(incident->code) +
	       length(incident->tool) + length(incident->operation) + length(incident->client) +
	       length(incident->session) + length(incident->trace) + length(incident->message) +
	       length(incident->error) + length(incident->detail) + length(incident->peer) +
	       length(incident->counted_as);
}

/* A clock before 1970 has no day. */
static int64_t time_of(const struct fw_incident *incident)
{
	return incident->time_ms > 0 ? incident->time_ms : 0;
}

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

static void put_row(struct chunk *chunk, const struct fw_incident *incident, size_t size)
{
	struct fw_buf *at = chunk->columns;
	const char *id = or_empty(incident->id);
	char short_id[ID_BYTES + 1];

	(void)snprintf(short_id, sizeof short_id, "%.*s",
		       (int)fw_utf8_cut(id, strlen(id), ID_BYTES), id);
	fw_pg_item(at++, short_id);
	fw_pg_item_number(at++, time_of(incident));
	fw_pg_item_number(at++, incident->duration_us);
	fw_pg_item(at++, or_empty(incident->code));
	fw_pg_item(at++, or_empty(incident->severity));
	fw_pg_item_number(at++, incident->status);
	fw_pg_item(at++, incident->tool);
	fw_pg_item(at++, incident->operation);
	fw_pg_item(at++, incident->client);
	fw_pg_item(at++, incident->session);
	fw_pg_item(at++, incident->trace);
	fw_pg_item(at++, or_empty(incident->message));
	fw_pg_item(at++, or_empty(incident->counted_as));
	fw_pg_item(at++, or_empty(incident->error));
	fw_pg_item(at++, incident->detail);
	fw_pg_item(at++, incident->peer);
	fw_pg_item(at++, incident->is_unauthenticated ? "t" : "f");
	fw_pg_item_number(at, (int64_t)size);
	chunk->rows++;
	chunk->bytes += size;
}

static void empty_chunk(struct chunk *chunk)
{
	for (size_t i = 0; i < COLUMNS; i++)
		fw_buf_reset(&chunk->columns[i], CHUNK_BYTES);
	chunk->rows = 0;
	chunk->bytes = 0;
	chunk->day_count = 0;
}

static bool is_in(const int64_t *days, size_t count, int64_t day)
{
	for (size_t i = 0; i < count; i++)
		if (days[i] == day)
			return true;
	return false;
}

/* False: the chunk has as many new days as it can hold. */
static bool note_day(struct batch *batch, int64_t day)
{
	struct chunk *chunk = &batch->chunk;

	if (is_in(batch->store->days, batch->store->day_count, day) ||
	    is_in(chunk->days, chunk->day_count, day))
		return true;
	if (chunk->day_count == FW_STORE_PG_DAYS)
		return false;
	chunk->days[chunk->day_count++] = day;
	return true;
}

/* The next incident that is not in the store yet. */
static bool read_next(struct batch *batch)
{
	while (!batch->is_held && !batch->is_end) {
		batch->is_end = !batch->next(batch->ctx, &batch->held);
		batch->is_held = !batch->is_end &&
				 (!batch->held.number || batch->held.number > batch->first);
	}
	return batch->is_held;
}

/* Returns false when the source is at its end. */
static bool fill_chunk(struct batch *batch)
{
	struct chunk *chunk = &batch->chunk;

	empty_chunk(chunk);
	while (read_next(batch)) {
		size_t size = size_of(&batch->held);

		if (chunk->rows &&
		    (chunk->rows == CHUNK_ROWS || chunk->bytes + size > CHUNK_BYTES))
			return true;
		if (!note_day(batch, time_of(&batch->held) / DAY_MS))
			return true;
		put_row(chunk, &batch->held, size);
		batch->last = batch->held.number;
		batch->has_unauthenticated |= batch->held.is_unauthenticated;
		batch->bytes += size;
		batch->is_held = false;
	}
	return false;
}

/* ---- sending --------------------------------------------------------------- */

static fw_error *send(struct batch *batch, const char *sql, int count,
		      const char *const *values)
{
	batch->statements++;
	return fw_pg_send(batch->pg, sql, count, values);
}

static fw_error *send_days(struct batch *batch)
{
	struct fw_store_pg *store = batch->store;
	char day[NUMBER_SIZE];
	const char *const values[] = { day };

	for (size_t i = 0; i < batch->chunk.day_count; i++) {
		(void)snprintf(day, sizeof day, "%lld", (long long)batch->chunk.days[i]);
		FW_TRY(send(batch, "SELECT faultwire.make_day($1::bigint)", 1, values));
		/* Known from now on; if the transaction fails, all are forgotten. */
		if (store->day_count == FW_STORE_PG_DAYS)
			store->day_count = 0;
		store->days[store->day_count++] = batch->chunk.days[i];
	}
	return NULL;
}

static fw_error *send_chunk(struct batch *batch)
{
	const char *values[COLUMNS];

	FW_TRY(send_days(batch));
	for (size_t i = 0; i < COLUMNS; i++) {
		struct fw_buf *column = &batch->chunk.columns[i];

		fw_pg_array_end(column);
		if (column->state != FW_BUF_OK)
			return fw_raise_internal_out_of_memory();
		values[i] = column->text;
	}
	batch->statements++;
	return fw_pg_send_prepared(batch->pg, FW_PG_INSERT_INCIDENTS, COLUMNS, values);
}

/*
 * Each INSERT locks counters in the same order, so that two transactions with one INSERT
 * each cannot wait for each other. A transaction with several must be alone.
 */
static fw_error *send_lock(struct batch *batch, bool is_alone)
{
	return send(batch,
		    is_alone ? "SELECT pg_advisory_xact_lock(hashtext('faultwire.incident'))"
			     : "SELECT "
			       "pg_advisory_xact_lock_shared(hashtext('faultwire.incident'))",
		    0, NULL);
}

static fw_error *send_mark(struct batch *batch)
{
	char writer[NUMBER_SIZE], last[NUMBER_SIZE];
	const char *const values[] = { writer, last };

	if (!batch->writer)
		return NULL;
	(void)snprintf(writer, sizeof writer, "%lld", (long long)batch->writer);
	(void)snprintf(last, sizeof last, "%llu", (unsigned long long)batch->last);
	return send(batch,
		    "INSERT INTO faultwire.incident_writer AS w (writer,last)"
		    " VALUES($1::bigint,$2::bigint) ON CONFLICT (writer) DO UPDATE"
		    " SET last=greatest(w.last,excluded.last),seen=now()",
		    2, values);
}

static fw_error *keep_mark(void *ctx, const PGresult *row)
{
	struct batch *batch = ctx;

	batch->first = (uint64_t)fw_pg_number(row, 0, 0);
	return NULL;
}

/* How far did the writer get? Asked only if the last batch was not confirmed. */
static fw_error *read_mark(struct batch *batch)
{
	struct fw_store_pg *store = batch->store;
	char writer[NUMBER_SIZE];
	const char *const values[] = { writer };

	if (!read_next(batch))
		return NULL;
	batch->writer = batch->held.writer;
	if (!batch->writer)
		return NULL;
	if (store->is_sure && store->writer == batch->writer) {
		batch->first = store->last;
		batch->is_held = batch->held.number > batch->first;
		return NULL;
	}
	(void)snprintf(writer, sizeof writer, "%lld", (long long)batch->writer);
	FW_TRY(fw_pg_query(batch->pg,
			   "SELECT last FROM faultwire.incident_writer"
			   " WHERE writer=$1::bigint",
			   1, values, keep_mark, batch));
	batch->is_held = batch->is_held && batch->held.number > batch->first;
	return NULL;
}

static fw_error *write_batch(struct batch *batch)
{
	bool has_more;

	FW_TRY(read_mark(batch));
	has_more = fill_chunk(batch);
	if (!batch->chunk.rows)
		return NULL;
	FW_TRY(fw_pg_begin(batch->pg));
	FW_TRY(send(batch, "BEGIN", 0, NULL));
	FW_TRY(send_lock(batch, has_more));
	FW_TRY(send_chunk(batch));
	while (has_more) {
		has_more = fill_chunk(batch);
		FW_TRY(send_chunk(batch));
	}
	FW_TRY(send_mark(batch));
	FW_TRY(send(batch, "COMMIT", 0, NULL));
	FW_TRY(fw_pg_sync(batch->pg));
	for (size_t i = 0; i < batch->statements; i++)
		FW_TRY(fw_pg_receive(batch->pg, NULL));
	return fw_pg_end(batch->pg);
}

fw_error *fw_store_pg_add_incidents(struct fw_store *base, fw_incident_next_fn *next, void *ctx)
{
	struct fw_store_pg *store = fw_store_pg_of(base);
	struct batch *batch = fw__allocate(sizeof *batch);
	fw_error *err;

	if (!batch)
		return fw_raise_internal_out_of_memory();
	memset(batch, 0, sizeof *batch);
	batch->store = store;
	batch->next = next;
	batch->ctx = ctx;
	/* A text can double by escaping, and a row is at least one more than the limit. */
	for (size_t i = 0; i < COLUMNS; i++)
		fw_buf_init(&batch->chunk.columns[i],
			    2 * (size_t)CHUNK_BYTES + 8 * (size_t)FW_LIMIT_INCIDENT_BYTES);
	err = fw_pg_take(store->pool, FW_LIMIT_PG_BATCH_MS, false, &batch->pg);
	if (!err) {
		err = write_batch(batch);
		store->is_sure = !err;
		store->writer = batch->writer;
		store->last = batch->last > batch->first ? batch->last : batch->first;
		store->unpruned_bytes += batch->bytes;
		store->has_unauthenticated |= batch->has_unauthenticated;
		if (err)
			store->day_count = 0;
		fw_pg_give(batch->pg, !err);
	}
	for (size_t i = 0; i < COLUMNS; i++)
		fw_buf_clear(&batch->chunk.columns[i]);
	fw__release(batch);
	return err;
}

/* ---- pruning --------------------------------------------------------------- */

fw_error *fw_store_pg_prune_incidents(struct fw_store *base, int64_t before_ms,
				      uint64_t max_bytes)
{
	struct fw_store_pg *store = fw_store_pg_of(base);
	char before[NUMBER_SIZE], most[NUMBER_SIZE], unauthenticated[NUMBER_SIZE],
		age[NUMBER_SIZE];
	const char *const values[] = { before, most, unauthenticated, age };
	struct fw_pg *pg = NULL;
	fw_error *err;

	/* This is called after each batch, but looking each time would cost more than the
	 * batch: the size may exceed its limit by a part of it for a moment. */
	if (!before_ms && store->was_pruned && !store->has_unauthenticated &&
	    store->unpruned_bytes < max_bytes / 64)
		return NULL;
	(void)snprintf(before, sizeof before, "%lld", (long long)before_ms);
	(void)snprintf(most, sizeof most, "%llu",
		       (unsigned long long)(max_bytes < INT64_MAX ? max_bytes : INT64_MAX));
	(void)snprintf(unauthenticated, sizeof unauthenticated, "%d",
		       FW_LIMIT_INCIDENT_UNAUTHENTICATED);
	(void)snprintf(age, sizeof age, "%lld",
		       (long long)(base->options.now_ms() - before_ms));
	FW_TRY(fw_pg_take(store->pool, FW_LIMIT_PG_BATCH_MS, false, &pg));
	/* Incidents of all replicas are not dropped because the clock of one is ahead. */
	err = fw_pg_query(pg,
			  "SELECT faultwire.prune(least($1::bigint,(extract(epoch FROM "
			  "now())*1000)::bigint-$4::bigint),$2::bigint,$3::bigint)",
			  4, values, NULL, NULL);
	fw_pg_give(pg, !err);
	if (err)
		return err;
	store->day_count = 0; /* some may be gone */
	store->was_pruned = true;
	store->has_unauthenticated = false;
	store->unpruned_bytes = 0;
	return NULL;
}
