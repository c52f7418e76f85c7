/*
 * book.c - see book.h: what is decided, and how it is written to the store. Reading is in
 * book_read.c.
 */
#include "tools/reserve/book.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/limits.h"
#include "base/mem.h"
#include "tools/reserve/book_impl.h"

#include <faultwire/raise.h>

enum { ATTEMPTS = 1000, LOG_KEPT_MS = 3600 * 1000, SWEPT = 16 };

/* ---- lifecycle ------------------------------------------------------------------- */

struct fw_reserve_book *fw_reserve_book_new(int64_t (*now_ms)(void))
{
	struct fw_reserve_book *book = fw__allocate(sizeof *book);

	if (!book)
		return NULL;
	*book = (struct fw_reserve_book){ .now_ms = now_ms ? now_ms : fw_unix_ms,
					  .index = fw_reserve_index_new() };
	if (book->index)
		return book;
	fw__release(book);
	return NULL;
}

void fw_reserve_book_free(struct fw_reserve_book *book)
{
	if (!book)
		return;
	fw_reserve_index_free(book->index);
	fw__release(book);
}

/* ---- conflicts --------------------------------------------------------------------- */

void fw_reserve_conflicts_init(struct fw_reserve_conflicts *conflicts)
{
	*conflicts = (struct fw_reserve_conflicts){ .count = 0 };
	fw_buf_init(&conflicts->json, FW_RESERVE_JSON_BYTES);
	FW_BUF(&conflicts->json, "[]");
}

void fw_reserve_conflicts_clear(struct fw_reserve_conflicts *conflicts)
{
	fw_buf_clear(&conflicts->json);
}

fw_error *fw_reserve_raise(const struct fw_reserve_conflicts *conflicts)
{
	/* Whole seconds, and late rather than early. */
	int64_t wait_s = (conflicts->wait_ms + 999) / 1000;
	fw_error *err;

	if (!conflicts->count)
		return NULL;
	if (conflicts->json.state != FW_BUF_OK)
		return fw_raise_internal_out_of_memory();
	err = fw_raise_reservation_conflict(conflicts->count, conflicts->json.text);
	fw_error_set_recoverable(err, true);
	fw_error_set_retry_after(err, (double)wait_s);
	return err;
}

static void put_time(struct fw_buf *out, int64_t time_ms)
{
	char text[FW_TIME_SIZE];

	fw_buf_json_str(out, fw_time_text(time_ms, text) ? text : "");
}

static void add_conflict(struct fw_reserve_conflicts *to, const struct fw_reservation *held,
			 int64_t now_ms)
{
	struct fw_buf *out = &to->json;

	if (held->expires_ms - now_ms > to->wait_ms)
		to->wait_ms = held->expires_ms - now_ms;
	if (to->count++ >= FW_RESERVE_LISTED || out->state != FW_BUF_OK)
		return;
	out->len--; /* the bracket */
	if (to->count > 1)
		FW_BUF(out, ",");
	FW_BUF(out, "{\"agent_id\":");
	fw_buf_json_str(out, held->agent);
	FW_BUF(out, ",\"pattern\":");
	fw_buf_json_str(out, held->pattern);
	FW_BUF(out, ",\"held_by\":");
	fw_buf_json_str(out, held->agent);
	FW_BUF(out, ",\"reservation_id\":");
	fw_buf_json_str(out, held->id);
	FW_BUF(out, ",\"expires_at\":");
	put_time(out, held->expires_ms);
	FW_BUF(out, "}]");
}

void fw_reserve_put(struct fw_buf *out, const struct fw_reservation *reservation)
{
	FW_BUF(out, "{\"reservation_id\":");
	fw_buf_json_str(out, reservation->id);
	FW_BUF(out, ",\"agent_id\":");
	fw_buf_json_str(out, reservation->agent);
	FW_BUF(out, ",\"pattern\":");
	fw_buf_json_str(out, reservation->pattern);
	FW_BUF(out, ",\"reason\":");
	fw_buf_json_str(out, reservation->reason);
	FW_BUF(out, ",\"exclusive\":");
	fw_buf_str(out, reservation->is_exclusive ? "true" : "false");
	FW_BUF(out, ",\"created_at\":");
	put_time(out, reservation->created_ms);
	FW_BUF(out, ",\"expires_at\":");
	put_time(out, reservation->expires_ms);
	FW_BUF(out, "}");
}

