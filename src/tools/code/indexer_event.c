/*
 * indexer_event.c - what an event of the kernel means for an index.
 *
 * A file that is known and changed, or is gone, is read by every search until there is a new index. A new
 * file or directory is looked at by a walk of its parent alone, which applies the ignore
 * rules. Whatever is rare and complicated (rules change, directories move, events were
 * lost) makes the index unusable until a walk of everything is done.
 */
#include "tools/code/indexer_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "tools/code/ignore.h"
#include "tools/code/walk.h"

enum {
	LOOKS_MAX = 64,
	LINKS_MAX = 64,
	CHANGED = IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB,
	GONE = IN_DELETE | IN_MOVED_FROM /* searches may have the file mapped */
};

struct look {
	char directory[FW_PATH_SIZE]; /* where something was created; "": the root */
	char name[FW_PATH_NAME_SIZE]; /* a directory; "": files */
	bool is_created;              /* not only made accessible */
};

/* Directories to look at after all events were read. */
struct looks {
	struct fw_indexer *indexer;
	size_t count;
	size_t links; /* files with several names that were looked for in the index */
	struct look list[LOOKS_MAX];
};

static void give_up(struct fw_indexer *indexer)
{
	indexer->wants_walk = true;
	indexer->has_news = true;
	(void)pthread_cond_signal(&indexer->wanted);
}

static void put(struct fw_indexer *indexer, const char *path, bool is_checked)
{
	const struct fw_change change = { .event = ++indexer->event, .is_checked = is_checked };

	if (!fw_changes_put(&indexer->changes, path, &change))
		give_up(indexer);
	indexer->has_news = true;
}

static bool is_known(const struct fw_indexer *indexer, const char *path)
{
	const struct fw_change *change = fw_changes_find(&indexer->changes, path);

	/* One that is ignored by now stays so, also if it is written. */
	if (change)
		return change->is_checked && !change->is_gone;
	return indexer->index.bytes && fw_trigram_find(&indexer->index, path) != SIZE_MAX;
}

/* A file that has another name by now can be written through it, of which no event tells under
 * the names that are known. `name` is in the directory `dir`. */
static void note_links(struct looks *looks, int dir, const char *name, const char *path)
{
	struct fw_indexer *indexer = looks->indexer;
	const struct fw_trigram *index = &indexer->index;
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode) ||
	    st.st_nlink == 1)
		return;
	/* A walk may have found it with one name, and the index that is being made knows it so. */
	if (indexer->is_working || looks->links++ == LINKS_MAX) {
		give_up(indexer);
		return;
	}
	for (size_t i = 0; index->bytes && i < index->count; i++) {
		const char *other = fw_trigram_path(index, i);

		if (index->files[i].inode == st.st_ino && strcmp(other, path) != 0 &&
		    is_known(indexer, other))
			put(indexer, other, true);
	}
}

/* ---- events ---- */

static void want_look(struct looks *looks, const char *directory, const char *name,
		      bool is_created)
{
	struct look *look = &looks->list[looks->count];

	for (size_t i = 0; i < looks->count; i++)
		if (strcmp(looks->list[i].directory, directory) == 0 &&
		    strcmp(looks->list[i].name, name) == 0) {
			looks->list[i].is_created = looks->list[i].is_created || is_created;
			return;
		}
	if (looks->count == LOOKS_MAX) {
		give_up(looks->indexer);
		return;
	}
	(void)snprintf(look->directory, sizeof look->directory, "%s", directory);
	(void)snprintf(look->name, sizeof look->name, "%s", name);
	look->is_created = is_created;
	looks->count++;
}

/* What follows the component .git; NULL: there is none. */
static const char *in_git(const char *path)
{
	const char *at = strncmp(path, ".git/", 5) == 0 ? path : strstr(path, "/.git/");

	return !at ? NULL : at + (at[0] == '/' ? 6 : 5);
}

