/*
 * revoked.c - see revoked.h.
 */
#include "tools/workspace/revoked.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"

#include <faultwire/raw.h>

enum { KEY_CHARS = 32 };

/* `hash` NULL: the directory of the root. False if the path is too long. */
static bool compose(const char *dir, const struct fw_root *root, const char *hash,
		    char ret_path[FW_PATH_SIZE])
{
	char hex[FW_SHA256_TEXT];
	int len;

	fw_sha256_text(root->path, strlen(root->path), hex);
	len = snprintf(ret_path, FW_PATH_SIZE, "%s/%.*s%s%.64s", dir, KEY_CHARS, hex,
		       hash ? "/" : "", hash ? hash : "");
	return len > 0 && len < FW_PATH_SIZE;
}

static fw_error *failed(int error)
{
	return fw_error_from_errno(FW_HERE, error, "the list of revoked plans");
}

fw_error *fw_ws_revoked_add(const char *dir, const struct fw_root *root, const char *hash)
{
	char folder[FW_PATH_SIZE];
	char path[FW_PATH_SIZE];
	int error = 0;
	int fd;

	if (!dir)
		return NULL;
	if (!compose(dir, root, NULL, folder) || !compose(dir, root, hash, path))
		return failed(ENAMETOOLONG);
	if (mkdir(dir, 0700) != 0 && errno != EEXIST)
		return failed(errno);
	if (mkdir(folder, 0700) != 0 && errno != EEXIST)
		return failed(errno);
	fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return failed(errno);
	if (fsync(fd) != 0)
		error = errno;
	(void)close(fd);
	return error ? failed(error) : NULL;
}

fw_error *fw_ws_revoked_remove(const char *dir, const struct fw_root *root, const char *hash)
{
	char path[FW_PATH_SIZE];

	if (!dir)
		return NULL;
	if (!compose(dir, root, hash, path))
		return failed(ENAMETOOLONG);
	return unlink(path) == 0 || errno == ENOENT || errno == ENOTDIR ? NULL : failed(errno);
}

bool fw_ws_revoked_has(const char *dir, const struct fw_root *root, const char *hash)
{
	char path[FW_PATH_SIZE];

	/* A list that cannot be read is no reason to trust the plan. */
	return dir && compose(dir, root, hash, path) &&
	       (access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR));
}
