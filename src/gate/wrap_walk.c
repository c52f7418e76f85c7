/*
 * wrap_walk.c - see wrap_walk.h.
 */
#include "gate/wrap_walk.h"

#include <string.h>

void fw_wrap_skip_blanks(struct fw_wrap_walk *walk)
{
	for (;;) {
		while (walk->at < walk->end && strchr(" \t\r\n", *walk->at) && *walk->at)
			walk->at++;
		if (walk->end - walk->at < 2 || walk->at[0] != '/')
			return;
		if (walk->at[1] == '/') {
			while (walk->at < walk->end && *walk->at != '\n')
				walk->at++;
		} else if (walk->at[1] == '*') {
			const char *close = memmem(walk->at + 2,
						   (size_t)(walk->end - walk->at) - 2, "*/", 2);

			walk->at = close ? close + 2 : walk->end;
		} else {
			return;
		}
	}
}

static void skip_string(struct fw_wrap_walk *walk)
{
	walk->at++;
	while (walk->at < walk->end && *walk->at != '"')
		walk->at += *walk->at == '\\' && walk->end - walk->at > 1 ? 2 : 1;
	if (walk->at < walk->end)
		walk->at++;
}

/* Brackets match, because the text was parsed as JSON before. */
struct fw_slice fw_wrap_skip_value(struct fw_wrap_walk *walk)
{
	size_t depth = 0;
	struct fw_slice value;

	fw_wrap_skip_blanks(walk);
	value.p = walk->at;
	do {
		fw_wrap_skip_blanks(walk);
		if (walk->at >= walk->end)
			break;
		if (*walk->at == '"') {
			skip_string(walk);
		} else if (*walk->at == '{' || *walk->at == '[') {
			depth++;
			walk->at++;
		} else if (*walk->at == '}' || *walk->at == ']') {
			depth--;
			walk->at++;
		} else if (depth) {
			walk->at++;
		} else {
			while (walk->at < walk->end && !strchr(",]} \t\r\n/", *walk->at))
				walk->at++;
		}
	} while (depth);
	value.n = (size_t)(walk->at - value.p);
	return value;
}

bool fw_wrap_next_member(struct fw_wrap_walk *walk, struct fw_slice *ret_key,
			 struct fw_slice *ret_value)
{
	fw_wrap_skip_blanks(walk);
	if (walk->at < walk->end && *walk->at == ',')
		walk->at++;
	fw_wrap_skip_blanks(walk);
	if (walk->at >= walk->end || *walk->at != '"')
		return false;
	ret_key->p = walk->at;
	skip_string(walk);
	ret_key->n = (size_t)(walk->at - ret_key->p);
	fw_wrap_skip_blanks(walk);
	walk->at++; /* the colon */
	*ret_value = fw_wrap_skip_value(walk);
	return true;
}

bool fw_wrap_next_item(struct fw_wrap_walk *walk, struct fw_slice *ret_item)
{
	fw_wrap_skip_blanks(walk);
	if (walk->at < walk->end && *walk->at == ',')
		walk->at++;
	fw_wrap_skip_blanks(walk);
	if (walk->at >= walk->end)
		return false;
	*ret_item = fw_wrap_skip_value(walk);
	return true;
}

struct fw_wrap_walk fw_wrap_inside(struct fw_slice container)
{
	if (!fw_slice_is_object(container) && !fw_slice_is_array(container))
		return (struct fw_wrap_walk){ NULL, NULL };
	return (struct fw_wrap_walk){ container.p + 1, container.p + container.n - 1 };
}

struct fw_slice fw_wrap_member(struct fw_slice object, const char *name)
{
	struct fw_wrap_walk walk = fw_wrap_inside(object);
	struct fw_slice key;
	struct fw_slice value;

	if (!fw_slice_is_object(object))
		return (struct fw_slice){ NULL, 0 };
	while (fw_wrap_next_member(&walk, &key, &value))
		if (fw_slice_equals(key, name))
			return value;
	return (struct fw_slice){ NULL, 0 };
}
