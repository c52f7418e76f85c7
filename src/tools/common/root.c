/*
 * root.c - see root.h.
 */
#include "tools/common/root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <faultwire/raise.h>

enum { LOOKUP_ATTEMPTS = 64 };

/* ---- looking up ---- */

static int open_resolved(int dir, const char *path, int flags, unsigned resolve)
{
	struct open_how how = {
		.flags = (unsigned)(flags | O_CLOEXEC | ((flags & O_PATH) ? 0 : O_NOCTTY)),
		.resolve = RESOLVE_BENEATH | resolve,
	};
	long fd = -1;

	if (fw_root_unchecked)
		return openat(dir, path, flags | O_CLOEXEC | O_NOCTTY);
	/* EAGAIN: a directory on the way was renamed during the lookup. */
	for (int i = 0; i < LOOKUP_ATTEMPTS; i++) {
		fd = syscall(SYS_openat2, dir, path, &how, sizeof how);
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	return (int)fd;
}

int fw_root_open_beneath(int dir, const char *path, int flags)
{
	return open_resolved(dir, path, flags, RESOLVE_NO_MAGICLINKS);
}

int fw_root_open_canonical(int dir, const char *path, int flags)
{
	return open_resolved(dir, path, flags, RESOLVE_NO_SYMLINKS);
}

bool fw_root_path_of(int fd, char ret_path[FW_PATH_SIZE])
{
	char link[64];
	ssize_t len;

	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	len = readlink(link, ret_path, FW_PATH_SIZE - 1);
	if (len <= 0 || len >= FW_PATH_SIZE - 1 || ret_path[0] != '/')
		return false;
	ret_path[len] = '\0';
	return true;
}

fw_error *fw_root_normalize(const struct fw_root *root, const char *path, size_t len,
			    char ret_path[FW_PATH_SIZE])
{
	char clean[FW_PATH_SIZE];

	FW_TRY(fw_path_check(path, len));
	if (fw_root_unchecked) {
		(void)snprintf(ret_path, FW_PATH_SIZE, "%s", path);
		return NULL;
	}
	fw_path_tidy(path, clean);
	if (path[0] == '/') {
		char absolute[FW_PATH_SIZE + 1] = "/";

		memcpy(absolute + 1, clean, strlen(clean) + 1);
		if (!fw_path_is_beneath(absolute, root->path))
			return fw_raise_path_outside_workspace(path);
		fw_path_tidy(absolute + strlen(root->path), clean);
	}
	if (path[len - 1] == '/' && clean[0])
		return fw_raise_path_invalid(path, "it ends in a slash");
	if (!clean[0])
		memcpy(clean, ".", 2);
	memcpy(ret_path, clean, strlen(clean) + 1);
	return NULL;
}

/* ---- opening the root ---- */

fw_error *fw_root_open(const char *path, size_t len, struct fw_root *ret_root)
{
	FW_TRY(fw_path_check(path, len));
	if (path[0] != '/')
		return fw_raise_path_invalid(path, "path is not absolute");
	return fw_root_open_any(path, ret_root);
}

/* Without the time where the file system does not keep it. */
static void identify(int fd, struct fw_root *root)
{
	struct statx st = { .stx_mask = 0 };

	(void)statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &st);
	(void)snprintf(root->identity, sizeof root->identity, "%s", root->path);
	if (st.stx_mask & STATX_BTIME)
		(void)snprintf(root->identity + strlen(root->path),
			       sizeof root->identity - strlen(root->path), "\n%lld.%09u",
			       (long long)st.stx_btime.tv_sec, st.stx_btime.tv_nsec);
}

/* Consumes the descriptor. */
static fw_error *take_root(int fd, struct fw_root *ret_root)
{
	struct fw_root root = { .hard_links = false };
	const char *fault = NULL;
	struct stat st;

	if (fstat(fd, &st) != 0 || !S_ISDIR(st.st_mode))
		fault = "workspace root is not a folder";
	else if (!fw_root_path_of(fd, root.path))
		fault = "workspace root cannot be looked up";
	if (fault) {
		(void)close(fd);
		return fw_raise_session_init_failed(fault);
	}
	root.fd = fd;
	root.dev = st.st_dev;
	root.ino = st.st_ino;
	identify(fd, &root);
	*ret_root = root;
	return NULL;
}

