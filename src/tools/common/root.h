/*
 * root.h - a directory that is held open, and paths that are resolved below it.
 *
 * The kernel resolves a path in one step (openat2 with RESOLVE_BENEATH), and every
 * later check looks at the descriptor that resulted. So a symbolic link cannot be
 * exchanged between a check and a use.
 *
 * The one rule to remember: only fw_root_open*() open by an absolute path.
 */
#ifndef FW_TOOLS_COMMON_ROOT_H
#define FW_TOOLS_COMMON_ROOT_H

#include <stdint.h>
#include <sys/stat.h>

#include "tools/common/path.h"

struct fw_root {
	int fd;                  /* O_PATH */
	char path[FW_PATH_SIZE]; /* canonical */
	/* The path and the time at which the directory was created: a directory that is
	 * created later at the same path has another identity. */
	char identity[FW_PATH_SIZE + 32];
	dev_t dev;
	ino_t ino;
	bool hard_links; /* files with several names may be used */
};

#define FW_ROOT_INIT     \
	{                \
		.fd = -1 \
	}

/*
 * Opens a directory by its absolute path. Raises path.invalid,
 * path.traversal_blocked, path.not_found, auth.insufficient_permissions;
 * session.init_failed if it is not a directory.
 */
FW_NODISCARD fw_error *fw_root_open(const char *path, size_t len, struct fw_root *ret_root);
/*
 * The same, for a directory that must be `directory` (canonical) or below it. Other
 * paths are refused without looking them up. `alias` is another accepted name of
 * `directory`, or NULL. Also raises session.init_failed for a path outside.
 */
FW_NODISCARD fw_error *fw_root_open_in(const char *directory, const char *alias,
				       const char *path, size_t len, struct fw_root *ret_root);
/* The same, for a path from the command line: relative paths and ".." are allowed. */
FW_NODISCARD fw_error *fw_root_open_any(const char *path, struct fw_root *ret_root);
void fw_root_close(struct fw_root *root);

/*
 * Normalizes what the caller wrote to a path relative to the root, without "." and
 * doubled slashes. An absolute path below the root is accepted. Nothing is looked up.
 * Raises path.invalid, path.traversal_blocked, path.outside_workspace.
 */
FW_NODISCARD fw_error *fw_root_normalize(const struct fw_root *root, const char *path,
					 size_t len, char ret_path[FW_PATH_SIZE]);

/* Opens a directory below the root; with `make`, it and its parents are created if
 * they do not exist. */
FW_NODISCARD fw_error *fw_root_open_dir(const struct fw_root *root, const char *path, bool make,
					int *ret_fd);

/* Calls `found` for `path` and each of its parents that does not exist, outermost first, until
 * it raises an error. */
FW_NODISCARD fw_error *fw_root_each_missing(const struct fw_root *root, const char *path,
					    fw_error *(*found)(void *ctx, const char *part),
					    void *ctx);

/* Opens `path` below the directory `dir`, even if the path contains links. Returns a
 * descriptor, or -1 with errno; EXDEV means that the path leads outside. */
int fw_root_open_beneath(int dir, const char *path, int flags);
/* The same for a canonical path: ELOOP if there is a link on the way. */
int fw_root_open_canonical(int dir, const char *path, int flags);
/* The canonical path of a descriptor; false if it has none. */
bool fw_root_path_of(int fd, char ret_path[FW_PATH_SIZE]);

#ifdef FW_TEST_HOOKS
/* Only in a test program: paths are opened without any check, to test the sandbox
 * alone. */
extern bool fw_root_unchecked;
#else
enum { fw_root_unchecked = 0 };
#endif

#endif
