/*
 * patch_apply.c - applying a unified diff; see patch.h.
 */
#include "tools/workspace/patch.h"

#include <string.h>

#include <faultwire/raise.h>

static bool is_name_of(const char *name, const char *path)
{
	const char *slash;

	if (strncmp(name, "./", 2) == 0)
		name += 2;
	if (strcmp(name, path) == 0)
		return true;
	slash = strchr(name, '/');
	return slash && strcmp(slash + 1, path) == 0;
}

fw_error *fw_ws_patch_check_name(const struct fw_ws_patch *patch, const char *path)
{
	if (!patch->old_name)
		return NULL;
	if ((patch->creates || is_name_of(patch->old_name, path)) &&
	    (patch->deletes || is_name_of(patch->new_name, path)))
		return NULL;
	return fw_raise_patch_invalid(patch->name_line, "file headers name another file");
}

/* ---- applying ---- */

struct source {
	const char *at;
	const char *end;
	uint64_t number; /* of the line at `at`, from 1 */
};

static bool next_source_line(struct source *s, const char **ret_text, size_t *ret_len,
			     bool *ret_lacks_newline)
{
	const char *newline;

	if (s->at == s->end)
		return false;
	newline = memchr(s->at, '\n', (size_t)(s->end - s->at));
	*ret_text = s->at;
	*ret_len = (size_t)((newline ? newline : s->end) - s->at);
	*ret_lacks_newline = !newline;
	s->at = newline ? newline + 1 : s->end;
	s->number++;
	return true;
}

static void put(struct fw_buf *out, const char *text, size_t len, bool lacks_newline)
{
	fw_buf_put(out, text, len);
	if (!lacks_newline)
		fw_buf_put(out, "\n", 1);
}

/* A CR added by a mailer is dropped, unless the file has CR LF lines itself. */
static size_t length_of(const struct fw_ws_patch_line *line, bool strip)
{
	return strip && line->len && line->text[line->len - 1] == '\r' ? line->len - 1
								       : line->len;
}

static fw_error *apply_hunk(const struct fw_ws_patch *patch, size_t index, bool strip,
			    struct source *s, const char *path, struct fw_buf *out)
{
	const struct fw_ws_hunk *hunk = &patch->hunks[index];

	for (size_t i = hunk->first; i < hunk->first + hunk->count; i++) {
		const struct fw_ws_patch_line *line = &patch->lines[i];
		size_t want = length_of(line, strip);
		const char *text = NULL;
		size_t len = 0;
		bool lacks_newline = false;

		if (line->kind == '+') {
			/* A line without a newline must be the last one. */
			if (out->len && out->text[out->len - 1] != '\n')
				return fw_raise_patch_apply_failed(path, index + 1, s->number);
			put(out, line->text, want, line->lacks_newline);
			continue;
		}
		if (!next_source_line(s, &text, &len, &lacks_newline))
			return fw_raise_patch_apply_failed(path, index + 1, s->number);
		if (len != want || memcmp(text, line->text, len) != 0 ||
		    lacks_newline != line->lacks_newline)
			return fw_raise_patch_apply_failed(path, index + 1, s->number - 1);
		if (line->kind == ' ')
			put(out, text, len, lacks_newline);
	}
	return NULL;
}

fw_error *fw_ws_patch_apply(const struct fw_ws_patch *patch, const char *path, const char *old,
			    size_t old_len, struct fw_buf *out)
{
	struct source s = { .at = old, .end = old + old_len, .number = 1 };
	const char *newline = old_len ? memchr(old, '\n', old_len) : NULL;
	bool file_is_crlf = newline && newline > old && newline[-1] == '\r';
	bool strip = patch->is_crlf && !file_is_crlf;
	const char *text;
	size_t len;
	bool lacks_newline;

	for (size_t i = 0; i < patch->hunk_count; i++) {
		while (s.number < fw_ws_hunk_first_line(&patch->hunks[i])) {
			if (!next_source_line(&s, &text, &len, &lacks_newline))
				return fw_raise_patch_apply_failed(path, i + 1, s.number);
			put(out, text, len, lacks_newline);
		}
		FW_TRY(apply_hunk(patch, i, strip, &s, path, out));
	}
	if (s.at < s.end && out->len && out->text[out->len - 1] != '\n')
		return fw_raise_patch_apply_failed(path, patch->hunk_count, s.number);
	fw_buf_put(out, s.at, (size_t)(s.end - s.at));
	if (patch->deletes && out->len)
		return fw_raise_patch_apply_failed(path, patch->hunk_count, s.number);
	return NULL;
}
