/*
 * trigram_test.c - tests the index of search_text: it names every file that has the text,
 * an updated index equals a new one, and damage is detected.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "tools/common/test_support.h"

#include <fcntl.h>

#include "tools/code/board.h"
#include "tools/code/changes.h"
#include "tools/code/trigram_build.h"

enum { FILES = 60, TEXT = 400, ROUNDS = 60, TREES = 15 };

static uint32_t seed = 1;

static uint32_t pick(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

/* ---- lists ---- */

enum { LIST = 3000 };

/* Makes ascending numbers, at most `most` apart. Some are consecutive. */
static size_t make_list(uint32_t *files, uint32_t most)
{
	size_t count = 1 + pick(pick(2) ? 8 : LIST);
	uint64_t at = pick(most);

	for (size_t i = 0; i < count; i++) {
		if (at >= UINT32_MAX)
			return i;
		files[i] = (uint32_t)at;
		at += pick(4) ? 1 + pick(most) : 1;
	}
	return count;
}

/* Checks that the list has exactly these numbers, by reading it and by looking up each. */
static void check_list(const uint32_t *files, size_t count, struct fw_trigram_span span)
{
	struct fw_trigram_list list;
	uint32_t file = 0, next = 0;

	fw_trigram__begin(&list, span);
	for (size_t i = 0; i < count; i++) {
		assert_true(fw_trigram__next(&list, &file));
		assert_int_equal(file, files[i]);
		if (!fw_trigram__is_bitmap(span))
			continue;
		for (; next < file; next++)
			assert_false(fw_trigram__has(span, next));
		assert_true(fw_trigram__has(span, next++));
	}
	assert_false(fw_trigram__next(&list, &file));
	if (fw_trigram__is_bitmap(span))
		for (int i = 0; i < 20; i++)
			assert_false(fw_trigram__has(span, next++));
}

/* In an allocation of its own, so that reading outside of it is detected. */
static void check_damaged(const unsigned char *bytes, size_t len)
{
	unsigned char *copy = malloc(len + !len);
	struct fw_trigram_list list;
	uint64_t after = 0;
	uint32_t file;

	memcpy(copy, bytes, len);
	for (unsigned i = 0; len && i < 3; i++)
		copy[pick((uint32_t)len)] ^= (unsigned char)(1 + pick(255));
	fw_trigram__begin(&list, (struct fw_trigram_span){ copy, len });
	while (fw_trigram__next(&list, &file)) {
		assert_true(file >= after);
		after = (uint64_t)file + 1;
	}
	free(copy);
}

static void test_list__is_read_back_and_damage_stays_inside(void **state)
{
	static uint32_t files[LIST + 1];
	static unsigned char bytes[FW_TRIGRAM_LIST_ROOM(LIST + 1)];
	size_t bitmaps = 0;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		size_t count = make_list(files, UINT32_C(1) << pick(24));
		struct fw_trigram_span span = { bytes, fw_trigram__put(bytes, files, count) };

		assert_true(span.len <= FW_TRIGRAM_LIST_ROOM(count));
		bitmaps += fw_trigram__is_bitmap(span);
		check_list(files, count, span);
		check_damaged(bytes, pick((uint32_t)span.len + 1));
	}
	assert_true(bitmaps > 100 && bitmaps < 1900);
	files[0] = UINT32_MAX - 1;
	check_list(files, 1,
		   (struct fw_trigram_span){ bytes, fw_trigram__put(bytes, files, 1) });
	assert_int_equal(fw_trigram__put(bytes, files, 0), 0);
	check_list(files, 0, (struct fw_trigram_span){ bytes, 0 });
}

/* ---- a small tree in memory ---- */

struct tree {
	char text[FILES][TEXT];
	size_t len[FILES];
	char path[FILES][16];
	struct fw_trigram_source sources[FILES];
	size_t count;
};

