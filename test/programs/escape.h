/*
 * escape.h - shared by the attempts of escape.c.
 *
 * Nothing here checks a path: only the kernel refuses.
 */
#ifndef FW_TEST_ESCAPE_H
#define FW_TEST_ESCAPE_H

#include <faultwire/faultwire.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* 0: it succeeded; otherwise the errno. */
typedef int trick_fn(fw_call *call);

static inline int errno_of(long result)
{
	return result < 0 ? errno : 0;
}

static inline const char *text_of(const fw_call *call, const char *name)
{
	const char *text = fw_call_string(call, name, NULL);

	return text ? text : "";
}

static inline pid_t pid_of(const fw_call *call)
{
	return (pid_t)fw_call_i64(call, "pid", getppid());
}

/* "DIR/name", for a directory that is an argument. */
static inline const char *in(const fw_call *call, const char *folder, const char *name)
{
	static char path[4096];

	(void)snprintf(path, sizeof path, "%s/%s", text_of(call, folder), name);
	return path;
}

static inline int try_open(const char *path, int flags)
{
	const int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno;
	(void)close(fd);
	return 0;
}

/* Reading succeeds only if a byte is read. */
static inline int try_read(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	char byte;

	if (fd < 0)
		return errno;
	const ssize_t got = read(fd, &byte, 1);
	const int errnum = got < 0 ? errno : got == 0 ? ENODATA : 0;

	(void)close(fd);
	return errnum;
}

static inline int try_proc(const fw_call *call, const char *name, int flags)
{
	char path[64];

	(void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid_of(call), name);
	return try_open(path, flags);
}

struct trick {
	const char *name; /* NULL: the last */
	trick_fn *run;
};

extern const struct trick file_tricks[]; /* escape_files.c */
extern const struct trick reach_tricks[];
extern const struct trick server_tricks[]; /* escape_reach.c */

#endif
