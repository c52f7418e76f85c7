/*
 * accept.c - see accept.h.
 */
#include "base/accept.h"

#include <string.h>
#include <strings.h>

/* Reads a weight such as "0.5" in thousandths; 1000 if it is malformed. */
static unsigned read_weight(const char *text, size_t len)
{
	unsigned weight, scale = 100;

	if (!len || (text[0] != '0' && text[0] != '1'))
		return 1000;
	weight = (unsigned)(text[0] - '0') * 1000;
	for (size_t i = 2; i < len && i < 5 && text[i] >= '0' && text[i] <= '9'; i++) {
		weight += (unsigned)(text[i] - '0') * scale;
		scale /= 10;
	}
	return weight < 1000 ? weight : 1000;
}

static size_t skip_blanks(const char *text, size_t at, size_t len)
{
	while (at < len && (text[at] == ' ' || text[at] == '\t'))
		at++;
	return at;
}

/* Splits off one range of the header, with its weight. */
static size_t read_range(const char *range, size_t len, unsigned *ret_weight)
{
	size_t type_len = strcspn(range, "; \t,");

	if (type_len > len)
		type_len = len;
	*ret_weight = 1000;
	for (size_t at = 0; at < len; at++) {
		if (range[at] != ';')
			continue;
		at = skip_blanks(range, at + 1, len);
		if (at + 1 < len && (range[at] | 0x20) == 'q' && range[at + 1] == '=')
			*ret_weight = read_weight(range + at + 2, len - at - 2);
	}
	return type_len;
}

/* How specifically the range matches the type; 0: not at all. */
static int fits(const char *range, size_t len, const char *type)
{
	size_t type_len = strlen(type);
	size_t family = strcspn(type, "/") + 1;

	if (len == type_len && strncasecmp(range, type, len) == 0)
		return 3;
	if (len == family + 1 && range[len - 1] == '*' && strncasecmp(range, type, family) == 0)
		return 2;
	return len == 3 && memcmp(range, "*/*", 3) == 0;
}

/* The most specific range decides. */
static unsigned weight_of(const char *accept, const char *type)
{
	unsigned found = 0, weight;
	int best = 0;

	while (*accept) {
		size_t len = strcspn(accept, ",");
		size_t at = skip_blanks(accept, 0, len);
		size_t type_len = read_range(accept + at, len - at, &weight);
		int fit = fits(accept + at, type_len, type);

		if (fit > best || (fit && fit == best && weight > found)) {
			best = fit;
			found = weight;
		}
		accept += len + (accept[len] == ',');
	}
	return found;
}

size_t fw_accept_choose(const char *accept, const char *const *types, size_t count)
{
	unsigned most = 0;
	size_t chosen = 0;

	for (size_t i = 0; accept && i < count; i++) {
		unsigned weight = weight_of(accept, types[i]);

		if (weight > most) {
			most = weight;
			chosen = i;
		}
	}
	return chosen;
}
