/*
 * date.c - see date.h.
 */
#include "tools/code/date.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void fw_code_date(int64_t time, int zone, char ret_text[FW_CODE_DATE_SIZE])
{
	int away = abs(zone);
	int minutes = away / 100 * 60 + away % 100;
	time_t local = (time_t)(time + (zone < 0 ? -1 : 1) * (int64_t)minutes * 60);
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
