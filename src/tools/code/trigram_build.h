/*
 * trigram_build.h - making an index (trigram.h): of the texts of files, and of an older index
 * for the files that have not changed.
 *
 * Memory is bounded: what does not fit is sorted and written to a temporary file, and merged
 * at the end. What would make the index larger than its limit is not indexed, and those
 * files are candidates of every search.
 */
#ifndef FW_TOOLS_CODE_TRIGRAM_BUILD_H
#define FW_TOOLS_CODE_TRIGRAM_BUILD_H

#include "tools/code/trigram.h"

#define FW_TRIGRAM_NEW UINT32_MAX

/* A file of the new index. */
struct fw_trigram_source {
	const char *path;
	uint32_t path_len;
	uint32_t old; /* its number in the older index, or FW_TRIGRAM_NEW */
	struct fw_trigram_file facts;
};

struct fw_trigram_build;

struct fw_trigram_build_options {
	const char *directory; /* for temporary files and the result */
	const struct fw_trigram *old;
	uint64_t identity;
	uint64_t limit_bytes; /* of the postings */
	size_t pairs;         /* in memory; 0: the default */
};

/* NULL: no memory. The options and what they point to are kept. */
struct fw_trigram_build *fw_trigram_build_new(const struct fw_trigram_build_options *options);
void fw_trigram_build_free(struct fw_trigram_build *build);

/* Adds the text of file `number`; numbers ascend. Returns the flags of the file. */
unsigned fw_trigram_build_add(struct fw_trigram_build *build, uint32_t number, const char *text,
			      size_t len);

/* Writes the index as `name` in the directory; the files are in the order of their paths. False:
 * no memory, or the disk is full. The file is complete or does not exist. */
bool fw_trigram_build_write(struct fw_trigram_build *build,
			    const struct fw_trigram_source *files, size_t count,
			    const char *name);

#endif
