/*
 * paths.h - stores copies of paths, at fixed addresses, until all of them are released. A
 * repository may have millions of files.
 */
#ifndef FW_TOOLS_CODE_PATHS_H
#define FW_TOOLS_CODE_PATHS_H

#include <stddef.h>

struct fw_code_paths_block;

/* All zero is empty. */
struct fw_code_paths {
	struct fw_code_paths_block *blocks;
};

/* Copies a path of `len` bytes (less than FW_PATH_SIZE) and appends a NUL. NULL: no memory. */
const char *fw_code_paths_add(struct fw_code_paths *paths, const char *path, size_t len);
void fw_code_paths_clear(struct fw_code_paths *paths);

#endif
