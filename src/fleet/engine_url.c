/*
 * engine_url.c - see engine_url.h.
 */
#include "fleet/engine_url.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <faultwire/raise.h>

static const char EXPECTED[] = "a URL such as redis://host:6379/0";

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes %XX. False: too long, a NUL, or an escape that is not valid. */
static bool decode(const char *text, size_t len, char *ret_text, size_t size)
{
	size_t at = 0;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (c == '%') {
			int high = i + 2 < len ? hex_digit(text[i + 1]) : -1;
			int low = high >= 0 ? hex_digit(text[i + 2]) : -1;

			if (low < 0)
				return false;
			c = (char)(high * 16 + low);
			i += 2;
		}
		if (!c || at + 1 >= size)
			return false;
		ret_text[at++] = c;
	}
	ret_text[at] = '\0';
	return true;
}

/* A whole decimal number up to `most`. */
static bool read_number(const char *text, size_t len, unsigned long most, unsigned long *ret)
{
	unsigned long number = 0;

	if (!len || len > 9)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		number = number * 10 + (unsigned long)(text[i] - '0');
	}
	*ret = number;
	return number <= most;
}

static bool read_login(const char *text, size_t len, struct fw_engine_url *url)
{
	const char *colon = memchr(text, ':', len);
	size_t user = colon ? (size_t)(colon - text) : len;

	/* Without a colon there is only a user, which proves nothing. */
	return colon && decode(text, user, url->user, sizeof url->user) &&
	       decode(colon + 1, len - user - 1, url->password, sizeof url->password) &&
	       url->password[0];
}

static bool read_place(const char *text, size_t len, struct fw_engine_place *place)
{
	const char *end = text + len;
	const char *host = text, *host_end, *port = NULL;
	unsigned long number = FW_ENGINE_PORT;
	size_t host_len;

	if (len && *text == '[') {
		host = text + 1;
		host_end = memchr(host, ']', len - 1);
		if (!host_end)
			return false;
		port = host_end + 1;
	} else {
		host_end = memchr(text, ':', len);
		if (!host_end)
			host_end = end;
		port = host_end;
	}
	host_len = (size_t)(host_end - host);
	if (!host_len || host_len >= sizeof place->host || memchr(host, '%', host_len))
		return false;
	if (port != end &&
	    (*port != ':' || !read_number(port + 1, (size_t)(end - port - 1), 65535, &number)))
		return false;
	if (!number)
		return false;
	memcpy(place->host, host, host_len);
	place->host[host_len] = '\0';
	place->port = (uint16_t)number;
	(void)snprintf(place->name, sizeof place->name, "%.*s:%lu", (int)host_len, host,
		       number);
	return true;
}

static bool read_places(const char *text, size_t len, struct fw_engine_url *url)
{
	for (;;) {
		const char *comma = memchr(text, ',', len);
		size_t part = comma ? (size_t)(comma - text) : len;

		if (url->place_count == FW_ENGINE_PLACES ||
		    !read_place(text, part, &url->places[url->place_count]))
			return false;
		url->place_count++;
		if (!comma)
			return true;
		text = comma + 1;
		len -= part + 1;
	}
}

static bool read(const char *text, struct fw_engine_url *url)
{
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	const char *at = memrchr(text, '@', len);
	const char *place = at ? at + 1 : text;
	unsigned long db = 0;

	if (strpbrk(text, "?# \t\r\n"))
		return false;
	if (at && !read_login(text, (size_t)(at - text), url))
		return false;
	if (!read_places(place, len - (size_t)(place - text), url))
		return false;
	if (slash && slash[1] &&
	    !read_number(slash + 1, strlen(slash + 1), FW_ENGINE_DB_MAX, &db))
		return false;
	url->db = (uint32_t)db;
	return true;
}

fw_error *fw_engine_url_read(const char *option, const char *text,
			     struct fw_engine_url *ret_url)
{
	struct fw_engine_url url = { .place_count = 0 };
	bool is_valid;

	if (strncmp(text, "rediss://", 9) == 0 || strncmp(text, "valkeys://", 10) == 0)
		return fw_raise_internal_unsupported("a limits store over TLS");
	if (strncmp(text, "redis://", 8) == 0)
		is_valid = read(text + 8, &url);
	else if (strncmp(text, "valkey://", 9) == 0)
		is_valid = read(text + 9, &url);
	else
		is_valid = false;
	if (is_valid)
		*ret_url = url;
	explicit_bzero(&url, sizeof url);
	return is_valid ? NULL : fw_raise_input_invalid_value(option, EXPECTED);
}
