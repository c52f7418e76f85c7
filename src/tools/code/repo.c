/*
 * repo.c - see repo.h.
 */
#include "tools/code/repo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/common/file.h"

#include <faultwire/raise.h>

/* ---- the command line ---- */

static bool is_name(const char *text, size_t len)
{
	if (!len || len >= FW_CODE_NAME_SIZE || text[0] == '.')
		return false;
	for (size_t i = 0; i < len; i++)
		if (!((text[i] >= 'a' && text[i] <= 'z') ||
		      (text[i] >= 'A' && text[i] <= 'Z') ||
		      (text[i] >= '0' && text[i] <= '9') || strchr("._-", text[i])))
			return false;
	return true;
}

static fw_error *check_new(const struct fw_code_repos *repos, const char *name)
{
	if (repos->count == FW_CODE_REPOS_MAX)
		return fw_raise_cli_usage("there are more than 16 --repo");
	for (size_t i = 0; i < repos->count; i++)
		if (!name[0] || !repos->list[i].name[0])
			return fw_raise_cli_usage(
				"several repositories need names: --repo NAME=DIR");
		else if (strcmp(repos->list[i].name, name) == 0)
			return fw_raise_cli_usage("two --repo have the same name");
	return NULL;
}

fw_error *fw_code_repos_add(struct fw_code_repos *repos, const char *text)
{
	const char *equals = access(text, F_OK) == 0 ? NULL : strchr(text, '=');
	const char *directory = equals ? equals + 1 : text;
	struct fw_code_repo *repo = &repos->list[repos->count];
	struct fw_root root = FW_ROOT_INIT;
	char name[FW_CODE_NAME_SIZE] = "";

	if (equals) {
		if (!is_name(text, (size_t)(equals - text)))
			return fw_raise_cli_usage("the name of a --repo has 1 to 64 letters, "
						  "digits, dots, dashes or underscores");
		memcpy(name, text, (size_t)(equals - text));
	}
	FW_TRY(check_new(repos, name));
	FW_TRY(fw_root_open_any(directory, &root));
	*repo = (struct fw_code_repo){ .name = "" };
	memcpy(repo->name, name, sizeof name);
	if (name[0])
		(void)snprintf(repo->prefix, sizeof repo->prefix, "%s/", name);
	memcpy(repo->path, root.path, sizeof repo->path);
	fw_root_close(&root);
	repos->count++;
	return NULL;
}

/* ---- finding ---- */

/* The error must not name the directory. */
fw_error *fw_code_place_of(const struct fw_code_repo *repo, struct fw_code_place *ret_place)
{
	fw_error *err = fw_root_open_any(repo->path, &ret_place->root);

	if (err) {
		fw_error_free(err);
		return fw_raise_file_not_found(repo->name[0] ? repo->name : ".");
	}
	ret_place->root.hard_links = true;
	ret_place->repo = repo;
	memcpy(ret_place->path, ".", 2);
	memcpy(ret_place->shown, repo->name, sizeof repo->name);
	return NULL;
}

static const struct fw_code_repo *named(const struct fw_code_repos *repos, const char *path,
					const char **ret_rest)
{
	size_t name = strcspn(path, "/");

	for (size_t i = 0; i < repos->count; i++) {
		if (strlen(repos->list[i].name) != name ||
		    memcmp(repos->list[i].name, path, name) != 0)
			continue;
		*ret_rest = path + name + (path[name] == '/');
		return &repos->list[i];
	}
	return NULL;
}

/* Finds the repository that holds an absolute path, and the path in it. */
static const struct fw_code_repo *holding(const struct fw_code_repos *repos, const char *path,
					  const char **ret_rest)
{
	for (size_t i = 0; i < repos->count; i++)
		if (fw_path_is_beneath(path, repos->list[i].path)) {
			*ret_rest = path + strlen(repos->list[i].path);
			return &repos->list[i];
		}
	return NULL;
}

fw_error *fw_code_place_find(const struct fw_code_repos *repos, const char *path, size_t len,
			     struct fw_code_place *ret_place)
{
	const struct fw_code_repo *repo = repos->list;
	char clean[FW_PATH_SIZE + 1] = "/";
	const char *rest = clean + 1;

	FW_TRY(fw_path_check(path, len));
	fw_path_tidy(path, clean + 1);
	if (path[0] == '/') {
		repo = holding(repos, clean, &rest);
		if (!repo)
			return fw_raise_path_outside_workspace(path);
		rest += rest[0] == '/';
	} else if (repo->name[0]) {
		repo = named(repos, clean + 1, &rest);
		if (!repo)
			return fw_raise_file_not_found(path);
	}
	FW_TRY(fw_code_place_of(repo, ret_place));
	if (rest[0]) {
		memcpy(ret_place->path, rest, strlen(rest) + 1);
		(void)snprintf(ret_place->shown, sizeof ret_place->shown, "%s%s", repo->prefix,
			       rest);
	}
	return NULL;
}

void fw_code_place_close(struct fw_code_place *place)
{
	fw_root_close(&place->root);
}

/* ---- opening ---- */

static fw_error *open_error(const struct fw_code_place *place, int error)
{
	switch (error) {
	case ENOENT:
	case ENOTDIR: return fw_raise_file_not_found(place->shown);
	default: return fw_path_errno(error, place->shown, false);
	}
}

bool fw_code_place_is_file(const struct fw_code_place *place, struct stat *ret_stat)
{
	int fd = fw_root_open_beneath(place->root.fd, place->path, O_PATH);
	bool is_file = fd >= 0 && fstat(fd, ret_stat) == 0 && S_ISREG(ret_stat->st_mode);

	if (fd >= 0)
		(void)close(fd);
	return is_file;
}

static fw_error *not_a_file(const struct fw_code_place *place, mode_t mode)
{
	fw_error *err = fw_raise_file_operation_failed(
		place->shown[0] ? place->shown : ".",
		S_ISDIR(mode) ? "path is a folder" : "path is not an ordinary file");

	fw_error_set_hint(err, "List the folder with list_paths, then open one of its files.");
	return err;
}

fw_error *fw_code_place_open(const struct fw_code_place *place, int *ret_fd,
			     struct stat *ret_stat)
{
	/* O_PATH, because opening a FIFO or a device in place of a file could block. */
	int fd = fw_root_open_beneath(place->root.fd, place->path, O_PATH);
	int error = errno;

	if (fd < 0)
		return open_error(place, error);
	if (fstat(fd, ret_stat) != 0 || !S_ISREG(ret_stat->st_mode)) {
		(void)close(fd);
		return not_a_file(place, ret_stat->st_mode);
	}
	(void)close(fd);
	fd = fw_root_open_beneath(place->root.fd, place->path, O_RDONLY | O_NONBLOCK);
	error = errno;
	if (fd < 0)
		return open_error(place, error);
	if (fstat(fd, ret_stat) != 0 || !S_ISREG(ret_stat->st_mode)) {
		(void)close(fd);
		return not_a_file(place, ret_stat->st_mode);
	}
	*ret_fd = fd;
	return NULL;
}
