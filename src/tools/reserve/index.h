/*
 * index.h - reservations in memory, found by the paths that they may overlap.
 *
 * A reservation is a glob below a directory. Both together are one absolute glob, which
 * is kept in a tree of path components: the components before the first one with a
 * special character lead to a node, and the rest is compared there. So a path is
 * compared with the globs on its way down only, and not with all of them. If too many are
 * on the way, bitmaps (signature.h) select those that are compared.
 *
 * The one rule to remember: the index knows nothing about time. The reader of an entry
 * checks whether it has expired.
 */
#ifndef FW_TOOLS_RESERVE_INDEX_H
#define FW_TOOLS_RESERVE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

#include "tools/reserve/signature.h"

/* Texts are borrowed, or belong to the entry of an index. */
struct fw_reservation {
	const char *id;
	const char *agent;
	const char *root;    /* directory, an absolute path */
	const char *pattern; /* relative to it; may have braces */
	const char *reason;
	bool is_exclusive;
	int64_t created_ms;
	int64_t expires_ms;
};

struct fw_reserve_index;

/* NULL: no memory. */
struct fw_reserve_index *fw_reserve_index_new(void);
/* NULL is a no-op. */
void fw_reserve_index_free(struct fw_reserve_index *index);

size_t fw_reserve_index_count(const struct fw_reserve_index *index);

/* Copies it; one with the same id is replaced. Raises input.invalid_value (the pattern),
 * internal.out_of_memory; then the index has no reservation of that id. */
FW_NODISCARD fw_error *fw_reserve_index_put(struct fw_reserve_index *index,
					    const struct fw_reservation *reservation);
/* An id that is not there is a no-op. */
void fw_reserve_index_remove(struct fw_reserve_index *index, const char *id);
/* NULL: it is not there. Borrowed until the index is changed. */
const struct fw_reservation *fw_reserve_index_get(const struct fw_reserve_index *index,
						  const char *id);

/* False: stop. The index must not be changed. */
typedef bool fw_reserve_found_fn(void *ctx, const struct fw_reservation *reservation);

/* All of them, in no particular order. */
void fw_reserve_index_each(const struct fw_reserve_index *index, fw_reserve_found_fn *found,
			   void *ctx);

/* Removes those that expire at `now_ms` or earlier. */
void fw_reserve_index_expire(struct fw_reserve_index *index, int64_t now_ms);

/* What to look for. */
struct fw_reserve_query {
	const char *argument; /* the name of the pattern in errors */
	const char *root;
	const char *pattern;
	bool is_path; /* the pattern is a path and has no special characters */
	enum fw_reserve_of of;
	const char *agent;           /* for `of`; NULL: nobody */
	fw_reserve_found_fn *wanted; /* false: not this one, and do not compare it */
	fw_reserve_found_fn *found;
	void *ctx;
};

/* Each reservation that overlaps with the pattern below `root`, once. `of` is a hint: others
 * may be found as well. Raises input.invalid_value (the pattern), internal.out_of_memory. */
FW_NODISCARD fw_error *fw_reserve_index_find(struct fw_reserve_index *index,
					     const struct fw_reserve_query *query);

#endif
