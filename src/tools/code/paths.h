/*
 * paths.h - copies of paths that stay where they are until all of them are released: those of the
 * files of a repository, of which there may be millions.
 */
#ifndef FW_TOOLS_CODE_PATHS_H
#define FW_TOOLS_CODE_PATHS_H

#include <stddef.h>

struct fw_code_paths_block;

/* All zero: none. */
struct fw_code_paths {
	struct fw_code_paths_block *blocks;
};

/* A copy of a path of `len` bytes, fewer than FW_PATH_SIZE, with a NUL behind it. NULL: no memory. */
const char *fw_code_paths_add(struct fw_code_paths *paths, const char *path, size_t len);
void fw_code_paths_clear(struct fw_code_paths *paths);

#endif
