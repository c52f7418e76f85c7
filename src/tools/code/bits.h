/*
 * bits.h - bits that are read from bytes, the lowest of a byte first: eight bytes are taken at
 * once and shifted. For the lists of both indexes (trigram_list.h, semantic/bits.h).
 */
#ifndef FW_TOOLS_CODE_BITS_H
#define FW_TOOLS_CODE_BITS_H

#include <stdint.h>
#include <string.h>

struct fw_code_bits {
	const unsigned char *at;
	const unsigned char *end;
	uint64_t held;  /* bits that were taken from the bytes before `at` */
	unsigned count; /* of them */
};

/* At least 56 are held then, or all that are left. */
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
