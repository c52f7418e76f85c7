/*
 * raw_http.c - failed HTTP requests, and the Retry-After header.
 *
 * The classes are those of the toolerror contract: 4xx is the fault of the caller;
 * 408, 429 and 5xx can be retried; and each status maps to the code that fits best.
 * The date is parsed here and not by strptime(), which depends on the locale and does
 * not know the three forms of RFC 9110, section 5.6.7.
 */
#include "core/raw_impl.h"

#include <faultwire/raise.h>
#include <faultwire/raw.h>
#include <stdio.h>
#include <string.h>

/* ---- Retry-After ---- */

enum { DIGITS_MAX = 15 }; /* of a delay: such numbers are exact as doubles */

/* A text being parsed; `ok` becomes false at the first syntax error. */
struct reader {
	const char *at, *end;
	bool ok;
};

static void expect(struct reader *r, const char *text)
{
	size_t len = strlen(text);

	if ((size_t)(r->end - r->at) < len || memcmp(r->at, text, len) != 0)
		r->ok = false;
	else
		r->at += len;
}

/* Reads exactly `digits` digits; `padded`: the first may be a space. */
static int number(struct reader *r, int digits, bool padded)
{
	int value = 0;

	if (r->end - r->at < digits) {
		r->ok = false;
		return 0;
	}
	for (int i = 0; i < digits; i++, r->at++) {
		if (padded && i == 0 && *r->at == ' ')
			continue;
		if (*r->at < '0' || *r->at > '9')
			r->ok = false;
		value = value * 10 + (*r->at - '0');
	}
	return value;
}

/* Reads one of the names and returns its index; on failure 0, and `ok` is false. */
static int name(struct reader *r, const char *const *names, int count)
{
	for (int i = 0; i < count; i++) {
		size_t len = strlen(names[i]);

		if ((size_t)(r->end - r->at) >= len && memcmp(r->at, names[i], len) == 0) {
			r->at += len;
			return i;
		}
	}
	r->ok = false;
	return 0;
}

struct date {
	int year, month, day, hour, minute, second; /* month from 0 */
};

static int month(struct reader *r)
{
	static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
					      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };

	return name(r, months, 12);
}

static void clock_time(struct reader *r, struct date *date)
{
	date->hour = number(r, 2, false);
	expect(r, ":");
	date->minute = number(r, 2, false);
	expect(r, ":");
	date->second = number(r, 2, false);
}

/* Days from 1970-01-01, by Howard Hinnant's days_from_civil. */
static int64_t days_of(int year, int month_from_0, int day)
{
	int64_t y = month_from_0 < 2 ? year - 1 : year;
	int64_t era = (y >= 0 ? y : y - 399) / 400;
	int64_t year_of_era = y - era * 400;
	int64_t day_of_year = (153 * ((month_from_0 + 10) % 12) + 2) / 5 + day - 1;

	return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 +
	       day_of_year - 719468;
}

static bool is_valid(const struct date *d)
{
	int next_month = (d->month + 1) % 12, next_year = d->year + (d->month == 11);
	int64_t length = days_of(next_year, next_month, 1) - days_of(d->year, d->month, 1);

	return d->day >= 1 && d->day <= length && d->hour < 24 && d->minute < 60 &&
	       d->second <= 60;
}

/* A year of two digits is the one that is at most 50 years in the future. */
static int full_year(int two_digits, int64_t now_unix_ms)
{
	int64_t now_year = 1970 + now_unix_ms / 31556952000;
	int64_t year = now_year - now_year % 100 + two_digits;

	if (year > now_year + 50)
		year -= 100;
	else if (year <= now_year - 50)
		year += 100;
	return (int)year;
}

/* Sun, 06 Nov 1994 08:49:37 GMT; Sunday, 06-Nov-94 08:49:37 GMT;
 * Sun Nov  6 08:49:37 1994 */
