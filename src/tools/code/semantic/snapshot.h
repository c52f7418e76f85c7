/*
 * snapshot.h - an index as it is searched: one file, mapped into memory, never changed.
 *
 * A build writes a new file and renames it over the old one, so a reader sees the old index or
 * the new one. Every worker maps the same file, so its pages are in memory once.
 *
 * The one rule to remember: fw_semantic_snapshot_open() has checked the checksum and every
 * offset; readers need not check again, and must not trust what they have not opened.
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_SNAPSHOT_H
#define FW_TOOLS_CODE_SEMANTIC_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

enum {
	FW_SEMANTIC_EMBEDDER_BYTES = 160,
	FW_SEMANTIC_DIMS_MAX = 4096,
	FW_SEMANTIC_FILES_MAX = 4 * 1000 * 1000,
	FW_SEMANTIC_CHUNKS_MAX = 1 << 24
};

/* Fields with lists of documents: a document is a chunk, a file or a commit. */
enum fw_semantic_field {
	FW_SEMANTIC_BODY,    /* chunks: their text */
	FW_SEMANTIC_SYMBOL,  /* chunks: the names that they define */
	FW_SEMANTIC_PATH,    /* files: the path */
	FW_SEMANTIC_HISTORY, /* files: the subjects of the commits that changed them */
	FW_SEMANTIC_COMMIT,  /* commits: the subject */
	FW_SEMANTIC_FIELD_COUNT
};

enum fw_semantic_section {
	FW_SEMANTIC_FILES,
	FW_SEMANTIC_CHUNKS,
	FW_SEMANTIC_COMMITS,
	FW_SEMANTIC_TOUCHES, /* file numbers */
	FW_SEMANTIC_STRINGS, /* each ends with NUL */
	FW_SEMANTIC_BASIS_TERMS,
	FW_SEMANTIC_BASIS, /* int8 */
	FW_SEMANTIC_BASIS_SCALES,
	FW_SEMANTIC_VECTORS, /* int8, of chunks */
	FW_SEMANTIC_VECTOR_SCALES,
	FW_SEMANTIC_TERMS,                                                  /* of each field */
	FW_SEMANTIC_POSTINGS = FW_SEMANTIC_TERMS + FW_SEMANTIC_FIELD_COUNT, /* of each field */
	FW_SEMANTIC_SECTION_COUNT = FW_SEMANTIC_POSTINGS + FW_SEMANTIC_FIELD_COUNT
};

struct fw_semantic_file_row {
	uint32_t path; /* in the strings */
	uint32_t first_chunk;
	uint32_t chunk_count;
	uint32_t body_length; /* terms */
	uint32_t path_length;
	uint32_t history_length;
	int64_t mtime_ns;
	int64_t size;
};

struct fw_semantic_chunk_row {
	uint32_t file;
	uint32_t start_line;
	uint16_t lines;
	uint16_t length; /* terms; at most 65535 */
	uint32_t symbol; /* in the strings */
};

struct fw_semantic_commit_row {
	uint32_t subject;
	uint32_t sha;
	uint32_t first_touch;
	uint32_t touch_count;
	uint32_t length;
};

struct fw_semantic_term_row {
	uint32_t hash;   /* in ascending order */
	uint32_t count;  /* documents */
	uint32_t offset; /* in the postings of the field */
};

struct fw_semantic_basis_row {
	uint32_t hash; /* in ascending order */
	float idf;
};

/* The beginning of the file. */
struct fw_semantic_head {
	char magic[8];
	uint32_t version;
	uint32_t dims;
	uint64_t checksum; /* of everything behind the head */
	uint64_t file_bytes;
	struct {
		uint64_t offset;
		uint64_t bytes;
	} sections[FW_SEMANTIC_SECTION_COUNT];
	int64_t created_ms;
	uint64_t source_bytes;
	uint64_t changed_chunks; /* since the basis was computed */
	double mean_length[FW_SEMANTIC_FIELD_COUNT];
	char embedder[FW_SEMANTIC_EMBEDDER_BYTES];
	char commit[72];        /* HEAD, or "" */
	uint64_t head_checksum; /* of what is above, with this as 0 */
};

struct fw_semantic_snapshot {
	const struct fw_semantic_head *head;
	size_t bytes;
	const struct fw_semantic_file_row *files;
	size_t file_count;
	const struct fw_semantic_chunk_row *chunks;
	size_t chunk_count;
	const struct fw_semantic_commit_row *commits;
	size_t commit_count;
	const uint32_t *touches;
	const char *strings;
	const struct fw_semantic_basis_row *basis_terms;
	size_t basis_count;
	const int8_t *basis;
	const float *basis_scales;
	const int8_t *vectors;
	const float *vector_scales;
	struct {
		const struct fw_semantic_term_row *terms;
		size_t count;
		const unsigned char *postings;
		size_t bytes;
	} fields[FW_SEMANTIC_FIELD_COUNT];
};

enum fw_semantic_fault {
	FW_SEMANTIC_OK,
	FW_SEMANTIC_ABSENT,
	FW_SEMANTIC_CORRUPT,
	FW_SEMANTIC_OTHER_VERSION,
	FW_SEMANTIC_UNREADABLE
};

/* Maps the file of `dir` with this name. Reads all of it once, for the checksum. */
enum fw_semantic_fault fw_semantic_snapshot_open(int dir, const char *name,
						 struct fw_semantic_snapshot *ret_snapshot);
void fw_semantic_snapshot_close(struct fw_semantic_snapshot *snapshot);

/* A checksum of bytes in memory, quicker than reading them from a disk. */
uint64_t fw_semantic_checksum(const void *bytes, size_t len);

/* The row of a term, or NULL. */
const struct fw_semantic_term_row *fw_semantic_snapshot_term(
	const struct fw_semantic_snapshot *snapshot, enum fw_semantic_field field,
	uint32_t hash);

/* Reads the list of documents of a term. */
struct fw_semantic_cursor {
	const unsigned char *at;
	const unsigned char *end;
	uint32_t left;
	uint32_t document; /* the current one */
	uint32_t tf;
};
void fw_semantic_cursor_init(struct fw_semantic_cursor *cursor,
			     const struct fw_semantic_snapshot *snapshot,
			     enum fw_semantic_field field,
			     const struct fw_semantic_term_row *term);

/* False at the end. A document is a difference to the one before, with the count in its lowest
 * three bits, as a varint. */
static inline bool fw_semantic_cursor_next(struct fw_semantic_cursor *cursor)
{
	uint32_t value = 0;
	unsigned shift = 0;

	if (!cursor->left)
		return false;
	while (cursor->at < cursor->end && shift < 32) {
		unsigned char byte = *cursor->at++;

		value |= (uint32_t)(byte & 127) << shift;
		shift += 7;
		if (byte < 128)
			break;
	}
	cursor->left--;
	cursor->document += value >> 3;
	cursor->tf = (value & 7) + 1;
	return true;
}

#endif
