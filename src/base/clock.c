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

int64_t fw_boot_ms(void)
{
	return read_ms(CLOCK_BOOTTIME);
}

static int64_t read_ns(clockid_t clock)
{
	struct timespec now = { 0 };

	(void)clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t fw_steady_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

int64_t fw_cpu_ns(void)
{
	return read_ns(CLOCK_PROCESS_CPUTIME_ID);
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

/* False: the year has not four digits, and the text is that of second 0. */
static bool put_second(char *to, int64_t second)
{
	int64_t day = second / 86400;
	int64_t rest = second % 86400;
	bool is_known;

	if (rest < 0) {
		rest += 86400;
		day--;
	}
	/* 0000-03-01 to 9999-12-31 */
	is_known = day >= -719468 && day <= 2932896;
	if (!is_known)
		day = rest = 0;
	put_date(to, day);
	put_two(to + 11, (unsigned)rest / 3600);
	put_two(to + 14, (unsigned)rest / 60 % 60);
	put_two(to + 17, (unsigned)rest % 60);
	return is_known;
}

bool fw_time_text(int64_t unix_ms, char ret_text[FW_TIME_SIZE])
{
	/* Everything but the milliseconds is formatted once per second. */
	static _Thread_local struct {
		int64_t second;
		char text[FW_TIME_SIZE];
	} known = { 0, "1970-01-01T00:00:00.000Z" };
	int64_t second = unix_ms / 1000;
	unsigned ms;

	if (unix_ms < second * 1000)
		second--;
	if (second != known.second) {
		if (!put_second(known.text, second))
			second = 0;
		known.second = second;
	}
	ms = (unsigned)(unix_ms - second * 1000);
	/* A time outside of what can be written is that of 1970. */
	if (ms > 999)
		ms = 0;
	memcpy(ret_text, known.text, FW_TIME_SIZE);
	ret_text[20] = (char)('0' + ms / 100);
	put_two(ret_text + 21, ms % 100);
	return known.second * 1000 + ms == unix_ms;
}
