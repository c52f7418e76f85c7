/*
 * staging.c - a directory that becomes visible complete or not at all.
 *
 * It is created under a hidden name in the same parent directory, locked as long as
 * its process lives, and renamed when it is complete. A cache that it replaces is
 * exchanged with it (RENAME_EXCHANGE), so the name leads to a complete cache at any
 * time. A build that was killed leaves a hidden directory without a lock; the next
 * build of the same name removes it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/context/files.h"
#include "tools/context/staging.h"

#include <faultwire/raise.h>

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif
#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2
#endif

/* ---- removing ---- */

/* Removes as much as possible; errors are ignored. */
static void remove_tree(int parent, const char *name, unsigned depth)
{
	int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *stream = dir < 0 ? NULL : fdopendir(dir);
	const char *entry;
	int error;

	if (!stream) {
		if (dir >= 0)
			(void)close(dir);
	} else {
		while ((entry = fw_context_next_name(stream, &error))) {
			if (unlinkat(dirfd(stream), entry, 0) != 0 &&
			    (errno == EISDIR || errno == EPERM) && depth < 16)
				remove_tree(dirfd(stream), entry, depth + 1);
		}
		(void)closedir(stream);
	}
	(void)unlinkat(parent, name, AT_REMOVEDIR);
}

/* ".name.building-"; process id and a number follow in the complete name. */
static size_t hidden_prefix(const struct fw_context_staging *staging, char *ret_text,
			    size_t size)
{
	int len = snprintf(ret_text, size, ".%s.building-", staging->name);

	return len > 0 && (size_t)len < size ? (size_t)len : 0;
}

