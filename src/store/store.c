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

bool fw_store_is_shared(const char *url)
{
	return begins_with(url, "postgresql://") || begins_with(url, "postgres://");
}

fw_error *fw_store_needs(const char *url, struct fw_store_needs *ret_needs)
{
	*ret_needs = (struct fw_store_needs){ .port_count = 0 };
	return fw_store_is_shared(url) ? fw_store_pg_needs(url, ret_needs) : NULL;
}

/* Appends the text from `from` to `end`. */
static void copy_part(char *ret_text, size_t size, const char *from, const char *end)
{
	size_t used = strlen(ret_text);
	size_t len = (size_t)(end - from);

	if (len >= size - used)
		len = size - used - 1;
	memcpy(ret_text + used, from, len);
	ret_text[used + len] = '\0';
}

static void copy_text(char *ret_text, size_t size, const char *text)
{
	copy_part(ret_text, size, text, text + strlen(text));
}

/* A password may have any character but '@' and '/' for libpq, and more in a URL that is not
 * valid. So what is before an '@' in an unusual place is not shown at all. */
void fw_store_url_show(const char *url, char *ret_text, size_t size)
{
	const char *start = fw_store_is_shared(url) ? strstr(url, "://") + 3 : url;
	const char *end = start + strcspn(start, "/?");
	const char *host = memrchr(start, '@', (size_t)(end - start));
	const char *colon = host ? memchr(start, ':', (size_t)(host - start)) : NULL;
	const char *query = end + strcspn(end, "?");

	ret_text[0] = '\0';
	if (start == url) {
		copy_part(ret_text, size, url, url + strlen(url));
		return;
	}
	if (!host && strchr(end, '@')) {
		copy_part(ret_text, size, url, start);
		copy_text(ret_text, size, "***");
		return;
	}
	copy_part(ret_text, size, url, colon ? colon : end);
	if (colon) {
		copy_text(ret_text, size, ":***");
		copy_part(ret_text, size, host, end);
	}
	/* Parameters can contain a password too, in more than one spelling. */
	copy_part(ret_text, size, end, query);
	if (*query)
		copy_text(ret_text, size, "?...");
}

const char *fw_store_file_path(const char *url)
{
	return begins_with(url, "sqlite:") ? url + strlen("sqlite:") : url;
}

fw_error *fw_store_open(const char *url, const struct fw_store_options *options,
			struct fw_store **ret_store)
{
	struct fw_store_options given = options ? *options : (struct fw_store_options){ 0 };
	const char *path = fw_store_file_path(url);

	if (!given.now_ms)
		given.now_ms = fw_unix_ms;
	if (fw_store_is_shared(url))
		return fw_store_pg_open(url, &given, ret_store);
	/* The URL may contain a password, so it is not part of the error. */
	if (!*path || (path == url && strstr(url, "://")))
		return fw_raise_input_invalid_value("store", "sqlite:PATH or postgresql://...");
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

fw_error *fw_store_walk_incidents(struct fw_store *store, int64_t after, size_t limit,
				  fw_incident_fn *found, void *ctx)
{
	return store->incidents->walk(store, after, limit, found, ctx);
}

const char **fw_store_incident_text(struct fw_incident *incident, size_t index)
{
	static const size_t offsets[FW_INCIDENT_TEXTS] = {
		offsetof(struct fw_incident, id),         offsetof(struct fw_incident, code),
		offsetof(struct fw_incident, severity),   offsetof(struct fw_incident, tool),
		offsetof(struct fw_incident, operation),  offsetof(struct fw_incident, client),
		offsetof(struct fw_incident, session),    offsetof(struct fw_incident, trace),
		offsetof(struct fw_incident, message),    offsetof(struct fw_incident, peer),
		offsetof(struct fw_incident, error),      offsetof(struct fw_incident, detail),
		offsetof(struct fw_incident, counted_as),
	};

	return (const char **)(void *)((char *)incident + offsets[index]);
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

fw_error *fw_store_kinds(struct fw_store *store, fw_store_kind_fn *found, void *ctx)
{
	return store->rows->kinds(store, found, ctx);
}