static void make_text(struct tree *tree, size_t i)
{
	static const char letters[] = "abcABC_ \n.(\xc3\xa4k";

	tree->len[i] = pick(10) ? pick(TEXT) : 0;
	for (size_t j = 0; j < tree->len[i]; j++)
		tree->text[i][j] = letters[pick(sizeof letters - 1)];
	if (tree->len[i] && !pick(8))
		tree->text[i][pick((uint32_t)tree->len[i])] = '\0';
}

static void make_tree(struct tree *tree)
{
	tree->count = FILES;
	for (size_t i = 0; i < FILES; i++) {
		make_text(tree, i);
		(void)snprintf(tree->path[i], sizeof tree->path[i], "d%zu/f%02zu", i / 10, i);
		tree->sources[i] =
			(struct fw_trigram_source){ .path = tree->path[i],
						    .path_len = (uint32_t)strlen(tree->path[i]),
						    .old = FW_TRIGRAM_NEW };
	}
}

static bool build(struct tree *tree, const struct fw_trigram *old, size_t pairs,
		  const char *name)
{
	const struct fw_trigram_build_options options = { .directory = scratch,
							  .old = old,
							  .identity = 7,
							  .limit_bytes = UINT32_MAX,
							  .pairs = pairs };
	struct fw_trigram_build *build = fw_trigram_build_new(&options);
	bool is_built;

	if (!build)
		return false;
	for (size_t i = 0; i < tree->count; i++)
		if (tree->sources[i].old == FW_TRIGRAM_NEW)
			tree->sources[i].facts.flags = (uint16_t)fw_trigram_build_add(
				build, (uint32_t)i, tree->text[i], tree->len[i]);
	is_built = fw_trigram_build_write(build, tree->sources, tree->count, name);
	fw_trigram_build_free(build);
	return is_built;
}

static void open_index(const char *name, struct fw_trigram *ret_index)
{
	char path[128];

	(void)snprintf(path, sizeof path, "%s/%s", scratch, name);
	assert_true(fw_trigram_open(path, true, ret_index));
}

static bool contains(const struct tree *tree, size_t i, const struct fw_literal *literal)
{
	for (size_t at = 0; at + literal->len <= tree->len[i]; at++) {
		size_t j = 0;

		while (j < literal->len &&
		       fw_trigram__fold((unsigned char)tree->text[i][at + j]) ==
			       fw_trigram__fold((unsigned char)literal->text[j]))
			j++;
		if (j == literal->len)
			return true;
	}
	return false;
}

static void make_literals(const struct tree *tree, struct fw_literals *literals)
{
	*literals = (struct fw_literals){ .count = 1 + pick(3) };
	for (size_t i = 0; i < literals->count; i++) {
		size_t from = pick(FILES), len = 3 + pick(6);
		size_t at = tree->len[from] > len ? pick((uint32_t)(tree->len[from] - len)) : 0;

		if (tree->len[from] < at + len || memchr(tree->text[from] + at, '\0', len))
			len = 0;
		literals->list[i].len = len ? len : 3;
		memcpy(literals->list[i].text, len ? tree->text[from] + at : "zzz",
		       literals->list[i].len);
	}
}

static uint64_t selected(const struct fw_trigram *index, const struct fw_literals *literals)
{
	uint64_t bits[2] = { 0 };

	assert_true(fw_trigram_select(index, literals, bits));
	return bits[0];
}

static void check_queries(const struct tree *tree, const struct fw_trigram *index)
{
	for (int query = 0; query < 200; query++) {
		struct fw_literals literals;
		uint64_t bits;

		make_literals(tree, &literals);
		bits = selected(index, &literals);
		for (size_t i = 0; i < tree->count; i++) {
			bool is_binary = memchr(tree->text[i], '\0', tree->len[i]) != NULL;

			if (is_binary)
				assert_false(bits >> i & 1);
			for (size_t j = 0; !is_binary && j < literals.count; j++)
				if (!memchr(literals.list[j].text, '\n',
					    literals.list[j].len) &&
				    contains(tree, i, &literals.list[j]))
					assert_true(bits >> i & 1);
		}
	}
}

