/*
 * child_impl.h - the internals of a child: child.c has its lifecycle and its standard
 * error, child_pipe.c the lines that are sent to it and that it writes.
 */
#ifndef FW_IO_CHILD_IMPL_H
#define FW_IO_CHILD_IMPL_H

#include <uv.h>

#include "base/buf.h"
#include "base/linger.h"
#include "base/subprocess.h"
#include "io/child.h"

enum {
	FW_CHILD_ERROR_BYTES = 4096,
	FW_CHILD_READ_MOST = 1024 * 1024, /* bytes of one read; the size of a widened pipe */
	FW_CHILD_LINES = 64 /* that were accepted last: where they begin is known */
};

/* The output: what was read and is not reported yet, the beginning of a line. */
struct fw_child_output {
	int fd; /* -1: closed */
	uv_poll_t poll;
	struct fw_reader reader;
	struct fw_buf lines;
	size_t line_max;
	bool is_wide;     /* the pipe was made larger */
	bool is_dropping; /* dropping the rest of a line that is too long */
	bool is_over;
};

/* The input: lines that were accepted and are not in the pipe yet. */
struct fw_child_input {
	int fd; /* -1: closed */
	uv_poll_t poll;
	struct fw_writer writer; /* of lines that were put together, before the loop waits */
	struct fw_buf unsent;
	size_t unsent_max;
	size_t sent;                     /* bytes of `unsent` that the pipe has taken */
	uint64_t accepted;               /* lines */
	uint64_t bytes;                  /* of them */
	uint64_t starts[FW_CHILD_LINES]; /* of line n, in these bytes: at n % FW_CHILD_LINES */
	bool is_waiting;                 /* for room in the pipe */
	bool is_ending;                  /* to be closed when all is sent */
	bool is_over;                    /* takes nothing any more */
};

struct fw_child {
	struct fw_loop *loop;
	struct fw_subprocess process;
	struct fw_child_callbacks on;
	void *ctx;
	struct fw_child_input in;
	struct fw_child_output out;
	uv_pipe_t err;
	uv_poll_t end;    /* of the process: its pidfd */
	uv_timer_t grace; /* limits the time between the end of the output and the exit */
	unsigned open_handles;
	struct fw_buf errors; /* the newest text of standard error */
	bool is_tail;         /* older text of standard error is gone */
	bool has_ended;       /* the process has exited */
	bool is_freed;        /* no callback is called any more */
	bool is_warned;       /* of a process that is retired: SIGTERM was sent */
	bool has_reported;    /* `exited` was called */
	int status;
	int signum;
	char bytes[FW_CHILD_ERROR_BYTES]; /* read from standard error */
};

/* ---- child.c ---- */

void fw_child__close_handle(uv_handle_t *handle);
/* Standard output has ended. */
void fw_child__output_over(struct fw_child *child);

/* ---- child_pipe.c ---- */

/* Consumes the descriptors. */
void fw_child__open_pipes(struct fw_child *child, int in, int out);
void fw_child__stop_output(struct fw_child *child);
void fw_child__close_input(struct fw_child *child);
/* Reports lines that will never be sent. */
void fw_child__give_up_input(struct fw_child *child);

#endif
