/*
 * git_graph_impl.h - inside the private commit graph. For git_graph*.c.
 */
#ifndef FW_TOOLS_CODE_GIT_GRAPH_IMPL_H
#define FW_TOOLS_CODE_GIT_GRAPH_IMPL_H

#include "tools/code/git_graph.h"

/* The beginning of a small file as text; "" if it cannot be read. Returns its length. */
size_t fw_git_graph__read(const char *directory, const char *name, char *text, size_t size);
/* Where the objects and the settings of a repository are. */
bool fw_git_graph__directory(const struct fw_code_repo *repo, char ret_path[FW_PATH_SIZE]);
/* Describes the settings; false: there are some that matter. */
bool fw_git_graph__source(const char *directory, char ret_source[FW_GIT_SOURCE_SIZE]);

#endif
