/*
 * trigram_build_impl.h - the internals of making an index, for trigram_build.c and
 * trigram_write.c.
 */
#ifndef FW_TOOLS_CODE_TRIGRAM_BUILD_IMPL_H
#define FW_TOOLS_CODE_TRIGRAM_BUILD_IMPL_H

#include "tools/code/trigram_build.h"

enum { FW_TRIGRAM_RUNS = 256 };

struct fw_trigram_build {
	struct fw_trigram_build_options options;
	uint64_t *pairs; /* trigram in the upper half, file in the lower */
	uint64_t *sorted;
	size_t count;
	size_t room;
	uint64_t total; /* pairs of all runs */
	uint64_t *seen; /* one bit per trigram, for the file that is being added */
	uint32_t *distinct;
	size_t distinct_count;
	int runs_fd; /* -1: none */
	uint64_t runs_len;
	uint64_t run_starts[FW_TRIGRAM_RUNS];
	size_t run_count;
	bool has_failed;
};

/* Writes the pairs in memory as a run. */
bool fw_trigram__flush(struct fw_trigram_build *build);

/* ---- writing, in large parts ---- */

struct fw_trigram_writer;

/* A new file, not readable by others; -1: it cannot be created. */
int fw_trigram__create(const char *path);
/* Makes a writer that begins at the offset `at`. NULL: no memory. */
struct fw_trigram_writer *fw_trigram__writer_new(int fd, uint64_t at);
void fw_trigram__write(struct fw_trigram_writer *writer, const void *bytes, size_t len);
/* The offset of the next byte. */
uint64_t fw_trigram__position(const struct fw_trigram_writer *writer);
/* Frees the writer. False: something could not be written. `ret_sum` may be NULL. */
bool fw_trigram__writer_end(struct fw_trigram_writer *writer, uint64_t *ret_at,
			    uint64_t *ret_sum);

#endif