static void remove_leftovers(const struct fw_context_staging *staging)
{
	char prefix[300];
	size_t len = hidden_prefix(staging, prefix, sizeof prefix);
	int fd = openat(staging->parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	const char *entry;
	int error;

	if (!stream) {
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	while ((entry = fw_context_next_name(stream, &error))) {
		int dir;

		if (strncmp(entry, prefix, len) != 0)
			continue;
		dir = openat(staging->parent, entry,
			     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (dir < 0)
			continue;
		if (flock(dir, LOCK_EX | LOCK_NB) == 0)
			remove_tree(staging->parent, entry, 0);
		(void)close(dir);
	}
	(void)closedir(stream);
}

/* ---- starting ---- */

static fw_error *open_parent(const char *path, struct fw_context_staging *staging)
{
	char parent[PATH_MAX];
	size_t len = strlen(path);
	const char *name;

	while (len > 1 && path[len - 1] == '/')
		len--;
	if (len == 0 || len >= sizeof parent)
		return fw_raise_path_not_found(path);
	memcpy(parent, path, len);
	parent[len] = '\0';
	name = strrchr(parent, '/');
	name = name ? name + 1 : parent;
	if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return fw_raise_file_already_exists(path);
	/* Leave room for the longer hidden name. */
	if (strlen(name) > 200)
		return fw_context_system_error(FW_HERE, ENAMETOOLONG, path);
	(void)snprintf(staging->name, sizeof staging->name, "%s", name);
	if (name == parent)
		(void)snprintf(parent, sizeof parent, ".");
	else if (name == parent + 1)
		parent[1] = '\0';
	else
		parent[name - parent - 1] = '\0';
	staging->parent = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (staging->parent < 0) {
		int error = errno;

		if (error == ENOENT || error == ENOTDIR)
			return fw_raise_path_not_found(parent);
		return fw_context_system_error(FW_HERE, error, parent);
	}
	return NULL;
}

/* Only a cache or an empty directory is replaced: a mistyped path must not delete a
 * home directory. */
static bool is_replaceable(const struct fw_context_staging *staging)
{
	int dir = openat(staging->parent, staging->name,
			 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *stream = dir < 0 ? NULL : fdopendir(dir);
	const char *entry;
	int error;
	bool is_empty = true;
	bool has_manifest = false;

	if (!stream) {
		if (dir >= 0)
			(void)close(dir);
		return false;
	}
	while ((entry = fw_context_next_name(stream, &error))) {
		is_empty = false;
		has_manifest = has_manifest || strcmp(entry, FW_CONTEXT_MANIFEST_FILE) == 0;
	}
	(void)closedir(stream);
	return is_empty || has_manifest;
}

static fw_error *check_place(const struct fw_context_staging *staging, const char *path,
			     bool force)
{
	fw_error *err;
	struct stat st;
	int error;

	if (fstatat(staging->parent, staging->name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		error = errno;
		return error == ENOENT ? NULL : fw_context_system_error(FW_HERE, error, path);
	}
	if (force && is_replaceable(staging))
		return NULL;
	err = fw_raise_file_already_exists(path);
	fw_error_set_hint(err,
			  force ? "It is not a cache, and only a cache is replaced: remove "
				  "it yourself, or choose another name."
				: "Replace it with --force, or choose another name.");
	return err;
}

static fw_error *make_directories(struct fw_context_staging *staging)
{
	char prefix[300];
	int error;

	(void)hidden_prefix(staging, prefix, sizeof prefix);
	for (unsigned try = 0;; try++) {
		(void)snprintf(staging->temporary, sizeof staging->temporary, "%.260s%ld-%u",
			       prefix, (long)getpid(), try);
		if (mkdirat(staging->parent, staging->temporary, 0777) == 0)
			break;
		error = errno;
		if (error != EEXIST || try > 1000)
			return fw_context_system_error(FW_HERE, error, staging->name);
	}
	staging->is_made = true;
	staging->dir = openat(staging->parent, staging->temporary,
			      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (staging->dir >= 0 && flock(staging->dir, LOCK_EX) == 0 &&
	    mkdirat(staging->dir, FW_CONTEXT_DOCUMENTS, 0777) == 0)
		staging->documents = openat(staging->dir, FW_CONTEXT_DOCUMENTS,
					    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	error = errno;
	return staging->documents >= 0 ? NULL
				       : fw_context_system_error(FW_HERE, error, staging->name);
}

fw_error *fw_context_staging_start(const char *path, bool force,
				   struct fw_context_staging *staging)
{
	*staging = (struct fw_context_staging){ .parent = -1, .dir = -1, .documents = -1 };
	FW_TRY(open_parent(path, staging));
	remove_leftovers(staging);
	FW_TRY(check_place(staging, path, force));
	return make_directories(staging);
}

/* ---- writing ---- */

fw_error *fw_context_staging_write(int dir, const char *name, const char *text, size_t len)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	int error = fd < 0 ? errno : 0;
	size_t done = 0;

	while (!error && done < len) {
		ssize_t n = write(fd, text + done, len - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			error = errno;
	}
	if (fd >= 0 && close(fd) != 0 && !error)
		error = errno;
	return error ? fw_context_system_error(FW_HERE, error, name) : NULL;
}

static int put_in_place(struct fw_context_staging *staging, bool force)
{
	if (renameat2(staging->parent, staging->temporary, staging->parent, staging->name,
		      RENAME_NOREPLACE) == 0) {
		staging->is_made = false;
		return 0;
	}
	if (errno != EEXIST || !force)
		return errno;
	/* The old directory now has the hidden name; fw_context_staging_end() removes it. */
	return renameat2(staging->parent, staging->temporary, staging->parent, staging->name,
			 RENAME_EXCHANGE) == 0
		       ? 0
		       : errno;
}

/* ---- on the disk ---- */

/* Starts writing the content, which also decides where on the disk it will be. */
static int start_writing(int fd)
{
	(void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE); /* fsync() tells the errors */
	return 0;
}

static int call_on_file(int dir, const char *name, int (*call)(int fd))
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int error = fd < 0 || call(fd) != 0 ? errno : 0;

	if (fd >= 0)
		(void)close(fd);
	return error;
}

static int call_on_files(int dir, int (*call)(int fd))
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = copy >= 0 ? fdopendir(copy) : NULL;
	struct dirent *item;
	int error = stream ? 0 : errno;

	if (!stream && copy >= 0)
		(void)close(copy);
	/* cppcheck-suppress readdirCalled ; the stream is used by one thread only */
	while (stream && !error && (item = readdir(stream)))
		if (item->d_name[0] != '.')
			error = call_on_file(dir, item->d_name, call);
	if (stream)
		(void)closedir(stream);
	return error;
}

/*
 * The new name is what makes the cache valid, so everything must be on the disk before the
 * directory gets it, and nothing need be there earlier. The content of all files is on its way
 * before the first one is waited for: the file system then writes its own records once, not
 * once per file. For many files one syncfs() is faster still, but it also waits for data that
 * other programs have written.
 */
static int sync_all(const struct fw_context_staging *staging, bool is_large)
{
	int error;

	if (is_large)
		return syncfs(staging->dir) == 0 ? 0 : errno;
	error = call_on_files(staging->documents, start_writing);
	if (!error)
		error = call_on_files(staging->documents, fsync);
	if (!error)
		error = call_on_files(staging->dir, fsync); /* "documents", too */
	return error || fsync(staging->dir) == 0 ? error : errno;
}

fw_error *fw_context_staging_commit(struct fw_context_staging *staging, bool force,
				    bool is_large)
{
	int error = sync_all(staging, is_large);

	if (!error)
		error = put_in_place(staging, force);
	if (error == EEXIST)
		return fw_raise_file_already_exists(staging->name);
	if (!error && fsync(staging->parent) != 0)
		error = errno;
	return error ? fw_context_system_error(FW_HERE, error, staging->name) : NULL;
}

void fw_context_staging_end(struct fw_context_staging *staging)
{
	if (staging->is_made)
		remove_tree(staging->parent, staging->temporary, 0);
	if (staging->documents >= 0)
		(void)close(staging->documents);
	if (staging->dir >= 0)
		(void)close(staging->dir);
	if (staging->parent >= 0)
		(void)close(staging->parent);
	*staging = (struct fw_context_staging){ .parent = -1, .dir = -1, .documents = -1 };
}
