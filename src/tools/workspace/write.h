/*
 * write.h - one change of one file, all or nothing, also for whoever pulls the
 * plug.
 *
 *	fw_ws_write_begin	the new file lies in .faultwire/journal/, on the disk
 *	fw_ws_write_apply	they have changed places: the new one is seen
 *	fw_ws_write_keep	it stays; or
 *	fw_ws_write_undo	the old one comes back
 *
 * A journal entry in .faultwire/journal/ says from the beginning to the end
 * what is going on. Whoever finds one that is pending undoes it, whoever finds
 * one that is done leaves the new file where it is.
 *
 * The one rule to remember: hold the lock of the workspace from before the old
 * content is read until the change is kept or undone.
 */
#ifndef FW_TOOLS_WORKSPACE_WRITE_H
#define FW_TOOLS_WORKSPACE_WRITE_H

#include "base/buf.h"
#include "tools/workspace/digest.h"
#include "tools/common/place.h"

#define FW_WS_OWN_DIR ".faultwire"
#define FW_WS_JOURNAL_DIR ".faultwire/journal"
#define FW_WS_TEMP_FORMAT ".faultwire-%s.tmp"

enum { FW_WS_ID_SIZE = 17, FW_WS_LOCK_MS = 30000 };

/* One writer at a time in a workspace, whatever its process; a dead one never
 * blocks. Raises runtime.timeout, auth.insufficient_permissions. */
FW_NODISCARD fw_error *fw_ws_lock(const struct fw_root *root, uint32_t patience_ms,
				  int *ret_lock);
void fw_ws_unlock(int lock);

struct fw_ws_write {
	const struct fw_root *root;
	const struct fw_place *place;
	const char *text; /* NULL: the file goes away */
	size_t len;
	const char *old_text; /* NULL: there is none */
	size_t old_len;
	/* From here on: write.c's own. */
	int journal; /* the directory */
	char id[FW_WS_ID_SIZE];
	int aside;     /* the journal, or where that cannot be: place->dir */
	char temp[40]; /* the other file, in there */
	bool has_temp;
	bool is_applied;
	bool is_exchanged; /* the file that was there lies in `temp` */
	bool is_old_aside; /* and it is the one that was read */
};

/* Each undoes what it did when it fails. Raise file.write_failed, io.no_space,
 * auth.insufficient_permissions..., file.hash_mismatch where somebody else has
 * just changed the file, file.already_exists where somebody made it. */
FW_NODISCARD fw_error *fw_ws_write_begin(struct fw_ws_write *w);
FW_NODISCARD fw_error *fw_ws_write_apply(struct fw_ws_write *w);
/* The journal's entry stays until fw_ws_journal_drop(). */
FW_NODISCARD fw_error *fw_ws_write_keep(struct fw_ws_write *w);
FW_NODISCARD fw_error *fw_ws_write_undo(struct fw_ws_write *w);
/* Closes what it holds; nothing on the disk changes. */
void fw_ws_write_clear(struct fw_ws_write *w);

/* The change is known to all who must know: its entry can go. */
void fw_ws_journal_drop(const struct fw_root *root, const char *id);

/*
 * What was under way when somebody died is undone or left, and told, as members
 * of a JSON array: {"path","outcome":"old"|"new","sha256"}. With the lock.
 */
FW_NODISCARD fw_error *fw_ws_journal_recover(const struct fw_root *root,
					     struct fw_buf *ret_list, size_t *ret_count);

/* The same before a read: only where something is pending and nobody is at work
 * on it. Never waits, never fails. */
void fw_ws_journal_tidy(const struct fw_root *root, struct fw_buf *ret_list);

/* A file with this content, made or replaced in one step, without a journal:
 * for files of which nobody has a right to the old content. */
FW_NODISCARD fw_error *fw_ws_put_file(const struct fw_place *place, const char *text,
				      size_t len);

/* A step of a change, for tests that stop there; nothing in the product. */
#ifdef FW_TEST_HOOKS
void fw_ws_test_step(const char *name);
#define FW_WS_STEP(name) fw_ws_test_step(name)
#else
#define FW_WS_STEP(name) ((void)0)
#endif

#endif
