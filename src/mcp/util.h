/*
 * util.h - copies and hashes of text, members of JSON objects.
 */
#ifndef FW_MCP_UTIL_H
#define FW_MCP_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <yyjson.h>

/* NULL: there is no such member, or `object` is NULL or not an object. */
static inline yyjson_val *fw_json_member(yyjson_val *object, const char *name)
{
	/* With a literal, the length is a constant. */
	return object ? yyjson_obj_getn(object, name, strlen(name)) : NULL;
}
/* Mixes a C string with its NUL into a hash: "ab" and "c" are not "a" and "bc". */
uint64_t fw_mix(uint64_t hash, const char *text);
char *fw_strdup_n(const char *text, size_t len);
char *fw_strdup(const char *text);

#endif
