/*
 * globs.c - see globs.h. Braces are expanded before a glob is compiled: matching
 * stays linear, and the number of results is limited.
 */
#include "tools/common/globs.h"

#include <stdio.h>
#include <string.h>

#include "tools/common/glob.h"

#include <faultwire/raise.h>

enum { NESTED_MAX = 8 };

struct expansion {
	const char *argument;
	fw_globs_fn *found;
	void *ctx;
};

fw_error *fw_globs_fault(const char *argument, const char *what)
{
	char expected[192];

	(void)snprintf(expected, sizeof expected, "a glob; %s", what);
	return fw_raise_input_invalid_value(argument, expected);
}

/* The end of what begins with the brace at `open`; `len` if it is not closed. Notes where
 * the commas of this brace are. */
static size_t closing(const char *text, size_t len, size_t open, size_t *commas,
		      size_t *ret_count)
{
	size_t depth = 0;

	*ret_count = 0;
	for (size_t i = open; i < len; i++) {
		if (text[i] == '{')
			depth++;
		else if (text[i] == '}' && --depth == 0)
			return i;
		else if (text[i] == ',' && depth == 1 && *ret_count < FW_GLOB_BYTES)
			commas[(*ret_count)++] = i;
	}
	return len;
}

static fw_error *expand(struct expansion *to, const char *text, size_t len, unsigned depth)
{
	const char *brace = memchr(text, '{', len);
	size_t commas[FW_GLOB_BYTES + 1];
	char one[FW_GLOB_BYTES + 1];
	size_t open, close, count, from;

	if (!brace)
		return to->found(to->ctx, to->argument, text, len);
	if (depth == NESTED_MAX)
		return fw_globs_fault(to->argument, "it has more than 8 pairs of braces");
	open = (size_t)(brace - text);
	close = closing(text, len, open, commas, &count);
	if (close == len)
		return fw_globs_fault(to->argument, "a { is not closed");
	commas[count++] = close;
	from = open + 1;
	for (size_t i = 0; i < count; i++) {
		size_t part = commas[i] - from;

		memcpy(one, text, open);
		memcpy(one + open, text + from, part);
		memcpy(one + open + part, text + close + 1, len - close - 1);
		FW_TRY(expand(to, one, open + part + len - close - 1, depth + 1));
		from = commas[i] + 1;
	}
	return NULL;
}

fw_error *fw_globs_expand(const char *argument, const char *text, size_t len,
			  fw_globs_fn *found, void *ctx)
{
	struct expansion to = { argument, found, ctx };

	if (len > FW_GLOB_BYTES)
		return fw_globs_fault(argument, "it is longer than 256 bytes");
	return expand(&to, text, len, 0);
}

static fw_error *add_plain(void *ctx, const char *argument, const char *text, size_t len)
{
	struct fw_globs *globs = ctx;
	const char *wrong;
	struct fw_glob *glob;

	if (globs->count == FW_GLOBS_MAX)
		return fw_globs_fault(argument,
				      "there are more than 256, or braces make that many");
	glob = fw_glob_new(text, len, false, &wrong);
	if (!glob)
		return wrong ? fw_globs_fault(argument, wrong)
			     : fw_raise_internal_out_of_memory();
	globs->items[globs->count].glob = glob;
	globs->items[globs->count++].is_name = !memchr(text, '/', len);
	return NULL;
}

fw_error *fw_globs_add(struct fw_globs *globs, const char *argument, const char *text,
		       size_t len)
{
	return fw_globs_expand(argument, text, len, add_plain, globs);
}

void fw_globs_clear(struct fw_globs *globs)
{
	while (globs->count)
		fw_glob_free(globs->items[--globs->count].glob);
}

bool fw_globs_match(const struct fw_globs *globs, const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len);
	size_t name_at = slash ? (size_t)(slash - path) + 1 : 0;

	for (size_t i = 0; i < globs->count; i++) {
		size_t from = globs->items[i].is_name ? name_at : 0;

		if (fw_glob_test(globs->items[i].glob, path + from, len - from))
			return true;
	}
	return false;
}

bool fw_globs_is_glob(const char *text)
{
	return strpbrk(text, "*?[{") != NULL;
}
