/*
 * date.h - dates of commits as text.
 */
#ifndef FW_TOOLS_CODE_DATE_H
#define FW_TOOLS_CODE_DATE_H

#include <stdint.h>

enum { FW_CODE_DATE_SIZE = 48 };

/* Writes the date as git does for %aI, in the author's time zone:
 * "2025-11-08T13:05:00+01:00", and "Z" for UTC. `zone` is as in the commit: 130 is +0130. */
void fw_code_date(int64_t time, int zone, char ret_text[FW_CODE_DATE_SIZE]);

#endif
