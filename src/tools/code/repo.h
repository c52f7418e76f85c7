/*
 * repo.h - the repositories of a server, and which of them a path belongs to.
 *
 * The one rule to remember: a path that a client sees is `prefix` and the path in the
 * repository; no other part of where the repository is leaves the server.
 */
#ifndef FW_TOOLS_CODE_REPO_H
#define FW_TOOLS_CODE_REPO_H

#include <faultwire/faultwire.h>

#include "tools/common/root.h"

enum { FW_CODE_REPOS_MAX = 16, FW_CODE_NAME_SIZE = 65 };

struct fw_code_repo {
	char name[FW_CODE_NAME_SIZE];       /* "": the only one, without a name */
	char prefix[FW_CODE_NAME_SIZE + 1]; /* "name/", or "" */
	char path[FW_PATH_SIZE];            /* canonical */
	char index[FW_PATH_SIZE];           /* directory of what is kept of it; "": none */
	bool has_index;                     /* its files are indexed */
	char semantic[FW_PATH_SIZE];        /* directory of the semantic index; "": none */
};

struct fw_code_repos {
	struct fw_code_repo list[FW_CODE_REPOS_MAX];
	size_t count;
};

/* Adds DIR or NAME=DIR. A DIR that exists is never read as NAME=DIR. Raises cli.usage,
 * path.not_found... */
FW_NODISCARD fw_error *fw_code_repos_add(struct fw_code_repos *repos, const char *text);

/* Where a path leads. */
struct fw_code_place {
	const struct fw_code_repo *repo;
	struct fw_root root;     /* the repository, open */
	char path[FW_PATH_SIZE]; /* in the repository; "." is the repository itself */
	char shown[FW_PATH_SIZE + FW_CODE_NAME_SIZE + 1]; /* what the client calls it */
};

/*
 * Finds the repository of a path that a client sent, opens it and normalizes the path.
 * Nothing below the repository is looked up. Close it with fw_code_place_close().
 * Raises path.invalid, path.traversal_blocked, path.outside_workspace, file.not_found.
 */
FW_NODISCARD fw_error *fw_code_place_find(const struct fw_code_repos *repos, const char *path,
					  size_t len, struct fw_code_place *ret_place);
/* The repository itself. */
FW_NODISCARD fw_error *fw_code_place_of(const struct fw_code_repo *repo,
					struct fw_code_place *ret_place);
void fw_code_place_close(struct fw_code_place *place);

/* Is it a regular file, or a link to one in the repository? */
bool fw_code_place_is_file(const struct fw_code_place *place, struct stat *ret_stat);

/*
 * Opens the regular file at `place` for reading. Raises file.not_found for whatever is
 * missing, path.outside_workspace, file.operation_failed if it is not a file,
 * auth.insufficient_permissions, io.*.
 */
FW_NODISCARD fw_error *fw_code_place_open(const struct fw_code_place *place, int *ret_fd,
					  struct stat *ret_stat);

#endif
