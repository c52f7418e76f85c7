/*
 * paths.c - see paths.h.
 *
 * A write goes to the directory that really holds the name: where links lead
 * elsewhere within the workspace, scope and protection are judged by where the
 * bytes would end up, not by how the caller spelt it. That place is learnt from
 * the open descriptor, through /proc/self/fd.
 */
#include "tools/workspace/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/utf8.h"

#include <faultwire/raise.h>
#include <faultwire/raw.h>

enum { RACES = 64 };

#ifndef FW_WS_TEST
enum { fw_ws_paths_unchecked = 0 };
#endif

/* ---- what the kernel said ------------------------------------------------- */

fw_error *fw_ws_errno(int error, const char *path, bool writing)
{
	switch (error) {
	case EXDEV: return fw_raise_path_outside_workspace(path);
	case ENOENT: return fw_raise_file_not_found(path);
	case ENOTDIR: return fw_raise_path_not_found(path);
	case ELOOP: return fw_raise_path_invalid(path, "too many symbolic links");
	case ENAMETOOLONG: return fw_raise_path_invalid(path, "a name in it is too long");
	case EINVAL:
	case EILSEQ: return fw_raise_path_invalid(path, "the file system does not take it");
	case EACCES:
	case EPERM:
	case ENOSPC:
	case EDQUOT:
	case EMFILE:
	case ENFILE:
	case EEXIST:
	case ENOMEM: return fw_error_from_errno(FW_HERE, error, path);
	default: break;
	}
	if (writing) {
		fw_error *cause = fw_error_from_errno(FW_HERE, error, path);
		char reason[128];

		(void)snprintf(reason, sizeof reason, "%s",
			       error == EROFS   ? "file system is read-only"
			       : error == EFBIG ? "file is too large"
						: "the storage reported a fault");
		return fw_error_caused_by(fw_raise_file_write_failed(path, reason), cause);
	}
	return fw_error_caused_by(
		fw_raise_file_read_failed(path, "the storage reported a fault"),
		fw_error_from_errno(FW_HERE, error, path));
}

static int open_beneath(int dir, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = {
		.flags = (unsigned)(flags | O_CLOEXEC | ((flags & O_PATH) ? 0 : O_NOCTTY)),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve,
	};
	long fd = -1;

	if (fw_ws_paths_unchecked)
		return openat(dir, path, flags | O_CLOEXEC | O_NOCTTY);
	/* EAGAIN: something on the way was renamed while it was looked at. */
	for (int i = 0; i < RACES; i++) {
		fd = syscall(SYS_openat2, dir, path, &how, sizeof how);
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	return (int)fd;
}

/* ---- what the caller wrote ------------------------------------------------- */

/* A text that could be a path at all. `path` ends in NUL. */
static fw_error *check_text(const char *path, size_t len)
{
	size_t start = 0;

	if (!len)
		return fw_raise_path_invalid("\"\"", "it is empty");
	if (memchr(path, '\0', len))
		return fw_raise_path_invalid(path, "it holds a NUL");
	if (len >= FW_WS_PATH_SIZE)
		return fw_raise_path_invalid("(too long to show)",
					     "it is longer than 4095 bytes");
	if (fw_utf8_valid(path, len) != len)
		return fw_raise_path_invalid("(not text)", "it is not UTF-8");
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)path[i] < 0x20 || path[i] == 0x7f)
			return fw_raise_path_invalid("(not shown)",
						     "it holds a control character");
	/* A backslash is an ordinary letter here, but not to who wrote "..\". */
	for (size_t i = 0; i <= len; i++) {
		if (i < len && path[i] != '/' && path[i] != '\\')
			continue;
		if (i - start == 2 && path[start] == '.' && path[start + 1] == '.' &&
		    !fw_ws_paths_unchecked)
			return fw_raise_path_traversal_blocked(path);
		start = i + 1;
	}
	for (const char *at = path; *at;) {
		size_t name = strcspn(at, "/");

		if (name >= FW_WS_NAME_SIZE)
			return fw_raise_path_invalid("(too long to show)",
						     "a name in it is longer than 255 bytes");
		at += name + (at[name] == '/');
	}
	return NULL;
}

/* Without "." and empty components; "" is the root. */
static void tidy(const char *path, char *to)
{
	char *end = to;

	while (*path) {
		size_t name = strcspn(path, "/");

		if (name && !(name == 1 && *path == '.')) {
			if (end != to)
				*end++ = '/';
			memcpy(end, path, name);
			end += name;
		}
		path += name + (path[name] == '/');
	}
	*end = '\0';
}

