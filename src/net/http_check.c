/*
 * http_check.c - see http_check.h.
 *
 * These checks distinguish an MCP client from a web page that sends requests to a
 * server on the local machine. They are plain functions on strings, so that tests
 * and fuzzers can call them without a socket.
 */
#include "net/http_check.h"

#include <string.h>
#include <strings.h>

#include "base/ascii.h"

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t';
}

static void trim(const char **text, size_t *len)
{
	while (*len && is_blank((*text)[0])) {
		(*text)++;
		(*len)--;
	}
	while (*len && is_blank((*text)[*len - 1]))
		(*len)--;
}

static inline bool is_same(const char *text, size_t len, const char *word)
{
	return strlen(word) == len && strncasecmp(text, word, len) == 0;
}

/* The next part of a list, trimmed; false at its end. */
static bool next_part(const char **list, char separator, const char **ret_part, size_t *ret_len)
{
	const char *end;

	if (!*list || !**list)
		return false;
	end = strchr(*list, separator);
	*ret_part = *list;
	*ret_len = end ? (size_t)(end - *list) : strlen(*list);
	*list = end ? end + 1 : *list + *ret_len;
	trim(ret_part, ret_len);
	return true;
}

/* ---- hosts ------------------------------------------------------------------ */

/* The length of the name in "name" or "name:port"; 0: it is neither. */
static size_t name_length(const char *host, size_t len)
{
	const char *end = host;
	size_t name, i;

	if (len && host[0] == '[') {
		end = memchr(host, ']', len);
		if (!end)
			return 0;
		name = (size_t)(end - host) + 1;
	} else {
		end = memchr(host, ':', len);
		name = end ? (size_t)(end - host) : len;
	}
	if (name == len)
		return name;
	if (host[name] != ':' || len - name > 6)
		return 0;
	for (i = name + 1; i < len; i++)
		if (host[i] < '0' || host[i] > '9')
			return 0;
	return name;
}

static bool is_loopback(const char *host, size_t len)
{
	size_t name = name_length(host, len);

	return is_same(host, name, "localhost") || is_same(host, name, "127.0.0.1") ||
	       is_same(host, name, "[::1]");
}

bool fw_http_host_is_loopback(const char *host)
{
	return is_loopback(host, strlen(host));
}

bool fw_http_host_is_listed(const char *host, const char *list)
{
	size_t len, name, entry_len;
	const char *entry;

	if (!list)
		return false;
	len = strlen(host);
	name = name_length(host, len);
	if (!name)
		return false;
	while (next_part(&list, ',', &entry, &entry_len)) {
		size_t part = name_length(entry, entry_len) == entry_len ? name : len;

		if (entry_len && entry_len == part && strncasecmp(entry, host, part) == 0)
			return true;
	}
	return false;
}

bool fw_http_origin_is_loopback(const char *origin)
{
	if (strncasecmp(origin, "http://", 7) == 0)
		return fw_http_host_is_loopback(origin + 7);
	if (strncasecmp(origin, "https://", 8) == 0)
		return fw_http_host_is_loopback(origin + 8);
	return false;
}

bool fw_http_origin_is_listed(const char *origin, const char *list)
{
	const char *entry;
	size_t len;

	while (next_part(&list, ',', &entry, &len))
		if (len && is_same(entry, len, origin))
			return true;
	return false;
}

/* ---- media types ------------------------------------------------------------ */

/* "q=0", "q=0.000": not acceptable. */
static bool is_refusal(const char *parameter, size_t len)
{
	size_t i;

	if (len < 3 || (parameter[0] | 0x20) != 'q' || parameter[1] != '=')
		return false;
	for (i = 2; i < len; i++)
		if (parameter[i] != '0' && parameter[i] != '.')
			return false;
	return true;
}

static unsigned range_bits(const char *range, size_t len)
{
	if (is_same(range, len, "*/*"))
		return FW_HTTP_ACCEPTS_JSON | FW_HTTP_ACCEPTS_EVENTS;
	if (is_same(range, len, "application/json") || is_same(range, len, "application/*"))
		return FW_HTTP_ACCEPTS_JSON;
	if (is_same(range, len, "text/event-stream") || is_same(range, len, "text/*"))
		return FW_HTTP_ACCEPTS_EVENTS;
	return 0;
}

