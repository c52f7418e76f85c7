/*
 * files.c - the only place that opens files and directories of a cache.
 *
 * Every file is opened relative to a directory that is already open, by a name
 * without a slash, and links are not followed. So no name in a call or in a manifest
 * can lead outside. O_NONBLOCK keeps a FIFO from blocking the call.
 */
#include "tools/context/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <yyjson.h>

#include "base/mem.h"

#include <faultwire/raise.h>
#include <faultwire/raw.h>

/* ---- errors of the system ---- */

fw_error *fw_context_system_error(fw_src at, int errnum, const char *what)
{
	fw_error *err = fw_error_from_errno(at, errnum, what);
	const char *name = fw_errno_name(errnum);

	if (strcmp(fw_error_row(err)->context_v0, "io_error") == 0)
		return err;
	/* EINVAL, ENAMETOOLONG and others map to errors of the caller's input, which
	 * they are not here. */
	fw_error_free(err);
	err = fw_raise_io_failed_at(at);
	fw_error_add_cause(err, "system call failed", name ? name : "errno", "errno");
	return err;
}

/* ---- identity ---- */

bool fw_context_identity_same(const struct fw_context_identity *a,
			      const struct fw_context_identity *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->modified_ns == b->modified_ns && a->changed_ns == b->changed_ns;
}

static int64_t nanoseconds(struct timespec time)
{
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void identify(const struct stat *st, struct fw_context_identity *ret_identity)
{
	ret_identity->device = (uint64_t)st->st_dev;
	ret_identity->inode = (uint64_t)st->st_ino;
	ret_identity->size = (uint64_t)st->st_size;
	ret_identity->modified_ns = nanoseconds(st->st_mtim);
	ret_identity->changed_ns = nanoseconds(st->st_ctim);
}

int fw_context_identity_of(int fd, struct fw_context_identity *ret_identity)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return errno;
	identify(&st, ret_identity);
	return 0;
}

int fw_context_identity_at(int dir, const char *name, struct fw_context_identity *ret_identity)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno;
	identify(&st, ret_identity);
	return 0;
}

/* ---- bytes ---- */

void fw_context_bytes_clear(struct fw_context_bytes *bytes)
{
	fw__release(bytes->data);
	*bytes = (struct fw_context_bytes){ 0 };
}

fw_error *fw_context_bytes_reserve(struct fw_context_bytes *bytes, size_t cap)
{
	char *data;

	if (cap <= bytes->cap)
		return NULL;
	if (cap < bytes->cap + bytes->cap / 2)
		cap = bytes->cap + bytes->cap / 2;
	data = fw__reallocate(bytes->data, cap);
	if (!data)
		return fw_raise_internal_out_of_memory();
	bytes->data = data;
	bytes->cap = cap;
	return NULL;
}

/* Reads to the end, even if the file has grown since fstat(). */
static fw_error *read_all(int fd, const char *what, size_t expected, size_t limit,
			  struct fw_context_bytes *bytes)
{
	bytes->len = 0;
	FW_TRY(fw_context_bytes_reserve(bytes, expected + 1 + YYJSON_PADDING_SIZE));
	for (;;) {
		size_t room = bytes->cap - YYJSON_PADDING_SIZE - bytes->len;
		ssize_t got;

		if (room == 0) {
			FW_TRY(fw_context_bytes_reserve(bytes, bytes->cap + 1));
			continue;
		}
		got = read(fd, bytes->data + bytes->len, room);
		if (got < 0) {
			int error = errno;

			if (error == EINTR)
				continue;
			return fw_context_system_error(FW_HERE, error, what);
		}
		if (got == 0)
			break;
		bytes->len += (size_t)got;
		if (bytes->len > limit)
			return fw_raise_file_too_large(what, limit);
		/* There was room for more, and the file had as much as it should. */
		if (bytes->len == expected && (size_t)got < room)
			break;
	}
	memset(bytes->data + bytes->len, 0, YYJSON_PADDING_SIZE);
	return NULL;
}

