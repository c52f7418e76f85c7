/*
 * git_graph.h - keeps, in a private directory, a commit graph with changed-path filters
 * for a repository. It makes `git log` and `git blame` of a file several times faster.
 *
 * The private directory is a bare repository that contains only the graph and refers to
 * the user's objects through `alternates`, so the user's repository is never written to.
 * A background process makes the graph when a tool has asked for it. It is used only for
 * repositories without anything that changes what these commands print: no replaced or
 * grafted commits, no shallow history, no settings for blame, log, diff or the mailmap.
 */
#ifndef FW_TOOLS_CODE_GIT_GRAPH_H
#define FW_TOOLS_CODE_GIT_GRAPH_H

#include "tools/code/repo.h"

enum { FW_GIT_SOURCE_SIZE = 128 };

struct fw_git_graph {
	const char *directory; /* for fw_git.directory; NULL: there is none yet */
	char path[FW_PATH_SIZE + 8];
	char source[FW_GIT_SOURCE_SIZE]; /* changes with the settings of the repository */
};

/* Creates the files that workers write. Call it before they are confined. */
bool fw_git_graph_prepare(const struct fw_code_repo *repo);

/* Finds the graph, and asks for a newer one if it does not have the commit `head`. False:
 * the repository has something that changes what the commands print, so results must not
 * be cached. */
bool fw_git_graph_find(const struct fw_code_place *place, const char *head,
		       struct fw_git_graph *ret_graph);

/* Makes graphs when asked. Does not return. `ctx` is a struct fw_code_repos. */
void fw_git_graph_run(void *ctx);

#endif
