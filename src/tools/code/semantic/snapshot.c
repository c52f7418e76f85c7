/*
 * snapshot.c - see snapshot.h.
 */
#include "tools/code/semantic/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/code/semantic/bits.h"
#include "tools/code/semantic/snapshot_format.h"
#include "tools/code/semantic/vector.h"

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

/* A section of texts: each ends with NUL, the last one too. */
static bool text_section(const struct fw_semantic_snapshot *s, size_t which,
			 const char **ret_text, size_t *ret_bytes)
{
	return section(s, which, 1, (const void **)ret_text, ret_bytes) &&
	       (!*ret_bytes || !(*ret_text)[*ret_bytes - 1]);
}

static bool map_sections(struct fw_semantic_snapshot *s)
{
	size_t lengths, tables;

	return section(s, FW_SEMANTIC_FILES, sizeof *s->files, (const void **)&s->files,
		       &s->file_count) &&
	       section(s, FW_SEMANTIC_LINES, 1, (const void **)&s->lines, &s->chunk_count) &&
	       section(s, FW_SEMANTIC_LENGTHS, 1, (const void **)&s->lengths, &lengths) &&
	       text_section(s, FW_SEMANTIC_SYMBOLS, &s->symbols, &s->symbol_bytes) &&
	       section(s, FW_SEMANTIC_COMMITS, sizeof *s->commits, (const void **)&s->commits,
		       &s->commit_count) &&
	       section(s, FW_SEMANTIC_TOUCHES, 1, (const void **)&s->touches,
		       &s->touch_bytes) &&
	       text_section(s, FW_SEMANTIC_STRINGS, &s->strings, &s->string_bytes) &&
	       section(s, FW_SEMANTIC_TEXTS, sizeof *s->texts, (const void **)&s->texts,
		       &tables) &&
	       tables == 1 && lengths == s->chunk_count;
}

static bool map_space(struct fw_semantic_snapshot *s)
{
	size_t dims = s->head->dims, basis, vectors, factors;

	if (dims > FW_SEMANTIC_DIMS_MAX)
		return false;
	return section(s, FW_SEMANTIC_BASIS_TERMS, sizeof *s->basis_terms,
		       (const void **)&s->basis_terms, &s->basis_count) &&
	       section(s, FW_SEMANTIC_BASIS, 1, (const void **)&s->basis, &basis) &&
	       section(s, FW_SEMANTIC_VECTORS, 1, (const void **)&s->vectors, &vectors) &&
	       section(s, FW_SEMANTIC_FACTORS, 1, (const void **)&s->factors, &factors) &&
	       basis == s->basis_count * fw_semantic_nibble_bytes(dims) &&
	       vectors == factors * fw_semantic_nibble_bytes(dims) &&
	       factors == (dims ? s->chunk_count : 0);
}

static bool map_field(struct fw_semantic_snapshot *s, size_t field, size_t documents)
{
	const uint32_t *buckets;
	size_t count, bytes;

	if (!section(s, FW_SEMANTIC_BUCKETS + field, 4, (const void **)&buckets, &count) ||
	    !section(s, FW_SEMANTIC_LISTS + field, 1, (const void **)&s->fields[field].lists,
		     &bytes) ||
	    count < 2 || ((count - 1) & (count - 2)) || buckets[count - 1] != bytes)
		return false;
	for (size_t i = 0; i + 1 < count; i++)
		if (buckets[i] > buckets[i + 1])
			return false;
	s->fields[field].buckets = buckets;
	s->fields[field].count = count - 1;
	s->fields[field].bits = (unsigned)__builtin_ctzll(count - 1);
	s->fields[field].documents = (uint32_t)documents;
	return s->fields[field].bits < FW_SEMANTIC_KEY_BITS - 7;
}

static bool map_fields(struct fw_semantic_snapshot *s)
{
	return map_field(s, FW_SEMANTIC_BODY, s->chunk_count) &&
	       map_field(s, FW_SEMANTIC_PATH, s->file_count) &&
	       map_field(s, FW_SEMANTIC_HISTORY, s->file_count) &&
	       map_field(s, FW_SEMANTIC_COMMIT, s->commit_count);
}

