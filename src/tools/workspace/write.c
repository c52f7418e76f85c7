/*
 * write.c - see write.h.
 *
 * The two files change places in one step (RENAME_EXCHANGE), across folders: the
 * other one lies in .faultwire/, where no command that looks at the work meets
 * it. What came out is then looked at once more: if it is not the file that was read, somebody wrote
 * it meanwhile, and they are changed back. File systems that cannot exchange
 * get a link to the old file and an ordinary rename instead.
 */
#include "tools/workspace/write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "tools/common/file.h"
#include "tools/workspace/journal.h"

#include <faultwire/raise.h>
#include <faultwire/raw.h>

/* ---- the lock of the workspace --------------------------------------------------- */

fw_error *fw_ws_lock(const struct fw_root *root, uint32_t patience_ms, int *ret_lock)
{
	const struct timespec pause = { .tv_nsec = 5 * 1000 * 1000 };
	uint32_t waited = 0;
	int fd = openat(root->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int error = errno;

	if (fd < 0)
		return fw_path_errno(error, root->path, true);
	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		error = errno;
		if (error != EWOULDBLOCK && error != EINTR) {
			(void)close(fd);
			return fw_path_errno(error, root->path, true);
		}
		if (waited >= patience_ms) {
			(void)close(fd);
			return fw_raise_runtime_timeout(patience_ms);
		}
		(void)nanosleep(&pause, NULL);
		waited += 5;
	}
	*ret_lock = fd;
	return NULL;
}

void fw_ws_unlock(int lock)
{
	if (lock >= 0)
		(void)close(lock);
}

/* ---- the new file -------------------------------------------------------------------- */

static fw_error *write_all(int fd, const char *text, size_t len, const char *path)
{
	while (len) {
		ssize_t put = write(fd, text, len);

		if (put < 0) {
			int error = errno;

			if (error == EINTR)
				continue;
			return fw_path_errno(error, path, true);
		}
		text += put;
		len -= (size_t)put;
	}
	return NULL;
}

/* Mode and owner are those of the file that it takes the place of. */
static fw_error *take_over(int fd, const struct fw_place *place)
{
	struct stat st;

	if (!place->exists)
		return NULL;
	if (fstat(fd, &st) != 0)
		return fw_path_errno(errno, place->path, true);
	if ((st.st_uid != place->stat.st_uid || st.st_gid != place->stat.st_gid) &&
	    fchown(fd, place->stat.st_uid, place->stat.st_gid) != 0)
		return fw_path_errno(errno, place->path, true);
	if (fchmod(fd, place->stat.st_mode & 07777) != 0)
		return fw_path_errno(errno, place->path, true);
	return NULL;
}

fw_error *fw_ws_make_temp(const struct fw_place *place, const char *temp, const char *text,
			  size_t len)
{
	fw_error *err;
	int error;
	int fd = openat(place->dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			place->exists ? 0600 : 0666);

	error = errno;
	if (fd < 0)
		return fw_path_errno(error, place->path, true);
	err = write_all(fd, text, len, place->path);
	if (!err)
		err = take_over(fd, place);
	FW_WS_STEP("written");
	if (!err && fsync(fd) != 0)
		err = fw_path_errno(errno, place->path, true);
	/* Some file systems tell of a full disk only here. */
	if (close(fd) != 0 && !err)
		err = fw_path_errno(errno, place->path, true);
	if (err)
		(void)unlinkat(place->dir, temp, 0);
	return err;
}

fw_error *fw_ws_put_file(const struct fw_place *place, const char *text, size_t len)
{
	char random[FW_WS_ID_SIZE];
	char temp[40];
	int error;

	fw_ws_random_hex(random, sizeof random);
	(void)snprintf(temp, sizeof temp, FW_WS_TEMP_FORMAT, random);
	FW_TRY(fw_ws_make_temp(place, temp, text, len));
	if (renameat(place->dir, temp, place->dir, place->name) != 0) {
		error = errno;
		(void)unlinkat(place->dir, temp, 0);
		return fw_path_errno(error, place->path, true);
	}
	if (fsync(place->dir) != 0)
		return fw_path_errno(errno, place->path, true);
	return NULL;
}

/* ---- changing places ------------------------------------------------------------------ */

static bool can_not(int error)
{
	return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP;
}

int fw_ws_exchange(int dir_a, const char *a, int dir_b, const char *b)
{
	char third[48];
	int error;

	if (renameat2(dir_a, a, dir_b, b, RENAME_EXCHANGE) == 0)
		return 0;
	error = errno;
	if (!can_not(error))
		return error;
	/* `b` is never without a file; `a` is for a moment. */
	(void)snprintf(third, sizeof third, "%.39s.x", a);
	if (linkat(dir_b, b, dir_a, third, 0) != 0)
		return errno;
	if (renameat(dir_a, a, dir_b, b) != 0) {
		error = errno;
		(void)unlinkat(dir_a, third, 0);
		return error;
	}
	return renameat(dir_a, third, dir_a, a) == 0 ? 0 : errno;
}

