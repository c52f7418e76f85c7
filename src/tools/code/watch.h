/*
 * watch.h - changes below a directory, reported by the kernel (inotify).
 *
 * A directory is watched without what is below it, so add each one. An event is in the queue
 * before the system call that caused it returns: a reader that empties the queue knows every
 * change that was complete before. Not reported are writes through memory maps, and changes
 * that other machines make on a network file system.
 *
 * The one rule to remember: the caller locks; nothing here does.
 */
#ifndef FW_TOOLS_CODE_WATCH_H
#define FW_TOOLS_CODE_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fw_watch;

/* NULL: no memory, or the user has too many. */
struct fw_watch *fw_watch_new(void);
void fw_watch_free(struct fw_watch *watch);
/* Readable if there are events. It stays the same until fw_watch_free(). */
int fw_watch_fd(const struct fw_watch *watch);
/* Forgets all directories and all events. False: the old ones are kept. */
bool fw_watch_renew(struct fw_watch *watch);

/* Watches the directory `root`/`path`; `path` is "" or ends with a slash, and is what events
 * report. False: it cannot be watched, by `errno`: ENOSPC is the limit of the user. */
bool fw_watch_add(struct fw_watch *watch, const char *root, const char *path);
/* How many are watched. */
size_t fw_watch_count(const struct fw_watch *watch);

struct fw_watch_event {
	const char *path; /* of the directory, as it was added; NULL: events were lost */
	const char *name; /* in the directory */
	uint32_t mask;    /* IN_... */
};

/* Reports events until there are none. */
void fw_watch_read(struct fw_watch *watch,
		   void (*event)(void *ctx, const struct fw_watch_event *event), void *ctx);

/* Does the file system of this descriptor report all changes? Not if it is a network file
 * system or FUSE. */
bool fw_watch_is_reliable(int fd);

#endif
