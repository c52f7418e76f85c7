/*
 * utf8.h - is it UTF-8, and if not, make it so.
 *
 * A NUL counts as ill-formed: texts of ours are C strings to whoever reads
 * them, and a peer could hide the rest of one behind it.
 */
#ifndef FW_BASE_UTF8_H
#define FW_BASE_UTF8_H

#include <stddef.h>

/* How many bytes from the start are well-formed UTF-8 (RFC 3629). */
size_t fw_utf8_valid(const char *text, size_t len);

/*
 * Copy `src` with every ill-formed byte replaced by U+FFFD. Writes at most
 * `cap` bytes, never part of a character, no NUL; returns what all would take.
 */
size_t fw_utf8_repair(char *dst, size_t cap, const char *src, size_t len);

/* The longest prefix of at most `max` bytes that does not split a character. */
size_t fw_utf8_cut(const char *text, size_t len, size_t max);

#endif
