/*
 * walk.c - see walk.h.
 *
 * It reads directories with getdents64(), which also returns the type of an entry, so
 * that a walk of 100,000 files needs no stat(). Names are stored in one block of memory
 * per directory.
 */
#include "tools/code/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/code/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "tools/code/ignore.h"
#include "tools/common/root.h"

#include <faultwire/raise.h>

enum { READ_BYTES = 32 * 1024, ASK_ENTRIES = 1024 };

struct entry {
	size_t at; /* offset of the name in the text */
	bool is_directory;
};

/* The contents of a directory. */
struct listing {
	char *text;
	size_t len;
	size_t text_room;
	struct entry *entries;
	size_t count;
	size_t room;
	unsigned has; /* bits of ignore.h */
};

struct walker {
	const struct fw_walk *walk;
	struct fw_ignore ignore;
	char path[FW_PATH_SIZE];
	size_t left; /* entries that may still be read */
	bool is_stopped;
	bool is_complete;
	_Alignas(8) char buffer[READ_BYTES];
};

/* ---- reading a directory ---- */

static bool listing_add(struct listing *listing, const char *name, size_t len,
			bool is_directory)
{
	/* With one byte for a slash: a directory is sorted as if its name ended with one. */
	if (listing->text_room - listing->len < len + 2) {
		size_t room = 2 * listing->text_room + len + 512;
		char *more = fw__reallocate(listing->text, room);

		if (!more)
			return false;
		listing->text = more;
		listing->text_room = room;
	}
	if (listing->count == listing->room) {
		size_t room = listing->room ? 2 * listing->room : 32;
		struct entry *more = fw__reallocate(listing->entries, room * sizeof *more);

		if (!more)
			return false;
		listing->entries = more;
		listing->room = room;
	}
	listing->entries[listing->count++] = (struct entry){ listing->len, is_directory };
	memcpy(listing->text + listing->len, name, len);
	listing->len += len;
	if (is_directory)
		listing->text[listing->len++] = '/';
	listing->text[listing->len++] = '\0';
	return true;
}

static void listing_clear(struct listing *listing)
{
	fw__release(listing->text);
	fw__release(listing->entries);
}

static int by_name(const void *a, const void *b, void *text)
{
	const struct entry *left = a, *right = b;

	return strcmp((const char *)text + left->at, (const char *)text + right->at);
}

/* Clients cannot use names that fw_path_check() refuses, so they are left out. */
static bool is_usable(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
			return false;
	return fw_utf8_valid(name, len) == len;
}

