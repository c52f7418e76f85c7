/*
 * git_graph_impl.h - the internals of the private commit graph, for git_graph*.c.
 */
#ifndef FW_TOOLS_CODE_GIT_GRAPH_IMPL_H
#define FW_TOOLS_CODE_GIT_GRAPH_IMPL_H

#include "tools/code/git_graph.h"

/* Reads the beginning of a small file as text, "" if it cannot be read. Returns the length. */
size_t fw_git_graph__read(const char *directory, const char *name, char *text, size_t size);
/* Finds the directory with the objects and the settings of a repository. */
bool fw_git_graph__directory(const struct fw_code_repo *repo, char ret_path[FW_PATH_SIZE]);
/* Describes the settings. False: some change what git prints. */
bool fw_git_graph__source(const char *directory, char ret_source[FW_GIT_SOURCE_SIZE]);

#endif