int fw_ws_move_new(int from_dir, const char *from, int to_dir, const char *to)
{
	if (renameat2(from_dir, from, to_dir, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (!can_not(errno))
		return errno;
	if (linkat(from_dir, from, to_dir, to, 0) != 0)
		return errno;
	(void)unlinkat(from_dir, from, 0);
	return 0;
}

/* Is what was displaced the file whose content was read? */
static bool is_as_read(const struct fw_ws_write *w)
{
	const struct stat *then = &w->place->stat;
	struct stat now;

	return fstatat(w->aside, w->temp, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	       now.st_ino == then->st_ino && now.st_dev == then->st_dev &&
	       now.st_size == then->st_size && now.st_mtim.tv_sec == then->st_mtim.tv_sec &&
	       now.st_mtim.tv_nsec == then->st_mtim.tv_nsec;
}

static fw_error *changed_meanwhile(const struct fw_ws_write *w)
{
	char expected[FW_WS_HEX_SIZE];

	fw_ws_sha256(w->old_text, w->old_len, expected);
	return fw_raise_file_hash_mismatch(w->place->path, expected, "another, just written");
}

/* ---- the steps of a change -------------------------------------------------------------- */

/* With the mode and owner of the place, in the folder that is for it. */
static fw_error *make_new(struct fw_ws_write *w)
{
	struct fw_place there = *w->place;
	fw_error *err;

	there.dir = w->aside;
	err = fw_ws_make_temp(&there, w->temp, w->text, w->len);
	w->has_temp = !err;
	return err;
}

fw_error *fw_ws_write_begin(struct fw_ws_write *w)
{
	fw_error *err;

	w->journal = -1;
	w->has_temp = w->is_applied = w->is_exchanged = w->is_old_aside = false;
	fw_ws_random_hex(w->id, sizeof w->id);
	(void)snprintf(w->temp, sizeof w->temp, FW_WS_TEMP_FORMAT, w->id);
	FW_WS_STEP("begin");
	FW_TRY(fw_root_open_dir(w->root, FW_WS_JOURNAL_DIR, true, &w->journal));
	/* What nobody saw yet gets its group and rights from its own folder. */
	w->aside = w->place->exists ? w->journal : w->place->dir;
	err = fw_ws_journal_enter(w);
	FW_WS_STEP("journal");
	if (!err && w->text)
		err = make_new(w);
	FW_WS_STEP("temp");
	if (err)
		fw_ws_journal_erase(w->journal, w->id);
	return err;
}

static int change_places(const struct fw_ws_write *w)
{
	const struct fw_place *place = w->place;

	if (!w->text) /* away with it */
		return fw_ws_move_new(place->dir, place->name, w->aside, w->temp);
	if (!place->exists)
		return fw_ws_move_new(w->aside, w->temp, place->dir, place->name);
	return fw_ws_exchange(w->aside, w->temp, place->dir, place->name);
}

/* Another file system, or a kernel whose sandbox keeps files in their folders:
 * then both lie beside each other. */
static fw_error *stay_beside(struct fw_ws_write *w)
{
	if (w->has_temp)
		(void)unlinkat(w->aside, w->temp, 0);
	w->has_temp = false;
	w->aside = w->place->dir;
	return w->text ? make_new(w) : NULL;
}

static fw_error *apply(struct fw_ws_write *w)
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

fw_error *fw_ws_write_apply(struct fw_ws_write *w)
{
	fw_error *err = apply(w);

	if (err) {
		fw_error *worse = fw_ws_write_undo(w);

		if (worse)
			return fw_error_caused_by(worse, err);
	}
	return err;
}

fw_error *fw_ws_write_keep(struct fw_ws_write *w)
{
	fw_error *err = fw_ws_journal_mark_done(w->journal, w->id, w->place->path);

	if (err) {
		fw_error *worse = fw_ws_write_undo(w);

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
static int put_old_again(const struct fw_ws_write *w)
{
	fw_error *err = fw_ws_put_file(w->place, w->old_text, w->old_len);

	fw_error_free(err);
	return err ? ENOENT : 0;
}

/* A command that ran meanwhile may also have changed what lay aside. */
static bool is_old_there(const struct fw_ws_write *w)
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

static int bring_back(const struct fw_ws_write *w)
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
		error = fw_ws_move_new(w->aside, w->temp, place->dir, place->name);
	else
		error = fw_ws_exchange(w->aside, w->temp, place->dir, place->name);
	if (error == ENOENT || error == EEXIST)
		return put_old_again(w);
	return error || !w->is_old_aside || is_old_there(w) ? error : put_old_again(w);
}

fw_error *fw_ws_write_undo(struct fw_ws_write *w)
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
	fw_ws_journal_erase(w->journal, w->id);
	return NULL;
}

void fw_ws_write_clear(struct fw_ws_write *w)
{
	if (w->journal >= 0)
		(void)close(w->journal);
	w->journal = -1;
}
