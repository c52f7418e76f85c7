/*
 * code.h - code intelligence: the data of the toolset, and its list of tools.
 *
 * A server has one repository, whose paths are relative to it, or several with names,
 * and then the first component of every path is the name of its repository.
 *
 * Tools run in worker processes, which keep nothing between calls except mapped files
 * (mapped.h). Handlers only read `struct fw_code_set`, which the server fills in before
 * it forks the workers.
 *
 * The one rule to remember: a handler reports every failure as an error of common/,
 * error.h or the registry. The server makes the envelope (empty result, `error`,
 * `problem`).
 */
#ifndef FW_TOOLS_CODE_CODE_H
#define FW_TOOLS_CODE_CODE_H

#include <faultwire/faultwire.h>

#include "tools/code/indexer.h"
#include "tools/code/repo.h"
#include "tools/code/semantic/settings.h"

struct fw_code_set {
	struct fw_code_repos repos;
	uint32_t search_ms; /* time limit of a search */
	bool keeps_maps;    /* searches run in worker processes, which keep files mapped */
	struct fw_semantic_settings semantic;
	struct fw_indexer_options indexer;
};

/* The handlers; `ctx` is a struct fw_code_set. */
fw_error *fw_code_open_file(fw_call *call, void *ctx);
fw_error *fw_code_list_paths(fw_call *call, void *ctx);
fw_error *fw_code_search_text(fw_call *call, void *ctx);
fw_error *fw_code_blame_range(fw_call *call, void *ctx);
fw_error *fw_code_file_history(fw_call *call, void *ctx);

/* How the tools of each group run. */
struct fw_code_runs {
	fw_run run;
	fw_workers *workers;
};

/* Adds the tools. Raises internal.api_misuse, internal.out_of_memory. */
FW_NODISCARD fw_error *fw_code_add(fw_server *server, struct fw_code_set *code,
				   const struct fw_code_runs *files,
				   const struct fw_code_runs *git,
				   const struct fw_code_runs *semantic);

#endif
