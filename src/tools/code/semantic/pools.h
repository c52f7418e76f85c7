/*
 * pools.h - the processes of the semantic indexes in a server: workers that search, and one
 * that keeps the indexes up to date.
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_POOLS_H
#define FW_TOOLS_CODE_SEMANTIC_POOLS_H

#include <faultwire/faultwire.h>

#include "tools/code/code.h"
#include "tools/toolset.h"

/*
 * Chooses and creates the directories of the indexes below the state directory, and reads the
 * settings of the embedding service. Without a state directory, or with one that cannot be
 * written, there are no indexes. Raises cli.usage.
 */
FW_NODISCARD fw_error *fw_semantic_pools_prepare(const struct fw_toolset_host *host,
						 struct fw_code_set *code, bool is_kept);
/* Adds the processes; `repositories` ends with NULL. `ret_runs` is how semantic_search runs. */
FW_NODISCARD fw_error *fw_semantic_pools_add(const struct fw_toolset_host *host,
					     struct fw_code_set *code,
					     const char *const *repositories,
					     struct fw_code_runs *ret_runs);

#endif