static void test_index__names_every_file_with_the_text(void **state)
{
	struct tree *tree = malloc(sizeof *tree);
	struct fw_trigram index;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		make_tree(tree);
		assert_true(build(tree, NULL, round % 2 ? 0 : 500, "a.tri"));
		open_index("a.tri", &index);
		assert_int_equal(index.count, FILES);
		assert_string_equal(fw_trigram_path(&index, 11), "d1/f11");
		assert_int_equal(fw_trigram_find(&index, "d1/f11"), 11);
		assert_int_equal(fw_trigram_find(&index, "d1/f1"), SIZE_MAX);
		check_queries(tree, &index);
		fw_trigram_close(&index);
	}
	free(tree);
}

/* Changes some files, removes some and adds some; keeps the others from the old index. */
static void change_tree(const struct tree *from, struct tree *to)
{
	to->count = 0;
	for (size_t i = 0; i < from->count; i++) {
		size_t at = to->count;

		if (!pick(6))
			continue;
		memcpy(to->path[at], from->path[i], sizeof to->path[at]);
		memcpy(to->text[at], from->text[i], TEXT);
		to->len[at] = from->len[i];
		to->sources[at] = from->sources[i];
		to->sources[at].path = to->path[at];
		to->sources[at].old = (uint32_t)i;
		if (!pick(4)) {
			make_text(to, at);
			to->sources[at].old = FW_TRIGRAM_NEW;
		}
		to->count++;
	}
}

static void test_index__an_update_equals_a_new_one(void **state)
{
	struct tree *before = calloc(1, sizeof *before), *after = calloc(1, sizeof *after);
	struct fw_trigram old, updated, made;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		make_tree(before);
		assert_true(build(before, NULL, 500, "old.tri"));
		open_index("old.tri", &old);
		change_tree(before, after);
		assert_true(build(after, &old, 300, "updated.tri"));
		for (size_t i = 0; i < after->count; i++)
			after->sources[i].old = FW_TRIGRAM_NEW;
		assert_true(build(after, NULL, 0, "made.tri"));
		open_index("updated.tri", &updated);
		open_index("made.tri", &made);
		assert_int_equal(updated.size, made.size);
		assert_memory_equal(updated.bytes, made.bytes, made.size);
		check_queries(after, &updated);
		fw_trigram_close(&old);
		fw_trigram_close(&updated);
		fw_trigram_close(&made);
	}
	free(before);
	free(after);
}

/* ---- expressions ---- */

/* Checks that the index names every file that PCRE2 matches. */
static void check_property(const char *pattern, const char *text)
{
	bool folds = pick(2) != 0;
	struct fw_literals literals;
	struct tree *tree = calloc(1, sizeof *tree);
	struct fw_trigram index;
	pcre2_match_data *data;
	pcre2_code *code;
	size_t at;
	int error;

	code = pcre2_compile((PCRE2_SPTR)pattern, strlen(pattern),
			     PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF |
				     (folds ? PCRE2_CASELESS : 0),
			     &error, &at, NULL);
	if (code) {
		data = pcre2_match_data_create(1, NULL);
		if (pcre2_match(code, (PCRE2_SPTR)text, strlen(text), 0, 0, data, NULL) >= 0 &&
		    text[0]) {
			make_tree(tree);
			tree->count = 3;
			tree->len[1] = strlen(text);
			memcpy(tree->text[1], text, tree->len[1]);
			assert_true(build(tree, NULL, 2000, "p.tri"));
			open_index("p.tri", &index);
			fw_literals_of_regex(pattern, strlen(pattern), folds, &literals);
			if (!(selected(&index, &literals) >> 1 & 1))
				fail_msg("%s matches %s, which is not named", pattern, text);
			fw_trigram_close(&index);
		}
		pcre2_match_data_free(data);
		pcre2_code_free(code);
	}
	free(tree);
}

