/*
 * trigram_write.c - writes an index by merging the runs of trigram_build.c and an older
 * index.
 *
 * The file is renamed to its final name when it is complete. It is not synced: if the
 * machine crashes and the file is damaged, its checksum does not match and it is made
 * again.
 */
#include "tools/code/trigram_build_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "tools/common/path.h"

enum { WRITER_BYTES = 1024 * 1024, PATH_ROOM = FW_PATH_SIZE + 64 };
#define NOT_KEPT UINT32_MAX

/* ---- a writer ---- */

struct fw_trigram_writer {
	int fd;
	uint64_t at; /* offset of the buffer in the file */
	uint64_t sum;
	size_t len;
	bool has_failed;
	char buffer[WRITER_BYTES];
};

int fw_trigram__create(const char *path)
{
	return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

struct fw_trigram_writer *fw_trigram__writer_new(int fd, uint64_t at)
{
	struct fw_trigram_writer *writer = fw__allocate(sizeof *writer);

	if (!writer)
		return NULL;
	writer->fd = fd;
	writer->at = at;
	writer->sum = 0;
	writer->len = 0;
	writer->has_failed = false;
	return writer;
}

static bool write_all(int fd, const char *bytes, size_t len, uint64_t at)
{
	while (len) {
		ssize_t wrote = pwrite(fd, bytes, len, (off_t)at);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return false;
		bytes += wrote;
		len -= (size_t)wrote;
		at += (uint64_t)wrote;
	}
	return true;
}

static void flush(struct fw_trigram_writer *writer)
{
	writer->sum = fw_trigram__sum(writer->sum, writer->buffer, writer->len);
	if (!writer->has_failed &&
	    !write_all(writer->fd, writer->buffer, writer->len, writer->at))
		writer->has_failed = true;
	writer->at += writer->len;
	writer->len = 0;
}

void fw_trigram__write(struct fw_trigram_writer *writer, const void *bytes, size_t len)
{
	const char *from = bytes;

	while (len) {
		size_t part = sizeof writer->buffer - writer->len;

		if (part > len)
			part = len;
		memcpy(writer->buffer + writer->len, from, part);
		writer->len += part;
		from += part;
		len -= part;
		if (writer->len == sizeof writer->buffer)
			flush(writer);
	}
}

uint64_t fw_trigram__position(const struct fw_trigram_writer *writer)
{
	return writer->at + writer->len;
}

bool fw_trigram__writer_end(struct fw_trigram_writer *writer, uint64_t *ret_at,
			    uint64_t *ret_sum)
{
	bool is_written;

	flush(writer);
	is_written = !writer->has_failed;
	*ret_at = writer->at;
	if (ret_sum)
		*ret_sum = writer->sum;
	fw__release(writer);
	return is_written;
}

static void align(struct fw_trigram_writer *writer)
{
	static const char zeros[8];

	fw_trigram__write(writer, zeros, (8 - fw_trigram__position(writer) % 8) % 8);
}

/* ---- merging ---- */

struct cursor {
	const unsigned char *at;
	const unsigned char *end;
};

/* An entry of the directory. */
struct entry {
	uint32_t trigram;
	uint32_t at;
};

struct merge {
	struct fw_trigram_build *build;
	const struct fw_trigram_source *files;
	size_t count;
	struct fw_trigram_writer *writer;
	struct cursor runs[FW_TRIGRAM_RUNS];
	struct fw_trigram_entry old; /* the next one of the older index */
	uint32_t *renamed; /* maps numbers of the older index to new ones, or NOT_KEPT */
	uint32_t *kept;    /* files of one trigram that come from the older index */
	uint32_t *added;   /* those that come from the runs */
	uint32_t *merged;  /* both, merged */
	unsigned char *list;
	struct entry *directory;
	struct fw_trigram_head *heads;
	size_t entries;
	size_t room;
	uint64_t postings_at;
	bool has_failed;
};

static uint32_t trigram_at(const struct cursor *run)
{
	uint32_t trigram = FW_TRIGRAM_KEY_ALWAYS;

	if (run->at < run->end)
		memcpy(&trigram, run->at, sizeof trigram);
	return trigram;
}

static uint32_t next_trigram(const struct merge *m)
{
	uint32_t least = FW_TRIGRAM_KEY_ALWAYS;

	if (m->old.trigram < least)
		least = m->old.trigram;
	for (size_t i = 0; i < m->build->run_count; i++)
		if (trigram_at(&m->runs[i]) < least)
			least = trigram_at(&m->runs[i]);
	return least;
}

static size_t take_old(struct merge *m, uint32_t trigram)
{
	const struct fw_trigram *old = m->build->options.old;
	struct fw_trigram_list list;
	size_t count = 0;
	uint32_t file;

	if (!old || m->old.trigram != trigram)
		return 0;
	fw_trigram__begin(&list, fw_trigram__span(old, &m->old));
	fw_trigram__advance(old, &m->old);
	while (count < old->count && fw_trigram__next(&list, &file))
		if (file < old->count && m->renamed[file] != NOT_KEPT)
			m->kept[count++] = m->renamed[file];
	return count;
}

static size_t take_runs(struct merge *m, uint32_t trigram)
{
	size_t count = 0;

	for (size_t i = 0; i < m->build->run_count; i++) {
		struct cursor *run = &m->runs[i];
		struct fw_trigram_list list;
		uint32_t file, len;

		if (trigram_at(run) != trigram)
			continue;
		/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): runs are mapped */
		memcpy(&len, run->at + sizeof len, sizeof len);
		run->at += 2 * sizeof len;
		fw_trigram__begin(&list, (struct fw_trigram_span){ run->at, len });
		while (count < m->count && fw_trigram__next(&list, &file))
			m->added[count++] = file;
		run->at += len;
	}
	return count;
}

