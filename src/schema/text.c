/*
 * text.c - text written into fixed buffers.
 *
 * Reports must not allocate and must not fail, so text that does not fit is cut
 * at a character boundary and ends in "...". Bytes from a peer are made safe to
 * print, so that a report cannot send control sequences to a terminal or a log.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "schema/text.h"

static void put_raw(struct fw_schema__text *t, const char *s, size_t len)
{
	static const char dots[] = "...";

	if (t->cut)
		return;
	if (len < t->cap - t->n) {
		memcpy(t->p + t->n, s, len);
		t->n += len;
		t->p[t->n] = '\0';
		return;
	}
	t->cut = true;
	/* Fill the buffer, then overwrite its end with the dots, at the start of a
	 * character. */
	memcpy(t->p + t->n, s, t->cap - 1 - t->n);
	t->n = t->cap - sizeof dots;
	while (t->n > 0 && ((unsigned char)t->p[t->n] & 0xc0) == 0x80)
		t->n--;
	memcpy(t->p + t->n, dots, sizeof dots);
	t->n += sizeof dots - 1;
}

void fw_schema__text_put(struct fw_schema__text *t, const char *s)
{
	put_raw(t, s, strlen(s));
}

/* Length of the well-formed UTF-8 character at s, or 0. */
static size_t utf8_len(const unsigned char *s, size_t len)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;

	if (s[0] >= 0xf5 || (s[0] >= 0x80 && s[0] < 0xc2) || n > len)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

void fw_schema__text_safe(struct fw_schema__text *t, const char *s, size_t len)
{
	while (len > 0 && !t->cut) {
		size_t n = utf8_len((const unsigned char *)s, len);
		unsigned char ch = (unsigned char)*s;
		bool control = ch < 32 || ch == 127 ||
			       (ch == 0xc2 && n == 2 && (unsigned char)s[1] < 0xa0);

		if (n == 0 || control)
			put_raw(t, "?", 1);
		else
			put_raw(t, s, n);
		s += n ? n : 1;
		len -= n ? n : 1;
	}
}

void fw_schema__text_number(struct fw_schema__text *t, uint64_t v)
{
	char digits[24];

	snprintf(digits, sizeof digits, "%" PRIu64, v);
	fw_schema__text_put(t, digits);
}
