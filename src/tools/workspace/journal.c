/*
 * journal.c - see journal.h.
 *
 * An entry has the hashes of the old and the new content, so recovery can see from the
 * files how far the change had come, and trusts nothing else.
 */
#include "tools/workspace/journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <yyjson.h>

#include "base/digest.h"
#include "base/json.h"
#include "base/mem.h"
#include "tools/common/file.h"
#include "tools/workspace/write_lock.h"

#include <faultwire/raise.h>

enum { ENTRY_BYTES = 64 * 1024, FILE_BYTES = 64 * 1024 * 1024 };

static void name_of(char name[40], const char *id, const char *state)
{
	(void)snprintf(name, 40, "%s.%s", id, state);
}

/* ---- writing ---- */

static void put_hash(struct fw_buf *out, const char *text, size_t len)
{
	char hex[FW_SHA256_TEXT];

	if (!text) {
		FW_BUF(out, "null");
		return;
	}
	fw_sha256_text(text, len, hex);
	fw_buf_json_str(out, hex);
}

fw_error *fw_ws_journal_add(const struct fw_ws_change *w)
{
	struct fw_place place = { .dir = w->journal };
	struct fw_buf text;
	fw_error *err;

	fw_buf_init(&text, ENTRY_BYTES);
	FW_BUF(&text, "{\"path\":");
	fw_buf_json_str(&text, w->place->path);
	FW_BUF(&text, ",\"temp\":");
	fw_buf_json_str(&text, w->temp);
	FW_BUF(&text, ",\"old\":");
	put_hash(&text, w->old_text, w->old_len);
	FW_BUF(&text, ",\"new\":");
	put_hash(&text, w->text, w->len);
	FW_BUF(&text, "}\n");
	name_of(place.name, w->id, "pending");
	(void)snprintf(place.path, sizeof place.path, "%s", w->place->path);
	err = text.state == FW_BUF_OK
		      ? fw_ws_file_create(&place, place.name, text.text, text.len)
		      : fw_raise_internal_out_of_memory();
	fw_buf_clear(&text);
	if (!err && fsync(w->journal) != 0)
		err = fw_path_errno(errno, w->place->path, true);
	return err;
}

fw_error *fw_ws_journal_mark_done(int journal, const char *id, const char *path)
{
	char from[40];
	char to[40];

	name_of(from, id, "pending");
	name_of(to, id, "done");
	if (renameat(journal, from, journal, to) != 0 || fsync(journal) != 0)
		return fw_path_errno(errno, path, true);
	return NULL;
}

void fw_ws_journal_remove(int journal, const char *id)
{
	char name[40];

	name_of(name, id, "pending");
	(void)unlinkat(journal, name, 0);
}

void fw_ws_journal_drop(const struct fw_root *root, const char *id)
{
	char name[40];
	int journal;
	fw_error *err = fw_root_open_dir(root, FW_WS_JOURNAL_DIR, false, &journal);

	if (err) {
		fw_error_free(err);
		return;
	}
	name_of(name, id, "done");
	(void)unlinkat(journal, name, 0);
	(void)close(journal);
}

/* ---- recovering ---- */

struct entry {
	const char *path;
	const char *temp;
	const char *old_hash; /* NULL: there was no file */
	const char *new_hash; /* NULL: it is deleted */
	bool is_done;
};

/* The hash of a file in a directory; "" if it does not exist. */
static void hash_of(int dir, const char *name, char hex[FW_SHA256_TEXT])
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	char *text = NULL;
	size_t len = 0;
	fw_error *err;

	hex[0] = '\0';
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		err = fw_file_read_all(fd, name, FILE_BYTES, &text, &len);
		fw_error_free(err);
		if (!err)
			fw_sha256_text(text, len, hex);
		fw__release(text);
	}
	(void)close(fd);
}

static bool same(const char *hash, const char *hex)
{
	return hash ? strcmp(hash, hex) == 0 : hex[0] == '\0';
}

/* Undoes an unfinished change. True if the file has the new content afterwards. */
static bool finish_change(const struct fw_place *place, const struct entry *entry, int journal,
			  char hex[FW_SHA256_TEXT])
{
	char aside[FW_SHA256_TEXT];
	int dir = journal;

	hash_of(place->dir, place->name, hex);
	hash_of(dir, entry->temp, aside);
	if (!aside[0] || !same(entry->old_hash, aside)) {
		dir = place->dir;
		hash_of(dir, entry->temp, aside);
	}
	if (!entry->is_done && same(entry->new_hash, hex) && !same(entry->old_hash, hex)) {
		int error = 0;

		if (!entry->old_hash)
			error = unlinkat(place->dir, place->name, 0);
		else if (same(entry->old_hash, aside) && !entry->new_hash)
			error = fw_ws_file_move(dir, entry->temp, place->dir, place->name);
		else if (same(entry->old_hash, aside))
			error = fw_ws_file_exchange(dir, entry->temp, place->dir, place->name);
		if (!error)
			hash_of(place->dir, place->name, hex);
	}
	/* The other file is no longer needed, unless it is the only copy of the old one. */
	if (entry->is_done || same(entry->old_hash, hex)) {
		(void)unlinkat(journal, entry->temp, 0);
		(void)unlinkat(place->dir, entry->temp, 0);
	}
	(void)fsync(place->dir);
	return same(entry->new_hash, hex) && !same(entry->old_hash, hex);
}

