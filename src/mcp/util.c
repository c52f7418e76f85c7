/*
 * util.c - copies and hashes of text, for the runtime.
 */
#include <string.h>

#include <yyjson.h>

#include "base/mem.h"
#include "mcp/util.h"

uint64_t fw_mix(uint64_t hash, const char *text)
{
	do
		hash = (hash ^ (unsigned char)*text) * 1099511628211u;
	while (*text++);
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
