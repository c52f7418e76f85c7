/*
 * snapshot.c - see snapshot.h.
 */
#include "tools/code/semantic/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/code/semantic/snapshot_format.h"

static inline uint64_t mix(uint64_t sum, uint64_t word)
{
	sum = (sum ^ word) * 0x9fb21c651e98df25ull;
	return sum ^ sum >> 35;
}

uint64_t fw_semantic_checksum(const void *bytes, size_t len)
{
	const unsigned char *at = bytes;
	uint64_t sums[4] = { 1, 2, 3, 4 };
	uint64_t words[4] = { 0 };
	uint64_t sum = len;

	for (; len >= sizeof words; at += sizeof words, len -= sizeof words) {
		memcpy(words, at, sizeof words);
		for (int i = 0; i < 4; i++)
			sums[i] = mix(sums[i], words[i]);
	}
	memset(words, 0, sizeof words);
	memcpy(words, at, len);
	for (int i = 0; i < 4; i++)
		sum = mix(mix(sum, sums[i]), words[i]);
	return sum;
}

/* ---- checks ---- */

/* The part of the file; false if it is not inside, or not a multiple of `unit`. */
static bool section(const struct fw_semantic_snapshot *snapshot, size_t which, size_t unit,
		    const void **ret_bytes, size_t *ret_count)
{
	uint64_t offset = snapshot->head->sections[which].offset;
	uint64_t bytes = snapshot->head->sections[which].bytes;

	if (offset % FW_SEMANTIC_ALIGN || offset < sizeof *snapshot->head ||
	    offset > snapshot->bytes || bytes > snapshot->bytes - offset || bytes % unit)
		return false;
	*ret_bytes = (const char *)snapshot->head + offset;
	*ret_count = bytes / unit;
	return true;
}

static bool map_sections(struct fw_semantic_snapshot *s)
{
	size_t dims = s->head->dims ? s->head->dims : 1;
	size_t count, vectors, scales, basis;

	if (!section(s, FW_SEMANTIC_FILES, sizeof *s->files, (const void **)&s->files,
		     &s->file_count) ||
	    !section(s, FW_SEMANTIC_CHUNKS, sizeof *s->chunks, (const void **)&s->chunks,
		     &s->chunk_count) ||
	    !section(s, FW_SEMANTIC_COMMITS, sizeof *s->commits, (const void **)&s->commits,
		     &s->commit_count) ||
	    !section(s, FW_SEMANTIC_TOUCHES, 4, (const void **)&s->touches, &count) ||
	    !section(s, FW_SEMANTIC_STRINGS, 1, (const void **)&s->strings, &count) || !count ||
	    s->strings[count - 1] ||
	    !section(s, FW_SEMANTIC_BASIS_TERMS, sizeof *s->basis_terms,
		     (const void **)&s->basis_terms, &s->basis_count) ||
	    !section(s, FW_SEMANTIC_BASIS, dims, (const void **)&s->basis, &basis) ||
	    !section(s, FW_SEMANTIC_BASIS_SCALES, 4, (const void **)&s->basis_scales,
		     &scales) ||
	    basis != s->basis_count || scales != s->basis_count ||
	    !section(s, FW_SEMANTIC_VECTORS, dims, (const void **)&s->vectors, &vectors) ||
	    !section(s, FW_SEMANTIC_VECTOR_SCALES, 4, (const void **)&s->vector_scales,
		     &scales))
		return false;
	return s->head->dims <= FW_SEMANTIC_DIMS_MAX &&
	       (!s->head->dims || (vectors == s->chunk_count && scales == s->chunk_count));
}

static bool map_fields(struct fw_semantic_snapshot *s)
{
	for (size_t i = 0; i < FW_SEMANTIC_FIELD_COUNT; i++)
		if (!section(s, FW_SEMANTIC_TERMS + i, sizeof *s->fields[i].terms,
			     (const void **)&s->fields[i].terms, &s->fields[i].count) ||
		    !section(s, FW_SEMANTIC_POSTINGS + i, 1,
			     (const void **)&s->fields[i].postings, &s->fields[i].bytes))
			return false;
	return true;
}

