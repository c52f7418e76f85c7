/*
 * snapshot_write.h - making the snapshot of a corpus.
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_SNAPSHOT_WRITE_H
#define FW_TOOLS_CODE_SEMANTIC_SNAPSHOT_WRITE_H

#include <faultwire/error.h>

#include "tools/code/semantic/corpus.h"
#include "tools/code/semantic/postings.h"
#include "tools/code/semantic/snapshot.h"
#include "tools/code/semantic/space.h"

struct fw_semantic_writing {
	const struct fw_semantic_corpus *corpus;
	struct fw_semantic_postings fields[FW_SEMANTIC_FIELD_COUNT];
	struct fw_semantic_head head;
	struct fw_semantic_text_table texts;
	struct fw_semantic_text_writer text_writer;
	uint64_t lengths[FW_SEMANTIC_FIELD_COUNT]; /* terms of all documents */
	struct fw_buf sections[FW_SEMANTIC_SECTION_COUNT];
};

/* Collects and sorts the terms of all fields. Raises internal.out_of_memory. */
FW_NODISCARD fw_error *fw_semantic_writing_begin(struct fw_semantic_writing *writing,
						 const struct fw_semantic_corpus *corpus);
/* Writes `name` in `dir`: a new file that replaces the old one. Raises
 * internal.out_of_memory, io.*, search.failed if it would be too large. */
FW_NODISCARD fw_error *fw_semantic_writing_end(struct fw_semantic_writing *writing,
					       const struct fw_semantic_space *space, int dir,
					       const char *name);
void fw_semantic_writing_clear(struct fw_semantic_writing *writing);

#endif
