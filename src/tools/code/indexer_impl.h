/*
 * indexer_impl.h - inside the process that keeps indexes. For indexer*.c.
 *
 * Three threads per repository: one waits for the bell and one for the kernel's events, and
 * both then read all events; the third walks through the repository and makes indexes.
 */
#ifndef FW_TOOLS_CODE_INDEXER_IMPL_H
#define FW_TOOLS_CODE_INDEXER_IMPL_H

#include <pthread.h>

#include "tools/code/board.h"
#include "tools/code/changes.h"
#include "tools/code/indexer.h"
#include "tools/code/paths.h"
#include "tools/code/trigram_build.h"
#include "tools/code/watch.h"

enum {
	FW_INDEXER_LEAST_FILES = 2000, /* of a repository with an index */
	FW_INDEXER_LEAST_BYTES = 32 * 1024 * 1024,
	FW_INDEXER_LEAST_CHANGES = 64, /* that make a new index worth its time */
	FW_INDEXER_SHARE = 64,         /* or this part of the files, if that is more */
};

struct fw_indexer {
	const struct fw_indexer_options *options;
	const struct fw_code_repo *repo;
	struct fw_board *board;
	struct fw_code_place place; /* the root, open */
	bool has_place;
	bool has_reported; /* of progress, in the log */
	int64_t next_report_ms;
	enum fw_board_state reported; /* the last state in the log */

	pthread_mutex_t lock; /* for all that follows */
	pthread_cond_t wanted;
	struct fw_watch *watch;      /* NULL: not watching */
	struct fw_trigram index;     /* the current one */
	struct fw_changes changes;   /* since then */
	struct fw_board_facts facts; /* that are published */
	uint64_t event;              /* number of the last one */
	bool is_working;             /* the third thread walks or builds */
	bool wants_walk;             /* what is known is not enough: walk again */
	bool is_lost;                /* and that is being done: there is no index until then */
	bool wants_index;            /* there are too many changes: make a new index */
	bool has_news;               /* to publish */
	char *texts;                 /* FW_BOARD_CHANGES_BYTES */
};

/* ---- indexer_event.c: with the lock ---- */

/* Reads all events of the kernel, publishes what changed, and answers the bell. */
void fw_indexer__serve(struct fw_indexer *indexer);
/* Publishes the facts and the changes. */
void fw_indexer__publish(struct fw_indexer *indexer);
/* Looks again for the files that are noted as gone: some may be there. */
void fw_indexer__recheck(struct fw_indexer *indexer);

/* ---- indexer_walk.c ---- */

/* The files of the repository as they are now. */
struct fw_indexer_list {
	struct fw_trigram_source *files;
	size_t count;
	size_t room;
	struct fw_code_paths paths;
	uint64_t bytes;
	size_t changed; /* not as in the current index */
	size_t gone;    /* in the current index only */
	bool has_failed;
	bool is_unwatched;
};

/* Watches a directory, and the rules in its .git. `path` is "" or ends with a slash. With
 * the lock. False: not possible. */
bool fw_indexer__watch(struct fw_indexer *indexer, int dir, const char *path);
/* Walks and watches, without the lock. False: out of memory, stopped by a limit, or not
 * watched. */
bool fw_indexer__walk(struct fw_indexer *indexer, struct fw_indexer_list *list);
void fw_indexer_list_clear(struct fw_indexer_list *list);
/* Finds each file in the current index, with the lock; `since` is the last event before the
 * walk. */
void fw_indexer__compare(struct fw_indexer *indexer, struct fw_indexer_list *list,
			 uint64_t since);
/* Leaves in the changes only what happened after that event, and decides what the walk left open
 * of these files. With the lock. */
void fw_indexer__settle(struct fw_indexer *indexer, const struct fw_indexer_list *list,
			uint64_t since);

/* Writes a line about the index to standard error, which is the server's log. */
void fw_indexer__report(const struct fw_indexer *indexer, const char *state, uint64_t files);

/* ---- indexer_build.c ---- */

/* Makes a new index of the list without the lock, and takes it over with it. */
bool fw_indexer__build(struct fw_indexer *indexer, struct fw_indexer_list *list,
		       uint64_t since);
/* Takes over the index that a process before this one made, if there is one. */
void fw_indexer__load(struct fw_indexer *indexer);

#endif
