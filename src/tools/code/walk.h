/*
 * walk.h - the files of a repository that tools show: regular files with a name that can
 * be a path, unless ignore.h leaves them out.
 *
 * Files come in the order of the bytes of their paths. Symbolic links are not followed.
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
	/* A directory that is entered, with a slash at its end ("" for the root), before
	 * its files; NULL: none. */
	void (*directory)(void *ctx, int dir, const char *path);
	/* Whether to enter a directory below the first; `path` has no slash at its end. NULL:
	 * each. */
	bool (*enters)(void *ctx, const char *path);
	/* Asked for every directory; true ends the walk. NULL: never. */
	bool (*is_stopped)(void *ctx);
	void *ctx;
};

/*
 * Walks through the directory `start` ("." is the root) of the repository whose root
 * directory is `root`. The ignore rules above it apply to what is below it, but
 * `start` itself is entered even if they leave it out. `*ret_is_complete`: no limit was
 * reached. Raises internal.out_of_memory; path.outside_workspace and others if `start`
 * cannot be opened, with `shown` as the path.
 */
FW_NODISCARD fw_error *fw_walk_run(const struct fw_walk *walk, int root, const char *start,
				   const char *shown, bool *ret_is_complete);

#endif
