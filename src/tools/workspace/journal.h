/*
 * journal.h - notes about unfinished changes, for recovery after a crash.
 *
 * An entry is a file ".faultwire/journal/<id>.pending", renamed to ".done" once the
 * change is final.
 *
 * The one rule to remember: the entry is on the disk before the change is.
 */
#ifndef FW_TOOLS_WORKSPACE_JOURNAL_H
#define FW_TOOLS_WORKSPACE_JOURNAL_H

#include "base/buf.h"
#include "tools/workspace/change.h"

#define FW_WS_OWN_DIR ".faultwire"
#define FW_WS_JOURNAL_DIR ".faultwire/journal"

/* ---- for change.c ---- */

FW_NODISCARD fw_error *fw_ws_journal_add(const struct fw_ws_change *w);
FW_NODISCARD fw_error *fw_ws_journal_mark_done(int journal, const char *id, const char *path);
void fw_ws_journal_remove(int journal, const char *id);

/* ---- for everyone ---- */

/* Removes the entry of a final change, once the client knows about it. */
void fw_ws_journal_drop(const struct fw_root *root, const char *id);

/*
 * Undoes pending changes and keeps final ones. Appends what it found as members of a
 * JSON array: {"path","outcome":"old"|"new","sha256"}. Hold the write lock.
 */
FW_NODISCARD fw_error *fw_ws_journal_recover(const struct fw_root *root,
					     struct fw_buf *ret_list, size_t *ret_count);

/* The same before a read, if there is a pending change and no process holds the
 * write lock. Never waits, never fails. */
void fw_ws_journal_try_recover(const struct fw_root *root, struct fw_buf *ret_list);

#endif
