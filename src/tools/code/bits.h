/*
 * bits.h - reads bits from bytes, the lowest bit of a byte first. It loads eight bytes at
 * once and shifts them. The lists of both indexes use it (trigram_list.h,
 * semantic/bits.h).
 */
#ifndef FW_TOOLS_CODE_BITS_H
#define FW_TOOLS_CODE_BITS_H

#include <stdint.h>
#include <string.h>

struct fw_code_bits {
	const unsigned char *at;
	const unsigned char *end;
	uint64_t held;  /* bits that were loaded from the bytes before `at` */
	unsigned count; /* number of bits in `held` */
};

/* Loads bytes until at least 56 bits are held, or all that are left. */
static inline void fw_code_bits_fill(struct fw_code_bits *bits)
{
	if (bits->end - bits->at >= 8) {
		uint64_t word;

		memcpy(&word, bits->at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		word = __builtin_bswap64(word);
#endif
		bits->held |= word << bits->count;
		bits->at += (63 - bits->count) >> 3;
		bits->count |= 56;
		return;
	}
	for (; bits->count <= 56 && bits->at < bits->end; bits->count += 8)
		bits->held |= (uint64_t)*bits->at++ << bits->count;
}

#endif
