/*
 * repo.h - the repositories of a server, and finding the one that a path belongs to.
 *
 * The one rule to remember: clients see `prefix` and the path in the repository. The
 * directory of the repository must never be sent to them.
 */
#ifndef FW_TOOLS_CODE_REPO_H
#define FW_TOOLS_CODE_REPO_H

#include <faultwire/faultwire.h>

#include "tools/common/root.h"

enum { FW_CODE_REPOS_MAX = 16, FW_CODE_NAME_SIZE = 65 };

struct fw_code_repo {
	char name[FW_CODE_NAME_SIZE];       /* "": the only repository has no name */
	char prefix[FW_CODE_NAME_SIZE + 1]; /* "name/", or "" */
	char path[FW_PATH_SIZE];            /* canonical */
	char index[FW_PATH_SIZE];           /* directory for its index and caches; "": none */
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

/* A path of a client: its repository, and the path in it. */
struct fw_code_place {
	const struct fw_code_repo *repo;
	struct fw_root root;     /* the repository, open */
	char path[FW_PATH_SIZE]; /* path in the repository; "." is the repository itself */
	char shown[FW_PATH_SIZE + FW_CODE_NAME_SIZE + 1]; /* the path as the client sees it */
};

/*
 * Finds the repository of a path that a client sent, opens it and normalizes the path.
 * Nothing below the repository is looked up. Close it with fw_code_place_close().
 * Raises path.invalid, path.traversal_blocked, path.outside_workspace, file.not_found.
 */
FW_NODISCARD fw_error *fw_code_place_find(const struct fw_code_repos *repos, const char *path,
					  size_t len, struct fw_code_place *ret_place);
/* The same for the root of a repository. */
FW_NODISCARD fw_error *fw_code_place_of(const struct fw_code_repo *repo,
					struct fw_code_place *ret_place);
void fw_code_place_close(struct fw_code_place *place);

/* True: it is a regular file, or a link to one in the repository. */
bool fw_code_place_is_file(const struct fw_code_place *place, struct stat *ret_stat);

/*
 * Opens the regular file at `place` for reading. Raises file.not_found if any part of the
 * path is missing, path.outside_workspace, file.operation_failed if it is not a file,
 * auth.insufficient_permissions, io.*.
 */
FW_NODISCARD fw_error *fw_code_place_open(const struct fw_code_place *place, int *ret_fd,
					  struct stat *ret_stat);

#endif
