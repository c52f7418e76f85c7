/*
 * file_ops.c - see file_ops.h.
 */
#include "tools/workspace/file_ops.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/id.h"

/* ---- creating ---- */

static fw_error *write_all(int fd, const char *text, size_t len, const char *path)
{
	while (len) {
		ssize_t put = write(fd, text, len);

		if (put < 0) {
			int error = errno;

			if (error == EINTR)
				continue;
			return fw_path_errno(error, path, true);
		}
		text += put;
		len -= (size_t)put;
	}
	return NULL;
}

/* Sets mode and owner of the file that is replaced. */
static fw_error *copy_owner(int fd, const struct fw_place *place)
{
	struct stat st;

	if (!place->exists)
		return NULL;
	if (fstat(fd, &st) != 0)
		return fw_path_errno(errno, place->path, true);
	if ((st.st_uid != place->stat.st_uid || st.st_gid != place->stat.st_gid) &&
	    fchown(fd, place->stat.st_uid, place->stat.st_gid) != 0)
		return fw_path_errno(errno, place->path, true);
	if (fchmod(fd, place->stat.st_mode & 07777) != 0)
		return fw_path_errno(errno, place->path, true);
	return NULL;
}

fw_error *fw_ws_file_create(const struct fw_place *place, const char *temp,
			    const struct stat *like, const char *text, size_t len)
{
	fw_error *err;
	int error;
	int fd = openat(place->dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			place->exists ? 0600
			: like        ? like->st_mode & 0777
				      : 0666);

	error = errno;
	if (fd < 0)
		return fw_path_errno(error, place->path, true);
	err = write_all(fd, text, len, place->path);
	if (!err)
		err = copy_owner(fd, place);
	FW_WS_STEP("written");
	if (!err && fsync(fd) != 0)
		err = fw_path_errno(errno, place->path, true);
	/* Some file systems report a full disk only here. */
	if (close(fd) != 0 && !err)
		err = fw_path_errno(errno, place->path, true);
	if (err)
		(void)unlinkat(place->dir, temp, 0);
	return err;
}

fw_error *fw_ws_file_put(const struct fw_place *place, const char *text, size_t len)
{
	char random[FW_WS_ID_SIZE];
	char temp[40];
	int error;

	fw_random_hex(random, sizeof random);
	(void)snprintf(temp, sizeof temp, FW_WS_TEMP_FORMAT, random);
	FW_TRY(fw_ws_file_create(place, temp, NULL, text, len));
	if (renameat(place->dir, temp, place->dir, place->name) != 0) {
		error = errno;
		(void)unlinkat(place->dir, temp, 0);
		return fw_path_errno(error, place->path, true);
	}
	if (fsync(place->dir) != 0)
		return fw_path_errno(errno, place->path, true);
	return NULL;
}

/* ---- exchanging and moving ---- */

static bool is_unsupported(int error)
{
	return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP;
}

int fw_ws_file_exchange(int dir_a, const char *a, int dir_b, const char *b)
{
	char third[48];
	int error;

	if (renameat2(dir_a, a, dir_b, b, RENAME_EXCHANGE) == 0)
		return 0;
	error = errno;
	if (!is_unsupported(error))
		return error;
	/* `b` always exists; `a` is missing for a moment. */
	(void)snprintf(third, sizeof third, FW_WS_THIRD_FORMAT, a);
	if (linkat(dir_b, b, dir_a, third, 0) != 0)
		return errno;
	if (renameat(dir_a, a, dir_b, b) != 0) {
		error = errno;
		(void)unlinkat(dir_a, third, 0);
		return error;
	}
	return renameat(dir_a, third, dir_a, a) == 0 ? 0 : errno;
}

int fw_ws_file_move(int from_dir, const char *from, int to_dir, const char *to)
{
	if (renameat2(from_dir, from, to_dir, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (!is_unsupported(errno))
		return errno;
	if (linkat(from_dir, from, to_dir, to, 0) != 0)
		return errno;
	(void)unlinkat(from_dir, from, 0);
	return 0;
}