/* The checksum says that the bytes are those that were written; this, that they make sense. */
static bool is_sound(const struct fw_semantic_snapshot *s)
{
	for (size_t i = 0; i < s->file_count; i++)
		if (s->files[i].path >= s->string_bytes ||
		    s->files[i].symbols > s->symbol_bytes ||
		    s->files[i].first_chunk > fw_semantic_chunks_end(s, i))
			return false;
	if (s->file_count ? s->files[0].first_chunk != 0 : s->chunk_count != 0)
		return false;
	for (size_t i = 0; i < s->commit_count; i++)
		if (s->commits[i].subject >= s->string_bytes ||
		    s->commits[i].first_touch > s->touch_bytes)
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
	return map_sections(s) && map_space(s) && map_fields(s) && is_sound(s)
		       ? FW_SEMANTIC_OK
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

/* ---- chunks and commits ---- */

uint8_t fw_semantic_length_code(uint32_t length)
{
	long code = lrintf(16 * log2f(1 + (float)length));

	return (uint8_t)(code < 255 ? code : 255);
}

float fw_semantic_length_of(uint8_t code)
{
	return exp2f((float)code / 16) - 1;
}

void fw_semantic_snapshot_spot(const struct fw_semantic_snapshot *snapshot, uint32_t file,
			       uint32_t chunk, struct fw_semantic_spot *ret_spot)
{
	const struct fw_semantic_file_row *row = &snapshot->files[file];
	const char *at = snapshot->symbols + row->symbols, *symbol = at;
	const char *end = snapshot->symbols + snapshot->symbol_bytes;

	ret_spot->start_line = 1;
	ret_spot->end_line = 0;
	for (uint32_t i = row->first_chunk; i <= chunk && i < snapshot->chunk_count; i++) {
		ret_spot->start_line = ret_spot->end_line + 1;
		ret_spot->end_line += snapshot->lines[i];
		if (at == end)
			continue;
		if (strcmp(at, FW_SEMANTIC_REPEATED) != 0)
			symbol = at;
		at += strlen(at) + 1;
	}
	(void)fw_semantic_texts_get(snapshot->texts, symbol, end, ret_spot->symbol,
				    sizeof ret_spot->symbol);
}

void fw_semantic_snapshot_text(const struct fw_semantic_snapshot *snapshot, uint32_t offset,
			       char *ret_text, size_t size)
{
	(void)fw_semantic_texts_get(snapshot->texts, snapshot->strings + offset,
				    snapshot->strings + snapshot->string_bytes, ret_text, size);
}

void fw_semantic_snapshot_touched(const struct fw_semantic_snapshot *snapshot, uint32_t commit,
				  bool (*each)(void *ctx, uint32_t file), void *ctx)
{
	const struct fw_semantic_commit_row *row = &snapshot->commits[commit];
	const unsigned char *at = snapshot->touches + row->first_touch;
	const unsigned char *end = snapshot->touches + snapshot->touch_bytes;
	uint32_t file = 0;

	for (size_t i = 0; i < row->touch_count; i++) {
		uint32_t step = 0;

		for (unsigned shift = 0; at < end && shift < 28; shift += 7) {
			step |= (uint32_t)(*at & 127) << shift;
			if (*at++ < 128)
				break;
		}
		file += step;
		if (file >= snapshot->file_count || !each(ctx, file))
			return;
	}
}

/* ---- terms ---- */

size_t fw_semantic_snapshot_find(const struct fw_semantic_snapshot *snapshot,
				 enum fw_semantic_field field, uint32_t hash,
				 uint32_t *ret_list, uint8_t *ret_classes)
{
	unsigned rest = FW_SEMANTIC_KEY_BITS - snapshot->fields[field].bits;
	uint32_t wanted = fw_semantic_key(hash) & ((1u << rest) - 1);
	uint32_t documents = snapshot->fields[field].documents;
	const uint32_t *bucket =
		snapshot->fields[field].buckets + (fw_semantic_key(hash) >> rest);
	struct fw_code_bits reader;

	fw_semantic_bits_init(&reader, snapshot->fields[field].lists + bucket[0],
			      bucket[1] - bucket[0]);
	/* What is left of the last byte is less than the rest of a key. */
	while (fw_semantic_bits_left(&reader) >= rest) {
		uint32_t found = fw_semantic_bits_take(&reader, rest);
		uint32_t count = fw_semantic_bits_take_number(&reader);

		if (found > wanted || !count || count > documents)
			return 0;
		fw_semantic_list_take(&reader, count, documents, ret_list, ret_classes);
		if (found == wanted)
			return count;
	}
	return 0;
}
