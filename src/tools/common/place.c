/*
 * place.c - see place.h.
 *
 * Where a directory really is comes from its open descriptor, through
 * /proc/self/fd.
 */
#include "tools/common/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/common/file.h"

#include <faultwire/raise.h>

enum { LINKS_MAX = 8 };

void fw_place_clear(struct fw_place *place)
{
	if (place->dir >= 0)
		(void)close(place->dir);
	place->dir = -1;
}

/* The path of a descriptor, relative to the root. */
static fw_error *relative(const struct fw_root *root, int fd, const char *path,
			  char ret_path[FW_PATH_SIZE])
{
	char here[FW_PATH_SIZE];
	char above[FW_PATH_SIZE];

	/* The root may have been renamed: look up where it is now. */
	if (!fw_root_path_of(fd, here) || !fw_root_path_of(root->fd, above))
		return fw_raise_file_write_failed(path, "its place cannot be looked up");
	if (!fw_path_is_beneath(here, above) && !fw_root_unchecked)
		return fw_raise_path_outside_workspace(path);
	fw_path_tidy(fw_path_is_beneath(here, above) ? here + strlen(above) : here, ret_path);
	return NULL;
}

/* Finds the directory of `path`, following at most `depth` links. */
static fw_error *find(const struct fw_root *root, const char *path, int depth,
		      struct fw_place *place)
{
	char parent[FW_PATH_SIZE];
	char real[FW_PATH_SIZE];
	const char *name = fw_path_split(path, parent);
	fw_error *err;
	int error;
	int fd;

	if (strcmp(path, ".") == 0)
		return fw_raise_file_read_failed(path, "it is a folder");
	place->dir = fw_root_open_beneath(root->fd, parent, O_RDONLY | O_DIRECTORY);
	error = errno;
	if (place->dir < 0)
		return error == ENOENT ? fw_raise_path_not_found(path)
				       : fw_path_errno(error, path, true);
	FW_TRY(relative(root, place->dir, path, real));
	if (strlen(real) + strlen(name) + 2 > FW_PATH_SIZE)
		return fw_raise_path_invalid("(too long to show)",
					     "it is longer than 4095 bytes");
	(void)snprintf(place->path, sizeof place->path, "%s%s", real, real[0] ? "/" : "");
	(void)snprintf(place->path + strlen(place->path),
		       sizeof place->path - strlen(place->path), "%s", name);
	(void)snprintf(place->name, sizeof place->name, "%s", name);
	place->exists = false;
	if (fstatat(place->dir, name, &place->stat, AT_SYMLINK_NOFOLLOW) != 0) {
		error = errno;
		return error == ENOENT ? NULL : fw_path_errno(error, path, true);
	}
	if (!S_ISLNK(place->stat.st_mode)) {
		place->exists = true;
		return fw_file_check(root, &place->stat, path);
	}
	/* Start again with the link's target. */
	if (!depth)
		return fw_raise_path_invalid(path, "too many symbolic links");
	fd = fw_root_open_beneath(root->fd, path, O_PATH);
	error = errno;
	if (fd < 0)
		return error == ENOENT ? fw_raise_path_invalid(path, "it is a symbolic link to "
								     "nothing")
				       : fw_path_errno(error, path, true);
	err = relative(root, fd, path, real);
	(void)close(fd);
	FW_TRY(err);
	fw_place_clear(place);
	return find(root, real[0] ? real : ".", depth - 1, place);
}

fw_error *fw_place_find(const struct fw_root *root, const char *path,
			struct fw_place *ret_place)
{
	struct fw_place place = FW_PLACE_INIT;
	fw_error *err = find(root, path, LINKS_MAX, &place);

	if (err) {
		fw_place_clear(&place);
		return err;
	}
	*ret_place = place;
	return NULL;
}

/* Opens the nearest directory above `path` that exists; `ret_parent` is its path. */
static fw_error *open_above(const struct fw_root *root, const char *path,
			    char ret_parent[FW_PATH_SIZE], int *ret_fd)
{
	char here[FW_PATH_SIZE];

	(void)snprintf(here, sizeof here, "%s", path);
	for (;;) {
		int error;

		(void)fw_path_split(here, ret_parent);
		*ret_fd = fw_root_open_beneath(root->fd, ret_parent, O_PATH | O_DIRECTORY);
		error = errno;
		if (*ret_fd >= 0)
			return NULL;
		if (error != ENOENT)
			return fw_path_errno(error, path, true);
		(void)snprintf(here, sizeof here, "%s", ret_parent);
	}
}

static fw_error *compose(const struct fw_root *root, const char *path, struct fw_place *place)
{
	char parent[FW_PATH_SIZE];
	char real[FW_PATH_SIZE];
	const char *rest = path;
	fw_error *err;
	int fd;

	FW_TRY(open_above(root, path, parent, &fd));
	err = relative(root, fd, path, real);
	(void)close(fd);
	FW_TRY(err);
	if (strcmp(parent, ".") != 0)
		rest += strlen(parent) + 1;
	if (strlen(real) + strlen(rest) + 2 > FW_PATH_SIZE)
		return fw_raise_path_invalid("(too long to show)",
					     "it is longer than 4095 bytes");
	(void)snprintf(place->path, sizeof place->path, "%s%s", real, real[0] ? "/" : "");
	(void)snprintf(place->path + strlen(place->path),
		       sizeof place->path - strlen(place->path), "%s", rest);
	(void)snprintf(place->name, sizeof place->name, "%s", fw_path_split(path, parent));
	return NULL;
}

fw_error *fw_place_find_new(const struct fw_root *root, const char *path,
			    struct fw_place *ret_place)
{
	struct fw_place place = FW_PLACE_INIT;
	fw_error *err = fw_place_find(root, path, ret_place);

	if (!err || fw_error_code(err) != FW_PATH_NOT_FOUND)
		return err;
	fw_error_free(err);
	FW_TRY(compose(root, path, &place));
	*ret_place = place;
	return NULL;
}
