/*
 * trigram_build.h - makes an index (trigram.h) from the texts of files, and from an older
 * index for the files that have not changed.
 *
 * Memory is bounded: pairs that do not fit are sorted, written to a temporary file, and
 * merged at the end. Files that would make the index larger than its limit are not
 * indexed, and are candidates in every search.
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
	uint64_t limit_bytes; /* limit of the postings */
	size_t pairs;         /* pairs in memory; 0: the default */
};

/* NULL: no memory. The options and all that they point to are borrowed. */
struct fw_trigram_build *fw_trigram_build_new(const struct fw_trigram_build_options *options);
void fw_trigram_build_free(struct fw_trigram_build *build);

/* Adds the text of file `number`. Numbers must ascend. Returns the flags of the file. */
unsigned fw_trigram_build_add(struct fw_trigram_build *build, uint32_t number, const char *text,
			      size_t len);

/* Writes the index as `name` in the directory. The files must be in the order of their
 * paths. False: no memory, or the disk is full. The file is either complete or does not
 * exist. */
bool fw_trigram_build_write(struct fw_trigram_build *build,
			    const struct fw_trigram_source *files, size_t count,
			    const char *name);

#endif
