/*
 * wrap_walk.h - finds where values begin and end in the text of a configuration file,
 * which may have comments and trailing commas.
 *
 * The one rule to remember: the text must have been parsed as JSON before. Nothing is
 * validated here.
 */
#ifndef FW_GATE_WRAP_WALK_H
#define FW_GATE_WRAP_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "rpc/scan.h"

/* A position in the text, and the end of the part to walk. */
struct fw_wrap_walk {
	const char *at;
	const char *end;
};

/* Skips blanks and comments. */
void fw_wrap_skip_blanks(struct fw_wrap_walk *walk);
/* Skips a whole value, and returns it. */
struct fw_slice fw_wrap_skip_value(struct fw_wrap_walk *walk);

/* Starts a walk over the members of an object or the items of an array. For any other
 * value, or an absent one, the walk is empty. */
struct fw_wrap_walk fw_wrap_inside(struct fw_slice container);
/* Returns the next member or item. False: there are no more. */
bool fw_wrap_next_member(struct fw_wrap_walk *walk, struct fw_slice *ret_key,
			 struct fw_slice *ret_value);
bool fw_wrap_next_item(struct fw_wrap_walk *walk, struct fw_slice *ret_item);

/* The first member of this name. It is absent if there is none, or `object` is not an
 * object. */
struct fw_slice fw_wrap_member(struct fw_slice object, const char *name);

#endif
