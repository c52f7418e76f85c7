/*
 * slice.c - see slice.h.
 */
#include "rpc/slice.h"

#include <string.h>

/* A string with escapes that is longer is not compared: no name is that long. */
enum { COMPARED_BYTES = 256 };

/* Writes one character as UTF-8; returns its length. */
static size_t put_character(char *to, unsigned code)
{
	if (code < 0x80) {
		to[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		to[0] = (char)(0xc0 | code >> 6);
		to[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		to[0] = (char)(0xe0 | code >> 12);
		to[1] = (char)(0x80 | (code >> 6 & 0x3f));
		to[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | code >> 18);
	to[1] = (char)(0x80 | (code >> 12 & 0x3f));
	to[2] = (char)(0x80 | (code >> 6 & 0x3f));
	to[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

/* The character of the escape at `*at`, which is valid, and moves behind it. */
static unsigned read_escape(const char **at, const char *end)
{
	static const char from[] = "\"\\/bfnrt";
	static const char to[] = "\"\\/\b\f\n\r\t";
	const char *p = *at + 1;
	int unit;

	if (*p != 'u') {
		*at = p + 1;
		return (unsigned char)to[strchr(from, *p) - from];
	}
	unit = fw_slice__hex4(p + 1, end);
	p += 5;
	if (unit >= 0xd800 && unit <= 0xdbff) {
		unit = 0x10000 + ((unit - 0xd800) << 10) +
		       (fw_slice__hex4(p + 2, end) - 0xdc00);
		p += 6;
	}
	*at = p;
	return (unsigned)unit;
}

/* Of the character at `at`. Keys are compared before UTF-8 is checked, so a lead byte may be
 * followed by anything: an escape after it must not be skipped. */
static size_t character_bytes(const char *at, const char *end)
{
	const unsigned char lead = (unsigned char)*at;
	const size_t most = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
	size_t n = 1;

	while (n < most && n < (size_t)(end - at) && ((unsigned char)at[n] & 0xc0) == 0x80)
		n++;
	return n;
}

size_t fw_slice_text(struct fw_slice slice, char *ret_text, size_t size)
{
	const char *at;
	const char *end;
	size_t len = 0;
	size_t kept = 0;

	if (size)
		ret_text[0] = '\0';
	if (!fw_slice_is_string(slice))
		return 0;
	at = slice.p + 1;
	end = slice.p + slice.n - 1;
	while (at < end) {
		char character[4];
		size_t n;

		if (*at == '\\') {
			n = put_character(character, read_escape(&at, end));
		} else {
			n = character_bytes(at, end);
			memcpy(character, at, n);
			at += n;
		}
		/* Whole characters only: the rest of a text that does not fit is left out. */
		if (size && kept == len && n < size - len) {
			memcpy(ret_text + len, character, n);
			kept = len + n;
		}
		len += n;
	}
	if (size)
		ret_text[kept] = '\0';
	return len;
}

bool fw_slice__equals_decoded(struct fw_slice slice, const char *value, size_t len)
{
	char text[COMPARED_BYTES];

	return memchr(slice.p, '\\', slice.n) && len < sizeof text &&
	       fw_slice_text(slice, text, sizeof text) == len && memcmp(text, value, len) == 0;
}

bool fw_slice_is(struct fw_slice slice, const char *json)
{
	return slice.p && slice.n == strlen(json) && memcmp(slice.p, json, slice.n) == 0;
}

bool fw_slice_u64(struct fw_slice slice, unsigned long long *ret_number)
{
	unsigned long long number = 0;

	if (!slice.p || !slice.n || slice.n > 19 || (slice.n > 1 && slice.p[0] == '0'))
		return false;
	for (size_t i = 0; i < slice.n; i++) {
		if (slice.p[i] < '0' || slice.p[i] > '9')
			return false;
		number = number * 10 + (unsigned long long)(slice.p[i] - '0');
	}
	*ret_number = number;
	return true;
}

bool fw_slice_repair(char *text, size_t len)
{
	const char *end = text + len;
	bool is_repaired = false;
	char *at = text;

	while ((at = memchr(at, '\\', (size_t)(end - at)))) {
		int unit = end - at >= 6 && at[1] == 'u' ? fw_slice__hex4(at + 2, end) : -1;
		bool is_first = unit >= 0xd800 && unit <= 0xdbff;
		int other = is_first && end - at >= 12 && at[6] == '\\' && at[7] == 'u'
				    ? fw_slice__hex4(at + 8, end)
				    : -1;

		if (is_first && other >= 0xdc00 && other <= 0xdfff) {
			at += 12;
		} else if (unit >= 0xd800 && unit <= 0xdfff) {
			memcpy(at + 2, "fffd", 4);
			is_repaired = true;
			at += 6;
		} else {
			at += end - at >= 2 ? 2 : 1;
		}
	}
	return is_repaired;
}