static bool read_date(struct reader *r, int64_t now_unix_ms, struct date *date)
{
	static const char *const days[] = { "Sunday",   "Monday", "Tuesday",  "Wednesday",
					    "Thursday", "Friday", "Saturday", "Sun",
					    "Mon",      "Tue",    "Wed",      "Thu",
					    "Fri",      "Sat" };
	bool is_long = name(r, days, 14) < 7;

	if (r->ok && !is_long && r->at < r->end && *r->at == ' ') {
		expect(r, " ");
		date->month = month(r);
		expect(r, " ");
		date->day = number(r, 2, true);
		expect(r, " ");
		clock_time(r, date);
		expect(r, " ");
		date->year = number(r, 4, false);
	} else {
		const char *separator = is_long ? "-" : " ";

		expect(r, ", ");
		date->day = number(r, 2, false);
		expect(r, separator);
		date->month = month(r);
		expect(r, separator);
		date->year = number(r, is_long ? 2 : 4, false);
		if (is_long)
			date->year = full_year(date->year, now_unix_ms);
		expect(r, " ");
		clock_time(r, date);
		expect(r, " GMT");
	}
	return r->ok && r->at == r->end && is_valid(date);
}

/* "120", and also "0.5", which is invalid but is sent by some servers. */
static bool read_seconds(struct reader *r, double *ret_seconds)
{
	double value = 0, unit = 1;
	const char *start = r->at;
	bool fraction = false;

	if (r->end - start > DIGITS_MAX)
		return false;
	for (; r->at < r->end; r->at++) {
		if (*r->at == '.' && !fraction && r->at > start && r->at + 1 < r->end) {
			fraction = true;
			continue;
		}
		if (*r->at < '0' || *r->at > '9')
			return false;
		value = value * 10 + (*r->at - '0');
		unit *= fraction ? 10 : 1;
	}
	*ret_seconds = value / unit;
	return r->at > start;
}

double fw_retry_after_parse(const char *header, int64_t now_unix_ms)
{
	struct reader r = { header, header, true };
	struct date date;
	double seconds;
	int64_t then_ms;

	if (!header)
		return -1;
	r.end = header + strlen(header);
	while (r.at < r.end && (*r.at == ' ' || *r.at == '\t'))
		r.at++;
	while (r.end > r.at && (r.end[-1] == ' ' || r.end[-1] == '\t'))
		r.end--;
	if (r.at < r.end && *r.at >= '0' && *r.at <= '9')
		return read_seconds(&r, &seconds) ? seconds : -1;
	if (!read_date(&r, now_unix_ms, &date))
		return -1;
	then_ms = (((days_of(date.year, date.month, date.day) * 24 + date.hour) * 60 +
		    date.minute) *
			   60 +
		   date.second) *
		  1000;
	/* Parsed years have four digits, so only `now` can be out of range. */
	if (now_unix_ms >= then_ms)
		return 0;
	return now_unix_ms < 0 ? (double)then_ms / 1000 - (double)now_unix_ms / 1000
			       : (double)(then_ms - now_unix_ms) / 1000;
}

/* ---- statuses ---- */

struct status_row {
	int status;
	int code;
	const char *phrase;
	const char *expected; /* what the request should have been, for 4xx */
};

