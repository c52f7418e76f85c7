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
 * Reading takes as long as git does, so it has a thread of its own: _begin() starts it, and
 * _end() waits for it and puts the commits into the database. Only in a process that has no
 * other children (git.h).
 */
struct fw_semantic_history;

/* `place` and `ctx` must live until the end; `is_cancelled` is called by the other thread.
 * Raises what data.h raises. */
FW_NODISCARD fw_error *fw_semantic_history_begin(struct fw_semantic_data *data,
						 const struct fw_code_place *place,
						 bool (*is_cancelled)(void *ctx), void *ctx,
						 struct fw_semantic_history **ret_history);
/*
 * Adds the commits since the last time, and removes those that HEAD has not any more. A directory that is no git repository, or whose git
 * fails, has no commits: the index then does without. `ret_head` gets the newest commit, or
 * "". Raises what data.h raises.
 */
FW_NODISCARD fw_error *fw_semantic_history_end(struct fw_semantic_history *history,
					       struct fw_semantic_data *data,
					       bool *ret_is_changed,
					       char ret_head[FW_SEMANTIC_SHA_SIZE]);
/* Waits for the thread, which should be cancelled before. NULL is a no-op. */
void fw_semantic_history_free(struct fw_semantic_history *history);

#endif