static void add_entry(struct merge *m, uint32_t trigram)
{
	uint64_t at = fw_trigram__position(m->writer) - m->postings_at;

	if (m->entries == m->room) {
		size_t room = m->room ? 2 * m->room : 65536;
		struct entry *more = fw__reallocate(m->directory, room * sizeof *more);

		if (!more) {
			m->has_failed = true;
			return;
		}
		m->directory = more;
		m->room = room;
	}
	if (at > UINT32_MAX)
		m->has_failed = true;
	m->directory[m->entries++] = (struct entry){ trigram, (uint32_t)at };
}

/* Both lists ascend, and have no file in common. */
static void put_list(struct merge *m, uint32_t trigram, size_t kept, size_t added)
{
	size_t i = 0, j = 0, at = 0;

	if (!kept && !added)
		return;
	add_entry(m, trigram);
	while (i < kept || j < added) {
		bool is_kept = j == added || (i < kept && m->kept[i] < m->added[j]);

		m->merged[at++] = is_kept ? m->kept[i++] : m->added[j++];
	}
	fw_trigram__write(m->writer, m->list,
			  fw_trigram__put(m->list, m->merged, kept + added));
}

static void put_postings(struct merge *m)
{
	size_t always = 0;
	uint32_t trigram;

	m->postings_at = fw_trigram__position(m->writer);
	while (!m->has_failed && (trigram = next_trigram(m)) < FW_TRIGRAM_KEY_ALWAYS) {
		size_t kept = take_old(m, trigram);

		put_list(m, trigram, kept, take_runs(m, trigram));
	}
	for (size_t i = 0; i < m->count; i++)
		if (m->files[i].facts.flags & FW_TRIGRAM_ALWAYS)
			m->added[always++] = (uint32_t)i;
	put_list(m, FW_TRIGRAM_KEY_ALWAYS, 0, always);
}

/* ---- the directory ---- */

static void put_number(struct fw_trigram_writer *writer, uint32_t value)
{
	unsigned char bytes[5];
	size_t len = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[len++] = (unsigned char)(value | 0x80);
	bytes[len++] = (unsigned char)value;
	fw_trigram__write(writer, bytes, len);
}

static void put_entries(struct merge *m, struct fw_trigram_header *header)
{
	header->entries_at = fw_trigram__position(m->writer);
	for (size_t i = 0; i < header->trigram_count; i++) {
		const struct entry *entry = &m->directory[i];
		uint64_t at = fw_trigram__position(m->writer) - header->entries_at;

		if (i % FW_TRIGRAM_BLOCK)
			put_number(m->writer, entry->trigram - entry[-1].trigram);
		else
			m->heads[i / FW_TRIGRAM_BLOCK] =
				(struct fw_trigram_head){ entry->trigram, (uint32_t)at,
							  entry->at };
		put_number(m->writer, entry[1].at - entry->at);
	}
	header->entries_len = fw_trigram__position(m->writer) - header->entries_at;
	align(m->writer);
}

static void put_directory(struct merge *m, struct fw_trigram_header *header)
{
	size_t blocks;

	header->trigram_count = m->entries;
	add_entry(m, FW_TRIGRAM_NONE); /* where the last list ends */
	blocks = header->trigram_count / FW_TRIGRAM_BLOCK + 1;
	m->heads = fw__allocate(blocks * sizeof *m->heads);
	if (!m->heads)
		m->has_failed = true;
	if (m->has_failed)
		return;
	put_entries(m, header);
	header->heads_at = fw_trigram__position(m->writer);
	if (header->trigram_count % FW_TRIGRAM_BLOCK == 0)
		blocks--;
	fw_trigram__write(m->writer, m->heads, blocks * sizeof *m->heads);
}

/* ---- the files ---- */

