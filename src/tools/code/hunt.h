/*
 * hunt.h - a search through the files of repositories: a walk that finds the files, and
 * threads that read and match them while it goes on.
 *
 * The one rule to remember: matches are kept in the order of the paths, at most `most` of
 * them, and all of them are counted.
 */
#ifndef FW_TOOLS_CODE_HUNT_H
#define FW_TOOLS_CODE_HUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <faultwire/error.h>

enum { FW_HUNT_PREVIEW = 200 /* characters */ };

struct fw_mapped;
struct fw_query;
struct fw_hunt;

/* A matching line. */
struct fw_hit {
	uint64_t file; /* its number, in the order of the paths */
	const char *path;
	const char *prefix; /* of the repository */
	uint64_t line;      /* from 1 */
	uint64_t column;    /* in characters, from 1 */
	char *preview;      /* UTF-8 */
	size_t preview_len;
};

enum fw_hunt_end { FW_HUNT_COMPLETE, FW_HUNT_TIMED_OUT, FW_HUNT_CANCELLED };

struct fw_hunt_options {
	const struct fw_query *query;
	size_t most;
	unsigned threads; /* 0: one per CPU */
	int64_t until_ms; /* fw_steady_ms() at which it is ended */
	bool (*is_cancelled)(void *ctx);
	void *ctx;
};

/* Raises internal.out_of_memory. */
FW_NODISCARD fw_error *fw_hunt_new(const struct fw_hunt_options *options,
				   struct fw_hunt **ret_hunt);
void fw_hunt_free(struct fw_hunt *hunt);

/* Where a file is. */
struct fw_hunt_where {
	int root;           /* directory, open until the hunt is finished */
	dev_t device;       /* of the root */
	const char *prefix; /* of the repository; not copied */
	bool is_canonical;  /* no component of the path may be a link */
	bool is_named;      /* by the client: the file itself may be a link */
	/* NULL: open and read the file (mapped.h). It is not mapped if it is on another device
	 * than the root: that could not be unmounted. */
	struct fw_mapped *mapped;
};

/* Adds a file, and starts the threads if there are enough of them; files are added in the order of their paths. The path is copied. False: the
 * hunt has ended, add no more. */
bool fw_hunt_add(struct fw_hunt *hunt, const struct fw_hunt_where *where, const char *path,
		 size_t len);
/* True also if its time is over or it was cancelled: then it ends. */
bool fw_hunt_has_ended(struct fw_hunt *hunt);

/* Takes part in the search until every file was searched. Raises what matching raises. */
FW_NODISCARD fw_error *fw_hunt_finish(struct fw_hunt *hunt, enum fw_hunt_end *ret_end);

/* Afterwards: the hits that are kept, and the number of all. */
const struct fw_hit *fw_hunt_hits(const struct fw_hunt *hunt, size_t *ret_count);
uint64_t fw_hunt_total(const struct fw_hunt *hunt);

#endif
