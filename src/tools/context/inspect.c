/*
 * inspect.c - facts about a cache, verification, and the list of caches.
 */
#include "tools/context/context.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "tools/context/store.h"

#include <faultwire/raise.h>

/* ---- facts ---- */

static void get_facts(const struct fw_context_cache *cache, bool valid,
		      struct fw_context_facts *ret_facts)
{
	*ret_facts = (struct fw_context_facts){ 0 };
	if (cache->manifest.cache_version)
		memcpy(ret_facts->cache_version, cache->manifest.cache_version,
		       FW_CONTEXT_VERSION_LEN);
	ret_facts->document_count = cache->manifest.document_count;
	ret_facts->total_bytes = cache->total_bytes;
	ret_facts->valid = valid;
}

/* Checks once. `*ret_identity` is that of the cache directory. */
static fw_error *check_once(const struct fw_context_store *store, const char *name, size_t len,
			    struct fw_context_check *check,
			    struct fw_context_identity *ret_identity,
			    struct fw_context_facts *ret_facts)
{
	struct fw_context_cache *cache;
	int dir;

	FW_TRY(fw_context_open_cache(fw_context_store_root(store), name, len, &dir));
	(void)fw_context_identity_of(dir, ret_identity);
	FW_TRY(fw_context_cache_check(dir, check, &cache));
	get_facts(cache, !check->has_violation, ret_facts);
	fw_context_cache_unref(cache);
	return NULL;
}

/* A violation that was reported cannot be withdrawn. So the first check stops at the
 * first violation; only if the cache was not replaced meanwhile, a second check
 * reports all of them. */
fw_error *fw_context_verify(const struct fw_context_store *store, const char *cache,
			    size_t cache_len, const struct fw_context_run *run,
			    fw_context_violation_fn *on_violation, void *ctx,
			    struct fw_context_facts *ret_facts)
{
	struct fw_context_identity identity;
	fw_error *err;

	for (unsigned try = 1;; try++) {
		struct fw_context_check check = { 0 };

		if (run)
			check.run = *run;
		err = check_once(store, cache, cache_len, &check, &identity, ret_facts);
		if (fw_error_code(err) != FW_CACHE_INVALID)
			return err;
		if (try == FW_CONTEXT_READ_ATTEMPTS ||
		    !fw_context_is_replaced(fw_context_store_root(store), cache, cache_len,
					    &identity)) {
			struct fw_context_check all = { .run = check.run,
							.on_violation = on_violation,
							.violation_ctx = ctx };

			if (!on_violation)
				return err;
			fw_error_free(err);
			return check_once(store, cache, cache_len, &all, &identity, ret_facts);
		}
		fw_error_free(err);
	}
}

/* A cache without a valid manifest has no facts to report. */
static void note_manifest(void *ctx, const struct fw_context_violation *violation)
{
	bool *has_manifest = ctx;

	if (violation->invariant == FW_CONTEXT_MANIFEST)
		*has_manifest = false;
}

fw_error *fw_context_inspect(struct fw_context_store *store, const char *cache,
			     size_t cache_len, const struct fw_context_run *run,
			     struct fw_context_facts *ret_facts)
{
	struct fw_context_cache *found = NULL;
	bool has_manifest = true;
	fw_error *err = fw_context_store_get(store, cache, cache_len, run, &found);
	fw_error *other;

	if (!err) {
		get_facts(found, true, ret_facts);
		fw_context_cache_unref(found);
		return NULL;
	}
	if (fw_error_code(err) != FW_CACHE_INVALID)
		return err;
	other = fw_context_verify(store, cache, cache_len, run, note_manifest, &has_manifest,
				  ret_facts);
	if (!other && !has_manifest)
		return err;
	fw_error_free(err);
	return other;
}

void fw_context_put_facts(struct fw_buf *out, const struct fw_context_facts *facts)
{
	FW_BUF(out, "{\"cache_version\":");
	fw_buf_json_str(out, facts->cache_version);
	FW_BUF(out, ",\"document_count\":");
	fw_buf_i64(out, (int64_t)facts->document_count);
	FW_BUF(out, ",\"total_bytes\":");
	fw_buf_i64(out, (int64_t)facts->total_bytes);
	fw_buf_str(out, facts->valid ? ",\"valid\":true}\n" : ",\"valid\":false}\n");
}

