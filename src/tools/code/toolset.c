/*
 * toolset.c - the descriptor of the toolset code: its options, and how its tools run.
 */
#include "tools/toolset.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/mem.h"
#include "tools/code/code.h"
#include "tools/code/git.h"
#include "tools/code/git_graph.h"
#include "tools/code/indexer.h"
#include "tools/code/limits.h"
#include "tools/code/semantic/pools.h"

enum {
	SEARCH_MS = 10000,
	SEARCH_MOST_MS = 600000,
	WORKER_FILES = 256,
	INDEX_MIB = 512,
	INDEX_MOST_MIB = 3072
};

static const uint64_t mib = 1024 * 1024;
static const uint64_t worker_bytes = 1024 * 1024 * 1024;

enum { REPO, SEARCH_TIMEOUT, SEARCH_INDEX, SEARCH_INDEX_SIZE, SEMANTIC_INDEX, OPTION_COUNT };

static const char *const index_words[] = {
	[FW_INDEXER_AUTO] = "auto", [FW_INDEXER_ON] = "on", [FW_INDEXER_OFF] = "off", NULL
};

static const char *const semantic_words[] = { "on", "off", NULL };

static const struct fw_toolset_option options[OPTION_COUNT] = {
	[REPO] = { "repo", "[NAME=]DIR", 0, FW_TOOLSET_PATHS,
		   .help = "Repository to serve; may be repeated, then with names, which "
			   "begin the paths." },
	[SEARCH_TIMEOUT] = { "search-timeout", "MS", 0, FW_TOOLSET_TEXT,
			     .help = "Time limit of a search in milliseconds, by default "
				     "10000." },
	[SEARCH_INDEX] = { "search-index", "WHEN", 0, FW_TOOLSET_WORD, index_words,
			   .help = "Keep an index for search_text; auto, the default, is for "
				   "repositories of 2000 files or 32 MiB and more." },
	[SEARCH_INDEX_SIZE] = { "search-index-size", "MIB", 0, FW_TOOLSET_TEXT,
				.help = "Largest index of a repository in MiB, by default "
					"512." },
	[SEMANTIC_INDEX] = { "semantic-index", "WHEN", 0, FW_TOOLSET_WORD, semantic_words,
			     .help = "Build the index for semantic_search in the background, "
				     "the default; off: use what faultwire index build has "
				     "built." },
};

