/*
 * pools.c - see pools.h.
 *
 * The right to reach other machines is given only if an embedding service is set, and then to
 * these two pools and to no other.
 */
#include "tools/code/semantic/pools.h"

#include "base/mem.h"
#include "tools/code/git.h"
#include "tools/code/semantic/semantic.h"
#include "tools/code/semantic/tools.h"

#include <faultwire/raise.h>

enum { FILES = 256, CPU_S = 24 * 3600 };

static const uint64_t gib = 1024 * 1024 * 1024;

fw_error *fw_semantic_pools_prepare(const struct fw_toolset_host *host,
				    struct fw_code_set *code, bool is_kept)
{
	struct fw_semantic_settings *settings = &code->semantic;
	bool has_any = false;

	FW_TRY(fw_semantic_embedder_read(&settings->embedder, &settings->has_embedder));
	for (size_t i = 0; host->state && host->state[0] && i < code->repos.count; i++) {
		struct fw_code_repo *repo = &code->repos.list[i];
		fw_error *err = fw_semantic_directory(host->state, repo->path, repo->semantic);

		if (!err)
			err = fw_semantic_directory_make(repo->semantic);
		if (err)
			repo->semantic[0] = '\0';
		else
			fw_semantic_directory_hold(repo->semantic);
		has_any = has_any || !err;
		fw_error_free(err);
	}
	settings->is_kept = is_kept && has_any;
	return NULL;
}

static fw_error *prepare_search(void *ctx)
{
	const struct fw_code_set *code = ctx;

	return code->semantic.has_embedder ? fw_semantic_embedder_load() : NULL;
}

static fw_error *add_searchers(const struct fw_toolset_host *host, struct fw_code_set *code,
			       const char *const *repositories, fw_workers **ret_workers)
{
	const char *readable[2 * FW_CODE_REPOS_MAX + 1] = { NULL };
	fw_workers_options isolation = host->isolation;
	size_t count = 0;

	for (; repositories[count]; count++)
		readable[count] = repositories[count];
	for (size_t i = 0; i < code->repos.count; i++)
		if (code->repos.list[i].semantic[0])
			readable[count++] = code->repos.list[i].semantic;
	isolation.readable = readable;
	isolation.files = FILES;
	isolation.may_connect = code->semantic.has_embedder;
	isolation.prepare = prepare_search;
	isolation.ctx = code;
	/* Address space: maps of the indexes, the old and the new one. */
	isolation.memory_bytes = (1 + 4 * code->repos.count) * gib;
	return fw_server_add_workers(host->server, &isolation, ret_workers);
}

static fw_error *add_keeper(const struct fw_toolset_host *host, struct fw_code_set *code,
			    const char *const *repositories)
{
	char(*found)[FW_PATH_SIZE] = fw__allocate(2 * FW_CODE_REPOS_MAX * sizeof *found);
	const char *readable[3 * FW_CODE_REPOS_MAX + 1] = { NULL };
	const char *writable[FW_CODE_REPOS_MAX + 1] = { NULL };
	fw_workers_options isolation = host->isolation;
	size_t count = 0, indexes = 0, used = 0;
	fw_workers *workers;
	fw_error *err;

	if (!found)
		return fw_raise_internal_out_of_memory();
	for (; repositories[count]; count++)
		readable[count] = repositories[count];
	for (size_t i = 0; i < code->repos.count; i++) {
		size_t more = fw_git_directories(code->repos.list[i].path, found + used);

		for (size_t j = 0; j < more; j++)
			readable[count++] = found[used++];
		if (code->repos.list[i].semantic[0])
			writable[indexes++] = code->repos.list[i].semantic;
	}
	isolation.readable = readable;
	isolation.writable = writable;
	isolation.count = 1;
	isolation.most = 1;
	isolation.files = FILES;
	isolation.may_execute = true; /* git */
	isolation.may_connect = code->semantic.has_embedder;
	isolation.prepare = fw_semantic_keep_prepare;
	isolation.background = fw_semantic_keep;
	isolation.ctx = code;
	isolation.cpu_s = CPU_S;
	isolation.memory_bytes = 8 * gib;
	isolation.file_bytes = 16 * gib;
	err = fw_server_add_workers(host->server, &isolation, &workers);
	fw__release(found);
	return err;
}

fw_error *fw_semantic_pools_add(const struct fw_toolset_host *host, struct fw_code_set *code,
				const char *const *repositories, struct fw_code_runs *ret_runs)
{
	/* A confined server cannot ask a service, whatever --run says. */
	ret_runs->run = code->semantic.has_embedder ? FW_RUN_PROCESS : host->run;
	ret_runs->workers = NULL;
	if (ret_runs->run == FW_RUN_PROCESS)
		FW_TRY(add_searchers(host, code, repositories, &ret_runs->workers));
	return code->semantic.is_kept ? add_keeper(host, code, repositories) : NULL;
}
