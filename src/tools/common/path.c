/*
 * path.c - see path.h.
 */
#include "tools/common/path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "tools/common/root.h"

#include <faultwire/raise.h>
#include <faultwire/raw.h>

fw_error *fw_path_errno(int error, const char *path, bool writing)
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

fw_error *fw_path_check(const char *path, size_t len)
{
	size_t start = 0;

	if (!len)
		return fw_raise_path_invalid("\"\"", "it is empty");
	if (memchr(path, '\0', len))
		return fw_raise_path_invalid(path, "it holds a NUL");
	if (len >= FW_PATH_SIZE)
		return fw_raise_path_invalid("(too long to show)",
					     "it is longer than 4095 bytes");
	if (fw_utf8_valid(path, len) != len)
		return fw_raise_path_invalid("(not text)", "it is not UTF-8");
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)path[i] < 0x20 || path[i] == 0x7f)
			return fw_raise_path_invalid("(not shown)",
						     "it holds a control character");
	/* A backslash is an ordinary character on Linux, but "..\" is meant as the parent
	 * directory. */
	for (size_t i = 0; i <= len; i++) {
		if (i < len && path[i] != '/' && path[i] != '\\')
			continue;
		if (i - start == 2 && path[start] == '.' && path[start + 1] == '.' &&
		    !fw_root_unchecked)
			return fw_raise_path_traversal_blocked(path);
		start = i + 1;
	}
	for (const char *at = path; *at;) {
		size_t name = strcspn(at, "/");

		if (name >= FW_PATH_NAME_SIZE)
			return fw_raise_path_invalid("(too long to show)",
						     "a name in it is longer than 255 bytes");
		at += name + (at[name] == '/');
	}
	return NULL;
}

void fw_path_tidy(const char *path, char *to)
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

const char *fw_path_split(const char *path, char ret_parent[FW_PATH_SIZE])
{
	const char *slash = strrchr(path, '/');

	if (!slash) {
		memcpy(ret_parent, ".", 2);
		return path;
	}
	memcpy(ret_parent, path, (size_t)(slash - path));
	ret_parent[slash - path] = '\0';
	if (slash == path)
		memcpy(ret_parent, "/", 2);
	return slash + 1;
}

bool fw_path_is_beneath(const char *path, const char *above)
{
	size_t len = strlen(above);

	if (len == 1 && above[0] == '/')
		return true;
	return strncmp(path, above, len) == 0 && (path[len] == '\0' || path[len] == '/');
}
