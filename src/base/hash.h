/*
 * hash.h - a fast hash for tables and checksums, the same on every machine.
 *
 * It is not cryptographic; digest.h has SHA-256. A table whose keys a peer chooses needs a
 * random seed, so that collisions cannot be prepared. To hash several texts, pass the hash of
 * one as the seed of the next: "ab" and "c" then differ from "a" and "bc".
 */
#ifndef FW_BASE_HASH_H
#define FW_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Both halves of the product, folded: every bit of `a` and `b` affects the result. */
static inline uint64_t fw_hash_mix(uint64_t a, uint64_t b)
{
	__extension__ typedef unsigned __int128 wide;
	wide product = (wide)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t fw_hash(const void *bytes, size_t len, uint64_t seed);

/* Of a C string. */
uint64_t fw_hash_text(const char *text, uint64_t seed);

#endif
