/*
 * text.c - see text.h. A character counts as one column: our texts contain no wide
 * characters, and a wide one in a path only shifts a table.
 */
#include "cli/terminal/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/printable.h"
#include "cli/terminal/output.h"

enum { WIDTH_DEFAULT = 78, WIDTH_MIN = 40, WIDTH_MAX = 100 };

bool cli_terminal_has_escapes(void)
{
	const char *term = getenv("TERM");

	return term && *term && strcmp(term, "dumb") != 0;
}

bool cli_colours_are_wanted(int fd)
{
	const char *no_color = getenv("NO_COLOR");

	return !(no_color && *no_color) && isatty(fd) && cli_terminal_has_escapes();
}

size_t cli_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return WIDTH_DEFAULT;
	if (size.ws_col < WIDTH_MIN)
		return WIDTH_MIN;
	return size.ws_col > WIDTH_MAX ? WIDTH_MAX : size.ws_col;
}

static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

size_t cli_text_harmless(const char *text, size_t len)
{
	return fw_printable(text, len);
}

void cli_put_harmless(const char *text)
{
	size_t left = strlen(text);

	while (left > 0) {
		size_t n = fw_printable(text, left);
		size_t step = n ? n : fw_printable_step(text, left);

		if (n > 0)
			cli_put(text, n);
		else
			cli_putc('?');
		text += step;
		left -= step;
	}
}

void cli_make_harmless(const char *text, char *ret_text, size_t size)
{
	size_t left = strlen(text);
	size_t used = 0;

	while (left > 0) {
		size_t n = fw_printable(text, left);
		size_t put = n ? n : 1;
		size_t step = n ? n : fw_printable_step(text, left);

		if (put >= size - used)
			break;
		memcpy(ret_text + used, n ? text : "?", put);
		used += put;
		text += step;
		left -= step;
	}
	ret_text[used] = '\0';
}

static size_t columns_of(const char *text, size_t len)
{
	size_t columns = 0;

	for (size_t i = 0; i < len; i++)
		columns += !is_continuation(text[i]);
	return columns;
}

size_t cli_columns(const char *text)
{
	return columns_of(text, strlen(text));
}

void cli_cell(const char *text, size_t width)
{
	size_t columns = cli_columns(text);

	cli_puts(text);
	cli_pad(columns < width ? width - columns : 1);
}

void cli_heading(const char *text)
{
	bool bold = cli_colours_are_wanted(STDOUT_FILENO);

	cli_printf("%s%s%s\n", bold ? "\033[1m" : "", text, bold ? "\033[0m" : "");
}

/* Fills the words of one line of the text. Returns the column. */
static size_t wrap_words(const char *text, size_t len, size_t at, size_t indent, size_t width,
			 bool *fresh)
{
	while (len > 0) {
		size_t word;

		if (*text == ' ') {
			text++;
			len--;
			continue;
		}
		for (word = 0; word < len && text[word] != ' ';)
			word++;
		if (!*fresh && at + 1 + columns_of(text, word) > width) {
			cli_putc('\n');
			cli_pad(indent);
			at = indent;
			*fresh = true;
		}
		if (!*fresh) {
			cli_putc(' ');
			at++;
		}
		cli_put(text, word);
		at += columns_of(text, word);
		*fresh = false;
		text += word;
		len -= word;
	}
	return at;
}

void cli_wrap(const char *text, size_t at, size_t indent)
{
	size_t width = cli_width();
	bool fresh = true;    /* the line is empty */
	bool indented = true; /* except for its indent */

	while (*text) {
		size_t len = strcspn(text, "\n");
		bool kept = *text == ' ';

		if (len == 0 || kept) {
			if (!fresh)
				cli_putc('\n');
			if (len == 0 && text[1] != '\0')
				cli_putc('\n');
			fresh = true;
			indented = false;
		}
		if (len > 0 && !indented) {
			cli_pad(indent);
			at = indent;
			indented = true;
		}
		if (kept) {
			cli_put(text, len);
			cli_putc('\n');
			indented = false;
		} else if (len > 0) {
			at = wrap_words(text, len, at, indent, width, &fresh);
		}
		text += len;
		text += *text == '\n';
	}
	if (!fresh)
		cli_putc('\n');
}