/* Some file systems do not report the type. */
static unsigned char type_of(int dir, const struct dirent64 *item)
{
	struct stat st;

	if (item->d_type != DT_UNKNOWN)
		return item->d_type;
	if (fstatat(dir, item->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return DT_UNKNOWN;
	return S_ISDIR(st.st_mode) ? DT_DIR : S_ISREG(st.st_mode) ? DT_REG : DT_LNK;
}

/* False: out of memory. */
static bool take(struct walker *w, int dir, const struct dirent64 *item,
		 struct listing *listing)
{
	const char *name = item->d_name;
	size_t len = strlen(name);
	unsigned char type;

	if (name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')))
		return true;
	listing->has |= fw_ignore_bit(name);
	type = type_of(dir, item);
	if ((type != DT_DIR && type != DT_REG) || fw_ignore_is_excluded(name, type == DT_DIR) ||
	    !is_usable(name, len))
		return true;
	w->left--;
	return listing_add(listing, name, len, type == DT_DIR);
}

static bool is_stopped(struct walker *w)
{
	if (!w->is_stopped && w->walk->is_stopped && w->walk->is_stopped(w->walk->ctx))
		w->is_stopped = true;
	return w->is_stopped;
}

static fw_error *read_directory(struct walker *w, int dir, struct listing *listing)
{
	for (;;) {
		long got = syscall(SYS_getdents64, dir, w->buffer, sizeof w->buffer);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <=
		    0) /* the end, or a directory that cannot be read, which is skipped */
			break;
		for (long at = 0; at < got;) {
			const struct dirent64 *item = (const void *)(w->buffer + at);

			at += item->d_reclen;
			if (!w->left) {
				w->is_complete = false;
				w->is_stopped = true;
				break;
			}
			if (!take(w, dir, item, listing))
				return fw_raise_internal_out_of_memory();
		}
		/* A directory of a million files takes seconds. */
		if (is_stopped(w))
			break;
	}
	if (listing->count && !w->is_stopped)
		qsort_r(listing->entries, listing->count, sizeof *listing->entries, by_name,
			listing->text);
	return NULL;
}

/* ---- walking ---- */

static fw_error *walk_into(struct walker *w, int dir, size_t path_len, unsigned depth);

static fw_error *enter(struct walker *w, int dir, const char *name, size_t len, unsigned depth)
{
	fw_error *err;
	int fd;

	if (depth == FW_LIMIT_CODE_DEPTH) {
		w->is_complete = false;
		return NULL;
	}
	w->path[len] = '\0';
	if (w->walk->enters && !w->walk->enters(w->walk->ctx, w->path))
		return NULL;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	memcpy(w->path + len, "/", 2);
	err = walk_into(w, fd, len + 1, depth + 1);
	(void)close(fd);
	return err;
}

static fw_error *visit(struct walker *w, int dir, char *name, size_t path_len,
		       bool is_directory, unsigned depth)
{
	size_t len = strlen(name) - is_directory;

	if (path_len + len + 2 > sizeof w->path)
		return NULL;
	name[len] = '\0'; /* without the slash */
	memcpy(w->path + path_len, name, len + 1);
	if (fw_ignore_is_ignored(&w->ignore, w->path, path_len + len, path_len, is_directory))
		return NULL;
	if (is_directory)
		return enter(w, dir, name, path_len + len, depth);
	if (!w->walk->file(w->walk->ctx, dir, w->path, path_len + len, name))
		w->is_stopped = true;
	return NULL;
}

static fw_error *walk_into(struct walker *w, int dir, size_t path_len, unsigned depth)
{
	struct listing listing = { .text = NULL };
	fw_error *err;

	if (is_stopped(w))
		return NULL;
	if (w->walk->directory)
		w->walk->directory(w->walk->ctx, dir, w->path);
	err = read_directory(w, dir, &listing);
	if (!err)
		err = fw_ignore_push(&w->ignore, dir, path_len, listing.has);
	for (size_t i = 0; !err && i < listing.count && !w->is_stopped; i++) {
		if (i % ASK_ENTRIES == ASK_ENTRIES - 1 && is_stopped(w))
			break;
		err = visit(w, dir, listing.text + listing.entries[i].at, path_len,
			    listing.entries[i].is_directory, depth);
	}
	if (!err)
		fw_ignore_pop(&w->ignore);
	listing_clear(&listing);
	return err;
}

/* ---- the start ---- */

static fw_error *open_directory(int root, const char *path, const char *shown, int *ret_fd)
{
	int fd = fw_root_open_beneath(root, path, O_RDONLY | O_DIRECTORY);
	int error = errno;

	if (fd >= 0) {
		*ret_fd = fd;
		return NULL;
	}
	if (error != ENOENT && error != ENOTDIR)
		return fw_path_errno(error, shown, false);
	/* The path does not exist, or it or a parent is not a directory. Find out which. */
	fd = fw_root_open_beneath(root, path, O_PATH);
	if (fd < 0)
		return fw_raise_file_not_found(shown);
	(void)close(fd);
	return fw_raise_file_operation_failed(shown, "path is not a folder");
}

/* Reads the rules of the directories above `start`. */
static fw_error *push_above(struct walker *w, int root, const char *start)
{
	size_t len = 0;

	if (strcmp(start, ".") == 0)
		return NULL;
	for (;;) {
		char above[FW_PATH_SIZE] = ".";
		fw_error *err;
		int fd;

		if (len)
			memcpy(above, start, len - 1);
		above[len ? len - 1 : 1] = '\0';
		fd = fw_root_open_beneath(root, above, O_RDONLY | O_DIRECTORY);
		err = fd >= 0 ? fw_ignore_push(&w->ignore, fd, len, FW_IGNORE_HAS_ALL) : NULL;
		if (fd >= 0)
			(void)close(fd);
		FW_TRY(err);
		len += strcspn(start + len, "/");
		if (!start[len])
			return NULL;
		len++;
	}
}

fw_error *fw_walk_run(const struct fw_walk *walk, int root, const char *start,
		      const char *shown, bool *ret_is_complete)
{
	struct walker *w = fw__allocate(sizeof *w);
	bool is_root = strcmp(start, ".") == 0;
	size_t len = is_root ? 0 : strlen(start) + 1;
	fw_error *err;
	int fd = -1;

	if (!w)
		return fw_raise_internal_out_of_memory();
	w->walk = walk;
	w->ignore = (struct fw_ignore){ .count = 0 };
	w->left = FW_LIMIT_CODE_WALK;
	w->is_stopped = false;
	w->is_complete = true;
	w->path[0] = '\0';
	err = open_directory(root, start, shown, &fd);
	if (!err)
		err = push_above(w, root, start);
	if (!err && len + 1 < sizeof w->path) {
		if (!is_root) {
			memcpy(w->path, start, len - 1);
			memcpy(w->path + len - 1, "/", 2);
		}
		err = walk_into(w, fd, len, 1);
	}
	if (fd >= 0)
		(void)close(fd);
	*ret_is_complete = w->is_complete;
	fw_ignore_clear(&w->ignore);
	fw__release(w);
	return err;
}
