/*
 * glob_impl.h - a compiled glob, for the files that match globs (glob.c) and compare them
 * (glob_overlap.c).
 */
#ifndef FW_TOOLS_COMMON_GLOB_IMPL_H
#define FW_TOOLS_COMMON_GLOB_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fw_glob_kind {
	FW_GLOB_LITERAL,
	FW_GLOB_ONE,    /* ? */
	FW_GLOB_CLASS,  /* [...] */
	FW_GLOB_STAR,   /* *: stays within a component */
	FW_GLOB_ENTER,  /* "**" is next, at the start of a component */
	FW_GLOB_INSIDE, /* within what "**" matches; ends after a slash */
	FW_GLOB_ALL     /* "**" at the end: the rest, at least one byte */
};

struct fw_glob_state {
	enum fw_glob_kind kind;
	uint32_t letter; /* LITERAL; CLASS: 1 if it is git's */
	const char *set; /* CLASS: the text between the brackets */
	size_t set_len;
};

/* How many states a glob of this length may have. */
#define FW_GLOB_STATES(bytes) ((bytes) + 4)

/* `states`, `most` and `is_git` are set before it is compiled. */
struct fw_glob_pattern {
	struct fw_glob_state *states; /* room for FW_GLOB_STATES(most) */
	size_t most;                  /* bytes of the text */
	size_t count;
	bool is_git;
};

/* What is wrong with the glob; NULL: it is valid. */
const char *fw_glob_compile(const char *glob, size_t len, struct fw_glob_pattern *p);
/* Reads one character; a byte that is not UTF-8 is a character of its own. */
uint32_t fw_glob_letter(const char *text, size_t len, size_t *at);
bool fw_glob_in_class(const struct fw_glob_state *state, uint32_t letter);
/* Whether a text that is in this state may go on with the letter. */
bool fw_glob_accepts(const struct fw_glob_state *state, uint32_t letter);

#endif