static const struct status_row statuses[] = {
	{ 400, FW_INPUT_INVALID_VALUE, "Bad Request", "valid" },
	{ 401, FW_AUTH_UNAUTHORIZED, "Unauthorized", NULL },
	{ 402, FW_INPUT_INVALID_VALUE, "Payment Required", "paid for" },
	{ 403, FW_AUTH_FORBIDDEN, "Forbidden", NULL },
	{ 404, FW_RESOURCE_NOT_FOUND, "Not Found", NULL },
	{ 405, FW_INPUT_INVALID_VALUE, "Method Not Allowed", "of another method" },
	{ 406, FW_INPUT_INVALID_VALUE, "Not Acceptable", "content with another media type" },
	{ 407, FW_INPUT_INVALID_VALUE, "Proxy Authentication Required",
	  "authenticated to the proxy" },
	{ 408, FW_TRANSPORT_TIMEOUT, "Request Timeout", NULL },
	{ 409, FW_RESOURCE_CONFLICT, "Conflict", NULL },
	{ 410, FW_RESOURCE_NOT_FOUND, "Gone", NULL },
	{ 411, FW_INPUT_INVALID_VALUE, "Length Required", "sent with its length" },
	{ 412, FW_RESOURCE_CONFLICT, "Precondition Failed", NULL },
	{ 413, FW_INPUT_INVALID_VALUE, "Content Too Large", "smaller" },
	{ 414, FW_INPUT_INVALID_VALUE, "URI Too Long", "sent to a shorter URI" },
	{ 415, FW_INPUT_INVALID_VALUE, "Unsupported Media Type", "of another media type" },
	{ 416, FW_INPUT_INVALID_VALUE, "Range Not Satisfiable", "for a range that exists" },
	{ 417, FW_INPUT_INVALID_VALUE, "Expectation Failed", "free of expectations" },
	{ 418, FW_INPUT_INVALID_VALUE, "I'm a Teapot", "valid" },
	{ 421, FW_INPUT_INVALID_VALUE, "Misdirected Request", "sent to another server" },
	{ 422, FW_INPUT_INVALID_VALUE, "Unprocessable Content", "valid" },
	{ 423, FW_INPUT_INVALID_VALUE, "Locked", "for a resource that is not locked" },
	{ 424, FW_INPUT_INVALID_VALUE, "Failed Dependency", "repeated whole" },
	{ 425, FW_INPUT_INVALID_VALUE, "Too Early", "sent after the handshake" },
	{ 426, FW_INPUT_INVALID_VALUE, "Upgrade Required", "of another protocol" },
	{ 428, FW_INPUT_INVALID_VALUE, "Precondition Required", "conditional" },
	{ 429, FW_UPSTREAM_RATE_LIMITED, "Too Many Requests", NULL },
	{ 431, FW_INPUT_INVALID_VALUE, "Request Header Fields Too Large",
	  "sent with smaller headers" },
	{ 451, FW_INPUT_INVALID_VALUE, "Unavailable For Legal Reasons", "allowed by law" },
	{ 500, FW_DEPENDENCY_UNAVAILABLE, "Internal Server Error", NULL },
	{ 501, FW_DEPENDENCY_UNAVAILABLE, "Not Implemented", NULL },
	{ 502, FW_DEPENDENCY_UNAVAILABLE, "Bad Gateway", NULL },
	{ 503, FW_DEPENDENCY_UNAVAILABLE, "Service Unavailable", NULL },
	{ 504, FW_TRANSPORT_TIMEOUT, "Gateway Timeout", NULL },
	{ 505, FW_DEPENDENCY_UNAVAILABLE, "HTTP Version Not Supported", NULL },
	{ 506, FW_DEPENDENCY_UNAVAILABLE, "Variant Also Negotiates", NULL },
	{ 507, FW_DEPENDENCY_UNAVAILABLE, "Insufficient Storage", NULL },
	{ 508, FW_DEPENDENCY_UNAVAILABLE, "Loop Detected", NULL },
	{ 510, FW_DEPENDENCY_UNAVAILABLE, "Not Extended", NULL },
	{ 511, FW_DEPENDENCY_UNAVAILABLE, "Network Authentication Required", NULL },
};

static struct status_row row_of(int status)
{
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		if (statuses[i].status == status)
			return statuses[i];
	if (status < 500)
		return (struct status_row){ status, FW_INPUT_INVALID_VALUE, "client error",
					    "valid" };
	return (struct status_row){ status, FW_DEPENDENCY_UNAVAILABLE, "server error", NULL };
}

static fw_error *raise_status(fw_src at, const struct status_row *row, const char *what)
{
	char text[256];

	switch (row->code) {
	case FW_INPUT_INVALID_VALUE:
		(void)snprintf(text, sizeof(text), "%s (HTTP %d from %s)", row->expected,
			       row->status, what);
		return fw_raise_input_invalid_value_at(at, "request", text);
	case FW_AUTH_FORBIDDEN:
		(void)snprintf(text, sizeof(text), "use %s", what);
		return fw_raise_auth_forbidden_at(at, text);
	default: return fw__raw_raise(at, row->code, what, row->phrase);
	}
}

fw_error *fw_error_from_http(fw_src at, int status, const char *retry_after,
			     int64_t now_unix_ms, const char *what)
{
	struct status_row row;
	char code[24];
	fw_error *err;

	(void)snprintf(code, sizeof(code), "HTTP %d", status);
	if (status < 400 || status > 599) {
		err = fw_raise_internal_unexpected_at(at, NULL);
		fw_error_add_cause(err, "not the status of a failure", code, "http");
		return err;
	}
	row = row_of(status);
	err = raise_status(at, &row, what ? what : "server");
	fw_error_set_status(err, status);
	fw_error_set_origin(err, FW_ORIGIN_UPSTREAM);
	fw_error_set_delivery(err, FW_REPLIED);
	if (fw_error_retry(err) == FW_RETRY_BACKOFF)
		fw_error_set_retry_after(err, fw_retry_after_parse(retry_after, now_unix_ms));
	fw_error_add_cause(err, row.phrase, code, "http");
	return err;
}
