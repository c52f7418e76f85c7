/*
 * place.h - where a file is or will be: the directory that holds its name, found by
 * following the links on the way.
 *
 * The one rule to remember: decide by `path`, where the bytes will be written, and
 * not by how the caller spelled it.
 */
#ifndef FW_TOOLS_COMMON_PLACE_H
#define FW_TOOLS_COMMON_PLACE_H

#include "tools/common/root.h"

struct fw_place {
	int dir;                      /* the directory that holds the name */
	char name[FW_PATH_NAME_SIZE]; /* in that directory; not a link */
	char path[FW_PATH_SIZE];      /* the same file, relative to the root */
	bool exists;
	struct stat stat; /* if it exists; it is a regular file then */
};

#define FW_PLACE_INIT     \
	{                 \
		.dir = -1 \
	}

/* The file need not exist; its directory must. Raises what fw_file_open() raises. */
FW_NODISCARD fw_error *fw_place_find(const struct fw_root *root, const char *path,
				     struct fw_place *ret_place);
/* The same, and the directories of a new file need not exist either; then `dir` is -1, and
 * `path` has the names of the missing ones as they were given. */
FW_NODISCARD fw_error *fw_place_find_new(const struct fw_root *root, const char *path,
					 struct fw_place *ret_place);
void fw_place_clear(struct fw_place *place);

#endif
