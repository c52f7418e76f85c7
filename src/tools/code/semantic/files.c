/*
 * files.c - see files.h.
 *
 * A file whose size, time and inode are those of the last build is not read. Files are
 * read and split into terms on several threads, some at a time; the calling thread puts them
 * into the database between.
 */
#include "tools/code/semantic/files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/mem.h"
#include "tools/code/semantic/limits.h"
#include "tools/code/semantic/record.h"
#include "tools/code/walk.h"
#include "tools/common/crew.h"
#include "tools/common/root.h"

#include <faultwire/raise.h>

enum { BATCH = 512, TEXT_SIZE = FW_SEMANTIC_LIMIT_FILE + 1, SNIFFED = 8192 };

#define PATHS_MAX ((size_t)1 << 30)

struct entry {
	size_t path; /* in `paths` */
	int64_t size, mtime_ns, inode;
	int64_t blob; /* of the last build */
	bool is_known;
};

struct list {
	struct entry *entries;
	size_t count, cap;
	struct fw_buf paths;
};

struct made {
	unsigned char hash[FW_SEMANTIC_HASH_BYTES];
	bool is_text;
	size_t bytes;
	struct fw_buf record;
};

struct work {
	struct fw_semantic_reading *reading;
	struct list now, known;
	size_t *changed; /* numbers of entries of `now` */
	size_t changed_count, changed_cap;
	size_t first; /* of the batch */
	struct made made[BATCH];
	struct fw_semantic_maker makers[FW_CREW_MAX];
	char *texts[FW_CREW_MAX];
};

/* ---- lists ---- */

static bool add_entry(struct list *list, const char *path, size_t len, struct entry entry)
{
	if (list->count == list->cap) {
		size_t cap = list->cap ? 2 * list->cap : 1024;
		struct entry *entries = fw__reallocate(list->entries, cap * sizeof *entries);

		if (!entries)
			return false;
		list->entries = entries;
		list->cap = cap;
	}
	entry.path = list->paths.len;
	fw_buf_put(&list->paths, path, len);
	fw_buf_put(&list->paths, "", 1);
	list->entries[list->count++] = entry;
	return list->paths.state == FW_BUF_OK;
}

static const char *path_of(const struct list *list, size_t number)
{
	return list->paths.text + list->entries[number].path;
}

static bool see_file(void *ctx, int dir, const char *path, size_t len, const char *name)
{
	struct work *w = ctx;
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode) ||
	    st.st_size == 0 || st.st_size > FW_SEMANTIC_LIMIT_FILE)
		return true;
	return add_entry(&w->now, path, len,
			 (struct entry){ .size = st.st_size,
					 .mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 +
						     st.st_mtim.tv_nsec,
					 .inode = (int64_t)st.st_ino });
}

static bool is_stopped(void *ctx)
{
	const struct work *w = ctx;

	return w->reading->is_cancelled && w->reading->is_cancelled(w->reading->ctx);
}

static fw_error *add_known(void *ctx, const struct fw_semantic_file *file)
{
	struct work *w = ctx;

	return add_entry(&w->known, file->path, strlen(file->path),
			 (struct entry){ .size = file->size,
					 .mtime_ns = file->mtime_ns,
					 .inode = file->inode,
					 .blob = file->blob,
					 .is_known = true })
		       ? NULL
		       : fw_raise_internal_out_of_memory();
}

static bool is_same(const struct entry *a, const struct entry *b)
{
	return a->size == b->size && a->mtime_ns == b->mtime_ns && a->inode == b->inode;
}

