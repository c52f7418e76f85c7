/*
 * slice.h - a JSON value as a part of a text that was scanned (scan.h).
 *
 * The one rule to remember: a slice is raw JSON text inside the message. It is not
 * NUL-terminated, and strings still have quotes and escapes.
 */
#ifndef FW_RPC_SLICE_H
#define FW_RPC_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/ascii.h"

/* p NULL: absent. */
struct fw_slice {
	const char *p;
	size_t n;
};

static inline bool fw_slice_is_object(struct fw_slice slice)
{
	return slice.p && slice.p[0] == '{';
}

static inline bool fw_slice_is_array(struct fw_slice slice)
{
	return slice.p && slice.p[0] == '[';
}

static inline bool fw_slice_is_string(struct fw_slice slice)
{
	return slice.p && slice.p[0] == '"';
}

/* Is it exactly this JSON text, such as `true`? */
bool fw_slice_is(struct fw_slice slice, const char *json);
/* The rest of fw_slice_equals(), for a string with escapes. */
bool fw_slice__equals_decoded(struct fw_slice slice, const char *value, size_t len);

/* For a value without a backslash. Inline, since most names differ in length (an escape only
 * makes a string longer) or in their first character. */
static inline bool fw_slice__equals(struct fw_slice slice, const char *value, size_t len)
{
	if (!fw_slice_is_string(slice) || slice.n < len + 2)
		return false;
	if (len && slice.p[1] != value[0] && slice.p[1] != '\\')
		return false;
	if (slice.n > len + 2)
		return fw_slice__equals_decoded(slice, value, len);
	return memcmp(slice.p + 1, value, len) == 0;
}

/* Is it a string with this value? `value` is ASCII; escapes in the slice count. */
static inline bool fw_slice_equals(struct fw_slice slice, const char *value)
{
	const size_t len = strlen(value);

	return fw_slice__equals(slice, value, len) &&
	       (slice.n > len + 2 || !memchr(value, '\\', len));
}

/* An integer that fits; false: it is not one. */
bool fw_slice_u64(struct fw_slice slice, unsigned long long *ret_number);
/* The value of a string, decoded: writes at most `size` bytes including a NUL, and
 * returns the complete length, as snprintf does. 0 for anything else. */
size_t fw_slice_text(struct fw_slice slice, char *ret_text, size_t size);
/* Replaces each escape of half a surrogate pair by one of U+FFFD, which has the same length.
 * False: there is none. */
bool fw_slice_repair(char *text, size_t len);

/* Four hexadecimal digits; negative: there are none. */
static inline int fw_slice__hex4(const char *p, const char *end)
{
	int value = 0;

	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int digit = fw_hex_value(p[i]);

		if (digit < 0)
			return -1;
		value = value * 16 + digit;
	}
	return value;
}

#endif
