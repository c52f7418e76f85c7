/*
 * store.c - chooses the backend by the URL, and checks arguments for all of them.
 */
#include "store/store.h"

#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/clock.h"
#include "base/limits.h"
#include "store/store_backend.h"

static bool begins_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static fw_error *not_built(const char *what)
{
	fw_error *err = fw_raise_internal_unsupported(what);

	fw_error_set_hint(err, "This build has SQLite stores only: use sqlite:PATH.");
	return err;
}

fw_error *fw_store_open(const char *url, const struct fw_store_options *options,
			struct fw_store **ret_store)
{
	struct fw_store_options given = options ? *options : (struct fw_store_options){ 0 };
	const char *path = begins_with(url, "sqlite:") ? url + strlen("sqlite:") : url;

	/* The URL may contain a password, so it is not part of the error. */
	if (begins_with(url, "postgresql://") || begins_with(url, "postgres://"))
		return not_built("a PostgreSQL store");
	if (!*path || (path == url && strstr(url, "://")))
		return fw_raise_input_invalid_value("store", "sqlite:PATH");
	if (!given.now_ms)
		given.now_ms = fw_unix_ms;
	return fw_store_sqlite_open(path, &given, ret_store);
}

void fw_store_free(struct fw_store *store)
{
	if (store)
		store->free(store);
}

/* ---- incidents ---------------------------------------------------------- */

fw_error *fw_store_probe(struct fw_store *store)
{
	return store->incidents->probe(store);
}

fw_error *fw_store_prepare(struct fw_store *store, char *ret_remark, size_t size)
{
	return store->incidents->prepare(store, ret_remark, size);
}

fw_error *fw_store_add_incidents(struct fw_store *store, fw_incident_next_fn *next, void *ctx)
{
	return store->incidents->add(store, next, ctx);
}

fw_error *fw_store_prune_incidents(struct fw_store *store, int64_t before_ms,
				   uint64_t max_bytes)
{
	return store->incidents->prune(store, before_ms, max_bytes);
}

fw_error *fw_store_list_incidents(struct fw_store *store,
				  const struct fw_incident_filter *filter,
				  fw_incident_fn *found, void *ctx)
{
	return store->incidents->list(store, filter, found, ctx);
}

fw_error *fw_store_find_incidents(struct fw_store *store, const char *prefix, size_t limit,
				  fw_incident_fn *found, void *ctx)
{
	return store->incidents->find(store, prefix, limit, found, ctx);
}

/* ---- rows --------------------------------------------------------------- */

static fw_error *check_text(const char *text, size_t limit, const char *what)
{
	if (text && strnlen(text, limit + 1) > limit)
		return fw_raise_input_too_large(what, limit);
	return NULL;
}

static fw_error *check_name(const char *kind, const char *key)
{
	FW_TRY(check_text(kind, FW_LIMIT_STORE_KIND_BYTES, "kind of row"));
	return check_text(key, FW_LIMIT_STORE_KEY_BYTES, "key");
}

static fw_error *check_change(const struct fw_store_change *change)
{
	FW_TRY(check_name(change->kind, change->key));
	FW_TRY(check_text(change->owner, FW_LIMIT_STORE_KEY_BYTES, "owner"));
	return check_text(change->value, FW_LIMIT_STORE_VALUE_BYTES, "value");
}

static bool add_numbers(int64_t a, int64_t b, int64_t *ret_sum)
{
	return !__builtin_add_overflow(a, b, ret_sum);
}

bool fw_store_change_allows(const struct fw_store_change *change, uint64_t version,
			    int64_t number, int64_t *ret_number)
{
	int64_t sum;

	if (change->if_version == FW_STORE_ABSENT
		    ? version != 0
		    : change->if_version && change->if_version != version)
		return false;
	if (change->action != FW_STORE_ADD) {
		*ret_number = change->number;
		return true;
	}
	if (!add_numbers(number, change->number, &sum) ||
	    (change->is_limited && (sum < change->min || sum > change->max)))
		return false;
	*ret_number = sum;
	return true;
}

fw_error *fw_store_apply(struct fw_store *store, const struct fw_store_change *changes,
			 size_t count, struct fw_store_result *ret_result)
{
	if (count > FW_LIMIT_STORE_CHANGES)
		return fw_raise_internal_api_misuse("fw_store_apply", "too many changes");
	for (size_t i = 0; i < count; i++)
		FW_TRY(check_change(&changes[i]));
	*ret_result = (struct fw_store_result){ .is_refused = false };
	return store->rows->apply(store, changes, count, ret_result);
}

fw_error *fw_store_get(struct fw_store *store, const char *kind, const char *key,
		       fw_store_row_fn *found, void *ctx)
{
	FW_TRY(check_name(kind, key));
	return store->rows->get(store, kind, key, found, ctx);
}

fw_error *fw_store_list(struct fw_store *store, const char *kind, const char *owner,
			const char *after, size_t limit, fw_store_row_fn *found, void *ctx)
{
	FW_TRY(check_name(kind, after));
	FW_TRY(check_text(owner, FW_LIMIT_STORE_KEY_BYTES, "owner"));
	return store->rows->list(store, kind, owner, after, limit, found, ctx);
}

fw_error *fw_store_expire(struct fw_store *store, size_t limit, size_t *ret_count)
{
	return store->rows->expire(store, limit, ret_count);
}
