/*
 * semantic_test.c - the parts of a semantic index: terms, vectors, the analysis, records,
 * and an index that is built, searched, damaged, and short of memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/memory.h"
#include "tools/code/semantic/corpus.h"
#include "tools/code/semantic/lsa.h"
#include "tools/code/semantic/rank.h"
#include "tools/code/semantic/record.h"
#include "tools/code/semantic/semantic.h"
#include "tools/code/semantic/snapshot_write.h"
#include "tools/code/semantic/space.h"
#include "tools/code/semantic/vector.h"

static uint32_t seed = 7;

static uint32_t pick(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

/* ---- terms ---- */

static void expect_terms(const char *text, const char *expected)
{
	struct fw_semantic_term terms[FW_SEMANTIC_LIMIT_QUERY_TERMS];
	char found[512] = "";
	size_t count = fw_semantic_query_terms(text, strlen(text), terms,
					       FW_SEMANTIC_LIMIT_QUERY_TERMS);

	for (size_t i = 0; i < count; i++)
		(void)snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s",
			       i ? " " : "", terms[i].text);
	assert_string_equal(found, expected);
}

static void test_terms__are_parts_of_identifiers(void **state)
{
	(void)state;
	expect_terms("parseHTTPHeader", "parse http header parsehttpheader");
	expect_terms("parse_http_header", "parse http header parsehttpheader");
	expect_terms("FW_LIMIT_MAX2 x", "fw limit max fwlimitmax2");
	expect_terms("the of a", "the of");
	expect_terms("the token of", "token");
	expect_terms("", "");
	expect_terms("grün größe", "grün größe");
}

static uint32_t only_term(const char *word)
{
	uint32_t terms[64];

	assert_int_equal(fw_semantic_terms(word, strlen(word), terms), 1);
	return terms[0];
}

static void test_terms__ignore_common_endings(void **state)
{
	(void)state;
	assert_int_equal(only_term("caching"), only_term("cache"));
	assert_int_equal(only_term("cached"), only_term("caches"));
	assert_int_equal(only_term("tokens"), only_term("TOKEN"));
	assert_int_equal(only_term("stopped"), only_term("stop"));
	assert_int_not_equal(only_term("string"), only_term("str"));
	assert_int_not_equal(only_term("class"), only_term("clas"));
}

/* ---- vectors ---- */

static void test_vectors__cosines_are_near_those_in_double(void **state)
{
	enum { N = 100, PADDED = 128, COUNT = 20 };
	unsigned char packed[COUNT * PADDED / 2];
	float query[N], vector[N], found[COUNT];
	int8_t bytes[N], packed_query[PADDED] = { 0 };
	uint8_t factors[COUNT];
	double expected[COUNT];
	float scale;

	(void)state;
	assert_int_equal(fw_semantic_nibble_bytes(N), PADDED / 2);
	for (size_t j = 0; j < N; j++)
		query[j] = (float)pick(2000) / 1000 - 1;
	for (size_t i = 0; i < COUNT; i++) {
		double dot = 0, a = 0, b = 0;

		for (size_t j = 0; j < N; j++) {
			vector[j] = (float)pick(2000) / 1000 - 1 + (i % 3 ? 0 : query[j]);
			dot += (double)vector[j] * (double)query[j];
			a += (double)query[j] * (double)query[j];
			b += (double)vector[j] * (double)vector[j];
		}
		expected[i] = dot / sqrt(a * b);
		(void)fw_semantic_pack(vector, N, bytes);
		factors[i] = fw_semantic_nibbles(bytes, N, packed + i * PADDED / 2);
	}
	scale = fw_semantic_pack(query, N, packed_query);
	fw_semantic_cosines(packed_query, scale, packed, factors, COUNT, N, found);
	for (size_t i = 0; i < COUNT; i++)
		assert_true(fabs((double)found[i] - expected[i]) < 0.04);
	/* One without length is like nothing. */
	memset(query, 0, sizeof query);
	assert_true(fw_semantic_pack(query, N, bytes) == 0);
	factors[0] = fw_semantic_nibbles(bytes, N, packed);
	fw_semantic_cosines(packed_query, scale, packed, factors, 1, N, found);
	assert_true(found[0] == 0);
}

