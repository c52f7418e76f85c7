/*
 * candidates.c - see candidates.h.
 *
 * Everything is opened and mapped for each search: that takes some fifty microseconds, and
 * there is nothing to keep in step.
 */
#include "tools/code/candidates.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tools/code/board.h"
#include "tools/code/mapped.h"
#include "tools/code/trigram.h"

enum { ATTEMPTS = 3, SILENT_MS = 1000, BITS = 64 };

struct view {
	struct fw_board_facts facts;
	struct fw_trigram index;
	char *changes;
	uint64_t *bits;
	struct fw_mapped *mapped; /* all files of the index, or NULL */
	size_t from, to;          /* files below the place */
};

/* ---- the index as it is now ---- */

static bool is_usable(const struct fw_candidates *c, const struct fw_board_facts *facts)
{
	return facts->state == FW_BOARD_READY && facts->device == c->place->root.dev &&
	       facts->inode == c->place->root.ino;
}

/* A keeper that has not answered is not asked again for a while. */
static bool ask(struct fw_board *board)
{
	static _Atomic int64_t silent_until;

	if (fw_steady_ms() < atomic_load(&silent_until))
		return false;
	if (fw_board_ring(board))
		return true;
	atomic_store(&silent_until, fw_steady_ms() + SILENT_MS);
	return false;
}

static bool open_index(const struct fw_candidates *c, struct fw_board *board, struct view *view)
{
	/* A new index may replace the file between reading its name and opening it. */
	for (int i = 0; i < ATTEMPTS; i++) {
		char path[FW_PATH_SIZE + 32];

		if (!fw_board_read(board, &view->facts, view->changes) ||
		    !is_usable(c, &view->facts))
			return false;
		(void)snprintf(path, sizeof path, "%s/%llu.tri", c->place->repo->index,
			       (unsigned long long)view->facts.generation);
		if (!fw_trigram_open(path, false, &view->index))
			continue;
		/* Only the keeper writes it. Another writer may have damaged it, and files
		 * would be missed; reading it all for its checksum would take too long. */
		if (view->index.changed_ns == view->facts.index_changed_ns)
			return true;
		fw_trigram_close(&view->index);
	}
	return false;
}

static bool look(const struct fw_candidates *c, struct view *view)
{
	struct fw_board *board = fw_board_open(c->place->repo->index, false);
	bool is_open;

	if (!board)
		return false;
	view->changes = fw__allocate(FW_BOARD_CHANGES_BYTES);
	is_open = view->changes && fw_board_read(board, &view->facts, view->changes) &&
		  is_usable(c, &view->facts) && ask(board) && open_index(c, board, view);
	fw_board_close(board);
	return is_open;
}

/* ---- the place ---- */

static bool is_below(const struct fw_candidates *c, const char *path)
{
	size_t len = strlen(c->place->path);

	return strcmp(c->place->path, ".") == 0 ||
	       (strncmp(path, c->place->path, len) == 0 && path[len] == '/');
}

/* Is a file below the place left of those that the index knows? */
static bool has_shown(const struct fw_candidates *c, const struct view *view)
{
	const char *end = view->changes + view->facts.changes;
	size_t left = view->to - view->from;

	for (const char *at = view->changes; at < end; at += strlen(at) + 1)
		if (at[0] == '-' && is_below(c, at + 1) &&
		    fw_trigram_find(&view->index, at + 1) != SIZE_MAX)
			left--;
	return left > 0;
}

/* "dir/" and what sorts behind everything that begins so. */
static bool find_range(const struct fw_candidates *c, struct view *view)
{
	char path[FW_PATH_SIZE + 2];

	if (strcmp(c->place->path, ".") == 0) {
		view->from = 0;
		view->to = view->index.count;
		return true;
	}
	(void)snprintf(path, sizeof path, "%s/", c->place->path);
	view->from = fw_trigram_place(&view->index, path);
	path[strlen(path) - 1] = '/' + 1;
	view->to = fw_trigram_place(&view->index, path);
	/* A directory that the index does not know may be ignored, or a link, or ignored since the
	 * index was made: walking it finds its files. */
	return view->from < view->to && has_shown(c, view);
}

/* ---- in the order of the paths ---- */

static size_t next_bit(const struct view *view, size_t from)
{
	while (from < view->to) {
		uint64_t word = view->bits[from / BITS] >> (from % BITS);

		if (word) {
			from += (size_t)__builtin_ctzll(word);
			break;
		}
		from = (from / BITS + 1) * BITS;
	}
	return from < view->to ? from : view->to;
}

/* The files of the index that are mapped, without those below the place that have changed. */
static struct fw_mapped *map_files(const struct fw_candidates *c, const struct view *view)
{
	const struct fw_mapped_index index = { c->place->repo, view->facts.generation,
					       view->facts.index_changed_ns,
					       view->index.count };
	const char *end = view->changes + view->facts.changes;
	struct fw_mapped *mapped = fw_mapped_files(&index);

	for (const char *at = view->changes; mapped && at < end; at += strlen(at) + 1) {
		size_t number =
			is_below(c, at + 1) ? fw_trigram_find(&view->index, at + 1) : SIZE_MAX;

		if (number != SIZE_MAX)
			fw_mapped_drop(fw_mapped_at(mapped, number));
	}
	return mapped;
}

static void each(const struct fw_candidates *c, const struct view *view)
{
	const char *change = view->changes;
	const char *end = change + view->facts.changes;
	size_t at = next_bit(view, view->from);

	while (at < view->to || change < end) {
		const char *path = at < view->to ? fw_trigram_path(&view->index, at) : NULL;
		int order = !path ? 1 : change >= end ? -1 : strcmp(path, change + 1);
		bool is_change = order >= 0;
		const char *name = is_change ? change + 1 : path;
		bool is_shown =
			is_change ? change[0] == '+' && is_below(c, name) : name[0] != '\0';
		struct fw_mapped *mapped = is_change ? NULL : fw_mapped_at(view->mapped, at);

		if (is_shown && !c->file(c->ctx, name, strlen(name), mapped))
			return;
		if (is_change)
			change += strlen(change) + 1;
		if (order <= 0)
			at = next_bit(view, at + 1);
	}
}

bool fw_candidates_each(const struct fw_candidates *candidates)
{
	struct view view = { .changes = NULL };
	bool is_found = false;

	if (!candidates->place->repo->has_index)
		return false;
	if (look(candidates, &view) && find_range(candidates, &view)) {
		size_t words = view.index.count / BITS + 1;

		view.bits = fw__allocate(words * sizeof *view.bits);
		if (view.bits) {
			memset(view.bits, 0, words * sizeof *view.bits);
			is_found =
				fw_trigram_select(&view.index, candidates->literals, view.bits);
			if (is_found && candidates->runs && candidates->runs->count)
				fw_trigram_narrow(&view.index, candidates->runs, view.bits);
		}
	}
	if (is_found) {
		view.mapped = candidates->keeps_maps ? map_files(candidates, &view) : NULL;
		each(candidates, &view);
	}
	fw__release(view.bits);
	fw__release(view.changes);
	fw_trigram_close(&view.index);
	return is_found;
}
