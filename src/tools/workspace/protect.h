/*
 * protect.h - the paths that no plan lets anybody write.
 *
 * Two kinds: what this program keeps for itself, and what other programs run by
 * themselves, without anybody asking: repositories' hooks and configuration,
 * tasks of editors, files that a shell sources on entering a folder. What runs
 * only when somebody runs it (a Makefile, package.json) is ordinary source.
 *
 * The one rule to remember: ask about where the bytes end up (fw_place.path),
 * not about how the caller spelt it.
 */
#ifndef FW_TOOLS_WORKSPACE_PROTECT_H
#define FW_TOOLS_WORKSPACE_PROTECT_H

#include "tools/common/root.h"

/* Is it by its name? Letters' case does not matter, nor how deep it lies. */
bool fw_ws_is_protected_name(const char *path);

/* The same, and whether it lies in a bare repository (HEAD, objects, refs). */
bool fw_ws_is_protected(const struct fw_root *root, const char *path);

#endif
