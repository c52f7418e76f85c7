/*
 * child.h - a child process on the event loop, spoken to line by line.
 *
 * The client half of the stdio transport: what we send goes to the child's
 * standard input, lines of its standard output come back, and the end of its
 * standard error is kept for whoever has to explain a failure.
 *
 * The one rule to remember: `exited` is called exactly once, and last, after
 * the output that the child had written was delivered. After fw_child_free()
 * nothing is called.
 */
#ifndef FW_NET_CHILD_H
#define FW_NET_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

#include "base/loop.h"

struct fw_child;

struct fw_child_callbacks {
	/* A line of standard output, without its newline. */
	void (*line)(void *ctx, const char *text, size_t len);
	/* A line beyond `line_max` was dropped, or, at the end of the output, a
	 * line without a newline was left over: `text` is its beginning. */
	void (*broken)(void *ctx, const char *text, size_t len, bool is_too_long);
	/* Standard output has ended, and the child has not. May be NULL. */
	void (*closed)(void *ctx);
	/* It has ended: exit status, or the signal that killed it (0: none). */
	void (*exited)(void *ctx, int status, int signum);
};

struct fw_child_options {
	const char *const *argv;        /* as for fw_subprocess_start() */
	const char *const *environment; /* the same */
	const char *directory;          /* the same */
	size_t line_max;                /* 0: FW_LIMIT_CHILD_LINE_BYTES */
	size_t unsent_max;              /* 0: FW_LIMIT_CHILD_UNSENT_BYTES */
	struct fw_child_callbacks on;
	void *ctx;
};

/* Starts it. Raises file.not_found, permission.denied and what else the errno
 * says, about argv[0] or the directory; internal.out_of_memory. A child that
 * could not be started never calls back. */
fw_error *fw_child_start(struct fw_loop *loop, const struct fw_child_options *options,
			 struct fw_child **ret_child);

/* Kills it and all it started, and forgets it. Its handles are closed, and the
 * process reaped, once the loop has run again. NULL is a no-op. Also from within
 * its callbacks. */
void fw_child_free(struct fw_child *child);

enum fw_child_sent {
	FW_CHILD_SENT,   /* taken: it is in the pipe, or waits for room there */
	FW_CHILD_FULL,   /* not taken: too much is waiting */
	FW_CHILD_BROKEN, /* not taken: standard input is closed */
	FW_CHILD_NO_MEMORY
};

/* Sends one line. The text holds no newline; one is added. */
enum fw_child_sent fw_child_send(struct fw_child *child, const char *text, size_t len);
/* Bytes that were taken and are not in the pipe yet. */
size_t fw_child_unsent(const struct fw_child *child);
/* Ends its standard input once what was taken is sent: a server ends then. */
void fw_child_end_input(struct fw_child *child);
/* To it and all it started. */
void fw_child_signal(struct fw_child *child, int signum);

/* The end of what it wrote to standard error: whole lines, without secrets and
 * control characters, at most FW_LIMIT_CHILD_STDERR_BYTES. Writes at most `size`
 * bytes including a NUL; returns the length. */
size_t fw_child_stderr(const struct fw_child *child, char *ret_text, size_t size);

#endif