static void test_index__names_what_an_expression_matches(void **state)
{
	static const char *const parts[] = { "abc",  "Abk",   "task", "(foo|bar)", "b+",
					     "(",    ")",     "|",    "x?",        "[a-c]",
					     "\\w+", ".*",    "{2}",  "ss",        "\xc3\xa4hn",
					     "\\.",  "(?i)",  "^",    "(?:",       "KEY",
					     "$",    "\\bfoo" };
	static const char *const words[] = { "abc",
					     "ABK",
					     "ta\xc5\xbfk",
					     "foo",
					     "bar",
					     "b",
					     "x",
					     "ab",
					     "ss",
					     "SS",
					     "\xc3\xa4hn",
					     ".",
					     "\xc3\x84hn",
					     "key",
					     "\xe2\x84\xaa"
					     "ey" };

	(void)state;
	for (int round = 0; round < 5000; round++) {
		char pattern[128] = "", text[128] = "";

		for (uint32_t i = pick(5) + 1; i > 0; i--)
			strncat(pattern, parts[pick(sizeof parts / sizeof *parts)], 16);
		for (uint32_t i = pick(8); i > 0; i--)
			strncat(text, words[pick(sizeof words / sizeof *words)], 8);
		check_property(pattern, text);
	}
}

/* ---- runs ---- */

static pcre2_code *compile(const char *pattern, bool folds)
{
	size_t at;
	int error;

	return pcre2_compile((PCRE2_SPTR)pattern, strlen(pattern),
			     PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF |
				     (folds ? PCRE2_CASELESS : 0),
			     &error, &at, NULL);
}

/* Matches line by line, as a search does. */
static bool matches(const pcre2_code *code, const char *text, size_t len)
{
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	const char *end = text + len;
	bool is_match = false;

	while (text < end && !is_match) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *to = newline ? newline : end;

		is_match = pcre2_match(code, (PCRE2_SPTR)text, (size_t)(to - text), 0, 0, data,
				       NULL) >= 0;
		text = to + 1;
	}
	pcre2_match_data_free(data);
	return is_match;
}

/* Checks the files that are named for an expression. Returns how many are not named. */
static size_t check_runs(const struct tree *tree, const struct fw_trigram *index,
			 const char *pattern, bool folds)
{
	pcre2_code *code = compile(pattern, folds);
	struct fw_literals literals;
	struct fw_byte_runs runs;
	uint64_t bits[2] = { 0 };
	size_t left_out = 0;

	if (!code)
		return 0;
	fw_literals_of_regex(pattern, strlen(pattern), folds, &literals);
	fw_byte_runs_of_regex(pattern, strlen(pattern), folds, &runs);
	assert_true(fw_trigram_select(index, &literals, bits));
	if (runs.count)
		fw_trigram_narrow(index, &runs, bits);
	for (size_t i = 0; i < tree->count; i++)
		if (bits[i / 64] >> (i % 64) & 1)
			continue;
		else if (matches(code, tree->text[i], tree->len[i]))
			fail_msg("%s matches %.*s, which is not named", pattern,
				 (int)tree->len[i], tree->text[i]);
		else
			left_out++;
	pcre2_code_free(code);
	return left_out;
}

/* Makes a tree of files with short lines of `words`. */
static void make_words(struct tree *tree, const char *const *words, size_t count)
{
	make_tree(tree);
	for (size_t i = 0; i < FILES; i++) {
		char text[TEXT] = "";

		for (uint32_t j = pick(i % 4 ? 8 : 40) + 1; j > 0; j--)
			strncat(text, words[pick((uint32_t)count)], 16);
		tree->len[i] = strlen(text);
		memcpy(tree->text[i], text, tree->len[i]);
	}
}

