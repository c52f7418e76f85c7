/*
 * input.c - see input.h.
 *
 * The buffer is slightly larger than the limit. Lines are returned in place; only the
 * beginning of an incomplete line is moved.
 */
#include "cli/terminal/input.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes per read, in addition to the longest line. */
enum { CHUNK = 256 << 10 };

fw_error *cli_input_open(cli_input *in, const char *path, size_t limit)
{
	struct stat info;

	*in = (cli_input){ .name = "stdin", .fd = STDIN_FILENO, .limit = limit };
	if (path && strcmp(path, "-") != 0) {
		in->name = path;
		in->fd = open(path, O_RDONLY | O_CLOEXEC);
		if (in->fd < 0)
			return fw_error_from_errno(FW_HERE, errno, path);
	}
	if (fstat(in->fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0)
		in->size = (uint64_t)info.st_size;
	in->cap = limit + CHUNK;
	/* Pages that are not touched cost nothing. */
	in->buf = malloc(in->cap + 1);
	return in->buf ? NULL : fw_error_from_errno(FW_HERE, ENOMEM, in->name);
}

void cli_input_close(cli_input *in)
{
	if (in->fd > STDIN_FILENO)
		(void)close(in->fd);
	in->fd = -1;
	free(in->buf);
	in->buf = NULL;
}

/* Reads once and appends to the buffer: at least one byte, or the end. */
static fw_error *fill(cli_input *in)
{
	ssize_t n;

	if (in->before_read)
		in->before_read();
	do
		n = read(in->fd, in->buf + in->end, in->cap - in->end);
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		int errnum = errno;
		fw_error *err = fw_error_from_errno(FW_HERE, errnum, in->name);

		in->at_end = true;
		if (errnum == EBADF)
			fw_error_set_hint(err, "Standard input is closed: pipe the input into "
					       "the command, or redirect it from a file.");
		return fw_error_wrap(err, FW_HERE, "could not read %s", in->name);
	}
	in->end += (size_t)n;
	in->at_end = n == 0;
	return NULL;
}

fw_error *cli_input_all(cli_input *in, const char **ret_text, size_t *ret_len)
{
	assert(in->buf); /* it was opened */
	while (!in->at_end && in->end <= in->limit)
		FW_TRY(fill(in));
	if (in->end > in->limit)
		return fw_raise_input_too_large(in->name, in->limit);
	in->consumed = in->end;
	/* The newline is not part of the text. */
	if (in->end > 0 && in->buf[in->end - 1] == '\n')
		in->end--;
	if (in->end > 0 && in->consumed > in->end && in->buf[in->end - 1] == '\r')
		in->end--;
	in->buf[in->end] = '\0';
	*ret_text = in->buf;
	*ret_len = in->end;
	return NULL;
}

/* Discards a line that is too long, with its newline. */
static fw_error *skip_line(cli_input *in)
{
	for (;;) {
		const char *end = memchr(in->buf + in->start, '\n', in->end - in->start);

		if (end || in->at_end) {
			size_t next = end ? (size_t)(end - in->buf) + 1 : in->end;

			in->consumed += next - in->start;
			in->start = next;
			return fw_raise_input_too_large("line", in->limit);
		}
		in->consumed += in->end - in->start;
		in->start = in->end = 0;
		FW_TRY(fill(in));
	}
}

fw_error *cli_input_line(cli_input *in, const char **ret_text, size_t *ret_len)
{
	size_t looked = 0; /* bytes that were searched for a newline */
	const char *end;
	size_t len;

	for (;;) {
		end = memchr(in->buf + in->start + looked, '\n', in->end - in->start - looked);
		looked = in->end - in->start;
		if (end || in->at_end || looked > in->limit)
			break;
		if (in->start > 0 && in->cap - in->end < CHUNK) {
			memmove(in->buf, in->buf + in->start, looked);
			in->start = 0;
			in->end = looked;
		}
		FW_TRY(fill(in));
	}
	if (!end && in->at_end && looked == 0) {
		*ret_text = NULL;
		*ret_len = 0;
		return NULL;
	}

	in->line++;
	len = end ? (size_t)(end - in->buf) - in->start : looked;
	if (len > in->limit)
		return skip_line(in);
	*ret_text = in->buf + in->start;
	in->start += len + (end != NULL);
	in->consumed += len + (end != NULL);
	if (len > 0 && (*ret_text)[len - 1] == '\r')
		len--;
	*ret_len = len;
	return NULL;
}

fw_error *cli_read_file(const char *path, size_t limit, char **ret_text, size_t *ret_len)
{
	cli_input in;
	const char *text = NULL;
	size_t len = 0;
	fw_error *err = cli_input_open(&in, path, limit);

	if (!err)
		err = cli_input_all(&in, &text, &len);
	if (!err) {
		*ret_text = in.buf;
		*ret_len = len;
		in.buf = NULL;
	}
	cli_input_close(&in);
	return err;
}

fw_error *cli_read_first_line(const char *path, const char *option, char *ret_line, size_t size)
{
	FILE *file = fopen(path, "re");
	int error = errno;
	char *got;

	if (!file)
		return fw_error_from_errno(FW_HERE, error, path);
	got = fgets(ret_line, (int)size, file);
	(void)fclose(file);
	if (!got)
		ret_line[0] = '\0';
	if (strlen(ret_line) == size - 1)
		return fw_raise_input_invalid_value(option, "a file with a shorter first line");
	ret_line[strcspn(ret_line, "\r\n")] = '\0';
	return ret_line[0] ? NULL
			   : fw_raise_input_invalid_value(option, "a file with a first line");
}
