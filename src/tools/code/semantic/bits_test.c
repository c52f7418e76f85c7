/*
 * bits_test.c - lists and texts of a snapshot: what is written is read back, and damaged bytes
 * are wrong but within bounds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/memory.h"
#include "tools/code/semantic/bits.h"
#include "tools/code/semantic/postings.h"
#include "tools/code/semantic/texts.h"

enum { DOCUMENTS = 3000 };

static uint32_t seed = 11;

static uint32_t pick(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static void test_numbers__are_read_back(void **state)
{
	static const uint32_t numbers[] = { 1, 2, 3, 4, 127, 128, 65535, 65536, UINT32_MAX };
	struct fw_semantic_bit_writer writer = { .held = 0 };
	struct fw_code_bits reader;
	struct fw_buf out;

	(void)state;
	fw_buf_init(&out, 4096);
	writer.out = &out;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		fw_semantic_bits_put_number(&writer, numbers[i]);
		fw_semantic_bits_put(&writer, numbers[i], 32);
		fw_semantic_bits_put(&writer, numbers[i], 0);
		fw_semantic_bits_put(&writer, numbers[i], 3);
	}
	fw_semantic_bits_end(&writer);
	fw_semantic_bits_init(&reader, (const unsigned char *)out.text, out.len);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		assert_int_equal(fw_semantic_bits_take_number(&reader), numbers[i]);
		assert_int_equal(fw_semantic_bits_take(&reader, 32), numbers[i]);
		assert_int_equal(fw_semantic_bits_take(&reader, 0), 0);
		assert_int_equal(fw_semantic_bits_take(&reader, 3), numbers[i] & 7);
	}
	assert_true(fw_semantic_bits_left(&reader) < 8);
	/* Behind the end are zeros. */
	assert_int_equal(fw_semantic_bits_take(&reader, 32), 0);
	assert_int_equal(fw_semantic_bits_left(&reader), 0);
	fw_buf_clear(&out);
}

/* A list of one of the shapes that postings have; returns its length. */
static size_t make_list(uint32_t documents, uint32_t *list, uint8_t *classes)
{
	uint32_t density = 1u << pick(10), run = pick(2) ? 1 : 20;
	size_t count = 0;

	for (uint32_t i = 0; i < documents; i++)
		if ((density == 1 && run == 1) || (i / run * 2654435761u >> 7) % density == 0) {
			classes[count] = fw_semantic_tf_class(1 + pick(9));
			list[count++] = i;
		}
	return count;
}

static void test_lists__are_read_back(void **state)
{
	static uint32_t list[DOCUMENTS], found[DOCUMENTS];
	static uint8_t classes[DOCUMENTS], found_classes[DOCUMENTS];

	(void)state;
	for (int round = 0; round < 500; round++) {
		uint32_t documents = 1 + pick(DOCUMENTS);
		size_t count = make_list(documents, list, classes);
		struct fw_semantic_bit_writer writer = { .held = 0 };
		struct fw_code_bits reader;
		struct fw_buf out;

		fw_buf_init(&out, 1 << 20);
		writer.out = &out;
		fw_semantic_bits_put(&writer, 5, 3); /* not at the border of a byte */
		fw_semantic_list_put(&writer, list, classes, count, documents);
		fw_semantic_bits_put(&writer, 77, 7);
		fw_semantic_bits_end(&writer);
		fw_semantic_bits_init(&reader, (const unsigned char *)out.text, out.len);
		assert_int_equal(fw_semantic_bits_take(&reader, 3), 5);
		fw_semantic_list_take(&reader, count, documents, found, found_classes);
		assert_int_equal(fw_semantic_bits_take(&reader, 7), 77);
		if (count) {
			assert_memory_equal(found, list, count * sizeof *list);
			assert_memory_equal(found_classes, classes, count);
		}
		fw_buf_clear(&out);
	}
}

