/*
 * uri.c - the part of RFC 3986 that `$id` and `$ref` need: splitting, resolving
 * against a base, removing dot segments, decoding %XX.
 *
 * Identifiers are then compared byte by byte, without case folding or normalising of
 * escapes, as in the specification. Everything works in buffers of the caller with a
 * given length, so that a hostile `$id` cannot use up memory.
 */
#include <string.h>

#include "base/ascii.h"
#include "schema/uri.h"

struct part {
	const char *p;
	size_t n;
	bool set;
};
struct uri {
	struct part scheme, authority, path, query, fragment;
};

static bool is_scheme_char(char ch)
{
	return fw_is_letter(ch) || (ch >= '0' && ch <= '9') || ch == '+' || ch == '-' ||
	       ch == '.';
}

static struct uri split(const char *s, size_t n)
{
	struct uri u = { 0 };
	const char *end = s + n, *p = s;

	while (p < end && is_scheme_char(*p))
		p++;
	if (p > s && p < end && *p == ':' && fw_is_letter(*s)) {
		u.scheme = (struct part){ s, (size_t)(p - s), true };
		s = p + 1;
	}
	if (end - s >= 2 && s[0] == '/' && s[1] == '/') {
		s += 2;
		for (p = s; p < end && !memchr("/?#", *p, 3); p++)
			;
		u.authority = (struct part){ s, (size_t)(p - s), true };
		s = p;
	}
	for (p = s; p < end && *p != '?' && *p != '#'; p++)
		;
	u.path = (struct part){ s, (size_t)(p - s), true };
	s = p;
	if (s < end && *s == '?') {
		for (p = ++s; p < end && *p != '#'; p++)
			;
		u.query = (struct part){ s, (size_t)(p - s), true };
		s = p;
	}
	if (s < end)
		u.fragment = (struct part){ s + 1, (size_t)(end - s - 1), true };
	return u;
}

struct out {
	char *p;
	size_t n, cap;
	bool cut;
};

static void put(struct out *o, const char *p, size_t n)
{
	if (o->cut || n >= o->cap - o->n) { /* leave room for the NUL */
		o->cut = true;
		return;
	}
	memcpy(o->p + o->n, p, n);
	o->n += n;
}

/* RFC 3986, 5.2.4, for the path that starts at `from` in the output. */
static void remove_dots(struct out *o, size_t from)
{
	char *path = o->p + from;
	size_t n = o->n - from, in = 0, out = 0;

	while (in < n) {
		size_t seg = in + 1, len;

		while (seg < n && path[seg] != '/')
			seg++;
		len = seg - in; /* "/name", or "name" at the start */
		if (len == 2 && path[in] == '/' && path[in + 1] == '.') {
			if (seg == n)
				path[out++] = '/';
		} else if (len == 3 && !memcmp(path + in, "/..", 3)) {
			while (out > 0 && path[--out] != '/')
				;
			if (seg == n)
				path[out++] = '/';
		} else {
			memmove(path + out, path + in, len);
			out += len;
		}
		in = seg;
	}
	o->n = from + out;
}

size_t fw_schema__uri_resolve(const char *base, const char *ref, size_t len, char *out,
			      size_t cap)
{
	struct uri r = split(ref, len), b = split(base, strlen(base));
	struct uri *authority = &r, *query = &r;
	struct out o = { out, 0, cap, cap == 0 };
	bool merge = false;
	size_t path_at;

	if (!r.scheme.set && !r.authority.set) {
		authority = &b;
		if (r.path.n == 0) {
			r.path = b.path;
			if (!r.query.set)
				query = &b;
		} else {
			merge = r.path.p[0] != '/';
		}
	}
	if (r.scheme.set || b.scheme.set) {
		struct part *scheme = r.scheme.set ? &r.scheme : &b.scheme;

		put(&o, scheme->p, scheme->n);
		put(&o, ":", 1);
	}
	if (authority->authority.set) {
		put(&o, "//", 2);
		put(&o, authority->authority.p, authority->authority.n);
	}
	path_at = o.n;
	if (merge) {
		size_t keep = b.path.n;

		while (keep > 0 && b.path.p[keep - 1] != '/')
			keep--;
		put(&o, b.path.p, keep);
		if (b.authority.set && b.path.n == 0)
			put(&o, "/", 1);
	}
	put(&o, r.path.p, r.path.n);
	if (!o.cut)
		remove_dots(&o, path_at);
	if (query->query.set) {
		put(&o, "?", 1);
		put(&o, query->query.p, query->query.n);
	}
	if (r.fragment.set) {
		put(&o, "#", 1);
		put(&o, r.fragment.p, r.fragment.n);
	}
	if (o.cut)
		return SIZE_MAX;
	out[o.n] = '\0';
	return o.n;
}

size_t fw_schema__uri_unescape(char *text, size_t len)
{
	size_t in, out = 0;

	for (in = 0; in < len; in++) {
		char ch = text[in];

		if (ch == '%') {
			int hi = len - in < 3 ? -1 : fw_hex_value(text[in + 1]);
			int lo = hi < 0 ? -1 : fw_hex_value(text[in + 2]);

			if (lo < 0)
				return SIZE_MAX;
			ch = (char)(hi * 16 + lo);
			in += 2;
		}
		text[out++] = ch;
	}
	text[out] = '\0'; /* the text of the caller ends in NUL */
	return out;
}
