/*
 * build.h - the parts of a build: the sources, and directories that come and go.
 */
#ifndef FW_TOOLS_CONTEXT_BUILD_H
#define FW_TOOLS_CONTEXT_BUILD_H

#include "tools/context/impl.h"

struct fw_source {
	char *path; /* below the sources */
	size_t path_len;
	char *id; /* of malloc() */
	size_t id_len;
	uint64_t size;
	char version[FW_VERSION_LEN + 1];
	char file[FW_FILE_LEN + 1];
};

struct fw_sources {
	int dir;
	struct fw_source *items;
	size_t count;
	size_t room;
	uint64_t bytes;
	size_t links;
};

/* Every .md below `path`, in the order of ids. Clear it in any case. */
FW_NODISCARD fw_error *fw_sources_find(const char *path, struct fw_sources *ret_sources);
void fw_sources_clear(struct fw_sources *sources);

/* ---- a directory that is made beside another and takes its place (staging.c) ---- */

struct fw_staging {
	int parent;
	int dir;        /* the new directory */
	int documents;  /* below it */
	char name[256]; /* of the directory to be */
	char temporary[300];
	bool is_made;
};

/* Raises file.already_exists where something is in the way that may not, or
 * cannot, be replaced. Removes what builds that were killed have left. */
FW_NODISCARD fw_error *fw_staging_start(const char *path, bool force,
					struct fw_staging *staging);
/* On disk, and in its place, in one step. */
FW_NODISCARD fw_error *fw_staging_commit(struct fw_staging *staging, bool force, bool is_large);
/* Whatever is left of it goes. */
void fw_staging_end(struct fw_staging *staging);
/* Writes a file below `dir`; with `sync` it is on disk afterwards. */
FW_NODISCARD fw_error *fw_staging_write(int dir, const char *name, const char *text, size_t len,
					bool sync);

#endif
