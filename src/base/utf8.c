/*
 * utf8.c - see utf8.h.
 *
 * Messages are nearly always ASCII, so that is tested a word at a time. Other bytes
 * are checked with the table of well-formed sequences in the Unicode standard.
 */
#include "base/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Length of the well-formed character at `s`, or 0. */
static size_t character(const unsigned char *s, size_t len)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t need;

	if (s[0] < 0x80)
		return s[0] ? 1 : 0;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		need = 2;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		need = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		need = 4;
	else
		return 0;
	if (len < need)
		return 0;
	if (s[0] == 0xe0)
		low = 0xa0; /* overlong */
	else if (s[0] == 0xed)
		high = 0x9f; /* surrogates */
	else if (s[0] == 0xf0)
		low = 0x90; /* overlong */
	else if (s[0] == 0xf4)
		high = 0x8f; /* beyond U+10FFFF */
	if (s[1] < low || s[1] > high)
		return 0;
	for (size_t i = 2; i < need; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return need;
}

/* Are all eight bytes ASCII, without a NUL? */
static inline bool is_plain(const unsigned char *s)
{
	uint64_t word;

	memcpy(&word, s, sizeof(word));
	return ((word | (word - UINT64_C(0x0101010101010101))) &
		UINT64_C(0x8080808080808080)) == 0;
}

size_t fw_utf8_valid(const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t at = 0;

	while (at < len) {
		size_t step;

		while (len - at >= 8 && is_plain(s + at))
			at += 8;
		/* Test the last bytes again together with those before them. */
		if (at == len || (len >= 8 && len - at < 8 && is_plain(s + len - 8)))
			return len;
		step = character(s + at, len - at);
		if (!step)
			break;
		at += step;
	}
	return at;
}

const char *fw_utf8_fault(const char *text, size_t len, size_t *ret_at)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t at = fw_utf8_valid(text, len);
	size_t need;

	*ret_at = at;
	if (at == len)
		return NULL;
	if (s[at] == 0)
		return "NUL byte";
	if (s[at] < 0xc2 || s[at] > 0xf4)
		return "invalid start byte";
	need = s[at] < 0xe0 ? 2 : s[at] < 0xf0 ? 3 : 4;
	/* Complete the character with bytes that may follow: is the end the only fault? */
	if (len - at < need) {
		unsigned char whole[4] = { s[at], 0xa0, 0x80, 0x80 };

		if (s[at] == 0xed || s[at] == 0xf4)
			whole[1] = 0x80;
		memcpy(whole, s + at, len - at);
		if (character(whole, need) == need)
			return "unexpected end of data";
	}
	return "invalid continuation byte";
}

size_t fw_utf8_repair(char *dst, size_t cap, const char *src, size_t len)
{
	static const char replacement[] = "\xef\xbf\xbd";
	size_t at = 0, total = 0;

	while (at < len) {
		size_t run = fw_utf8_valid(src + at, len - at);
		size_t fits = total < cap ? fw_utf8_cut(src + at, run, cap - total) : 0;

		if (fits)
			memcpy(dst + total, src + at, fits);
		total += run;
		at += run;
		if (at == len)
			break;
		if (total + 3 <= cap)
			memcpy(dst + total, replacement, 3);
		total += 3;
		at++;
	}
	return total;
}

size_t fw_utf8_cut(const char *text, size_t len, size_t max)
{
	size_t cut = max;

	if (len <= max)
		return len;
	while (cut > 0 && ((unsigned char)text[cut] & 0xc0) == 0x80)
		cut--;
	return cut;
}
