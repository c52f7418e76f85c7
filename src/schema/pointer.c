/*
 * pointer.c - JSON Pointers written into fixed buffers.
 *
 * At most 64 levels are shown; "..." stands for the rest.
 */
#include <string.h>

#include "schema/pointer.h"
#include "schema/text.h"

#define PATH_MAX_STEPS 64 /* levels that are shown */

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
	/* If the path is too long, show the outermost levels. */
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
