/*
 * trigram.c - see trigram.h.
 *
 * The lists of a text are intersected from the shortest on. A list is skipped if decoding
 * it takes longer than reading the files that are left, except for bitmaps, which need
 * not be decoded.
 */
#include "tools/code/trigram.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

enum {
	LISTS_MAX = FW_LITERAL_BYTES,
	VARINT_MAX = 5,
	/* A list is decoded if it has at most this many bytes per remaining file:
	 * decoding then takes less time than opening, reading and closing the files that
	 * it may exclude. */
	BYTES_PER_FILE = 32,
};

uint64_t fw_trigram__sum(uint64_t sum, const void *bytes, size_t len)
{
	const char *at = bytes;

	for (; len; at += 8) {
		uint64_t word = 0;
		size_t part = len < 8 ? len : 8;

		memcpy(&word, at, part);
		len -= part;
		sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		sum ^= sum >> 29;
	}
	return sum;
}

/* ---- opening ---- */

static bool is_inside(uint64_t at, uint64_t len, uint64_t size)
{
	return at <= size && len <= size - at;
}

static size_t blocks_of(uint64_t trigrams)
{
	return (trigrams + FW_TRIGRAM_BLOCK - 1) / FW_TRIGRAM_BLOCK;
}

/* True: all parts are inside the file, and aligned as the reader expects. */
static bool read_header(const struct fw_trigram_header *header, uint64_t size,
			struct fw_trigram *index)
{
	uint64_t most = size / sizeof(struct fw_trigram_file);

	if (memcmp(header->magic, FW_TRIGRAM_MAGIC, sizeof header->magic) != 0 ||
	    header->version != FW_TRIGRAM_VERSION ||
	    header->byte_order != FW_TRIGRAM_BYTE_ORDER || header->size != size ||
	    header->file_count > most || header->file_count >= UINT32_MAX ||
	    header->trigram_count > size || header->heads_at % 8 ||
	    !is_inside(sizeof *header, header->file_count * sizeof(struct fw_trigram_file),
		       size) ||
	    !is_inside(header->paths_at, header->paths_len, size) ||
	    !is_inside(header->postings_at, header->postings_len, size) ||
	    !is_inside(header->entries_at, header->entries_len, size) ||
	    !is_inside(header->heads_at,
		       blocks_of(header->trigram_count) * sizeof(struct fw_trigram_head), size))
		return false;
	index->count = header->file_count;
	index->files = (const void *)(index->bytes + sizeof *header);
	index->paths = index->bytes + header->paths_at;
	index->paths_len = header->paths_len;
	index->postings = (const unsigned char *)index->bytes + header->postings_at;
	index->postings_len = header->postings_len;
	index->heads = (const void *)(index->bytes + header->heads_at);
	index->entries = (const unsigned char *)index->bytes + header->entries_at;
	index->entries_len = header->entries_len;
	index->trigrams = header->trigram_count;
	index->identity = header->identity;
	/* The last path ends with a NUL, so every path ends inside the area. */
	return !header->paths_len || !index->paths[header->paths_len - 1];
}

static bool has_sum(const struct fw_trigram *index)
{
	struct fw_trigram_header header;
	uint64_t sum, expected;

	memcpy(&header, index->bytes, sizeof header);
	expected = header.sum;
	header.sum = 0;
	sum = fw_trigram__sum(0, index->bytes + sizeof header, index->size - sizeof header);
	return fw_trigram__sum(sum, &header, sizeof header) == expected;
}

bool fw_trigram_use(const char *bytes, size_t size, bool checks_sum,
		    struct fw_trigram *ret_index)
{
	struct fw_trigram index = { .bytes = bytes, .size = size };

	if (size < sizeof(struct fw_trigram_header) ||
	    !read_header((const void *)bytes, size, &index) || (checks_sum && !has_sum(&index)))
		return false;
	*ret_index = index;
	return true;
}

bool fw_trigram_open(const char *path, bool checks_sum, struct fw_trigram *ret_index)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	void *at = MAP_FAILED;
	struct stat st;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_size >= (off_t)sizeof(struct fw_trigram_header))
		at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	(void)close(fd);
	if (at == MAP_FAILED)
		return false;
	if (!fw_trigram_use(at, (size_t)st.st_size, checks_sum, ret_index)) {
		(void)munmap(at, (size_t)st.st_size);
		return false;
	}
	ret_index->changed_ns =
		st.st_ctim.tv_sec * INT64_C(1000000000) + (int64_t)st.st_ctim.tv_nsec;
	return true;
}

void fw_trigram_close(struct fw_trigram *index)
{
	if (index->bytes)
		(void)munmap((void *)index->bytes, index->size);
	*index = (struct fw_trigram){ .bytes = NULL };
}

/* ---- files ---- */

const char *fw_trigram_path(const struct fw_trigram *index, size_t file)
{
	uint32_t at = file < index->count ? index->files[file].path_at : UINT32_MAX;

	return at < index->paths_len ? index->paths + at : "";
}

