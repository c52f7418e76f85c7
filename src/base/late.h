/*
 * late.h - libraries that are loaded on first use.
 *
 * A server on stdin and stdout does not need an HTTP or TLS library; linked in the
 * usual way they were half of its memory and half of its start time. So a library is
 * described by a table of its functions, and its header maps their names to members
 * of that table. Code that uses the library looks as usual.
 *
 * The one rule to remember: call fw_late_load() before the first use, and check its
 * result.
 */
#ifndef FW_BASE_LATE_H
#define FW_BASE_LATE_H

#include <stdbool.h>
#include <stddef.h>

struct fw_late {
	const char *soname;
	const char *const *names; /* one per function */
	void **functions;
	size_t count;
};

/* Loads the library once; it stays loaded. Any thread. False if the library or one
 * of its functions is missing; `ret_why` (may be NULL) is then the message of the
 * loader, valid until the next load. */
bool fw_late_load(const struct fw_late *library, const char **ret_why);

/*
 * In the header of a library, with LIST(X) naming its functions:
 * 	struct fw_x { LIST(FW_LATE_MEMBER) };
 * 	extern struct fw_x fw_x;
 * and in its source FW_LATE_DEFINE(fw_x, "libx.so.1", LIST).
 */
/* NOLINTBEGIN(bugprone-macro-parentheses): the arguments are names. */
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
