/*
 * watch.h - watches directories for changes that the kernel reports (inotify).
 *
 * A watch does not include subdirectories, so add each directory. An event is in the
 * queue before the system call that caused it returns, so a reader that empties the queue
 * knows every change that was complete before. Writes through memory maps are not
 * reported, nor are changes that other machines make on a network file system.
 *
 * The one rule to remember: it is not thread-safe. The caller locks.
 */
#ifndef FW_TOOLS_CODE_WATCH_H
#define FW_TOOLS_CODE_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fw_watch;

/* NULL: no memory, or the user has too many inotify instances. */
struct fw_watch *fw_watch_new(void);
void fw_watch_free(struct fw_watch *watch);
/* A descriptor that is readable if there are events. It stays the same until
 * fw_watch_free(). */
int fw_watch_fd(const struct fw_watch *watch);
/* Removes all directories and events. False: nothing was changed. */
bool fw_watch_renew(struct fw_watch *watch);

/* Watches the directory `root`/`path`. `path` is "" or ends with a slash; events report
 * it. False: it cannot be watched, and errno says why. ENOSPC: the user's limit is
 * reached. */
bool fw_watch_add(struct fw_watch *watch, const char *root, const char *path);
/* The number of watched directories. */
size_t fw_watch_count(const struct fw_watch *watch);

struct fw_watch_event {
	const char *path; /* of the directory, as it was added; NULL: events were lost */
	const char *name; /* in the directory */
	uint32_t mask;    /* IN_... */
};

/* Reports events until there are none. */
void fw_watch_read(struct fw_watch *watch,
		   void (*event)(void *ctx, const struct fw_watch_event *event), void *ctx);

/* True: the file system of this descriptor reports all changes. Network file systems and
 * FUSE do not. */
bool fw_watch_is_reliable(int fd);

#endif
