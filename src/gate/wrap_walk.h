/*
 * wrap_walk.h - finds where the values of a configuration file begin and end, in a text
 * with comments and trailing commas.
 *
 * The one rule to remember: the text was read as JSON before; nothing is validated here.
 */
#ifndef FW_GATE_WRAP_WALK_H
#define FW_GATE_WRAP_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "rpc/scan.h"

/* A position in the text, and the end of what is walked. */
struct fw_wrap_walk {
	const char *at;
	const char *end;
};

/* Skips blanks and comments. */
void fw_wrap_skip_blanks(struct fw_wrap_walk *walk);
/* Skips a whole value, and returns it. */
struct fw_slice fw_wrap_skip_value(struct fw_wrap_walk *walk);

/* A walk through the members of an object, or the items of an array; through nothing for
 * any other value, or an absent one. */
struct fw_wrap_walk fw_wrap_inside(struct fw_slice container);
/* False: no more. */
bool fw_wrap_next_member(struct fw_wrap_walk *walk, struct fw_slice *ret_key,
			 struct fw_slice *ret_value);
bool fw_wrap_next_item(struct fw_wrap_walk *walk, struct fw_slice *ret_item);

/* The first member of this name; absent if there is none, or it is not an object. */
struct fw_slice fw_wrap_member(struct fw_slice object, const char *name);

#endif
