/*
 * format.c - the formats that `format` can assert: dates and times, identifiers,
 * pointers. Host names and URIs are in format_net.c.
 *
 * They are written by hand rather than as regular expressions. Most need arithmetic
 * that a pattern cannot do (days of a month, a leap second at midnight UTC), and a
 * scan over the bytes can neither backtrack nor exhaust memory.
 */
#include <string.h>

#include "base/ascii.h"
#include "schema/format.h"
#include "schema/program.h"

/* Reads exactly `n` digits at *p. */
static bool take_number(const char **p, const char *end, int n, int *ret)
{
	int v = 0;

	if (end - *p < n)
		return false;
	for (; n > 0; n--, (*p)++) {
		if (!fw_is_digit(**p))
			return false;
		v = v * 10 + (**p - '0');
	}
	*ret = v;
	return true;
}

static bool take(const char **p, const char *end, char ch)
{
	if (*p == end || **p != ch)
		return false;
	(*p)++;
	return true;
}

static bool is_date(const char *s, size_t n)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	const char *end = s + n;
	int year, month, day;
	bool leap;

	if (!take_number(&s, end, 4, &year) || !take(&s, end, '-') ||
	    !take_number(&s, end, 2, &month) || !take(&s, end, '-') ||
	    !take_number(&s, end, 2, &day) || s != end)
		return false;
	leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	return month >= 1 && month <= 12 && day >= 1 &&
	       day <= days[month - 1] + (month == 2 && leap);
}

static bool is_time(const char *s, size_t n)
{
	const char *end = s + n;
	int hour, minute, second, off_hour = 0, off_minute = 0, utc;
	char sign;

	if (!take_number(&s, end, 2, &hour) || !take(&s, end, ':') ||
	    !take_number(&s, end, 2, &minute) || !take(&s, end, ':') ||
	    !take_number(&s, end, 2, &second))
		return false;
	if (take(&s, end, '.')) {
		if (s == end || !fw_is_digit(*s))
			return false;
		while (s < end && fw_is_digit(*s))
			s++;
	}
	if (s == end)
		return false;
	sign = *s++;
	if (sign == '+' || sign == '-') {
		if (!take_number(&s, end, 2, &off_hour) || !take(&s, end, ':') ||
		    !take_number(&s, end, 2, &off_minute))
			return false;
	} else if (sign != 'Z' && sign != 'z') {
		return false;
	}
	if (s != end || hour > 23 || minute > 59 || second > 60 || off_hour > 23 ||
	    off_minute > 59)
		return false;
	if (second < 60)
		return true;
	/* A leap second is the last second of a day in UTC. */
	utc = hour * 60 + minute;
	utc += (off_hour * 60 + off_minute) * (sign == '-' ? 1 : -1);
	return (utc + 2 * 1440) % 1440 == 1439;
}

static bool is_date_time(const char *s, size_t n)
{
	return n > 11 && (s[10] == 'T' || s[10] == 't') && is_date(s, 10) &&
	       is_time(s + 11, n - 11);
}

/* Reads units in order. They must be adjacent in `units`: P1Y2D skips the month. */
static bool take_units(const char **p, const char *end, const char *units, bool *ret_any)
{
	const char *s = *p, *next = units;

	*ret_any = false;
	while (s < end && fw_is_digit(*s)) {
		const char *unit;

		while (s < end && fw_is_digit(*s))
			s++;
		if (s == end || *s == '\0')
			return false;
		unit = strchr(next, *s);
		if (!unit || (*ret_any && unit != next))
			return false;
		next = unit + 1;
		*ret_any = true;
		s++;
	}
	*p = s;
	return true;
}

static bool is_duration(const char *s, size_t n)
{
	const char *end = s + n;
	bool date, time = false;

	if (!take(&s, end, 'P'))
		return false;
	if (n > 2 && end[-1] == 'W') {
		for (; s < end - 1; s++)
			if (!fw_is_digit(*s))
				return false;
		return true;
	}
	if (!take_units(&s, end, "YMD", &date))
		return false;
	if (take(&s, end, 'T') && (!take_units(&s, end, "HMS", &time) || !time))
		return false;
	return s == end && (date || time);
}

static bool is_uuid(const char *s, size_t n)
{
	if (n != 36)
		return false;
	for (size_t i = 0; i < n; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? s[i] != '-' : fw_hex_value(s[i]) < 0)
			return false;
	}
	return true;
}

static bool is_json_pointer(const char *s, size_t n)
{
	if (n && s[0] != '/')
		return false;
	for (size_t i = 0; i < n; i++)
		if (s[i] == '~' && (i + 1 == n || (s[i + 1] != '0' && s[i + 1] != '1')))
			return false;
	return true;
}

static bool is_relative_json_pointer(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && fw_is_digit(s[i]))
		i++;
	if (i == 0 || (i > 1 && s[0] == '0'))
		return false;
	return (i + 1 == n && s[i] == '#') || is_json_pointer(s + i, n - i);
}

const struct fw_schema__format fw_schema__formats[] = {
	{ "date-time", is_date_time },
	{ "date", is_date },
	{ "time", is_time },
	{ "duration", is_duration },
	{ "email", fw_schema__is_email },
	{ "idn-email", fw_schema__is_idn_email },
	{ "hostname", fw_schema__is_hostname },
	{ "ipv4", fw_schema__is_ipv4 },
	{ "ipv6", fw_schema__is_ipv6 },
	{ "uri", fw_schema__is_uri },
	{ "uri-reference", fw_schema__is_uri_reference },
	{ "iri", fw_schema__is_iri },
	{ "iri-reference", fw_schema__is_iri_reference },
	{ "uri-template", fw_schema__is_uri_template },
	{ "uuid", is_uuid },
	{ "json-pointer", is_json_pointer },
	{ "relative-json-pointer", is_relative_json_pointer },
	{ "regex", NULL },
};

uint32_t fw_schema__format_find(const char *name, size_t len)
{
	uint32_t i;

	for (i = 0; i < sizeof fw_schema__formats / sizeof *fw_schema__formats; i++)
		if (strlen(fw_schema__formats[i].name) == len &&
		    !memcmp(fw_schema__formats[i].name, name, len))
			return i;
	return FW_SCHEMA__NONE;
}
