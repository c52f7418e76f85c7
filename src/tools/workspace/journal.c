/*
 * journal.c - see journal.h. recover.c reads the entries.
 */
#include "tools/workspace/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "tools/workspace/trusted.h"

#include <faultwire/raise.h>

static void name_of(char name[40], const char *id, const char *state)
{
	(void)snprintf(name, 40, "%s.%s", id, state);
}

/* The directory must be there after a crash, if the entry in it is to be found. */
static void sync_parent(const char *path)
{
	char parent[FW_PATH_SIZE];
	int fd;

	(void)fw_path_split(path, parent);
	fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)fsync(fd);
	(void)close(fd);
}

fw_error *fw_ws_journal_open(const struct fw_root *root, const char *trusted, bool make,
			     int *ret_dir)
{
	char path[FW_PATH_SIZE];
	int error;

	if (!trusted)
		return fw_root_open_dir(root, FW_WS_JOURNAL_DIR, make, ret_dir);
	if (!fw_ws_trusted_journal(trusted, root->path, path))
		return fw_path_errno(ENAMETOOLONG, FW_WS_JOURNAL_DIR, make);
	if (make && mkdir(path, 0700) == 0)
		sync_parent(path);
	else if (make && errno != EEXIST)
		return fw_path_errno(errno, FW_WS_JOURNAL_DIR, true);
	*ret_dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	error = errno;
	if (*ret_dir >= 0)
		return NULL;
	return error == ENOENT ? fw_raise_path_not_found(FW_WS_JOURNAL_DIR)
			       : fw_path_errno(error, FW_WS_JOURNAL_DIR, make);
}

/* ---- writing ---- */

void fw_ws_put_hash(struct fw_buf *out, const char *text, size_t len)
{
	char hex[FW_SHA256_TEXT];

	if (!text) {
		FW_BUF(out, "null");
		return;
	}
	fw_sha256_text(text, len, hex);
	fw_buf_json_str(out, hex);
}

/* Old content is copied only to where no command can change it. */
static size_t copied_len(const struct fw_ws_changes *set, const struct fw_ws_change *w)
{
	return set->trusted && w->old_text ? w->old_len : 0;
}

static void put_file(struct fw_buf *out, const struct fw_ws_changes *set,
		     const struct fw_ws_change *w)
{
	FW_BUF(out, "{\"path\":");
	fw_buf_json_str(out, w->place->path);
	FW_BUF(out, ",\"temp\":");
	fw_buf_json_str(out, w->temp);
	FW_BUF(out, ",\"old\":");
	fw_ws_put_hash(out, w->old_text, w->old_len);
	FW_BUF(out, ",\"new\":");
	fw_ws_put_hash(out, w->text, w->len);
	FW_BUF(out, ",\"size\":");
	fw_buf_i64(out, (int64_t)copied_len(set, w));
	FW_BUF(out, "}");
}

static void put_entry(struct fw_buf *out, const struct fw_ws_changes *set)
{
	FW_BUF(out, "{\"root\":");
	fw_buf_json_str(out, set->root->identity);
	FW_BUF(out, ",\"server\":");
	fw_buf_i64(out, (int64_t)set->server);
	FW_BUF(out, ",\"files\":[");
	for (size_t i = 0; i < set->count; i++) {
		if (i)
			FW_BUF(out, ",");
		put_file(out, set, &set->list[i]);
	}
	FW_BUF(out, "],\"directories\":[");
	for (size_t i = 0; i < set->directory_count; i++) {
		if (i)
			FW_BUF(out, ",");
		fw_buf_json_str(out, set->directories[i]);
	}
	FW_BUF(out, "]}\n");
	for (size_t i = 0; i < set->count; i++)
		if (copied_len(set, &set->list[i]))
			fw_buf_put(out, set->list[i].old_text, set->list[i].old_len);
}

fw_error *fw_ws_journal_add(const struct fw_ws_changes *set)
{
	struct fw_place place = { .dir = set->entries };
	struct fw_buf text;
	fw_error *err;

	fw_buf_init(&text, FW_WS_ENTRY_BYTES + FW_LIMIT_WORKSPACE_BYTES);
	put_entry(&text, set);
	name_of(place.name, set->id, "pending");
	(void)snprintf(place.path, sizeof place.path, "%s",
		       set->count ? set->list[0].place->path : set->directory);
	err = text.state == FW_BUF_OK
		      ? fw_ws_file_create(&place, place.name, NULL, text.text, text.len)
		      : fw_raise_internal_out_of_memory();
	fw_buf_clear(&text);
	if (!err && fsync(set->entries) != 0) {
		err = fw_path_errno(errno, place.path, true);
		fw_ws_journal_remove(set->entries, set->id);
	}
	return err;
}

fw_error *fw_ws_journal_mark_done(int entries, const char *id, const char *path)
{
	char from[40];
	char to[40];

	name_of(from, id, "pending");
	name_of(to, id, "done");
	if (renameat(entries, from, entries, to) != 0)
		return fw_path_errno(errno, path, true);
	if (fsync(entries) != 0) {
		int error = errno;

		/* The changes are undone now, and a crash meanwhile must not keep half. */
		(void)renameat(entries, to, entries, from);
		return fw_path_errno(error, path, true);
	}
	return NULL;
}

void fw_ws_journal_remove(int entries, const char *id)
{
	char name[40];

	name_of(name, id, "pending");
	(void)unlinkat(entries, name, 0);
}

void fw_ws_journal_remove_directory(const struct fw_root *root, const char *path)
{
	char parent[FW_PATH_SIZE];
	const char *name = fw_path_split(path, parent);
	int above = fw_root_open_beneath(root->fd, parent, O_RDONLY | O_DIRECTORY);

	if (above < 0)
		return;
	(void)unlinkat(above, name, AT_REMOVEDIR);
	(void)close(above);
}

void fw_ws_journal_drop(const struct fw_root *root, const char *trusted, const char *id)
{
	char name[40];
	int entries;
	fw_error *err = fw_ws_journal_open(root, trusted, false, &entries);

	if (err) {
		fw_error_free(err);
		return;
	}
	name_of(name, id, "done");
	(void)unlinkat(entries, name, 0);
	(void)close(entries);
}
