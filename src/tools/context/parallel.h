/*
 * parallel.h - a loop whose iterations run on several threads.
 */
#ifndef FW_TOOLS_CONTEXT_PARALLEL_H
#define FW_TOOLS_CONTEXT_PARALLEL_H

#include "tools/context/context.h"

enum { FW_CONTEXT_THREADS_MAX = 8 };

struct fw_context_parallel {
	/* An error ends the loop. If several items fail, the error of the lowest one
	 * is returned. `thread` is less than `threads`. */
	fw_error *(*work)(void *ctx, unsigned thread, size_t item);
	void *ctx;
	size_t count; /* items, started in ascending order */
	unsigned threads;
};
FW_NODISCARD fw_error *fw_context_parallel_run(const struct fw_context_parallel *loop);

/* How many threads a run may use; `run` may be NULL. */
unsigned fw_context_threads(const struct fw_context_run *run);

#endif
