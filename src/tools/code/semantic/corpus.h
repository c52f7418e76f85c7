/*
 * corpus.h - everything that a snapshot is made of, in memory: the files with their
 * records, and the past commits. Only while an index is built.
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_CORPUS_H
#define FW_TOOLS_CODE_SEMANTIC_CORPUS_H

#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

#include "base/buf.h"
#include "tools/code/semantic/data.h"

struct fw_semantic_source {
	size_t path; /* in `texts` */
	int64_t size;
	int64_t mtime_ns;
	int64_t blob;
	size_t record; /* in `records` */
	size_t record_len;
};

struct fw_semantic_past {
	uint32_t sha;   /* its first 32 bits */
	size_t subject; /* in `texts` */
	size_t first_touch;
	size_t touch_count;
};

struct fw_semantic_corpus {
	struct fw_semantic_source *sources; /* by path */
	size_t source_count, source_cap;
	struct fw_semantic_past *pasts; /* the newest first */
	size_t past_count, past_cap;
	uint32_t *touches; /* numbers of sources; those of a commit ascend */
	size_t touch_count, touch_cap;
	struct fw_buf texts;
	struct fw_buf records;
	size_t chunk_count;
	uint64_t bytes; /* of the files */
};

/* Reads it from the database. Raises search.failed if a record is broken, and
 * internal.out_of_memory. Free it with _clear(), also after an error. */
FW_NODISCARD fw_error *fw_semantic_corpus_load(struct fw_semantic_corpus *corpus,
					       struct fw_semantic_data *data);
void fw_semantic_corpus_clear(struct fw_semantic_corpus *corpus);

static inline const char *fw_semantic_corpus_text(const struct fw_semantic_corpus *corpus,
						  size_t offset)
{
	return corpus->texts.text + offset;
}

#endif
