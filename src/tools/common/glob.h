/*
 * glob.h - patterns for paths.
 *
 * `*` and `?` stay within one component, `**` crosses them, `[a-z]` is a class and
 * `[!a-z]` its opposite; a pattern that ends in "/" matches everything below it. Matching
 * any pattern takes time proportional to its length times that of the path.
 *
 * The one rule to remember: both sides are relative to the same directory, without
 * a leading "./".
 */
#ifndef FW_TOOLS_COMMON_GLOB_H
#define FW_TOOLS_COMMON_GLOB_H

#include <stdbool.h>
#include <stddef.h>

enum { FW_GLOB_BYTES = 256 };

/* What is wrong with the pattern; NULL if it is valid. */
const char *fw_glob_fault(const char *glob, size_t len);

/* An invalid pattern matches nothing. */
bool fw_glob_match(const char *glob, size_t len, const char *path);

/* Is there a path that both patterns match? An invalid pattern overlaps nothing. Texts of
 * any length; the time is proportional to the product of the lengths at most. Without
 * memory the answer is true. */
bool fw_glob_overlap(const char *a, size_t a_len, const char *b, size_t b_len);

/* ---- compiled once ---- */

struct fw_glob;

/*
 * With `is_git`, it is read as a line of .gitignore: a backslash escapes the next
 * character, braces are ordinary characters, and "**" may be anywhere. NULL: invalid, or
 * out of memory if `*ret_fault` is NULL.
 */
struct fw_glob *fw_glob_new(const char *glob, size_t len, bool is_git, const char **ret_fault);
void fw_glob_free(struct fw_glob *glob);
bool fw_glob_test(const struct fw_glob *glob, const char *path, size_t len);

#endif
