/*
 * sources.h - the files that a cache is built from.
 */
#ifndef FW_TOOLS_CONTEXT_SOURCES_H
#define FW_TOOLS_CONTEXT_SOURCES_H

#include "tools/context/format.h"

struct fw_context_source {
	char *path; /* relative to the directory of sources */
	size_t path_len;
	char *id; /* from malloc() */
	size_t id_len;
	uint64_t size;
	char version[FW_CONTEXT_VERSION_LEN + 1];
	char file[FW_CONTEXT_FILE_LEN + 1];
};

struct fw_context_sources {
	int dir;
	struct fw_context_source *items;
	size_t count;
	size_t room;
	uint64_t bytes;
	size_t links; /* symbolic links to .md files, which are skipped */
};

/* Every .md file below `path`, sorted by id. Clear `ret_sources` also on failure. */
FW_NODISCARD fw_error *fw_context_sources_find(const char *path,
					       struct fw_context_sources *ret_sources);
void fw_context_sources_clear(struct fw_context_sources *sources);

#endif