/* ---- list ---- */

struct listed {
	char *name;
	bool has_manifest;
};

struct listing {
	struct listed *items;
	size_t count;
	size_t room;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct listed *)a)->name, ((const struct listed *)b)->name);
}

static fw_error *add(struct listing *list, int root, const char *name)
{
	struct listed item = { 0 };
	struct stat st;
	int error;
	int dir;

	if (fstatat(root, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode))
		return NULL; /* removed meanwhile, or not a directory */
	dir = openat(root, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	error = errno;
	if (dir < 0)
		return error == ENOENT || error == ENOTDIR
			       ? NULL
			       : fw_context_system_error(FW_HERE, error, "cache");
	error = fstatat(dir, FW_CONTEXT_MANIFEST_FILE, &st, AT_SYMLINK_NOFOLLOW) ? errno : 0;
	(void)close(dir);
	if (error && error != ENOENT)
		return fw_context_system_error(FW_HERE, error, FW_CONTEXT_MANIFEST_FILE);
	item.has_manifest = !error && S_ISREG(st.st_mode);
	if (list->count == list->room) {
		size_t room = list->room ? 2 * list->room : 64;
		struct listed *more = fw__reallocate(list->items, room * sizeof *more);

		if (!more)
			return fw_raise_internal_out_of_memory();
		list->items = more;
		list->room = room;
	}
	item.name = fw_strdup(name);
	if (!item.name)
		return fw_raise_internal_out_of_memory();
	list->items[list->count++] = item;
	return NULL;
}

static fw_error *gather(DIR *dir, struct listing *list)
{
	for (;;) {
		int error;
		const char *name = fw_context_next_name(dir, &error);

		if (!name)
			return error ? fw_context_system_error(FW_HERE, error, "cache root")
				     : NULL;
		/* Temporary directories of builds begin with a dot. A name that is not
		 * UTF-8 cannot be sent in JSON. */
		if (name[0] == '.' || !fw_context_is_utf8(name, strlen(name)))
			continue;
		FW_TRY(add(list, dirfd(dir), name));
	}
}

fw_error *fw_context_list(const struct fw_context_store *store, fw_context_list_fn *on_cache,
			  void *ctx)
{
	const char *root = fw_context_store_root(store);
	struct listing list = { 0 };
	fw_error *err;
	DIR *dir;

	if (!root)
		return fw_raise_cache_missing();
	dir = opendir(root);
	if (!dir) {
		int error = errno;

		if (error == ENOENT || error == ENOTDIR)
			return fw_raise_cache_missing();
		return fw_context_system_error(FW_HERE, error, "cache root");
	}
	err = gather(dir, &list);
	(void)closedir(dir);
	if (list.count > 1)
		qsort(list.items, list.count, sizeof *list.items, by_name);
	for (size_t i = 0; i < list.count; i++) {
		if (!err)
			on_cache(ctx, list.items[i].name, list.items[i].has_manifest);
		fw__release(list.items[i].name);
	}
	fw__release(list.items);
	return err;
}

static void put_listed(void *ctx, const char *name, bool has_manifest)
{
	struct fw_buf *out = ctx;

	if (out->len && out->text[out->len - 1] == '}')
		FW_BUF(out, ",");
	FW_BUF(out, "{\"path\":");
	fw_buf_json_str(out, name);
	fw_buf_str(out, has_manifest ? ",\"has_manifest\":true}" : ",\"has_manifest\":false}");
}

fw_error *fw_context_put_list(const struct fw_context_store *store, struct fw_buf *out)
{
	FW_BUF(out, "{\"caches\":[");
	FW_TRY(fw_context_list(store, put_listed, out));
	FW_BUF(out, "]}\n");
	if (out->state == FW_BUF_NO_MEMORY)
		return fw_raise_internal_out_of_memory();
	return out->state == FW_BUF_OK ? NULL : fw_raise_tool_result_too_large(out->max);
}
