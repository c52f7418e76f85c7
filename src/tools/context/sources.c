/*
 * sources.c - finds the files to build a cache from, and derives their ids.
 *
 * The walk keeps one descriptor open per level. It does not follow links, so it
 * terminates and stays below the given directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "tools/common/file.h"
#include "tools/context/rule.h"
#include "tools/context/sources.h"
#include "tools/context/words.h"

void fw_context_sources_clear(struct fw_context_sources *sources)
{
	for (size_t i = 0; i < sources->count; i++) {
		fw__release(sources->items[i].path);
		free(sources->items[i].id);
	}
	fw__release(sources->items);
	if (sources->dir >= 0)
		(void)close(sources->dir);
	*sources = (struct fw_context_sources){ .dir = -1 };
}

/* ---- ids ---- */

/* The id is the path in lower case, with slashes and without a leading "./". */
static fw_error *make_id(struct fw_context_source *source)
{
	char *path = source->path;
	size_t len = source->path_len;
	char *plain;

	if (!fw_context_is_utf8(path, len))
		return fw_file_not_text(path, path, len, 0);
	plain = malloc(len + 1);
	if (!plain)
		return fw_raise_internal_out_of_memory();
	for (size_t i = 0; i <= len; i++)
		plain[i] = (char)(path[i] == '\\' ? '/' : path[i]);
	path = plain;
	while (len > 2 && path[0] == '.' && path[1] == '/') {
		path += 2;
		len -= 2;
	}
	source->id = fw_context_lower(path, len, &source->id_len);
	free(plain);
	return source->id ? NULL : fw_raise_internal_out_of_memory();
}

static int by_id(const void *a, const void *b)
{
	const struct fw_context_source *x = a, *y = b;
	size_t len = x->id_len < y->id_len ? x->id_len : y->id_len;
	int order = memcmp(x->id, y->id, len);

	if (order)
		return order;
	if (x->id_len != y->id_len)
		return x->id_len < y->id_len ? -1 : 1;
	return strcmp(x->path, y->path);
}

static fw_error *check_ids(const struct fw_context_sources *sources)
{
	for (size_t i = 1; i < sources->count; i++) {
		const struct fw_context_source *a = &sources->items[i - 1],
					       *b = &sources->items[i];
		fw_error *err;

		if (a->id_len != b->id_len || memcmp(a->id, b->id, a->id_len) != 0)
			continue;
		err = fw_error_wrap(fw_context_invalid(FW_CONTEXT_RULE_DUPLICATE_ID, b->path),
				    FW_HERE, "%s and %s have the same id", a->path, b->path);
		fw_error_set_hint(err, "Rename one of the two: ids are paths in lower case.");
		return err;
	}
	return NULL;
}

/* ---- the walk ---- */

static bool is_document(const char *name, size_t len)
{
	return len > 3 && memcmp(name + len - 3, ".md", 3) == 0;
}

/* Consumes `path`. */
static fw_error *add(struct fw_context_sources *sources, char *path, size_t len,
		     const struct stat *st)
{
	struct fw_context_source *source;

	if (sources->count == FW_LIMIT_CONTEXT_DOCUMENTS) {
		fw__release(path);
		return fw_raise_input_too_large("the set of sources",
						FW_LIMIT_CONTEXT_LIST_BYTES);
	}
	if (sources->count == sources->room) {
		size_t room = sources->room ? 2 * sources->room : 64;
		struct fw_context_source *more =
			fw__reallocate(sources->items, room * sizeof *more);

		if (!more) {
			fw__release(path);
			return fw_raise_internal_out_of_memory();
		}
		sources->items = more;
		sources->room = room;
	}
	source = &sources->items[sources->count++];
	*source = (struct fw_context_source){ .path = path,
					      .path_len = len,
					      .size = (uint64_t)st->st_size };
	sources->bytes += source->size;
	return make_id(source);
}

static fw_error *walk(struct fw_context_sources *sources, int dir, const char *prefix,
		      size_t prefix_len, unsigned depth);

static fw_error *visit(struct fw_context_sources *sources, int dir, const char *prefix,
		       size_t prefix_len, const char *name, unsigned depth)
{
	size_t len = strlen(name);
	struct stat st;
	fw_error *err;
	char *path;
	int fd;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		int error = errno;

		return fw_context_system_error(FW_HERE, error, name);
	}
	if (S_ISLNK(st.st_mode) && is_document(name, len))
		sources->links++;
	if (!S_ISDIR(st.st_mode) && !(S_ISREG(st.st_mode) && is_document(name, len)))
		return NULL;
	path = fw__allocate(prefix_len + len + 2);
	if (!path)
		return fw_raise_internal_out_of_memory();
	memcpy(path, prefix, prefix_len);
	memcpy(path + prefix_len, name, len + 1);
	len += prefix_len;
	if (S_ISREG(st.st_mode))
		return add(sources, path, len, &st);
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		int error = errno;

		err = fw_context_system_error(FW_HERE, error, path);
	} else {
		memcpy(path + len, "/", 2);
		err = walk(sources, fd, path, len + 1, depth + 1);
	}
	fw__release(path);
	return err;
}

/* Consumes `dir`. */
static fw_error *walk(struct fw_context_sources *sources, int dir, const char *prefix,
		      size_t prefix_len, unsigned depth)
{
	DIR *stream;
	fw_error *err = NULL;

	if (depth > FW_LIMIT_CONTEXT_DEPTH) {
		(void)close(dir);
		return fw_raise_file_read_failed(prefix, "it is nested too deeply");
	}
	stream = fdopendir(dir);
	if (!stream) {
		int error = errno;

		(void)close(dir);
		return fw_context_system_error(FW_HERE, error, prefix);
	}
	while (!err) {
		int error;
		const char *name = fw_context_next_name(stream, &error);

		if (!name) {
			if (error)
				err = fw_context_system_error(FW_HERE, error, prefix);
			break;
		}
		err = visit(sources, dirfd(stream), prefix, prefix_len, name, depth);
	}
	(void)closedir(stream);
	return err;
}

fw_error *fw_context_sources_find(const char *path, struct fw_context_sources *ret_sources)
{
	int dir;

	*ret_sources = (struct fw_context_sources){ .dir = -1 };
	ret_sources->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ret_sources->dir < 0) {
		int error = errno;

		if (error == ENOENT || error == ENOTDIR)
			return fw_raise_path_not_found(path);
		return fw_context_system_error(FW_HERE, error, path);
	}
	dir = openat(ret_sources->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0) {
		int error = errno;

		return fw_context_system_error(FW_HERE, error, path);
	}
	FW_TRY(walk(ret_sources, dir, "", 0, 0));
	if (ret_sources->count > 1)
		qsort(ret_sources->items, ret_sources->count, sizeof *ret_sources->items,
		      by_id);
	return check_ids(ret_sources);
}
