/*
 * patch_read.c - reading a unified diff; see patch.h.
 *
 * The counts in a hunk's header decide where it ends, so a removed line that begins
 * with "--" is not mistaken for a file header. Changes that mailers make are accepted
 * where they are unambiguous: an empty line is an empty line of context, and CR LF at
 * the end of every line is not part of the content.
 */
#include "tools/workspace/patch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#include <faultwire/raise.h>

struct reader {
	const char *at;
	const char *end;
	uint64_t number; /* of the line last read, from 1 */
	const char *line;
	size_t len;         /* without the newline */
	bool lacks_newline; /* the text ends without one */
	bool has_cr;
};

static bool next_line(struct reader *r)
{
	const char *newline;

	if (r->at == r->end)
		return false;
	newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
	r->line = r->at;
	r->len = (size_t)((newline ? newline : r->end) - r->at);
	r->at = newline ? newline + 1 : r->end;
	r->lacks_newline = !newline;
	r->number++;
	r->has_cr = r->len && r->line[r->len - 1] == '\r';
	return true;
}

static void unread(struct reader *r)
{
	r->at = r->line;
	r->number--;
}

static bool begins(const struct reader *r, const char *with)
{
	size_t len = strlen(with);

	return r->len >= len && memcmp(r->line, with, len) == 0;
}

static fw_error *invalid(const struct reader *r, const char *reason)
{
	return fw_raise_patch_invalid(r->number ? r->number : 1, reason);
}

/* ---- growing ---- */

static void *grow(void *items, size_t count, size_t *room, size_t size)
{
	size_t wider = *room ? *room * 2 : 16;
	void *more;

	if (count < *room)
		return items;
	if (wider > SIZE_MAX / size)
		return NULL;
	more = fw__reallocate(items, wider * size);
	if (more)
		*room = wider;
	return more;
}

static fw_error *add_line(struct fw_ws_patch *patch, char kind, const char *text, size_t len)
{
	struct fw_ws_patch_line *lines =
		grow(patch->lines, patch->line_count, &patch->line_room, sizeof *patch->lines);

	if (!lines)
		return fw_raise_internal_out_of_memory();
	patch->lines = lines;
	lines[patch->line_count++] =
		(struct fw_ws_patch_line){ .text = text, .len = len, .kind = kind };
	return NULL;
}

static fw_error *add_hunk(struct fw_ws_patch *patch, const struct fw_ws_hunk *hunk)
{
	struct fw_ws_hunk *hunks =
		grow(patch->hunks, patch->hunk_count, &patch->hunk_room, sizeof *patch->hunks);

	if (!hunks)
		return fw_raise_internal_out_of_memory();
	patch->hunks = hunks;
	hunks[patch->hunk_count++] = *hunk;
	return NULL;
}

/* ---- file headers ---- */

static int octal(const char *at, const char *end)
{
	if (end - at < 3 || at[0] < '0' || at[0] > '3' || at[1] < '0' || at[1] > '7' ||
	    at[2] < '0' || at[2] > '7')
		return -1;
	return (at[0] - '0') * 64 + (at[1] - '0') * 8 + (at[2] - '0');
}

/* "a/with \"quotes\"\303\244.c", as diff and git write names with special characters. */
static char *unquote(const char *at, const char *end, char *to)
{
	static const char letters[] = "abfnrtv\\\"";
	static const char meanings[] = "\a\b\f\n\r\t\v\\\"";

	for (at++; at < end && *at != '"'; at++) {
		const char *found;
		int byte;

		if (*at != '\\') {
			*to++ = *at;
			continue;
		}
		if (++at == end)
			return NULL;
		found = *at ? strchr(letters, *at) : NULL;
		byte = octal(at, end);
		if (found) {
			*to++ = meanings[found - letters];
		} else if (byte > 0) {
			*to++ = (char)byte;
			at += 2;
		} else {
			return NULL;
		}
	}
	return at < end ? to : NULL;
}

