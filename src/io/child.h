/*
 * child.h - a child process on the event loop, with line-based input and output.
 *
 * The client half of the stdio transport: lines are sent to the child's standard
 * input and received from its standard output; the end of its standard error is
 * kept to explain a failure.
 *
 * The one rule to remember: `exited` is called exactly once, after every other
 * callback. After fw_child_free() no callback is called.
 */
#ifndef FW_IO_CHILD_H
#define FW_IO_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

#include "base/loop.h"

struct fw_child;

struct fw_child_callbacks {
	/* A line of standard output, without its newline. */
	void (*line)(void *ctx, const char *text, size_t len);
	/* A line longer than `line_max` was dropped, or the output ended without a
	 * newline: `text` is the beginning of that line. */
	void (*broken)(void *ctx, const char *text, size_t len, bool is_too_long);
	/* Standard output has ended, but the process has not. May be NULL. */
	void (*closed)(void *ctx);
	/* The process has exited: its status, or the signal that killed it (0: none). */
	void (*exited)(void *ctx, int status, int signum);
	/* Standard input was closed, or the process has exited: lines from number `from` on
	 * were accepted, but the process has read no byte of them (see fw_child_accepted()).
	 * May be NULL. */
	void (*unsent)(void *ctx, uint64_t from);
	/* What was read ends inside a line that begins with this text. May be NULL. */
	void (*partial)(void *ctx, const char *text, size_t len);
};

struct fw_child_options {
	const char *const *argv;        /* as for fw_subprocess_start() */
	const char *const *environment; /* the same */
	const char *directory;          /* the same */
	int ruleset;                    /* the same */
	size_t line_max;                /* 0: FW_LIMIT_CHILD_LINE_BYTES */
	size_t unsent_max;              /* 0: FW_LIMIT_CHILD_UNSENT_BYTES */
	struct fw_child_callbacks on;
	void *ctx;
};

/* Starts the process. Raises file.not_found, permission.denied or another error for
 * the errno, about argv[0] or the directory; internal.out_of_memory. On failure no
 * callback is called. */
fw_error *fw_child_start(struct fw_loop *loop, const struct fw_child_options *options,
			 struct fw_child **ret_child);

/* Kills the process group and frees the child. The handles are closed and the
 * process is reaped when the loop runs again. May be called from a callback. NULL is
 * a no-op. */
void fw_child_free(struct fw_child *child);

/* As fw_child_free(), but in an orderly way: closes standard input, and sends SIGTERM and at
 * last SIGKILL to a process that does not exit. Until then the loop is kept running. */
void fw_child_retire(struct fw_child *child);

enum fw_child_sent {
	FW_CHILD_SENT,   /* accepted: in the pipe, or soon */
	FW_CHILD_FULL,   /* not accepted: too much is waiting */
	FW_CHILD_BROKEN, /* not accepted: standard input is closed */
	FW_CHILD_NO_MEMORY
};

/* Sends one line. The text holds no newline; one is added. */
enum fw_child_sent fw_child_send(struct fw_child *child, const char *text, size_t len);
/* How many lines were accepted: the number of the last one. */
uint64_t fw_child_accepted(const struct fw_child *child);
/* Bytes that were accepted and are not in the pipe yet. */
size_t fw_child_unsent(const struct fw_child *child);
/* Closes standard input when all accepted lines are sent: a server then exits. */
void fw_child_end_input(struct fw_child *child);
/* Sends a signal to the process group. */
void fw_child_signal(struct fw_child *child, int signum);

/* The beginning of a line that has not ended; NULL if there is none, or if more can be read
 * already. It is valid until the loop runs again. */
const char *fw_child_partial(const struct fw_child *child, size_t *ret_len);
/* Forgets it: the next byte is the first of a line. */
void fw_child_drop_partial(struct fw_child *child);

/* The last text of standard error: whole lines, without secrets and
 * control characters, at most FW_LIMIT_CHILD_STDERR_BYTES. Writes at most `size`
 * bytes including a NUL; returns the length. */
size_t fw_child_stderr(const struct fw_child *child, char *ret_text, size_t size);

#endif