static void put_files(struct merge *m, struct fw_trigram_header *header)
{
	uint64_t at = 0;

	for (size_t i = 0; i < m->count; i++) {
		struct fw_trigram_file facts = m->files[i].facts;

		facts.path_at = (uint32_t)at;
		facts.path_len = (uint16_t)m->files[i].path_len;
		fw_trigram__write(m->writer, &facts, sizeof facts);
		at += m->files[i].path_len + 1;
	}
	m->has_failed = m->has_failed || at > UINT32_MAX;
	header->paths_at = fw_trigram__position(m->writer);
	header->paths_len = at;
	for (size_t i = 0; i < m->count; i++)
		fw_trigram__write(m->writer, m->files[i].path, m->files[i].path_len + 1);
	align(m->writer);
}

/* ---- all of it ---- */

static bool put_all(struct merge *m, int fd)
{
	struct fw_trigram_header header = { .magic = FW_TRIGRAM_MAGIC,
					    .version = FW_TRIGRAM_VERSION,
					    .byte_order = FW_TRIGRAM_BYTE_ORDER,
					    .identity = m->build->options.identity,
					    .file_count = m->count };
	bool is_written;
	uint64_t sum;

	m->writer = fw_trigram__writer_new(fd, sizeof header);
	if (!m->writer)
		return false;
	put_files(m, &header);
	put_postings(m);
	header.postings_at = m->postings_at;
	header.postings_len = fw_trigram__position(m->writer) - m->postings_at;
	put_directory(m, &header);
	is_written = fw_trigram__writer_end(m->writer, &header.size, &sum);
	header.sum = fw_trigram__sum(sum, &header, sizeof header);
	return is_written && !m->has_failed &&
	       write_all(fd, (const char *)&header, sizeof header, 0);
}

static bool allocate(struct merge *m)
{
	const struct fw_trigram *old = m->build->options.old;
	size_t old_count = old ? old->count : 0;

	m->renamed = fw__allocate((old_count + 1) * sizeof *m->renamed);
	m->kept = fw__allocate((old_count + 1) * sizeof *m->kept);
	m->added = fw__allocate((m->count + 1) * sizeof *m->added);
	m->merged = fw__allocate((m->count + old_count + 1) * sizeof *m->merged);
	m->list = fw__allocate(FW_TRIGRAM_LIST_ROOM(m->count + old_count));
	if (!m->renamed || !m->kept || !m->added || !m->merged || !m->list)
		return false;
	m->old.trigram = FW_TRIGRAM_NONE;
	if (old)
		fw_trigram__advance(old, &m->old);
	memset(m->renamed, 0xff, (old_count + 1) * sizeof *m->renamed);
	for (size_t i = 0; i < m->count; i++)
		if (m->files[i].old < old_count)
			m->renamed[m->files[i].old] = (uint32_t)i;
	return true;
}

static void release(struct merge *m)
{
	fw__release(m->renamed);
	fw__release(m->kept);
	fw__release(m->added);
	fw__release(m->merged);
	fw__release(m->list);
	fw__release(m->directory);
	fw__release(m->heads);
	fw__release(m);
}

/* Maps the runs; `*ret_map` is NULL if there are none. */
static bool open_runs(struct merge *m, char **ret_map)
{
	const struct fw_trigram_build *build = m->build;
	void *map;

	*ret_map = NULL;
	if (!build->run_count)
		return true;
	map = mmap(NULL, build->runs_len, PROT_READ, MAP_PRIVATE, build->runs_fd, 0);
	if (map == MAP_FAILED)
		return false;
	*ret_map = map;
	for (size_t i = 0; i < build->run_count; i++) {
		uint64_t end =
			i + 1 < build->run_count ? build->run_starts[i + 1] : build->runs_len;

		m->runs[i] = (struct cursor){ (unsigned char *)*ret_map + build->run_starts[i],
					      (unsigned char *)*ret_map + end };
	}
	return true;
}

static bool write_file(struct merge *m, const char *name)
{
	char path[PATH_ROOM], final[PATH_ROOM];
	bool is_written;
	int fd;

	(void)snprintf(path, sizeof path, "%s/index.tmp", m->build->options.directory);
	(void)snprintf(final, sizeof final, "%s/%s", m->build->options.directory, name);
	(void)unlink(path);
	fd = fw_trigram__create(path);
	if (fd < 0)
		return false;
	is_written = put_all(m, fd);
	(void)close(fd);
	if (is_written && rename(path, final) == 0)
		return true;
	(void)unlink(path);
	return false;
}

bool fw_trigram_build_write(struct fw_trigram_build *build,
			    const struct fw_trigram_source *files, size_t count,
			    const char *name)
{
	struct merge *m;
	bool is_written = false;
	char *map = NULL;

	if (!fw_trigram__flush(build))
		return false;
	m = fw__allocate(sizeof *m);
	if (!m)
		return false;
	*m = (struct merge){ .build = build, .files = files, .count = count };
	if (allocate(m) && open_runs(m, &map))
		is_written = write_file(m, name);
	if (map)
		(void)munmap(map, build->runs_len);
	release(m);
	return is_written;
}
