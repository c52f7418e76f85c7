/*
 * mapped.h - files that stay mapped between the searches of a worker process.
 *
 * To open, read and close a file takes longer than to search it. A mapped file is copied from
 * where the kernel keeps it, in the page cache: a write is seen at once, no memory is used
 * twice, and the kernel can take the pages back at any time. A path that leads to another file
 * than before is among the changes of the index (board.h), whose files are read; with a new
 * index everything is mapped again.
 *
 * A file can be cut while it is copied, so SIGBUS is handled.
 *
 * The one rule to remember: only for processes that run one search at a time. In a search, any
 * thread may use a file, and no two use the same one.
 */
#ifndef FW_TOOLS_CODE_MAPPED_H
#define FW_TOOLS_CODE_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct fw_code_repo;
struct fw_mapped;

/* An index: the numbers of its files are those of the files that are mapped. */
struct fw_mapped_index {
	const struct fw_code_repo *repo;
	uint64_t generation;
	int64_t changed_ns;
	size_t files;
	uint64_t changes; /* a hash of the files that have changed since */
};

/* The files of an index, which are kept until a later search has another one of this
 * repository. `ret_has_news`: other files have changed than at the last search, and the caller
 * drops them. NULL: none can be kept. */
struct fw_mapped *fw_mapped_files(const struct fw_mapped_index *index, bool *ret_has_news);
/* The search is over, and uses none of them any more. */
void fw_mapped_finish(void);
/* NULL if `files` is. */
struct fw_mapped *fw_mapped_at(struct fw_mapped *files, size_t number);

/* 0: it is not mapped. */
size_t fw_mapped_size(const struct fw_mapped *file);
/* Copies the whole file. False: it was cut since it was mapped, and is not mapped any more. */
bool fw_mapped_copy(struct fw_mapped *file, char *ret_text);

/* Maps a file, which is open for reading, for later searches. Nothing happens if it is empty or
 * large, if it can be changed by another path, if there are too many, or if it cannot be mapped. */
void fw_mapped_keep(struct fw_mapped *file, int fd, const struct stat *st);
/* A file that has changed is not used any more: as long as it is mapped, it takes space on the
 * disk although it may be deleted. */
void fw_mapped_drop(struct fw_mapped *file);

#endif