static void test_index__names_what_runs_match(void **state)
{
	static const char *const parts[] = {
		"[0-9]", "[0-9]", "\\d",      "\\d", "[a-c]",    "[a-c]",    "[k-s]",
		"k",     "s",     "\\.",      "+",   "{2}",      "{2,}",     "?",
		"a",     "1",     "\xc3\xa4", "|",   "[a-z1-3]", "[a-z1-3]", "(1|a)",
		"(",     ")",     "[^a]",     ".",   "^",        "$",        "[[:digit:]]",
	};
	static const char *const words[] = { "1",
					     "2",
					     "3",
					     "a",
					     "b",
					     "C",
					     "k",
					     "K",
					     ".",
					     "\n",
					     "\n",
					     "S",
					     "\xd9\xa3",
					     "\xe0\xa5\xa9",
					     "\xf0\x9d\x9f\x97",
					     "\xc5\xbf",
					     "\xe2\x84\xaa",
					     "\xc3\xa4",
					     "12",
					     "ab",
					     " " };
	struct tree *tree = malloc(sizeof *tree);
	struct fw_trigram index;
	size_t left_out = 0;

	(void)state;
	for (int round = 0; round < TREES; round++) {
		make_words(tree, words, sizeof words / sizeof *words);
		assert_true(build(tree, NULL, 0, "r.tri"));
		open_index("r.tri", &index);
		for (int i = 0; i < 1000; i++) {
			char pattern[128] = "";

			for (uint32_t j = pick(6) + 2; j > 0; j--)
				strncat(pattern, parts[pick(sizeof parts / sizeof *parts)], 16);
			left_out += check_runs(tree, &index, pattern, pick(2) != 0);
		}
		fw_trigram_close(&index);
	}
	assert_true(left_out > 100000);
	free(tree);
}

/* Writes a code point in UTF-8. */
static void put_character(char *text, uint32_t c)
{
	char bytes[5] = { 0 };

	if (c < 0x800) {
		bytes[0] = (char)(0xc0 | c >> 6);
		bytes[1] = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		bytes[0] = (char)(0xe0 | c >> 12);
		bytes[1] = (char)(0x80 | (c >> 6 & 0x3f));
		bytes[2] = (char)(0x80 | (c & 0x3f));
	} else {
		bytes[0] = (char)(0xf0 | c >> 18);
		bytes[1] = (char)(0x80 | (c >> 12 & 0x3f));
		bytes[2] = (char)(0x80 | (c >> 6 & 0x3f));
		bytes[3] = (char)(0x80 | (c & 0x3f));
	}
	strncat(text, bytes, 16);
}

/* Makes files in which each of some characters replaces an ASCII one, at the start, in
 * the middle and at the end of a line. */
static void check_characters(struct tree *tree, const uint32_t *characters, size_t count,
			     const char *pattern, const char *ascii, size_t place)
{
	struct fw_trigram index;

	make_tree(tree);
	for (size_t i = 0; i < FILES; i++) {
		char text[TEXT] = "";

		for (size_t j = 0; i < count && j < 3; j++)
			if (j == place)
				put_character(text, characters[i]);
			else
				strncat(text, ascii, 16);
		tree->len[i] = strlen(text);
		memcpy(tree->text[i], text, tree->len[i]);
	}
	assert_true(build(tree, NULL, 0, "c.tri"));
	open_index("c.tri", &index);
	(void)check_runs(tree, &index, pattern, true);
	fw_trigram_close(&index);
}

static void check_all_characters(const char *one, const char *pattern, const char *ascii,
				 size_t least)
{
	struct tree *tree = malloc(sizeof *tree);
	pcre2_code *code = compile(one, true);
	uint32_t characters[FILES];
	size_t count = 0, all = 0;

	for (uint32_t c = 0x80; c <= 0x10ffff; c++) {
		char text[5] = "";

		put_character(text, c);
		if ((c < 0xd800 || c > 0xdfff) && matches(code, text, strlen(text)))
			characters[count++] = c;
		if (count < FILES && c < 0x10ffff)
			continue;
		for (size_t place = 0; place < 3; place++)
			check_characters(tree, characters, count, pattern, ascii, place);
		all += count;
		count = 0;
	}
	assert_true(all >= least);
	pcre2_code_free(code);
	free(tree);
}

