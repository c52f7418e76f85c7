/*
 * hash.c - see hash.h. It takes sixteen bytes per multiplication.
 */
#include "base/hash.h"

#include <endian.h>
#include <string.h>

uint64_t fw_hash(const void *bytes, size_t len, uint64_t seed)
{
	const unsigned char *at = bytes;
	uint64_t hash = seed ^ fw_hash_mix(len ^ 0xa0761d6478bd642fu, seed | 1);
	uint64_t words[2];

	for (; len >= sizeof words; len -= sizeof words, at += sizeof words) {
		memcpy(words, at, sizeof words);
		hash = fw_hash_mix(le64toh(words[0]) ^ 0xe7037ed1a0b428dbu ^ seed,
				   le64toh(words[1]) ^ hash);
	}
	words[0] = words[1] = 0;
	if (len)
		memcpy(words, at, len);
	return fw_hash_mix(le64toh(words[0]) ^ 0x8ebc6af09c88c6e3u ^ seed,
			   le64toh(words[1]) ^ hash);
}

uint64_t fw_hash_text(const char *text, uint64_t seed)
{
	return fw_hash(text, strlen(text), seed);
}
