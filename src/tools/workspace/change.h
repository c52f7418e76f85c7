/*
 * change.h - one change of one file: a step of a set of changes (changes.h).
 *
 *	fw_ws_change_stage	the new file is written under a temporary name
 *	fw_ws_change_apply	it is exchanged with the old one and becomes visible
 *	fw_ws_change_settle	the old file is removed; or
 *	fw_ws_change_undo	the old file is restored
 *
 * The one rule to remember: the journal (journal.h) has an entry before the first step.
 */
#ifndef FW_TOOLS_WORKSPACE_CHANGE_H
#define FW_TOOLS_WORKSPACE_CHANGE_H

#include "tools/common/place.h"
#include "tools/workspace/file_ops.h"

enum { FW_WS_TEMP_SIZE = 48 };

struct fw_ws_change {
	struct fw_place *place;
	const char *text; /* NULL: delete the file */
	size_t len;
	const char *old_text; /* NULL: the file does not exist */
	size_t old_len;
	const struct stat *like; /* a new file gets the mode of this one; NULL: the default */
	/* The rest is private to change.c and changes.c. */
	int aside;                  /* directory of `temp`: the journal, or else place->dir */
	char temp[FW_WS_TEMP_SIZE]; /* the new file, and after the exchange the old one */
	bool has_temp;
	bool is_applied;
	bool is_exchanged; /* the file that was there is now `temp` */
	bool is_old_aside; /* and it is the one that was read */
};

/* `journal` is the directory for files that are not in their place. */
FW_NODISCARD fw_error *fw_ws_change_stage(struct fw_ws_change *w, int journal);
/* On failure the file may be exchanged already; undo it. */
FW_NODISCARD fw_error *fw_ws_change_apply(struct fw_ws_change *w);
void fw_ws_change_settle(struct fw_ws_change *w);
/* Takes a change back, however far it came, also if a command has removed or replaced
 * the directory of the file. False: the old content could not be restored. */
bool fw_ws_change_undo(const struct fw_root *root, struct fw_ws_change *w);

#endif
