/*
 * ascii.h - classes of ASCII characters, independent of the locale.
 */
#ifndef FW_BASE_ASCII_H
#define FW_BASE_ASCII_H

#include <stdbool.h>
#include <stddef.h>

static inline bool fw_is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static inline bool fw_is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static inline bool fw_is_letter(char c)
{
	return fw_is_lower((char)(c | 0x20));
}

/* A character of a code's name in a slug: "tool.not_found" is "tool-not-found". */
static inline char fw_slug_char(char c)
{
	return c == '.' || c == '_' ? '-' : c;
}

static inline bool fw_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool fw_is_hex(char c)
{
	return fw_is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* Of a hexadecimal digit; -1: it is not one. */
static inline int fw_hex_value(char c)
{
	if (fw_is_digit(c))
		return c - '0';
	return fw_is_hex(c) ? (c | 0x20) - 'a' + 10 : -1;
}

static inline bool fw_is_alnum(char c)
{
	return fw_is_letter(c) || fw_is_digit(c);
}

static inline bool fw_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static inline bool fw_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline bool fw_is_quote(char c)
{
	return c == '"' || c == '\'' || c == '`';
}

/* Compares without case; `lower` is lower case. */
static inline bool fw_equals_lower(const char *text, const char *lower, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if ((fw_is_upper(c) ? (char)(c | 0x20) : c) != lower[i])
			return false;
	}
	return true;
}

#endif
