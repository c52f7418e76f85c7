/*
 * trigram.h - an index of the files of a repository: for each sequence of three bytes,
 * the files that contain it. The index names the files that may contain a text. A search
 * has to read them to find those that do.
 *
 * ASCII letters are in lower case, so one index serves searches with and without case. An
 * index is one file that never changes and is mapped by every process that searches. It
 * may be damaged or made by another version: fw_trigram_open() checks sizes and, on
 * request, the checksum, and no function reads outside of the mapping whatever it
 * contains.
 */
#ifndef FW_TOOLS_CODE_TRIGRAM_H
#define FW_TOOLS_CODE_TRIGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/code/literal.h"
#include "tools/code/byte_runs.h"
#include "tools/code/trigram_list.h"

enum {
	FW_TRIGRAM_VERSION = 2,
	/* Files above this size are always candidates, and so are files with more
	 * distinct trigrams than text has. */
	FW_TRIGRAM_FILE_BYTES = 4 * 1024 * 1024,
	FW_TRIGRAM_FILE_MOST = 60000,
	/* Trigrams per block of the directory. */
	FW_TRIGRAM_BLOCK = 32,
};

/* Flags of a file. */
enum {
	FW_TRIGRAM_ALWAYS = 1, /* a candidate in every search */
	FW_TRIGRAM_NEVER = 2,  /* empty, or binary */
};

struct fw_trigram_header {
	char magic[8];
	uint32_t version;
	uint32_t byte_order;
	uint64_t size; /* of the whole file */
	uint64_t sum;  /* of the bytes after the header, then of the header with sum = 0 */
	uint64_t identity;
	uint64_t file_count;
	uint64_t paths_at;
	uint64_t paths_len;
	uint64_t postings_at;
	uint64_t postings_len;
	uint64_t heads_at;
	uint64_t entries_at;
	uint64_t entries_len;
	uint64_t trigram_count;
};

/* One per file, after the header. */
struct fw_trigram_file {
	uint64_t size;
	int64_t modified_ns;
	int64_t changed_ns;
	uint64_t inode;
	uint32_t path_at;
	uint16_t path_len;
	uint16_t flags;
};

/*
 * The directory: the trigrams in ascending order, each with the length of its list, in
 * blocks. A block has a head. For each trigram it has the difference to the one before it
 * (except for the first) and the length of the list, both with seven bits per byte. The
 * lists are stored in the order of the trigrams.
 */
struct fw_trigram_head {
	uint32_t trigram; /* the first of the block */
	uint32_t entries_at;
	uint32_t postings_at;
};

/* A mapped index. All zero is none. */
struct fw_trigram {
	const char *bytes;
	size_t size;
	size_t count; /* files */
	const struct fw_trigram_file *files;
	const char *paths;
	size_t paths_len;
	const unsigned char *postings;
	size_t postings_len;
	const struct fw_trigram_head *heads;
	const unsigned char *entries;
	size_t entries_len;
	size_t trigrams;
	uint64_t identity;
	int64_t changed_ns; /* st_ctim of the file */
};

/* Maps the file. With `checks_sum` all of it is read. False: it does not exist or cannot
 * be used. */
bool fw_trigram_open(const char *path, bool checks_sum, struct fw_trigram *ret_index);
void fw_trigram_close(struct fw_trigram *index);
/* The same for bytes in memory, which are borrowed and must be aligned to 8. Do not call
 * fw_trigram_close(). */
bool fw_trigram_use(const char *bytes, size_t size, bool checks_sum,
		    struct fw_trigram *ret_index);

/* The path of a file; "" if the index is damaged. */
const char *fw_trigram_path(const struct fw_trigram *index, size_t file);
/* The first file whose path is not less than `path`. */
size_t fw_trigram_place(const struct fw_trigram *index, const char *path);
/* The file with this path; SIZE_MAX: none. */
size_t fw_trigram_find(const struct fw_trigram *index, const char *path);

/* Sets the bits of the files that may contain one of the texts, and `also`. Without
 * texts, these are all files that are not binary. `bits` has one bit per file, all zero.
 * False: no memory. */
bool fw_trigram_select(const struct fw_trigram *index, const struct fw_literals *literals,
		       uint64_t *bits);

/* Clears the bits of files that cannot have the runs, and sets those of files that are
 * always candidates. If there is no memory, all stay set. */
void fw_trigram_narrow(const struct fw_trigram *index, const struct fw_byte_runs *runs,
		       uint64_t *bits);

/* ---- for the builder, and trigram*.c ---- */

/* A trigram of the directory. */
struct fw_trigram_entry {
	uint32_t trigram; /* FW_TRIGRAM_NONE: after the last */
	size_t number;    /* number of the next entry */
	const unsigned char *at;
	uint32_t from, to; /* its list in the postings */
};

/* Goes to the next trigram; to the first one if all members are zero. */
void fw_trigram__advance(const struct fw_trigram *index, struct fw_trigram_entry *entry);
/* Goes to the first entry whose trigram is not less than this one. */
void fw_trigram__seek(const struct fw_trigram *index, uint32_t trigram,
		      struct fw_trigram_entry *ret_entry);
/* The list of an entry, an empty one if the index is damaged. */
struct fw_trigram_span fw_trigram__span(const struct fw_trigram *index,
					const struct fw_trigram_entry *entry);

/* The checksum of bytes, continued from `sum`. The length must be a multiple of 8, except
 * for the last part, which is padded with zeros. */
uint64_t fw_trigram__sum(uint64_t sum, const void *bytes, size_t len);

static inline unsigned char fw_trigram__fold(unsigned char c)
{
	return c >= 'A' && c <= 'Z' ? (unsigned char)(c | 0x20) : c;
}

#define FW_TRIGRAM_MAGIC "fwtrigr\n"
#define FW_TRIGRAM_BYTE_ORDER UINT32_C(0x01020304)
/* The key of the files that are always candidates: above every trigram. */
#define FW_TRIGRAM_KEY_ALWAYS (UINT32_C(1) << 24)
#define FW_TRIGRAM_NONE UINT32_MAX

#endif
