/*
 * sha256.c - see sha256.h. FIPS 180-4, section 6.2.
 */
#include "base/sha256.h"

#include <string.h>

/* The fractions of the cube roots of the first 64 primes. */
static const uint32_t constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t turn(uint32_t word, unsigned by)
{
	return word >> by | word << (32 - by);
}

static uint32_t read_word(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void write_word(unsigned char *at, uint32_t word)
{
	for (int i = 3; i >= 0; i--, word >>= 8)
		at[i] = (unsigned char)(word & 255);
}

static void expand(uint32_t w[64], const unsigned char block[64])
{
	for (int i = 0; i < 16; i++)
		w[i] = read_word(block + 4 * i);
	for (int i = 16; i < 64; i++) {
		uint32_t s0 = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3;
		uint32_t s1 = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10;

		w[i] = w[i - 16] + s0 + w[i - 7] + s1;
	}
}

static void mix(uint32_t words[8], const unsigned char block[64])
{
	uint32_t w[64];
	uint32_t v[8]; /* a to h */

	expand(w, block);
	memcpy(v, words, sizeof v);
	for (int i = 0; i < 64; i++) {
		uint32_t s1 = turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25);
		uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
		uint32_t first = v[7] + s1 + choice + constants[i] + w[i];
		uint32_t s0 = turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22);
		uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);

		memmove(v + 1, v, 7 * sizeof *v);
		v[4] += first;
		v[0] = first + s0 + majority;
	}
	for (int i = 0; i < 8; i++)
		words[i] += v[i];
}

void fw_sha256_begin(struct fw_sha256 *sha)
{
	/* The fractions of the square roots of the first 8 primes. */
	static const uint32_t words[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

	memcpy(sha->words, words, sizeof words);
	sha->bytes = 0;
}

void fw_sha256_add(struct fw_sha256 *sha, const void *data, size_t len)
{
	const unsigned char *at = data;
	size_t held = sha->bytes % sizeof sha->block;

	sha->bytes += len;
	while (len > 0) {
		size_t part = sizeof sha->block - held;

		if (!held && len >= sizeof sha->block) {
			mix(sha->words, at);
		} else {
			part = len < part ? len : part;
			memcpy(sha->block + held, at, part);
			held = (held + part) % sizeof sha->block;
			if (!held)
				mix(sha->words, sha->block);
		}
		at += part;
		len -= part;
	}
}

void fw_sha256_end(struct fw_sha256 *sha, unsigned char ret_hash[32])
{
	static const unsigned char padding[64] = { 0x80 };
	uint64_t bits = 8 * sha->bytes;
	unsigned char length[8];
	size_t held = sha->bytes % sizeof sha->block;

	write_word(length, (uint32_t)(bits >> 32));
	write_word(length + 4, (uint32_t)bits);
	fw_sha256_add(sha, padding, held < 56 ? 56 - held : 120 - held);
	fw_sha256_add(sha, length, sizeof length);
	for (int i = 0; i < 8; i++)
		write_word(ret_hash + 4 * i, sha->words[i]);
}