static fw_error *read_number(const char *word, uint64_t most, const char *fault,
			     uint32_t *ret_number)
{
	uint64_t number;

	if (!word)
		return NULL;
	if (!fw_decimal_read(word, 1, most, &number))
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

static fw_error *read_index_options(const struct fw_toolset_host *host,
				    struct fw_code_set *code)
{
	const char *word = host->values[SEARCH_INDEX];
	uint32_t size = INDEX_MIB;
	size_t mode = 0;

	FW_TRY(read_number(host->values[SEARCH_INDEX_SIZE], INDEX_MOST_MIB,
			   "--search-index-size takes 1 to 3072 MiB", &size));
	while (word && index_words[mode] && strcmp(index_words[mode], word) != 0)
		mode++;
	code->indexer = (struct fw_indexer_options){ .repos = &code->repos,
						     .mode = (enum fw_indexer_mode)mode,
						     .limit_bytes = size * mib };
	if (host->state)
		fw_indexer_prepare(&code->repos, host->state,
				   code->indexer.mode != FW_INDEXER_OFF);
	return NULL;
}

/* The process that keeps the search indexes. */
static fw_error *add_indexer(const struct fw_toolset_host *host, struct fw_code_set *code,
			     const char *const *repositories)
{
	const char *writable[FW_CODE_REPOS_MAX + 1] = { NULL };
	fw_workers_options isolation = host->isolation;
	fw_workers *workers;
	size_t count = 0;

	for (size_t i = 0; i < code->repos.count; i++)
		if (code->repos.list[i].has_index)
			writable[count++] = code->repos.list[i].index;
	if (!count)
		return NULL;
	isolation.readable = repositories;
	isolation.writable = writable;
	isolation.count = 1;
	isolation.most = 1;
	isolation.files = WORKER_FILES;
	isolation.may_watch = true;
	isolation.background = fw_indexer_run;
	isolation.ctx = &code->indexer;
	/* A limit of address space: stacks, and maps of the old index, the new one and
	 * its runs. */
	isolation.memory_bytes = 2 * worker_bytes + 3 * count * code->indexer.limit_bytes;
	isolation.file_bytes = 2 * code->indexer.limit_bytes + worker_bytes;
	return fw_server_add_workers(host->server, &isolation, &workers);
}

/* Paths that the processes that run git may access. */
struct git_paths {
	const char *readable[4 * FW_CODE_REPOS_MAX + 1];
	const char *writable[2 * FW_CODE_REPOS_MAX + 1];
	size_t readable_count;
	size_t writable_count;
	char text[6 * FW_CODE_REPOS_MAX][FW_PATH_SIZE];
	size_t used;
};

static const char *path_in(struct git_paths *paths, const char *directory, const char *name)
{
	char *text = paths->text[paths->used];

	if (snprintf(text, FW_PATH_SIZE, "%s/%s", directory, name) >= FW_PATH_SIZE)
		return directory;
	paths->used++;
	return text;
}

/* Adds the directories of commits outside of a repository, and those for its index and
 * caches. */
static void add_git_paths(struct git_paths *paths, const struct fw_code_repo *repo,
			  bool is_background)
{
	size_t found = fw_git_directories(repo->path, paths->text + paths->used);

	paths->readable[paths->readable_count++] = repo->path;
	for (size_t i = 0; i < found; i++)
		paths->readable[paths->readable_count++] = paths->text[paths->used++];
	if (!repo->index[0])
		return;
	if (is_background) {
		paths->readable[paths->readable_count++] = repo->index;
		paths->writable[paths->writable_count++] = path_in(paths, repo->index, "git");
		return;
	}
	paths->readable[paths->readable_count++] = path_in(paths, repo->index, "git");
	paths->writable[paths->writable_count++] = path_in(paths, repo->index, "blame");
	paths->writable[paths->writable_count++] = path_in(paths, repo->index, "wanted");
}

/* Workers that may run programs. With `background` they make commit graphs instead of
 * running calls. */
static fw_error *add_git_workers(const struct fw_toolset_host *host, struct fw_code_set *code,
				 bool is_background, fw_workers **ret_workers)
{
	struct git_paths *paths = fw__allocate(sizeof *paths);
	fw_workers_options isolation = host->isolation;
	fw_error *err;

	if (!paths)
		return fw_raise_internal_out_of_memory();
	fw__zero(paths, sizeof *paths);
	for (size_t i = 0; i < code->repos.count; i++)
		add_git_paths(paths, &code->repos.list[i], is_background);
	isolation.readable = paths->readable;
	isolation.writable = paths->writable;
	isolation.may_execute = true;
	if (is_background) {
		isolation.count = 1;
		isolation.most = 1;
		isolation.background = fw_git_graph_run;
		isolation.ctx = &code->repos;
	}
	err = fw_server_add_workers(host->server, &isolation, ret_workers);
	fw__release(paths);
	return err;
}

/* Workers that read files and indexes, and ring the bell of the keeper (board.h). */
static fw_error *add_file_workers(const struct fw_toolset_host *host,
				  const struct fw_code_set *code,
				  const char *const *repositories, fw_workers **ret_workers)
{
	char(*bells)[FW_PATH_SIZE + 8] = fw__allocate(FW_CODE_REPOS_MAX * sizeof *bells);
	const char *readable[2 * FW_CODE_REPOS_MAX + 1] = { NULL };
	const char *writable[FW_CODE_REPOS_MAX + 1] = { NULL };
	fw_workers_options isolation = host->isolation;
	size_t count = 0, indexes = 0;
	fw_error *err;

	if (!bells)
		return fw_raise_internal_out_of_memory();
	for (; repositories[count]; count++)
		readable[count] = repositories[count];
	for (size_t i = 0; i < code->repos.count; i++) {
		if (!code->repos.list[i].has_index)
			continue;
		(void)snprintf(bells[indexes], sizeof *bells, "%s/bell",
			       code->repos.list[i].index);
		writable[indexes] = bells[indexes];
		readable[count + indexes++] = code->repos.list[i].index;
	}
	isolation.readable = readable;
	isolation.writable = writable;
	isolation.files = WORKER_FILES;
	/* A limit of address space, with room for mapped files and for the map of an
	 * index that is being replaced. */
	isolation.memory_bytes = worker_bytes + FW_LIMIT_CODE_MAPPED_BYTES +
				 2 * indexes * code->indexer.limit_bytes;
	err = fw_server_add_workers(host->server, &isolation, ret_workers);
	fw__release(bells);
	return err;
}

/*
 * Tools that read files run in workers that can only read the repositories. git runs in
 * workers that can also run programs, whatever --run says, because a confined server
 * cannot.
 */
static fw_error *add_tools(const struct fw_toolset_host *host, struct fw_code_set *code)
{
	const char *readable[FW_CODE_REPOS_MAX + 1] = { NULL };
	struct fw_code_runs files = { .run = host->run };
	struct fw_code_runs git = { .run = FW_RUN_PROCESS };
	struct fw_code_runs semantic;
	fw_workers *graph;

	for (size_t i = 0; i < code->repos.count; i++) {
		readable[i] = code->repos.list[i].path;
		host->allow(host->ctx, readable[i], false);
	}
	code->keeps_maps = files.run == FW_RUN_PROCESS;
	if (files.run == FW_RUN_PROCESS)
		FW_TRY(add_file_workers(host, code, readable, &files.workers));
	FW_TRY(add_indexer(host, code, readable));
	FW_TRY(add_git_workers(host, code, false, &git.workers));
	if (host->state)
		FW_TRY(add_git_workers(host, code, true, &graph));
	FW_TRY(fw_semantic_pools_add(host, code, readable, &semantic));
	return fw_code_add(host->server, code, &files, &git, &semantic);
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
		err = read_index_options(host, code);
	if (!err)
		err = fw_semantic_pools_prepare(
			host, code,
			!host->values[SEMANTIC_INDEX] ||
				strcmp(host->values[SEMANTIC_INDEX], "off") != 0);
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

/* Not freed, because abandoned threads may use it until the process ends. */
static void instance_free(void *instance)
{
	(void)instance;
}

const struct fw_toolset fw_toolset_code = {
	.name = "code",
	.summary =
		"files and history of a source repository: read, list, search, symbols, blame; "
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
