/*
 * trigram_build.c - see trigram_build.h. This file collects trigrams; trigram_write.c
 * writes the index.
 *
 * Pairs of trigram and file are collected in the order of the files. When the memory for
 * them is full, they are sorted by trigram and written to a temporary file as a run. File
 * numbers ascend from run to run, so the lists of a trigram in all runs, in this order,
 * form one list.
 */
#include "tools/code/trigram_build_impl.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "tools/common/path.h"

enum {
	PAIRS = 3 * 1024 * 1024,
	TRIGRAMS = 1 << 24,
	RADIX_BITS = 12,
	RADIX = 1 << RADIX_BITS,
	/* Rough size of a pair in the postings in tenths of a byte, for the limit. */
	PAIR_TENTHS = 8,
};

struct fw_trigram_build *fw_trigram_build_new(const struct fw_trigram_build_options *options)
{
	struct fw_trigram_build *build = fw__allocate(sizeof *build);

	if (!build)
		return NULL;
	*build = (struct fw_trigram_build){ .options = *options, .runs_fd = -1 };
	build->room = options->pairs ? options->pairs : PAIRS;
	build->pairs = fw__allocate(build->room * sizeof *build->pairs);
	build->sorted = fw__allocate(build->room * sizeof *build->sorted);
	build->seen = fw__allocate(TRIGRAMS / 8);
	build->distinct = fw__allocate(FW_TRIGRAM_FILE_MOST * sizeof *build->distinct);
	if (!build->pairs || !build->sorted || !build->seen || !build->distinct) {
		fw_trigram_build_free(build);
		return NULL;
	}
	memset(build->seen, 0, TRIGRAMS / 8);
	return build;
}

void fw_trigram_build_free(struct fw_trigram_build *build)
{
	if (!build)
		return;
	if (build->runs_fd >= 0)
		(void)close(build->runs_fd);
	fw__release(build->pairs);
	fw__release(build->sorted);
	fw__release(build->seen);
	fw__release(build->distinct);
	fw__release(build);
}

/* ---- a run ---- */

/* Stable, so files stay in their order. */
static void sort_by(const uint64_t *from, uint64_t *to, size_t count, unsigned shift)
{
	size_t starts[RADIX] = { 0 };
	size_t at = 0;

	for (size_t i = 0; i < count; i++)
		starts[(from[i] >> shift) & (RADIX - 1)]++;
	for (size_t i = 0; i < RADIX; i++) {
		size_t here = starts[i];

		starts[i] = at;
		at += here;
	}
	for (size_t i = 0; i < count; i++)
		to[starts[(from[i] >> shift) & (RADIX - 1)]++] = from[i];
}

static bool open_runs(struct fw_trigram_build *build)
{
	char path[FW_PATH_SIZE + 32];

	if (build->runs_fd >= 0)
		return true;
	(void)snprintf(path, sizeof path, "%s/runs.tmp", build->options.directory);
	(void)unlink(path);
	build->runs_fd = fw_trigram__create(path);
	/* Remove the name at once, so that the file disappears when the process ends. */
	(void)unlink(path);
	return build->runs_fd >= 0;
}

/* Writes for each trigram: the trigram, the length of its list, and the list. The file
 * numbers of a list overwrite its pairs. */
static void write_run(struct fw_trigram_build *build, struct fw_trigram_writer *writer)
{
	const uint64_t *pairs = build->pairs;
	unsigned char *list = (unsigned char *)build->sorted; /* 8 bytes per pair: enough */

	for (size_t i = 0; i < build->count;) {
		uint32_t head[2] = { (uint32_t)(pairs[i] >> 32), 0 };
		unsigned char *files = (unsigned char *)&build->pairs[i];
		size_t count = 0;

		for (; i < build->count && pairs[i] >> 32 == head[0]; i++) {
			uint32_t file = (uint32_t)pairs[i];

			memcpy(files + count++ * sizeof file, &file, sizeof file);
		}
		head[1] = (uint32_t)fw_trigram__put(list, (const uint32_t *)files, count);
		fw_trigram__write(writer, head, sizeof head);
		fw_trigram__write(writer, list, head[1]);
	}
}

bool fw_trigram__flush(struct fw_trigram_build *build)
{
	struct fw_trigram_writer *writer;
	bool is_written;

	if (!build->count)
		return !build->has_failed;
	if (build->run_count == FW_TRIGRAM_RUNS || !open_runs(build)) {
		build->has_failed = true;
		return false;
	}
	sort_by(build->pairs, build->sorted, build->count, 32);
	sort_by(build->sorted, build->pairs, build->count, 32 + RADIX_BITS);
	writer = fw_trigram__writer_new(build->runs_fd, build->runs_len);
	if (!writer) {
		build->has_failed = true;
		return false;
	}
	build->run_starts[build->run_count++] = build->runs_len;
	write_run(build, writer);
	is_written = fw_trigram__writer_end(writer, &build->runs_len, NULL);
	build->has_failed = build->has_failed || !is_written;
	build->count = 0;
	return is_written;
}

/* ---- a file ---- */

/* Collects the distinct trigrams of a text. False: there are more than text has. */
static bool collect(struct fw_trigram_build *build, const char *text, size_t len)
{
	uint32_t trigram = 0;
	size_t have = 0; /* bytes since the last line feed */

	build->distinct_count = 0;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = fw_trigram__fold((unsigned char)text[i]);

		if (c == '\n') {
			have = 0;
			continue;
		}
		trigram = (trigram << 8 | c) & (TRIGRAMS - 1);
		if (++have < 3 || build->seen[trigram / 64] >> (trigram % 64) & 1)
			continue;
		if (build->distinct_count == FW_TRIGRAM_FILE_MOST)
			return false;
		build->seen[trigram / 64] |= UINT64_C(1) << (trigram % 64);
		build->distinct[build->distinct_count++] = trigram;
	}
	return true;
}

static void forget(struct fw_trigram_build *build)
{
	for (size_t i = 0; i < build->distinct_count; i++)
		build->seen[build->distinct[i] / 64] = 0;
}

static bool is_full(const struct fw_trigram_build *build)
{
	uint64_t old = build->options.old ? build->options.old->postings_len : 0;

	return old + (build->total + build->distinct_count) * PAIR_TENTHS / 10 >
	       build->options.limit_bytes;
}

unsigned fw_trigram_build_add(struct fw_trigram_build *build, uint32_t number, const char *text,
			      size_t len)
{
	unsigned flags = 0;

	if (!len || memchr(text, '\0', len))
		return FW_TRIGRAM_NEVER;
	if (len > FW_TRIGRAM_FILE_BYTES)
		return FW_TRIGRAM_ALWAYS;
	if (!collect(build, text, len) || is_full(build) || build->has_failed)
		flags = FW_TRIGRAM_ALWAYS;
	else if (build->room - build->count < build->distinct_count &&
		 (!fw_trigram__flush(build) || build->room < build->distinct_count))
		flags = FW_TRIGRAM_ALWAYS;
	for (size_t i = 0; !flags && i < build->distinct_count; i++)
		build->pairs[build->count++] = (uint64_t)build->distinct[i] << 32 | number;
	if (!flags)
		build->total += build->distinct_count;
	forget(build);
	return flags;
}
