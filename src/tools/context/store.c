/*
 * store.c - caches that stay open.
 *
 * A cache must not change after it was built. It is checked completely on first use;
 * after that each call only verifies that it is unchanged:
 *
 * - the name leads to the same directory (each call opens it again, so that a
 *   revoked permission or a replaced cache is noticed);
 * - manifest.json, index.json and the directory of documents have the same identity;
 * - the kernel has reported no change in it (inotify). If inotify is not available
 *   (network file system, out of descriptors), the identity of every file is
 *   compared instead.
 *
 * A cache that differs in any way is checked and indexed again. Each document that
 * goes into a result is read and checked against its hash in any case.
 */
#include "tools/context/store.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "tools/context/choose.h"

#include <faultwire/raise.h>

struct slot {
	struct slot *next;    /* the most recently used first */
	pthread_mutex_t lock; /* held while the cache is checked or loaded */
	unsigned users;
	struct fw_context_cache *cache;
	size_t len;
	char name[];
};

struct fw_context_store {
	pthread_mutex_t lock; /* protects the list and the user counts */
	struct slot *slots;
	char *root;
};

/* ---- lifecycle ---- */

fw_error *fw_context_store_new(const char *root, struct fw_context_store **ret_store)
{
	struct fw_context_store *store = fw__allocate(sizeof *store);
	size_t len = root ? strlen(root) : 0;

	if (!store)
		return fw_raise_internal_out_of_memory();
	*store = (struct fw_context_store){ 0 };
	if (root) {
		store->root = fw__allocate(len + 1);
		if (!store->root) {
			fw__release(store);
			return fw_raise_internal_out_of_memory();
		}
		memcpy(store->root, root, len + 1);
	}
	(void)pthread_mutex_init(&store->lock, NULL);
	*ret_store = store;
	return NULL;
}

static void slot_free(struct slot *slot)
{
	fw_context_cache_unref(slot->cache);
	(void)pthread_mutex_destroy(&slot->lock);
	fw__release(slot);
}

void fw_context_store_free(struct fw_context_store *store)
{
	if (!store)
		return;
	while (store->slots) {
		struct slot *next = store->slots->next;

		slot_free(store->slots);
		store->slots = next;
	}
	(void)pthread_mutex_destroy(&store->lock);
	fw__release(store->root);
	fw__release(store);
}

const char *fw_context_store_root(const struct fw_context_store *store)
{
	return store->root;
}

/* ---- slots ---- */

/* Evicts the least recently used slot without users, if there are too many. */
static void make_room(struct fw_context_store *store)
{
	struct slot **oldest = NULL;
	size_t count = 0;

	for (struct slot **at = &store->slots; *at; at = &(*at)->next) {
		count++;
		if ((*at)->users == 0)
			oldest = at;
	}
	if (count >= FW_LIMIT_CONTEXT_CACHES && oldest) {
		struct slot *slot = *oldest;

		*oldest = slot->next;
		slot_free(slot);
	}
}

static struct slot *slot_new(const char *name, size_t len)
{
	struct slot *slot = fw__allocate(sizeof *slot + len);

	if (!slot)
		return NULL;
	*slot = (struct slot){ .len = len };
	memcpy(slot->name, name, len);
	(void)pthread_mutex_init(&slot->lock, NULL);
	return slot;
}

static struct slot *slot_take(struct fw_context_store *store, const char *name, size_t len)
{
	struct slot **at = &store->slots;
	struct slot *slot;

	(void)pthread_mutex_lock(&store->lock);
	while (*at && ((*at)->len != len || memcmp((*at)->name, name, len) != 0))
		at = &(*at)->next;
	slot = *at;
	if (slot) {
		*at = slot->next;
	} else {
		make_room(store);
		slot = slot_new(name, len);
	}
	if (slot) {
		slot->next = store->slots;
		store->slots = slot;
		slot->users++;
	}
	(void)pthread_mutex_unlock(&store->lock);
	return slot;
}

/* Releases a slot; one without a cache is removed. */
static void slot_drop(struct fw_context_store *store, struct slot *slot)
{
	(void)pthread_mutex_lock(&store->lock);
	if (--slot->users == 0 && !slot->cache) {
		struct slot **at = &store->slots;

		while (*at != slot)
			at = &(*at)->next;
		*at = slot->next;
		slot_free(slot);
	}
	(void)pthread_mutex_unlock(&store->lock);
}

/* ---- changes ---- */

static bool same_file(int dir, const char *name, const struct fw_context_identity *known)
{
	struct fw_context_identity now;

	return fw_context_identity_at(dir, name, &now) == 0 &&
	       fw_context_identity_same(&now, known);
}

