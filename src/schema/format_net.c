/*
 * format_net.c - network formats: hosts, addresses, e-mail, URIs.
 *
 * Only the grammar is checked, by RFC 1123, 2673, 4291, 5321, 3986, 3987 and 6570.
 * Labels in Punycode are treated as letters and digits. Whether they decode to
 * characters that IDNA 2008 permits would need Unicode tables, and a validator does
 * not resolve host names.
 */
#include <string.h>

#include "base/ascii.h"
#include "schema/format.h"

static bool is_alnum(char ch)
{
	return fw_is_letter(ch) || fw_is_digit(ch);
}

/* Is there a complete %XX at s? */
static bool is_escape(const char *s, const char *end)
{
	return end - s >= 3 && *s == '%' && fw_hex_value(s[1]) >= 0 && fw_hex_value(s[2]) >= 0;
}

static bool is_high(char ch)
{
	return (unsigned char)ch >= 0x80;
}

static bool is_one_of(char ch, const char *set)
{
	return ch && strchr(set, ch);
}

static bool is_host(const char *s, size_t n, bool idn)
{
	size_t label = 0;

	if (n == 0 || n > 253)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '.') {
			if (label == 0 || s[i - 1] == '-')
				return false;
			label = 0;
			continue;
		}
		if (!(is_alnum(s[i]) || (idn && is_high(s[i])) || (s[i] == '-' && label > 0)))
			return false;
		/* "--" as third and fourth character is reserved for encodings. The
		 * only one is xn--, and something must follow it. */
		if (++label == 4 && s[i] == '-' && s[i - 1] == '-' &&
		    ((s[i - 3] | 32) != 'x' || (s[i - 2] | 32) != 'n' || i + 1 == n))
			return false;
		if (label > 63)
			return false;
	}
	return label > 0 && s[n - 1] != '-';
}

bool fw_schema__is_hostname(const char *s, size_t n)
{
	return is_host(s, n, false);
}

bool fw_schema__is_ipv4(const char *s, size_t n)
{
	int octets = 0, v = 0;
	size_t digits = 0;

	for (size_t i = 0; i <= n; i++) {
		if (i < n && fw_is_digit(s[i])) {
			if (digits == 1 && v == 0)
				return false; /* 087 is octal in some parsers */
			v = v * 10 + (s[i] - '0');
			if (++digits > 3 || v > 255)
				return false;
			continue;
		}
		if (digits == 0 || (i < n && s[i] != '.'))
			return false;
		octets++;
		digits = 0;
		v = 0;
	}
	return octets == 4;
}

bool fw_schema__is_ipv6(const char *s, size_t n)
{
	size_t i = 0, groups = 0, digits;
	bool gap = false;

	if (n >= 2 && s[0] == ':' && s[1] == ':') {
		gap = true;
		i = 2;
	} else if (n && s[0] == ':') {
		return false;
	}
	while (i < n) {
		digits = 0;
		while (i + digits < n && fw_hex_value(s[i + digits]) >= 0)
			digits++;
		if (digits > 0 && i + digits < n && s[i + digits] == '.') {
			if (!fw_schema__is_ipv4(s + i, n - i))
				return false;
			groups += 2;
			break;
		}
		if (digits == 0 || digits > 4)
			return false;
		groups++;
		i += digits;
		if (i == n)
			break;
		if (s[i++] != ':' || i == n)
			return false;
		if (s[i] == ':') {
			if (gap)
				return false;
			gap = true;
			i++;
		}
	}
	return gap ? groups <= 7 : groups == 8;
}

static bool is_mail(const char *s, size_t n, bool idn)
{
	const char *host, *end = s + n;
	size_t local;

	if (n && s[0] == '"') {
		for (local = 1; local < n && s[local] != '"'; local++) {
			if (s[local] == '\\')
				local++;
			if (local >= n || (unsigned char)s[local] < 32 || s[local] == 127 ||
			    (!idn && is_high(s[local])))
				return false;
		}
		local++;
	} else {
		for (local = 0; local < n && s[local] != '@'; local++) {
			char ch = s[local];

			if (!(is_alnum(ch) || (idn && is_high(ch)) ||
			      is_one_of(ch, "!#$%&'*+-/=?^_`{|}~") ||
			      (ch == '.' && local > 0 && s[local - 1] != '.')))
				return false;
		}
		if (local == 0 || s[local - 1] == '.')
			return false;
	}
	if (local >= n || s[local] != '@' || local > 64)
		return false;
	host = s + local + 1;
	n = (size_t)(end - host);
	if (n > 2 && host[0] == '[' && end[-1] == ']') {
		if (n > 7 && !memcmp(host + 1, "IPv6:", 5))
			return fw_schema__is_ipv6(host + 6, n - 7);
		return fw_schema__is_ipv4(host + 1, n - 2);
	}
	return is_host(host, n, idn);
}

bool fw_schema__is_email(const char *s, size_t n)
{
	return is_mail(s, n, false);
}

bool fw_schema__is_idn_email(const char *s, size_t n)
{
	return is_mail(s, n, true);
}

/* ---- URIs ---- */

