/*
 * change.c - see change.h.
 *
 * The new and the old file are exchanged in one step (RENAME_EXCHANGE). The other file
 * is kept in .faultwire/, where commands that look at the workspace do not find it.
 * After the exchange the displaced file is checked: if it is not the one that was
 * read, another process has written it meanwhile, and the exchange is undone.
 */
#include "tools/workspace/change.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/id.h"
#include "base/mem.h"
#include "tools/common/file.h"
#include "tools/workspace/journal.h"

#include <faultwire/raise.h>

/* Is what was displaced the file whose content was read? */
static bool is_as_read(const struct fw_ws_change *w)
{
	const struct stat *then = &w->place->stat;
	struct stat now;

	return fstatat(w->aside, w->temp, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	       now.st_ino == then->st_ino && now.st_dev == then->st_dev &&
	       now.st_size == then->st_size && now.st_mtim.tv_sec == then->st_mtim.tv_sec &&
	       now.st_mtim.tv_nsec == then->st_mtim.tv_nsec;
}

static fw_error *changed_meanwhile(const struct fw_ws_change *w)
{
	char expected[FW_SHA256_TEXT];

	fw_sha256_text(w->old_text, w->old_len, expected);
	return fw_raise_file_hash_mismatch(w->place->path, expected, "another, just written");
}

/* ---- the steps of a change -------------------------------------------------------------- */

/* With the mode and owner of the place, in the folder that is for it. */
static fw_error *make_new(struct fw_ws_change *w)
{
	struct fw_place there = *w->place;
	fw_error *err;

	there.dir = w->aside;
	err = fw_ws_file_create(&there, w->temp, w->text, w->len);
	w->has_temp = !err;
	return err;
}

fw_error *fw_ws_change_begin(struct fw_ws_change *w)
{
	fw_error *err;

	w->journal = -1;
	w->has_temp = w->is_applied = w->is_exchanged = w->is_old_aside = false;
	fw_random_hex(w->id, sizeof w->id);
	(void)snprintf(w->temp, sizeof w->temp, FW_WS_TEMP_FORMAT, w->id);
	FW_WS_STEP("begin");
	FW_TRY(fw_root_open_dir(w->root, FW_WS_JOURNAL_DIR, true, &w->journal));
	/* What nobody saw yet gets its group and rights from its own folder. */
	w->aside = w->place->exists ? w->journal : w->place->dir;
	err = fw_ws_journal_add(w);
	FW_WS_STEP("journal");
	if (!err && w->text)
		err = make_new(w);
	FW_WS_STEP("temp");
	if (err)
		fw_ws_journal_remove(w->journal, w->id);
	return err;
}

static int change_places(const struct fw_ws_change *w)
{
	const struct fw_place *place = w->place;

	if (!w->text) /* away with it */
		return fw_ws_file_move(place->dir, place->name, w->aside, w->temp);
	if (!place->exists)
		return fw_ws_file_move(w->aside, w->temp, place->dir, place->name);
	return fw_ws_file_exchange(w->aside, w->temp, place->dir, place->name);
}

/* Another file system, or a kernel whose sandbox keeps files in their folders:
 * then both lie beside each other. */
static fw_error *stay_beside(struct fw_ws_change *w)
{
	if (w->has_temp)
		(void)unlinkat(w->aside, w->temp, 0);
	w->has_temp = false;
	w->aside = w->place->dir;
	return w->text ? make_new(w) : NULL;
}

static fw_error *apply(struct fw_ws_change *w)
{
	int error = change_places(w);

	if (error == EXDEV && w->aside != w->place->dir) {
		FW_TRY(stay_beside(w));
		error = change_places(w);
	}
	FW_WS_STEP("applied");
	if (error == EEXIST)
		return fw_raise_file_already_exists(w->place->path);
	if (error)
		return fw_path_errno(error, w->place->path, true);
	w->is_applied = true;
	w->has_temp = !w->text || w->place->exists;
	w->is_exchanged = w->place->exists;
	if (w->is_exchanged && !is_as_read(w))
		return changed_meanwhile(w);
	w->is_old_aside = w->is_exchanged;
	if (fsync(w->place->dir) != 0 || (w->aside != w->place->dir && fsync(w->aside) != 0))
		return fw_path_errno(errno, w->place->path, true);
	FW_WS_STEP("synced");
	return NULL;
}

fw_error *fw_ws_change_apply(struct fw_ws_change *w)
{
	fw_error *err = apply(w);

	if (err) {
		fw_error *worse = fw_ws_change_undo(w);

		if (worse)
			return fw_error_caused_by(worse, err);
	}
	return err;
}

fw_error *fw_ws_change_keep(struct fw_ws_change *w)
{
	fw_error *err = fw_ws_journal_mark_done(w->journal, w->id, w->place->path);

	if (err) {
		fw_error *worse = fw_ws_change_undo(w);

		return worse ? fw_error_caused_by(worse, err) : err;
	}
	FW_WS_STEP("done");
	if (w->has_temp)
		(void)unlinkat(w->aside, w->temp, 0);
	w->has_temp = false;
	FW_WS_STEP("kept");
	return NULL;
}

/* A command that ran meanwhile may have taken away what lay aside; what was
 * read of it is still known. */
static int put_old_again(const struct fw_ws_change *w)
{
	fw_error *err = fw_ws_file_put(w->place, w->old_text, w->old_len);

	fw_error_free(err);
	return err ? ENOENT : 0;
}

/* A command that ran meanwhile may also have changed what lay aside. */
static bool is_old_there(const struct fw_ws_change *w)
{
	const struct fw_place *place = w->place;
	int fd =
		openat(place->dir, place->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char *text = NULL;
	size_t len = 0;
	bool is_same = false;
	fw_error *err;

	if (fd < 0)
		return false;
	err = fw_file_read_all(fd, place->path, w->old_len, &text, &len);
	(void)close(fd);
	if (!err)
		is_same = len == w->old_len && memcmp(text, w->old_text, len) == 0;
	fw_error_free(err);
	fw__release(text);
	return is_same;
}

static int bring_back(const struct fw_ws_change *w)
{
	const struct fw_place *place = w->place;
	int error;

	if (!w->is_applied)
		return 0;
	if (!w->is_exchanged) {
		error = unlinkat(place->dir, place->name, 0) == 0 ? 0 : errno;
		return error == ENOENT ? 0 : error;
	}
	if (!w->text)
		error = fw_ws_file_move(w->aside, w->temp, place->dir, place->name);
	else
		error = fw_ws_file_exchange(w->aside, w->temp, place->dir, place->name);
	if (error == ENOENT || error == EEXIST)
		return put_old_again(w);
	return error || !w->is_old_aside || is_old_there(w) ? error : put_old_again(w);
}

fw_error *fw_ws_change_undo(struct fw_ws_change *w)
{
	FW_WS_STEP("undo");
	if (bring_back(w) != 0) /* the journal still says what to do */
		return fw_raise_governance_invariant_violation("OLD_CONTENT_COMES_BACK");
	/* What a command has made of the new one may be a folder. */
	if (w->has_temp && unlinkat(w->aside, w->temp, 0) != 0)
		(void)unlinkat(w->aside, w->temp, AT_REMOVEDIR);
	w->is_applied = w->has_temp = false;
	(void)fsync(w->place->dir);
	FW_WS_STEP("undone");
	fw_ws_journal_remove(w->journal, w->id);
	return NULL;
}

void fw_ws_change_clear(struct fw_ws_change *w)
{
	if (w->journal >= 0)
		(void)close(w->journal);
	w->journal = -1;
}