/* The checksum says that the bytes are those that were written; this, that they make sense. */
static bool is_sound(const struct fw_semantic_snapshot *s)
{
	uint64_t strings = s->head->sections[FW_SEMANTIC_STRINGS].bytes;
	uint64_t touches = s->head->sections[FW_SEMANTIC_TOUCHES].bytes / 4;

	for (size_t i = 0; i < s->file_count; i++)
		if (s->files[i].path >= strings || s->files[i].first_chunk > s->chunk_count ||
		    s->files[i].chunk_count > s->chunk_count - s->files[i].first_chunk)
			return false;
	for (size_t i = 0; i < s->chunk_count; i++)
		if (s->chunks[i].file >= s->file_count || s->chunks[i].symbol >= strings)
			return false;
	for (size_t i = 0; i < s->commit_count; i++)
		if (s->commits[i].subject >= strings || s->commits[i].sha >= strings ||
		    s->commits[i].first_touch > touches ||
		    s->commits[i].touch_count > touches - s->commits[i].first_touch)
			return false;
	for (size_t i = 0; i < touches; i++)
		if (s->touches[i] >= s->file_count)
			return false;
	for (size_t i = 0; i < FW_SEMANTIC_FIELD_COUNT; i++)
		for (size_t j = 0; j < s->fields[i].count; j++)
			if (s->fields[i].terms[j].offset > s->fields[i].bytes)
				return false;
	return true;
}

static enum fw_semantic_fault check(struct fw_semantic_snapshot *s)
{
	struct fw_semantic_head head;

	if (s->bytes < sizeof head)
		return FW_SEMANTIC_CORRUPT;
	memcpy(&head, s->head, sizeof head);
	if (memcmp(head.magic, FW_SEMANTIC_MAGIC, sizeof head.magic) != 0)
		return FW_SEMANTIC_CORRUPT;
	if (head.version != FW_SEMANTIC_VERSION)
		return FW_SEMANTIC_OTHER_VERSION;
	head.head_checksum = 0;
	if (head.file_bytes != s->bytes ||
	    fw_semantic_checksum(&head, sizeof head) != s->head->head_checksum ||
	    fw_semantic_checksum(s->head + 1, s->bytes - sizeof head) != head.checksum)
		return FW_SEMANTIC_CORRUPT;
	return map_sections(s) && map_fields(s) && is_sound(s) ? FW_SEMANTIC_OK
							       : FW_SEMANTIC_CORRUPT;
}

enum fw_semantic_fault fw_semantic_snapshot_open(int dir, const char *name,
						 struct fw_semantic_snapshot *ret_snapshot)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	enum fw_semantic_fault fault;
	struct stat st;
	void *map;

	if (fd < 0)
		return errno == ENOENT ? FW_SEMANTIC_ABSENT : FW_SEMANTIC_UNREADABLE;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0) {
		(void)close(fd);
		return FW_SEMANTIC_CORRUPT;
	}
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	(void)close(fd);
	if (map == MAP_FAILED)
		return FW_SEMANTIC_UNREADABLE;
	*ret_snapshot =
		(struct fw_semantic_snapshot){ .head = map, .bytes = (size_t)st.st_size };
	fault = check(ret_snapshot);
	if (fault)
		fw_semantic_snapshot_close(ret_snapshot);
	return fault;
}

void fw_semantic_snapshot_close(struct fw_semantic_snapshot *snapshot)
{
	if (snapshot->head)
		(void)munmap((void *)snapshot->head, snapshot->bytes);
	*snapshot = (struct fw_semantic_snapshot){ .head = NULL };
}

/* ---- terms ---- */

const struct fw_semantic_term_row *fw_semantic_snapshot_term(
	const struct fw_semantic_snapshot *snapshot, enum fw_semantic_field field,
	uint32_t hash)
{
	const struct fw_semantic_term_row *terms = snapshot->fields[field].terms;
	size_t from = 0, to = snapshot->fields[field].count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (terms[middle].hash == hash)
			return &terms[middle];
		if (terms[middle].hash < hash)
			from = middle + 1;
		else
			to = middle;
	}
	return NULL;
}

void fw_semantic_cursor_init(struct fw_semantic_cursor *cursor,
			     const struct fw_semantic_snapshot *snapshot,
			     enum fw_semantic_field field,
			     const struct fw_semantic_term_row *term)
{
	*cursor = (struct fw_semantic_cursor){
		.at = snapshot->fields[field].postings + term->offset,
		.end = snapshot->fields[field].postings + snapshot->fields[field].bytes,
		.left = term->count,
	};
}
