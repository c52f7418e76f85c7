/*
 * book_read.c - brings the reservations in memory up to date with the store.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include "base/json.h"
#include "base/limits.h"
#include "tools/reserve/book_impl.h"

#include <faultwire/raise.h>

enum { PAGE = 1000, SWEEP_MS = 10000 };

struct reading {
	struct fw_reserve_book *book;
	struct fw_store *store;
	fw_error *err; /* the first one */
	size_t rows;
	char last[FW_LIMIT_STORE_KEY_BYTES + 1];
	bool is_found;
	int64_t number;
	uint64_t version;
};

static fw_error *first_of(struct reading *reading, fw_error *err)
{
	if (!err)
		err = reading->err;
	else
		fw_error_free(reading->err);
	reading->err = NULL;
	return err;
}

static const char *text_of(yyjson_val *object, const char *name)
{
	const char *text = yyjson_get_str(fw_json_member(object, name));

	return text ? text : "";
}

/* A row that cannot be read is skipped: another version may have written it. */
static void take_row(void *ctx, const struct fw_store_row *row)
{
	struct reading *reading = ctx;
	yyjson_doc *doc =
		fw_json_read(row->value, strlen(row->value), FW_JSON_SMALL, 0, NULL, NULL);
	yyjson_val *value = yyjson_doc_get_root(doc);
	const struct fw_reservation reservation = {
		.id = row->key,
		.agent = row->owner,
		.root = text_of(value, "root"),
		.pattern = text_of(value, "pattern"),
		.reason = text_of(value, "reason"),
		.is_exclusive = yyjson_get_bool(fw_json_member(value, "exclusive")),
		.created_ms = yyjson_get_sint(fw_json_member(value, "created")),
		.expires_ms = row->expires_ms,
	};
	fw_error *err = doc ? fw_reserve_index_put(reading->book->index, &reservation) : NULL;

	yyjson_doc_free(doc);
	reading->rows++;
	reading->is_found = true;
	(void)snprintf(reading->last, sizeof reading->last, "%s", row->key);
	if (err && fw_error_code(err) == FW_INTERNAL_OUT_OF_MEMORY && !reading->err)
		reading->err = err;
	else
		fw_error_free(err);
}

static void take_counter(void *ctx, const struct fw_store_row *row)
{
	struct reading *reading = ctx;

	reading->number = row->number;
	reading->version = row->version;
}

static fw_error *read_all(struct fw_reserve_book *book, struct fw_store *store)
{
	struct reading reading = { .book = book, .store = store };

	fw_reserve_index_expire(book->index, INT64_MAX);
	do {
		fw_error *err;

		reading.rows = 0;
		err = fw_store_list(store, FW_RESERVE_KIND, NULL,
				    reading.last[0] ? reading.last : NULL, PAGE, take_row,
				    &reading);
		FW_TRY(first_of(&reading, err));
	} while (reading.rows == PAGE);
	return NULL;
}

/* One reservation as it is now: changed, or gone. */
static fw_error *read_one(struct reading *reading, const char *id)
{
	fw_error *err;

	reading->is_found = false;
	err = fw_store_get(reading->store, FW_RESERVE_KIND, id, take_row, reading);
	if (!err && !reading->is_found)
		fw_reserve_index_remove(reading->book->index, id);
	return err;
}

/* ---- the log -------------------------------------------------------------------------- */

struct log_page {
	struct fw_buf ids; /* each ends in NUL */
	int64_t number;    /* of the last row */
	size_t rows;
};

static void take_log(void *ctx, const struct fw_store_row *row)
{
	struct log_page *page = ctx;
	yyjson_doc *doc = fw_json_read(row->value, strlen(row->value),
				       (struct fw_json_limits){ FW_LIMIT_STORE_VALUE_BYTES, 2 },
				       0, NULL, NULL);
	yyjson_val *list = yyjson_doc_get_root(doc);
	yyjson_arr_iter iter;

	page->rows++;
	page->number = strtoll(row->key, NULL, 10);
	if (!doc)
		page->ids.state = FW_BUF_NO_MEMORY;
	if (yyjson_arr_iter_init(list, &iter))
		for (yyjson_val *id; (id = yyjson_arr_iter_next(&iter));)
			if (yyjson_get_str(id))
				fw_buf_put(&page->ids, yyjson_get_str(id),
					   yyjson_get_len(id) + 1);
	yyjson_doc_free(doc);
}

