/*
 * stamp.c - random bytes are fetched for 256 ids at a time: a million lines
 * must not mean a million system calls.
 */
#include "stamp.h"
#include "base/clock.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum { ID_BYTES = 16, POOL_BYTES = 256 * ID_BYTES };

static void random_bytes(unsigned char *ret_bytes)
{
	static unsigned char pool[POOL_BYTES];
	static size_t left;

	while (left < ID_BYTES) {
		ssize_t n = getrandom(pool, sizeof pool, 0);

		/* It fails on no kernel that we run on; an id that repeats is still
		 * better than no answer, so the clock steps in. */
		if (n < 0 && errno != EINTR) {
			struct timespec now = { 0 };

			(void)clock_gettime(CLOCK_MONOTONIC, &now);
			memcpy(pool, &now, sizeof now < ID_BYTES ? sizeof now : ID_BYTES);
			n = ID_BYTES;
		}
		left = n < 0 ? 0 : (size_t)n;
	}
	left -= ID_BYTES;
	memcpy(ret_bytes, pool + left, ID_BYTES);
}

void cli_incident_id(int64_t unix_ms, char ret_id[CLI_INCIDENT_ID_SIZE])
{
	static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";
	unsigned char bytes[ID_BYTES];
	time_t seconds = (time_t)(unix_ms / 1000);
	struct tm day = { 0 };
	unsigned bits = 0;
	unsigned held = 0; /* how many of `bits` are not written yet */
	size_t at;

	(void)gmtime_r(&seconds, &day);
	at = strftime(ret_id, CLI_INCIDENT_ID_SIZE, "inc_%Y%m%d_", &day);
	random_bytes(bytes);
	for (size_t i = 0; i < sizeof bytes; i++) {
		bits = bits << 8 | bytes[i];
		for (held += 8; held >= 5 && at < CLI_INCIDENT_ID_SIZE - 1; held -= 5)
			ret_id[at++] = alphabet[bits >> (held - 5) & 31];
	}
	if (held > 0 && at < CLI_INCIDENT_ID_SIZE - 1)
		ret_id[at++] = alphabet[bits << (5 - held) & 31];
	ret_id[at] = '\0';
}

void cli_stamp_fill(const cli_stamp *stamp, fw_error *err)
{
	int64_t unix_ms = stamp->unix_ms;
	char id[CLI_INCIDENT_ID_SIZE];

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
	cli_incident_id(unix_ms, id);
	fw_error_set_incident_id(err, id);
}

/* ---- reading a time ----------------------------------------------------- */

/* `digits` decimal digits, at most `most`; -1 where they are not there. */
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
