/*
 * fuzz_trigram.c - the index of search_text when its file is damaged: an input is what is
 * wrong in a good one. Two bytes are a place in the index and one is XORed there, any number
 * of times; the first byte cuts the end off, or has a new index made of the damaged one.
 *
 * Properties: nothing outside of the index is read; no file is named that it does not have; a
 * damaged index has another checksum; what is made from one is whole.
 */
#include "fuzz.h"

#include <unistd.h>

#include "tools/code/trigram_build.h"

enum { FILES = 40, TEXT = 300, NAME = 16, REBUILDS = 64, CUTS = 128, CHANGE = 3 };

static char directory[] = "/tmp/fuzz-trigram-XXXXXX";
static char names[FILES][NAME];
static char *good;
static size_t good_size;

static void drop_directory(void)
{
	char path[64];

	(void)snprintf(path, sizeof path, "%s/i", directory);
	(void)unlink(path);
	(void)rmdir(directory);
	free(good);
}

/* Makes an index of all files; every third is taken from the older index. */
static void make(const struct fw_trigram *old, struct fw_trigram *ret_index)
{
	struct fw_trigram_build_options options = {
		.directory = directory, .old = old, .limit_bytes = UINT32_MAX, .pairs = 3000
	};
	struct fw_trigram_source sources[FILES];
	struct fw_trigram_build *build = fw_trigram_build_new(&options);
	uint32_t seed = 1;
	char path[64];

	MUST(build);
	for (uint32_t i = 0; i < FILES; i++) {
		char text[TEXT];

		sources[i] =
			(struct fw_trigram_source){ .path = names[i],
						    .path_len = (uint32_t)strlen(names[i]),
						    .old = old && i % 3 == 0 ? i
									     : FW_TRIGRAM_NEW };
		for (size_t j = 0; j < sizeof text; j++) {
			seed = seed * 1664525 + 1013904223;
			text[j] = "abcdef_ (\n"[(seed >> 8) % 10];
		}
		if (sources[i].old == FW_TRIGRAM_NEW)
			sources[i].facts.flags = (uint16_t)fw_trigram_build_add(
				build, i, text, (seed >> 8) % sizeof text);
	}
	MUST(fw_trigram_build_write(build, sources, FILES, "i"));
	fw_trigram_build_free(build);
	(void)snprintf(path, sizeof path, "%s/i", directory);
	MUST(fw_trigram_open(path, true, ret_index));
}

static void make_good(void)
{
	struct fw_trigram index;

	if (good)
		return;
	MUST(mkdtemp(directory));
	(void)atexit(drop_directory);
	for (size_t i = 0; i < FILES; i++)
		(void)snprintf(names[i], sizeof names[i], "d%zu/f%02zu", i / 9, i);
	make(NULL, &index);
	good_size = index.size;
	good = malloc(good_size);
	MUST(good);
	memcpy(good, index.bytes, good_size);
	fw_trigram_close(&index);
}

static void search(const struct fw_trigram *index)
{
	static const char *const texts[] = { "abc", "cdef_ (", "fa_", "no such", "b\na" };
	static const char pattern[] = "[abc]{2}[a-z_]|f\\d{2}.*[a-fk]{3,}";
	size_t words = index->count / 64 + 1;
	struct fw_byte_runs runs;

	fw_byte_runs_of_regex(pattern, sizeof pattern - 1, true, &runs);
	MUST(runs.count == 2);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct fw_literals literals = { .count = 1 };
		uint64_t *bits = calloc(words, sizeof *bits);

		literals.list[0].len = strlen(texts[i]);
		memcpy(literals.list[0].text, texts[i], literals.list[0].len);
		literals.also = i % 2 ? literals.list[0] : literals.also;
		MUST(bits && fw_trigram_select(index, &literals, bits));
		MUST(!(bits[words - 1] >> (index->count % 64)));
		memset(bits, 0xff, (words - 1) * sizeof *bits);
		fw_trigram_narrow(index, &runs, bits);
		MUST(!(bits[words - 1] >> (index->count % 64)));
		free(bits);
	}
}

static void use(const struct fw_trigram *index)
{
	struct fw_trigram_entry entry = { .number = 0 };

	search(index);
	for (size_t i = 0; i <= index->count; i++)
		MUST(strlen(fw_trigram_path(index, i)) <= index->paths_len);
	(void)fw_trigram_find(index, "d2/f20");
	for (fw_trigram__advance(index, &entry); entry.trigram != FW_TRIGRAM_NONE;
	     fw_trigram__advance(index, &entry)) {
		struct fw_trigram_list list;
		uint32_t file, next = 0;

		MUST(entry.number <= index->trigrams);
		fw_trigram__begin(&list, fw_trigram__span(index, &entry));
		for (; fw_trigram__next(&list, &file); next = file + 1)
			MUST(file >= next);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fw_trigram index, again;
	size_t len, first;
	char *bytes;

	make_good();
	first = size ? data[0] : 0;
	len = first >= CUTS ? good_size * (first - CUTS) / CUTS : good_size;
	bytes = malloc(len + !len);
	MUST(bytes);
	memcpy(bytes, good, len);
	for (size_t i = 1; i + CHANGE <= size; i += CHANGE) {
		size_t at = (size_t)data[i] << 8 | data[i + 1];

		if (at < len)
			bytes[at] ^= (char)data[i + 2];
	}
	if (len != good_size || memcmp(bytes, good, len) != 0)
		MUST(!fw_trigram_use(bytes, len, true, &index));
	if (fw_trigram_use(bytes, len, false, &index)) {
		use(&index);
		if (first < REBUILDS) {
			make(&index, &again);
			use(&again);
			for (size_t i = 0; i < FILES; i++)
				MUST(strcmp(fw_trigram_path(&again, i), names[i]) == 0);
			fw_trigram_close(&again);
		}
	}
	free(bytes);
	return 0;
}
