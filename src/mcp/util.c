/*
 * util.c - hashes of text.
 */
#include "mcp/util.h"

uint64_t fw_mcp_mix(uint64_t hash, const char *text)
{
	do
		hash = (hash ^ (unsigned char)*text) * 1099511628211u;
	while (*text++);
	return hash;
}