/* Rules that apply to other files too. */
static bool is_rule(const struct fw_watch_event *event)
{
	const char *git = in_git(event->path);

	return git ? strcmp(event->name, git[0] ? "exclude" : "info") == 0
		   : fw_ignore_bit(event->name) != 0;
}

static void on_file(struct looks *looks, const struct fw_watch_event *event)
{
	struct fw_indexer *indexer = looks->indexer;
	char path[FW_PATH_SIZE + FW_PATH_NAME_SIZE];

	(void)snprintf(path, sizeof path, "%s%s", event->path, event->name);
	if (event->mask & (CHANGED | GONE | IN_CREATE | IN_MOVED_TO)) {
		bool is_checked = is_known(indexer, path);

		if (is_checked || indexer->is_working)
			put(indexer, path, is_checked);
	}
	if (event->mask & (IN_CREATE | IN_MOVED_TO)) {
		note_links(looks, indexer->place.root.fd, path, path);
		if (!is_known(indexer, path))
			want_look(looks, event->path, "", true);
	}
}

/* Created, or its permissions changed. Without access its files are not opened, but searches may
 * have them mapped: a walk finds that they are gone. */
static void on_directory(struct looks *looks, const struct fw_watch_event *event)
{
	char path[FW_PATH_SIZE + FW_PATH_NAME_SIZE];

	(void)snprintf(path, sizeof path, "%s%s", event->path, event->name);
	if (faccessat(looks->indexer->place.root.fd, path, R_OK | X_OK, 0) != 0 &&
	    errno == EACCES)
		give_up(looks->indexer);
	else
		want_look(looks, event->path, event->name, event->mask & IN_CREATE);
}

static void on_event(void *ctx, const struct fw_watch_event *event)
{
	struct looks *looks = ctx;

	/* Of a file system that was unmounted, and what is below it, there is one event for each
	 * directory. */
	if (!event->path || event->mask & IN_UNMOUNT) {
		give_up(looks->indexer);
		return;
	}
	if (is_rule(event)) {
		give_up(looks->indexer);
	} else if (in_git(event->path)) {
		return;
	} else if (event->mask & IN_ISDIR) {
		if (event->mask & (IN_MOVED_FROM | IN_MOVED_TO))
			give_up(looks->indexer);
		else if (event->mask & (IN_CREATE | IN_ATTRIB))
			on_directory(looks, event);
	} else if (event->name[0]) {
		on_file(looks, event);
	}
}

/* ---- looking ---- */

struct looking {
	struct fw_indexer *indexer;
	struct looks *looks;
	const struct look *look;
	char below[FW_PATH_SIZE + FW_PATH_NAME_SIZE]; /* what is new; "": the files */
	size_t below_len;
};

static bool is_new(const struct looking *l, const char *path)
{
	return l->below_len && strncmp(path, l->below, l->below_len) == 0 &&
	       (path[l->below_len] == '/' || !path[l->below_len]);
}

static bool file(void *ctx, int dir, const char *path, size_t len, const char *name)
{
	const struct looking *l = ctx;

	(void)len;
	if (l->below_len && !is_new(l, path))
		return true;
	if (l->below_len)
		note_links(l->looks, dir, name, path);
	/* The index may know a file of this name from a directory that was here before, or that a
	 * walk could not read a moment ago. */
	if ((l->below_len && (l->look->is_created || l->indexer->is_working)) ||
	    !is_known(l->indexer, path))
		put(l->indexer, path, true);
	return true;
}

static bool enters(void *ctx, const char *path)
{
	return is_new(ctx, path);
}

static void directory(void *ctx, int dir, const char *path)
{
	const struct looking *l = ctx;

	if (is_new(l, path) && !fw_indexer__watch(l->indexer, dir, path))
		give_up(l->indexer);
}

