/*
 * util.c - copies and hashes of text, for the runtime.
 */
#include <string.h>

#include <yyjson.h>

#include "base/mem.h"
#include "mcp/util.h"

uint64_t fw_mix(uint64_t hash, const char *text)
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

char *fw_strdup_n(const char *text, size_t len)
{
	char *copy = fw__allocate(len + 1);

	if (copy) {
		memcpy(copy, text, len);
		copy[len] = '\0';
	}
	return copy;
}

char *fw_strdup(const char *text)
{
	return fw_strdup_n(text, strlen(text));
}
