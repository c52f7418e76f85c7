/*
 * changes.c - see changes.h.
 */
#include "tools/workspace/changes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/id.h"
#include "base/mem.h"
#include "tools/workspace/journal.h"
#include "tools/workspace/session.h"

#include <faultwire/raise.h>

/* ---- directories ---- */

static bool is_listed(const struct fw_ws_changes *set, const char *path)
{
	for (size_t i = 0; i < set->directory_count; i++)
		if (strcmp(set->directories[i], path) == 0)
			return true;
	return false;
}

/* Lists a directory that does not exist. */
static fw_error *list_directory(void *ctx, const char *path)
{
	struct fw_ws_changes *set = ctx;
	char *copy;

	if (is_listed(set, path))
		return NULL;
	if (set->directory_count == FW_LIMIT_WORKSPACE_DIRECTORIES)
		return fw_raise_path_invalid(path, "it needs too many new directories");
	copy = fw_strdup(path);
	if (!copy)
		return fw_raise_internal_out_of_memory();
	set->directories[set->directory_count++] = copy;
	return NULL;
}

/* Lists the directory and its parents, as far as they do not exist. */
static fw_error *list_missing(struct fw_ws_changes *set, const char *path)
{
	return fw_root_each_missing(set->root, path, list_directory, set);
}

static fw_error *list_directories(struct fw_ws_changes *set)
{
	char parent[FW_PATH_SIZE];

	if (set->directory)
		FW_TRY(list_missing(set, set->directory));
	for (size_t i = 0; i < set->count; i++) {
		if (set->list[i].place->dir >= 0)
			continue;
		(void)fw_path_split(set->list[i].place->path, parent);
		FW_TRY(list_missing(set, parent));
	}
	return NULL;
}

static fw_error *make_directory(const struct fw_ws_changes *set, const char *path)
{
	char parent[FW_PATH_SIZE];
	const char *name = fw_path_split(path, parent);
	int above = fw_root_open_beneath(set->root->fd, parent, O_RDONLY | O_DIRECTORY);
	int error = errno;

	if (above < 0)
		return fw_path_errno(error, path, true);
	error = mkdirat(above, name, 0777) != 0 || fsync(above) != 0 ? errno : 0;
	(void)close(above);
	if (error == EEXIST)
		return fw_raise_file_already_exists(path);
	return error ? fw_path_errno(error, path, true) : NULL;
}

/* The directory of a new file exists now. It must be where it was checked to be. */
static fw_error *find_new_place(const struct fw_ws_changes *set, struct fw_place *place)
{
	struct fw_place found = FW_PLACE_INIT;

	FW_TRY(fw_place_find(set->root, place->path, &found));
	if (found.exists || strcmp(found.path, place->path) != 0) {
		fw_place_clear(&found);
		return fw_raise_file_already_exists(place->path);
	}
	*place = found;
	return NULL;
}

static fw_error *make_directories(struct fw_ws_changes *set)
{
	for (; set->made_count < set->directory_count; set->made_count++)
		FW_TRY(make_directory(set, set->directories[set->made_count]));
	for (size_t i = 0; i < set->count; i++)
		if (set->list[i].place->dir < 0)
			FW_TRY(find_new_place(set, set->list[i].place));
	FW_WS_STEP("directories");
	return NULL;
}

/* A directory that is not empty stays: another process has written into it. */
static void remove_directories(struct fw_ws_changes *set)
{
	while (set->made_count)
		fw_ws_journal_remove_directory(set->root, set->directories[--set->made_count]);
}

/* ---- the steps ---- */

static const char *first_path(const struct fw_ws_changes *set)
{
	return set->count ? set->list[0].place->path : set->directory;
}

static fw_error *stage(struct fw_ws_changes *set)
{
	FW_TRY(make_directories(set));
	for (size_t i = 0; i < set->count; i++)
		FW_TRY(fw_ws_change_stage(&set->list[i], set->journal));
	return NULL;
}

/* Undoes everything that was done. */
static fw_error *give_up(struct fw_ws_changes *set, fw_error *err)
{
	fw_error *worse = fw_ws_changes_undo(set);

	return worse ? fw_error_caused_by(worse, err) : err;
}

fw_error *fw_ws_changes_begin(struct fw_ws_changes *set)
{
	fw_error *err;

	set->made_count = set->directory_count = 0;
	fw_random_hex(set->id, sizeof set->id);
	for (size_t i = 0; i < set->count; i++) {
		struct fw_ws_change *w = &set->list[i];

		w->has_temp = w->is_applied = w->is_exchanged = w->is_old_aside = false;
		(void)snprintf(w->temp, sizeof w->temp, ".faultwire-%s-%u.tmp", set->id,
			       (unsigned)i & 0xffff);
	}
	FW_WS_STEP("begin");
	FW_TRY(list_directories(set));
	FW_TRY(fw_ws_journal_open(set->root, NULL, true, &set->journal));
	FW_TRY(fw_ws_journal_open(set->root, set->trusted, true, &set->entries));
	FW_TRY(fw_ws_journal_add(set));
	FW_WS_STEP("journal");
	err = stage(set);
	FW_WS_STEP("staged");
	return err ? give_up(set, err) : NULL;
}

fw_error *fw_ws_changes_apply(struct fw_ws_changes *set)
{
	for (size_t i = 0; i < set->count; i++) {
		fw_error *err = fw_ws_change_apply(&set->list[i]);

		if (err)
			return give_up(set, err);
	}
	return NULL;
}

fw_error *fw_ws_changes_keep(struct fw_ws_changes *set)
{
	fw_error *err = fw_ws_journal_mark_done(set->entries, set->id, first_path(set));

	if (err)
		return give_up(set, err);
	FW_WS_STEP("done");
	for (size_t i = 0; i < set->count; i++)
		fw_ws_change_settle(&set->list[i]);
	FW_WS_STEP("kept");
	return NULL;
}

fw_error *fw_ws_changes_undo(struct fw_ws_changes *set)
{
	bool is_restored = true;

	FW_WS_STEP("undo");
	for (size_t i = set->count; i-- > 0;) {
		is_restored = fw_ws_change_undo(set->root, &set->list[i]) && is_restored;
		FW_WS_STEP("one undone");
	}
	remove_directories(set);
	if (!is_restored) /* the journal entry stays for recovery */
		return fw_ws_raise_invariant(FW_HERE, "OLD_CONTENT_COMES_BACK",
					     "the old content could not be restored");
	FW_WS_STEP("undone");
	fw_ws_journal_remove(set->entries, set->id);
	return NULL;
}

void fw_ws_changes_clear(struct fw_ws_changes *set)
{
	if (set->journal >= 0)
		(void)close(set->journal);
	if (set->entries >= 0)
		(void)close(set->entries);
	set->journal = set->entries = -1;
	for (size_t i = 0; i < set->directory_count; i++)
		fw__release(set->directories[i]);
	set->directory_count = set->made_count = 0;
}
