/*
 * indexer_walk.c - the files of a repository, and which of them an index has as they are.
 *
 * Each directory is watched before it is read, so a change is either seen by the walk or
 * reported afterwards. A file with several names can be changed through a name that is not
 * watched: it is always a candidate.
 */
#include "tools/code/indexer_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/mem.h"
#include "tools/code/walk.h"

/* A change within this time of the walk may leave the times of a file as they are. */
static const int64_t racy_ns = 100 * 1000 * 1000;

void fw_indexer_list_clear(struct fw_indexer_list *list)
{
	fw_code_paths_clear(&list->paths);
	fw__release(list->files);
	*list = (struct fw_indexer_list){ .files = NULL };
}

/* ---- walking ---- */

struct walking {
	struct fw_indexer *indexer;
	struct fw_indexer_list *list;
	int64_t now_ns;
};

static struct fw_trigram_source *add(struct fw_indexer_list *list)
{
	if (list->count == list->room) {
		size_t room = list->room ? 2 * list->room : 1024;
		struct fw_trigram_source *more =
			fw__reallocate(list->files, room * sizeof *more);

		if (!more)
			return NULL;
		list->files = more;
		list->room = room;
	}
	return &list->files[list->count++];
}

static int64_t nanoseconds(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

static bool file(void *ctx, int dir, const char *path, size_t len, const char *name)
{
	struct walking *w = ctx;
	struct fw_trigram_source *source;
	const char *kept;
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
		return true;
	kept = fw_code_paths_add(&w->list->paths, path, len);
	source = kept ? add(w->list) : NULL;
	if (!source) {
		w->list->has_failed = true;
		return false;
	}
	*source = (struct fw_trigram_source){
		.path = kept,
		.path_len = (uint32_t)len,
		.old = FW_TRIGRAM_NEW,
		.facts = { .size = (uint64_t)st.st_size,
			   .modified_ns = nanoseconds(&st.st_mtim),
			   .changed_ns = nanoseconds(&st.st_ctim),
			   .inode = st.st_ino,
			   .flags = st.st_nlink > 1 ? FW_TRIGRAM_ALWAYS : 0 },
	};
	if (source->facts.changed_ns > w->now_ns - racy_ns)
		source->facts.changed_ns = 0;
	w->list->bytes += source->facts.size;
	return true;
}

bool fw_indexer__watch(struct fw_indexer *indexer, int dir, const char *path)
{
	char below[FW_PATH_SIZE + 16];
	struct stat st;

	/* One that is gone by now was in a directory that is watched, and one that cannot be
	 * read has nothing to show. */
	if (!fw_watch_add(indexer->watch, indexer->repo->path, path))
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES;
	if (fstatat(dir, ".git", &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode))
		return true;
	(void)snprintf(below, sizeof below, "%s.git/", path);
	if (!fw_watch_add(indexer->watch, indexer->repo->path, below))
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES;
	(void)snprintf(below, sizeof below, "%s.git/info/", path);
	(void)fw_watch_add(indexer->watch, indexer->repo->path, below);
	return true;
}

static void directory(void *ctx, int dir, const char *path)
{
	struct walking *w = ctx;
	bool is_watched;

	(void)pthread_mutex_lock(&w->indexer->lock);
	is_watched = w->indexer->watch && fw_indexer__watch(w->indexer, dir, path);
	(void)pthread_mutex_unlock(&w->indexer->lock);
	if (!is_watched)
		w->list->is_unwatched = true;
}

static bool is_stopped(void *ctx)
{
	const struct walking *w = ctx;

	return w->list->has_failed || w->list->is_unwatched;
}

bool fw_indexer__walk(struct fw_indexer *indexer, struct fw_indexer_list *list)
{
	struct walking walking = { .indexer = indexer, .list = list };
	const struct fw_walk walk = {
		.file = file, .directory = directory, .is_stopped = is_stopped, .ctx = &walking
	};
	struct timespec now;
	bool is_complete = false;
	fw_error *err;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	walking.now_ns = nanoseconds(&now);
	err = fw_walk_run(&walk, indexer->place.root.fd, ".", ".", &is_complete);
	is_complete = is_complete && !err;
	fw_error_free(err);
	return is_complete && !list->has_failed && !list->is_unwatched;
}

/* ---- comparing ---- */

static bool is_same(const struct fw_trigram_file *a, const struct fw_trigram_file *b)
{
	return a->size == b->size && a->modified_ns == b->modified_ns &&
	       a->changed_ns == b->changed_ns && a->inode == b->inode && a->changed_ns;
}

/* An event says that it changed, even if its times do not. */
static bool has_changed(const struct fw_indexer *indexer, const char *path, uint64_t since)
{
	const struct fw_change *change = fw_changes_find(&indexer->changes, path);

	return change && change->event <= since && !change->is_gone;
}

void fw_indexer__compare(struct fw_indexer *indexer, struct fw_indexer_list *list,
			 uint64_t since)
{
	const struct fw_trigram *index = &indexer->index;
	size_t at = 0;

	list->changed = 0;
	list->gone = 0;
	for (size_t i = 0; i < list->count; i++) {
		struct fw_trigram_source *source = &list->files[i];
		int order = 1;

		while (at < index->count &&
		       (order = strcmp(fw_trigram_path(index, at), source->path)) < 0) {
			list->gone++;
			at++;
		}
		source->old = FW_TRIGRAM_NEW;
		if (at < index->count && order == 0) {
			const struct fw_trigram_file *known = &index->files[at];

			if (is_same(known, &source->facts) &&
			    !has_changed(indexer, source->path, since)) {
				source->old = (uint32_t)at;
				source->facts.flags = known->flags;
			}
			at++;
		}
		list->changed += source->old == FW_TRIGRAM_NEW;
	}
	list->gone += index->count - at;
}

/* ---- changes after the beginning of the walk ---- */

struct settling {
	const struct fw_indexer_list *list;
	uint64_t since;
	bool has_gone;
};

static int by_path(const void *path, const void *source)
{
	return strcmp(path, ((const struct fw_trigram_source *)source)->path);
}

static bool is_settled(void *ctx, struct fw_change *change)
{
	struct settling *s = ctx;
	const struct fw_indexer_list *list = s->list;

	if (change->event <= s->since)
		return true;
	if (list->count &&
	    bsearch(change->path, list->files, list->count, sizeof *list->files, by_path)) {
		change->is_checked = true;
		change->is_gone = false;
		return false;
	}
	/* It was made after the walk came by, or it is ignored by now. */
	change->is_gone = true;
	s->has_gone = s->has_gone || change->is_checked;
	return !change->is_checked;
}

void fw_indexer__settle(struct fw_indexer *indexer, const struct fw_indexer_list *list,
			uint64_t since)
{
	struct settling settling = { .list = list, .since = since };

	fw_changes_drop(&indexer->changes, is_settled, &settling);
	if (settling.has_gone)
		fw_indexer__recheck(indexer);
}