static unsigned read_range(const char *range, size_t len)
{
	const char *semicolon = memchr(range, ';', len);
	size_t type_len = semicolon ? (size_t)(semicolon - range) : len;
	const char *type = range, *end = range + len;

	trim(&type, &type_len);
	while (semicolon) {
		const char *parameter = semicolon + 1;
		size_t parameter_len;

		semicolon = memchr(parameter, ';', (size_t)(end - parameter));
		parameter_len = (size_t)((semicolon ? semicolon : end) - parameter);
		trim(&parameter, &parameter_len);
		if (is_refusal(parameter, parameter_len))
			return 0;
	}
	return range_bits(type, type_len);
}

unsigned fw_http_accept_read(const char *accept)
{
	const char *range;
	unsigned bits = 0;
	size_t len;

	/* As the protocol tells clients to write it. */
	if (strcmp(accept, "application/json, text/event-stream") == 0)
		return FW_HTTP_ACCEPTS_JSON | FW_HTTP_ACCEPTS_EVENTS;
	while (next_part(&accept, ',', &range, &len))
		bits |= read_range(range, len);
	return bits;
}

static bool is_other_charset(const char *parameter, size_t len)
{
	if (len < 8 || strncasecmp(parameter, "charset=", 8) != 0)
		return false;
	parameter += 8;
	len -= 8;
	if (len >= 2 && parameter[0] == '"' && parameter[len - 1] == '"') {
		parameter++;
		len -= 2;
	}
	return !is_same(parameter, len, "utf-8") && !is_same(parameter, len, "utf8");
}

bool fw_http_type_is_json(const char *type)
{
	const char *part;
	size_t len;

	if (strcmp(type, "application/json") == 0)
		return true;
	if (!next_part(&type, ';', &part, &len) || !is_same(part, len, "application/json"))
		return false;
	while (next_part(&type, ';', &part, &len))
		if (is_other_charset(part, len))
			return false;
	return true;
}

/* ---- the rest --------------------------------------------------------------- */

const char *fw_http_bearer(const char *authorization, size_t *ret_len)
{
	const char *given;

	if (strncasecmp(authorization, "Bearer", 6) != 0 || !is_blank(authorization[6]))
		return NULL;
	given = authorization + 7;
	*ret_len = strlen(given);
	trim(&given, ret_len);
	return given;
}

/* -1: the two bytes are not hexadecimal digits. */
static int escape_value(const char *digits)
{
	int high = fw_hex_value(digits[0]);
	int low = high < 0 ? -1 : fw_hex_value(digits[1]);

	return low < 0 ? -1 : high * 16 + low;
}

bool fw_http_escapes_are_valid(const char *target)
{
	bool is_query = false;

	for (; *target; target++) {
		int value;

		is_query = is_query || *target == '?';
		if (*target != '%')
			continue;
		value = escape_value(target + 1);
		if (value <= 0 || (!is_query && (value < 0x20 || value == 0x7f)))
			return false;
	}
	return true;
}

size_t fw_http_escapes_decode(char *text, bool is_query)
{
	char *out = text;

	for (const char *at = text; *at; at++) {
		int value = *at == '%' ? escape_value(at + 1) : -1;

		if (value < 0 || (!is_query && (value == '/' || value == '%'))) {
			*out++ = (char)(is_query && *at == '+' ? ' ' : *at);
			continue;
		}
		*out++ = (char)value;
		at += 2;
	}
	*out = 0;
	return (size_t)(out - text);
}

bool fw_http_length_read(const char *text, uint64_t *ret_length)
{
	uint64_t length = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		unsigned digit = (unsigned)(unsigned char)*text - '0';

		if (digit > 9 || length > (UINT64_MAX - digit) / 10)
			return false;
		length = length * 10 + digit;
	}
	*ret_length = length;
	return true;
}
