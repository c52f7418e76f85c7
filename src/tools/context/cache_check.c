/*
 * cache_check.c - checks a cache against every rule, in a fixed order.
 *
 * Reading the documents is what takes time, so a caller that needs their contents (to
 * index or to count words) gets them in the same pass, through a callback.
 */
#include "tools/context/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "tools/context/rule.h"

/* ---- reporting ---- */

/* If the caller collects violations, reports this one and frees the error. */
static fw_error *settle(struct fw_context_check *check, fw_error *err)
{
	struct fw_context_violation violation;

	if (!err || !check->on_violation || !fw_context_violation_of(err, &violation))
		return err;
	check->has_violation = true;
	check->on_violation(check->violation_ctx, &violation);
	fw_error_free(err);
	return NULL;
}

/* ---- the two lists ---- */

static fw_error *check_manifest(struct fw_context_cache *cache)
{
	struct fw_context_bytes bytes = { 0 };
	enum fw_context_found found;
	fw_error *err = fw_context_read_file(
		cache->dir, FW_CONTEXT_MANIFEST_FILE, FW_CONTEXT_MANIFEST_FILE,
		FW_LIMIT_CONTEXT_LIST_BYTES, &bytes, &cache->manifest_identity, &found);

	if (!err && found != FW_CONTEXT_FOUND)
		err = fw_context_invalid(FW_CONTEXT_RULE_MANIFEST_MISSING, NULL);
	if (!err)
		err = fw_context_manifest_read(bytes.data, bytes.len, &cache->manifest);
	fw_context_bytes_clear(&bytes);
	return err;
}

static fw_error *check_index(struct fw_context_cache *cache)
{
	struct fw_context_bytes bytes = { 0 };
	enum fw_context_found found;
	fw_error *err = fw_context_read_file(cache->dir, FW_CONTEXT_INDEX_FILE,
					     FW_CONTEXT_INDEX_FILE, FW_LIMIT_CONTEXT_LIST_BYTES,
					     &bytes, &cache->index_identity, &found);

	if (!err && found != FW_CONTEXT_FOUND)
		err = fw_context_invalid(FW_CONTEXT_RULE_INDEX_MISSING, NULL);
	if (!err)
		err = fw_context_index_check(bytes.data, bytes.len, &cache->manifest);
	fw_context_bytes_clear(&bytes);
	return err;
}

/* ---- no other files ---- */

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Reports the files that are not in `listed`, which is sorted, by name. */
static fw_error *check_names(struct fw_context_check *check, DIR *dir,
			     const char *const *listed, size_t count)
{
	char **orphans = NULL;
	size_t orphan_count = 0;
	fw_error *err = NULL;

	for (;;) {
		int error;
		const char *name = fw_context_next_name(dir, &error);
		char **more;

		if (!name) {
			if (error)
				err = fw_context_system_error(FW_HERE, error,
							      FW_CONTEXT_DOCUMENTS);
			break;
		}
		if (count && bsearch(&name, listed, count, sizeof *listed, compare_names))
			continue;
		if (orphan_count == FW_LIMIT_CONTEXT_ORPHANS)
			break;
		more = fw__reallocate(orphans, (orphan_count + 1) * sizeof *orphans);
		if (more)
			orphans = more;
		if (!more || !(orphans[orphan_count] = fw_strdup(name))) {
			err = fw_raise_internal_out_of_memory();
			break;
		}
		orphan_count++;
	}
	if (orphan_count > 1)
		qsort(orphans, orphan_count, sizeof *orphans, compare_names);
	for (size_t i = 0; i < orphan_count; i++) {
		if (!err)
			err = settle(check,
				     fw_context_invalid(FW_CONTEXT_RULE_ORPHAN, orphans[i]));
		fw__release(orphans[i]);
	}
	fw__release(orphans);
	return err;
}

static fw_error *check_folder(struct fw_context_check *check, struct fw_context_cache *cache)
{
	size_t count = cache->manifest.count;
	const char **listed;
	DIR *dir;
	int fd;
	fw_error *err;

	FW_TRY(fw_context_open_folder(cache->dir, FW_CONTEXT_DOCUMENTS, FW_CONTEXT_DOCUMENTS,
				      &cache->documents));
	if (cache->documents < 0)
		return settle(check,
			      fw_context_invalid(FW_CONTEXT_RULE_DOCUMENTS_MISSING, NULL));
	(void)fw_context_identity_of(cache->documents, &cache->documents_identity);
	/* A separate descriptor, because readdir() moves the file position. */
	fd = openat(cache->documents, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		int error = errno;

		if (fd >= 0)
			(void)close(fd);
		return fw_context_system_error(FW_HERE, error, FW_CONTEXT_DOCUMENTS);
	}
	listed = fw__allocate((count + 1) * sizeof *listed);
	if (listed) {
		for (size_t i = 0; i < count; i++)
			listed[i] =
				cache->manifest.entries[i].file + FW_CONTEXT_FILE_NAME_OFFSET;
		qsort(listed, count, sizeof *listed, compare_names);
		err = check_names(check, dir, listed, count);
	} else {
		err = fw_raise_internal_out_of_memory();
	}
	(void)closedir(dir);
	fw__release(listed);
	return err;
}

/* ---- the documents ---- */

struct pass {
	struct fw_context_check *check;
	struct fw_context_cache *cache;
	struct fw_context_reader readers[FW_CREW_MAX];
	fw_error *
		*faults; /* per document, reported at the end; NULL: the first ends the pass */
	pthread_mutex_t lock;
	uint64_t done;
	uint64_t bytes;
};

