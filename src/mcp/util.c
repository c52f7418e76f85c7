/*
 * util.c - copies and hashes of text, for the runtime.
 */
#include <yyjson.h>

#include "mcp/util.h"

uint64_t fw_mix(uint64_t hash, const char *text)
{
	do
		hash = (hash ^ (unsigned char)*text) * 1099511628211u;
	while (*text++);
	return hash;
}