/* Checks that the tables of trigram_runs.c and byte_runs.c are complete for this PCRE2's
 * Unicode version. */
static void test_index__names_files_with_characters_beyond_ascii(void **state)
{
	(void)state;
	check_all_characters("^\\d$", "\\d{3}", "1", 650);
	check_all_characters("^[a-z]$", "[a-h][a-h][a-h]|[i-p][i-p][i-p]|[q-z][q-z][q-z]", "k",
			     2);
	check_all_characters("^[[:digit:]]$", "[[:digit:]]{3}", "7", 650);
}

/* ---- damage ---- */

static void use_damaged(const char *path)
{
	struct fw_literals literals = { .count = 2, .list = { { "abc", 3 }, { "c_ .", 4 } } };
	const char *pattern = "[abc]{2}[a-z_]|c\\d{2}.*[abk]{3,}";
	struct fw_byte_runs runs;
	struct fw_trigram index;
	uint64_t *bits;

	if (!fw_trigram_open(path, false, &index))
		return;
	fw_byte_runs_of_regex(pattern, strlen(pattern), true, &runs);
	assert_int_equal(runs.count, 2);
	bits = calloc(index.count / 64 + 1, sizeof *bits);
	(void)fw_trigram_select(&index, &literals, bits);
	memset(bits, 0xff, index.count / 64 * sizeof *bits);
	fw_trigram_narrow(&index, &runs, bits);
	for (size_t i = 0; i <= index.count; i++)
		assert_true(strlen(fw_trigram_path(&index, i)) <= index.paths_len);
	(void)fw_trigram_find(&index, "d1/f11");
	free(bits);
	fw_trigram_close(&index);
}

static void test_index__damage_is_noticed_and_does_no_harm(void **state)
{
	struct tree *tree = malloc(sizeof *tree);
	char path[128];
	struct stat st;
	int fd;

	(void)state;
	make_tree(tree);
	assert_true(build(tree, NULL, 0, "d.tri"));
	(void)snprintf(path, sizeof path, "%s/d.tri", scratch);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	for (int round = 0; round < 4000; round++) {
		off_t at = round < 1000 ? round % (int)sizeof(struct fw_trigram_header)
					: (off_t)pick((uint32_t)st.st_size);
		struct fw_trigram index;
		unsigned char was, is;

		assert_int_equal(pread(fd, &was, 1, at), 1);
		is = (unsigned char)(was ^ (1 + pick(255)));
		assert_int_equal(pwrite(fd, &is, 1, at), 1);
		assert_false(fw_trigram_open(path, true, &index));
		use_damaged(path);
		assert_int_equal(pwrite(fd, &was, 1, at), 1);
	}
	for (off_t size = st.st_size - 1; size > 0; size -= 1 + size / 10) {
		struct fw_trigram index;

		assert_int_equal(ftruncate(fd, size), 0);
		assert_false(fw_trigram_open(path, false, &index));
	}
	(void)close(fd);
	free(tree);
}

static void build_once(void)
{
	static struct tree tree;
	struct fw_literals literals = { .count = 1, .list = { { "abc", 3 } } };
	struct fw_trigram index;
	uint64_t bits[2] = { 0 };
	char path[128];

	seed = 5;
	make_tree(&tree);
	if (!build(&tree, NULL, 500, "m.tri"))
		return;
	(void)snprintf(path, sizeof path, "%s/m.tri", scratch);
	assert_true(fw_trigram_open(path, true, &index));
	(void)fw_trigram_select(&index, &literals, bits);
	fw_trigram_close(&index);
}

static void test_index__each_allocation_fails(void **state)
{
	(void)state;
	each_allocation_fails(build_once);
}

/* ---- changes and the board ---- */

static bool is_even(void *ctx, struct fw_change *change)
{
	(void)ctx;
	return change->event % 2 == 0;
}

