/*
 * protect.h - paths that no plan allows anyone to write.
 *
 * These are the files of this program, and files that other programs run
 * automatically: hooks and configuration of repositories, tasks of editors, files that
 * a shell reads when it enters a directory. Files that run only when a person runs
 * them (a Makefile, package.json) are ordinary sources.
 *
 * The one rule to remember: check the location where the bytes are written
 * (fw_place.path), not the path that the caller gave.
 */
#ifndef FW_TOOLS_WORKSPACE_PROTECT_H
#define FW_TOOLS_WORKSPACE_PROTECT_H

#include "tools/common/root.h"

/* Is it protected by its name? At any depth, in upper or lower case. */
bool fw_ws_is_protected_name(const char *path);

/* The same, or is it in a bare repository (HEAD, objects, refs)? */
bool fw_ws_is_protected(const struct fw_root *root, const char *path);

/*
 * May the directory not be created? With "refs", and with "objects" beside it, any
 * directory could be made a bare repository, whose configuration names programs.
 */
bool fw_ws_is_protected_directory(const struct fw_root *root, const char *path);

#endif
