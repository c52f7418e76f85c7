/*
 * globs.h - a list of globs, compiled once and matched against many paths.
 *
 * On top of glob.h, `{a,b}` stands for both, and a glob without a slash is matched
 * against the last component of a path: `*.py` is the same as a `*.py` in any directory.
 */
#ifndef FW_TOOLS_COMMON_GLOBS_H
#define FW_TOOLS_COMMON_GLOBS_H

#include <stdbool.h>
#include <stddef.h>

#include <faultwire/error.h>

enum { FW_GLOBS_MAX = 256 /* after braces are expanded */ };

struct fw_glob;

struct fw_globs {
	struct {
		struct fw_glob *glob;
		bool is_name; /* matched against the last component */
	} items[FW_GLOBS_MAX];
	size_t count;
};

/* `argument` is what errors name. Raises input.invalid_value, internal.out_of_memory. */
FW_NODISCARD fw_error *fw_globs_add(struct fw_globs *globs, const char *argument,
				    const char *text, size_t len);
/* The list can be used again. */
void fw_globs_clear(struct fw_globs *globs);

/* Does one of them match? */
bool fw_globs_match(const struct fw_globs *globs, const char *path, size_t len);

/* ---- braces alone ---- */

/* A glob without braces; borrowed during the call. */
typedef fw_error *fw_globs_fn(void *ctx, const char *argument, const char *text, size_t len);

/* Calls `found` for each glob that `text` stands for, until it returns an error. `argument`
 * is what errors name. Raises input.invalid_value for braces that are not closed. */
FW_NODISCARD fw_error *fw_globs_expand(const char *argument, const char *text, size_t len,
				       fw_globs_fn *found, void *ctx);
/* input.invalid_value for a glob: `what` is wrong with it. */
FW_NODISCARD fw_error *fw_globs_fault(const char *argument, const char *what);

/* Does the text have a character that makes it a glob? */
bool fw_globs_is_glob(const char *text);

#endif
