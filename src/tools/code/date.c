/*
 * date.c - see date.h.
 */
#include "tools/code/date.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ZONE_MOST = 2400 };

/* The years 1 to 9998. */
static const int64_t first_s = -62135510400, last_s = 253370764800;

void fw_code_date(int64_t time, int zone, char ret_text[FW_CODE_DATE_SIZE])
{
	/* A commit can have any number here. One that is not a date is shown as 1970. */
	bool is_date =
		time >= first_s && time <= last_s && zone > -ZONE_MOST && zone < ZONE_MOST;
	int away = is_date ? abs(zone) : 0;
	int minutes = away / 100 * 60 + away % 100;
	int64_t shift = (zone < 0 ? -1 : 1) * (int64_t)minutes * 60;
	time_t local = is_date ? (time_t)(time + shift) : 0;
	struct tm parts;
	size_t len;

	if (!gmtime_r(&local, &parts))
		memset(&parts, 0, sizeof parts);
	len = strftime(ret_text, FW_CODE_DATE_SIZE, "%Y-%m-%dT%H:%M:%S", &parts);
	if (minutes)
		(void)snprintf(ret_text + len, FW_CODE_DATE_SIZE - len, "%c%02d:%02d",
			       zone < 0 ? '-' : '+', away / 100 % 100, away % 100);
	else
		(void)snprintf(ret_text + len, FW_CODE_DATE_SIZE - len, "Z");
}
