/*
 * tree.c - see tree.h.
 */
#include "tools/common/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "tools/common/path.h"

#include <faultwire/raise.h>

/* ---- the names of a directory ---- */

struct names {
	char **list;
	size_t count;
	size_t room;
};

static void names_clear(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		fw__release(names->list[i]);
	fw__release(names->list);
}

static bool names_add(struct names *names, const char *name)
{
	size_t size = strlen(name) + 1;
	char *copy;

	if (names->count == names->room) {
		size_t room = names->room ? 2 * names->room : 32;
		char **more = fw__reallocate(names->list, room * sizeof *more);

		if (!more)
			return false;
		names->list = more;
		names->room = room;
	}
	copy = fw__allocate(size);
	if (!copy)
		return false;
	memcpy(copy, name, size);
	names->list[names->count++] = copy;
	return true;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Reads at most `limit` names, sorted. */
static fw_error *names_read(int dir, size_t limit, struct names *names, bool *is_complete)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = copy >= 0 ? fdopendir(copy) : NULL;
	struct dirent *item;
	bool has_memory = true;

	if (!stream && copy >= 0)
		(void)close(copy);
	if (!stream)
		return NULL;
	/* cppcheck-suppress readdirCalled ; the stream is used by one thread only */
	while (has_memory && (item = readdir(stream))) {
		if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0)
			continue;
		if (names->count == limit) {
			*is_complete = false;
			break;
		}
		has_memory = names_add(names, item->d_name);
	}
	(void)closedir(stream);
	if (!has_memory)
		return fw_raise_internal_out_of_memory();
	if (names->count)
		qsort(names->list, names->count, sizeof *names->list, by_name);
	return NULL;
}

/* ---- walking ---- */

struct walker {
	const struct fw_tree_walk *walk;
	char path[FW_PATH_SIZE];
	size_t left; /* visits */
	bool is_stopped;
	bool is_complete;
};

static fw_error *walk_into(struct walker *w, int dir, size_t path_len, unsigned depth);

static fw_error *visit(struct walker *w, int dir, const char *name, size_t path_len,
		       unsigned depth)
{
	struct fw_tree_entry entry = { .dir = dir, .name = name, .path = w->path };
	size_t len = strlen(name);
	enum fw_tree_step step;
	fw_error *err;
	int fd;

	if (path_len + len + 2 > sizeof w->path ||
	    fstatat(dir, name, &entry.stat, AT_SYMLINK_NOFOLLOW) != 0)
		return NULL;
	if (!w->left) {
		w->is_complete = false;
		w->is_stopped = true;
		return NULL;
	}
	w->left--;
	memcpy(w->path + path_len, name, len + 1);
	step = w->walk->visit(w->walk->ctx, &entry);
	w->is_stopped = step == FW_TREE_STOP;
	if (step != FW_TREE_CONTINUE || !S_ISDIR(entry.stat.st_mode))
		return NULL;
	if (depth == FW_TREE_DEPTH) {
		w->is_complete = false;
		return NULL;
	}
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	memcpy(w->path + path_len + len, "/", 2);
	err = walk_into(w, fd, path_len + len + 1, depth + 1);
	(void)close(fd);
	w->path[path_len + len] = '\0';
	if (!err && w->walk->leave && !w->is_stopped)
		w->walk->leave(w->walk->ctx, &entry);
	return err;
}

static fw_error *walk_into(struct walker *w, int dir, size_t path_len, unsigned depth)
{
	struct names names = { .list = NULL };
	fw_error *err = names_read(dir, w->left + 1, &names, &w->is_complete);

	for (size_t i = 0; !err && i < names.count && !w->is_stopped; i++)
		err = visit(w, dir, names.list[i], path_len, depth);
	names_clear(&names);
	return err;
}

fw_error *fw_tree_walk(const struct fw_tree_walk *walk, int dir, const char *prefix,
		       bool *ret_is_complete)
{
	struct walker w = { .walk = walk, .left = walk->limit, .is_complete = true };
	fw_error *err;

	(void)snprintf(w.path, sizeof w.path, "%s%s", prefix, prefix[0] ? "/" : "");
	err = walk_into(&w, dir, strlen(w.path), 1);
	*ret_is_complete = w.is_complete;
	return err;
}

/* ---- removing and measuring ---- */

static enum fw_tree_step remove_file(void *ctx, const struct fw_tree_entry *entry)
{
	(void)ctx;
	if (!S_ISDIR(entry->stat.st_mode))
		(void)unlinkat(entry->dir, entry->name, 0);
	return FW_TREE_CONTINUE;
}

static void remove_directory(void *ctx, const struct fw_tree_entry *entry)
{
	(void)ctx;
	(void)unlinkat(entry->dir, entry->name, AT_REMOVEDIR);
}

void fw_tree_clear(int dir, size_t limit)
{
	const struct fw_tree_walk walk = { .visit = remove_file,
					   .leave = remove_directory,
					   .limit = limit };
	bool is_complete;

	fw_error_free(fw_tree_walk(&walk, dir, "", &is_complete));
}

struct measure {
	size_t files;
	uint64_t bytes;
	uint64_t most_bytes;
};

static enum fw_tree_step add_size(void *ctx, const struct fw_tree_entry *entry)
{
	struct measure *measure = ctx;

	measure->files++;
	measure->bytes += (uint64_t)entry->stat.st_blocks * 512;
	return measure->bytes > measure->most_bytes ? FW_TREE_STOP : FW_TREE_CONTINUE;
}

bool fw_tree_exceeds(int dir, size_t files, uint64_t bytes)
{
	struct measure measure = { .most_bytes = bytes };
	const struct fw_tree_walk walk = { .visit = add_size,
					   .ctx = &measure,
					   .limit = files + 1 };
	bool is_complete = true;
	fw_error *err = fw_tree_walk(&walk, dir, "", &is_complete);

	fw_error_free(err);
	return err || !is_complete || measure.files > files || measure.bytes > bytes;
}
