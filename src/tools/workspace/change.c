/*
 * change.c - see change.h.
 *
 * The new and the old file are exchanged in one step (RENAME_EXCHANGE). The other file
 * is kept in .faultwire/, where commands that look at the workspace do not find it.
 * After the exchange the displaced file is checked: if it is not the one that was
 * read, another process has written it meanwhile, and the exchange is undone.
 */
#include "tools/workspace/change.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/mem.h"
#include "tools/common/file.h"

#include <faultwire/raise.h>

/* Is the displaced file the one whose content was read? */
static bool is_unchanged(const struct fw_ws_change *w)
{
	const struct stat *then = &w->place->stat;
	struct stat now;

	return fstatat(w->aside, w->temp, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	       now.st_ino == then->st_ino && now.st_dev == then->st_dev &&
	       now.st_size == then->st_size && now.st_mtim.tv_sec == then->st_mtim.tv_sec &&
	       now.st_mtim.tv_nsec == then->st_mtim.tv_nsec;
}

static fw_error *raise_changed(const struct fw_ws_change *w)
{
	char expected[FW_SHA256_TEXT];

	fw_sha256_text(w->old_text, w->old_len, expected);
	return fw_raise_file_hash_mismatch(w->place->path, expected, "another, just written");
}

/* ---- the steps of a change ---- */

/* Creates the new file with the mode and owner of the old one. */
static fw_error *create_new(struct fw_ws_change *w)
{
	struct fw_place there = *w->place;
	fw_error *err;

	there.dir = w->aside;
	err = fw_ws_file_create(&there, w->temp, w->like, w->text, w->len);
	w->has_temp = !err;
	return err;
}

fw_error *fw_ws_change_stage(struct fw_ws_change *w, int journal)
{
	w->has_temp = w->is_applied = w->is_exchanged = w->is_old_aside = false;
	/* A new file gets group and default rights from the directory it is created in. */
	w->aside = w->place->exists ? journal : w->place->dir;
	return w->text ? create_new(w) : NULL;
}

static int exchange_files(const struct fw_ws_change *w)
{
	const struct fw_place *place = w->place;

	if (!w->text) /* delete */
		return fw_ws_file_move(place->dir, place->name, w->aside, w->temp);
	if (!place->exists)
		return fw_ws_file_move(w->aside, w->temp, place->dir, place->name);
	return fw_ws_file_exchange(w->aside, w->temp, place->dir, place->name);
}

/* On another file system, or if the sandbox of this kernel allows no moves between
 * directories, the two files are kept in the same directory. */
static fw_error *use_same_directory(struct fw_ws_change *w)
{
	if (w->has_temp)
		(void)unlinkat(w->aside, w->temp, 0);
	w->has_temp = false;
	w->aside = w->place->dir;
	return w->text ? create_new(w) : NULL;
}

fw_error *fw_ws_change_apply(struct fw_ws_change *w)
{
	int error = exchange_files(w);

	if (error == EXDEV && w->aside != w->place->dir) {
		FW_TRY(use_same_directory(w));
		error = exchange_files(w);
	}
	FW_WS_STEP("applied");
	if (error == EEXIST)
		return fw_raise_file_already_exists(w->place->path);
	if (error)
		return fw_path_errno(error, w->place->path, true);
	w->is_applied = true;
	w->has_temp = !w->text || w->place->exists;
	w->is_exchanged = w->place->exists;
	if (w->is_exchanged && !is_unchanged(w))
		return raise_changed(w);
	w->is_old_aside = w->is_exchanged;
	if (fsync(w->place->dir) != 0 || (w->aside != w->place->dir && fsync(w->aside) != 0))
		return fw_path_errno(errno, w->place->path, true);
	FW_WS_STEP("synced");
	return NULL;
}

void fw_ws_change_settle(struct fw_ws_change *w)
{
	if (w->has_temp)
		(void)unlinkat(w->aside, w->temp, 0);
	w->has_temp = false;
}

static bool is_put(const struct fw_place *place, const char *text, size_t len)
{
	fw_error *err = fw_ws_file_put(place, text, len);

	fw_error_free(err);
	return !err;
}

/* The preflight command may have removed the old file; its content is still in
 * memory. */
static int write_old_again(const struct fw_ws_change *w)
{
	return is_put(w->place, w->old_text, w->old_len) ? 0 : ENOENT;
}

/* The preflight command may also have changed the old file. */
static bool has_old_content(const struct fw_ws_change *w)
{
	const struct fw_place *place = w->place;
	int fd =
		openat(place->dir, place->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char *text = NULL;
	size_t len = 0;
	bool is_same = false;
	fw_error *err;

	if (fd < 0)
		return false;
	err = fw_file_read_all(fd, place->path, w->old_len, &text, &len);
	(void)close(fd);
	if (!err)
		is_same = len == w->old_len && memcmp(text, w->old_text, len) == 0;
	fw_error_free(err);
	fw__release(text);
	return is_same;
}

static int restore(const struct fw_ws_change *w)
{
	const struct fw_place *place = w->place;
	int error;

	if (!w->is_exchanged) {
		error = unlinkat(place->dir, place->name, 0) == 0 ? 0 : errno;
		return error == ENOENT ? 0 : error;
	}
	if (!w->text)
		error = fw_ws_file_move(w->aside, w->temp, place->dir, place->name);
	else
		error = fw_ws_file_exchange(w->aside, w->temp, place->dir, place->name);
	if (error == ENOENT || error == EEXIST)
		return write_old_again(w);
	return error || !w->is_old_aside || has_old_content(w) ? error : write_old_again(w);
}

/* ---- a directory that is not the one that was written into ---- */

static int open_directory(const struct fw_root *root, const struct fw_ws_change *w)
{
	char parent[FW_PATH_SIZE];

	(void)fw_path_split(w->place->path, parent);
	return fw_root_open_canonical(root->fd, parent, O_RDONLY | O_DIRECTORY);
}

static bool is_same_directory(int a, int b)
{
	struct stat st_a, st_b;

	return fstat(a, &st_a) == 0 && fstat(b, &st_b) == 0 && st_a.st_ino == st_b.st_ino &&
	       st_a.st_dev == st_b.st_dev;
}

static void make_directory(const struct fw_root *root, const struct fw_ws_change *w)
{
	char parent[FW_PATH_SIZE];
	int fd;
	fw_error *err;

	(void)fw_path_split(w->place->path, parent);
	err = fw_root_open_dir(root, parent, true, &fd);
	if (!err)
		(void)close(fd);
	fw_error_free(err);
}

/* Restores the state of the file in the directory `dir`, which has taken the place of the
 * other one. */
static int restore_in(int dir, const struct fw_ws_change *w)
{
	struct fw_place place = *w->place;

	place.dir = dir;
	if (w->is_exchanged)
		return is_put(&place, w->old_text, w->old_len) ? 0 : EIO;
	return unlinkat(dir, place.name, 0) == 0 || errno == ENOENT ? 0 : errno;
}

static int restore_in_place(const struct fw_root *root, const struct fw_ws_change *w)
{
	int dir = open_directory(root, w);
	int error;

	if (dir < 0 && errno == ENOENT && !w->is_exchanged)
		return 0; /* neither the directory nor the new file exists */
	if (dir < 0 && errno == ENOENT) {
		make_directory(root, w);
		dir = open_directory(root, w);
	}
	if (dir < 0)
		return errno;
	error = is_same_directory(dir, w->place->dir) ? restore(w) : restore_in(dir, w);
	(void)close(dir);
	return error;
}

bool fw_ws_change_undo(const struct fw_root *root, struct fw_ws_change *w)
{
	if (w->is_applied && restore_in_place(root, w) != 0)
		return false;
	/* The preflight command may have replaced the new file by a directory. */
	if (w->has_temp && unlinkat(w->aside, w->temp, 0) != 0)
		(void)unlinkat(w->aside, w->temp, AT_REMOVEDIR);
	w->is_applied = w->has_temp = false;
	if (w->place->dir >= 0)
		(void)fsync(w->place->dir);
	return true;
}