/* From "--- a/name\t2026-01-19 ..." */
static fw_error *read_name(const struct reader *r, char **ret_name)
{
	const char *at = r->line + 4;
	const char *end = r->line + r->len - (r->has_cr ? 1 : 0);
	const char *tab;
	char *name;
	char *to;

	if (end <= at)
		return invalid(r, "file name is missing");
	name = fw__allocate((size_t)(end - at) + 1);
	if (!name)
		return fw_raise_internal_out_of_memory();
	if (*at == '"') {
		to = unquote(at, end, name);
	} else {
		tab = memchr(at, '\t', (size_t)(end - at));
		if (tab)
			end = tab;
		memcpy(name, at, (size_t)(end - at));
		to = name + (end - at);
	}
	if (!to || to == name || memchr(name, '\0', (size_t)(to - name))) {
		fw__release(name);
		return invalid(r, "file name cannot be read");
	}
	*to = '\0';
	*ret_name = name;
	return NULL;
}

static bool is_git_line(const struct reader *r)
{
	static const char *const starts[] = { "diff --git ",
					      "diff -",
					      "index ",
					      "new file mode ",
					      "deleted file mode ",
					      "old mode ",
					      "new mode ",
					      "Index: ",
					      "====" };

	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		if (begins(r, starts[i]))
			return true;
	return false;
}

static bool is_blank(const struct reader *r)
{
	return r->len == 0 || (r->len == 1 && r->has_cr);
}

static fw_error *read_git_line(const struct reader *r, struct fw_ws_patch *patch)
{
	static const char start[] = "diff --git ";

	if (begins(r, start)) {
		if (patch->git_names)
			return invalid(r, "patch is about more than one file");
		patch->git_names = r->line + sizeof start - 1;
		patch->git_names_len = r->len - (sizeof start - 1) - (r->has_cr ? 1 : 0);
		patch->name_line = r->number;
	} else if (begins(r, "new file mode ")) {
		patch->git_creates = true;
	} else if (begins(r, "deleted file mode ")) {
		patch->git_deletes = true;
	}
	return NULL;
}

/* Reads everything before the first hunk. `*ret_hunk`: the hunk header was read. */
static fw_error *read_headers(struct reader *r, struct fw_ws_patch *patch, bool *ret_hunk)
{
	*ret_hunk = false;
	while (next_line(r)) {
		if (begins(r, "--- ")) {
			if (patch->old_name)
				return invalid(r, "second file header before any hunk");
			patch->is_crlf = r->has_cr;
			FW_TRY(read_name(r, &patch->old_name));
			if (!next_line(r) || !begins(r, "+++ "))
				return invalid(r, "\"+++\" line is missing after \"---\"");
			FW_TRY(read_name(r, &patch->new_name));
			patch->name_line = r->number;
		} else if (begins(r, "@@ ")) {
			*ret_hunk = true;
			if (!patch->old_name)
				patch->is_crlf = r->has_cr;
			return NULL;
		} else if (begins(r, "rename ") || begins(r, "copy ") ||
			   begins(r, "similarity ")) {
			return invalid(r, "a patch cannot rename or copy files");
		} else if (begins(r, "GIT binary") || begins(r, "Binary files ")) {
			return invalid(r, "a patch cannot be binary");
		} else if (patch->old_name || (!is_blank(r) && !is_git_line(r))) {
			return invalid(r, "line is not part of a unified diff");
		} else {
			FW_TRY(read_git_line(r, patch));
		}
	}
	return NULL;
}

