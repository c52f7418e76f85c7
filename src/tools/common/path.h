/*
 * path.h - paths as text: checking and normalizing what a caller wrote, before
 * anything is looked up.
 */
#ifndef FW_TOOLS_COMMON_PATH_H
#define FW_TOOLS_COMMON_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include <faultwire/error.h>

enum {
	FW_PATH_SIZE = 4096, /* with the NUL */
	FW_PATH_NAME_SIZE = 256
};

/* Can this text be a path? It must be UTF-8 without NULs, control characters and
 * ".." components, and within the size limits. `path` ends with a NUL. Raises
 * path.invalid, path.traversal_blocked. */
FW_NODISCARD fw_error *fw_path_check(const char *path, size_t len);

/* Copies a path without leading slash, "." and empty components; the result is ""
 * for the root itself. `to` must have the size of `path`. */
void fw_path_tidy(const char *path, char *to);

/* Splits into parent and name: "a/b/c" is "a/b" and "c", "c" is "." and "c". Returns
 * the name, which points into `path`. */
const char *fw_path_split(const char *path, char ret_parent[FW_PATH_SIZE]);

/* Is `path` the directory `above`, or below it? Both are canonical. */
bool fw_path_is_beneath(const char *path, const char *above);

/* The error for an errno of a system call on `path`. `writing`: the call was part of
 * a write. */
FW_NODISCARD fw_error *fw_path_errno(int error, const char *path, bool writing);

#endif
