/*
 * changes.h - changes of several files, all or none of them, even if the machine
 * crashes.
 *
 *	fw_ws_changes_begin	the new files are written, not visible yet
 *	fw_ws_changes_apply	each is exchanged with the old one
 *	fw_ws_changes_keep	the changes are final; or
 *	fw_ws_changes_undo	the old files are restored
 *
 * From the beginning to the end there is one entry in the journal (journal.h), and the
 * rename of that entry makes all of the changes final at once. Recovery undoes changes
 * whose entry is pending and keeps those whose entry is done.
 *
 * The one rule to remember: hold the write lock (write_lock.h) from before the old
 * content is read until the changes are kept or undone.
 */
#ifndef FW_TOOLS_WORKSPACE_CHANGES_H
#define FW_TOOLS_WORKSPACE_CHANGES_H

#include "base/limits.h"
#include "tools/workspace/change.h"

struct fw_ws_changes {
	const struct fw_root *root;
	/* Directory for entries that commands cannot write; NULL: the entries are kept
	 * in the workspace. */
	const char *trusted;
	uint64_t server; /* its number (write_lock.h); 0: none */
	struct fw_ws_change *list;
	size_t count;
	const char *directory; /* to be created, with its parents; NULL: none */
	/* The rest is private. Directories that do not exist yet: those of new files, too.
	 * Parents come first. */
	char *directories[FW_LIMIT_WORKSPACE_DIRECTORIES];
	size_t directory_count;
	size_t made_count; /* of these, how many were created */
	int entries;       /* the directory of the entry */
	int journal;       /* the directory of files that are not in their place */
	char id[FW_WS_ID_SIZE];
};

#define FW_WS_CHANGES_INIT                    \
	{                                     \
		.entries = -1, .journal = -1, \
	}

/* Each undoes what it did if it fails. They raise file.write_failed, io.no_space,
 * auth.insufficient_permissions...; file.hash_mismatch if another process has just
 * changed a file, file.already_exists if another process has created it. */
FW_NODISCARD fw_error *fw_ws_changes_begin(struct fw_ws_changes *set);
FW_NODISCARD fw_error *fw_ws_changes_apply(struct fw_ws_changes *set);
/* The journal entry stays until fw_ws_journal_drop(). */
FW_NODISCARD fw_error *fw_ws_changes_keep(struct fw_ws_changes *set);
/* Raises governance.invariant_violation if old content could not be restored. */
FW_NODISCARD fw_error *fw_ws_changes_undo(struct fw_ws_changes *set);
/* Frees what it holds; nothing on the disk changes. */
void fw_ws_changes_clear(struct fw_ws_changes *set);

#endif