/* The second of git's two names, which differ in "a/" and "b/" only. */
static char *read_git_name(const struct fw_ws_patch *patch)
{
	const char *at = patch->git_names;
	size_t len = patch->git_names_len;
	size_t half = len / 2;
	char *name = len >= 3 ? fw__allocate(len + 1) : NULL;
	char *end = NULL;

	if (!name)
		return NULL;
	if (len % 2 && at[half] == ' ' && at[0] != '"') {
		memcpy(name, at + half + 1, half);
		end = name + half;
	} else if (len % 2 && at[half] == ' ') {
		end = unquote(at + half + 1, at + len, name);
	}
	if (!end || memchr(name, '\0', (size_t)(end - name))) {
		fw__release(name);
		return NULL;
	}
	*end = '\0';
	return name;
}

/* An empty file has no hunk; git writes only its header. */
static fw_error *read_empty(const struct reader *r, struct fw_ws_patch *patch)
{
	static const char none[] = "/dev/null";
	char *name;
	char *nothing;

	if (!patch->git_names || patch->old_name || patch->git_creates == patch->git_deletes)
		return invalid(r, "patch has no hunk");
	name = read_git_name(patch);
	if (!name)
		return fw_raise_patch_invalid(patch->name_line, "file name cannot be read");
	nothing = fw__allocate(sizeof none);
	if (!nothing) {
		fw__release(name);
		return fw_raise_internal_out_of_memory();
	}
	memcpy(nothing, none, sizeof none);
	patch->old_name = patch->git_creates ? nothing : name;
	patch->new_name = patch->git_creates ? name : nothing;
	return NULL;
}

/* ---- hunks ---- */

static bool read_number(const char **at, const char *end, uint64_t *ret_number)
{
	uint64_t number = 0;
	const char *start = *at;

	while (*at < end && **at >= '0' && **at <= '9') {
		if (number > UINT32_MAX)
			return false;
		number = number * 10 + (uint64_t)(**at - '0');
		++*at;
	}
	*ret_number = number;
	return *at != start;
}

/* "-12,3" or "+12" */
static bool read_range(const char **at, const char *end, char sign, uint64_t *ret_start,
		       uint64_t *ret_count)
{
	if (*at == end || **at != sign)
		return false;
	++*at;
	if (!read_number(at, end, ret_start))
		return false;
	*ret_count = 1;
	if (*at < end && **at == ',') {
		++*at;
		return read_number(at, end, ret_count);
	}
	return true;
}

static fw_error *read_hunk_header(const struct reader *r, struct fw_ws_hunk *hunk)
{
	const char *at = r->line + 3;
	const char *end = r->line + r->len;
	uint64_t new_start;

	if (!read_range(&at, end, '-', &hunk->old_start, &hunk->old_count) || at == end ||
	    *at++ != ' ' || !read_range(&at, end, '+', &new_start, &hunk->new_count) ||
	    end - at < 3 || memcmp(at, " @@", 3) != 0)
		return invalid(r, "hunk header is incomplete");
	if (hunk->old_count && !hunk->old_start)
		return invalid(r, "lines are counted from 1");
	if (!hunk->old_count && !hunk->new_count)
		return invalid(r, "hunk has no lines");
	return NULL;
}

/* "\ No newline at end of file": applies to the line before it. */
static fw_error *read_no_newline(const struct reader *r, struct fw_ws_patch *patch,
				 size_t first)
{
	struct fw_ws_patch_line *line;

	if (patch->line_count == first)
		return invalid(r, "\"\\\" line follows no line");
	line = &patch->lines[patch->line_count - 1];
	if (!line->len || (patch->is_crlf && line->len == 1 && line->text[0] == '\r'))
		return invalid(r, "a line without text must end with a newline");
	line->lacks_newline = true;
	return NULL;
}

static fw_error *read_body_line(const struct reader *r, struct fw_ws_patch *patch,
				uint64_t *old_left, uint64_t *new_left)
{
	char kind = is_blank(r) ? ' ' : r->line[0];
	const char *text = is_blank(r) ? r->line : r->line + 1;
	size_t len = is_blank(r) ? r->len : r->len - 1;

	switch (kind) {
	case ' ':
		if (!*old_left || !*new_left)
			return invalid(r, "hunk has more lines than its header says");
		--*old_left;
		--*new_left;
		break;
	case '-':
		if (!*old_left)
			return invalid(r, "hunk removes more lines than its header says");
		--*old_left;
		break;
	case '+':
		if (!*new_left)
			return invalid(r, "hunk adds more lines than its header says");
		--*new_left;
		break;
	default: return invalid(r, "line of a hunk begins with none of \" \", \"-\", \"+\"");
	}
	return add_line(patch, kind, text, len);
}

