/*
 * text.h - laying text out for people: the terminal, columns, wrapping.
 */
#ifndef FW_CLI_TERMINAL_TEXT_H
#define FW_CLI_TERMINAL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/** Whether the terminal understands escape sequences: TERM is not "dumb". */
bool cli_terminal_has_escapes(void);

/** On a terminal, unless NO_COLOR says otherwise. */
bool cli_colours_are_wanted(int fd);

/** Columns to fill: the terminal's, at most 100; 78 where there is none. */
size_t cli_width(void);

/**
 * How many bytes at the start of `text` may go to a terminal as they are: one
 * character. 0 for a control character or what is not UTF-8.
 */
size_t cli_text_harmless(const char *text, size_t len);

/** Print `text`, a question mark for each byte that is not harmless. */
void cli_put_harmless(const char *text);

/** The same into a buffer of `size` bytes; cut where it is too long. */
void cli_make_harmless(const char *text, char *ret_text, size_t size);

/** Columns that `text` takes, a character each. */
size_t cli_columns(const char *text);

/**
 * Print `text` on standard output, its words filled into lines of at most
 * cli_width() columns. The first line starts at column `at`, the others are
 * indented by `indent`. An empty line in the text stays one; a line that
 * begins with a space is kept as it is. Ends with a newline.
 */
void cli_wrap(const char *text, size_t at, size_t indent);

/** `text` and spaces up to `width` columns; at least one space. */
void cli_cell(const char *text, size_t width);

/** A heading on a line of its own: bold on a terminal. */
void cli_heading(const char *text);

#endif
