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
/* Is it a string with this value? `value` is ASCII; escapes in the slice count. */
bool fw_slice_equals(struct fw_slice slice, const char *value);
/* An integer that fits; false: it is not one. */
bool fw_slice_u64(struct fw_slice slice, unsigned long long *ret_number);
/* The value of a string, decoded: writes at most `size` bytes including a NUL, and
 * returns the complete length, as snprintf does. 0 for anything else. */
size_t fw_slice_text(struct fw_slice slice, char *ret_text, size_t size);

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