fw_error *fw_context_read_file(int dir, const char *name, const char *what, size_t limit,
			       struct fw_context_bytes *bytes,
			       struct fw_context_identity *ret_identity,
			       enum fw_context_found *ret_found)
{
	struct stat st;
	fw_error *err = NULL;
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	int error = errno;

	*ret_found = FW_CONTEXT_NOT_A_FILE;
	if (fd < 0) {
		if (error == ENOENT)
			*ret_found = FW_CONTEXT_ABSENT;
		/* ELOOP: a link; ENXIO, ENODEV: a socket, a device without a driver. */
		else if (error != ELOOP && error != ENXIO && error != ENODEV)
			return fw_context_system_error(FW_HERE, error, what);
		return NULL;
	}
	if (fstat(fd, &st) != 0) {
		error = errno;
		err = fw_context_system_error(FW_HERE, error, what);
	} else if (S_ISREG(st.st_mode)) {
		*ret_found = FW_CONTEXT_FOUND;
		if ((uint64_t)st.st_size > limit)
			err = fw_raise_file_too_large(what, limit);
		else
			err = read_all(fd, what, (size_t)st.st_size, limit, bytes);
		if (ret_identity)
			identify(&st, ret_identity);
	}
	(void)close(fd);
	return err;
}

/* ---- directories ---- */

const char *fw_context_next_name(DIR *dir, int *ret_error)
{
	struct dirent *entry;

	do {
		errno = 0;
		/* Each stream is used by one thread only. */
		/* cppcheck-suppress readdirCalled */
		entry = readdir(dir);
		*ret_error = errno;
	} while (entry &&
		 (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
	return entry ? entry->d_name : NULL;
}

/* Cache names are names of directories directly below the root. Those that begin
 * with a dot are temporary directories of builds. */
static bool is_cache_name(const char *name, size_t len)
{
	return len > 0 && len <= 255 && name[0] != '.' && !memchr(name, '/', len) &&
	       !memchr(name, '\\', len);
}

static fw_error *open_directory(int dir, const char *name, int flags, const char *what,
				int *ret_fd)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
	int error = errno;

	if (fd < 0) {
		if (error == ENOENT || error == ENOTDIR || error == ELOOP ||
		    error == ENAMETOOLONG)
			return fw_raise_cache_missing();
		return fw_context_system_error(FW_HERE, error, what);
	}
	*ret_fd = fd;
	return NULL;
}

fw_error *fw_context_open_cache(const char *root, const char *name, size_t len, int *ret_fd)
{
	fw_error *err;
	char *copy;
	int dir = -1;

	if (!name || len == 0 || memchr(name, '\0', len) || len >= PATH_MAX)
		return fw_raise_cache_missing();
	if (root && !is_cache_name(name, len))
		return fw_raise_cache_missing();
	copy = fw__allocate(len + 1);
	if (!copy)
		return fw_raise_internal_out_of_memory();
	memcpy(copy, name, len);
	copy[len] = '\0';
	if (!root) {
		err = open_directory(AT_FDCWD, copy, 0, "cache", ret_fd);
	} else {
		err = open_directory(AT_FDCWD, root, 0, "cache root", &dir);
		if (!err) {
			err = open_directory(dir, copy, O_NOFOLLOW, "cache", ret_fd);
			(void)close(dir);
		}
	}
	fw__release(copy);
	return err;
}

bool fw_context_is_replaced(const char *root, const char *name, size_t len,
			    const struct fw_context_identity *was)
{
	struct fw_context_identity now = { 0 };
	bool is_another;
	int dir = -1;
	fw_error *err = fw_context_open_cache(root, name, len, &dir);

	if (err) {
		fw_error_free(err);
		return false;
	}
	is_another = fw_context_identity_of(dir, &now) == 0 &&
		     (now.device != was->device || now.inode != was->inode);
	(void)close(dir);
	return is_another;
}

fw_error *fw_context_open_folder(int dir, const char *name, const char *what, int *ret_fd)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int error = errno;

	if (fd < 0 && error != ENOENT && error != ENOTDIR && error != ELOOP)
		return fw_context_system_error(FW_HERE, error, what);
	*ret_fd = fd;
	return NULL;
}