/* Texts about four subjects, each with words of its own: four directions hold them all. */
static void test_lsa__finds_the_subjects(void **state)
{
	enum { ROWS = 200, COLUMNS = 40, EACH = 6, DIMS = 4 };
	size_t start[ROWS + 1];
	uint32_t column[ROWS * EACH];
	float value[ROWS * EACH], basis[COLUMNS * DIMS];
	struct fw_semantic_matrix matrix = { ROWS, COLUMNS, start, column, value };

	(void)state;
	start[0] = 0;
	for (size_t i = 0; i < ROWS; i++) {
		for (size_t j = 0; j < EACH; j++) {
			column[i * EACH + j] = (uint32_t)(i % 4) * 10 + pick(10);
			value[i * EACH + j] = 1;
		}
		start[i + 1] = (i + 1) * EACH;
	}
	assert_null(fw_semantic_lsa(&matrix, DIMS, 2, NULL, NULL, basis));
	for (size_t a = 0; a < DIMS; a++)
		for (size_t b = 0; b < DIMS; b++) {
			double dot = 0;

			for (size_t i = 0; i < COLUMNS; i++)
				dot += (double)basis[i * DIMS + a] *
				       (double)basis[i * DIMS + b];
			assert_true(fabs(dot - (a == b)) < 1e-3);
		}
	/* Words of one subject point the same way, those of others across. */
	for (size_t i = 0; i < COLUMNS; i++) {
		double same = 0, other = 0, own = 0;

		for (size_t k = 0; k < DIMS; k++) {
			size_t near = i / 10 * 10 + (i + 1) % 10, far = (i + 10) % COLUMNS;

			same += (double)basis[i * DIMS + k] * (double)basis[near * DIMS + k];
			other += (double)basis[i * DIMS + k] * (double)basis[far * DIMS + k];
			own += (double)basis[i * DIMS + k] * (double)basis[i * DIMS + k];
		}
		assert_true(same > 0.3 * own && fabs(other) < 0.5 * own);
	}
}

/* ---- records ---- */

static const char source[] = "/* Opens the door. */\nint door_open(struct door *door)\n{\n"
			     "\treturn door->is_open;\n}\n";

static void make_record(void)
{
	struct fw_semantic_maker maker = { .terms = NULL };
	struct fw_buf out;

	fw_buf_init(&out, FW_SEMANTIC_RECORD_BYTES);
	(void)fw_semantic_record_make(&maker, FW_OUTLINE_C, source, sizeof source - 1, &out);
	fw_buf_clear(&out);
	fw_semantic_maker_clear(&maker);
}

static void test_record__is_read_back_and_broken_bytes_do_no_harm(void **state)
{
	struct fw_semantic_maker maker = { .terms = NULL };
	struct fw_semantic_reader reader;
	struct fw_semantic_chunk chunk;
	struct fw_buf out;

	(void)state;
	fw_buf_init(&out, FW_SEMANTIC_RECORD_BYTES);
	assert_true(
		fw_semantic_record_make(&maker, FW_OUTLINE_C, source, sizeof source - 1, &out));
	fw_semantic_reader_init(&reader, out.text, out.len);
	assert_true(fw_semantic_reader_next(&reader, &chunk));
	assert_int_equal(chunk.start_line, 1);
	assert_int_equal(chunk.end_line, 5);
	assert_memory_equal(chunk.symbol, "door_open", chunk.symbol_len);
	assert_false(fw_semantic_reader_next(&reader, &chunk));
	assert_false(reader.is_broken);
	for (size_t i = 0; i < 20000; i++) {
		size_t len = pick((uint32_t)out.len + 1);
		char *copy = malloc(len + 1);

		memcpy(copy, out.text, len);
		if (len)
			copy[pick((uint32_t)len)] = (char)pick(256);
		fw_semantic_reader_init(&reader, copy, len);
		while (fw_semantic_reader_next(&reader, &chunk))
			for (size_t j = 0; j < chunk.term_count; j++)
				(void)fw_semantic_chunk_term(&chunk, j);
		free(copy);
	}
	fw_buf_clear(&out);
	fw_semantic_maker_clear(&maker);
}