size_t fw_trigram_place(const struct fw_trigram *index, const char *path)
{
	size_t low = 0, high = index->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(fw_trigram_path(index, middle), path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t fw_trigram_find(const struct fw_trigram *index, const char *path)
{
	size_t at = fw_trigram_place(index, path);

	return at < index->count && strcmp(fw_trigram_path(index, at), path) == 0 ? at
										  : SIZE_MAX;
}

/* ---- the directory ---- */

/* Decodes a number with seven bits per byte. 0 at the end. */
static inline uint32_t take_number(const unsigned char **at, const unsigned char *end)
{
	uint32_t value = 0;

	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): the first entry sets it */
	if (*at < end && **at < 0x80)
		return *(*at)++;
	for (unsigned i = 0; i < VARINT_MAX && *at < end; i++) {
		unsigned char c = *(*at)++;

		value |= (uint32_t)(c & 0x7f) << (7 * i);
		if (!(c & 0x80))
			break;
	}
	return value;
}

static inline void advance(const struct fw_trigram *index, struct fw_trigram_entry *entry)
{
	const unsigned char *end = index->entries + index->entries_len;

	if (entry->number >= index->trigrams) {
		entry->trigram = FW_TRIGRAM_NONE;
		return;
	}
	if (entry->number % FW_TRIGRAM_BLOCK == 0) {
		const struct fw_trigram_head *head =
			&index->heads[entry->number / FW_TRIGRAM_BLOCK];

		entry->trigram = head->trigram;
		entry->at = head->entries_at <= index->entries_len
				    ? index->entries + head->entries_at
				    : end;
		entry->to = head->postings_at;
	} else {
		entry->trigram += take_number(&entry->at, end);
	}
	entry->number++;
	entry->from = entry->to;
	entry->to += take_number(&entry->at, end);
}

void fw_trigram__advance(const struct fw_trigram *index, struct fw_trigram_entry *entry)
{
	advance(index, entry);
}

struct fw_trigram_span fw_trigram__span(const struct fw_trigram *index,
					const struct fw_trigram_entry *entry)
{
	if (entry->from > entry->to || entry->to > index->postings_len)
		return (struct fw_trigram_span){ index->postings, 0 };
	return (struct fw_trigram_span){ index->postings + entry->from,
					 entry->to - entry->from };
}

void fw_trigram__seek(const struct fw_trigram *index, uint32_t trigram,
		      struct fw_trigram_entry *ret_entry)
{
	struct fw_trigram_entry entry = { .number = 0 };
	size_t low = 0, high = blocks_of(index->trigrams);

	/* Find the last block that does not begin after the trigram. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (index->heads[middle].trigram <= trigram)
			low = middle + 1;
		else
			high = middle;
	}
	entry.number = low ? (low - 1) * FW_TRIGRAM_BLOCK : 0;
	do
		advance(index, &entry);
	while (entry.trigram < trigram);
	*ret_entry = entry;
}

static bool find_list(const struct fw_trigram *index, uint32_t trigram,
		      struct fw_trigram_span *ret_span)
{
	struct fw_trigram_entry entry;

	fw_trigram__seek(index, trigram, &entry);
	if (entry.trigram != trigram)
		return false;
	*ret_span = fw_trigram__span(index, &entry);
	return true;
}

/* ---- selecting ---- */

static void set_bit(const struct fw_trigram *index, uint64_t *bits, uint32_t file)
{
	if (file < index->count)
		bits[file / 64] |= UINT64_C(1) << (file % 64);
}

static void select_list(const struct fw_trigram *index, uint32_t key, uint64_t *bits)
{
	struct fw_trigram_span span;
	struct fw_trigram_list list;
	uint32_t file;

	if (!find_list(index, key, &span))
		return;
	fw_trigram__begin(&list, span);
	while (fw_trigram__next(&list, &file))
		set_bit(index, bits, file);
}

static void select_all(const struct fw_trigram *index, uint64_t *bits)
{
	for (size_t i = 0; i < index->count; i++)
		if (!(index->files[i].flags & FW_TRIGRAM_NEVER))
			set_bit(index, bits, (uint32_t)i);
}

static int by_length(const void *a, const void *b)
{
	const struct fw_trigram_span *left = a, *right = b;

	return left->len < right->len ? -1 : left->len > right->len;
}

/* Finds the lists of a text, the shortest first. False: one of them is empty. */
static bool find_lists(const struct fw_trigram *index, const struct fw_literal *literal,
		       struct fw_trigram_span lists[LISTS_MAX], size_t *ret_count)
{
	size_t count = 0;

	for (size_t i = 0; i + 3 <= literal->len; i++) {
		uint32_t trigram = 0;

		if (memchr(literal->text + i, '\n', 3))
			continue;
		for (size_t j = 0; j < 3; j++)
			trigram = trigram << 8 |
				  fw_trigram__fold((unsigned char)literal->text[i + j]);
		if (!find_list(index, trigram, &lists[count]))
			return false;
		count++;
	}
	qsort(lists, count, sizeof *lists, by_length);
	*ret_count = count;
	return true;
}

/* Removes the files that are not in the list. */
static size_t intersect(uint32_t *files, size_t count, struct fw_trigram_span span)
{
	struct fw_trigram_list list;
	size_t kept = 0;
	uint32_t file;
	bool has_file;

	if (fw_trigram__is_bitmap(span)) {
		for (size_t i = 0; i < count; i++)
			if (fw_trigram__has(span, files[i]))
				files[kept++] = files[i];
		return kept;
	}
	if (span.len > count * BYTES_PER_FILE)
		return count;
	fw_trigram__begin(&list, span);
	has_file = fw_trigram__next(&list, &file);
	for (size_t i = 0; i < count && has_file; i++) {
		while (has_file && file < files[i])
			has_file = fw_trigram__next(&list, &file);
		if (has_file && file == files[i])
			files[kept++] = file;
	}
	return kept;
}

/* The bits of the 64 files from 64 * word on. */
static uint64_t take_word(struct fw_trigram_span span, size_t word)
{
	unsigned char bytes[9] = { 0 };
	uint64_t bits;

	if (8 * word < span.len)
		memcpy(bytes, span.bytes + 8 * word,
		       span.len - 8 * word < sizeof bytes ? span.len - 8 * word : sizeof bytes);
	memcpy(&bits, bytes, sizeof bits);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	bits = __builtin_bswap64(bits);
#endif
	return bits >> FW_TRIGRAM_WIDTH_BITS | (uint64_t)bytes[8]
						       << (64 - FW_TRIGRAM_WIDTH_BITS);
}

/* If even the shortest list is a bitmap, intersects all bitmaps, word by word. */
static void select_bitmaps(const struct fw_trigram *index, const struct fw_trigram_span *lists,
			   size_t count, uint64_t *bits)
{
	for (size_t i = 0; 64 * i < index->count; i++) {
		size_t left = index->count - 64 * i;
		uint64_t word = left < 64 ? (UINT64_C(1) << left) - 1 : UINT64_MAX;

		for (size_t j = 0; j < count && word; j++)
			if (fw_trigram__is_bitmap(lists[j]))
				word &= take_word(lists[j], i);
		bits[i] |= word;
	}
}

static size_t take_all(struct fw_trigram_span span, uint32_t *files, size_t most)
{
	struct fw_trigram_list list;
	size_t count = 0;

	fw_trigram__begin(&list, span);
	while (count < most && fw_trigram__next(&list, &files[count]))
		count++;
	return count;
}

/* `files` has room for all files of the index. */
static void select_text(const struct fw_trigram *index, const struct fw_literal *literal,
			uint32_t *files, uint64_t *bits)
{
	struct fw_trigram_span lists[LISTS_MAX];
	size_t count, lists_count;

	if (!find_lists(index, literal, lists, &lists_count))
		return;
	if (!lists_count) {
		select_all(index, bits);
		return;
	}
	if (fw_trigram__is_bitmap(lists[0])) {
		select_bitmaps(index, lists, lists_count, bits);
		return;
	}
	count = take_all(lists[0], files, index->count);
	for (size_t i = 1; i < lists_count; i++)
		count = intersect(files, count, lists[i]);
	for (size_t i = 0; i < count; i++)
		set_bit(index, bits, files[i]);
}

/* Removes the files that cannot contain `literal`. If there is no memory, all stay. */
static void narrow(const struct fw_trigram *index, const struct fw_literal *literal,
		   uint32_t *files, uint64_t *bits)
{
	size_t words = index->count / 64 + 1;
	uint64_t *others = fw__allocate(words * sizeof *others);

	if (!others)
		return;
	memset(others, 0, words * sizeof *others);
	select_text(index, literal, files, others);
	for (size_t i = 0; i < (index->count + 63) / 64; i++)
		bits[i] &= others[i];
	fw__release(others);
}

bool fw_trigram_select(const struct fw_trigram *index, const struct fw_literals *literals,
		       uint64_t *bits)
{
	uint32_t *files;

	for (size_t i = 0; i < literals->count; i++)
		if (literals->list[i].len < 3) {
			select_all(index, bits);
			return true;
		}
	if (!literals->count) {
		select_all(index, bits);
		return true;
	}
	files = fw__allocate(index->count * sizeof *files + 1);
	if (!files)
		return false;
	for (size_t i = 0; i < literals->count; i++)
		select_text(index, &literals->list[i], files, bits);
	if (literals->also.len >= 3)
		narrow(index, &literals->also, files, bits);
	select_list(index, FW_TRIGRAM_KEY_ALWAYS, bits);
	fw__release(files);
	return true;
}
