/*
 * store_pg_row.c - rows in a PostgreSQL store.
 *
 * A change takes two round trips: the first locks the keys and reads their rows, the
 * second writes and commits. What is allowed is decided between them by the same function
 * as for every other backend. A failed connection leaves the transaction to the server,
 * which rolls it back. When the answer to the commit is missing, the change may have
 * happened: the caller gets an error, so a budget is at worst counted without being used.
 */
#include "store/store_pg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/limits_store.h"
#include "base/utf8.h"

#define COLUMNS "kind,key,owner,value,number,expires,version"
#define IS_ALIVE "(expires=0 OR expires>$1::bigint)"

enum { NUMBER_SIZE = 24, ARRAY_MAX = 4 * 1024 * 1024 };

static void write_number(char text[NUMBER_SIZE], int64_t number)
{
	(void)snprintf(text, NUMBER_SIZE, "%lld", (long long)number);
}

static bool is_utf8(const char *text)
{
	size_t len = text ? strlen(text) : 0;

	return !text || fw_utf8_valid(text, len) == len;
}

/* ---- changing -------------------------------------------------------------- */

/* A row as the changes up to now leave it. */
struct slot {
	const char *kind;
	const char *key;
	uint64_t version; /* 0: there is none */
	int64_t number;
};

struct work {
	struct fw_store_pg *store;
	struct fw_pg *pg;
	const struct fw_store_change *changes;
	size_t count;
	struct slot slots[FW_LIMIT_STORE_CHANGES];
	size_t slot_count;
	struct fw_store_result *result;
};

static const char *given(const char *text)
{
	return text ? text : "";
}

static struct slot *find_slot(struct work *work, const char *kind, const char *key)
{
	for (size_t i = 0; i < work->slot_count; i++)
		if (strcmp(work->slots[i].key, given(key)) == 0 &&
		    strcmp(work->slots[i].kind, given(kind)) == 0)
			return &work->slots[i];
	return NULL;
}

/* Two keys with the same hash share a lock, which is harmless. */
static int64_t lock_of(const struct slot *slot)
{
	return (int64_t)fw_hash_text(slot->key, fw_hash_text(slot->kind, 0));
}

