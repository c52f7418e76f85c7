/*
 * journal.h - notes about unfinished changes, for recovery after a crash.
 *
 * An entry is a file "<id>.pending", renamed to ".done" once its changes are final. It
 * is a line of JSON, and after it the old content of the files, one after another:
 *
 *	{"root","server","files":[{"path","temp","old","new","size"}],"directories":[...]}
 *
 * "root" is the identity of the workspace: in a directory that was created later at the
 * same path, nothing is restored. "server" is the number of the server (write_lock.h),
 * "old" and "new" are SHA-256 or null, "size" is the number of bytes of the old content
 * that follow, "directories" are those that the changes create.
 *
 * Entries are kept in <trusted>/journal/<key of the root>/, which commands cannot write
 * (trusted.h), or without a state directory in .faultwire/journal/ of the workspace.
 * There the files that are not in their place are kept in any case, because a file can be
 * exchanged only within its file system; recovery compares them with the hashes, and
 * uses the content in the entry if they do not match.
 *
 * The one rule to remember: the entry is on the disk before the change is.
 */
#ifndef FW_TOOLS_WORKSPACE_JOURNAL_H
#define FW_TOOLS_WORKSPACE_JOURNAL_H

#include "base/buf.h"
#include "tools/workspace/changes.h"

#define FW_WS_OWN_DIR ".faultwire"
#define FW_WS_JOURNAL_DIR ".faultwire/journal"

enum { FW_WS_ENTRY_BYTES = 2 * 1024 * 1024 }; /* of its JSON */

/* Opens the directory of entries, or with `trusted` NULL the one in the workspace. Raises
 * path.not_found if it does not exist and `make` is false. */
FW_NODISCARD fw_error *fw_ws_journal_open(const struct fw_root *root, const char *trusted,
					  bool make, int *ret_dir);

/* ---- for changes.c ---- */

FW_NODISCARD fw_error *fw_ws_journal_add(const struct fw_ws_changes *set);
FW_NODISCARD fw_error *fw_ws_journal_mark_done(int entries, const char *id, const char *path);
void fw_ws_journal_remove(int entries, const char *id);
/* Removes a directory below the root if it is empty. */
void fw_ws_journal_remove_directory(const struct fw_root *root, const char *path);

/* ---- for everyone ---- */

/* The SHA-256 of a content as a JSON string; null if `text` is NULL: a missing file. */
void fw_ws_put_hash(struct fw_buf *out, const char *text, size_t len);

/* Removes the entry of final changes, once the client knows about them. */
void fw_ws_journal_drop(const struct fw_root *root, const char *trusted, const char *id);

/*
 * Undoes pending changes and keeps final ones. Appends what it found as members of a
 * JSON array: {"path","outcome":"old"|"new"|"not restored","sha256"}. If another process
 * has changed a file meanwhile, the old content is restored and the other content kept:
 * "kept" is its path. If the old content cannot be restored to its place, "kept" is the
 * path of the old content. Entries of final changes whose server is running are left
 * to it: it has yet to answer the call. Hold the write lock.
 */
FW_NODISCARD fw_error *fw_ws_journal_recover(const struct fw_root *root, const char *trusted,
					     struct fw_buf *ret_list, size_t *ret_count);

/* The same before a read, if there is a pending change and no process holds the
 * write lock. Never waits, never fails. */
void fw_ws_journal_try_recover(const struct fw_root *root, const char *trusted,
			       struct fw_buf *ret_list);

#endif
