/*
 * toolset.c - the descriptor of the toolset context.
 */
#include <stdlib.h>

#include "tools/context/context.h"
#include "tools/toolset.h"

enum { CACHE_ROOT, OPTION_COUNT };

static const struct fw_toolset_option options[OPTION_COUNT] = {
	[CACHE_ROOT] = { "cache-root", "DIR", 0, FW_TOOLSET_PATH,
			 .help = "Directory that contains the caches. The environment variable "
				 "CONTEXT_CACHE_ROOT has the same effect." },
};

/* NULL if neither the option nor the environment names it. */
static const char *cache_root(const char *const *values)
{
	const char *root = values[CACHE_ROOT];

	if (!root)
		root = getenv("CONTEXT_CACHE_ROOT");
	return root && *root ? root : NULL;
}

static bool is_default(const char *const *values)
{
	return cache_root(values) != NULL;
}

/*
 * The tools run in threads, which share the caches that were read and indexed. In
 * processes, only if --run asks for it, each worker does that for itself.
 *
 * The store is never freed: abandoned threads may use it until the process ends.
 */
static fw_error *add(const struct fw_toolset_host *host, void **ret_instance)
{
	const char *root = cache_root(host->values);
	const char *const readable[] = { root, NULL };
	fw_workers_options isolation = host->isolation;
	struct fw_context_store *store = NULL;
	fw_workers *workers = NULL;

	if (!root)
		return fw_raise_cli_usage("toolset context needs --cache-root");
	FW_TRY(fw_context_store_new(root, &store));
	*ret_instance = store;
	host->allow(host->ctx, root, false);
	if (!host->is_run_chosen || host->run != FW_RUN_PROCESS)
		return fw_context_add(host->server, store, FW_RUN_THREAD, NULL);
	isolation.readable = readable;
	FW_TRY(fw_server_add_workers(host->server, &isolation, &workers));
	return fw_context_add(host->server, store, FW_RUN_PROCESS, workers);
}

const struct fw_toolset fw_toolset_context = {
	.name = "context",
	.summary =
		"documents from context caches, by query and token budget; served by default "
		"if --cache-root is given",
	.contract = FW_CONTEXT_V0,
	.options = options,
	.option_count = OPTION_COUNT,
	.is_default = is_default,
	.add = add,
};
