/*
 * audit_follow.c - prints the end of a log, and records added later.
 *
 * It polls a few times per second: inotify does not work for a log that another
 * machine writes, and one that a person watches grows slowly.
 */
#include "cli/commands/audit_show.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/state.h"
#include "cli/terminal/output.h"
#include "observe/audit/audit.h"

enum { BLOCK = 64 * 1024, NAP_MS = 100 };

struct tail {
	const char *path;
	bool json;
	int fd;
	char *buffer; /* BLOCK + a line */
	size_t left;  /* bytes of an incomplete last line */
};

static fw_error *open_at(struct tail *tail, const char *name, off_t offset)
{
	tail->fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (tail->fd < 0 || lseek(tail->fd, offset, SEEK_SET) < 0)
		return fw_error_from_errno(FW_HERE, errno, name);
	return NULL;
}

static void close_file(struct tail *tail)
{
	if (tail->fd >= 0)
		(void)close(tail->fd);
	tail->fd = -1;
	tail->left = 0;
}

/* Prints everything up to the current end of the file. */
static fw_error *show_rest(struct tail *tail)
{
	for (;;) {
		ssize_t n = read(tail->fd, tail->buffer + tail->left, BLOCK);
		char *at = tail->buffer;
		char *end;
		char *newline;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fw_error_from_errno(FW_HERE, errno, tail->path);
		if (n == 0 || cli_output_failed())
			return NULL;
		end = at + tail->left + (size_t)n;
		while ((newline = memchr(at, '\n', (size_t)(end - at)))) {
			cli_audit_show(at, (size_t)(newline - at), tail->json);
			at = newline + 1;
		}
		tail->left = (size_t)(end - at);
		if (tail->left > FW_LIMIT_AUDIT_LINE_BYTES)
			tail->left = 0; /* too long to be a record */
		memmove(tail->buffer, at, tail->left);
	}
}

/* Finds where the last `*count` lines begin, and subtracts the lines found. */
static fw_error *find_start(const char *name, uint64_t *count, off_t *ret_offset)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	off_t at = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	bool is_last = true; /* the newline at the end of the file starts no line */
	uint64_t lines = 0;
	char block[BLOCK];

	if (at < 0) {
		int errnum = errno;

		if (fd >= 0)
			(void)close(fd);
		return fw_error_from_errno(FW_HERE, errnum, name);
	}
	*ret_offset = at;
	while (at > 0 && lines < *count) {
		size_t len = at < (off_t)sizeof block ? (size_t)at : sizeof block;

		at -= (off_t)len;
		if (pread(fd, block, len, at) != (ssize_t)len)
			break;
		for (size_t i = len; i > 0 && lines < *count; i--) {
			if (block[i - 1] != '\n')
				continue;
			if (!is_last) {
				lines++;
				*ret_offset = at + (off_t)i;
			}
			is_last = false;
		}
		if (at == 0 && lines < *count && !is_last) {
			lines++;
			*ret_offset = 0;
		}
	}
	(void)close(fd);
	*count -= lines;
	return NULL;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* False if the open file is still the current one. Otherwise its number among the rotated
 * files; 0: it is not there any more. */
static bool is_rotated(const struct tail *tail, unsigned *ret_number)
{
	struct stat mine;
	struct stat other;
	unsigned first = 0;
	unsigned last = 0;
	char name[CLI_PATH_SIZE];

	/* Without a current file, another process is about to create it. */
	if (fstat(tail->fd, &mine) != 0 || stat(tail->path, &other) != 0 ||
	    is_same(&mine, &other))
		return false;
	fw_error_free(fw_audit_rotated_range(tail->path, &first, &last));
	*ret_number = 0;
	for (unsigned i = last; i > 0 && i >= first && !*ret_number; i--)
		if (fw_audit_rotated_path(tail->path, i, name, sizeof name) &&
		    stat(name, &other) == 0 && is_same(&mine, &other))
			*ret_number = i;
	return true;
}

/* Opens the file after rotated file `number`. It may be the current one, but may be
 * rotated at any moment: then its name has become that of a later file. */
static fw_error *open_next(struct tail *tail, unsigned number)
{
	char name[CLI_PATH_SIZE];
	struct stat opened;
	struct stat next;
	fw_error *err;
	bool has_name =
		number && fw_audit_rotated_path(tail->path, number + 1, name, sizeof name);

	close_file(tail);
	if (has_name && stat(name, &next) == 0)
		return open_at(tail, name, 0);
	err = open_at(tail, tail->path, 0);
	if (!has_name || stat(name, &next) != 0 ||
	    (!err && fstat(tail->fd, &opened) == 0 && is_same(&opened, &next)))
		return err;
	fw_error_free(err);
	close_file(tail);
	return open_at(tail, name, 0);
}

static fw_error *follow_on(struct tail *tail)
{
	const struct timespec nap = { .tv_nsec = NAP_MS * 1000000L };
	unsigned number;

	for (;;) {
		FW_TRY(show_rest(tail));
		cli_output_flush();
		if (cli_output_failed())
			return NULL;
		if (is_rotated(tail, &number)) {
			/* Records added just before the rotation. */
			FW_TRY(show_rest(tail));
			FW_TRY(open_next(tail, number));
			continue;
		}
		(void)nanosleep(&nap, NULL);
	}
}

/* Goes back through rotated files until there are enough lines, then forward. */
static fw_error *show(struct tail *tail, uint64_t count, bool follow)
{
	unsigned first = 0;
	unsigned last = 0;
	unsigned number;
	off_t offset = 0;
	char name[CLI_PATH_SIZE];

	FW_TRY(fw_audit_rotated_range(tail->path, &first, &last));
	FW_TRY(find_start(tail->path, &count, &offset));
	number = last + 1;
	while (count > 0 && number > first && number > 1 &&
	       fw_audit_rotated_path(tail->path, number - 1, name, sizeof name)) {
		FW_TRY(find_start(name, &count, &offset));
		number--;
	}
	for (; number <= last; number++, offset = 0) {
		if (!fw_audit_rotated_path(tail->path, number, name, sizeof name))
			break;
		FW_TRY(open_at(tail, name, offset));
		FW_TRY(show_rest(tail));
		close_file(tail);
	}
	FW_TRY(open_at(tail, tail->path, offset));
	return follow ? follow_on(tail) : show_rest(tail);
}

fw_error *cli_audit_tail(const char *path, uint64_t count, bool follow, bool json)
{
	struct tail tail = { .path = path, .json = json, .fd = -1 };
	fw_error *err;

	tail.buffer = malloc(BLOCK + FW_LIMIT_AUDIT_LINE_BYTES + 1);
	if (!tail.buffer)
		return fw_raise_internal_out_of_memory();
	err = show(&tail, count, follow);
	close_file(&tail);
	free(tail.buffer);
	return err;
}
