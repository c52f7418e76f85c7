/*
 * trigram.c - see trigram.h.
 *
 * Postings are the differences of ascending file numbers, seven bits per byte. Of a text the
 * shortest lists are intersected first, and lists are left out once few files are left: to
 * read a file costs less than to decode a long list.
 */
#include "tools/code/trigram.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

enum { LISTS_MAX = FW_LITERAL_BYTES, FEW_FILES = 8, VARINT_MAX = 5 };

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

/* Are all parts inside the file, and as the reader expects them? */
static bool read_header(const struct fw_trigram_header *header, uint64_t size,
			struct fw_trigram *index)
{
	uint64_t most = size / sizeof(struct fw_trigram_file);

	if (memcmp(header->magic, FW_TRIGRAM_MAGIC, sizeof header->magic) != 0 ||
	    header->version != FW_TRIGRAM_VERSION ||
	    header->byte_order != FW_TRIGRAM_BYTE_ORDER || header->size != size ||
	    header->file_count > most || header->file_count >= UINT32_MAX ||
	    header->trigram_count >= size / sizeof(struct fw_trigram_entry) ||
	    header->directory_at % 8 ||
	    !is_inside(sizeof *header, header->file_count * sizeof(struct fw_trigram_file),
		       size) ||
	    !is_inside(header->paths_at, header->paths_len, size) ||
	    !is_inside(header->postings_at, header->postings_len, size) ||
	    !is_inside(header->directory_at,
		       (header->trigram_count + 1) * sizeof(struct fw_trigram_entry), size))
		return false;
	index->count = header->file_count;
	index->files = (const void *)(index->bytes + sizeof *header);
	index->paths = index->bytes + header->paths_at;
	index->paths_len = header->paths_len;
	index->postings = (const unsigned char *)index->bytes + header->postings_at;
	index->postings_len = header->postings_len;
	index->directory = (const void *)(index->bytes + header->directory_at);
	index->trigrams = header->trigram_count;
	index->identity = header->identity;
	/* Every path in it then ends before its end. */
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

static bool check(struct fw_trigram *index, bool checks_sum)
{
	const struct fw_trigram_header *header = (const void *)index->bytes;

	return index->size >= sizeof *header && read_header(header, index->size, index) &&
	       (!checks_sum || has_sum(index));
}

bool fw_trigram_open(const char *path, bool checks_sum, struct fw_trigram *ret_index)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct fw_trigram index = { .bytes = NULL };
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
	index.bytes = at;
	index.size = (size_t)st.st_size;
	if (!check(&index, checks_sum)) {
		fw_trigram_close(&index);
		return false;
	}
	*ret_index = index;
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

/* ---- postings ---- */

bool fw_trigram__next(const unsigned char **at, const unsigned char *end, uint32_t *last)
{
	uint32_t step = 0;

	for (unsigned i = 0; i < VARINT_MAX && *at < end; i++) {
		unsigned char c = *(*at)++;

		step |= (uint32_t)(c & 0x7f) << (7 * i);
		if (c & 0x80)
			continue;
		/* Differences are at least 1; anything else is damage. */
		if (!step || (*last != UINT32_MAX && step > UINT32_MAX - 1 - *last))
			return false;
		*last += step;
		return true;
	}
	return false;
}

void fw_trigram__postings(const struct fw_trigram *index, size_t i,
			  const unsigned char **ret_at, const unsigned char **ret_end)
{
	uint32_t from = index->directory[i].at, to = index->directory[i + 1].at;
	bool is_valid = from <= to && to <= index->postings_len;

	*ret_at = index->postings + (is_valid ? from : 0);
	*ret_end = index->postings + (is_valid ? to : 0);
}

struct list {
	const unsigned char *at;
	const unsigned char *end;
};

static bool find_list(const struct fw_trigram *index, uint32_t trigram, struct list *ret_list)
{
	size_t low = 0, high = index->trigrams;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (index->directory[middle].trigram < trigram)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == index->trigrams || index->directory[low].trigram != trigram)
		return false;
	fw_trigram__postings(index, low, &ret_list->at, &ret_list->end);
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
	uint32_t file = UINT32_MAX;
	struct list list;

	if (!find_list(index, key, &list))
		return;
	while (fw_trigram__next(&list.at, list.end, &file))
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
	const struct list *left = a, *right = b;
	ptrdiff_t difference = (left->end - left->at) - (right->end - right->at);

	return difference < 0 ? -1 : difference > 0;
}

/* The lists of a text, shortest first. False: one has no files. */
static bool find_lists(const struct fw_trigram *index, const struct fw_literal *literal,
		       struct list lists[LISTS_MAX], size_t *ret_count)
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

/* Keeps the files that are also in the list. */
static size_t intersect(uint32_t *files, size_t count, struct list list)
{
	uint32_t file = UINT32_MAX;
	bool has_file = fw_trigram__next(&list.at, list.end, &file);
	size_t kept = 0;

	for (size_t i = 0; i < count && has_file; i++) {
		while (has_file && file < files[i])
			has_file = fw_trigram__next(&list.at, list.end, &file);
		if (has_file && file == files[i])
			files[kept++] = file;
	}
	return kept;
}

/* `files` has room for all of them. */
static void select_text(const struct fw_trigram *index, const struct fw_literal *literal,
			uint32_t *files, uint64_t *bits)
{
	struct list lists[LISTS_MAX];
	uint32_t file = UINT32_MAX;
	size_t count = 0, lists_count;

	if (!find_lists(index, literal, lists, &lists_count))
		return;
	if (!lists_count) {
		select_all(index, bits);
		return;
	}
	while (count < index->count && fw_trigram__next(&lists[0].at, lists[0].end, &file))
		files[count++] = file;
	for (size_t i = 1; i < lists_count && count > FEW_FILES; i++)
		count = intersect(files, count, lists[i]);
	for (size_t i = 0; i < count; i++)
		set_bit(index, bits, files[i]);
}

/* Keeps the files that may contain `literal`. Without memory they all stay. */
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
