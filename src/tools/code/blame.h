/*
 * blame.h - finds the commit that last changed each line of a file, and caches the
 * result.
 *
 * The result for a whole file is cached under two keys. The first is the commit HEAD and
 * the path, which can be looked up at once. The second is the content, the path and the
 * last commit that touched the file, which is still valid after other files were
 * committed.
 */
#ifndef FW_TOOLS_CODE_BLAME_H
#define FW_TOOLS_CODE_BLAME_H

#include "base/buf.h"
#include "tools/code/git_ask.h"

enum { FW_BLAME_TEXT_BYTES = 512 };

struct fw_blame_commit {
	char hash[FW_GIT_HASH_SIZE];
	char author[FW_BLAME_TEXT_BYTES];
	char message[FW_BLAME_TEXT_BYTES];
	int64_t time;
	int zone; /* +0130 is 130 */
};

/* All zero is empty. */
struct fw_blame {
	struct fw_blame_commit *commits;
	size_t commit_count;
	size_t commit_room;
	uint32_t *lines; /* index of the commit per line, from line `first` on */
	size_t line_count;
	size_t line_room;
	int64_t first;
	size_t current; /* the commit that is being read */
};

void fw_blame_clear(struct fw_blame *blame);

/* Reads a line of `git blame --porcelain`. False: out of memory. */
bool fw_blame_read(struct fw_blame *blame, const char *text, size_t len);
/* Writes the lines from `start` to `end` as elements of a JSON array. */
void fw_blame_put(const struct fw_blame *blame, int64_t start, int64_t end, struct fw_buf *out);

/* ---- the cache, in the directory of a repository's index ---- */

/* Loads an entry of the cache; `key` may be any text. False: it does not exist or is
 * damaged. */
bool fw_blame_load(const struct fw_code_repo *repo, const char *key,
		   struct fw_blame *ret_blame);
/* Stores an entry in the cache. Failures are ignored. */
void fw_blame_keep(const struct fw_code_repo *repo, const char *key,
		   const struct fw_blame *blame);

#endif
