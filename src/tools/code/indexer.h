/*
 * indexer.h - the process that keeps the indexes of the repositories: makes them in the
 * background, and follows changes.
 *
 * It runs in a sandbox of its own: it reads the repositories, writes its directory, and
 * watches for changes. Searches learn from the board (board.h) what it knows. If several
 * servers have one state directory, the first keeps the index of a repository, and
 * another takes over when it ends.
 */
#ifndef FW_TOOLS_CODE_INDEXER_H
#define FW_TOOLS_CODE_INDEXER_H

#include "tools/code/board.h"
#include "tools/code/repo.h"

enum fw_indexer_mode {
	FW_INDEXER_AUTO, /* above a size */
	FW_INDEXER_ON,
	FW_INDEXER_OFF
};

struct fw_indexer_options {
	const struct fw_code_repos *repos;
	enum fw_indexer_mode mode;
	uint64_t limit_bytes; /* of each index */
};

/* Chooses the directory of each repository below `state`, and creates it. A repository
 * whose directory cannot be created has no index. */
void fw_indexer_prepare(struct fw_code_repos *repos, const char *state, bool has_index);

/* What the keeper of a repository's index has published last; the repository is a canonical
 * path. False: there is no index. */
bool fw_indexer_status(const char *state, const char *repository,
		       struct fw_board_facts *ret_facts);

/* Keeps the indexes; does not return. `ctx` is a struct fw_indexer_options. */
void fw_indexer_run(void *ctx);

#endif
