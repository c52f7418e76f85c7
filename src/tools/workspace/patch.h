/*
 * patch.h - unified diffs of one file: reading and applying them.
 *
 * Matching is strict: a hunk must match exactly at the line that it names. The parsed
 * patch points into its text.
 *
 * The one rule to remember: a line is its bytes and whether a newline follows; both
 * must match.
 */
#ifndef FW_TOOLS_WORKSPACE_PATCH_H
#define FW_TOOLS_WORKSPACE_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#include <faultwire/error.h>

struct fw_ws_patch_line {
	const char *text; /* without the leading mark and the newline */
	size_t len;
	char kind;          /* ' ', '-' or '+' */
	bool lacks_newline; /* no newline follows it */
};

struct fw_ws_hunk {
	uint64_t old_start;
	uint64_t old_count;
	uint64_t new_count;
	size_t first; /* index into the lines of the patch */
	size_t count;
};

/* The first line of the old file that a hunk is about. A hunk that removes nothing is
 * inserted after the line that its header names. */
static inline uint64_t fw_ws_hunk_first_line(const struct fw_ws_hunk *hunk)
{
	return hunk->old_start + (hunk->old_count ? 0 : 1);
}

struct fw_ws_patch {
	struct fw_ws_patch_line *lines;
	size_t line_count;
	size_t line_room;
	struct fw_ws_hunk *hunks;
	size_t hunk_count;
	size_t hunk_room;
	char *old_name; /* as written, unquoted; NULL: no file headers */
	char *new_name;
	uint64_t name_line; /* the line of the new name */
	bool creates;       /* from /dev/null */
	bool deletes;       /* to /dev/null */
	bool is_crlf;       /* the lines of the patch end with CR LF */
	/* From git's header; a patch of an empty file has nothing else. */
	const char *git_names; /* "a/x b/x"; NULL: there is none */
	size_t git_names_len;
	bool git_creates;
	bool git_deletes;
};

/* Clear it with fw_ws_patch_clear(), also after a failure. Raises patch.invalid,
 * internal.out_of_memory. */
FW_NODISCARD fw_error *fw_ws_patch_parse(const char *text, size_t len,
					 struct fw_ws_patch *ret_patch);
void fw_ws_patch_clear(struct fw_ws_patch *patch);

/* Do the file headers name this file? One leading component ("a/", "b/") is ignored,
 * and a patch without headers is accepted. Raises patch.invalid. */
FW_NODISCARD fw_error *fw_ws_patch_check_name(const struct fw_ws_patch *patch,
					      const char *path);

/* Appends the new content to `out`. Raises patch.apply_failed. The caller checks
 * whether the buffer overflowed. */
FW_NODISCARD fw_error *fw_ws_patch_apply(const struct fw_ws_patch *patch, const char *path,
					 const char *old, size_t old_len, struct fw_buf *out);

#endif
