/*
 * clock.c - see clock.h.
 */
#include "base/clock.h"

#include <string.h>
#include <time.h>

static int64_t read_ms(clockid_t clock)
{
	struct timespec now = { 0 };

	(void)clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t fw_unix_ms(void)
{
	return read_ms(CLOCK_REALTIME);
}

int64_t fw_steady_ms(void)
{
	return read_ms(CLOCK_MONOTONIC);
}

int64_t fw_steady_ns(void)
{
	struct timespec now = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void put_two(char *to, unsigned value)
{
	to[0] = (char)('0' + value / 10);
	to[1] = (char)('0' + value % 10);
}

/* Converts days since 1970-01-01 to a date. It counts eras of 400 years that begin
 * on the first of March, so that the leap day is the last day of a year. */
static void put_date(char *to, int64_t day)
{
	int64_t shifted = day + 719468, era = shifted / 146097;
	unsigned of_era = (unsigned)(shifted % 146097);
	unsigned year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	unsigned of_year = of_era - (365 * year + year / 4 - year / 100);
	unsigned month = (5 * of_year + 2) / 153;

	put_two(to + 8, of_year - (153 * month + 2) / 5 + 1);
	put_two(to + 5, month < 10 ? month + 3 : month - 9);
	year += (unsigned)(era * 400) + (month >= 10);
	put_two(to, year / 100);
	put_two(to + 2, year % 100);
}

bool fw_time_text(int64_t unix_ms, char ret_text[FW_TIME_SIZE])
{
	/* The date is formatted once per day. */
	static _Thread_local char known[FW_TIME_SIZE] = "1970-01-01T00:00:00.000Z";
	static _Thread_local int64_t known_day;
	const int64_t day_ms = 86400000;
	int64_t day = unix_ms / day_ms, rest = unix_ms % day_ms;
	bool is_known;
	unsigned ms;

	if (rest < 0) {
		rest += day_ms;
		day--;
	}
	/* Years with four digits: 0000-03-01 to 9999-12-31. */
	is_known = day >= -719468 && day <= 2932896;
	ms = is_known ? (unsigned)rest : 0;
	if (day != known_day) {
		put_date(known, is_known ? day : 0);
		known_day = is_known ? day : 0;
	}
	memcpy(ret_text, known, FW_TIME_SIZE);
	put_two(ret_text + 11, ms / 3600000);
	put_two(ret_text + 14, ms / 60000 % 60);
	put_two(ret_text + 17, ms / 1000 % 60);
	ret_text[20] = (char)('0' + ms / 100 % 10);
	put_two(ret_text + 21, ms % 100);
	return is_known;
}
