/*
 * build_impl.h - the state of a build; shared by build.c and build_embed.c.
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_BUILD_IMPL_H
#define FW_TOOLS_CODE_SEMANTIC_BUILD_IMPL_H

#include <stdatomic.h>

#include "tools/code/semantic/corpus.h"
#include "tools/code/semantic/data.h"
#include "tools/code/semantic/history.h"
#include "tools/code/semantic/semantic.h"
#include "tools/code/semantic/snapshot_write.h"
#include "tools/code/semantic/space.h"

struct fw_semantic_building {
	struct fw_semantic_build *build;
	unsigned threads;
	const char *embedder_id;
	struct fw_code_repo repo;
	struct fw_code_place place;
	int dir;
	int lock;
	struct fw_semantic_data *data;
	bool is_new; /* nothing of the last build can be used */
	bool has_new_commits;
	char head[FW_SEMANTIC_SHA_SIZE];
	struct fw_semantic_history *history;
	atomic_bool is_given_up; /* nobody waits for git any more */
	struct fw_semantic_corpus corpus;
	struct fw_semantic_writing writing;
};

bool fw_semantic_building_is_stopped(const struct fw_semantic_building *b);
void fw_semantic_building_progress(const struct fw_semantic_building *b,
				   enum fw_semantic_phase phase, uint64_t done, uint64_t total);

/* The vectors of all chunks, by the service; those of known contents are in the database.
 * What is received is committed now and then. */
FW_NODISCARD fw_error *fw_semantic_building_embed(struct fw_semantic_building *b,
						  struct fw_semantic_space *space);

#endif
