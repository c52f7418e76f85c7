/*
 * watch.c - see watch.h.
 *
 * The kernel numbers watches in ascending order, so new ones are appended to an array
 * that stays sorted. A directory that is added twice keeps its number.
 */
#include "tools/code/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "tools/common/path.h"

enum { READ_BYTES = 64 * 1024, WHOLE_PATH_SIZE = 2 * FW_PATH_SIZE };

struct watched {
	int number;
	char *path; /* NULL: not watched any more */
};

struct fw_watch {
	int fd;
	struct watched *list;
	size_t count;
	size_t room;
	size_t dead;
	_Alignas(8) char buffer[READ_BYTES];
};

struct fw_watch *fw_watch_new(void)
{
	struct fw_watch *watch = fw__allocate(sizeof *watch);

	if (!watch)
		return NULL;
	*watch = (struct fw_watch){ .fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC) };
	if (watch->fd >= 0)
		return watch;
	fw__release(watch);
	return NULL;
}

static void forget(struct fw_watch *watch)
{
	while (watch->count)
		fw__release(watch->list[--watch->count].path);
	watch->dead = 0;
}

void fw_watch_free(struct fw_watch *watch)
{
	if (!watch)
		return;
	forget(watch);
	fw__release(watch->list);
	(void)close(watch->fd);
	fw__release(watch);
}

int fw_watch_fd(const struct fw_watch *watch)
{
	return watch->fd;
}

bool fw_watch_renew(struct fw_watch *watch)
{
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	bool is_new = fd >= 0 && dup3(fd, watch->fd, O_CLOEXEC) >= 0;

	if (fd >= 0)
		(void)close(fd);
	if (is_new)
		forget(watch);
	return is_new;
}

/* ---- directories ---- */

/* The index of the number, or where it would be inserted. */
static size_t place_of(const struct fw_watch *watch, int number)
{
	size_t low = 0, high = watch->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (watch->list[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool make_room(struct fw_watch *watch)
{
	size_t room = watch->room ? 2 * watch->room : 64;
	struct watched *more;

	if (watch->count < watch->room)
		return true;
	more = fw__reallocate(watch->list, room * sizeof *more);
	if (!more)
		return false;
	watch->list = more;
	watch->room = room;
	return true;
}

/* Consumes the path. */
static bool keep(struct fw_watch *watch, int number, char *path)
{
	size_t at = place_of(watch, number);

	if (at < watch->count && watch->list[at].number == number) {
		watch->dead -= !watch->list[at].path;
		fw__release(watch->list[at].path);
		watch->list[at].path = path;
		return true;
	}
	if (!make_room(watch)) {
		fw__release(path);
		return false;
	}
	memmove(watch->list + at + 1, watch->list + at,
		(watch->count - at) * sizeof *watch->list);
	watch->list[at] = (struct watched){ number, path };
	watch->count++;
	return true;
}

bool fw_watch_add(struct fw_watch *watch, const char *root, const char *path)
{
	static const uint32_t events = IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_CREATE |
				       IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR |
				       IN_DONT_FOLLOW | IN_EXCL_UNLINK;
	char whole[WHOLE_PATH_SIZE];
	char *copy;
	int number;

	(void)snprintf(whole, sizeof whole, "%s/%s", root, path);
	number = inotify_add_watch(watch->fd, whole, events);
	if (number < 0)
		return false;
	copy = fw_strdup(path);
	if (copy && keep(watch, number, copy))
		return true;
	errno = ENOMEM;
	return false;
}

size_t fw_watch_count(const struct fw_watch *watch)
{
	return watch->count - watch->dead;
}

static void remove_dead(struct fw_watch *watch)
{
	size_t kept = 0;

	for (size_t i = 0; i < watch->count; i++)
		if (watch->list[i].path)
			watch->list[kept++] = watch->list[i];
	watch->count = kept;
	watch->dead = 0;
}

static void drop(struct fw_watch *watch, size_t at)
{
	fw__release(watch->list[at].path);
	watch->list[at].path = NULL;
	if (++watch->dead > watch->count / 2)
		remove_dead(watch);
}

/* ---- events ---- */

static void report(struct fw_watch *watch, const struct inotify_event *item,
		   void (*event)(void *ctx, const struct fw_watch_event *event), void *ctx)
{
	struct fw_watch_event reported = { .name = item->len ? item->name : "",
					   .mask = item->mask };
	size_t at;

	if (item->mask & IN_Q_OVERFLOW) {
		event(ctx, &reported);
		return;
	}
	at = place_of(watch, item->wd);
	if (at == watch->count || watch->list[at].number != item->wd || !watch->list[at].path)
		return;
	if (item->mask & IN_IGNORED) {
		drop(watch, at);
		return;
	}
	reported.path = watch->list[at].path;
	event(ctx, &reported);
}

void fw_watch_read(struct fw_watch *watch,
		   void (*event)(void *ctx, const struct fw_watch_event *event), void *ctx)
{
	for (;;) {
		ssize_t got = read(watch->fd, watch->buffer, sizeof watch->buffer);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return;
		for (ssize_t at = 0; at < got;) {
			const struct inotify_event *item = (const void *)(watch->buffer + at);

			at += (ssize_t)(sizeof *item + item->len);
			report(watch, item, event, ctx);
		}
	}
}

bool fw_watch_is_reliable(int fd)
{
	/* Constants for some of these are missing in the headers of older systems. */
	static const long others[] = {
		NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, CODA_SUPER_MAGIC, AFS_SUPER_MAGIC,
		V9FS_MAGIC,      0xfe534d42,      0xff534d42,       0x65735546,
		0x00c36400,      0x0bd00bd0,      0x01161970,       0x7461636f,
	};
	struct statfs st;

	if (fstatfs(fd, &st) != 0)
		return false;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if ((long)st.f_type == others[i])
			return false;
	return true;
}
