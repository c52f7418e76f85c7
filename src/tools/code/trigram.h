/*
 * trigram.h - an index of the files of a repository: for each sequence of three bytes the
 * files that contain it. It names the files that may contain a text; which of them do is
 * found by reading them.
 *
 * Letters of ASCII are in lower case, so one index serves searches with and without case.
 * An index is one file that never changes and is mapped by every process that searches. It
 * may be damaged or made by another version: fw_trigram_open() compares sizes and, if asked,
 * the checksum, and no function here reads outside of the mapping whatever it contains.
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
	/* Files above this size are always candidates, and so are files with more different
	 * trigrams than text has. */
	FW_TRIGRAM_FILE_BYTES = 4 * 1024 * 1024,
	FW_TRIGRAM_FILE_MOST = 60000,
	/* Trigrams of the directory that are found by one head. */
	FW_TRIGRAM_BLOCK = 32,
};

/* Flags of a file. */
enum {
	FW_TRIGRAM_ALWAYS = 1, /* a candidate of every search */
	FW_TRIGRAM_NEVER = 2,  /* empty, or binary */
};

struct fw_trigram_header {
	char magic[8];
	uint32_t version;
	uint32_t byte_order;
	uint64_t size; /* of the whole file */
	uint64_t sum;  /* of what follows the header, then of the header without this */
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

/* Follow the header. */
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
 * The directory: the trigrams in ascending order, each with the length of its list. It is cut
 * into blocks. A block has a head, and for each trigram the difference to the one before it (not for
 * the first) and the length of the list, both seven bits per byte. Lists follow each
 * other in the order of the trigrams.
 */
struct fw_trigram_head {
	uint32_t trigram; /* the first of the block */
	uint32_t entries_at;
	uint32_t postings_at;
};

/* A mapped index. All zero: none. */
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

/* Maps the file. `checks_sum`: it is read whole. False: it does not exist or cannot be
 * used. */
bool fw_trigram_open(const char *path, bool checks_sum, struct fw_trigram *ret_index);
void fw_trigram_close(struct fw_trigram *index);
/* The same of bytes in memory, aligned to 8, which are kept: no fw_trigram_close(). */
bool fw_trigram_use(const char *bytes, size_t size, bool checks_sum,
		    struct fw_trigram *ret_index);

/* The path of a file; "" if the index is damaged. */
const char *fw_trigram_path(const struct fw_trigram *index, size_t file);
/* The first file whose path is not less than `path`. */
size_t fw_trigram_place(const struct fw_trigram *index, const char *path);
/* The file with this path; SIZE_MAX: none. */
size_t fw_trigram_find(const struct fw_trigram *index, const char *path);

/* Sets the bits of the files that may contain one of the texts, and `also`; without texts, of
 * all that are not binary. `bits` has one bit per file and is zero. False: no memory. */
bool fw_trigram_select(const struct fw_trigram *index, const struct fw_literals *literals,
		       uint64_t *bits);

/* Keeps of the bits those of files that may have the runs, and sets those of files that are always
 * candidates. Without memory all stay. */
void fw_trigram_narrow(const struct fw_trigram *index, const struct fw_byte_runs *runs,
		       uint64_t *bits);

/* ---- for the builder, and trigram*.c ---- */

/* A trigram of the directory. */
struct fw_trigram_entry {
	uint32_t trigram; /* FW_TRIGRAM_NONE: behind the last */
	size_t number;    /* of the next entry */
	const unsigned char *at;
	uint32_t from, to; /* its list in the postings */
};

/* Goes to the next trigram; to the first one if all members are zero. */
void fw_trigram__advance(const struct fw_trigram *index, struct fw_trigram_entry *entry);
/* Goes to the first entry whose trigram is not less than this one. */
void fw_trigram__seek(const struct fw_trigram *index, uint32_t trigram,
		      struct fw_trigram_entry *ret_entry);
/* Its list; an empty one if the index is damaged. */
struct fw_trigram_span fw_trigram__span(const struct fw_trigram *index,
					const struct fw_trigram_entry *entry);

/* The checksum of bytes, continued from `sum`; the length is a multiple of 8 but for the
 * last part, which is filled with zeros. */
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
