/*
 * hunt_impl.h - inside a hunt: its files, its hits, its threads. For hunt*.c.
 */
#ifndef FW_TOOLS_CODE_HUNT_IMPL_H
#define FW_TOOLS_CODE_HUNT_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "tools/code/hunt.h"
#include "tools/code/paths.h"

enum {
	FW_HUNT_THREADS = 8,
	FW_HUNT_BATCH = 16, /* files that are worth waking a thread */
	/* Files that a thread takes at once. Large files are often neighbours: one thread would be
	 * left with them. */
	FW_HUNT_SHARE = 4,
};

struct fw_hunt_file {
	struct fw_hunt_where where;
	const char *path; /* in `paths` of the hunt */
};

struct fw_hunt {
	struct fw_hunt_options options;
	pthread_t threads[FW_HUNT_THREADS];
	unsigned thread_count; /* without the caller's */
	bool has_started;      /* the threads */
	_Atomic int end;       /* enum fw_hunt_end, when it is not complete */
	atomic_bool is_ended;
	atomic_uint_fast64_t total;
	/* Hits of this file and later ones are only counted. */
	atomic_uint_fast64_t cutoff;

	pthread_mutex_t lock; /* for all that follows */
	pthread_cond_t added;
	struct fw_hunt_file *files;
	size_t count;
	size_t room;
	size_t next;   /* the first file that nobody has taken */
	bool is_added; /* no more files will come */
	struct fw_code_paths paths;
	struct fw_hit *hits;
	size_t hit_count;
	size_t hit_room;
	fw_error *err;
};

/* Searches files until there are none left. */
void fw_hunt__run(struct fw_hunt *hunt);

/* Ends the hunt with an error, which is consumed; the first one is kept. */
void fw_hunt__fail(struct fw_hunt *hunt, fw_error *err);
void fw_hunt__end(struct fw_hunt *hunt, enum fw_hunt_end end);

/* Takes up to FW_HUNT_SHARE files; waits for some. 0: there are no more. `*ret_first` is the
 * number of the first. */
size_t fw_hunt__take(struct fw_hunt *hunt, struct fw_hunt_file *ret_files, uint64_t *ret_first);

/* Adds the hits of one file, in order, and takes over their previews. */
void fw_hunt__keep(struct fw_hunt *hunt, struct fw_hit *hits, size_t count);

#endif