bool fw_ws_is_beneath(const char *path, const char *above)
{
	size_t len = strlen(above);

	if (len == 1 && above[0] == '/')
		return true;
	return strncmp(path, above, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

fw_error *fw_ws_path_read(const struct fw_ws_root *root, const char *path, size_t len,
			  char ret_path[FW_WS_PATH_SIZE])
{
	char clean[FW_WS_PATH_SIZE];

	FW_TRY(check_text(path, len));
	if (fw_ws_paths_unchecked) {
		(void)snprintf(ret_path, FW_WS_PATH_SIZE, "%s", path);
		return NULL;
	}
	tidy(path, clean);
	if (path[0] == '/') {
		char absolute[FW_WS_PATH_SIZE + 1] = "/";

		memcpy(absolute + 1, clean, strlen(clean) + 1);
		if (!fw_ws_is_beneath(absolute, root->path))
			return fw_raise_path_outside_workspace(path);
		tidy(absolute + strlen(root->path), clean);
	}
	if (path[len - 1] == '/' && clean[0])
		return fw_raise_path_invalid(path, "it ends in a slash");
	if (!clean[0])
		memcpy(clean, ".", 2);
	memcpy(ret_path, clean, strlen(clean) + 1);
	return NULL;
}

/* ---- the root --------------------------------------------------------------- */

/* Where a descriptor is, in the eyes of this process. */
static bool path_of(int fd, char ret_path[FW_WS_PATH_SIZE])
{
	char link[64];
	ssize_t len;

	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	len = readlink(link, ret_path, FW_WS_PATH_SIZE - 1);
	if (len <= 0 || len >= FW_WS_PATH_SIZE - 1 || ret_path[0] != '/')
		return false;
	ret_path[len] = '\0';
	return true;
}

fw_error *fw_ws_root_open(const char *path, size_t len, struct fw_ws_root *ret_root)
{
	FW_TRY(check_text(path, len));
	if (path[0] != '/')
		return fw_raise_path_invalid(path, "path is not absolute");
	return fw_ws_root_open_any(path, ret_root);
}

/* Takes the descriptor over. */
static fw_error *take_root(int fd, struct fw_ws_root *ret_root)
{
	struct fw_ws_root root = { .hard_links = false };
	const char *fault = NULL;
	struct stat st;

	if (fstat(fd, &st) != 0 || !S_ISDIR(st.st_mode))
		fault = "workspace root is not a folder";
	else if (!path_of(fd, root.path))
		fault = "workspace root cannot be looked up";
	if (fault) {
		(void)close(fd);
		return fw_raise_session_init_failed(fault);
	}
	root.fd = fd;
	root.dev = st.st_dev;
	root.ino = st.st_ino;
	*ret_root = root;
	return NULL;
}

static fw_error *root_error(int error, const char *path)
{
	return error == ENOENT ? fw_raise_path_not_found(path)
			       : fw_ws_errno(error, path, false);
}

fw_error *fw_ws_root_open_any(const char *path, struct fw_ws_root *ret_root)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	int error = errno;

	return fd < 0 ? root_error(error, path) : take_root(fd, ret_root);
}

fw_error *fw_ws_root_open_in(const char *directory, const char *alias, const char *path,
			     size_t len, struct fw_ws_root *ret_root)
{
	static const char outside[] =
		"workspace root is outside of the directory that this server serves";
	char absolute[FW_WS_PATH_SIZE + 1] = "/";
	char rest[FW_WS_PATH_SIZE];
	int error;
	int above;
	int fd;

	FW_TRY(check_text(path, len));
	if (path[0] != '/')
		return fw_raise_path_invalid(path, "path is not absolute");
	tidy(path, absolute + 1);
	if (fw_ws_is_beneath(absolute, directory))
		tidy(absolute + strlen(directory), rest);
	else if (alias && fw_ws_is_beneath(absolute, alias))
		tidy(absolute + strlen(alias), rest);
	else
		return fw_raise_session_init_failed(outside);
	above = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	error = errno;
	if (above < 0)
		return root_error(error, path);
	fd = open_beneath(above, rest[0] ? rest : ".", O_PATH, 0);
	error = errno;
	(void)close(above);
	if (fd < 0)
		return error == EXDEV ? fw_raise_session_init_failed(outside)
				      : root_error(error, path);
	return take_root(fd, ret_root);
}

void fw_ws_root_close(struct fw_ws_root *root)
{
	if (root->fd >= 0)
		(void)close(root->fd);
	root->fd = -1;
}

/* ---- directories -------------------------------------------------------------- */

/* "a/b/c": "a/b" and "c"; "c": "." and "c". */
static const char *split(const char *path, char *parent)
{
	const char *slash = strrchr(path, '/');

	if (!slash) {
		memcpy(parent, ".", 2);
		return path;
	}
	memcpy(parent, path, (size_t)(slash - path));
	parent[slash - path] = '\0';
	if (slash == path)
		memcpy(parent, "/", 2);
	return slash + 1;
}

fw_error *fw_ws_open_dir(const struct fw_ws_root *root, const char *path, bool make,
			 int *ret_fd)
{
	char part[FW_WS_PATH_SIZE];
	int fd;
	int error;

	if (make) {
		for (const char *at = path; at; at = strchr(at + 1, '/')) {
			const char *end = strchr(at + 1, '/');
			size_t len = end ? (size_t)(end - path) : strlen(path);
			char parent[FW_WS_PATH_SIZE];
			int above;

			memcpy(part, path, len);
			part[len] = '\0';
			fd = open_beneath(root->fd, part, O_PATH | O_DIRECTORY, 0);
			if (fd >= 0) {
				(void)close(fd);
				continue;
			}
			/* The directory above has just been opened or made. */
			(void)split(part, parent);
			above = open_beneath(root->fd, parent, O_PATH | O_DIRECTORY, 0);
			if (above < 0)
				break;
			if (mkdirat(above, part + (strrchr(part, '/') ? strlen(parent) + 1 : 0),
				    0777) != 0 &&
			    errno != EEXIST) {
				error = errno;
				(void)close(above);
				return fw_ws_errno(error, part, true);
			}
			(void)close(above);
		}
	}
	fd = open_beneath(root->fd, path, O_RDONLY | O_DIRECTORY, 0);
	error = errno;
	if (fd < 0)
		return error == ENOENT ? fw_raise_path_not_found(path)
				       : fw_ws_errno(error, path, make);
	*ret_fd = fd;
	return NULL;
}

/* ---- reading ------------------------------------------------------------------- */

/* A name that is not there, or a directory that is not. */
static fw_error *missing(const struct fw_ws_root *root, const char *path)
{
	char parent[FW_WS_PATH_SIZE];
	int fd;

	(void)split(path, parent);
	fd = open_beneath(root->fd, parent, O_PATH | O_DIRECTORY, 0);
	if (fd < 0)
		return fw_raise_path_not_found(path);
	(void)close(fd);
	return fw_raise_file_not_found(path);
}

static fw_error *open_error(const struct fw_ws_root *root, int error, const char *path)
{
	return error == ENOENT ? missing(root, path) : fw_ws_errno(error, path, false);
}

static fw_error *check_kind(const struct fw_ws_root *root, const struct stat *st,
			    const char *path)
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
	/* Another name of the same bytes may lie anywhere. */
	if (st->st_nlink > 1 && !root->hard_links && !fw_ws_paths_unchecked) {
		fw_error *err = fw_raise_path_outside_workspace(path);

		fw_error_add_cause(err, "the file has other names (hard links)", NULL, NULL);
		fw_error_set_hint(err, "Copy the file, so that it has one name, or have the "
				       "server started with --hard-links.");
		return err;
	}
	return NULL;
}

