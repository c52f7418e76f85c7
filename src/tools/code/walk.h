/*
 * walk.h - walks over the files of a repository that tools show: regular files with a
 * name that fw_path_check() accepts, unless ignore.h ignores them.
 *
 * Files are in the byte order of their paths. Symbolic links are not followed.
 */
#ifndef FW_TOOLS_CODE_WALK_H
#define FW_TOOLS_CODE_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include <faultwire/error.h>

struct fw_walk {
	/* False ends the walk. `path` is relative to the root and valid during the call;
	 * `name` is its last component, in the directory `dir`. */
	bool (*file)(void *ctx, int dir, const char *path, size_t len, const char *name);
	/* Called for a directory before its files. `path` ends with a slash ("" for the
	 * root). NULL: not called. */
	void (*directory)(void *ctx, int dir, const char *path);
	/* Decides whether to enter a directory below the first. `path` does not end with
	 * a slash. NULL: all are entered. */
	bool (*enters)(void *ctx, const char *path);
	/* Called for every directory. True ends the walk. NULL: not called. */
	bool (*is_stopped)(void *ctx);
	void *ctx;
};

/*
 * Walks the directory `start` ("." is the root) of the repository whose root directory is
 * `root`. The ignore rules above `start` apply to its contents, but `start` itself is
 * entered even if they ignore it. `*ret_is_complete`: no limit was reached. Raises
 * internal.out_of_memory; path.outside_workspace and others if `start` cannot be opened,
 * with `shown` as the path.
 */
FW_NODISCARD fw_error *fw_walk_run(const struct fw_walk *walk, int root, const char *start,
				   const char *shown, bool *ret_is_complete);

#endif
