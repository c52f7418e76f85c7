/*
 * clock.h - what time it is, and how it is written.
 */
#ifndef FW_BASE_CLOCK_H
#define FW_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Milliseconds since 1970, as the machine thinks; and since some moment, never
 * going back. */
int64_t fw_unix_ms(void);
int64_t fw_steady_ms(void);

enum { FW_TIME_SIZE = 25 };

/* RFC 3339 in UTC with milliseconds: "2026-01-19T15:32:10.123Z". False: the year
 * has no four digits; the text is then that of 1970. */
bool fw_time_text(int64_t unix_ms, char ret_text[FW_TIME_SIZE]);

#endif
