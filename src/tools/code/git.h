/*
 * git.h - running the git program on a repository that may be hostile.
 *
 * A repository is only data here: nothing that its configuration names is run, no hook,
 * filter, pager, text converter, signature check or transport, and no configuration of the
 * user or the system is read. Commands read commits, never the files of the work tree.
 *
 * The one rule to remember: only in a worker process, because fw_command_run() ends every
 * other child of the process.
 */
#ifndef FW_TOOLS_CODE_GIT_H
#define FW_TOOLS_CODE_GIT_H

#include <faultwire/faultwire.h>

#include "tools/code/repo.h"

struct fw_git {
	const struct fw_code_place *place;
	const char *command;     /* "blame" */
	const char *const *argv; /* what follows it, NULL at the end; without the path */
	/* A directory to use as that of the repository (git_graph.h), NULL: its own. */
	const char *directory;
	/* With `directory`: the commit that is HEAD, whose mailmap counts in a bare repository. */
	const char *head;
	uint32_t limit_ms; /* 0: FW_LIMIT_CODE_GIT_MS */
	/* Its output as it comes; false ends it. */
	bool (*take)(void *ctx, const char *bytes, size_t len);
	bool (*is_cancelled)(void *ctx);
	void *ctx;
};

enum { FW_GIT_ARGV_MAX = 64 };

/* The arguments and the environment of a git process. */
struct fw_git_line {
	const char *argv[FW_GIT_ARGV_MAX];
	const char *environment[20];
	char ceiling[FW_PATH_SIZE + 32];
	char path[4200];
	char directory[FW_PATH_SIZE + 16];
	char mailmap[FW_PATH_SIZE + 32];
};

/* `words`: what follows the options of git itself, NULL at the end; kept, not copied.
 * `directory` as above. */
void fw_git_line_make(const struct fw_code_place *place, const char *directory,
		      const char *const *words, struct fw_git_line *ret_line);

/* Is it a repository without a work tree? */
bool fw_git_is_bare(const struct fw_code_place *place);
/* Runs git COMMAND ARGV -- PATH. Raises git.operation_failed with the path and the
 * command; file.not_found if neither the commit nor the work tree has the path;
 * input.invalid_line_range... see git.c. */
FW_NODISCARD fw_error *fw_git_run(const struct fw_git *git);

/*
 * Where the commits of a repository are, if not in its directory: a worktree or a submodule has
 * a file .git that names another directory. It is used only if that directory names this
 * one as its work tree, so a repository cannot point to the commits of another. `ret_paths`
 * gets up to two paths; their number is returned.
 */
size_t fw_git_directories(const char *repository, char ret_paths[2][FW_PATH_SIZE]);

#endif