/* What one pattern overlaps with. */
struct overlaps {
	const struct fw_reserve_request *request;
	const char *pattern;
	int64_t now_ms;
	bool is_shared; /* the request is not exclusive for this pattern */
	struct fw_reserve_conflicts *conflicts;
	size_t seen;                       /* conflicts of this pattern */
	const struct fw_reservation *same; /* the agent's own, of the same pattern */
};

static bool is_own(const struct overlaps *overlaps, const struct fw_reservation *held)
{
	return overlaps->request->agent && strcmp(overlaps->request->agent, held->agent) == 0;
}

/* Whether the agent shares the file that it wants to write. */
static bool want_own(void *ctx, const struct fw_reservation *held)
{
	const struct overlaps *overlaps = ctx;

	return held->expires_ms > overlaps->now_ms && is_own(overlaps, held);
}

static bool see_own(void *ctx, const struct fw_reservation *held)
{
	struct overlaps *overlaps = ctx;

	(void)held;
	overlaps->is_shared = true;
	return false;
}

static bool is_same(const struct overlaps *overlaps, const struct fw_reservation *held)
{
	return strcmp(held->pattern, overlaps->pattern) == 0 &&
	       strcmp(held->root, overlaps->request->root) == 0;
}

/* Those that conflict if they overlap, and the agent's own of the same pattern. */
static bool want_all(void *ctx, const struct fw_reservation *held)
{
	const struct overlaps *overlaps = ctx;

	if (held->expires_ms <= overlaps->now_ms)
		return false;
	if (is_own(overlaps, held))
		return is_same(overlaps, held);
	return held->is_exclusive || !overlaps->is_shared;
}

/* The exact number of so large a set does not help a caller, and the time of a check must
 * not grow with it. */
static bool see_all(void *ctx, const struct fw_reservation *held)
{
	struct overlaps *overlaps = ctx;

	if (is_own(overlaps, held)) {
		overlaps->same = held;
		return true;
	}
	add_conflict(overlaps->conflicts, held, overlaps->now_ms);
	return ++overlaps->seen < FW_RESERVE_COUNTED;
}

/* `ret_same` may be NULL. */
static fw_error *compare(struct fw_reserve_book *book, const struct fw_reserve_request *request,
			 size_t at, struct fw_reserve_conflicts *conflicts,
			 const struct fw_reservation **ret_same)
{
	struct overlaps overlaps = { .request = request,
				     .pattern = request->patterns[at],
				     .now_ms = book->now_ms(),
				     .is_shared = !request->is_exclusive,
				     .conflicts = conflicts };
	char argument[32];
	struct fw_reserve_query query = { .argument = argument,
					  .root = request->root,
					  .pattern = overlaps.pattern,
					  .is_path = request->is_paths,
					  .agent = request->agent,
					  .ctx = &overlaps };

	(void)snprintf(argument, sizeof argument, "patterns/%u", (unsigned)at & 0xffff);
	if (request->is_paths) {
		query.of = FW_RESERVE_OF_AGENT;
		query.wanted = want_own;
		query.found = see_own;
		FW_TRY(fw_reserve_index_find(book->index, &query));
	}
	query.of = overlaps.is_shared ? FW_RESERVE_OF_AGENT_OR_EXCLUSIVE : FW_RESERVE_OF_ALL;
	query.wanted = want_all;
	query.found = see_all;
	FW_TRY(fw_reserve_index_find(book->index, &query));
	if (ret_same)
		*ret_same = overlaps.same;
	return NULL;
}

fw_error *fw_reserve_check(struct fw_reserve_book *book, struct fw_store *store,
			   const struct fw_reserve_request *request,
			   struct fw_reserve_conflicts *conflicts)
{
	FW_TRY(fw_reserve_refresh(book, store));
	for (size_t i = 0; i < request->count; i++)
		FW_TRY(compare(book, request, i, conflicts, NULL));
	return conflicts->json.state == FW_BUF_OK ? NULL : fw_raise_internal_out_of_memory();
}

/* ---- changes ------------------------------------------------------------------------- */

/* The changes of one transaction, and the texts that they borrow. */
struct draft {
	struct fw_store_change changes[FW_RESERVE_PATTERNS + 2];
	size_t count;
	char log_key[FW_RESERVE_LOG_KEY];
	struct fw_buf log;                         /* ids, a JSON array */
	struct fw_buf values[FW_RESERVE_PATTERNS]; /* of the rows */
	size_t value_count;
};

static void draft_init(struct draft *draft)
{
	draft->count = 2; /* the counter and the log */
	draft->value_count = 0;
	fw_buf_init(&draft->log, FW_LIMIT_STORE_VALUE_BYTES);
	FW_BUF(&draft->log, "[");
}

