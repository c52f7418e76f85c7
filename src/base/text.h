/*
 * text.h - a text as pointer and length: from our own tables, or from a peer.
 *
 * The one rule to remember: JSON strings of a peer may contain NULs, so that strlen() and
 * strcmp() see another text than the peer sent. So read them with fw_text_of(), and make
 * C strings of them only with fw_text_str(), which refuses NULs; test/checks/banned finds
 * other ways.
 */
#ifndef FW_BASE_TEXT_H
#define FW_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <yyjson.h>

/* A NUL follows the last character; p NULL means none. */
struct fw_text {
	const char *p;
	size_t n;
};

/* A JSON string; none if the value is NULL or of another type. */
static inline struct fw_text fw_text_of(yyjson_val *value)
{
	const char *p = yyjson_get_str(value);

	/* A number that is kept as text has a length as well. */
	return (struct fw_text){ p, p ? yyjson_get_len(value) : 0 };
}

static inline bool fw__text_is(struct fw_text text, const char *other, size_t len)
{
	return text.p && text.n == len && memcmp(text.p, other, len) == 0;
}

/* `known` is a C string of our own. */
static inline bool fw_text_is(struct fw_text text, const char *known)
{
	return fw__text_is(text, known, strlen(known));
}

static inline bool fw_text_starts(struct fw_text text, const char *known)
{
	size_t len = strlen(known);

	return text.p && text.n >= len && memcmp(text.p, known, len) == 0;
}

static inline bool fw_text_has_nul(struct fw_text text)
{
	return text.n && memchr(text.p, '\0', text.n);
}

/* As a C string; NULL if there is none or a NUL is inside. */
static inline const char *fw_text_str(struct fw_text text)
{
	return fw_text_has_nul(text) ? NULL : text.p;
}

#endif
