/*
 * toolset.c - the descriptor of the toolset code: its options, and how its tools run.
 */
#include "tools/toolset.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "tools/code/code.h"
#include "tools/code/git.h"

enum { SEARCH_MS = 10000, SEARCH_MOST_MS = 600000, WORKER_FILES = 256 };

enum { REPO, SEARCH_TIMEOUT, OPTION_COUNT };

static const struct fw_toolset_option options[OPTION_COUNT] = {
	[REPO] = { "repo", "[NAME=]DIR", 0, FW_TOOLSET_PATHS, NULL,
		   "Repository to serve; may be repeated, then with names, which begin the "
		   "paths." },
	[SEARCH_TIMEOUT] = { "search-timeout", "MS", 0, FW_TOOLSET_TEXT, NULL,
			     "Time limit of a search in milliseconds, by default 10000." },
};

static fw_error *read_number(const char *word, unsigned long most, const char *fault,
			     uint32_t *ret_number)
{
	unsigned long number;
	char *end;

	if (!word)
		return NULL;
	errno = 0;
	number = strtoul(word, &end, 10);
	if (errno || end == word || *end || word[0] == '-' || !number || number > most)
		return fw_raise_cli_usage(fault);
	*ret_number = (uint32_t)number;
	return NULL;
}

static fw_error *read_options(const struct fw_toolset_host *host, struct fw_code_set *code)
{
	const char *repo;

	code->search_ms = SEARCH_MS;
	FW_TRY(read_number(host->values[SEARCH_TIMEOUT], SEARCH_MOST_MS,
			   "--search-timeout takes 1 to 600000 milliseconds",
			   &code->search_ms));
	for (size_t i = 0; (repo = host->value_at(host, REPO, i)); i++)
		FW_TRY(fw_code_repos_add(&code->repos, repo));
	if (!code->repos.count)
		return fw_raise_cli_usage("toolset code needs --repo DIR");
	return NULL;
}

/* Programs, and the directories of commits that are not in their repository. */
static fw_error *add_git_workers(const struct fw_toolset_host *host,
				 const struct fw_code_set *code,
				 const char *const *repositories, fw_workers **ret_workers)
{
	char(*found)[FW_PATH_SIZE] = fw__allocate(2 * FW_CODE_REPOS_MAX * sizeof *found);
	const char *readable[3 * FW_CODE_REPOS_MAX + 1];
	fw_workers_options isolation = host->isolation;
	size_t count = 0, used = 0;
	fw_error *err;

	if (!found)
		return fw_raise_internal_out_of_memory();
	for (; count < code->repos.count; count++)
		readable[count] = repositories[count];
	for (size_t i = 0; i < code->repos.count; i++) {
		size_t more = fw_git_directories(code->repos.list[i].path, found + used);

		for (size_t j = 0; j < more; j++)
			readable[count++] = found[used++];
	}
	readable[count] = NULL;
	isolation.readable = readable;
	isolation.may_execute = true;
	err = fw_server_add_workers(host->server, &isolation, ret_workers);
	fw__release(found);
	return err;
}

/*
 * Files are read by workers that can read the repositories and nothing else. git runs in
 * workers that can also run programs, whatever --run says: a confined server cannot.
 */
static fw_error *add_tools(const struct fw_toolset_host *host, struct fw_code_set *code)
{
	const char *readable[FW_CODE_REPOS_MAX + 1] = { NULL };
	fw_workers_options isolation = host->isolation;
	struct fw_code_runs files = { .run = host->run };
	struct fw_code_runs git = { .run = FW_RUN_PROCESS };

	for (size_t i = 0; i < code->repos.count; i++) {
		readable[i] = code->repos.list[i].path;
		host->allow(host->ctx, readable[i], false);
	}
	isolation.readable = readable;
	isolation.files = WORKER_FILES;
	if (files.run == FW_RUN_PROCESS)
		FW_TRY(fw_server_add_workers(host->server, &isolation, &files.workers));
	FW_TRY(add_git_workers(host, code, readable, &git.workers));
	return fw_code_add(host->server, code, &files, &git);
}

static fw_error *add(const struct fw_toolset_host *host, void **ret_instance)
{
	struct fw_code_set *code = fw__allocate(sizeof *code);
	fw_error *err;

	if (!code)
		return fw_raise_internal_out_of_memory();
	fw__zero(code, sizeof *code);
	err = read_options(host, code);
	if (!err)
		err = add_tools(host, code);
	if (err) {
		fw__release(code);
		return err;
	}
	*ret_instance = code;
	return NULL;
}

static bool is_default(const char *const *values)
{
	return values[REPO] != NULL;
}

static const char *instructions(const char *role)
{
	(void)role;
	return "Tools to read a source repository. Paths are relative to the repository, with "
	       "\"/\". An error has the fields of an empty result, and says in problem what "
	       "went wrong.";
}

/* Not freed: abandoned threads may use it until the process ends. */
static void instance_free(void *instance)
{
	(void)instance;
}

const struct fw_toolset fw_toolset_code = {
	.name = "code",
	.summary = "files and history of a source repository: read, list, search, blame; "
		   "served by default if "
		   "--repo is given",
	.contract = FW_CODEINTEL,
	.options = options,
	.option_count = OPTION_COUNT,
	.is_default = is_default,
	.add = add,
	.instructions = instructions,
	.free = instance_free,
};
