/*
 * output.c - see output.h.
 *
 * It does not use stdio, which loses the errno of a failed write of its buffer. Errors
 * are encoded directly into this buffer.
 */
#include "cli/terminal/output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"

enum { FIRST_SIZE = 256 << 10 };

static char first[FIRST_SIZE];
static char *buf = first;
static size_t cap = FIRST_SIZE;
static size_t used;
static int failed; /* errno of the first failure */

void cli_output_flush(void)
{
	size_t done = 0;

	while (done < used && !failed) {
		ssize_t n = write(STDOUT_FILENO, buf + done, used - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			failed = errno;
	}
	used = 0;
}

void cli_output_drop(void)
{
	used = 0;
}

bool cli_output_failed(void)
{
	return failed != 0;
}

/* Makes at least `room` bytes free, if there is memory. */
static bool make_room(size_t room)
{
	if (room <= cap - used)
		return true;
	cli_output_flush();
	if (room > cap) {
		/* The old buffer is empty, so nothing is copied. */
		char *larger = malloc(room);

		if (!larger) {
			failed = failed ? failed : ENOMEM;
			return false;
		}
		if (buf != first)
			free(buf);
		buf = larger;
		cap = room;
	}
	return true;
}

void cli_put(const char *text, size_t len)
{
	while (len > 0) {
		size_t part;

		if (used == cap)
			cli_output_flush();
		part = len < cap - used ? len : cap - used;
		memcpy(buf + used, text, part);
		used += part;
		text += part;
		len -= part;
	}
}

void cli_puts(const char *text)
{
	cli_put(text, strlen(text));
}

void cli_putc(char c)
{
	cli_put(&c, 1);
}

void cli_pad(size_t spaces)
{
	while (spaces-- > 0)
		cli_putc(' ');
}

void cli_printf(const char *fmt, ...)
{
	for (;;) {
		size_t room = cap - used;
		va_list list;
		int n;

		va_start(list, fmt);
		n = vsnprintf(buf + used, room, fmt, list);
		va_end(list);
		if (n < 0)
			return;
		if ((size_t)n < room) {
			used += (size_t)n;
			return;
		}
		if (!make_room((size_t)n + 1))
			return;
	}
}

static bool is_terminal(void)
{
	static int known = -1;

	if (known < 0)
		known = isatty(STDOUT_FILENO) == 1;
	return known;
}

void cli_put_escaped(const char *text, size_t len)
{
	uint32_t c;

	if (!fw_printable_char(text, len, &c))
		c = 0xfffd;
	if (c > 0xffff) {
		c -= 0x10000;
		cli_printf("\\u%04x\\u%04x", (unsigned)(0xd800 + (c >> 10)),
			   (unsigned)(0xdc00 + (c & 0x3ff)));
	} else {
		cli_printf("\\u%04x", (unsigned)c);
	}
}

/* Only non-ASCII characters: others are escaped already, or white space. */
void cli_put_json(const char *text, size_t len)
{
	size_t from = 0, at = 0;

	if (!is_terminal()) {
		cli_put(text, len);
		return;
	}
	while (at < len) {
		if ((unsigned char)text[at] < 0x80 || fw_printable(text + at, len - at)) {
			at += fw_printable_step(text + at, len - at);
			continue;
		}
		cli_put(text + from, at - from);
		cli_put_escaped(text + at, len - at);
		at += fw_printable_step(text + at, len - at);
		from = at;
	}
	cli_put(text + from, at - from);
}

/* The text of `len` bytes after what is in the buffer, which is needed to write it. */
static void put_error_on_terminal(size_t len)
{
	char *text = malloc(len + 1);

	if (!text) {
		failed = failed ? failed : ENOMEM;
		return;
	}
	memcpy(text, buf + used, len);
	cli_put_json(text, len);
	if (len == 0 || text[len - 1] != '\n')
		cli_putc('\n');
	free(text);
}

void cli_put_error(const fw_error *err, fw_contract contract, const fw_encode_options *options)
{
	size_t len;

	/* Leaves room for the newline. */
	while ((len = fw_error_encode(err, contract, options, buf + used, cap - used)) + 1 >=
	       cap - used)
		if (!make_room(len + 2))
			return;
	if (is_terminal()) {
		put_error_on_terminal(len);
		return;
	}
	used += len;
	if (len == 0 || buf[used - 1] != '\n')
		buf[used++] = '\n';
}

fw_error *cli_output_end(bool *ret_gone)
{
	fw_error *err;

	cli_output_flush();
	/* A network file system may report a full disk only on close. */
	if (close(STDOUT_FILENO) < 0 && !failed && errno != EBADF)
		failed = errno;
	if (buf != first)
		free(buf);
	buf = first;
	cap = FIRST_SIZE;
	*ret_gone = failed == EPIPE;
	if (!failed || failed == EPIPE)
		return NULL;
	err = fw_error_from_errno(FW_HERE, failed, "standard output");
	if (failed == EBADF)
		fw_error_set_hint(err,
				  "Standard output is closed: redirect it to a file, or to "
				  "/dev/null.");
	return fw_error_wrap(err, FW_HERE, "could not write to standard output");
}