static void report_progress(struct pass *pass, uint64_t bytes)
{
	const struct fw_context_run *run = &pass->check->run;

	(void)pthread_mutex_lock(&pass->lock);
	pass->done++;
	pass->bytes += bytes;
	if (run->progress)
		run->progress(run->ctx, pass->done, pass->cache->manifest.count, pass->bytes,
			      0);
	(void)pthread_mutex_unlock(&pass->lock);
}

static fw_error *check_document(void *ctx, unsigned thread, size_t item)
{
	struct pass *pass = ctx;
	struct fw_context_cache *cache = pass->cache;
	struct fw_context_check *check = pass->check;
	struct fw_context_document_facts *facts = &cache->facts[item];
	struct fw_context_document document;
	fw_error *err;

	if (check->run.is_cancelled && check->run.is_cancelled(check->run.ctx))
		return fw_raise_runtime_cancelled();
	err = fw_context_reader_open(&pass->readers[thread], cache, (uint32_t)item,
				     &facts->identity, &document);
	if (!err) {
		facts->tokens = (uint32_t)((document.content_len + 3) / 4);
		if (check->visit)
			err = check->visit(check->visit_ctx, thread, (uint32_t)item,
					   document.content, document.content_len,
					   &facts->words);
		fw_context_document_clear(&document);
	}
	report_progress(pass, facts->identity.size);
	if (err && pass->faults && fw_error_code(err) == FW_CACHE_INVALID) {
		pass->faults[item] = err;
		return NULL;
	}
	return err;
}

static fw_error *settle_faults(struct pass *pass, fw_error *err)
{
	for (size_t i = 0; pass->faults && i < pass->cache->manifest.count; i++) {
		if (err)
			fw_error_free(pass->faults[i]);
		else
			err = settle(pass->check, pass->faults[i]);
	}
	fw__release(pass->faults);
	return err;
}

static fw_error *check_documents(struct fw_context_check *check, struct fw_context_cache *cache)
{
	size_t count = cache->manifest.count;
	struct pass pass = { .check = check, .cache = cache };
	struct fw_crew loop = { check_document, &pass, count,
				fw_crew_size(check->run.threads) };
	fw_error *err = NULL;

	if (count == 0)
		return NULL;
	cache->facts = fw__allocate(count * sizeof *cache->facts);
	if (check->on_violation)
		pass.faults = fw__allocate(count * sizeof(fw_error *));
	if (!cache->facts || (check->on_violation && !pass.faults)) {
		fw__release(pass.faults);
		return fw_raise_internal_out_of_memory();
	}
	memset(cache->facts, 0, count * sizeof *cache->facts);
	if (pass.faults)
		memset(pass.faults, 0, count * sizeof(fw_error *));
	for (unsigned i = 0; !err && i < loop.threads; i++)
		err = fw_context_reader_init(&pass.readers[i]);
	(void)pthread_mutex_init(&pass.lock, NULL);
	if (!err)
		err = fw_crew_run(&loop);
	(void)pthread_mutex_destroy(&pass.lock);
	for (unsigned i = 0; i < loop.threads; i++)
		fw_context_reader_clear(&pass.readers[i]);
	for (size_t i = 0; i < count; i++)
		cache->total_bytes += cache->facts[i].identity.size;
	return settle_faults(&pass, err);
}

/* ---- the whole ---- */

/* inotify sees every change only on file systems that no other machine writes to. */
static bool is_local(int fd)
{
	static const long kinds[] = { 0xef53,     0x58465342, 0x9123683e, 0x01021994,
				      0xf2f52010, 0x2fc12fc1, 0x794c7630, 0x858458f6 };
	struct statfs fs;

	if (fstatfs(fd, &fs) != 0)
		return false;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if ((long)fs.f_type == kinds[i])
			return true;
	return false;
}

/* Called before anything is read, so that no change is missed. */
static void watch(struct fw_context_cache *cache)
{
	static const uint32_t events = IN_MODIFY | IN_ATTRIB | IN_CREATE | IN_DELETE |
				       IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF |
				       IN_MOVE_SELF;
	char paths[2][64];

	(void)snprintf(paths[0], sizeof paths[0], "/proc/self/fd/%d", cache->dir);
	(void)snprintf(paths[1], sizeof paths[1], "/proc/self/fd/%d/" FW_CONTEXT_DOCUMENTS,
		       cache->dir);
	if (!is_local(cache->dir))
		return;
	cache->watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	for (int i = 0; i < 2 && cache->watch >= 0; i++) {
		if (inotify_add_watch(cache->watch, paths[i], events | IN_ONLYDIR) < 0) {
			(void)close(cache->watch);
			cache->watch = -1;
		}
	}
}

fw_error *fw_context_cache_check(int dir, struct fw_context_check *check,
				 struct fw_context_cache **ret_cache)
{
	struct fw_context_cache *cache = fw_context_cache_new(dir);
	fw_error *err;

	if (!cache)
		return fw_raise_internal_out_of_memory();
	(void)fw_context_identity_of(dir, &cache->dir_identity);
	if (check->keep_watch)
		watch(cache);
	err = settle(check, check_manifest(cache));
	/* Without the list of documents nothing else can be checked. */
	if (!err && cache->manifest.is_listed) {
		err = settle(check, check_index(cache));
		if (!err)
			err = check_folder(check, cache);
		if (!err)
			err = check_documents(check, cache);
	}
	if (err)
		fw_context_cache_unref(cache);
	else
		*ret_cache = cache;
	return err;
}
