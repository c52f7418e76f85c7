/*
 * base64.c - see base64.h.
 */
#include "base/base64.h"

void fw_base64url_put(struct fw_buf *out, const unsigned char *bytes, size_t len)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	unsigned bits = 0;
	unsigned held = 0;

	if (!fw_buf_reserve(out, len / 3 * 4 + 4))
		return;
	for (size_t i = 0; i < len; i++) {
		bits = (bits << 8 | bytes[i]) & 0xffffff;
		for (held += 8; held >= 6; held -= 6)
			out->text[out->len++] = alphabet[bits >> (held - 6) & 63];
	}
	if (held)
		out->text[out->len++] = alphabet[bits << (6 - held) & 63];
	out->text[out->len] = '\0';
}

/* Value of a character, six bits, or -1. */
static int value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '-' || c == '+')
		return 62;
	return c == '_' || c == '/' ? 63 : -1;
}

bool fw_base64_read(const char *text, size_t len, unsigned char *ret_bytes, size_t *ret_len)
{
	unsigned bits = 0;
	unsigned held = 0;
	size_t at = 0;

	for (size_t i = 0; i < len; i++) {
		int value = value_of(text[i]);

		if (value < 0)
			return false;
		bits = (bits << 6 | (unsigned)value) & 0xffffff;
		held += 6;
		if (held >= 8) {
			held -= 8;
			ret_bytes[at++] = (unsigned char)(bits >> held & 0xff);
		}
	}
	*ret_len = at;
	/* A single character has fewer than eight bits. */
	return len % 4 != 1;
}
