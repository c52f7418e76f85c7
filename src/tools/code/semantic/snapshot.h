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

#include "tools/code/semantic/texts.h"

enum {
	FW_SEMANTIC_EMBEDDER_BYTES = 160,
	FW_SEMANTIC_DIMS_MAX = 4096,
	FW_SEMANTIC_FILES_MAX = 4 * 1000 * 1000,
	FW_SEMANTIC_CHUNKS_MAX = 1 << 24,
	FW_SEMANTIC_KEY_BITS = 28,
	FW_SEMANTIC_SPOT_BYTES = 128,
	/* Of a subject, what is shown; all of its terms are in the lists. */
	FW_SEMANTIC_SUBJECT_BYTES = 80
};

/* Stands for the symbol of the chunk before: an escaped byte that no name has. */
#define FW_SEMANTIC_REPEATED "\377\001"

/* Fields with lists of documents: a document is a chunk, a file or a commit. */
enum fw_semantic_field {
	FW_SEMANTIC_BODY,    /* chunks: their text, and the names that they define once more */
	FW_SEMANTIC_PATH,    /* files: the path */
	FW_SEMANTIC_HISTORY, /* files: the subjects of the commits that changed them */
	FW_SEMANTIC_COMMIT,  /* commits: the subject */
	FW_SEMANTIC_FIELD_COUNT
};

enum fw_semantic_section {
	FW_SEMANTIC_FILES,
	FW_SEMANTIC_LINES,   /* a byte per chunk: its lines; chunks follow each other */
	FW_SEMANTIC_LENGTHS, /* a byte per chunk: fw_semantic_length_code() of its terms */
	FW_SEMANTIC_SYMBOLS, /* of each chunk, with a NUL; FW_SEMANTIC_REPEATED as before */
	FW_SEMANTIC_COMMITS,
	FW_SEMANTIC_TOUCHES, /* files of each commit: varints, each minus the one before */
	FW_SEMANTIC_STRINGS, /* paths and subjects */
	FW_SEMANTIC_TEXTS,   /* the table of strings and symbols (texts.h) */
	FW_SEMANTIC_BASIS_TERMS,
	FW_SEMANTIC_BASIS,   /* four bits per dimension (vector.h) */
	FW_SEMANTIC_VECTORS, /* of chunks, the same */
	FW_SEMANTIC_FACTORS, /* a byte per chunk: fw_semantic_factor_of() */
	FW_SEMANTIC_BUCKETS, /* of each field: where each bucket begins in the lists */
	FW_SEMANTIC_LISTS = FW_SEMANTIC_BUCKETS + FW_SEMANTIC_FIELD_COUNT, /* of each field */
	FW_SEMANTIC_SECTION_COUNT = FW_SEMANTIC_LISTS + FW_SEMANTIC_FIELD_COUNT
};

struct fw_semantic_file_row {
	int64_t mtime_ns;
	uint32_t path;    /* in the strings */
	uint32_t symbols; /* of its chunks, in the symbols */
	uint32_t first_chunk;
	uint32_t body_length; /* terms */
	uint32_t size;
	uint16_t path_length;
	uint16_t history_length;
};

struct fw_semantic_commit_row {
	uint32_t subject;     /* in the strings */
	uint32_t sha;         /* its first 32 bits */
	uint32_t first_touch; /* in the touches */
	uint16_t touch_count;
	uint16_t length;
};

struct fw_semantic_basis_row {
	uint32_t key; /* in ascending order */
	float weight; /* of its row of the basis */
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
	const uint8_t *lines;
	const uint8_t *lengths;
	size_t chunk_count;
	const char *symbols;
	size_t symbol_bytes;
	const struct fw_semantic_commit_row *commits;
	size_t commit_count;
	const unsigned char *touches;
	size_t touch_bytes;
	const char *strings;
	size_t string_bytes;
	const struct fw_semantic_text_table *texts;
	const struct fw_semantic_basis_row *basis_terms;
	size_t basis_count;
	const unsigned char *basis;
	const unsigned char *vectors;
	const uint8_t *factors;
	struct {
		const uint32_t *buckets; /* one more than there are */
		size_t count;
		unsigned bits; /* of a key that choose the bucket */
		const unsigned char *lists;
		uint32_t documents;
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

/* Lengths as bytes, within 5 %. */
uint8_t fw_semantic_length_code(uint32_t length);
float fw_semantic_length_of(uint8_t code);

/* The chunks of a file: from the first to before the end. */
static inline uint32_t fw_semantic_chunks_end(const struct fw_semantic_snapshot *snapshot,
					      size_t file)
{
	return file + 1 < snapshot->file_count ? snapshot->files[file + 1].first_chunk
					       : (uint32_t)snapshot->chunk_count;
}

/* Where a chunk of a file is, and the definition that it shows ("": none). */
struct fw_semantic_spot {
	uint32_t start_line;
	uint32_t end_line;
	char symbol[FW_SEMANTIC_SPOT_BYTES];
};
void fw_semantic_snapshot_spot(const struct fw_semantic_snapshot *snapshot, uint32_t file,
			       uint32_t chunk, struct fw_semantic_spot *ret_spot);

/* A path or a subject; cut if it is longer than `size` - 1. */
void fw_semantic_snapshot_text(const struct fw_semantic_snapshot *snapshot, uint32_t offset,
			       char *ret_text, size_t size);

/* The files that a commit changed: calls `each` until it returns false. */
void fw_semantic_snapshot_touched(const struct fw_semantic_snapshot *snapshot, uint32_t commit,
				  bool (*each)(void *ctx, uint32_t file), void *ctx);

/*
 * The documents of a term, in ascending order, and how often they have it (bits.h). Both lists
 * have room for all documents of the field. Returns their number; 0: none has the term.
 */
size_t fw_semantic_snapshot_find(const struct fw_semantic_snapshot *snapshot,
				 enum fw_semantic_field field, uint32_t hash,
				 uint32_t *ret_list, uint8_t *ret_classes);

#endif
