/*
 * printable.c - see printable.h. The ranges are those of the general category
 * Cf of Unicode 15, with the controls and separators; variation selectors and
 * combining marks stay, because text of many languages needs them.
 */
#include "base/printable.h"

#include <stdbool.h>

struct range {
	uint32_t first, last;
};

/* In order; all below U+0080 is decided by its byte. */
static const struct range
	hidden[] = {
		{ 0x0080, 0x009f }, /* C1 controls: U+009B starts an escape sequence */
		{ 0x00ad, 0x00ad }, /* soft hyphen */
		{ 0x034f, 0x034f }, /* combining grapheme joiner */
		{ 0x0600, 0x0605 }, /* Arabic number signs */
		{ 0x061c, 0x061c }, /* Arabic letter mark, which is a bidi control */
		{ 0x06dd, 0x06dd },
		{ 0x070f, 0x070f },
		{ 0x0890, 0x0891 },
		{ 0x08e2, 0x08e2 },
		{ 0x115f, 0x1160 }, /* Hangul fillers, which are blank */
		{ 0x17b4, 0x17b5 },
		{ 0x180b, 0x180f }, /* Mongolian selectors and vowel separator */
		{ 0x200b, 0x200f }, /* zero-width characters and direction marks */
		{ 0x2028, 0x202e }, /* separators of lines, bidi embeddings and overrides */
		{ 0x2060, 0x206f }, /* word joiner, invisible operators, bidi isolates */
		{ 0x3164, 0x3164 }, /* Hangul filler */
		{ 0xfeff, 0xfeff }, /* byte order mark */
		{ 0xffa0, 0xffa0 }, /* Hangul filler */
		{ 0xfff0, 0xfffb }, /* interlinear annotations */
		{ 0x110bd, 0x110bd },
		{ 0x110cd, 0x110cd },
		{ 0x13430, 0x1343f }, /* controls of hieroglyphs */
		{ 0x1bca0, 0x1bca3 }, /* controls of shorthand */
		{ 0x1d173, 0x1d17a }, /* controls of musical notation */
		{ 0xe0000, 0xe0fff }, /* tags, which spell invisible text */
	};

static bool is_hidden(uint32_t c)
{
	size_t low = 0, high = sizeof hidden / sizeof *hidden;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (c > hidden[middle].last)
			low = middle + 1;
		else if (c < hidden[middle].first)
			high = middle;
		else
			return true;
	}
	return false;
}

size_t fw_printable_char(const char *text, size_t len, uint32_t *ret_c)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned char first = (unsigned char)text[0];
	size_t need = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
	uint32_t c;

	*ret_c = first;
	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4 || need > len)
		return 0;
	c = first & (0xffu >> (need + 1));
	for (size_t i = 1; i < need; i++) {
		if (((unsigned char)text[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | ((unsigned char)text[i] & 0x3fu);
	}
	*ret_c = c;
	return c < smallest[need] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : need;
}

size_t fw_printable(const char *text, size_t len)
{
	uint32_t c;
	size_t n = len ? fw_printable_char(text, len, &c) : 0;

	if (n <= 1)
		return n && c >= 0x20 && c != 0x7f;
	return is_hidden(c) ? 0 : n;
}

size_t fw_printable_step(const char *text, size_t len)
{
	uint32_t c;
	size_t n = len ? fw_printable_char(text, len, &c) : 0;

	return n ? n : len > 0;
}
