/*
 * trigram_list.c - see trigram_list.h. This file writes lists.
 */
#include "tools/code/trigram_list.h"

enum { WIDTH_MAX = (1 << FW_TRIGRAM_WIDTH_BITS) - 1 };

static uint64_t bits_of(const uint32_t *files, size_t count, unsigned width)
{
	uint64_t bits = (uint64_t)count * (width + 1);
	uint32_t next = 0;

	for (size_t i = 0; i < count; i++) {
		bits += (files[i] - next) >> width;
		next = files[i] + 1;
	}
	return bits;
}

/* Tries widths downwards from the logarithm of the mean difference, as long as the list
 * gets shorter: the more clustered the files are, the smaller the best width is. */
static unsigned best_width(const uint32_t *files, size_t count)
{
	uint64_t mean = ((uint64_t)files[count - 1] + 1) / count;
	unsigned width = 64 - (unsigned)__builtin_clzll(mean);
	uint64_t bits;

	if (width > WIDTH_MAX)
		width = WIDTH_MAX;
	bits = bits_of(files, count, width);
	while (width) {
		uint64_t fewer = bits_of(files, count, width - 1);

		if (fewer > bits)
			break;
		bits = fewer;
		width--;
	}
	return width;
}

struct writer {
	unsigned char *to;
	uint64_t held;
	unsigned count;
};

/* `width` is at most 32. */
static void put_bits(struct writer *writer, uint64_t value, unsigned width)
{
	writer->held |= value << writer->count;
	writer->count += width;
	for (; writer->count >= 8; writer->count -= 8) {
		*writer->to++ = (unsigned char)writer->held;
		writer->held >>= 8;
	}
}

static void put_number(struct writer *writer, uint32_t value, unsigned width)
{
	uint32_t zeros = value >> width;

	for (; zeros >= 32; zeros -= 32)
		put_bits(writer, 0, 32);
	put_bits(writer, UINT64_C(1) << zeros, zeros + 1);
	put_bits(writer, value & ((UINT64_C(1) << width) - 1), width);
}

size_t fw_trigram__put(unsigned char *to, const uint32_t *files, size_t count)
{
	struct writer writer = { .to = to };
	uint32_t next = 0;
	unsigned width;

	if (!count)
		return 0;
	width = best_width(files, count);
	put_bits(&writer, width, FW_TRIGRAM_WIDTH_BITS);
	for (size_t i = 0; i < count; i++) {
		put_number(&writer, files[i] - next, width);
		next = files[i] + 1;
	}
	/* Pad the last byte with zeros. Zeros that no one bit follows are read as the end. */
	if (writer.count)
		put_bits(&writer, 0, 8 - writer.count);
	return (size_t)(writer.to - to);
}
