/*
 * date.h - dates of commits as text.
 */
#ifndef FW_TOOLS_CODE_DATE_H
#define FW_TOOLS_CODE_DATE_H

#include <stdint.h>

enum { FW_CODE_DATE_SIZE = 48 };

/* As git writes it with %aI, in the time zone of the author: "2025-11-08T13:05:00+01:00", and
 * "Z" for UTC. `zone` is that of the commit: 130 is +0130. */
void fw_code_date(int64_t time, int zone, char ret_text[FW_CODE_DATE_SIZE]);

#endif
