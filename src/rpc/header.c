/*
 * header.c - see header.h.
 */
#include "rpc/header.h"

#include <string.h>

#include "base/base64.h"
#include "base/utf8.h"

static bool is_header_text(const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if ((c < 0x20 && c != '\t') || c >= 0x7f)
			return false;
	}
	return true;
}

static bool is_base64(const char *text, size_t len)
{
	size_t body = len;

	if (len % 4 != 0)
		return false;
	while (body > 0 && len - body < 2 && text[body - 1] == '=')
		body--;
	for (size_t i = 0; i < body; i++) {
		char c = text[i];

		if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
		      (c >= '0' && c <= '9') || c == '+' || c == '/'))
			return false;
	}
	return true;
}

bool fw_header_decode(const char *value, char *buf, size_t cap, size_t *ret_len)
{
	static const char start[] = "=?base64?";
	static const char end[] = "?=";
	size_t len = strlen(value);
	size_t body;

	if (!is_header_text(value) || len >= cap)
		return false;
	if (len < sizeof start - 1 + sizeof end - 1 ||
	    memcmp(value, start, sizeof start - 1) != 0 ||
	    memcmp(value + len - 2, end, sizeof end - 1) != 0) {
		memcpy(buf, value, len + 1);
		*ret_len = len;
		return true;
	}
	body = len - (sizeof start - 1) - (sizeof end - 1);
	value += sizeof start - 1;
	if (!is_base64(value, body))
		return false;
	while (body && value[body - 1] == '=')
		body--;
	if (!fw_base64_read(value, body, (unsigned char *)buf, ret_len))
		return false;
	buf[*ret_len] = '\0';
	return fw_utf8_valid(buf, *ret_len) == *ret_len;
}

static bool is_plain(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] < ' ' || text[i] > '~')
			return false;
	return len == 0 ||
	       (text[0] != ' ' && text[len - 1] != ' ' && strncmp(text, "=?base64?", 9) != 0);
}

void fw_header_encode(const char *text, size_t len, struct fw_buf *out)
{
	size_t start;

	if (is_plain(text, len)) {
		fw_buf_put(out, text, len);
		return;
	}
	FW_BUF(out, "=?base64?");
	start = out->len;
	fw_base64url_put(out, (const unsigned char *)text, len);
	/* Headers have the usual alphabet, with padding. */
	for (size_t i = start; i < out->len; i++)
		if (out->text[i] == '-' || out->text[i] == '_')
			out->text[i] = out->text[i] == '-' ? '+' : '/';
	while (out->state == FW_BUF_OK && (out->len - start) % 4)
		FW_BUF(out, "=");
	FW_BUF(out, "?=");
}