/* Has inotify reported nothing? */
static bool is_quiet(const struct fw_context_cache *cache)
{
	char events[4096];
	ssize_t got = read(cache->watch, events, sizeof events);
	int error = errno;

	return got < 0 && (error == EAGAIN || error == EWOULDBLOCK);
}

/* `dir` is the directory that the name leads to now. */
static bool is_same(const struct fw_context_cache *cache, int dir)
{
	struct fw_context_identity now;

	if (fw_context_identity_of(dir, &now) != 0 ||
	    !fw_context_identity_same(&now, &cache->dir_identity) ||
	    !same_file(dir, FW_CONTEXT_MANIFEST_FILE, &cache->manifest_identity) ||
	    !same_file(dir, FW_CONTEXT_INDEX_FILE, &cache->index_identity) ||
	    !same_file(dir, FW_CONTEXT_DOCUMENTS, &cache->documents_identity))
		return false;
	if (cache->watch >= 0)
		return is_quiet(cache);
	for (size_t i = 0; i < cache->manifest.count; i++)
		if (!same_file(cache->documents,
			       cache->manifest.entries[i].file + FW_CONTEXT_FILE_NAME_OFFSET,
			       &cache->facts[i].identity))
			return false;
	return true;
}

/* ---- the index ---- */

struct indexing {
	struct fw_context_terms *parts[FW_CREW_MAX];
	struct fw_context_words words[FW_CREW_MAX];
};

static fw_error *index_document(void *ctx, unsigned thread, uint32_t document,
				const char *content, size_t len, uint32_t *ret_words)
{
	struct indexing *indexing = ctx;

	if (!indexing->parts[thread])
		indexing->parts[thread] = fw_context_terms_new();
	fw_context_words_start(&indexing->words[thread], content, len);
	if (!indexing->parts[thread] ||
	    !fw_context_terms_add(indexing->parts[thread], document, &indexing->words[thread],
				  ret_words))
		return fw_raise_internal_out_of_memory();
	return NULL;
}

/* Checks and indexes. Consumes `dir`. */
static fw_error *load(int dir, const struct fw_context_run *run,
		      struct fw_context_cache **ret_cache)
{
	struct indexing indexing = { 0 };
	struct fw_context_check check = { .visit = index_document,
					  .visit_ctx = &indexing,
					  .keep_watch = true };
	struct fw_context_cache *cache = NULL;
	fw_error *err;

	if (run)
		check.run = *run;
	err = fw_context_cache_check(dir, &check, &cache);
	for (unsigned i = 0; i < FW_CREW_MAX; i++) {
		if (cache && indexing.parts[i])
			cache->parts[cache->part_count++] = indexing.parts[i];
		else
			fw_context_terms_free(indexing.parts[i]);
		fw_context_words_clear(&indexing.words[i]);
	}
	if (!err && !fw_context_fit_tree_build(cache)) {
		fw_context_cache_unref(cache);
		err = fw_raise_internal_out_of_memory();
	}
	if (!err)
		*ret_cache = cache;
	return err;
}

static fw_error *refresh(struct fw_context_store *store, struct slot *slot,
			 const struct fw_context_run *run)
{
	struct fw_context_identity identity;
	fw_error *err;
	int dir;

	for (unsigned try = 1;; try++) {
		err = fw_context_open_cache(store->root, slot->name, slot->len, &dir);
		if (!err && slot->cache && is_same(slot->cache, dir)) {
			(void)close(dir);
			return NULL;
		}
		fw_context_cache_unref(slot->cache);
		slot->cache = NULL;
		if (err)
			return err;
		(void)fw_context_identity_of(dir, &identity);
		err = load(dir, run, &slot->cache);
		if (fw_error_code(err) != FW_CACHE_INVALID || try == FW_CONTEXT_READ_ATTEMPTS ||
		    !fw_context_is_replaced(store->root, slot->name, slot->len, &identity))
			return err;
		fw_error_free(err);
	}
}

fw_error *fw_context_store_get(struct fw_context_store *store, const char *name, size_t len,
			       const struct fw_context_run *run,
			       struct fw_context_cache **ret_cache)
{
	struct slot *slot;
	fw_error *err;

	/* No cache has a name of that length; do not allocate a slot for it. */
	if (!name || len >= FW_LIMIT_CONTEXT_NAME_BYTES)
		return fw_raise_cache_missing();
	slot = slot_take(store, name, len);
	if (!slot)
		return fw_raise_internal_out_of_memory();
	(void)pthread_mutex_lock(&slot->lock);
	err = refresh(store, slot, run);
	if (!err) {
		*ret_cache = slot->cache;
		atomic_fetch_add(&slot->cache->refs, 1);
	}
	(void)pthread_mutex_unlock(&slot->lock);
	slot_drop(store, slot);
	return err;
}
