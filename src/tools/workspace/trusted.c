/*
 * trusted.c - see trusted.h.
 */
#include "tools/workspace/trusted.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "tools/workspace/revoked.h"

#include <faultwire/raise.h>
#include <faultwire/raw.h>

#define NONCES "nonces"
#define JOURNAL "journal"

enum { KEY_CHARS = 32 };

/* Composes a path in the directory. `root` and `name` may be NULL. False if it is too
 * long. */
static bool compose(const char *folder, const char *root, const char *name,
		    char ret_path[FW_PATH_SIZE])
{
	char hex[FW_SHA256_TEXT] = "";
	int len;

	if (root)
		fw_sha256_text(root, strlen(root), hex);
	len = snprintf(ret_path, FW_PATH_SIZE, "%s%s%.*s%s%s", folder, root ? "/" : "",
		       KEY_CHARS, hex, name ? "/" : "", name ? name : "");
	return len > 0 && len < FW_PATH_SIZE;
}

/* Creates the missing directories of the path. */
static fw_error *make_folders(const char *path)
{
	char part[FW_PATH_SIZE];
	char *at = part;

	(void)snprintf(part, sizeof part, "%s", path);
	do {
		at = strchr(at + 1, '/');
		if (at)
			*at = '\0';
		if (mkdir(part, 0700) != 0 && errno != EEXIST && !at)
			return fw_error_from_errno(FW_HERE, errno, path);
		if (at)
			*at = '/';
	} while (at);
	return NULL;
}

/* Created here, because the sandbox of workers is made from what exists. */
static fw_error *open_revoked(fw_workspace *ws, const char *state)
{
	char path[FW_PATH_SIZE];
	char real[PATH_MAX];
	size_t size;

	if (snprintf(path, sizeof path, "%s/" FW_WS_REVOKED_DIR, state) >= (int)sizeof path)
		return fw_error_from_errno(FW_HERE, ENAMETOOLONG, "the state directory");
	FW_TRY(make_folders(path));
	if (!realpath(path, real))
		return fw_error_from_errno(FW_HERE, errno, path);
	size = strlen(real) + 1;
	ws->revoked = fw__allocate(size);
	if (!ws->revoked)
		return fw_raise_internal_out_of_memory();
	memcpy(ws->revoked, real, size);
	return NULL;
}

fw_error *fw_ws_trusted_open(fw_workspace *ws, const char *state)
{
	char path[FW_PATH_SIZE];
	char real[PATH_MAX];
	size_t size;

	if (!compose(state, ws->directory.path, NULL, path))
		return fw_error_from_errno(FW_HERE, ENAMETOOLONG, "the state directory");
	FW_TRY(make_folders(path));
	if (!realpath(path, real))
		return fw_error_from_errno(FW_HERE, errno, path);
	if (fw_path_is_beneath(real, ws->directory.path))
		return fw_raise_governance_self_audit_failed(
			"the state directory lies inside the workspace, where tools could "
			"write to it");
	size = strlen(real) + 1;
	ws->trusted = fw__allocate(size);
	if (!ws->trusted)
		return fw_raise_internal_out_of_memory();
	memcpy(ws->trusted, real, size);
	/* Workers may write below it; their sandbox is made from what exists now. */
	if (snprintf(path, sizeof path, "%s/" JOURNAL, real) >= (int)sizeof path)
		return fw_error_from_errno(FW_HERE, ENAMETOOLONG, "the state directory");
	FW_TRY(make_folders(path));
	return open_revoked(ws, state);
}

bool fw_ws_trusted_journal(const char *trusted, const char *root, char ret_path[FW_PATH_SIZE])
{
	char above[FW_PATH_SIZE];
	int len = snprintf(above, sizeof above, "%s/" JOURNAL, trusted);

	if (len < 0 || len >= (int)sizeof above)
		return false;
	if (root)
		return compose(above, root, NULL, ret_path);
	memcpy(ret_path, above, (size_t)len + 1);
	return true;
}

/* "" if the path is too long; such a root cannot be opened either. */
static void in_root(const char *root, char ret_path[FW_PATH_SIZE])
{
	int len = snprintf(ret_path, FW_PATH_SIZE, "%s/%s", root, FW_WS_AUDIT_LOG);

	if (len < 0 || len >= FW_PATH_SIZE)
		ret_path[0] = '\0';
}

