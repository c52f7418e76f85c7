/*
 * text.h - a text and how long it is, for what is written far more often than
 * it is made.
 */
#ifndef FW_CORE_TEXT_H
#define FW_CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* NUL-terminated; p NULL means none. */
struct fw_text {
	const char *p;
	size_t n;
};

static inline bool fw__text_is(struct fw_text text, const char *other, size_t len)
{
	return text.p && text.n == len && __builtin_memcmp(text.p, other, len) == 0;
}

#endif