static void look(struct looks *looks, const struct look *at)
{
	struct fw_indexer *indexer = looks->indexer;
	struct looking l = { .indexer = indexer, .looks = looks, .look = at };
	const struct fw_walk walk = {
		.file = file, .directory = directory, .enters = enters, .ctx = &l
	};
	char start[FW_PATH_SIZE];
	bool is_complete = true;
	size_t len;
	fw_error *err;

	(void)snprintf(start, sizeof start, "%s", at->directory[0] ? at->directory : ".");
	len = strlen(start);
	if (len > 1 && start[len - 1] == '/')
		start[len - 1] = '\0';
	if (at->name[0]) {
		(void)snprintf(l.below, sizeof l.below, "%s%s", at->directory, at->name);
		l.below_len = strlen(l.below);
	}
	err = fw_walk_run(&walk, indexer->place.root.fd, start, start, &is_complete);
	/* A directory that is gone again has nothing new. */
	if (err ? fw_error_code(err) != FW_FILE_NOT_FOUND : !is_complete)
		give_up(indexer);
	fw_error_free(err);
}

/* ---- looking again ---- */

static bool file_again(void *ctx, int dir, const char *path, size_t len, const char *name)
{
	struct fw_indexer *indexer = ctx;
	const struct fw_change *change = fw_changes_find(&indexer->changes, path);

	(void)dir;
	(void)len;
	(void)name;
	if (change && change->is_gone)
		put(indexer, path, true);
	return true;
}

/* Directories with such files, and those above. */
static bool enters_again(void *ctx, const char *path)
{
	const struct fw_indexer *indexer = ctx;

	return fw_changes_has_gone_below(&indexer->changes, path);
}

void fw_indexer__recheck(struct fw_indexer *indexer)
{
	const struct fw_walk walk = { .file = file_again,
				      .enters = enters_again,
				      .ctx = indexer };
	bool is_complete = true;
	fw_error *err = fw_walk_run(&walk, indexer->place.root.fd, ".", ".", &is_complete);

	if (err || !is_complete)
		give_up(indexer);
	fw_error_free(err);
}

/* ---- the board ---- */

void fw_indexer__publish(struct fw_indexer *indexer)
{
	struct fw_board_facts *facts = &indexer->facts;
	size_t limit = indexer->index.count / FW_INDEXER_SHARE;
	size_t len = 0;

	indexer->has_news = false;
	if (indexer->index.bytes && !indexer->wants_walk && !indexer->is_lost) {
		len = fw_changes_write(&indexer->changes, indexer->texts,
				       FW_BOARD_CHANGES_BYTES);
		facts->state =
			len <= FW_BOARD_CHANGES_BYTES ? FW_BOARD_READY : FW_BOARD_BUILDING;
	} else if (facts->state == FW_BOARD_READY) {
		facts->state = FW_BOARD_BUILDING;
	}
	facts->changes = facts->state == FW_BOARD_READY ? (uint32_t)len : 0;
	if (indexer->changes.count > limit + FW_INDEXER_LEAST_CHANGES &&
	    !indexer->wants_index) {
		indexer->wants_index = true;
		(void)pthread_cond_signal(&indexer->wanted);
	}
	fw_board_publish(indexer->board, facts, indexer->texts);
}

/* New directories that are found by looking are complete: each is watched before it is
 * read. */
static void follow(struct fw_indexer *indexer)
{
	struct looks *looks = fw__allocate(sizeof *looks);

	if (!looks) {
		give_up(indexer);
		return;
	}
	looks->indexer = indexer;
	looks->count = 0;
	looks->links = 0;
	fw_watch_read(indexer->watch, on_event, looks);
	for (size_t i = 0; i < looks->count && !indexer->wants_walk; i++)
		look(looks, &looks->list[i]);
	fw__release(looks);
}

void fw_indexer__serve(struct fw_indexer *indexer)
{
	unsigned rings = fw_board_rings(indexer->board);

	if (indexer->watch)
		follow(indexer);
	if (indexer->has_news)
		fw_indexer__publish(indexer);
	fw_board_answer(indexer->board, rings);
}