/* Reads a hunk whose header line is the current one. */
static fw_error *read_hunk(struct reader *r, struct fw_ws_patch *patch)
{
	struct fw_ws_hunk hunk = { .first = patch->line_count };
	uint64_t header = r->number;
	uint64_t old_left;
	uint64_t new_left;

	FW_TRY(read_hunk_header(r, &hunk));
	if (patch->hunk_count) {
		const struct fw_ws_hunk *before = &patch->hunks[patch->hunk_count - 1];

		if (fw_ws_hunk_first_line(&hunk) <
		    fw_ws_hunk_first_line(before) + before->old_count)
			return invalid(r, "hunks overlap or are out of order");
	}
	old_left = hunk.old_count;
	new_left = hunk.new_count;
	while (old_left || new_left) {
		if (!next_line(r))
			return fw_raise_patch_invalid(header, "hunk has fewer lines than its "
							      "header says");
		if (r->len && r->line[0] == '\\')
			FW_TRY(read_no_newline(r, patch, hunk.first));
		else if (begins(r, "@@ ") && !is_blank(r))
			return fw_raise_patch_invalid(header, "hunk has fewer lines than its "
							      "header says");
		else
			FW_TRY(read_body_line(r, patch, &old_left, &new_left));
	}
	if (next_line(r)) {
		if (r->len && r->line[0] == '\\')
			FW_TRY(read_no_newline(r, patch, hunk.first));
		else
			unread(r);
	}
	hunk.count = patch->line_count - hunk.first;
	return add_hunk(patch, &hunk);
}

static fw_error *read_hunks(struct reader *r, struct fw_ws_patch *patch)
{
	FW_TRY(read_hunk(r, patch));
	while (next_line(r)) {
		if (begins(r, "@@ "))
			FW_TRY(read_hunk(r, patch));
		else if (begins(r, "--- ") || begins(r, "diff "))
			return invalid(r, "patch is about more than one file");
		else if (begins(r, "-- ") && r->len <= 4)
			return NULL; /* the signature of an e-mail */
		else if (!is_blank(r) &&
			 (r->line[0] == ' ' || r->line[0] == '+' || r->line[0] == '-'))
			return invalid(r, "hunk has more lines than its header says");
		else if (!is_blank(r))
			return invalid(r, "line is not part of a unified diff");
	}
	return NULL;
}

fw_error *fw_ws_patch_parse(const char *text, size_t len, struct fw_ws_patch *ret_patch)
{
	struct reader r = { .at = text, .end = text + len };
	bool has_hunk = false;

	memset(ret_patch, 0, sizeof *ret_patch);
	FW_TRY(read_headers(&r, ret_patch, &has_hunk));
	FW_TRY(has_hunk ? read_hunks(&r, ret_patch) : read_empty(&r, ret_patch));
	if (ret_patch->old_name) {
		ret_patch->creates = strcmp(ret_patch->old_name, "/dev/null") == 0;
		ret_patch->deletes = strcmp(ret_patch->new_name, "/dev/null") == 0;
		if (ret_patch->creates && ret_patch->deletes)
			return fw_raise_patch_invalid(ret_patch->name_line,
						      "both files are /dev/null");
	}
	return NULL;
}

void fw_ws_patch_clear(struct fw_ws_patch *patch)
{
	fw__release(patch->lines);
	fw__release(patch->hunks);
	fw__release(patch->old_name);
	fw__release(patch->new_name);
	memset(patch, 0, sizeof *patch);
}
