/*
 * staging.h - a new directory that is filled under a temporary name and then
 * renamed to its place in one step.
 */
#ifndef FW_TOOLS_CONTEXT_STAGING_H
#define FW_TOOLS_CONTEXT_STAGING_H

#include <stdbool.h>
#include <stddef.h>

#include <faultwire/error.h>

struct fw_context_staging {
	int parent;
	int dir;        /* the new directory */
	int documents;  /* the directory of documents in it */
	char name[256]; /* final name */
	char temporary[300];
	bool is_made;
};

/* Creates the temporary directory. Raises file.already_exists if the final name is
 * taken by something that may not, or cannot, be replaced. Removes temporary
 * directories of builds that were killed. */
FW_NODISCARD fw_error *fw_context_staging_start(const char *path, bool force,
						struct fw_context_staging *staging);
/* Syncs the directory with all its files to disk, then renames it to its final name.
 * `is_large`: by syncing the whole file system. */
FW_NODISCARD fw_error *fw_context_staging_commit(struct fw_context_staging *staging, bool force,
						 bool is_large);
/* Removes the temporary directory, if it is still there, and closes everything. */
void fw_context_staging_end(struct fw_context_staging *staging);
/* Writes a new file in `dir`; it is on the disk when the directory is committed. */
FW_NODISCARD fw_error *fw_context_staging_write(int dir, const char *name, const char *text,
						size_t len);

#endif
