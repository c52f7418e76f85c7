/*
 * bits.c - see bits.h.
 *
 * Bits are filled into bytes from the lowest on. Recursion is as deep as the logarithm of a list's length.
 */
#include "tools/code/semantic/bits.h"

#include <assert.h>

const float fw_semantic_tf_of[FW_SEMANTIC_TF_CLASSES] = { 1, 2, 3.4F, 7.5F };

uint8_t fw_semantic_tf_class(uint32_t tf)
{
	if (tf <= 2)
		return tf == 2;
	return tf <= 4 ? 2 : 3;
}

/* ---- writing ---- */

void fw_semantic_bits_put(struct fw_semantic_bit_writer *writer, uint32_t value, unsigned width)
{
	if (!width)
		return;
	writer->held |= (uint64_t)(value & (UINT32_MAX >> (32 - width))) << writer->count;
	writer->count += width;
	while (writer->count >= 8) {
		char byte = (char)(writer->held & 255);

		fw_buf_put(writer->out, &byte, 1);
		writer->held >>= 8;
		writer->count -= 8;
	}
}

static unsigned log_of(uint32_t value)
{
	return 31 - (unsigned)__builtin_clz(value);
}

/* The length in ones, then the bits below the highest. */
void fw_semantic_bits_put_number(struct fw_semantic_bit_writer *writer, uint32_t value)
{
	unsigned width;

	assert(value > 0);
	width = log_of(value);
	for (unsigned i = 0; i < width; i++)
		fw_semantic_bits_put(writer, 1, 1);
	fw_semantic_bits_put(writer, 0, 1);
	fw_semantic_bits_put(writer, value, width);
}

void fw_semantic_bits_end(struct fw_semantic_bit_writer *writer)
{
	if (writer->count)
		fw_semantic_bits_put(writer, 0, 8 - writer->count);
}

/* One of `range` values: those at the beginning take one bit less if that is enough. */
static void put_below(struct fw_semantic_bit_writer *writer, uint32_t value, uint32_t range)
{
	unsigned width = log_of(range);
	uint32_t shorter = (uint32_t)(((uint64_t)2 << width) - range);

	if (value < shorter) {
		fw_semantic_bits_put(writer, value, width);
	} else {
		fw_semantic_bits_put(writer, (value + shorter) >> 1, width);
		fw_semantic_bits_put(writer, value + shorter, 1);
	}
}

/* All of `list` is at least `low` and below `high`. */
static void put_half(struct fw_semantic_bit_writer *writer, const uint32_t *list, size_t count,
		     uint32_t low, uint32_t high)
{
	size_t middle = count / 2;

	if (!count || high - low == count)
		return;
	put_below(writer, list[middle] - low - (uint32_t)middle,
		  high - low - (uint32_t)count + 1);
	put_half(writer, list, middle, low, list[middle]);
	put_half(writer, list + middle + 1, count - middle - 1, list[middle] + 1, high);
}

void fw_semantic_list_put(struct fw_semantic_bit_writer *writer, const uint32_t *list,
			  const uint8_t *classes, size_t count, uint32_t documents)
{
	put_half(writer, list, count, 0, documents);
	for (size_t i = 0; i < count; i++)
		/* 1, 01, 001, 000. */
		fw_semantic_bits_put(writer, 1u << classes[i],
				     classes[i] < 3 ? classes[i] + 1u : 3u);
}

/* ---- reading ---- */

void fw_semantic_bits_init(struct fw_code_bits *reader, const unsigned char *bytes, size_t len)
{
	*reader = (struct fw_code_bits){ .at = bytes, .end = bytes + len };
}

static inline uint32_t take(struct fw_code_bits *reader, unsigned width)
{
	uint32_t value;

	if (reader->count < width)
		fw_code_bits_fill(reader);
	value = (uint32_t)(reader->held & (((uint64_t)1 << width) - 1));
	reader->held >>= width;
	reader->count -= width < reader->count ? width : reader->count;
	return value;
}

uint32_t fw_semantic_bits_take(struct fw_code_bits *reader, unsigned width)
{
	return take(reader, width);
}

uint32_t fw_semantic_bits_take_number(struct fw_code_bits *reader)
{
	unsigned width = 0;

	while (take(reader, 1))
		if (++width == 32)
			return 0;
	return take(reader, width) | (uint32_t)1 << width;
}

static inline uint32_t take_below(struct fw_code_bits *reader, uint32_t range)
{
	unsigned width = log_of(range);
	uint32_t shorter = (uint32_t)(((uint64_t)2 << width) - range);
	uint32_t value = take(reader, width);

	if (value < shorter)
		return value;
	value = (value << 1 | take(reader, 1)) - shorter;
	/* Only in damaged bytes. */
	return value < range ? value : range - 1;
}

static void take_half(struct fw_code_bits *reader, uint32_t *list, size_t count, uint32_t low,
		      uint32_t high)
{
	while (count) {
		size_t middle = count / 2;

		if (high - low == count) {
			for (size_t i = 0; i < count; i++)
				list[i] = low + (uint32_t)i;
			return;
		}
		list[middle] = low + (uint32_t)middle +
			       take_below(reader, high - low - (uint32_t)count + 1);
		take_half(reader, list, middle, low, list[middle]);
		low = list[middle] + 1;
		list += middle + 1;
		count -= middle + 1;
	}
}

void fw_semantic_list_take(struct fw_code_bits *reader, size_t count, uint32_t documents,
			   uint32_t *ret_list, uint8_t *ret_classes)
{
	take_half(reader, ret_list, count, 0, documents);
	for (size_t i = 0; i < count; i++) {
		unsigned zeros;

		if (reader->count < 3)
			fw_code_bits_fill(reader);
		zeros = (unsigned)__builtin_ctzll(reader->held | 8);
		ret_classes[i] = (uint8_t)zeros;
		(void)take(reader, zeros < 3 ? zeros + 1 : 3);
	}
}