static fw_error *root_error(int error, const char *path)
{
	return error == ENOENT ? fw_raise_path_not_found(path)
			       : fw_path_errno(error, path, false);
}

fw_error *fw_root_open_any(const char *path, struct fw_root *ret_root)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	int error = errno;

	return fd < 0 ? root_error(error, path) : take_root(fd, ret_root);
}

fw_error *fw_root_open_in(const char *directory, const char *alias, const char *path,
			  size_t len, struct fw_root *ret_root)
{
	static const char outside[] =
		"workspace root is outside of the directory that this server serves";
	char absolute[FW_PATH_SIZE + 1] = "/";
	char rest[FW_PATH_SIZE];
	int error;
	int above;
	int fd;

	FW_TRY(fw_path_check(path, len));
	if (path[0] != '/')
		return fw_raise_path_invalid(path, "path is not absolute");
	fw_path_tidy(path, absolute + 1);
	if (fw_path_is_beneath(absolute, directory))
		fw_path_tidy(absolute + strlen(directory), rest);
	else if (alias && fw_path_is_beneath(absolute, alias))
		fw_path_tidy(absolute + strlen(alias), rest);
	else
		return fw_raise_session_init_failed(outside);
	above = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	error = errno;
	if (above < 0)
		return root_error(error, path);
	fd = fw_root_open_beneath(above, rest[0] ? rest : ".", O_PATH);
	error = errno;
	(void)close(above);
	if (fd < 0)
		return error == EXDEV ? fw_raise_session_init_failed(outside)
				      : root_error(error, path);
	return take_root(fd, ret_root);
}

void fw_root_close(struct fw_root *root)
{
	if (root->fd >= 0)
		(void)close(root->fd);
	root->fd = -1;
}

/* ---- directories ---- */

/* Creates one directory, whose parent exists, so that it is there after a crash. */
static fw_error *make_dir(void *ctx, const char *path)
{
	const struct fw_root *root = ctx;
	char parent[FW_PATH_SIZE];
	const char *name = fw_path_split(path, parent);
	int above = fw_root_open_beneath(root->fd, parent, O_RDONLY | O_DIRECTORY);
	int error = 0;

	if (above < 0)
		return NULL; /* opening the whole path will report it */
	if (mkdirat(above, name, 0777) == 0)
		(void)fsync(above);
	else if (errno != EEXIST)
		error = errno;
	(void)close(above);
	return error ? fw_path_errno(error, path, true) : NULL;
}

fw_error *fw_root_each_missing(const struct fw_root *root, const char *path,
			       fw_error *(*found)(void *ctx, const char *part), void *ctx)
{
	const char *end = path;

	do {
		char part[FW_PATH_SIZE];
		int fd;

		end = strchr(end + 1, '/');
		(void)snprintf(part, sizeof part, "%.*s",
			       (int)(end ? (size_t)(end - path) : strlen(path)), path);
		fd = fw_root_open_beneath(root->fd, part, O_PATH | O_DIRECTORY);
		if (fd >= 0)
			(void)close(fd);
		else
			FW_TRY(found(ctx, part));
	} while (end);
	return NULL;
}

fw_error *fw_root_open_dir(const struct fw_root *root, const char *path, bool make, int *ret_fd)
{
	int error;
	int fd;

	if (make)
		FW_TRY(fw_root_each_missing(root, path, make_dir, (void *)root));
	fd = fw_root_open_beneath(root->fd, path, O_RDONLY | O_DIRECTORY);
	error = errno;
	if (fd < 0)
		return error == ENOENT ? fw_raise_path_not_found(path)
				       : fw_path_errno(error, path, make);
	*ret_fd = fd;
	return NULL;
}