static void report(struct fw_buf *list, const struct entry *entry, bool is_new, const char *hex)
{
	if (list->len)
		FW_BUF(list, ",");
	FW_BUF(list, "{\"path\":");
	fw_buf_json_str(list, entry->path);
	FW_BUF(list, ",\"outcome\":");
	fw_buf_str(list, is_new                       ? "\"new\""
			 : same(entry->old_hash, hex) ? "\"old\""
						      : "\"changed since\"");
	FW_BUF(list, ",\"sha256\":");
	if (hex[0])
		fw_buf_json_str(list, hex);
	else
		FW_BUF(list, "null");
	FW_BUF(list, "}");
}

static bool is_temp_name(const char *temp)
{
	return temp && strncmp(temp, ".faultwire-", 11) == 0 && !strchr(temp, '/');
}

/* Recovers one entry. False if it cannot be read; then it is ignored. */
static bool recover(const struct fw_root *root, int journal, const char *text, size_t len,
		    bool is_done, struct fw_buf *list)
{
	yyjson_doc *doc = fw_json_read(text, len, FW_JSON_SMALL, 0, NULL, NULL);
	yyjson_val *all = yyjson_doc_get_root(doc);
	struct entry entry = {
		.path = yyjson_get_str(yyjson_obj_get(all, "path")),
		.temp = yyjson_get_str(yyjson_obj_get(all, "temp")),
		.old_hash = yyjson_get_str(yyjson_obj_get(all, "old")),
		.new_hash = yyjson_get_str(yyjson_obj_get(all, "new")),
		.is_done = is_done,
	};
	struct fw_place place = FW_PLACE_INIT;
	char clean[FW_PATH_SIZE];
	char hex[FW_SHA256_TEXT];
	fw_error *err = NULL;
	bool is_read = entry.path && is_temp_name(entry.temp);

	if (is_read)
		err = fw_root_normalize(root, entry.path, strlen(entry.path), clean);
	if (is_read && !err)
		err = fw_place_find(root, clean, &place);
	if (is_read && !err) {
		bool is_new = finish_change(&place, &entry, journal, hex);

		report(list, &entry, is_new, hex);
	}
	fw_place_clear(&place);
	fw_error_free(err);
	yyjson_doc_free(doc);
	return is_read && !err;
}

static bool ends_in(const char *name, const char *end)
{
	size_t len = strlen(name);

	return len > strlen(end) && strcmp(name + len - strlen(end), end) == 0;
}

static void recover_named(const struct fw_root *root, int journal, const char *name,
			  struct fw_buf *list, size_t *count)
{
	bool is_done = ends_in(name, ".done");
	char *text = NULL;
	size_t len = 0;
	fw_error *err;
	int fd;

	if (!is_done && !ends_in(name, ".pending"))
		return;
	fd = openat(journal, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	err = fw_file_read_all(fd, name, ENTRY_BYTES, &text, &len);
	(void)close(fd);
	fw_error_free(err);
	if (!err && recover(root, journal, text, len, is_done, list))
		++*count;
	fw__release(text);
	(void)unlinkat(journal, name, 0);
}

static bool is_pending(const struct fw_root *root)
{
	struct dirent *item;
	bool found = false;
	DIR *dir;
	int fd = openat(root->fd, FW_WS_JOURNAL_DIR,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return false;
	dir = fdopendir(fd);
	if (!dir) {
		(void)close(fd);
		return false;
	}
	/* cppcheck-suppress readdirCalled ; the stream is used by one thread only */
	while (!found && (item = readdir(dir)))
		found = ends_in(item->d_name, ".pending");
	(void)closedir(dir);
	return found;
}

void fw_ws_journal_try_recover(const struct fw_root *root, struct fw_buf *ret_list)
{
	size_t count = 0;
	fw_error *err;
	int lock;

	if (!is_pending(root))
		return;
	err = fw_ws_write_lock(root, 0, &lock);
	if (!err) {
		err = fw_ws_journal_recover(root, ret_list, &count);
		fw_ws_write_unlock(lock);
	}
	fw_error_free(err);
}

fw_error *fw_ws_journal_recover(const struct fw_root *root, struct fw_buf *ret_list,
				size_t *ret_count)
{
	struct dirent *item;
	DIR *dir;
	int journal;
	int copy;
	fw_error *err = fw_root_open_dir(root, FW_WS_JOURNAL_DIR, false, &journal);

	*ret_count = 0;
	if (err) {
		/* No journal yet. */
		if (fw_error_code(err) != FW_PATH_NOT_FOUND)
			return err;
		fw_error_free(err);
		return NULL;
	}
	copy = fcntl(journal, F_DUPFD_CLOEXEC, 0);
	dir = copy >= 0 ? fdopendir(copy) : NULL;
	if (!dir) {
		int error = errno;

		if (copy >= 0)
			(void)close(copy);
		(void)close(journal);
		return fw_path_errno(error, FW_WS_JOURNAL_DIR, false);
	}
	/* cppcheck-suppress readdirCalled ; the stream is used by one thread only */
	while ((item = readdir(dir)))
		recover_named(root, journal, item->d_name, ret_list, ret_count);
	(void)closedir(dir);
	(void)fsync(journal);
	(void)close(journal);
	return NULL;
}
