/*
 * file.c - see file.h.
 */
#include "tools/common/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/utf8.h"

#include <faultwire/raise.h>

/* Which is missing: the file or its directory? */
static fw_error *missing(const struct fw_root *root, const char *path)
{
	char parent[FW_PATH_SIZE];
	int fd;

	(void)fw_path_split(path, parent);
	fd = fw_root_open_beneath(root->fd, parent, O_PATH | O_DIRECTORY);
	if (fd < 0)
		return fw_raise_path_not_found(path);
	(void)close(fd);
	return fw_raise_file_not_found(path);
}

static fw_error *open_error(const struct fw_root *root, int error, const char *path)
{
	return error == ENOENT ? missing(root, path) : fw_path_errno(error, path, false);
}

size_t fw_file_mark(const char *text, size_t len)
{
	return len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

fw_error *fw_file_not_text(const char *path, const char *text, size_t len, uint64_t offset)
{
	char reason[96];
	size_t at = 0;
	const char *fault = fw_utf8_fault(text, len, &at);

	(void)snprintf(reason, sizeof(reason), "%s at position %" PRIu64,
		       fault ? fault : "invalid data", offset + at);
	return fw_raise_file_unsupported_encoding(path, "utf-8", reason);
}

fw_error *fw_file_check(const struct fw_root *root, const struct stat *st, const char *path)
{
	const char *what = NULL;

	switch (st->st_mode & S_IFMT) {
	case S_IFREG: break;
	case S_IFDIR: what = "it is a folder"; break;
	case S_IFIFO: what = "it is a pipe"; break;
	case S_IFSOCK: what = "it is a socket"; break;
	default: what = "it is a device"; break;
	}
	if (what)
		return fw_raise_file_read_failed(path, what);
	/* Another name of the same file may be outside of the root. */
	if (st->st_nlink > 1 && !root->hard_links && !fw_root_unchecked) {
		fw_error *err = fw_raise_path_outside_workspace(path);

		fw_error_add_cause(err, "the file has other names (hard links)", NULL, NULL);
		fw_error_set_hint(err, "Copy the file, so that it has one name, or have the "
				       "server started with --hard-links.");
		return err;
	}
	return NULL;
}

/* Opens it, and closes it again if it is not a kind of file that may be read. */
static fw_error *open_kind(const struct fw_root *root, const char *path, int flags, int *ret_fd,
			   struct stat *ret_stat)
{
	int fd = fw_root_open_beneath(root->fd, path, flags);
	int error = errno;
	fw_error *err;

	if (fd < 0)
		return open_error(root, error, path);
	if (fstat(fd, ret_stat) != 0)
		err = fw_path_errno(errno, path, false);
	else
		err = fw_file_check(root, ret_stat, path);
	if (err)
		(void)close(fd);
	else
		*ret_fd = fd;
	return err;
}

fw_error *fw_file_open(const struct fw_root *root, const char *path, int *ret_fd,
		       struct stat *ret_stat)
{
	struct stat st;
	int fd;

	/* Opening a device or a FIFO can have effects, so O_PATH comes first. */
	FW_TRY(open_kind(root, path, O_PATH, &fd, &st));
	(void)close(fd);
	/* It may have been replaced since, so it is checked again. */
	FW_TRY(open_kind(root, path, O_RDONLY | O_NONBLOCK, &fd, &st));
	*ret_fd = fd;
	*ret_stat = st;
	return NULL;
}

fw_error *fw_file_read_all(int fd, const char *path, size_t limit, char **ret_text,
			   size_t *ret_len)
{
	struct stat st;
	size_t cap;
	size_t len = 0;
	char *text;

	if (fstat(fd, &st) != 0)
		return fw_path_errno(errno, path, false);
	if ((uint64_t)st.st_size > limit)
		return fw_raise_file_too_large(path, limit);
	cap = (size_t)st.st_size + 1;
	text = fw__allocate(cap + 1);
	if (!text)
		return fw_raise_internal_out_of_memory();
	for (;;) {
		ssize_t got;

		if (len == cap) { /* the file has grown */
			size_t wider = cap + cap / 2 + 4096;
			char *more = fw__reallocate(text, wider + 1);

			if (!more) {
				fw__release(text);
				return fw_raise_internal_out_of_memory();
			}
			text = more;
			cap = wider;
		}
		got = read(fd, text + len, cap - len);
		if (got < 0) {
			int error = errno;

			if (error == EINTR)
				continue;
			fw__release(text);
			return fw_path_errno(error, path, false);
		}
		if (got == 0)
			break;
		len += (size_t)got;
		if (len > limit) {
			fw__release(text);
			return fw_raise_file_too_large(path, limit);
		}
	}
	text[len] = '\0';
	*ret_text = text;
	*ret_len = len;
	return NULL;
}

fw_error *fw_file_read(const struct fw_root *root, const char *path, size_t limit,
		       char **ret_text, size_t *ret_len)
{
	struct stat st;
	fw_error *err;
	int fd;

	FW_TRY(fw_file_open(root, path, &fd, &st));
	err = fw_file_read_all(fd, path, limit, ret_text, ret_len);
	(void)close(fd);
	return err;
}