static fw_error *read_ids(struct reading *reading, const struct fw_buf *ids)
{
	for (size_t at = 0; at < ids->len; at += strlen(ids->text + at) + 1)
		FW_TRY(first_of(reading, read_one(reading, ids->text + at)));
	return NULL;
}

/* What has changed since the book was read. `ret_is_whole` is false if the log does not
 * have all of it any more. */
static fw_error *read_changes(struct fw_reserve_book *book, struct fw_store *store,
			      int64_t number, bool *ret_is_whole)
{
	struct reading reading = { .book = book, .store = store };

	*ret_is_whole = number > book->number;
	while (*ret_is_whole && book->number < number) {
		struct log_page page = { .rows = 0 };
		char after[FW_RESERVE_LOG_KEY];
		fw_error *err;

		fw_buf_init(&page.ids, 1 << 24);
		(void)snprintf(after, sizeof after, FW_RESERVE_LOG_FORM,
			       (unsigned long long)book->number);
		err = fw_store_list(store, FW_RESERVE_LOG, NULL, after, PAGE, take_log, &page);
		if (!err && page.ids.state != FW_BUF_OK)
			err = fw_raise_internal_out_of_memory();
		*ret_is_whole =
			page.rows > 0 && page.number - book->number == (int64_t)page.rows;
		if (!err && *ret_is_whole)
			err = read_ids(&reading, &page.ids);
		fw_buf_clear(&page.ids);
		FW_TRY(err);
		if (*ret_is_whole)
			book->number = page.number;
	}
	return NULL;
}

/* ---- both ----------------------------------------------------------------------------- */

static fw_error *update(struct fw_reserve_book *book, struct fw_store *store,
			const struct reading *counter)
{
	bool is_whole = false;

	if (book->is_read)
		FW_TRY(read_changes(book, store, counter->number, &is_whole));
	if (!is_whole)
		FW_TRY(read_all(book, store));
	/* The log may have had changes that are newer than the counter that was read: they
	 * are read once more with the next one. */
	book->number = counter->number;
	book->version = counter->version;
	book->is_read = true;
	return NULL;
}

fw_error *fw_reserve_refresh(struct fw_reserve_book *book, struct fw_store *store)
{
	struct reading counter = { .book = book };
	int64_t now_ms = book->now_ms();
	fw_error *err;

	FW_TRY(fw_store_get(store, FW_RESERVE_COUNTER, FW_RESERVE_COUNTER, take_counter,
			    &counter));
	if (!book->is_read || counter.version != book->version) {
		err = update(book, store, &counter);
		if (err) {
			/* Some of it may have been read: the next time, all is read. */
			book->is_read = false;
			return err;
		}
	}
	if (now_ms - book->swept_ms >= SWEEP_MS || now_ms < book->swept_ms) {
		fw_reserve_index_expire(book->index, now_ms);
		book->swept_ms = now_ms;
	}
	return NULL;
}

struct listing {
	const char *agent;
	int64_t now_ms;
	fw_reserve_found_fn *found;
	void *ctx;
};

static bool select_own(void *ctx, const struct fw_reservation *held)
{
	const struct listing *listing = ctx;

	if (held->expires_ms <= listing->now_ms ||
	    (listing->agent && strcmp(listing->agent, held->agent) != 0))
		return true;
	return listing->found(listing->ctx, held);
}

fw_error *fw_reserve_list(struct fw_reserve_book *book, struct fw_store *store,
			  const char *agent, fw_reserve_found_fn *found, void *ctx)
{
	struct listing listing = { agent, book->now_ms(), found, ctx };

	FW_TRY(fw_reserve_refresh(book, store));
	fw_reserve_index_each(book->index, select_own, &listing);
	return NULL;
}