static void draft_clear(struct draft *draft)
{
	fw_buf_clear(&draft->log);
	while (draft->value_count)
		fw_buf_clear(&draft->values[--draft->value_count]);
}

static void draft_add(struct draft *draft, const struct fw_store_change *change)
{
	if (draft->count > 2)
		FW_BUF(&draft->log, ",");
	fw_buf_json_str(&draft->log, change->key);
	draft->changes[draft->count] = *change;
	draft->changes[draft->count++].kind = FW_RESERVE_KIND;
}

static void draft_put(struct draft *draft, const struct fw_reserve_request *request,
		      const char *id, bool is_new, const char *pattern, int64_t now_ms)
{
	struct fw_buf *value = &draft->values[draft->value_count++];
	struct fw_store_change change = { .action = FW_STORE_PUT,
					  .key = id,
					  .if_version = is_new ? FW_STORE_ABSENT : 0,
					  .owner = request->agent,
					  .expires_ms = now_ms + request->ttl_ms };

	fw_buf_init(value, FW_LIMIT_STORE_VALUE_BYTES);
	FW_BUF(value, "{\"root\":");
	fw_buf_json_str(value, request->root);
	FW_BUF(value, ",\"pattern\":");
	fw_buf_json_str(value, pattern);
	FW_BUF(value, ",\"reason\":");
	fw_buf_json_str(value, request->reason);
	FW_BUF(value, ",\"exclusive\":");
	fw_buf_str(value, request->is_exclusive ? "true" : "false");
	FW_BUF(value, ",\"created\":");
	fw_buf_i64(value, now_ms);
	FW_BUF(value, "}");
	if (value->state != FW_BUF_OK)
		draft->log.state = value->state;
	change.value = value->text;
	draft_add(draft, &change);
}

/* Writes it, unless the store was changed since the book was read. */
static fw_error *commit(const struct fw_reserve_book *book, struct fw_store *store,
			struct draft *draft, bool *ret_is_done)
{
	struct fw_store_result result;
	size_t swept;

	FW_BUF(&draft->log, "]");
	if (draft->log.state != FW_BUF_OK)
		return fw_raise_internal_out_of_memory();
	(void)snprintf(draft->log_key, sizeof draft->log_key, FW_RESERVE_LOG_FORM,
		       (unsigned long long)book->number + 1);
	draft->changes[0] =
		(struct fw_store_change){ .action = FW_STORE_ADD,
					  .kind = FW_RESERVE_COUNTER,
					  .key = FW_RESERVE_COUNTER,
					  .number = 1,
					  .if_version = book->version ? book->version
								      : FW_STORE_ABSENT };
	draft->changes[1] =
		(struct fw_store_change){ .action = FW_STORE_PUT,
					  .kind = FW_RESERVE_LOG,
					  .key = draft->log_key,
					  .value = draft->log.text,
					  .expires_ms = book->now_ms() + LOG_KEPT_MS };
	FW_TRY(fw_store_expire(store, SWEPT, &swept));
	FW_TRY(fw_store_apply(store, draft->changes, draft->count, &result));
	*ret_is_done = !result.is_refused;
	return NULL;
}

/* ---- reserving -------------------------------------------------------------------------- */

static bool count_own(void *ctx, const struct fw_reservation *held)
{
	(void)held;
	++*(size_t *)ctx;
	return true;
}

static fw_error *check_share(struct fw_reserve_book *book, struct fw_store *store,
			     const struct fw_reserve_request *request)
{
	size_t counted = 0;

	if (fw_reserve_index_count(book->index) + request->count <= FW_RESERVE_AGENT_MAX)
		return NULL;
	FW_TRY(fw_reserve_list(book, store, request->agent, count_own, &counted));
	if (counted + request->count <= FW_RESERVE_AGENT_MAX)
		return NULL;
	return fw_raise_server_overloaded(FW_RESERVE_AGENT_MAX, "reservations of one agent");
}

