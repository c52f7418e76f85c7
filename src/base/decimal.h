/*
 * decimal.h - reads unsigned decimal numbers of options and query parameters.
 *
 * Only digits count: unlike strtoul(), no blanks and no sign are accepted.
 */
#ifndef FW_BASE_DECIMAL_H
#define FW_BASE_DECIMAL_H

#include <stdbool.h>
#include <stdint.h>

/* Reads the digits at `*at` and moves it after them. False: there are none, or the number
 * does not fit; then nothing has changed. */
bool fw_decimal_take(const char **at, uint64_t *ret_number);

/* Reads a text that is a number from `least` to `most` and nothing else. False: it is not;
 * then nothing has changed. */
bool fw_decimal_read(const char *text, uint64_t least, uint64_t most, uint64_t *ret_number);

#endif