static void test_record__survives_every_allocation_failure(void **state)
{
	(void)state;
	each_allocation_fails(make_record);
}

/* ---- outlines ---- */

/* Any text in any language: symbols lie within it, and no byte behind it is read (which the
 * sanitizer and valgrind see). */
static void test_outline__of_broken_sources_stays_within_the_text(void **state)
{
	static const char *const words[] = {
		"typedef ", "struct x ", "(",     ")",     "{",  "}",        "operator", "==",
		"class A",  "impl<T>",   " for ", "def ",  "a.", "function", " = ",      "::",
		"<",        ">",         "\n",    "@",     "*/", "return ",  "[",        "]",
		";",        "type ",     "func ", "self.", "# ", "#define ", "\"",       "}\n",
		"f",        "(*",        ":",     "\t",
	};
	struct fw_outline outline = { .list = NULL };

	(void)state;
	for (int round = 0; round < 20000; round++) {
		char text[256] = "";
		size_t len, count = 1 + pick(12);
		char *exact;

		for (size_t i = 0; i < count; i++)
			(void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s",
				       words[pick(sizeof words / sizeof *words)]);
		len = strlen(text);
		exact = malloc(len);
		memcpy(exact, text, len);
		fw_outline_read(&outline, 1 + pick(FW_OUTLINE_SQL), exact, len);
		for (size_t i = 0; i < outline.count; i++) {
			const struct fw_outline_symbol *symbol = &outline.list[i];

			assert_true(symbol->name >= exact &&
				    symbol->name + symbol->name_len <= exact + len);
			assert_true(symbol->end_line >= symbol->start_line);
		}
		free(exact);
	}
	fw_outline_clear(&outline);
}

/* ---- an index ---- */

static char repo[256], directory[256];