/* Is every byte unreserved, a sub-delim, part of a %XX, or one of `more`? */
static bool all_uri(const char *s, const char *end, const char *more, bool iri)
{
	for (; s < end; s++) {
		if (is_alnum(*s) || is_one_of(*s, "-._~!$&'()*+,;=") || is_one_of(*s, more) ||
		    (iri && is_high(*s)))
			continue;
		if (!is_escape(s, end))
			return false;
		s += 2;
	}
	return true;
}

static const char *find(const char *s, const char *end, const char *set)
{
	while (s < end && !is_one_of(*s, set))
		s++;
	return s;
}

static bool is_authority(const char *s, const char *end, bool iri)
{
	const char *at = memchr(s, '@', (size_t)(end - s)), *host = s, *p;

	if (at) {
		if (!all_uri(s, at, ":", iri))
			return false;
		host = at + 1;
	}
	if (host < end && *host == '[') {
		p = memchr(host, ']', (size_t)(end - host));
		if (!p)
			return false;
		host++;
		if (host < p && (*host == 'v' || *host == 'V')) {
			const char *dot = memchr(host, '.', (size_t)(p - host));

			if (!dot || dot == host + 1 || dot + 1 == p ||
			    !all_uri(dot + 1, p, ":", false))
				return false;
			while (++host < dot)
				if (fw_hex_value(*host) < 0)
					return false;
		} else if (!fw_schema__is_ipv6(host, (size_t)(p - host))) {
			return false;
		}
		p++;
	} else {
		p = find(host, end, ":");
		if (!all_uri(host, p, "", iri))
			return false;
	}
	if (p < end && *p++ != ':')
		return false;
	for (; p < end; p++)
		if (!fw_is_digit(*p))
			return false;
	return true;
}

static bool is_uri(const char *s, size_t n, bool relative, bool iri)
{
	const char *end = s + n, *p = s, *path, *slash;
	bool scheme = false;

	while (p < end &&
	       (fw_is_letter(*p) || (p > s && (fw_is_digit(*p) || is_one_of(*p, "+-.")))))
		p++;
	if (p > s && p < end && *p == ':') {
		scheme = true;
		s = p + 1;
	}
	if (!scheme && !relative)
		return false;
	if (end - s >= 2 && s[0] == '/' && s[1] == '/') {
		p = find(s + 2, end, "/?#");
		if (!is_authority(s + 2, p, iri))
			return false;
		s = p;
	} else if (!scheme) {
		/* "1:b" would be parsed as a scheme. */
		slash = find(s, end, "/?#");
		if (find(s, slash, ":") != slash)
			return false;
	}
	path = find(s, end, "?#");
	if (!all_uri(s, path, ":@/", iri))
		return false;
	if (path < end && *path == '?') {
		p = find(path + 1, end, "#");
		if (!all_uri(path + 1, p, ":@/?", iri))
			return false;
		path = p;
	}
	return path == end || all_uri(path + 1, end, ":@/?", iri);
}

bool fw_schema__is_uri(const char *s, size_t n)
{
	return is_uri(s, n, false, false);
}

bool fw_schema__is_uri_reference(const char *s, size_t n)
{
	return is_uri(s, n, true, false);
}

bool fw_schema__is_iri(const char *s, size_t n)
{
	return is_uri(s, n, false, true);
}

bool fw_schema__is_iri_reference(const char *s, size_t n)
{
	return is_uri(s, n, true, true);
}

/* One of the comma-separated parts of {...}: name[:1..9999 | *]. */
static bool is_varspec(const char *s, const char *end)
{
	const char *p = s;
	bool dot = true; /* a name neither begins with a dot nor has two in a row */

	for (; p < end && *p != ':' && *p != '*'; p++) {
		if (*p == '.' && dot)
			return false;
		dot = *p == '.';
		if (*p == '%') {
			if (!is_escape(p, end))
				return false;
			p += 2;
		} else if (!(dot || *p == '_' || is_alnum(*p))) {
			return false;
		}
	}
	if (dot)
		return false;
	if (p < end && *p == '*')
		return p + 1 == end;
	if (p == end)
		return true;
	p++;
	if (p == end || end - p > 4 || *p == '0')
		return false;
	for (; p < end; p++)
		if (!fw_is_digit(*p))
			return false;
	return true;
}

bool fw_schema__is_uri_template(const char *s, size_t n)
{
	const char *end = s + n, *close, *comma;

	for (; s < end; s++) {
		if (*s == '{') {
			close = memchr(s, '}', (size_t)(end - s));
			if (!close)
				return false;
			s++;
			if (s < close && is_one_of(*s, "+#./;?&=,!@|"))
				s++;
			for (;; s = comma + 1) {
				comma = find(s, close, ",");
				if (!is_varspec(s, comma))
					return false;
				if (comma == close)
					break;
			}
			s = close;
		} else if (*s == '%') {
			if (!is_escape(s, end))
				return false;
			s += 2;
		} else if ((unsigned char)*s <= 32 || *s == 127 ||
			   is_one_of(*s, "\"<>\\^`|}")) {
			return false;
		}
	}
	return true;
}
