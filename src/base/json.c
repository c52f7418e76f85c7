/*
 * json.c - see json.h.
 *
 * yyjson parses without recursion, so depth costs it nothing; but most code that walks
 * a value recurses. The depth is therefore checked on the text, before any memory is
 * allocated.
 */
#include "base/json.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/mem.h"

/* The first byte at or after `at` that may be a quote or a backslash: most of a large text is
 * the inside of strings. */
static size_t skip_plain(const char *text, size_t at, size_t len)
{
#ifdef __SSE2__
	for (; len - at >= 16; at += 16) {
		__m128i x = _mm_loadu_si128((const __m128i *)(const void *)(text + at));
		__m128i quote = _mm_cmpeq_epi8(x, _mm_set1_epi8('"'));
		__m128i slash = _mm_cmpeq_epi8(x, _mm_set1_epi8('\\'));
		unsigned mask = (unsigned)_mm_movemask_epi8(_mm_or_si128(quote, slash));

		if (mask)
			return at + (size_t)__builtin_ctz(mask);
	}
#else
	(void)text;
	(void)len;
#endif
	return at;
}

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
			i = skip_plain(text, i, len);
			if (i < len && text[i] == '\\')
				i++;
			else if (i < len && text[i] == '"')
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
	/* The place after it is where the first member would be. */
	static yyjson_val empty[2] = { { .tag = YYJSON_TYPE_OBJ } };

	return yyjson_is_obj(value) ? value : empty;
}