static void put_file(const char *name, const char *text)
{
	char path[512];
	FILE *file;

	(void)snprintf(path, sizeof path, "%s/%s", repo, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void build_index(void)
{
	char here[200];
	struct fw_semantic_build build = { .repo = repo, .directory = directory, .threads = 1 };

	if (!repo[0]) {
		assert_non_null(getcwd(here, sizeof here));
		(void)snprintf(repo, sizeof repo, "%s/repo", here);
		(void)snprintf(directory, sizeof directory, "%s/index", here);
		assert_int_equal(mkdir(repo, 0777), 0);
		assert_int_equal(mkdir(directory, 0777), 0);
	}
	put_file("door.c", source);
	put_file("window.c", "int window_close(struct window *window);\n");
	put_file("notes.md", "# Garden\n\nApples grow in the garden.\n");
	assert_null(fw_semantic_build(&build));
	assert_int_equal(build.files, 3);
}

static void search(void)
{
	static struct fw_semantic_hits hits;
	struct fw_semantic_query query = { .vector = NULL };
	struct fw_semantic_snapshot snapshot;
	int dir = open(directory, O_RDONLY | O_DIRECTORY);
	fw_error *err;

	assert_int_equal(fw_semantic_snapshot_open(dir, "snapshot", &snapshot), FW_SEMANTIC_OK);
	query.term_count = fw_semantic_query_terms("open the door", 13, query.terms,
						   FW_SEMANTIC_LIMIT_QUERY_TERMS);
	err = fw_semantic_rank(&snapshot, &query, &fw_semantic_weights, 10, &hits);
	if (!err) {
		char path[64];

		assert_true(hits.count >= 1);
		fw_semantic_snapshot_text(&snapshot, snapshot.files[hits.list[0].file].path,
					  path, sizeof path);
		assert_string_equal(path, "door.c");
	}
	fw_error_free(err);
	fw_semantic_snapshot_close(&snapshot);
	(void)close(dir);
}

static void write_again(void)
{
	static struct fw_semantic_writing writing;
	struct fw_semantic_space space = { .dims = 0 };
	struct fw_semantic_corpus corpus = { .sources = NULL };
	struct fw_semantic_data *data = NULL;
	int dir = open(directory, O_RDONLY | O_DIRECTORY);
	char path[300];
	bool is_new;
	fw_error *err;

	(void)snprintf(path, sizeof path, "%s/data.db", directory);
	err = fw_semantic_data_open(path, &data, &is_new);
	if (!err)
		err = fw_semantic_corpus_load(&corpus, data);
	if (!err) {
		err = fw_semantic_writing_begin(&writing, &corpus);
		if (!err)
			err = fw_semantic_writing_end(&writing, &space, dir, "again");
		fw_semantic_writing_clear(&writing);
	}
	fw_error_free(err);
	fw_semantic_corpus_clear(&corpus);
	fw_semantic_data_close(data);
	(void)close(dir);
}

static void test_index__is_built_and_searched(void **state)
{
	(void)state;
	build_index();
	search();
	build_index();
	search();
}

/* Each time another content, so that there is something to build. */
static void build_changed(void)
{
	struct fw_semantic_build build = { .repo = repo, .directory = directory, .threads = 1 };
	static int number;
	char text[64];

	(void)snprintf(text, sizeof text, "int door_%d(void)\n{\n}\n", number++);
	put_file("door.c", text);
	fw_error_free(fw_semantic_build(&build));
}

static void test_index__survives_every_allocation_failure(void **state)
{
	(void)state;
	build_index();
	/* Each of some hundred builds runs git: half a minute on a busy machine. */
	if (getenv("FW_LONG"))
		each_allocation_fails(build_changed);
	build_index();
	each_allocation_fails(search);
	each_allocation_fails(write_again);
}

/* Every bit counts: no damaged snapshot is opened. */
static void test_snapshot__notices_any_flipped_bit(void **state)
{
	struct fw_semantic_snapshot snapshot;
	int dir, fd;
	struct stat st;

	(void)state;
	build_index();
	dir = open(directory, O_RDONLY | O_DIRECTORY);
	fd = openat(dir, "snapshot", O_RDWR);
	assert_int_equal(fstat(fd, &st), 0);
	for (off_t at = 0; at < st.st_size; at++) {
		unsigned char byte, other;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		other = (unsigned char)(byte ^ 1u << pick(8));
		assert_int_equal(pwrite(fd, &other, 1, at), 1);
		assert_int_not_equal(fw_semantic_snapshot_open(dir, "snapshot", &snapshot),
				     FW_SEMANTIC_OK);
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	assert_int_equal(fw_semantic_snapshot_open(dir, "snapshot", &snapshot), FW_SEMANTIC_OK);
	fw_semantic_snapshot_close(&snapshot);
	(void)close(fd);
	(void)close(dir);
}

int main(void)
{
	char place[] = "/tmp/fw-semantic-XXXXXX";
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_terms__are_parts_of_identifiers),
		cmocka_unit_test(test_terms__ignore_common_endings),
		cmocka_unit_test(test_vectors__cosines_are_near_those_in_double),
		cmocka_unit_test(test_lsa__finds_the_subjects),
		cmocka_unit_test(test_record__is_read_back_and_broken_bytes_do_no_harm),
		cmocka_unit_test(test_record__survives_every_allocation_failure),
		cmocka_unit_test(test_outline__of_broken_sources_stays_within_the_text),
		cmocka_unit_test(test_index__is_built_and_searched),
		cmocka_unit_test(test_index__survives_every_allocation_failure),
		cmocka_unit_test(test_snapshot__notices_any_flipped_bit),
	};
	int failed;

	if (!mkdtemp(place) || chdir(place) != 0)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (chdir("/") == 0) {
		char command[80];

		(void)snprintf(command, sizeof command, "rm -r %s", place);
		failed += system(command) != 0;
	}
	return failed;
}
