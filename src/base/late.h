/*
 * late.h - libraries that are loaded when they are first needed.
 *
 * A server on standard input and output has no use for an HTTP server and the
 * TLS library behind it; linked as usual, they were half of its memory and half
 * of its start. So a library is described by a table of its functions, and the
 * header that describes it turns their names into members of that table: code
 * that uses the library is written as ever.
 *
 * The one rule to remember: fw_late_load() comes before the first use, and its
 * answer is looked at.
 */
#ifndef FW_BASE_LATE_H
#define FW_BASE_LATE_H

#include <stdbool.h>
#include <stddef.h>

struct fw_late {
	const char *soname;
	const char *const *names; /* as many as functions */
	void **functions;
	size_t count;
};

/* Loads it, once; it stays. Any thread. False: it is not there, or lacks a
 * function; `ret_why` (may be NULL) then has what the loader says, until the
 * next load. */
bool fw_late_load(const struct fw_late *library, const char **ret_why);

/*
 * In the header of a library, with LIST(X) naming its functions:
 *	struct fw_x { LIST(FW_LATE_MEMBER) };
 *	extern struct fw_x fw_x;
 * and in its source FW_LATE_DEFINE(fw_x, "libx.so.1", LIST).
 */
/* NOLINTBEGIN(bugprone-macro-parentheses): names cannot stand in them. */
#define FW_LATE_MEMBER(name) __typeof__(&(name)) name;
#define FW_LATE_NAME(name) #name,
#define FW_LATE_DEFINE(table, so, LIST)                                    \
	struct table table;                                                \
	static const char *const table##_names[] = { LIST(FW_LATE_NAME) }; \
	static const struct fw_late table##_library = {                    \
		.soname = (so),                                            \
		.names = table##_names,                                    \
		.functions = (void **)(void *)&table,                      \
		.count = sizeof table##_names / sizeof *table##_names,     \
	};                                                                 \
	_Static_assert(sizeof(struct table) == sizeof table##_names,       \
		       "a table of function pointers and nothing else")
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