void fw_ws_trusted_log(const fw_workspace *ws, const char *root, char ret_path[FW_PATH_SIZE])
{
	if (ws->trusted && compose(ws->trusted, root, FW_WS_AUDIT_LOG, ret_path) &&
	    access(ret_path, F_OK) == 0)
		return;
	in_root(root, ret_path);
}

/* ---- the log ---- */

enum link { LINK_OURS, LINK_NONE, LINK_OTHER };

static enum link look_at_link(const struct fw_root *root, const char *target)
{
	char found[FW_PATH_SIZE];
	ssize_t len = readlinkat(root->fd, FW_WS_AUDIT_LOG, found, sizeof found);

	if (len < 0)
		return errno == ENOENT ? LINK_NONE : LINK_OTHER;
	return (size_t)len == strlen(target) && memcmp(found, target, (size_t)len) == 0
		       ? LINK_OURS
		       : LINK_OTHER;
}

void fw_ws_trusted_link(const fw_workspace *ws, const struct fw_root *root)
{
	char log[FW_PATH_SIZE];

	if (ws->trusted && compose(ws->trusted, root->path, FW_WS_AUDIT_LOG, log) &&
	    look_at_link(root, log) == LINK_NONE)
		(void)!symlinkat(log, root->fd, FW_WS_AUDIT_LOG);
}

fw_error *fw_ws_trusted_begin(const fw_workspace *ws, const struct fw_root *root, int *ret_dir,
			      char ret_path[FW_PATH_SIZE])
{
	char folder[FW_PATH_SIZE];
	char log[FW_PATH_SIZE];
	enum link link;

	*ret_dir = root->fd;
	in_root(root->path, ret_path);
	if (!ws->trusted)
		return NULL;
	if (!compose(ws->trusted, root->path, NULL, folder) ||
	    !compose(ws->trusted, root->path, FW_WS_AUDIT_LOG, log))
		return fw_error_from_errno(FW_HERE, ENAMETOOLONG, "the state directory");
	link = look_at_link(root, log);
	if (link == LINK_OTHER && access(log, F_OK) == 0)
		return fw_ws_raise_invariant(
			FW_HERE, FW_WS_LOG_IN_PLACE,
			"audit-log.jsonl of the workspace is no longer the link to its "
			"log; the log itself is intact; remove the file that "
			"replaced the link");
	/* A log that was begun without a state directory is continued where it is. Any
	 * other file is refused when it is opened. */
	if (link == LINK_OTHER)
		return NULL;
	FW_TRY(make_folders(folder));
	*ret_dir = -1;
	memcpy(ret_path, log, sizeof log);
	return NULL;
}

bool fw_ws_trusted_is_link_intact(const fw_workspace *ws, const struct fw_root *root)
{
	char log[FW_PATH_SIZE];

	return !ws->trusted || !compose(ws->trusted, root->path, FW_WS_AUDIT_LOG, log) ||
	       access(log, F_OK) != 0 || look_at_link(root, log) == LINK_OURS;
}

/* ---- nonces ---- */

int fw_ws_nonce_create(int dir, const char *nonce)
{
	int fd = openat(dir, nonce, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno;
	(void)fsync(fd);
	(void)close(fd);
	(void)fsync(dir);
	return 0;
}

fw_error *fw_ws_trusted_use_nonce(const fw_workspace *ws, const struct fw_root *root,
				  const char *nonce)
{
	char folder[FW_PATH_SIZE];
	int error;
	int dir;

	if (!compose(ws->trusted, root->path, NONCES, folder))
		return fw_error_from_errno(FW_HERE, ENAMETOOLONG, "the state directory");
	FW_TRY(make_folders(folder));
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return fw_error_from_errno(FW_HERE, errno, folder);
	error = fw_ws_nonce_create(dir, nonce);
	(void)close(dir);
	if (error == EEXIST)
		return fw_raise_governance_bootstrap_failed("the payload was used before");
	return error ? fw_error_from_errno(FW_HERE, error, folder) : NULL;
}

bool fw_ws_trusted_is_nonce_used(const fw_workspace *ws, const struct fw_root *root,
				 const char *nonce)
{
	char folder[FW_PATH_SIZE];
	char path[FW_PATH_SIZE + 80];

	if (!compose(ws->trusted, root->path, NONCES, folder))
		return false;
	(void)snprintf(path, sizeof path, "%s/%.64s", folder, nonce);
	return access(path, F_OK) == 0;
}