/* Opening a device or a pipe can do things, so first only its name is opened. */
/* Opens it, and lets go of it again where it is of a kind that is not read. */
static fw_error *open_kind(const struct fw_ws_root *root, const char *path, int flags,
			   int *ret_fd, struct stat *ret_stat)
{
	int fd = open_beneath(root->fd, path, flags, 0);
	int error = errno;
	fw_error *err;

	if (fd < 0)
		return open_error(root, error, path);
	if (fstat(fd, ret_stat) != 0)
		err = fw_ws_errno(errno, path, false);
	else
		err = check_kind(root, ret_stat, path);
	if (err)
		(void)close(fd);
	else
		*ret_fd = fd;
	return err;
}

fw_error *fw_ws_open_file(const struct fw_ws_root *root, const char *path, int *ret_fd,
			  struct stat *ret_stat)
{
	struct stat st;
	int fd;

	FW_TRY(open_kind(root, path, O_PATH, &fd, &st));
	(void)close(fd);
	/* Should it be another one by now, it has to pass, too. */
	FW_TRY(open_kind(root, path, O_RDONLY | O_NONBLOCK, &fd, &st));
	*ret_fd = fd;
	*ret_stat = st;
	return NULL;
}

fw_error *fw_ws_read_all(int fd, const char *path, size_t limit, char **ret_text,
			 size_t *ret_len)
{
	struct stat st;
	size_t cap;
	size_t len = 0;
	char *text;

	if (fstat(fd, &st) != 0)
		return fw_ws_errno(errno, path, false);
	if ((uint64_t)st.st_size > limit)
		return fw_raise_file_too_large(path, limit);
	cap = (size_t)st.st_size + 1;
	text = fw__allocate(cap + 1);
	if (!text)
		return fw_raise_internal_out_of_memory();
	for (;;) {
		ssize_t got;

		if (len == cap) { /* it grows while it is read */
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
			return fw_ws_errno(error, path, false);
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

fw_error *fw_ws_read_file(const struct fw_ws_root *root, const char *path, size_t limit,
			  char **ret_text, size_t *ret_len)
{
	struct stat st;
	fw_error *err;
	int fd;

	FW_TRY(fw_ws_open_file(root, path, &fd, &st));
	err = fw_ws_read_all(fd, path, limit, ret_text, ret_len);
	(void)close(fd);
	return err;
}

/* ---- writing -------------------------------------------------------------------- */

void fw_ws_place_clear(struct fw_ws_place *place)
{
	if (place->dir >= 0)
		(void)close(place->dir);
	place->dir = -1;
}

/* The path of a descriptor beneath the root, as seen from there. */
static fw_error *relative(const struct fw_ws_root *root, int fd, const char *path,
			  char ret_path[FW_WS_PATH_SIZE])
{
	char here[FW_WS_PATH_SIZE];
	char above[FW_WS_PATH_SIZE];

	/* The root may have been renamed as a whole: ask where it is now. */
	if (!path_of(fd, here) || !path_of(root->fd, above))
		return fw_raise_file_write_failed(path, "its place cannot be looked up");
	if (!fw_ws_is_beneath(here, above) && !fw_ws_paths_unchecked)
		return fw_raise_path_outside_workspace(path);
	tidy(fw_ws_is_beneath(here, above) ? here + strlen(above) : here, ret_path);
	return NULL;
}

/* The directory of `path`, links followed; `depth` more links may come. */
static fw_error *find(const struct fw_ws_root *root, const char *path, int depth,
		      struct fw_ws_place *place)
{
	char parent[FW_WS_PATH_SIZE];
	char real[FW_WS_PATH_SIZE];
	const char *name = split(path, parent);
	fw_error *err;
	int error;
	int fd;

	if (strcmp(path, ".") == 0)
		return fw_raise_file_read_failed(path, "it is a folder");
	place->dir = open_beneath(root->fd, parent, O_RDONLY | O_DIRECTORY, 0);
	error = errno;
	if (place->dir < 0)
		return error == ENOENT ? fw_raise_path_not_found(path)
				       : fw_ws_errno(error, path, true);
	FW_TRY(relative(root, place->dir, path, real));
	if (strlen(real) + strlen(name) + 2 > FW_WS_PATH_SIZE)
		return fw_raise_path_invalid("(too long to show)",
					     "it is longer than 4095 bytes");
	(void)snprintf(place->path, sizeof place->path, "%s%s", real, real[0] ? "/" : "");
	(void)snprintf(place->path + strlen(place->path),
		       sizeof place->path - strlen(place->path), "%s", name);
	(void)snprintf(place->name, sizeof place->name, "%s", name);
	place->exists = false;
	if (fstatat(place->dir, name, &place->stat, AT_SYMLINK_NOFOLLOW) != 0) {
		error = errno;
		return error == ENOENT ? NULL : fw_ws_errno(error, path, true);
	}
	if (!S_ISLNK(place->stat.st_mode)) {
		place->exists = true;
		return check_kind(root, &place->stat, path);
	}
	/* The link's target takes its place, and is found anew. */
	if (!depth)
		return fw_raise_path_invalid(path, "too many symbolic links");
	fd = open_beneath(root->fd, path, O_PATH, 0);
	error = errno;
	if (fd < 0)
		return error == ENOENT ? fw_raise_path_invalid(path, "it is a symbolic link to "
								     "nothing")
				       : fw_ws_errno(error, path, true);
	err = relative(root, fd, path, real);
	(void)close(fd);
	FW_TRY(err);
	fw_ws_place_clear(place);
	return find(root, real[0] ? real : ".", depth - 1, place);
}

fw_error *fw_ws_find_place(const struct fw_ws_root *root, const char *path,
			   struct fw_ws_place *ret_place)
{
	struct fw_ws_place place = FW_WS_PLACE_INIT;
	fw_error *err = find(root, path, 8, &place);

	if (err) {
		fw_ws_place_clear(&place);
		return err;
	}
	*ret_place = place;
	return NULL;
}
