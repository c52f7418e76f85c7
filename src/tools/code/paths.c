/*
 * paths.c - see paths.h. Paths are stored one after the other in blocks that are never
 * moved.
 */
#include "tools/code/paths.h"

#include <string.h>

#include "base/mem.h"

enum { BLOCK_BYTES = 256 * 1024 };

struct fw_code_paths_block {
	struct fw_code_paths_block *next;
	size_t used;
	char text[BLOCK_BYTES];
};

static struct fw_code_paths_block *add_block(struct fw_code_paths *paths)
{
	struct fw_code_paths_block *block = fw__allocate(sizeof *block);

	if (!block)
		return NULL;
	block->next = paths->blocks;
	block->used = 0;
	paths->blocks = block;
	return block;
}

const char *fw_code_paths_add(struct fw_code_paths *paths, const char *path, size_t len)
{
	struct fw_code_paths_block *block = paths->blocks;
	char *to;

	if (!block || sizeof block->text - block->used < len + 1)
		block = add_block(paths);
	if (!block)
		return NULL;
	to = block->text + block->used;
	memcpy(to, path, len);
	to[len] = '\0';
	block->used += len + 1;
	return to;
}

void fw_code_paths_clear(struct fw_code_paths *paths)
{
	while (paths->blocks) {
		struct fw_code_paths_block *next = paths->blocks->next;

		fw__release(paths->blocks);
		paths->blocks = next;
	}
}