/* `known` is in the order of paths: the same path, or SIZE_MAX. */
static size_t find(const struct list *known, const char *path)
{
	size_t from = 0, to = known->count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		int order = strcmp(path_of(known, middle), path);

		if (order == 0)
			return middle;
		if (order < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return SIZE_MAX;
}

static fw_error *compare(struct work *w)
{
	w->changed = fw__allocate((w->now.count + 1) * sizeof *w->changed);
	if (!w->changed)
		return fw_raise_internal_out_of_memory();
	for (size_t i = 0; i < w->now.count; i++) {
		size_t at = find(&w->known, path_of(&w->now, i));

		if (at == SIZE_MAX || !is_same(&w->now.entries[i], &w->known.entries[at]))
			w->changed[w->changed_count++] = i;
		if (at != SIZE_MAX)
			w->known.entries[at].is_known = false; /* still there */
	}
	w->reading->changed = w->changed_count;
	FW_TRY(fw_semantic_data_begin(w->reading->data));
	for (size_t i = 0; i < w->known.count; i++)
		if (w->known.entries[i].is_known) {
			FW_TRY(fw_semantic_data_drop_file(w->reading->data,
							  path_of(&w->known, i)));
			w->reading->changed++;
		}
	return fw_semantic_data_commit(w->reading->data);
}

/* ---- reading ---- */

static size_t read_text(int root, const char *path, char *text)
{
	int fd = fw_root_open_canonical(root, path, O_RDONLY | O_NONBLOCK);
	size_t len = 0;
	ssize_t got = 1;

	if (fd < 0)
		return 0;
	while (len < TEXT_SIZE && (got = read(fd, text + len, TEXT_SIZE - len)) > 0)
		len += (size_t)got;
	(void)close(fd);
	return got < 0 || len == TEXT_SIZE ? 0 : len;
}

static fw_error *make(void *ctx, unsigned thread, size_t item)
{
	struct work *w = ctx;
	struct made *made = &w->made[item];
	const char *path = path_of(&w->now, w->changed[w->first + item]);
	enum fw_outline_language language;
	unsigned char digest[FW_SHA256_BYTES];
	char *text = w->texts[thread];

	if (is_stopped(w))
		return NULL;
	made->bytes = read_text(w->reading->place->root.fd, path, text);
	made->is_text = made->bytes &&
			!memchr(text, '\0', made->bytes < SNIFFED ? made->bytes : SNIFFED);
	if (!made->is_text)
		return NULL;
	if (!fw_sha256(text, made->bytes, digest))
		return fw_raise_internal_unsupported("an index without libcrypto");
	memcpy(made->hash, digest, sizeof made->hash);
	language = fw_outline_language_of(path, text, made->bytes);
	/* The same bytes in another language have other symbols. */
	made->hash[0] ^= (unsigned char)language;
	if (!fw_semantic_record_make(&w->makers[thread], language, text, made->bytes,
				     &made->record))
		return fw_raise_internal_out_of_memory();
	return NULL;
}

static fw_error *keep(struct work *w, size_t item)
{
	const struct entry *entry = &w->now.entries[w->changed[w->first + item]];
	struct made *made = &w->made[item];
	struct fw_semantic_file file = { .path = w->now.paths.text + entry->path,
					 .size = entry->size,
					 .mtime_ns = entry->mtime_ns,
					 .inode = entry->inode };

	if (made->is_text) {
		FW_TRY(fw_semantic_data_find_blob(w->reading->data, made->hash, &file.blob));
		if (!file.blob)
			FW_TRY(fw_semantic_data_put_blob(w->reading->data, made->hash,
							 made->record.text, made->record.len,
							 &file.blob));
	}
	w->reading->bytes += made->bytes;
	return fw_semantic_data_put_file(w->reading->data, &file);
}

static fw_error *read_batch(struct work *w, size_t count)
{
	const struct fw_crew crew = { make, w, count, w->reading->threads };

	for (size_t i = 0; i < count; i++)
		w->made[i].record.len = 0;
	FW_TRY(fw_crew_run(&crew));
	if (is_stopped(w))
		return NULL;
	FW_TRY(fw_semantic_data_begin(w->reading->data));
	for (size_t i = 0; i < count; i++)
		FW_TRY(keep(w, i));
	return fw_semantic_data_commit(w->reading->data);
}

static fw_error *read_changed(struct work *w)
{
	for (unsigned i = 0; i < w->reading->threads; i++) {
		w->texts[i] = fw__allocate(TEXT_SIZE);
		if (!w->texts[i])
			return fw_raise_internal_out_of_memory();
	}
	for (size_t i = 0; i < BATCH; i++)
		fw_buf_init(&w->made[i].record, FW_SEMANTIC_RECORD_BYTES);
	while (w->first < w->changed_count && !is_stopped(w)) {
		size_t left = w->changed_count - w->first;

		if (w->reading->progress)
			w->reading->progress(w->reading->ctx, w->first, w->changed_count,
					     w->reading->bytes);
		FW_TRY(read_batch(w, left < BATCH ? left : BATCH));
		w->first += left < BATCH ? left : BATCH;
	}
	return NULL;
}

static fw_error *update(struct work *w)
{
	const struct fw_walk walk = { .file = see_file, .is_stopped = is_stopped, .ctx = w };
	bool is_complete = true;

	FW_TRY(fw_walk_run(&walk, w->reading->place->root.fd, ".", ".", &is_complete));
	if (w->now.paths.state != FW_BUF_OK)
		return fw_raise_internal_out_of_memory();
	FW_TRY(fw_semantic_data_files(w->reading->data, add_known, w));
	if (is_stopped(w))
		return NULL;
	FW_TRY(compare(w));
	FW_TRY(read_changed(w));
	if (!w->reading->changed || is_stopped(w))
		return NULL;
	FW_TRY(fw_semantic_data_begin(w->reading->data));
	FW_TRY(fw_semantic_data_sweep(w->reading->data));
	return fw_semantic_data_commit(w->reading->data);
}

fw_error *fw_semantic_files_update(struct fw_semantic_reading *reading)
{
	struct work *w = fw__allocate(sizeof *w);
	fw_error *err;

	if (!w)
		return fw_raise_internal_out_of_memory();
	fw__zero(w, sizeof *w);
	w->reading = reading;
	fw_buf_init(&w->now.paths, PATHS_MAX);
	fw_buf_init(&w->known.paths, PATHS_MAX);
	err = update(w);
	for (size_t i = 0; i < BATCH; i++)
		fw_buf_clear(&w->made[i].record);
	for (size_t i = 0; i < FW_CREW_MAX; i++) {
		fw_semantic_maker_clear(&w->makers[i]);
		fw__release(w->texts[i]);
	}
	fw_buf_clear(&w->now.paths);
	fw_buf_clear(&w->known.paths);
	fw__release(w->now.entries);
	fw__release(w->known.entries);
	fw__release(w->changed);
	fw__release(w);
	return err;
}
