/*
 * recover.c - reads the entries of the journal after a crash; see journal.h.
 *
 * An entry has the hashes of the old and the new content, so recovery can see from the
 * files how far the changes had come. It can be interrupted at any point and repeated:
 * the entry is removed when everything else is done.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <yyjson.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/mem.h"
#include "tools/common/file.h"
#include "tools/workspace/journal.h"
#include "tools/workspace/write_lock.h"

#include <faultwire/raise.h>

enum {
	FILE_BYTES = 64 * 1024 * 1024,
	ANSWER_S = 60, /* a server has answered a call by then, or its client has gone */
};

/* One file of an entry. */
struct item {
	const char *path;
	const char *temp;
	const char *old_hash; /* NULL: there was no file */
	const char *new_hash; /* NULL: it is deleted */
	const char *copy;     /* the old content; NULL: the entry does not have it */
	size_t copy_len;
	/* Found on the disk. */
	struct fw_place place;
	int aside;                       /* directory of the other file */
	char now[FW_SHA256_TEXT];        /* "": no regular file */
	char kept[FW_WS_TEMP_SIZE + 32]; /* path of other content; "": none */
};

struct recovery {
	const struct fw_root *root;
	int journal;
	int entries;
	bool is_done;
	bool is_other_root; /* the workspace of the entry does not exist any more */
	bool is_in_use;     /* its server has yet to answer the call */
	struct fw_buf *list;
	size_t count;
	bool is_complete; /* nothing is left to be tried again */
};

/* ---- what is there ---- */

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

/* A command may have removed the directory of the file. */
static void make_directory(const struct fw_root *root, const char *path)
{
	int fd;
	fw_error *err = fw_root_open_dir(root, path, true, &fd);

	if (!err)
		(void)close(fd);
	fw_error_free(err);
}

/* Opens the directory of the file, which must be where it was: no link may lead
 * elsewhere by now. */
