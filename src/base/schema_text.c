/*
 * schema_text.c - text into fixed buffers: words, bytes of peers, JSON Pointers.
 *
 * Reports must not allocate and must not fail, so what does not fit is cut at a
 * character and ends in "...". Bytes of peers are made safe to print on their way
 * in: a terminal or a log that shows a report must not be steered by it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "schema_impl.h"

#define PATH_MAX_STEPS 64 /* levels of a pointer that are shown */

static void put_raw(struct fw_schema__text *t, const char *s, size_t len)
{
	static const char dots[] = "...";

	if (t->cut)
		return;
	if (len < t->cap - t->n) {
		memcpy(t->p + t->n, s, len);
		t->n += len;
		t->p[t->n] = '\0';
		return;
	}
	t->cut = true;
	/* Fill up, then make room for the dots at the start of a character. */
	memcpy(t->p + t->n, s, t->cap - 1 - t->n);
	t->n = t->cap - sizeof dots;
	while (t->n > 0 && ((unsigned char)t->p[t->n] & 0xc0) == 0x80)
		t->n--;
	memcpy(t->p + t->n, dots, sizeof dots);
	t->n += sizeof dots - 1;
}

void fw_schema__text_put(struct fw_schema__text *t, const char *s)
{
	put_raw(t, s, strlen(s));
}

/* Length of the well-formed UTF-8 character at s, or 0. */
static size_t utf8_len(const unsigned char *s, size_t len)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;

	if (s[0] >= 0xf5 || (s[0] >= 0x80 && s[0] < 0xc2) || n > len)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

void fw_schema__text_safe(struct fw_schema__text *t, const char *s, size_t len)
{
	while (len > 0 && !t->cut) {
		size_t n = utf8_len((const unsigned char *)s, len);
		unsigned char ch = (unsigned char)*s;
		bool control = ch < 32 || ch == 127 ||
			       (ch == 0xc2 && n == 2 && (unsigned char)s[1] < 0xa0);

		if (n == 0 || control)
			put_raw(t, "?", 1);
		else
			put_raw(t, s, n);
		s += n ? n : 1;
		len -= n ? n : 1;
	}
}

static void put_token(struct fw_schema__text *t, const char *s, size_t len)
{
	fw_schema__text_put(t, "/");
	while (len > 0 && !t->cut) {
		const char *p = s;

		while (p < s + len && *p != '~' && *p != '/')
			p++;
		fw_schema__text_safe(t, s, (size_t)(p - s));
		len -= (size_t)(p - s);
		s = p;
		if (len) {
			fw_schema__text_put(t, *s == '~' ? "~0" : "~1");
			s++;
			len--;
		}
	}
}

void fw_schema__text_number(struct fw_schema__text *t, uint64_t v)
{
	char digits[24];

	snprintf(digits, sizeof digits, "%" PRIu64, v);
	fw_schema__text_put(t, digits);
}

/* ---- pointers ---- */

void fw_schema__pointer(const fw_schema *s, uint32_t node, unsigned kw, char *buf, size_t cap)
{
	struct fw_schema__text t = { buf, 0, cap, false };
	uint32_t path[PATH_MAX_STEPS] = { 0 }, n = 0;
	const struct fw_schema__resource *res;

	buf[0] = '\0';
	for (; s->nodes.at[node].parent != FW_SCHEMA__NONE && n < PATH_MAX_STEPS;
	     node = s->nodes.at[node].parent)
		path[n++] = node;
	if (s->nodes.at[node].parent != FW_SCHEMA__NONE)
		fw_schema__text_put(&t, "...");
	res = &s->resources.at[s->nodes.at[node].resource];
	if (res->doc != 0) {
		fw_schema__text_safe(&t, res->uri, strlen(res->uri));
		fw_schema__text_put(&t, "#");
	}
	while (n-- > 0) {
		const struct fw_schema__node *at = &s->nodes.at[path[n]];

		if (at->seg_kw == KW_POINTER) {
			fw_schema__text_safe(&t, at->seg_key, at->seg_len);
			continue;
		}
		fw_schema__text_put(&t, "/");
		fw_schema__text_put(&t, fw_schema__keywords[at->seg_kw].name);
		if (at->seg_key) {
			put_token(&t, at->seg_key, at->seg_len);
		} else if (at->seg_index != FW_SCHEMA__NONE) {
			fw_schema__text_put(&t, "/");
			fw_schema__text_number(&t, at->seg_index);
		}
	}
	if (kw < KW_COUNT) {
		fw_schema__text_put(&t, "/");
		fw_schema__text_put(&t, fw_schema__keywords[kw].name);
	}
}

void fw_schema__path(const struct fw_schema__frame *f, char *buf, size_t cap)
{
	struct fw_schema__text t = { buf, 0, cap, false };
	const struct fw_schema__frame *path[PATH_MAX_STEPS];
	size_t depth = 0, n = 0, skip;

	buf[0] = '\0';
	for (const struct fw_schema__frame *p = f; p; p = p->up)
		depth++;
	/* Too deep to show whole: the outermost levels say where to look. */
	skip = depth > PATH_MAX_STEPS ? depth - PATH_MAX_STEPS : 0;
	for (; f; f = f->up) {
		if (skip > 0)
			skip--;
		else
			path[n++] = f;
	}
	while (n-- > 0) {
		if (path[n]->key) {
			put_token(&t, unsafe_yyjson_get_str(path[n]->key),
				  unsafe_yyjson_get_len(path[n]->key));
		} else {
			fw_schema__text_put(&t, "/");
			fw_schema__text_number(&t, path[n]->index);
		}
	}
	if (depth > PATH_MAX_STEPS)
		fw_schema__text_put(&t, "/...");
}
