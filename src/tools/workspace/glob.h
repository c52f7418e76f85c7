/*
 * glob.h - which paths a plan or a rule is about.
 *
 * `*` and `?` stay within one component, `**` crosses them, `[a-z]` is a class
 * and `[!a-z]` its opposite; a pattern that ends in "/" means all below it.
 * Time grows with pattern times path, whatever the pattern.
 *
 * The one rule to remember: both sides are relative to the workspace, without
 * "./" before them.
 */
#ifndef FW_TOOLS_WORKSPACE_GLOB_H
#define FW_TOOLS_WORKSPACE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

enum { FW_GLOB_BYTES = 256 };

/* What is wrong with the pattern; NULL: nothing. */
const char *fw_ws_glob_fault(const char *glob, size_t len);

/* A pattern with a fault matches nothing. */
bool fw_ws_glob_match(const char *glob, size_t len, const char *path);

#endif
