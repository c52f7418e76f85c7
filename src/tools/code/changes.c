/*
 * changes.c - see changes.h.
 */
#include "tools/code/changes.h"

#include <string.h>

#include "base/mem.h"

void fw_changes_clear(struct fw_changes *changes)
{
	while (changes->count)
		fw__release(changes->list[--changes->count].path);
	fw__release(changes->list);
	*changes = (struct fw_changes){ .list = NULL };
}

static size_t place_of(const struct fw_changes *changes, const char *path, bool *ret_is_there)
{
	size_t low = 0, high = changes->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(changes->list[middle].path, path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_is_there = low < changes->count && strcmp(changes->list[low].path, path) == 0;
	return low;
}

const struct fw_change *fw_changes_find(const struct fw_changes *changes, const char *path)
{
	bool is_there;
	size_t at = place_of(changes, path, &is_there);

	return is_there ? &changes->list[at] : NULL;
}

bool fw_changes_has_gone_below(const struct fw_changes *changes, const char *path)
{
	size_t len = strlen(path);
	bool is_there;

	/* Others may begin with the same name and sort between: "a-b" and "a/b". */
	for (size_t at = place_of(changes, path, &is_there); at < changes->count; at++) {
		const char *other = changes->list[at].path;

		if (strncmp(other, path, len) != 0 || (unsigned char)other[len] > '/')
			break;
		if (other[len] == '/' && changes->list[at].is_gone)
			return true;
	}
	return false;
}

static bool insert(struct fw_changes *changes, size_t at, const char *path)
{
	char *copy = fw_strdup(path);

	if (!copy)
		return false;
	if (changes->count == changes->room) {
		size_t room = changes->room ? 2 * changes->room : 64;
		struct fw_change *more = fw__reallocate(changes->list, room * sizeof *more);

		if (!more) {
			fw__release(copy);
			return false;
		}
		changes->list = more;
		changes->room = room;
	}
	memmove(changes->list + at + 1, changes->list + at,
		(changes->count - at) * sizeof *changes->list);
	changes->list[at] = (struct fw_change){ .path = copy };
	changes->count++;
	return true;
}

bool fw_changes_put(struct fw_changes *changes, const char *path,
		    const struct fw_change *change)
{
	bool is_there, was_checked;
	size_t at = place_of(changes, path, &is_there);

	if (!is_there && !insert(changes, at, path))
		return false;
	was_checked = changes->list[at].is_checked;
	changes->list[at].event = change->event;
	changes->list[at].is_gone =
		change->is_gone || (changes->list[at].is_gone && !change->is_checked);
	changes->list[at].is_checked = was_checked || change->is_checked;
	return true;
}

void fw_changes_drop(struct fw_changes *changes,
		     bool (*is_dropped)(void *ctx, struct fw_change *change), void *ctx)
{
	size_t kept = 0;

	for (size_t i = 0; i < changes->count; i++)
		if (is_dropped(ctx, &changes->list[i]))
			fw__release(changes->list[i].path);
		else
			changes->list[kept++] = changes->list[i];
	changes->count = kept;
}

size_t fw_changes_write(const struct fw_changes *changes, char *to, size_t size)
{
	size_t len = 0;

	for (size_t i = 0; i < changes->count; i++) {
		size_t path = strlen(changes->list[i].path) + 1;

		if (!changes->list[i].is_checked)
			continue;
		if (len + 1 + path > size)
			return size + 1;
		to[len++] = changes->list[i].is_gone ? '-' : '+';
		memcpy(to + len, changes->list[i].path, path);
		len += path;
	}
	return len;
}
