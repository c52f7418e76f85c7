/*
 * candidates.h - the files that a search has to read, by the index of a repository.
 */
#ifndef FW_TOOLS_CODE_CANDIDATES_H
#define FW_TOOLS_CODE_CANDIDATES_H

#include "tools/code/literal.h"
#include "tools/code/repo.h"
#include "tools/code/byte_runs.h"

struct fw_mapped;

struct fw_candidates {
	const struct fw_code_place *place;
	const struct fw_literals *literals;
	const struct fw_byte_runs *runs; /* may be NULL */
	bool keeps_maps;                 /* in a worker process: see mapped.h */
	/* Called in the order of the paths; false ends it. `mapped` is NULL for a file that has to
	 * be read, for example because it was changed. */
	bool (*file)(void *ctx, const char *path, size_t len, struct fw_mapped *mapped);
	void *ctx;
};

/*
 * Finds the files below the place that may contain one of the literals and the runs, among them each that was
 * changed since the index was made. False: there is no usable index, and nothing was
 * called; walk instead.
 */
bool fw_candidates_each(const struct fw_candidates *candidates);

#endif
