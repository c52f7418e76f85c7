/*
 * changes.h - the files of a repository that differ from an index: a sorted set of paths.
 *
 * Each has the number of the event that added it last, so that an index that was begun
 * at some event leaves the later ones in the set.
 */
#ifndef FW_TOOLS_CODE_CHANGES_H
#define FW_TOOLS_CODE_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fw_change {
	char *path;
	uint64_t event;
	bool is_gone;    /* the file must not be shown: deleted, or ignored now */
	bool is_checked; /* no ignore rule applies to it */
};

/* All zero: empty. */
struct fw_changes {
	struct fw_change *list;
	size_t count;
	size_t room;
};

void fw_changes_clear(struct fw_changes *changes);
/* NULL: not in the set. */
const struct fw_change *fw_changes_find(const struct fw_changes *changes, const char *path);
/* Is a file below the directory `path` noted as gone? */
bool fw_changes_has_gone_below(const struct fw_changes *changes, const char *path);
/* Adds it or replaces what was known of it; a file that was checked stays so, and one that is gone
 * too unless `change` is checked. False: no memory. */
bool fw_changes_put(struct fw_changes *changes, const char *path,
		    const struct fw_change *change);
/* Removes those for which `is_dropped` is true. */
void fw_changes_drop(struct fw_changes *changes,
		     bool (*is_dropped)(void *ctx, struct fw_change *change), void *ctx);
/* Writes the texts of board.h, of those that are checked. Returns their length; more than `size`: nothing useful was
 * written. */
size_t fw_changes_write(const struct fw_changes *changes, char *to, size_t size);

#endif
