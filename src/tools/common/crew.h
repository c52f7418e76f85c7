/*
 * crew.h - a loop whose iterations run on several threads.
 */
#ifndef FW_TOOLS_COMMON_CREW_H
#define FW_TOOLS_COMMON_CREW_H

#include <stddef.h>

#include <faultwire/error.h>

enum { FW_CREW_MAX = 8 };

struct fw_crew {
	/* An error ends the loop. If several items fail, the error of the lowest one
	 * is returned. `thread` is less than `threads`. */
	fw_error *(*work)(void *ctx, unsigned thread, size_t item);
	void *ctx;
	size_t count; /* items, started in ascending order */
	unsigned threads;
};
FW_NODISCARD fw_error *fw_crew_run(const struct fw_crew *crew);

/* How many threads to use: `wanted`, or with 0 one per CPU; at most FW_CREW_MAX. */
unsigned fw_crew_size(unsigned wanted);

#endif
