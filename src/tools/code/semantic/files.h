/*
 * files.h - the first part of a build: the files of a repository and the records of what
 * has changed in them since the last build.
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_FILES_H
#define FW_TOOLS_CODE_SEMANTIC_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

#include "tools/code/repo.h"
#include "tools/code/semantic/data.h"

struct fw_semantic_reading {
	const struct fw_code_place *place;
	struct fw_semantic_data *data;
	unsigned threads;
	bool (*is_cancelled)(void *ctx);
	/* Files that are done, of how many; bytes that were read. */
	void (*progress)(void *ctx, uint64_t done, uint64_t total, uint64_t bytes);
	void *ctx;
	/* Results. */
	size_t changed; /* files that are new, different or gone */
	uint64_t bytes; /* that were read */
};

/* Brings the tables of files and records up to date, in transactions of some files each: what
 * is done stays done if the process is killed. */
FW_NODISCARD fw_error *fw_semantic_files_update(struct fw_semantic_reading *reading);

#endif