static void test_lists__of_damaged_bytes_ascend_within_bounds(void **state)
{
	static uint32_t found[DOCUMENTS];
	static uint8_t classes[DOCUMENTS];

	(void)state;
	for (int round = 0; round < 2000; round++) {
		uint32_t documents = 1 + pick(DOCUMENTS);
		size_t count = 1 + pick(documents), len = pick(200);
		unsigned char *bytes = malloc(len + 1);
		struct fw_code_bits reader;

		for (size_t i = 0; i < len; i++)
			bytes[i] = (unsigned char)pick(256);
		fw_semantic_bits_init(&reader, bytes, len);
		fw_semantic_list_take(&reader, count, documents, found, classes);
		for (size_t i = 0; i < count; i++) {
			assert_true(found[i] < documents && (!i || found[i] > found[i - 1]));
			assert_true(classes[i] < FW_SEMANTIC_TF_CLASSES);
		}
		free(bytes);
	}
}

/* ---- texts ---- */

static const char sample[] = "src/tools/code/semantic/bits.c\0src/tools/code/semantic/texts.c\0"
			     "code: write the index in fewer bytes\0"
			     "code: read what was written\0fw_semantic_texts_put\0";

static void test_texts__are_read_back_and_shorter(void **state)
{
	struct fw_semantic_text_writer writer;
	struct fw_semantic_text_table table;
	struct fw_buf out;
	size_t len = 0;

	(void)state;
	assert_true(fw_semantic_texts_train(&table, sample, sizeof sample - 1));
	fw_semantic_texts_init(&writer, &table);
	for (int round = 0; round < 300; round++) {
		char text[300], found[300];

		len = pick(280);
		for (size_t i = 0; i < len; i++)
			text[i] = round % 3 ? (char)(1 + pick(255))
					    : sample[(i + (size_t)round) % 29];
		fw_buf_init(&out, 4096);
		fw_semantic_texts_put(&writer, text, len, &out);
		assert_int_equal(strlen(out.text), out.len - 1);
		assert_int_equal(fw_semantic_texts_get(&table, out.text, out.text + out.len,
						       found, sizeof found),
				 len);
		assert_memory_equal(found, text, len);
		/* Cut, where there is less room. */
		assert_int_equal(
			fw_semantic_texts_get(&table, out.text, out.text + out.len, found, 10),
			len < 9 ? len : 9);
		fw_buf_clear(&out);
	}
	fw_buf_init(&out, 4096);
	for (const char *at = sample; at < sample + sizeof sample - 1; at += strlen(at) + 1)
		fw_semantic_texts_put(&writer, at, strlen(at), &out);
	assert_true(out.len * 2 < sizeof sample);
	fw_buf_clear(&out);
}

static void test_texts__of_damaged_bytes_stay_in_their_buffer(void **state)
{
	struct fw_semantic_text_table table;
	char bytes[64], found[40];

	(void)state;
	for (int round = 0; round < 5000; round++) {
		size_t len = pick(sizeof bytes), size = 1 + pick(sizeof found);

		for (size_t i = 0; i < sizeof table; i++)
			((char *)&table)[i] = (char)pick(256);
		for (size_t i = 0; i < len; i++)
			bytes[i] = (char)pick(256);
		assert_true(fw_semantic_texts_get(&table, bytes, bytes + len, found, size) <
			    size);
	}
}

/* ---- memory ---- */

static void train(void)
{
	struct fw_semantic_text_table table;

	(void)fw_semantic_texts_train(&table, sample, sizeof sample - 1);
}

static void write_postings(void)
{
	struct fw_semantic_postings postings = { .list = NULL };
	struct fw_buf buckets, lists;
	bool is_done = true;

	fw_buf_init(&buckets, 1 << 20);
	fw_buf_init(&lists, 1 << 20);
	for (uint32_t i = 0; is_done && i < 200; i++)
		is_done = fw_semantic_postings_add(&postings, i % 40 * 77777777u, i, 1);
	if (is_done && fw_semantic_postings_sort(&postings))
		(void)fw_semantic_postings_write(&postings, 200, &buckets, &lists);
	fw_semantic_postings_clear(&postings);
	fw_buf_clear(&buckets);
	fw_buf_clear(&lists);
}

static void test_writing__survives_every_allocation_failure(void **state)
{
	(void)state;
	each_allocation_fails(train);
	each_allocation_fails(write_postings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers__are_read_back),
		cmocka_unit_test(test_lists__are_read_back),
		cmocka_unit_test(test_lists__of_damaged_bytes_ascend_within_bounds),
		cmocka_unit_test(test_texts__are_read_back_and_shorter),
		cmocka_unit_test(test_texts__of_damaged_bytes_stay_in_their_buffer),
		cmocka_unit_test(test_writing__survives_every_allocation_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