static int compare_numbers(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static void list_locks(const struct work *work, struct fw_buf *locks)
{
	int64_t sorted[FW_LIMIT_STORE_CHANGES] = { 0 };

	for (size_t i = 0; i < work->slot_count; i++)
		sorted[i] = lock_of(&work->slots[i]);
	qsort(sorted, work->slot_count, sizeof *sorted, compare_numbers);
	for (size_t i = 0; i < work->slot_count; i++)
		fw_pg_item_number(locks, sorted[i]);
	fw_pg_array_end(locks);
}

static fw_error *send_reading(struct work *work)
{
	struct fw_buf locks, kinds, keys;
	const char *values[3];
	char now[NUMBER_SIZE];
	fw_error *err = NULL;

	fw_buf_init(&locks, ARRAY_MAX);
	fw_buf_init(&kinds, ARRAY_MAX);
	fw_buf_init(&keys, ARRAY_MAX);
	list_locks(work, &locks);
	for (size_t i = 0; i < work->slot_count; i++) {
		fw_pg_item(&kinds, work->slots[i].kind);
		fw_pg_item(&keys, work->slots[i].key);
	}
	fw_pg_array_end(&kinds);
	fw_pg_array_end(&keys);
	write_number(now, work->store->base.options.now_ms());
	if (locks.state != FW_BUF_OK || kinds.state != FW_BUF_OK || keys.state != FW_BUF_OK)
		err = fw_raise_internal_out_of_memory();
	values[0] = locks.text;
	if (!err)
		err = fw_pg_send(work->pg, "BEGIN", 0, NULL);
	if (!err)
		err = fw_pg_send_prepared(work->pg, FW_PG_LOCK_ROWS, 1, values);
	if (!err)
		err = fw_pg_send_prepared(work->pg, FW_PG_NEXT_VERSION, 0, NULL);
	values[0] = kinds.text;
	values[1] = keys.text;
	values[2] = now;
	if (!err)
		err = fw_pg_send_prepared(work->pg, FW_PG_READ_ROWS, 3, values);
	fw_buf_clear(&locks);
	fw_buf_clear(&kinds);
	fw_buf_clear(&keys);
	return err ? err : fw_pg_sync(work->pg);
}

static fw_error *receive_reading(struct work *work)
{
	PGresult *result = NULL;

	FW_TRY(fw_pg_receive(work->pg, NULL));
	FW_TRY(fw_pg_receive(work->pg, NULL));
	FW_TRY(fw_pg_receive(work->pg, &result));
	work->result->version = (uint64_t)fw_pg_number(result, 0, 0);
	PQclear(result);
	FW_TRY(fw_pg_receive(work->pg, &result));
	for (int i = 0; i < PQntuples(result); i++) {
		struct slot *slot =
			find_slot(work, PQgetvalue(result, i, 0), PQgetvalue(result, i, 1));

		if (!slot)
			continue;
		slot->version = (uint64_t)fw_pg_number(result, i, 2);
		slot->number = fw_pg_number(result, i, 3);
	}
	PQclear(result);
	return fw_pg_end(work->pg);
}

/* One statement per change that is allowed. */
static fw_error *send_change(struct work *work, const struct fw_store_change *change,
			     bool is_there, int64_t number)
{
	char digits[NUMBER_SIZE], version[NUMBER_SIZE], expires[NUMBER_SIZE];
	const char *values[7] = { change->kind, change->key };

	if (change->action == FW_STORE_DELETE)
		return fw_pg_send_prepared(work->pg, FW_PG_DELETE_ROW, 2, values);
	write_number(digits, number);
	write_number(version, (int64_t)work->result->version);
	if (change->action == FW_STORE_ADD && is_there) {
		values[2] = digits;
		values[3] = version;
		return fw_pg_send_prepared(work->pg, FW_PG_ADD_ROW, 4, values);
	}
	write_number(expires, change->expires_ms);
	values[2] = given(change->owner);
	values[3] = given(change->value);
	values[4] = digits;
	values[5] = expires;
	values[6] = version;
	return fw_pg_send_prepared(work->pg, FW_PG_PUT_ROW, 7, values);
}

static fw_error *decide(struct work *work, size_t index)
{
	const struct fw_store_change *change = &work->changes[index];
	struct slot *slot = find_slot(work, change->kind, change->key);
	struct fw_store_result *result = work->result;
	int64_t number = 0;

	result->number = slot->number;
	if (!fw_store_change_allows(change, slot->version, slot->number, &number)) {
		result->is_refused = true;
		result->refused_at = index;
		return NULL;
	}
	FW_TRY(send_change(work, change, slot->version != 0, number));
	slot->version = change->action == FW_STORE_DELETE ? 0 : result->version;
	slot->number = change->action == FW_STORE_DELETE ? 0 : number;
	result->number = slot->number;
	return NULL;
}

static fw_error *write_changes(struct work *work)
{
	size_t sent = 0;

	FW_TRY(fw_pg_begin(work->pg));
	for (size_t i = 0; i < work->count && !work->result->is_refused; i++) {
		FW_TRY(decide(work, i));
		sent += !work->result->is_refused;
	}
	FW_TRY(fw_pg_send(work->pg, work->result->is_refused ? "ROLLBACK" : "COMMIT", 0, NULL));
	FW_TRY(fw_pg_sync(work->pg));
	for (size_t i = 0; i < sent + 1; i++)
		FW_TRY(fw_pg_receive(work->pg, NULL));
	FW_TRY(fw_pg_end(work->pg));
	if (work->result->is_refused)
		work->result->version = 0;
	return NULL;
}

static fw_error *prepare_work(struct work *work)
{
	for (size_t i = 0; i < work->count; i++) {
		const struct fw_store_change *change = &work->changes[i];

		if (!is_utf8(change->kind) || !is_utf8(change->key) ||
		    !is_utf8(change->owner) || !is_utf8(change->value))
			return fw_raise_input_invalid_value("row", "text in UTF-8");
		if (!find_slot(work, change->kind, change->key))
			work->slots[work->slot_count++] =
				(struct slot){ .kind = given(change->kind),
					       .key = given(change->key) };
	}
	return NULL;
}

static fw_error *apply_work(struct work *work)
{
	FW_TRY(fw_pg_begin(work->pg));
	FW_TRY(send_reading(work));
	FW_TRY(receive_reading(work));
	return write_changes(work);
}

static fw_error *refuse_reader(const struct fw_store_pg *store)
{
	if (!store->base.options.is_reader)
		return NULL;
	return fw_pg_raise(FW_HERE, store->pool, true, "it was opened for reading", NULL);
}

fw_error *fw_store_pg_apply(struct fw_store *base, const struct fw_store_change *changes,
			    size_t count, struct fw_store_result *ret_result)
{
	struct fw_store_pg *store = fw_store_pg_of(base);
	struct work work = {
		.store = store, .changes = changes, .count = count, .result = ret_result
	};
	fw_error *err;

	FW_TRY(refuse_reader(store));
	if (!count)
		return NULL;
	FW_TRY(prepare_work(&work));
	FW_TRY(fw_pg_take(store->pool, FW_LIMIT_PG_ANSWER_MS, true, &work.pg));
	err = apply_work(&work);
	fw_pg_give(work.pg, !err);
	return err;
}

struct counted {
	size_t count;
};

static fw_error *count_row(void *ctx, const PGresult *row)
{
	struct counted *counted = ctx;

	(void)row;
	counted->count++;
	return NULL;
}

fw_error *fw_store_pg_expire(struct fw_store *base, size_t limit, size_t *ret_count)
{
	struct fw_store_pg *store = fw_store_pg_of(base);
	char now[NUMBER_SIZE], most[NUMBER_SIZE];
	const char *const values[] = { now, most };
	struct counted counted = { 0 };
	struct fw_pg *pg = NULL;
	fw_error *err;

	FW_TRY(refuse_reader(store));
	write_number(now, base->options.now_ms());
	write_number(most, (int64_t)limit);
	FW_TRY(fw_pg_take(store->pool, FW_LIMIT_PG_ANSWER_MS, true, &pg));
	/* Rows that are locked by another transaction are left for the next time. */
	err = fw_pg_query(pg,
			  "DELETE FROM faultwire.store_row WHERE (kind,key) IN"
			  " (SELECT kind,key FROM faultwire.store_row WHERE expires>0 AND"
			  " expires<=$1::bigint ORDER BY expires LIMIT $2::bigint"
			  " FOR UPDATE SKIP LOCKED) RETURNING 1",
			  2, values, count_row, &counted);
	fw_pg_give(pg, !err);
	if (!err)
		*ret_count = counted.count;
	return err;
}

/* ---- reading --------------------------------------------------------------- */

struct rows {
	fw_store_row_fn *found;
	void *ctx;
};

static fw_error *pass_row(void *ctx, const PGresult *row)
{
	const struct rows *rows = ctx;

	rows->found(rows->ctx, &(struct fw_store_row){
				       .kind = PQgetvalue(row, 0, 0),
				       .key = PQgetvalue(row, 0, 1),
				       .owner = PQgetvalue(row, 0, 2),
				       .value = PQgetvalue(row, 0, 3),
				       .number = fw_pg_number(row, 0, 4),
				       .expires_ms = fw_pg_number(row, 0, 5),
				       .version = (uint64_t)fw_pg_number(row, 0, 6),
			       });
	return NULL;
}

static fw_error *query(struct fw_store_pg *store, const char *sql, int count,
		       const char *const *values, struct rows *rows)
{
	struct fw_pg *pg = NULL;
	fw_error *err;

	FW_TRY(fw_pg_take(store->pool, FW_LIMIT_PG_ANSWER_MS, true, &pg));
	err = fw_pg_query(pg, sql, count, values, pass_row, rows);
	fw_pg_give(pg, !err);
	return err;
}

fw_error *fw_store_pg_get(struct fw_store *base, const char *kind, const char *key,
			  fw_store_row_fn *found, void *ctx)
{
	char now[NUMBER_SIZE];
	const char *const values[] = { now, kind, key };
	struct rows rows = { found, ctx };

	if (!is_utf8(kind) || !is_utf8(key))
		return NULL; /* no such row was accepted */
	write_number(now, base->options.now_ms());
	return query(fw_store_pg_of(base),
		     "SELECT " COLUMNS " FROM faultwire.store_row"
		     " WHERE kind=$2 AND key=$3 AND " IS_ALIVE,
		     3, values, &rows);
}

fw_error *fw_store_pg_list(struct fw_store *base, const char *kind, const char *owner,
			   const char *after, size_t limit, fw_store_row_fn *found, void *ctx)
{
	char now[NUMBER_SIZE], most[NUMBER_SIZE], sql[384];
	const char *const values[] = { now, kind, most, owner ? owner : "",
				       after ? after : "" };
	struct rows rows = { found, ctx };

	if (!is_utf8(kind) || !is_utf8(owner) || !is_utf8(after))
		return NULL;
	write_number(now, base->options.now_ms());
	write_number(most, (int64_t)(limit < INT64_MAX ? limit : INT64_MAX));
	/* Conditions that are not given are true for every row. */
	(void)snprintf(sql, sizeof sql,
		       "SELECT " COLUMNS " FROM faultwire.store_row WHERE kind=$2 AND %s AND "
		       "%s AND " IS_ALIVE " ORDER BY key LIMIT $3::bigint",
		       owner ? "owner=$4" : "$4::text IS NOT NULL",
		       after ? "key>$5" : "$5::text IS NOT NULL");
	return query(fw_store_pg_of(base), sql, 5, values, &rows);
}

struct kinds {
	fw_store_kind_fn *found;
	void *ctx;
};

static fw_error *pass_kind(void *ctx, const PGresult *row)
{
	const struct kinds *kinds = ctx;

	kinds->found(kinds->ctx, PQgetvalue(row, 0, 0));
	return NULL;
}

fw_error *fw_store_pg_kinds(struct fw_store *base, fw_store_kind_fn *found, void *ctx)
{
	struct kinds kinds = { found, ctx };
	struct fw_pg *pg = NULL;
	fw_error *err;

	FW_TRY(fw_pg_take(fw_store_pg_of(base)->pool, FW_LIMIT_PG_READ_MS, true, &pg));
	err = fw_pg_query(pg, "SELECT DISTINCT kind FROM faultwire.store_row ORDER BY kind", 0,
			  NULL, pass_kind, &kinds);
	fw_pg_give(pg, !err);
	return err;
}
