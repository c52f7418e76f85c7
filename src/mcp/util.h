/*
 * util.h - copies and hashes of text, members and depth of JSON.
 */
#ifndef FW_MCP_UTIL_H
#define FW_MCP_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <yyjson.h>

/* NULL: there is no such member, or `object` is NULL or not an object. */
yyjson_val *fw_json_member(yyjson_val *object, const char *name);
/* Whether the JSON text is nested deeper than `most`. */
bool fw_json_is_too_deep(const char *text, size_t len, size_t most);
/* Mixes a C string with its NUL into a hash: "ab" and "c" are not "a" and "bc". */
uint64_t fw_mix(uint64_t hash, const char *text);
char *fw_strdup_n(const char *text, size_t len);
char *fw_strdup(const char *text);

#endif
