/*
 * util.c - hashes of text.
 */
#include "mcp/util.h"

#include <string.h>

uint64_t fw_mcp_mix(uint64_t hash, const char *text)
{
	size_t left = strlen(text) + 1;
	uint64_t word;

	for (; left >= sizeof word; left -= sizeof word, text += sizeof word) {
		memcpy(&word, text, sizeof word);
		hash = (hash ^ word) * 1099511628211u;
		hash ^= hash >> 32;
	}
	for (; left; left--, text++)
		hash = (hash ^ (unsigned char)*text) * 1099511628211u;
	return hash;
}
