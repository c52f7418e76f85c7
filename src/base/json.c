/*
 * json.c - see json.h.
 *
 * yyjson parses without recursion, so depth costs it nothing; but most code that walks
 * a value recurses. The depth is therefore checked on the text, before any memory is
 * allocated.
 */
#include "base/json.h"

#include <stdbool.h>

#include "base/mem.h"

size_t fw_json_depth(const char *text, size_t len)
{
	size_t depth = 0, most = 0;
	bool in_string = false;

	for (const char *at = text, *end = text + len; at < end; at++) {
		if (in_string) {
			if (*at == '\\')
				at += end - at > 1;
			else if (*at == '"')
				in_string = false;
		} else if (*at == '"') {
			in_string = true;
		} else if (*at == '[' || *at == '{') {
			depth++;
			if (depth > most)
				most = depth;
		} else if ((*at == ']' || *at == '}') && depth) {
			depth--;
		}
	}
	return most;
}

static yyjson_doc *refuse(const char *why, size_t at, yyjson_read_err *ret_err)
{
	if (ret_err)
		*ret_err = (yyjson_read_err){ .code = YYJSON_READ_ERROR_UNEXPECTED_CONTENT,
					      .msg = why,
					      .pos = at };
	return NULL;
}

yyjson_doc *fw_json_read(const char *text, size_t len, struct fw_json_limits limits,
			 yyjson_read_flag flags, const yyjson_alc *alc,
			 yyjson_read_err *ret_err)
{
	if (len > limits.bytes)
		return refuse("text is too large", limits.bytes, ret_err);
	if (limits.depth && fw_json_depth(text, len) > limits.depth)
		return refuse("values are nested too deeply", 0, ret_err);
	return yyjson_read_opts((char *)text, len, flags, alc ? alc : &fw__yyjson_alc, ret_err);
}
