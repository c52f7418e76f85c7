/*
 * history.h - past commits: their subjects, and the files that they changed, read from git
 * into the database.
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_HISTORY_H
#define FW_TOOLS_CODE_SEMANTIC_HISTORY_H

#include <stdbool.h>

#include <faultwire/error.h>

#include "tools/code/repo.h"
#include "tools/code/semantic/data.h"

enum { FW_SEMANTIC_SHA_SIZE = 72 };

/*
 * Adds the commits since the last time. A directory that is no git repository, or whose git
 * fails, has no commits: the index then does without. `ret_head` gets the newest commit, or
 * "". Only in a process that has no other children (git.h). Raises what data.h raises.
 */
FW_NODISCARD fw_error *fw_semantic_history_update(struct fw_semantic_data *data,
						  const struct fw_code_place *place,
						  bool (*is_cancelled)(void *ctx), void *ctx,
						  bool *ret_is_changed,
						  char ret_head[FW_SEMANTIC_SHA_SIZE]);

#endif