static fw_error *try_take(struct fw_reserve_book *book, struct fw_store *store,
			  const struct fw_reserve_request *request, struct draft *draft,
			  char (*ret_ids)[FW_RESERVE_ID_SIZE], bool *ret_is_done)
{
	struct fw_reserve_conflicts conflicts;
	int64_t now_ms = book->now_ms();
	fw_error *err = NULL;

	fw_reserve_conflicts_init(&conflicts);
	for (size_t i = 0; !err && i < request->count; i++) {
		const struct fw_reservation *same = NULL;

		err = compare(book, request, i, &conflicts, &same);
		if (!err && same)
			(void)snprintf(ret_ids[i], FW_RESERVE_ID_SIZE, "%s", same->id);
		else if (!err)
			fw_reserve_make_id(ret_ids[i]);
		if (!err)
			draft_put(draft, request, ret_ids[i], !same, request->patterns[i],
				  now_ms);
	}
	if (!err)
		err = fw_reserve_raise(&conflicts);
	fw_reserve_conflicts_clear(&conflicts);
	return err ? err : commit(book, store, draft, ret_is_done);
}

void fw_reserve_make_id(char ret_id[FW_RESERVE_ID_SIZE])
{
	memcpy(ret_id, "res_", 4);
	fw_random_text(ret_id + 4, FW_RESERVE_ID_SIZE - 4);
}

fw_error *fw_reserve_take(struct fw_reserve_book *book, struct fw_store *store,
			  const struct fw_reserve_request *request,
			  char (*ret_ids)[FW_RESERVE_ID_SIZE], int64_t *ret_expires_ms)
{
	for (size_t attempt = 0; attempt < ATTEMPTS; attempt++) {
		struct draft draft;
		bool is_done = false;
		fw_error *err;

		FW_TRY(fw_reserve_refresh(book, store));
		FW_TRY(check_share(book, store, request));
		draft_init(&draft);
		err = try_take(book, store, request, &draft, ret_ids, &is_done);
		if (!err && is_done)
			*ret_expires_ms = draft.changes[2].expires_ms;
		draft_clear(&draft);
		if (err || is_done)
			return err;
	}
	return fw_raise_dependency_unavailable("the store of reservations");
}

/* ---- releasing -------------------------------------------------------------------------- */

static fw_error *try_release(struct fw_reserve_book *book, struct fw_store *store,
			     const char *agent, const char *const *ids, size_t count,
			     struct draft *draft, bool *ret_is_done)
{
	for (size_t i = 0; i < count; i++) {
		const struct fw_reservation *held = fw_reserve_index_get(book->index, ids[i]);
		const struct fw_store_change change = { .action = FW_STORE_DELETE,
							.key = ids[i] };

		/* Those of others do not exist for this agent. */
		if (!held || held->expires_ms <= book->now_ms() ||
		    (agent && strcmp(held->agent, agent) != 0))
			return fw_raise_reservation_not_found(ids[i]);
		draft_add(draft, &change);
	}
	return commit(book, store, draft, ret_is_done);
}

fw_error *fw_reserve_release(struct fw_reserve_book *book, struct fw_store *store,
			     const char *agent, const char *const *ids, size_t count)
{
	for (size_t attempt = 0; attempt < ATTEMPTS; attempt++) {
		struct draft draft;
		bool is_done = false;
		fw_error *err;

		FW_TRY(fw_reserve_refresh(book, store));
		draft_init(&draft);
		err = try_release(book, store, agent, ids, count, &draft, &is_done);
		draft_clear(&draft);
		if (err || is_done)
			return err;
	}
	return fw_raise_dependency_unavailable("the store of reservations");
}

struct batch {
	char ids[FW_RESERVE_PATTERNS][FW_RESERVE_ID_SIZE];
	const char *list[FW_RESERVE_PATTERNS];
	size_t count;
};

static bool add_to_batch(void *ctx, const struct fw_reservation *held)
{
	struct batch *batch = ctx;
	char *id = batch->ids[batch->count];

	(void)snprintf(id, FW_RESERVE_ID_SIZE, "%s", held->id);
	batch->list[batch->count++] = id;
	return batch->count < FW_RESERVE_PATTERNS;
}

fw_error *fw_reserve_release_all(struct fw_reserve_book *book, struct fw_store *store,
				 const char *agent, struct fw_buf *ids)
{
	struct batch batch;
	bool is_first = true;

	FW_BUF(ids, "[");
	do {
		batch.count = 0;
		FW_TRY(fw_reserve_list(book, store, agent, add_to_batch, &batch));
		if (batch.count)
			FW_TRY(fw_reserve_release(book, store, agent, batch.list, batch.count));
		for (size_t i = 0; i < batch.count; i++) {
			if (!is_first)
				FW_BUF(ids, ",");
			is_first = false;
			fw_buf_json_str(ids, batch.ids[i]);
		}
	} while (batch.count == FW_RESERVE_PATTERNS);
	FW_BUF(ids, "]");
	return ids->state == FW_BUF_OK ? NULL : fw_raise_internal_out_of_memory();
}
