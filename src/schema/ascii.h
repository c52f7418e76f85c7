/*
 * ascii.h - tests of ASCII characters that do not depend on the locale.
 */
#ifndef FW_SCHEMA_ASCII_H
#define FW_SCHEMA_ASCII_H

#include <stdbool.h>

static inline bool fw_schema__is_digit(char ch)
{
	return ch >= '0' && ch <= '9';
}

static inline bool fw_schema__is_alpha(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
}

/** Value of a hexadecimal digit, or -1. */
static inline int fw_schema__hex(char ch)
{
	if (fw_schema__is_digit(ch))
		return ch - '0';
	if (ch >= 'a' && ch <= 'f')
		return ch - 'a' + 10;
	return ch >= 'A' && ch <= 'F' ? ch - 'A' + 10 : -1;
}

#endif
