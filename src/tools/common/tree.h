/*
 * tree.h - walks through a directory and everything below it.
 *
 * Symbolic links are visited but not followed, so a walk never leaves the directory that
 * it began in. Entries of a directory come in the order of their names.
 */
#ifndef FW_TOOLS_COMMON_TREE_H
#define FW_TOOLS_COMMON_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include <faultwire/error.h>

enum { FW_TREE_DEPTH = 64 };

struct fw_tree_entry {
	int dir;          /* the directory that holds it */
	const char *name; /* in that directory */
	const char *path; /* relative to where the walk began */
	struct stat stat; /* not of the target of a link */
};

enum fw_tree_step {
	FW_TREE_CONTINUE,
	FW_TREE_SKIP, /* do not enter this directory */
	FW_TREE_STOP
};

struct fw_tree_walk {
	enum fw_tree_step (*visit)(void *ctx, const struct fw_tree_entry *entry);
	/* After everything in a directory was visited; NULL: none. */
	void (*leave)(void *ctx, const struct fw_tree_entry *entry);
	void *ctx;
	size_t limit; /* number of visits */
};

/*
 * Walks through the directory `dir`, which the caller keeps; `prefix` begins the paths and
 * may be "". Directories that cannot be opened, names that cannot be paths and what is
 * deeper than FW_TREE_DEPTH are left out. `*ret_is_complete`: nothing was left out because
 * of a limit. Raises internal.out_of_memory.
 */
FW_NODISCARD fw_error *fw_tree_walk(const struct fw_tree_walk *walk, int dir,
				    const char *prefix, bool *ret_is_complete);

/* Removes everything in the directory `dir`, at most `limit` entries. */
void fw_tree_clear(int dir, size_t limit);

/* Do the files below `dir` exceed one of the limits? */
bool fw_tree_exceeds(int dir, size_t files, uint64_t bytes);

#endif
