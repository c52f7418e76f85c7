/*
 * redact_url.c - credentials in addresses: scheme://user:password@host, and
 * the forms without a scheme that database drivers take.
 */
#include "core/redact_impl.h"

enum {
	USERINFO_MAX = 1024, /* bytes before the '@' of a URL */
	DSN_MAX = 128,       /* bytes before the '@' of an address without a scheme */
	HOST_MAX = 128,
	PORT_DIGITS_LEAST = 2,
	PORT_DIGITS_MAX = 5,
	AZURE_BEFORE = 5, /* bytes before the tilde: three, a digit, a Q */
	AZURE_LEAST = 30,
	USER_TOKEN_LEAST = 20, /* bytes of a name that is a token */
	USER_HEX_LEAST = 32,
};

static bool ends_url(char c)
{
	return (unsigned char)c <= ' ' || fw_is_quote(c) || c == '<' || c == '>' || c == '\\';
}

/* https://TOKEN@host: a name that no person has, as git takes it. */
static bool is_token(const char *name, size_t len)
{
	size_t upper = 0, lower = 0, digits = 0, hex = 0;

	for (size_t i = 0; i < len; i++) {
		upper += fw_is_upper(name[i]);
		lower += fw_is_lower(name[i]);
		digits += fw_is_digit(name[i]);
		hex += fw_is_digit(name[i]) || (name[i] >= 'a' && name[i] <= 'f');
	}
	return digits > 0 && ((upper > 1 && lower > 1 && len >= USER_TOKEN_LEAST) ||
			      (hex == len && lower > 0 && len >= USER_HEX_LEAST));
}

bool fw_redact__match_url(const struct fw_redact_view *v, size_t at, struct fw_redact_match *m)
{
	size_t i, colon = 0, last = 0;
	bool port = true;

	at += 3;
	if (fw_redact_at(v, at) == '[')
		return false;
	for (i = at; i < v->len && i - at < USERINFO_MAX && !ends_url(v->t[i]); i++) {
		char c = v->t[i];

		if (c == '/' || c == '?' || c == '#') {
			/* A host with a port is complete; a password may go on. */
			if (!colon || last || port)
				break;
		} else if (c == ':' && !colon) {
			colon = i;
		} else if (c == '@') {
			last = i;
		} else if (colon && !last && !fw_is_digit(c)) {
			port = false;
		}
	}
	if (last && (!colon || colon > last))
		return is_token(v->t + at, last - at) && fw_redact_take(m, at, last);
	if (!colon || last <= colon + 1)
		return false;
	return fw_redact_take(m, at, last);
}

/* @tcp(host:3306), @unix(/path), @(host) as the MySQL driver of Go has it. */
static bool is_driver_address(const struct fw_redact_view *v, size_t at)
{
	size_t i = at;

	while (fw_is_lower(fw_redact_at(v, i)) && i - at < 12)
		i++;
	return fw_redact_at(v, i) == '(';
}

/* host:3306 with an end of the address behind it. */
static bool is_host_and_port(const struct fw_redact_view *v, size_t at)
{
	size_t i = at, port;

	while (i < v->len && i - at < HOST_MAX &&
	       (fw_is_alnum(v->t[i]) || v->t[i] == '.' || v->t[i] == '-'))
		i++;
	if (i == at || fw_redact_at(v, i) != ':')
		return false;
	for (port = ++i; fw_is_digit(fw_redact_at(v, i)) && i - port <= PORT_DIGITS_MAX;)
		i++;
	return i - port >= PORT_DIGITS_LEAST && i - port <= PORT_DIGITS_MAX &&
	       !fw_redact_in_token(fw_redact_at(v, i)) && fw_redact_at(v, i) != '.';
}

static bool ends_dsn(char c)
{
	return ends_url(c) || c == '=' || c == ',' || c == ';' || c == '(' || c == '[';
}

bool fw_redact__match_dsn(const struct fw_redact_view *v, size_t at, struct fw_redact_match *m)
{
	size_t i = at, colon = 0;
	int signs = 0;
	bool is_driver = is_driver_address(v, at + 1);

	if (!is_driver && !is_host_and_port(v, at + 1))
		return false;
	/* A password may hold any sign, a name does not. */
	for (; i > v->from && at - i < DSN_MAX && signs < 3; i--) {
		char c = v->t[i - 1];

		if (ends_url(c) || (!is_driver && (c == '/' || ends_dsn(c))))
			break;
		signs += c == '@';
		if (c == ':')
			colon = i;
	}
	if (!colon || colon == at || colon - 1 == i || !fw_redact_in_token(v->t[colon - 2]))
		return false;
	return fw_redact_take(m, colon, at);
}

static bool in_azure(char c)
{
	return fw_redact_in_token(c) || c == '.' || c == '~';
}

bool fw_redact__match_azure(const struct fw_redact_view *v, size_t at,
			    struct fw_redact_match *m)
{
	size_t end = at + 1, start;

	if (at - v->from < AZURE_BEFORE || v->t[at - 1] != 'Q' || !fw_is_digit(v->t[at - 2]))
		return false;
	while (end < v->len && in_azure(v->t[end]))
		end++;
	while (end > at && v->t[end - 1] == '.')
		end--;
	if (end - at - 1 < AZURE_LEAST || !in_azure(v->t[at - 3]) || !in_azure(v->t[at - 4]) ||
	    !in_azure(v->t[at - 5]))
		return false;
	for (start = at - AZURE_BEFORE; start > v->from && in_azure(v->t[start - 1]);)
		start--;
	return fw_redact_take(m, start, end);
}