static void changes_once(void)
{
	struct fw_changes changes = { .list = NULL };
	char text[64];

	for (uint64_t i = 0; i < 200; i++) {
		const struct fw_change change = { .event = i, .is_checked = true };
		char path[16];

		(void)snprintf(path, sizeof path, "p%02u", (unsigned)(i * 7 % 100));
		(void)fw_changes_put(&changes, path, &change);
	}
	fw_changes_drop(&changes, is_even, NULL);
	(void)fw_changes_write(&changes, text, sizeof text);
	fw_changes_clear(&changes);
}

static void test_changes__are_sorted_and_written(void **state)
{
	struct fw_changes changes = { .list = NULL };
	const struct fw_change new = { .event = 1, .is_checked = true };
	const struct fw_change gone = { .event = 2, .is_gone = true, .is_checked = true };
	const struct fw_change doubtful = { .event = 3 };
	char text[64];

	(void)state;
	assert_true(fw_changes_put(&changes, "b", &new));
	assert_true(fw_changes_put(&changes, "a", &gone));
	assert_true(fw_changes_put(&changes, "c", &doubtful));
	assert_int_equal(fw_changes_write(&changes, text, sizeof text), 6);
	assert_memory_equal(text, "-a\0+b\0", 6);
	assert_true(fw_changes_put(&changes, "b", &doubtful));
	assert_int_equal(fw_changes_find(&changes, "b")->event, 3);
	assert_true(fw_changes_find(&changes, "b")->is_checked);
	assert_true(fw_changes_put(&changes, "a", &doubtful));
	assert_true(fw_changes_find(&changes, "a")->is_gone);
	assert_true(fw_changes_put(&changes, "a", &new));
	assert_false(fw_changes_find(&changes, "a")->is_gone);
	assert_null(fw_changes_find(&changes, "d"));
	assert_true(fw_changes_write(&changes, text, 5) > 5);
	fw_changes_clear(&changes);
	each_allocation_fails(changes_once);
}

static void test_board__shows_what_was_published(void **state)
{
	struct fw_board_facts facts = { .state = FW_BOARD_READY,
					.changes = 3,
					.generation = 9 };
	char directory[128], *texts = malloc(FW_BOARD_CHANGES_BYTES);
	struct fw_board *keeper, *reader;
	struct fw_board_facts seen;

	(void)state;
	(void)snprintf(directory, sizeof directory, "%s/board", scratch);
	assert_null(fw_board_open(directory, false));
	assert_true(fw_board_create(directory));
	keeper = fw_board_open(directory, true);
	reader = fw_board_open(directory, false);
	assert_non_null(keeper);
	assert_non_null(reader);
	assert_false(fw_board_read(reader, &seen, texts));
	fw_board_publish(keeper, &facts, "+a");
	assert_true(fw_board_read(reader, &seen, texts));
	assert_int_equal(seen.generation, 9);
	assert_string_equal(texts, "+a");
	/* There is no keeper, so the wait times out. */
	assert_false(fw_board_ring(reader));
	assert_int_equal(fw_board_rings(keeper), 1);
	fw_board_answer(keeper, 2);
	assert_true(fw_board_ring(reader));
	assert_string_equal(fw_board_state_name(seen.state), "ready");
	fw_board_close(keeper);
	fw_board_close(reader);
	free(texts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list__is_read_back_and_damage_stays_inside),
		cmocka_unit_test(test_index__names_every_file_with_the_text),
		cmocka_unit_test(test_index__an_update_equals_a_new_one),
		cmocka_unit_test(test_index__names_what_an_expression_matches),
		cmocka_unit_test(test_index__names_what_runs_match),
		cmocka_unit_test(test_index__names_files_with_characters_beyond_ascii),
		cmocka_unit_test(test_index__damage_is_noticed_and_does_no_harm),
		cmocka_unit_test(test_index__each_allocation_fails),
		cmocka_unit_test(test_changes__are_sorted_and_written),
		cmocka_unit_test(test_board__shows_what_was_published),
	};

	test_support_uses_all();
	return cmocka_run_group_tests_name("code index", tests, scratch_make, scratch_drop);
}
