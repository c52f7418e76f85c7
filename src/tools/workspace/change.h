/*
 * change.h - one change of one file, all or nothing, even if the machine crashes.
 *
 *	fw_ws_change_begin	the new file is written to .faultwire/journal/
 *	fw_ws_change_apply	it is exchanged with the old one and becomes visible
 *	fw_ws_change_keep	the change is final; or
 *	fw_ws_change_undo	the old file is restored
 *
 * From the beginning to the end there is an entry in the journal (journal.h). Recovery
 * undoes a change whose entry is pending and keeps one whose entry is done.
 *
 * The one rule to remember: hold the write lock (write_lock.h) from before the old
 * content is read until the change is kept or undone.
 */
#ifndef FW_TOOLS_WORKSPACE_CHANGE_H
#define FW_TOOLS_WORKSPACE_CHANGE_H

#include "tools/common/place.h"
#include "tools/workspace/file_ops.h"

struct fw_ws_change {
	const struct fw_root *root;
	const struct fw_place *place;
	const char *text; /* NULL: delete the file */
	size_t len;
	const char *old_text; /* NULL: the file does not exist */
	size_t old_len;
	/* The rest is private to change.c and journal.c. */
	int journal; /* the directory */
	char id[FW_WS_ID_SIZE];
	int aside;     /* directory of `temp`: the journal, or else place->dir */
	char temp[40]; /* the new file, and after the exchange the old one */
	bool has_temp;
	bool is_applied;
	bool is_exchanged; /* the file that was there is now `temp` */
	bool is_old_aside; /* and it is the one that was read */
};

/* Each undoes what it did if it fails. They raise file.write_failed, io.no_space,
 * auth.insufficient_permissions...; file.hash_mismatch if another process has just
 * changed the file, file.already_exists if another process has created it. */
FW_NODISCARD fw_error *fw_ws_change_begin(struct fw_ws_change *w);
FW_NODISCARD fw_error *fw_ws_change_apply(struct fw_ws_change *w);
/* The journal entry stays until fw_ws_journal_drop(). */
FW_NODISCARD fw_error *fw_ws_change_keep(struct fw_ws_change *w);
FW_NODISCARD fw_error *fw_ws_change_undo(struct fw_ws_change *w);
/* Closes its descriptors; nothing on the disk changes. */
void fw_ws_change_clear(struct fw_ws_change *w);

#endif
