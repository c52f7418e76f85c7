/*
 * utf8.h - checking and repairing UTF-8.
 *
 * A NUL is treated as invalid: our texts are C strings, and a peer could use it to
 * hide the rest of one.
 */
#ifndef FW_BASE_UTF8_H
#define FW_BASE_UTF8_H

#include <stddef.h>

/* Length of the longest prefix that is well-formed UTF-8 (RFC 3629). */
size_t fw_utf8_valid(const char *text, size_t len);

/*
 * Why the text is not well-formed: "NUL byte", "invalid start byte", "invalid
 * continuation byte" or "unexpected end of data", and at which byte. NULL: it is.
 */
const char *fw_utf8_fault(const char *text, size_t len, size_t *ret_at);

/*
 * Copies `src` with every invalid byte replaced by U+FFFD. Writes at most `cap`
 * bytes, never part of a character, and no NUL. Returns the complete length.
 */
size_t fw_utf8_repair(char *dst, size_t cap, const char *src, size_t len);

/* Length of the longest prefix of at most `max` bytes that does not split a
 * character. */
size_t fw_utf8_cut(const char *text, size_t len, size_t max);

/* Moves behind a byte order mark at the beginning of the text. */
void fw_utf8_skip_mark(const char **text, size_t *len);

#endif
