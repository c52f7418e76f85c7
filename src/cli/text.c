/*
 * text.c - no more of typography than the commands need. A character counts as
 * one column: our own texts hold no wide ones, and a table that is off by one
 * because of somebody's path does no harm.
 */
#include "text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "output.h"

enum { WIDTH_DEFAULT = 78, WIDTH_MIN = 40, WIDTH_MAX = 100 };

bool cli_terminal_is_able(void)
{
	const char *term = getenv("TERM");

	return term && *term && strcmp(term, "dumb") != 0;
}

bool cli_wants_colours(int fd)
{
	const char *no_color = getenv("NO_COLOR");

	return !(no_color && *no_color) && isatty(fd) && cli_terminal_is_able();
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

/* U+0080 to U+009F are control characters too; U+202A to U+202E and U+2066 to
 * U+2069 turn the direction of the line around. */
static bool is_control(uint32_t c)
{
	return (c >= 0x80 && c < 0xa0) || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069);
}

size_t cli_text_harmless(const char *text, size_t len)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned char first;
	size_t need;
	uint32_t c;

	if (len == 0)
		return 0;
	first = (unsigned char)text[0];
	if (first < 0x80)
		return first >= 0x20 && first != 0x7f;
	need = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
	if (first < 0xc2 || first > 0xf4 || need > len)
		return 0;
	c = first & (0xffu >> (need + 1));
	for (size_t i = 1; i < need; i++) {
		if (!is_continuation(text[i]))
			return 0;
		c = c << 6 | ((unsigned char)text[i] & 0x3fu);
	}
	if (c < smallest[need] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) || is_control(c))
		return 0;
	return need;
}

void cli_put_harmless(const char *text)
{
	size_t left = strlen(text);

	while (left > 0) {
		size_t n = cli_text_harmless(text, left);

		if (n > 0)
			cli_put(text, n);
		else
			cli_putc('?');
		n = n ? n : 1;
		text += n;
		left -= n;
	}
}

void cli_make_harmless(const char *text, char *ret_text, size_t size)
{
	size_t left = strlen(text);
	size_t used = 0;

	while (left > 0) {
		size_t n = cli_text_harmless(text, left);
		size_t step = n ? n : 1;

		if (step >= size - used)
			break;
		memcpy(ret_text + used, n ? text : "?", step);
		used += step;
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
	bool bold = cli_wants_colours(STDOUT_FILENO);

	cli_printf("%s%s%s\n", bold ? "\033[1m" : "", text, bold ? "\033[0m" : "");
}

/* One line of the source that is to be filled: its words. Returns the column. */
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
	bool fresh = true;    /* nothing stands on the line yet */
	bool indented = true; /* but its indent */

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
