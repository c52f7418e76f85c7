/*
 * clock.h - the current time, and time as text.
 */
#ifndef FW_BASE_CLOCK_H
#define FW_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Wall-clock time, in milliseconds since 1970; and monotonic time, in milliseconds
 * or nanoseconds since an arbitrary point. */
int64_t fw_unix_ms(void);
int64_t fw_steady_ms(void);
int64_t fw_steady_ns(void);
/* Time since the system was started, and CPU time that this process has used. */
int64_t fw_boot_ms(void);
int64_t fw_cpu_ns(void);

enum { FW_TIME_SIZE = 25 };

/* RFC 3339 in UTC with milliseconds: "2026-01-19T15:32:10.123Z". False if the year
 * does not have four digits; the text is then that of 1970. */
bool fw_time_text(int64_t unix_ms, char ret_text[FW_TIME_SIZE]);

#endif
