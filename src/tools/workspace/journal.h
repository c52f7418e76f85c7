/*
 * journal.h - the notes of changes under way, between write.c and journal.c.
 *
 * An entry is a file ".faultwire/journal/<id>.pending", or ".done" once the
 * change is to stay.
 *
 * The one rule to remember: an entry is on the disk before what it is about is.
 */
#ifndef FW_TOOLS_WORKSPACE_JOURNAL_H
#define FW_TOOLS_WORKSPACE_JOURNAL_H

#include "tools/workspace/write.h"

FW_NODISCARD fw_error *fw_ws_journal_enter(const struct fw_ws_write *w);
FW_NODISCARD fw_error *fw_ws_journal_mark_done(int journal, const char *id, const char *path);
void fw_ws_journal_erase(int journal, const char *id);

/* Of write.c. Each returns 0 or an errno. */
int fw_ws_exchange(int dir_a, const char *a, int dir_b, const char *b);
int fw_ws_move_new(int from_dir, const char *from, int to_dir, const char *to);
FW_NODISCARD fw_error *fw_ws_make_temp(const struct fw_place *place, const char *temp,
				       const char *text, size_t len);

#endif