static bool open_place(const struct recovery *r, struct item *item)
{
	struct fw_place *place = &item->place;
	char parent[FW_PATH_SIZE];
	const char *name = fw_path_split(item->path, parent);

	place->dir = fw_root_open_canonical(r->root->fd, parent, O_RDONLY | O_DIRECTORY);
	if (place->dir < 0 && errno == ENOENT && !r->is_done && item->copy) {
		make_directory(r->root, parent);
		place->dir =
			fw_root_open_canonical(r->root->fd, parent, O_RDONLY | O_DIRECTORY);
	}
	if (place->dir < 0)
		return false;
	(void)snprintf(place->name, sizeof place->name, "%s", name);
	(void)snprintf(place->path, sizeof place->path, "%s", item->path);
	place->exists = fstatat(place->dir, name, &place->stat, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISREG(place->stat.st_mode);
	hash_of(place->dir, name, item->now);
	return true;
}

/* The third name of fw_ws_file_exchange(). */
static void third_name(const struct item *item, char ret_name[FW_WS_TEMP_SIZE])
{
	(void)snprintf(ret_name, FW_WS_TEMP_SIZE, FW_WS_THIRD_FORMAT, item->temp);
}

/* Is the old file in one of the two places where it may be? */
static bool find_old(const struct recovery *r, struct item *item)
{
	char hex[FW_SHA256_TEXT];
	char third[FW_WS_TEMP_SIZE];
	const int dirs[] = { r->journal, item->place.dir };

	third_name(item, third);
	for (size_t i = 0; i < 2; i++) {
		/* An exchange without RENAME_EXCHANGE may have been interrupted. */
		(void)fw_ws_file_move(dirs[i], third, dirs[i], item->temp);
		hash_of(dirs[i], item->temp, hex);
		item->aside = dirs[i];
		if (hex[0] && same(item->old_hash, hex))
			return true;
	}
	return false;
}

/* ---- restoring ---- */

static void lost_name(const struct item *item, char ret_name[FW_WS_TEMP_SIZE])
{
	(void)snprintf(ret_name, FW_WS_TEMP_SIZE, "%.39s.lost", item->temp);
}

static void set_kept(struct item *item, const char *lost)
{
	(void)snprintf(item->kept, sizeof item->kept, FW_WS_JOURNAL_DIR "/%s", lost);
}

/* Content that is neither old nor new was written by another process: it is moved to the
 * journal's directory. `dir` and `name` tell where it is. */
static void keep_other(const struct recovery *r, struct item *item, int dir, const char *name)
{
	char lost[FW_WS_TEMP_SIZE];
	struct stat st;

	lost_name(item, lost);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return;
	if (fw_ws_file_move(dir, name, r->journal, lost) == 0)
		set_kept(item, lost);
}

static void remove_temp(const struct recovery *r, const struct item *item)
{
	char third[FW_WS_TEMP_SIZE];

	third_name(item, third);
	(void)unlinkat(r->journal, item->temp, 0);
	(void)unlinkat(r->journal, third, 0);
	if (item->place.dir >= 0) {
		(void)unlinkat(item->place.dir, item->temp, 0);
		(void)unlinkat(item->place.dir, third, 0);
	}
}

/* The old content has no place any more: something else has the name of its directory. */
static bool keep_copy(const struct recovery *r, struct item *item)
{
	const struct fw_place place = { .dir = r->journal };
	char lost[FW_WS_TEMP_SIZE];
	fw_error *err;

	lost_name(item, lost);
	(void)unlinkat(r->journal, lost, 0);
	err = fw_ws_file_create(&place, lost, NULL, item->copy, item->copy_len);
	fw_error_free(err);
	if (!err)
		set_kept(item, lost);
	return !err;
}

/* Writes the old content beside the file, to be exchanged with it. */
static bool write_copy(const struct recovery *r, struct item *item)
{
	fw_error *err;

	if (!item->copy)
		return false;
	remove_temp(r, item);
	item->aside = item->place.dir;
	err = fw_ws_file_create(&item->place, item->temp, NULL, item->copy, item->copy_len);
	fw_error_free(err);
	return !err;
}

/* Puts the old file, which is aside, into its place. */
static int put_back(const struct recovery *r, struct item *item)
{
	const struct fw_place *place = &item->place;
	int error = fw_ws_file_move(item->aside, item->temp, place->dir, place->name);

	if (error != EEXIST)
		return error;
	error = fw_ws_file_exchange(item->aside, item->temp, place->dir, place->name);
	if (!error && !same(item->new_hash, item->now))
		keep_other(r, item, item->aside, item->temp);
	return error;
}

/* True if the file is as it was before. */
static bool restore(const struct recovery *r, struct item *item)
{
	const struct fw_place *place = &item->place;
	int error = 0;

	if (same(item->old_hash, item->now) && (item->old_hash || !place->exists))
		return true;
	if (!item->old_hash && same(item->new_hash, item->now))
		error = unlinkat(place->dir, place->name, 0);
	else if (!item->old_hash)
		keep_other(r, item, place->dir, place->name);
	else if (find_old(r, item) || write_copy(r, item))
		error = put_back(r, item);
	else
		return false;
	(void)fsync(place->dir);
	hash_of(place->dir, place->name, item->now);
	return !error && same(item->old_hash, item->now);
}

/* ---- reporting ---- */

static void report(struct recovery *r, const struct item *item, const char *outcome)
{
	struct fw_buf *list = r->list;

	r->count++;
	/* A report that does not fit is left out, not cut. */
	if (list->len + 2 * strlen(item->path) + 512 > list->max)
		return;
	if (list->len)
		FW_BUF(list, ",");
	FW_BUF(list, "{\"path\":");
	fw_buf_json_str(list, item->path);
	FW_BUF(list, ",\"outcome\":");
	fw_buf_json_str(list, outcome);
	FW_BUF(list, ",\"sha256\":");
	if (item->now[0])
		fw_buf_json_str(list, item->now);
	else
		FW_BUF(list, "null");
	if (item->kept[0]) {
		FW_BUF(list, ",\"kept\":");
		fw_buf_json_str(list, item->kept);
	}
	FW_BUF(list, "}");
}

static void recover_item(struct recovery *r, struct item *item)
{
	bool is_found = !r->is_other_root && open_place(r, item);
	/* The directory of a new file may not have been created yet. */
	bool is_old = is_found ? !r->is_done && restore(r, item)
			       : !r->is_done && !r->is_other_root && !item->old_hash;

	if (is_old || r->is_done)
		remove_temp(r, item);
	else if (item->copy && !r->is_other_root && (is_found || !keep_copy(r, item)))
		r->is_complete = false; /* a full disk, for example */
	FW_WS_STEP("recovered");
	report(r, item, is_old ? "old" : r->is_done ? "new" : "not restored");
	fw_place_clear(&item->place);
}

/* ---- reading an entry ---- */

static bool is_temp_name(const char *temp)
{
	return temp && strncmp(temp, ".faultwire-", 11) == 0 && !strchr(temp, '/') &&
	       strlen(temp) < FW_WS_TEMP_SIZE;
}

/* Reads one file of the entry; `*at` is where its old content begins. */
static bool read_item(const struct fw_root *root, yyjson_val *from, const char **at,
		      const char *end, struct item *item)
{
	char clean[FW_PATH_SIZE];
	size_t size = (size_t)yyjson_get_uint(yyjson_obj_get(from, "size"));
	fw_error *err;

	memset(item, 0, sizeof *item);
	item->place.dir = item->aside = -1;
	item->path = yyjson_get_str(yyjson_obj_get(from, "path"));
	item->temp = yyjson_get_str(yyjson_obj_get(from, "temp"));
	item->old_hash = yyjson_get_str(yyjson_obj_get(from, "old"));
	item->new_hash = yyjson_get_str(yyjson_obj_get(from, "new"));
	if (!item->path || !is_temp_name(item->temp) || size > (size_t)(end - *at))
		return false;
	err = fw_root_normalize(root, item->path, strlen(item->path), clean);
	fw_error_free(err);
	if (err || strcmp(clean, item->path) != 0)
		return false;
	if (item->old_hash) {
		char hex[FW_SHA256_TEXT];

		fw_sha256_text(*at, size, hex);
		item->copy = same(item->old_hash, hex) ? *at : NULL;
		item->copy_len = size;
	}
	*at += size;
	return true;
}

static void remove_directories(const struct fw_root *root, yyjson_val *list)
{
	char clean[FW_PATH_SIZE];

	for (size_t i = yyjson_arr_size(list); i-- > 0;) {
		const char *path = yyjson_get_str(yyjson_arr_get(list, i));
		fw_error *err =
			path ? fw_root_normalize(root, path, strlen(path), clean) : NULL;

		if (path && !err)
			fw_ws_journal_remove_directory(root, clean);
		fw_error_free(err);
	}
}

/* Was the answer to the call given long ago, if there was one? */
static bool is_old_entry(int fd)
{
	struct stat st;

	return fstat(fd, &st) != 0 || fw_unix_ms() / 1000 - st.st_ctim.tv_sec > ANSWER_S;
}

static void read_head(struct recovery *r, yyjson_val *all, int fd)
{
	const char *identity = yyjson_get_str(yyjson_obj_get(all, "root"));
	uint64_t server = yyjson_get_uint(yyjson_obj_get(all, "server"));

	r->is_other_root = identity && strcmp(identity, r->root->identity) != 0;
	r->is_in_use = r->is_done && server && !is_old_entry(fd) &&
		       fw_ws_server_is_running(r->root, server);
}

/* An entry that is not JSON was not complete when its writer died, and nothing was
 * changed yet. */
static void recover_entry(struct recovery *r, int fd, const char *text, size_t len)
{
	yyjson_read_err fault = { .code = 0 };
	const char *end = text + len;
	const char *line = memchr(text, '\n', len);
	const struct fw_json_limits limits = { .bytes = FW_WS_ENTRY_BYTES, .depth = 8 };
	yyjson_doc *doc =
		fw_json_read(text, line ? (size_t)(line - text) : len, limits, 0, NULL, &fault);
	yyjson_val *all = yyjson_doc_get_root(doc);
	const char *at = line ? line + 1 : end;
	yyjson_arr_iter iter;
	struct item item;

	if (!doc && fault.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
		r->is_complete = false;
	read_head(r, all, fd);
	yyjson_arr_iter_init(yyjson_obj_get(all, "files"), &iter);
	for (yyjson_val *one; !r->is_in_use && (one = yyjson_arr_iter_next(&iter));)
		if (read_item(r->root, one, &at, end, &item))
			recover_item(r, &item);
	if (!r->is_done && !r->is_other_root)
		remove_directories(r->root, yyjson_obj_get(all, "directories"));
	yyjson_doc_free(doc);
}

static bool ends_in(const char *name, const char *end)
{
	size_t len = strlen(name);

	return len > strlen(end) && strcmp(name + len - strlen(end), end) == 0;
}

static void recover_named(struct recovery *r, const char *name)
{
	char *text = NULL;
	size_t len = 0;
	fw_error *err;
	int fd;

	r->is_done = ends_in(name, ".done");
	r->is_complete = true;
	r->is_in_use = false;
	if (!r->is_done && !ends_in(name, ".pending"))
		return;
	fd = openat(r->entries, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	err = fw_file_read_all(fd, name, FW_WS_ENTRY_BYTES + FW_LIMIT_WORKSPACE_BYTES, &text,
			       &len);
	if (!err)
		recover_entry(r, fd, text, len);
	else
		r->is_complete = false; /* no memory, for example: later */
	(void)close(fd);
	fw_error_free(err);
	fw__release(text);
	if (r->is_complete && !r->is_in_use)
		(void)unlinkat(r->entries, name, 0);
}

/* ---- all entries ---- */

static DIR *open_list(int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;

	if (!dir && copy >= 0)
		(void)close(copy);
	return dir;
}

static bool is_pending(const struct fw_root *root, const char *trusted)
{
	struct dirent *item;
	bool found = false;
	DIR *dir = NULL;
	int fd = -1;
	fw_error *err = fw_ws_journal_open(root, trusted, false, &fd);

	fw_error_free(err);
	if (!err) {
		dir = open_list(fd);
		(void)close(fd);
	}
	if (!dir)
		return false;
	/* cppcheck-suppress readdirCalled ; the stream is used by one thread only */
	while (!found && (item = readdir(dir)))
		found = ends_in(item->d_name, ".pending");
	(void)closedir(dir);
	return found;
}

void fw_ws_journal_try_recover(const struct fw_root *root, const char *trusted,
			       struct fw_buf *ret_list)
{
	size_t count = 0;
	fw_error *err;
	int lock;

	if (!is_pending(root, trusted))
		return;
	err = fw_ws_write_lock(root, 0, &lock);
	if (!err) {
		err = fw_ws_journal_recover(root, trusted, ret_list, &count);
		fw_ws_write_unlock(lock);
	}
	fw_error_free(err);
}

static fw_error *recover_all(struct recovery *r)
{
	struct dirent *item;
	DIR *dir = open_list(r->entries);

	if (!dir)
		return fw_path_errno(errno, FW_WS_JOURNAL_DIR, false);
	/* cppcheck-suppress readdirCalled ; the stream is used by one thread only */
	while ((item = readdir(dir)))
		recover_named(r, item->d_name);
	(void)closedir(dir);
	(void)fsync(r->entries);
	return NULL;
}

fw_error *fw_ws_journal_recover(const struct fw_root *root, const char *trusted,
				struct fw_buf *ret_list, size_t *ret_count)
{
	struct recovery r = { .root = root, .journal = -1, .entries = -1, .list = ret_list };
	fw_error *err = fw_ws_journal_open(root, trusted, false, &r.entries);

	*ret_count = 0;
	if (err && fw_error_code(err) == FW_PATH_NOT_FOUND) { /* no journal yet */
		fw_error_free(err);
		return NULL;
	}
	/* A command may have removed the directory in the workspace. */
	if (!err)
		err = fw_ws_journal_open(root, NULL, true, &r.journal);
	if (!err)
		err = recover_all(&r);
	if (r.journal >= 0)
		(void)close(r.journal);
	if (r.entries >= 0)
		(void)close(r.entries);
	*ret_count = r.count;
	return err;
}
