/*
 * stamp.c - see stamp.h.
 */
#include "base/clock.h"
#include "base/decimal.h"
#include "base/id.h"
#include "cli/stamp.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void cli_stamp_fill(const cli_stamp *stamp, fw_error *err)
{
	int64_t unix_ms = stamp->unix_ms;
	char id[FW_INCIDENT_ID_SIZE];

	if (!stamp->fixed)
		unix_ms = fw_unix_ms();
	if (!fw_error_timestamp(err))
		fw_error_set_time(err, unix_ms);
	if (fw_error_incident_id(err))
		return;
	if (stamp->incident_id) {
		fw_error_set_incident_id(err, stamp->incident_id);
		return;
	}
	fw_incident_id(unix_ms, id);
	fw_error_set_incident_id(err, id);
}

/* ---- reading a time ----------------------------------------------------- */

/* Reads `digits` decimal digits, a value of at most `most`; -1 if invalid. */
static int number(const char **at, int digits, int most)
{
	int value = 0;

	for (int i = 0; i < digits; i++) {
		if (!isdigit((unsigned char)**at))
			return -1;
		value = value * 10 + (*(*at)++ - '0');
	}
	return value <= most ? value : -1;
}

static bool one_of(const char **at, const char *set)
{
	if (**at == '\0' || !strchr(set, **at))
		return false;
	(*at)++;
	return true;
}

/* "Z", "+02:00": minutes east of Greenwich. */
static bool offset(const char **at, int *ret_minutes)
{
	bool west;
	int hours, minutes;

	*ret_minutes = 0;
	if (one_of(at, "Zz"))
		return true;
	west = **at == '-';
	if (!one_of(at, "+-") || (hours = number(at, 2, 23)) < 0 || !one_of(at, ":") ||
	    (minutes = number(at, 2, 59)) < 0)
		return false;
	*ret_minutes = (hours * 60 + minutes) * (west ? -1 : 1);
	return true;
}

bool cli_time_read(const char *text, int64_t *ret_unix_ms)
{
	static const int month_days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	const char *at = text;
	int year, month, day, hour, minute, second, east, longest;
	int ms = 0;
	struct tm parts = { 0 };

	if ((year = number(&at, 4, 9999)) < 0 || !one_of(&at, "-") ||
	    (month = number(&at, 2, 12)) < 1 || !one_of(&at, "-") ||
	    (day = number(&at, 2, 31)) < 1 || !one_of(&at, "Tt ") ||
	    (hour = number(&at, 2, 23)) < 0 || !one_of(&at, ":") ||
	    (minute = number(&at, 2, 59)) < 0 || !one_of(&at, ":") ||
	    (second = number(&at, 2, 59)) < 0)
		return false;
	longest = month_days[month - 1];
	if (month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0))
		longest = 29;
	if (day > longest)
		return false;
	if (one_of(&at, ".")) {
		int weight = 100;

		if (!isdigit((unsigned char)*at))
			return false;
		for (; isdigit((unsigned char)*at); at++, weight /= 10)
			ms += (*at - '0') * weight;
	}
	if (!offset(&at, &east) || *at != '\0')
		return false;

	parts = (struct tm){ .tm_year = year - 1900,
			     .tm_mon = month - 1,
			     .tm_mday = day,
			     .tm_hour = hour,
			     .tm_min = minute,
			     .tm_sec = second };
	*ret_unix_ms = ((int64_t)timegm(&parts) - (int64_t)east * 60) * 1000 + ms;
	return true;
}

bool cli_duration_read(const char *text, uint64_t most, int64_t *ret_ms)
{
	static const struct {
		const char *unit;
		int64_t ms;
	} units[] = { { "s", 1000 }, { "m", 60000 }, { "h", 3600000 }, { "d", 86400000 } };
	uint64_t count;

	if (!fw_decimal_take(&text, &count) || count > most)
		return false;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strcmp(text, units[i].unit) == 0) {
			*ret_ms = (int64_t)count * units[i].ms;
			return true;
		}
	return false;
}

bool cli_ago_read(const char *text, uint64_t most, int64_t *ret_unix_ms)
{
	int64_t ms;

	if (!cli_duration_read(text, most, &ms))
		return false;
	*ret_unix_ms = fw_unix_ms() - ms;
	return true;
}
