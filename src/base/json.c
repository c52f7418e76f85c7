/*
 * json.c - see json.h.
 *
 * yyjson parses without recursion, so depth costs it nothing; but most code that walks
 * a value recurses. The depth is therefore checked on the text, before any memory is
 * allocated.
 */
#include "base/json.h"

#include "base/mem.h"

bool fw_json_is_too_deep(const char *text, size_t len, size_t most)
{
	size_t depth = 0;
	bool in_string = false;

	/* Each level takes two bytes at least. */
	if (len <= 2 * most)
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (in_string) {
			if (c == '\\')
				i++;
			else if (c == '"')
				in_string = false;
		} else if (c == '"') {
			in_string = true;
		} else if (c == '{' || c == '[') {
			if (++depth > most)
				return true;
		} else if ((c == '}' || c == ']') && depth > 0) {
			depth--;
		}
	}
	return false;
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
	if (limits.depth && fw_json_is_too_deep(text, len, limits.depth))
		return refuse("values are nested too deeply", 0, ret_err);
	/* yyjson takes a mutable pointer for its in-place mode only. */
	return yyjson_read_opts((char *)text, len, flags, alc ? alc : &fw__yyjson_alc, ret_err);
}

yyjson_val *fw_json_or_empty(yyjson_val *value)
{
	/* The place behind it is where the first member would be. */
	static yyjson_val empty[2] = { { .tag = YYJSON_TYPE_OBJ } };

	return yyjson_is_obj(value) ? value : empty;
}
