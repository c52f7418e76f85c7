/*
 * printable.h - which characters of untrusted text may be shown on a terminal.
 *
 * Characters that move the cursor, start an escape sequence, reverse the direction of the
 * line, end the line or are invisible are not shown: C0 and C1 controls, bidirectional
 * controls, zero-width and other format characters, line and paragraph separators, and
 * invalid UTF-8.
 */
#ifndef FW_BASE_PRINTABLE_H
#define FW_BASE_PRINTABLE_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the first character if it may be shown, else 0. */
size_t fw_printable(const char *text, size_t len);

/* The first character and its bytes; 0 where it is not UTF-8. `len` is at least 1. */
size_t fw_printable_char(const char *text, size_t len, uint32_t *ret_c);

/* Bytes of the first character, or 1 where it is not UTF-8; for skipping it. */
size_t fw_printable_step(const char *text, size_t len);

#endif
