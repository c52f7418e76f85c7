/*
 * semantic.h - the index of a repository: where it is, building it, its state.
 *
 * An index is a directory below the state directory, for each repository by its path: `data.db`
 * (data.h) is what builds continue from, `snapshot` (snapshot.h) is what searches read, `lock`
 * is locked during a build, and `users` by servers. Workers can read the directory and nothing else of the state; only
 * `faultwire index` writes it, from the command line or started by `faultwire serve`.
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_SEMANTIC_H
#define FW_TOOLS_CODE_SEMANTIC_SEMANTIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

#include "tools/code/repo.h"
#include "tools/code/semantic/embed.h"

/* The directory of the index of `repo`, a canonical path, below the directory `state`. Raises
 * path.invalid if that is too long. */
FW_NODISCARD fw_error *fw_semantic_directory(const char *state, const char *repo,
					     char ret_path[FW_PATH_SIZE]);
/* Creates it and what is above it, for its owner only. Raises io.*. */
FW_NODISCARD fw_error *fw_semantic_directory_make(const char *directory);

enum fw_semantic_phase {
	FW_SEMANTIC_READING, /* files */
	FW_SEMANTIC_HISTORY_PHASE,
	FW_SEMANTIC_EMBEDDING, /* chunks, by a service */
	FW_SEMANTIC_ANALYSING,
	FW_SEMANTIC_WRITING
};

struct fw_semantic_build {
	const char *repo;                            /* canonical path */
	const char *directory;                       /* of the index */
	const struct fw_semantic_embedder *embedder; /* NULL: the analysis of the repository */
	unsigned threads;                            /* 0: one per CPU */
	bool (*is_cancelled)(void *ctx);
	void (*progress)(void *ctx, enum fw_semantic_phase phase, uint64_t done, uint64_t total,
			 uint64_t bytes);
	void *ctx;
	/* Results. */
	bool is_unchanged; /* nothing was to be done */
	bool is_busy;      /* another process builds it */
	bool is_cancelled_early;
	size_t files, chunks, changed, commits;
	uint64_t read_bytes;   /* of changed files */
	uint64_t source_bytes; /* of all files */
	uint64_t index_bytes;  /* of the snapshot */
	uint64_t ms;
};

/*
 * Builds the index, or brings it up to date. It can be killed at any moment: the snapshot is
 * then the old one or the new one, and the next build continues. Only in a process without
 * other children. Raises search.failed if another process builds it, or it cannot be built;
 * search.embedding_failed; io.*; internal.*.
 */
FW_NODISCARD fw_error *fw_semantic_build(struct fw_semantic_build *build);

enum fw_semantic_state {
	FW_SEMANTIC_STATE_ABSENT,
	FW_SEMANTIC_STATE_BUILDING, /* for the first time */
	FW_SEMANTIC_STATE_READY,
	FW_SEMANTIC_STATE_UPDATING,
	FW_SEMANTIC_STATE_CORRUPT,
	FW_SEMANTIC_STATE_OTHER_VERSION,
	FW_SEMANTIC_STATE_UNREADABLE
};
const char *fw_semantic_state_name(enum fw_semantic_state state);

struct fw_semantic_status {
	enum fw_semantic_state state;
	size_t files, chunks, commits, dims;
	uint64_t source_bytes, index_bytes, data_bytes;
	int64_t created_ms;
	char embedder[160];
	char commit[72];
};
void fw_semantic_status(const char *directory, struct fw_semantic_status *ret_status);

/* Deletes it. Raises search.failed while it is being built, io.*. */
FW_NODISCARD fw_error *fw_semantic_drop(const char *directory, bool *ret_was_there);

/* Does a process build the index in this directory now? */
bool fw_semantic_is_building(int directory);
/* Keeps other processes from building or deleting it until the descriptor is closed. Raises
 * search.failed if one does already, io.*. */
FW_NODISCARD fw_error *fw_semantic_lock(int directory, int *ret_fd);
/* From now on until the process ends, fw_semantic_drop() leaves the directory itself: workers are
 * confined to this one, and could not use another one of the same name. */
void fw_semantic_directory_hold(const char *directory);

#define FW_SEMANTIC_SNAPSHOT_NAME "snapshot"
/* The analysis of the repository itself (lsa.h). */
#define FW_SEMANTIC_OWN_EMBEDDER "lsa-64"

#endif
