/*
 * text.h - text layout: the terminal, columns, wrapping.
 */
#ifndef FW_CLI_TERMINAL_TEXT_H
#define FW_CLI_TERMINAL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/** Whether the terminal understands escape sequences: TERM is not "dumb". */
bool cli_terminal_has_escapes(void);

/** True on a terminal, unless NO_COLOR is set. */
bool cli_colours_are_wanted(int fd);

/** The width of the terminal, at most 100; 78 if there is no terminal. */
size_t cli_width(void);

/**
 * The length of the first character of `text` if it may be sent to a terminal; 0 for a
 * control character or invalid UTF-8.
 */
size_t cli_text_harmless(const char *text, size_t len);

/** Prints `text`, with a question mark for each byte that is not harmless. */
void cli_put_harmless(const char *text);

/** The same into a buffer of `size` bytes; truncated if it is too long. */
void cli_make_harmless(const char *text, char *ret_text, size_t size);

/** The width of `text` in columns, one per character. */
size_t cli_columns(const char *text);

/**
 * Prints `text` on standard output, wrapped to lines of at most cli_width() columns. The first line starts at column `at`, the others are
 * indented by `indent`. Empty lines are kept; a line that
 * begins with a space is not wrapped. Ends with a newline.
 */
void cli_wrap(const char *text, size_t at, size_t indent);

/** `text` and spaces up to `width` columns; at least one space. */
void cli_cell(const char *text, size_t width);

/** A heading on its own line, bold on a terminal. */
void cli_heading(const char *text);

#endif
